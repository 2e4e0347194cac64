"""What a simulation left behind, read again: a folder of result files, or a jobs.csv."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import TAU, JobRow, Metrics, measured, read_jobs

__all__ = ["Schedule", "read_schedule"]

_JOBS: Final = "jobs.csv"
_TOTALS: Final = "schedule.json"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule that a simulation came to: its jobs, and the machine that they ran on.

    Args:
        name: what it is called in comparisons.
        jobs: the rows of its jobs.
        hosts: how many hosts there were, > 0.
        consumed_joules: the energy of all hosts; None where it is not known.
        users: who submitted each job, by its full name, where that is known.
    """

    name: str
    jobs: tuple[JobRow, ...]
    hosts: int
    consumed_joules: float | None = None
    users: Mapping[str, object] | None = None

    def metrics(self, tau: float = TAU) -> Metrics:
        """What it came to, in the metrics of the field.

        Raises:
            InputError: tau is not > 0, or there are no hosts.
        """
        return measured(self.jobs, self.hosts, tau=tau, users=self.users, consumed_joules=self.consumed_joules)


def read_schedule(path: str | os.PathLike[str], *, name: str | None = None, hosts: int | None = None) -> Schedule:
    """The schedule in a folder of result files, or of a jobs.csv; the schedule.json beside it tells of the machine.

    Args:
        path: the folder, or the file, of which the name may have a prefix (`out_jobs.csv`).
        name: what it is called; None: as the path.
        hosts: how many hosts there were; None: as schedule.json tells, or without it, as many as were ever used.

    Raises:
        InputError: the file is no jobs.csv, or schedule.json is none.
        OSError: a file cannot be read.
    """
    given = os.fspath(path)
    file = os.path.join(given, _JOBS) if os.path.isdir(given) else given
    jobs = tuple(read_jobs(file))
    folder, last = os.path.split(file)
    beside = os.path.join(folder, last.removesuffix(_JOBS) + _TOTALS) if last.endswith(_JOBS) else ""
    told = _totals(beside) if os.path.exists(beside) else {}
    size = hosts or int(told.get("nb_computing_machines", 0)) or _used(jobs)
    joules = told.get("consumed_joules") or None
    return Schedule(name=given if name is None else name, jobs=jobs, hosts=size, consumed_joules=joules)


def _totals(path: str) -> dict[str, float]:
    """The numbers of a schedule.json; those that are NaN are not in it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        told = json.loads(text.replace("-nan", "null"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is no schedule.json: {error}", file=path) from None
    if not isinstance(told, dict):
        raise InputError("it is no schedule.json: it holds no object", file=path)
    return {key: value for key, value in told.items() if isinstance(value, int | float)}


def _used(jobs: Iterable[JobRow]) -> int:
    """How many hosts there must have been: up to the last one that was used."""
    last = [part.rpartition("-")[2] for job in jobs for part in job.allocated_resources.split()]
    return max(map(int, last), default=0) + 1
