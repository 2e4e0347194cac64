"""What a simulation left behind, read again: a folder of result files, or a jobs.csv."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import TAU, JobRow, Metrics, measured, read_jobs

__all__ = ["Schedule", "read_schedule", "schedule_of"]

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
    folder, last = os.path.split(file)
    beside = os.path.join(folder, last.removesuffix(_JOBS) + _TOTALS) if last.endswith(_JOBS) else ""
    return schedule_of(read_jobs(file), beside, name=given if name is None else name, hosts=hosts)


def schedule_of(rows: Iterable[JobRow], totals: str, *, name: str, hosts: int | None = None) -> Schedule:
    """The schedule of these rows of jobs.

    Args:
        rows: the rows.
        totals: the schedule.json that belongs to them, if there is one.
        name: what it is called.
        hosts: see `read_schedule`.

    Raises:
        InputError: schedule.json is none.
        OSError: a file cannot be read.
    """
    jobs = tuple(rows)
    told = _totals(totals) if os.path.exists(totals) else {}
    size = hosts or int(told.get("nb_computing_machines", 0)) or _used(jobs)
    return Schedule(name=name, jobs=jobs, hosts=size, consumed_joules=told.get("consumed_joules") or None)


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
