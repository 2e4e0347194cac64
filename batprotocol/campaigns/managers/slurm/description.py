"""The file that describes a cluster of Slurm, in TOML. It has no secrets, only the places where they are."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from batprotocol.campaigns.managers.describing import description_in, file_content
from batprotocol.campaigns.model.record import Record
from batprotocol.errors import InputError, shown

__all__ = ["SlurmDescription", "read_description"]


class SlurmDescription(Record, frozen=True, kw_only=True):
    """A cluster of Slurm, as a campaign uses it.

    Args:
        folder: a folder on the cluster for the files of its jobs, which all nodes share; made if it is missing. `~` is
            the home directory there.
        host: `ssh:HOST` to call the commands there; empty: here.
        ssh_config: a configuration of OpenSSH in place of `~/.ssh/config`.
        rest: the address of slurmrestd, `unix:/PATH`, `http://HOST:PORT` or `https://HOST:PORT`; empty: the commands.
        rest_user: the name of the user for slurmrestd; empty: the user of the loop.
        token_file: a file with the token for slurmrestd.
        token_variable: the environment variable with the token.
        partition: the partition of the jobs; empty: the default one.
        qos: the quality of service of the jobs.
        account: the account of the jobs.
        constraint: features that all nodes of the jobs must have, in Slurm's notation.
        nice: how much the priority of the jobs is lowered, from 0.
        cores: how many cores a resource has, at least 1.
        memory: the memory of each core, such as `2G`; empty: Slurm's default.
        whole_nodes: whether a resource is a whole node. It is always one with `select/linear`.
        resources: how many resources to use at most, at least 1; without it, all.
        prologue: a file with lines for the shell that run on the node before the tasks: modules, scratch, containers.
        timeout: how many seconds a call of Slurm may take, from 1 to 600.
    """

    folder: str
    host: str = ""
    ssh_config: str = ""
    rest: str = ""
    rest_user: str = ""
    token_file: str = ""
    token_variable: str = ""
    partition: str = ""
    qos: str = ""
    account: str = ""
    constraint: str = ""
    nice: int = 0
    cores: int = 1
    memory: str = ""
    whole_nodes: bool = False
    resources: int | None = None
    prologue: str = ""
    timeout: float = 30.0

    def prologue_text(self) -> str:
        """The content of the prologue's file. It raises `InputError` if it cannot be read."""
        if not self.prologue:
            return ""
        try:
            text = file_content(self.prologue).decode()
        except UnicodeDecodeError:
            raise InputError("expected a text in UTF-8, got other bytes", "prologue", file=self.prologue) from None
        except InputError as error:
            raise InputError(error.reason, "prologue", file=self.prologue) from None
        if "\0" in text:
            raise InputError("expected a text without zero bytes", "prologue", file=self.prologue)
        return text


_WORD: Final = re.compile(r"[\w.,@+:/-]{1,200}", re.A)
_CONSTRAINT: Final = re.compile(r"[\w.,@+:/&|*()\[\]-]{1,400}", re.A)
_HOST: Final = re.compile(r"ssh:[^\s-]\S{0,300}")
_MEMORY: Final = re.compile(r"[1-9][0-9]{0,11}[KMGT]?")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w{0,100}", re.A)


def _word(value: str) -> bool:
    return not value or (_WORD.fullmatch(value) is not None and not value.startswith("-"))


_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "folder": (lambda each: each.startswith(("/", "~/")) and each.isprintable(), "a path that begins with / or ~/"),
    "host": (lambda each: not each or _HOST.fullmatch(each) is not None, '"ssh:HOST"'),
    "partition": (_word, "a name"),
    "qos": (_word, "a name"),
    "account": (_word, "a name"),
    "rest_user": (_word, "a name"),
    "constraint": (lambda each: not each or _CONSTRAINT.fullmatch(each) is not None, "features in Slurm's notation"),
    "memory": (lambda each: not each or _MEMORY.fullmatch(each) is not None, "an amount such as 2G"),
    "token_variable": (lambda each: not each or _VARIABLE.fullmatch(each) is not None, "the name of a variable"),
    "nice": (lambda each: 0 <= each < 1 << 31, "a number from 0"),
    "cores": (lambda each: 1 <= each <= 1 << 20, "a number from 1"),
    "resources": (lambda each: each is None or 1 <= each <= 1 << 31, "a number from 1"),
    "timeout": (lambda each: 1 <= each <= 600, "seconds from 1 to 600"),
}


def read_description(path: str | os.PathLike[str]) -> SlurmDescription:
    """Read the description of a cluster with `type = "slurm"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    needed = {"folder": 'expected a key "folder", with a folder that all nodes share'}
    return description_in(path, "slurm", SlurmDescription, _finished, needed)


def _finished(found: SlurmDescription, beside: str) -> SlurmDescription:
    for key, (holds, expected) in _CHECKS.items():
        if not holds(getattr(found, key)):
            raise InputError(f"expected {expected}, got {shown(getattr(found, key))}", key)
    if found.token_file and found.token_variable:
        raise InputError("expected one of token_file and token_variable, got both", "token_file")
    if not found.rest and (found.token_file or found.token_variable):
        raise InputError('expected a key "rest" too, as only slurmrestd takes a token', "rest")
    files = {
        key: os.path.join(beside, os.path.expanduser(value))
        for key in ("prologue", "token_file", "ssh_config")
        if (value := getattr(found, key))
    }
    return msgspec.structs.replace(found, **files)
