"""Slurm's scheduler as a policy: as a slurm.conf says, a Slurm does with the same jobs.

Its name is `slurm:slurm.conf`. Files of sacctmgr may stand behind commas, and what is left to chance behind a question
mark: `slurm:slurm.conf,dump.cfg,qos.txt?backfill=17&limits=16.3`. `?seed=3` draws when the loops run.

The `scheduler` connects a `controller` with Batsim. The `cluster` is made of the configuration, jobs of requests, and
operators give `commands`. The `state` of the controller has the jobs and their `queue`, the nodes (`selection` gives
whole ones, `consumable` shares of their `resources`), and `reservations`. Its `clock` calls the two `loops`, which ask
the `rules` of the site and `priorities`, with `fair_share`. Jobs that are suspended and go on are a chapter of its
own, `suspension`.

The package shares with the other policies whatever means the same. Of jobs, these are their numbers, their entries in
the queue, their dependencies, and the ids of later runs. Of rules, these are the terms by which jobs give way, the
use of limits, windows, the tree of accounts, and fair share. Values over time and replies are shared, too. Its loops,
clock, keys, spent minutes, choice of nodes and of jobs that give way are literally those of Slurm: another way would
start other jobs.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError, SchedulerError, hint, shown
from batprotocol.policies.slurm.clock import USUAL, Phases

if TYPE_CHECKING:
    from batprotocol.policies.slurm.scheduler import SlurmScheduler
    from batprotocol.sites.slurm.configuration import SlurmConfiguration

__all__ = [
    "Phases",
    "SlurmFileError",
    "SlurmNameError",
    "SlurmScheduler",
    "is_slurm",
    "slurm_files",
    "slurm_named",
    "with_slurm_files",
]

logger = logging.getLogger("batprotocol.policies")

_BEGINS: Final = ("slurm:", "slurm=")
_PHASES: Final = (
    *("full", "limits", "reservations", "turn", "backfill", "priorities", "epilog", "others", "cleaning", "epoch"),
)
_LENGTHS: Final = ("epilog", "others", "cleaning", "epoch")
"""Phases that are lengths; the others are moments, which may be before the simulation."""
_SEED: Final = "seed"
_DIGITS: Final = 18
_reported: set[str] = set()


class SlurmNameError(SchedulerError):
    """A text is not the name of a Slurm, or its files cannot be used."""


class SlurmFileError(SlurmNameError):
    """A file of a Slurm cannot be read or used. The message begins with the file and the line."""


def is_slurm(text: str) -> bool:
    """Whether a text names a Slurm.

    >>> is_slurm("slurm:etc/slurm.conf"), is_slurm("easy-sjf")
    (True, False)
    """
    return text.startswith(_BEGINS)


def slurm_files(text: str) -> list[str]:
    """The files that the name of a Slurm gives: its slurm.conf first.

    >>> slurm_files("slurm:slurm.conf,dump.cfg?tick=0.3")
    ['slurm.conf', 'dump.cfg']
    """
    return [each for each in text[len(_BEGINS[0]) :].partition("?")[0].split(",") if each]


def with_slurm_files(text: str, files: Sequence[str]) -> str:
    """The name of the same Slurm with other files."""
    _, mark, phases = text.partition("?")
    return f"{_BEGINS[0]}{','.join(files)}{mark}{phases}"


def slurm_named(text: str, folder: str = "") -> type[SlurmScheduler]:
    """The class of the Slurm of this name: a scheduler class that takes no arguments.

    Parameters of its slurm.conf that are not followed are reported once, as `batprotocol.policies`.

    Args:
        text: its name.
        folder: the folder of the files; the current one by default.

    Raises:
        SlurmNameError: the text names no Slurm.
        SlurmFileError: a file cannot be read, or has no node or no partition.
    """
    # Programs that name another policy do not need these.
    from batprotocol.policies.slurm.scheduler import SlurmScheduler
    from batprotocol.sites.slurm.accounting import read_accounting
    from batprotocol.sites.slurm.configuration import read_configuration

    files = [os.path.join(folder, each) for each in slurm_files(text)]
    if not is_slurm(text) or not files:
        raise SlurmNameError(f"expected a name such as slurm:slurm.conf, got {shown(text)}")
    changed = _changes(text)
    try:
        configuration = read_configuration(files[0])
        accounting = read_accounting(*files[1:]) if files[1:] else None
    except (InputError, OSError) as error:
        why = f"cannot read {shown(error.filename)}: {error.strerror}" if isinstance(error, OSError) else error
        raise SlurmFileError(str(why)) from None
    lines = (configuration.nodes, "NodeName=n[0-7]"), (configuration.partitions, "PartitionName=p Nodes=ALL")
    for found, line in lines:
        if not found:
            kind = line.partition("=")[0]
            raise SlurmFileError(f"{files[0]}: expected a line with {kind}, such as '{line}', got none")
    _report(files[0], configuration)
    phases = _phases(changed, configuration)

    class NamedSlurm(SlurmScheduler):
        name = text.replace(",", ";").replace('"', "'")  # Batsim takes neither

        def __init__(self) -> None:
            super().__init__(configuration, phases, accounting=accounting)

    NamedSlurm.__name__ = NamedSlurm.__qualname__ = text
    return NamedSlurm


def _changes(text: str) -> dict[str, float]:
    """The words of a name about chance."""
    changed: dict[str, float] = {}
    known = (_SEED, "tick", *_PHASES)
    for key, value in parse_qsl(text.partition("?")[2], keep_blank_values=True, max_num_fields=100):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        is_seed = key == _SEED and value.isascii() and value.isdigit() and len(value) <= _DIGITS
        if key not in known or not math.isfinite(number) or (key == _SEED and not is_seed):
            expected = ", ".join(known[1:])
            near = "" if key in known else hint(key, known)
            raise SlurmNameError(
                f"{shown(text)} is not a policy: expected {expected} with a number of seconds, or {_SEED} with a whole "
                f"number, got {shown(f'{key}={value}')}{near}"
            )
        if key in _LENGTHS and number < 0:
            raise SlurmNameError(
                f"{shown(text)} is not a policy: {key} is a length of time, expected >= 0, got {value}"
            )
        changed[key] = int(value) if key == _SEED else number
    return changed


def _phases(changed: dict[str, float], configuration: SlurmConfiguration) -> Phases:
    """The phases of a name: those that its seed draws, or the usual ones, with those that it sets itself."""
    base = USUAL
    if _SEED in changed:
        base = Phases.drawn(int(changed.pop(_SEED)), configuration.scheduler, configuration.priority.calc_period)
    tick = changed.pop("tick", base.ticks[0])
    epoch = int(changed.pop("epoch", base.epoch))
    return msgspec.structs.replace(base, ticks=(tick,), epoch=epoch, **changed)


def _report(path: str, configuration: SlurmConfiguration) -> None:
    """Report what is not followed, once for each file."""
    if path in _reported:
        return
    _reported.add(path)
    for each in configuration.not_followed:
        logger.warning("%s", each)


# Programs that name another policy do not need it.
__getattr__ = old_names(__name__, {}, late={"SlurmScheduler": "scheduler"})
