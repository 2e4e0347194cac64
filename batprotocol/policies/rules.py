"""The rules that all planners keep: who gives way to whom, and what the jobs of users and accounts may have together.

A site and a Slurm read their rules from other files, and have more of them. Here is what these rules are about in both:
a running job has terms by which it gives way, and a limit is about what the running jobs of a scope have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

__all__ = ["PreemptMode", "PreemptionRules", "PreemptionTerms", "ScopeUsage", "exceeded"]


class PreemptMode:
    """The fates of jobs that give way. A Slurm has no `CHECKPOINT`, and only a Slurm has `SUSPEND`."""

    OFF: Final = "off"
    """It does not give way."""
    CANCEL: Final = "cancel"
    """It is killed."""
    REQUEUE: Final = "requeue"
    """It runs again from its start."""
    CHECKPOINT: Final = "checkpoint"
    """It runs again from its progress."""
    SUSPEND: Final = "suspend"
    """It is stopped, keeps its nodes, and goes on there."""


class PreemptionTerms(NamedTuple):
    """How a running job gives way.

    Attributes:
        mode: its fate: a value of `PreemptMode`.
        grace: the seconds between the decision and the kill.
        exempt: the seconds that it runs before it gives way to any job.
    """

    mode: str = PreemptMode.OFF
    grace: float = 0.0
    exempt: float = 0.0


class _Runs(Protocol):
    started: float


Waits = TypeVar("Waits", contravariant=True)
Runs = TypeVar("Runs", bound=_Runs)


class PreemptionRules(ABC, Generic[Waits, Runs]):
    """Which running jobs give way to an entry of the queue, and in which order."""

    @abstractmethod
    def terms(self, job: Runs) -> PreemptionTerms:
        """How a running job gives way."""

    @abstractmethod
    def is_below(self, job: Runs, other: Waits) -> bool:
        """Whether a running job may give way to an entry, once it has run for long enough."""

    @abstractmethod
    def loss(self, job: Runs, now: float) -> tuple[float, ...]:
        """The loss if a running job gives way now: those with the least loss do so first. No two are equal."""

    def candidates(self, running: Iterable[Runs], other: Waits, now: float) -> list[Runs]:
        """The running jobs that may give way to an entry now, those with the least loss first."""
        found = [job for job in running if self.is_below(job, other) and now >= job.started + self.terms(job).exempt]
        return sorted(found, key=lambda job: self.loss(job, now))


# Limits of scopes: of a user, an account, a quality of service, an array...


class ScopeUsage:
    """The amounts that the jobs of a scope have.

    Attributes:
        jobs: the number of those that run.
        submitted: the number of those that count where waiting jobs are limited: on a site those that wait, in a Slurm
            those that wait or run.
        tres: what those that run have of each trackable resource: `node`, `cpu`, `gres/gpu`...
    """

    __slots__ = ("jobs", "submitted", "tres")

    def __init__(self) -> None:
        self.jobs = self.submitted = 0
        self.tres: Counter[str] = Counter()

    def runs(self, tres: Mapping[str, int], change: int) -> None:
        """A job runs (1), or runs no longer (-1).

        Args:
            tres: what it has.
            change: 1 or -1.
        """
        self.jobs += change
        for name, amount in tres.items():
            self.tres[name] += change * amount


def exceeded(wanted: Mapping[str, float], used: Mapping[str, float], limits: Mapping[str, int]) -> Iterator[str]:
    """The resources of which a job would have too much, together with what others have, of those that it wants.

    Args:
        wanted: what it would have.
        used: what others have.
        limits: the most of each.

    >>> list(exceeded({"node": 2, "cpu": 8}, {"node": 3}, {"node": 4, "cpu": 8, "gres/gpu": 0}))
    ['node']
    """
    for name, limit in limits.items():
        if wanted.get(name, 0) and wanted[name] + used.get(name, 0) > limit + 1e-9:
            yield name
