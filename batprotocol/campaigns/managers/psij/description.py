"""The file that describes a cluster for PSI/J, in TOML. This module must not know of jobs."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Final, Literal

import msgspec

from batprotocol.campaigns.managers.describing import description_in
from batprotocol.errors import InputError, shown

__all__ = ["PsijDescription", "read_description"]

_WORD: Final = re.compile(r"[\w.,@+:/-]{0,200}", re.A)

Whole = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]


class PsijDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster for PSI/J.

    Args:
        executor: the executor of PSI/J: `pbs`, `pbs_classic`, `lsf`, `cobalt` or `slurm`.
        folder: a folder for the files of the jobs, which this machine and all nodes share; made if it is missing.
        slots: how many resources to use at most. PSI/J does not report which are idle.
        cores: how many cores a resource has.
        queue: the queue of the jobs; empty: the default one.
        account: the account of the jobs.
        python: an interpreter that has `psij-python`; empty: that of the loop.
        timeout: how many seconds a command of the batch system may take.
    """

    executor: Literal["pbs", "pbs_classic", "lsf", "cobalt", "slurm"]
    folder: str
    slots: Whole
    cores: Whole = 1
    queue: str = ""
    account: str = ""
    python: str = ""
    timeout: Annotated[float, msgspec.Meta(ge=1, le=600)] = 60.0


def read_description(path: str | os.PathLike[str]) -> PsijDescription:
    """Read the description of a cluster with `type = "psij"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    return description_in(path, "psij", PsijDescription, _finished, {})


def _finished(found: PsijDescription, beside: str) -> PsijDescription:
    for key in ("queue", "account"):
        word = getattr(found, key)
        if _WORD.fullmatch(word) is None or word.startswith("-"):
            raise InputError(f"expected a name, got {shown(word)}", key)
    if not found.folder or not found.folder.isprintable():
        raise InputError(f"expected the path of a folder, got {shown(found.folder)}", "folder")
    python = os.path.expanduser(found.python)
    return msgspec.structs.replace(
        found,
        folder=os.path.abspath(os.path.join(beside, os.path.expanduser(found.folder))),
        python=os.path.join(beside, python) if "/" in python else python or sys.executable,
    )
