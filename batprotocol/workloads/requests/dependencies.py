"""Dependencies of jobs in Slurm's notation: `afterok:12:13`, `after:7+5`, `singleton`; `,` for all, `?` for any."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = ["KINDS", "Condition", "Dependency", "full_id", "in_workload_of", "parse_dependency"]

KINDS: Final = {
    "after": "has started or was cancelled",
    "afterany": "has ended",
    "afterok": "has succeeded",
    "afternotok": "has failed",
    "aftercorr": "has succeeded, the task of the same number of the named array",
    "singleton": "no earlier job of the same name and user waits or runs; a job without a name waits for none",
}
"""The conditions that a job can wait for, with their meanings for each job that it names."""

_MOST: Final = 1_000
_DELAYED = re.compile(r"(.+)\+([0-9]{1,9})", re.ASCII | re.DOTALL)


class Condition(NamedTuple):
    """One condition that a job waits for.

    Attributes:
        kind: one of `KINDS`.
        job: the id of the job that it names, or of an array, as it is written; "" for `singleton`.
        delay: seconds that must pass after the job has started; for `after` only.
    """

    kind: str
    job: str = ""
    delay: float = 0.0

    def __str__(self) -> str:
        delay = f"+{self.delay / 60:g}" if self.delay else ""
        return f"{self.kind}:{self.job}{delay}" if self.job else self.kind


class Dependency(NamedTuple):
    """The dependency of a job: it waits for this before it can start.

    Attributes:
        conditions: the conditions.
        needs_all: whether all of them must hold; else one is enough.
    """

    conditions: tuple[Condition, ...]
    needs_all: bool = True


def parse_dependency(value: Any) -> Dependency:
    """Read the dependency of a job.

    >>> parse_dependency("afterok:12:13").conditions
    (Condition(kind='afterok', job='12', delay=0.0), Condition(kind='afterok', job='13', delay=0.0))
    >>> parse_dependency("after:7+5").conditions[0].delay
    300.0

    Raises:
        InputError: the value is not a dependency.
    """
    if not isinstance(value, str) or not value.strip() or len(value) > 100 * _MOST:
        raise InputError(f"expected a dependency such as 'afterok:12:13', got {shown(value)}")
    if "," in value and "?" in value:
        raise InputError(f"expected either ',' (all) or '?' (any) between conditions, got both in {shown(value)}")
    needs_all = "?" not in value
    conditions = [each for part in re.split("[,?]", value) for each in _conditions(part.strip())]
    if len(conditions) > _MOST:
        raise InputError(f"expected at most {_MOST:,} conditions, got {len(conditions):,}")
    return Dependency(tuple(conditions), needs_all)


def _conditions(part: str) -> list[Condition]:
    kind, *jobs = part.split(":")
    if kind not in KINDS:
        raise InputError(f"expected one of {', '.join(KINDS)}, got {shown(kind)}")
    if kind == "singleton":
        if jobs:
            raise InputError(f"expected 'singleton' without jobs, got {shown(part)}")
        return [Condition(kind)]
    if not jobs or not all(jobs):
        raise InputError(f"expected the id of a job behind each ':', as in '{kind}:12', got {shown(part)}")
    found = []
    for job in jobs:
        delayed = _DELAYED.fullmatch(job) if kind == "after" else None
        found.append(Condition(kind, delayed[1], float(delayed[2]) * 60) if delayed else Condition(kind, job))
    return found


def in_workload_of(job_id: str, name: str) -> str:
    """The full id of a job or array in the workload of another job.

    >>> in_workload_of("w0!7", "12")
    'w0!12'
    """
    workload, bang, _ = job_id.rpartition("!")
    return f"{workload}{bang}{name}"


def full_id(name: str, job_id: str) -> str:
    """The full id of a job that another one names: in the workload of that one, unless it names a workload.

    >>> full_id("12", "w0!7"), full_id("w1!12", "w0!7")
    ('w0!12', 'w1!12')
    """
    return name if "!" in name else in_workload_of(job_id, name)
