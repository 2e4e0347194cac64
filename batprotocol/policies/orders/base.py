"""Orders of the queue: which of the jobs that wait comes first.

An order is a key: the job with the smallest one comes first, and of equal ones the job that was submitted first. What
never changes while a job waits is computed once. Where keys change, `bound` tells how small those of jobs that are
alike can be, so that only some of them are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from batprotocol.policies.jobs import RunningJob, State, WaitingJob

__all__ = ["Alike", "Order", "Ordered"]


class Alike(NamedTuple):
    """Bounds of jobs that are alike."""

    smallest: int
    """No job asks for fewer hosts."""
    largest: int
    """No job asks for more hosts."""
    shortest: float
    """No job has a shorter walltime."""


class Order:
    """An order of the queue. To make one, derive, and write `key`; or see `Ordered`.

    >>> class FewestHostSeconds(Order):
    ...     def key(self, job, state):
    ...         return job.size * job.walltime
    """

    name: ClassVar[str] = ""
    """What it is called on the command line."""
    sentence: ClassVar[str] = ""
    """What it does."""
    source: ClassVar[str] = ""
    """Where it comes from."""
    changes: bool = False
    """Whether keys change while jobs wait."""

    def key(self, job: WaitingJob, state: State) -> Any:
        """The job with the smallest key comes first. Numbers or tuples, no NaN among them."""
        raise NotImplementedError

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        """No smaller key has any job of these that was submitted then or later; None if that is not known.

        Asked only where keys change.
        """
        return None

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended."""


class Ordered(Order):
    """An order by a Python function.

    Args:
        key: called with a job, its waiting time in seconds and the state; the job for which it gives least comes first.
        changes: whether what it gives changes while jobs wait. Then it is called anew for each job that could start.

    >>> order = Ordered(lambda job, waited, state: job.size - waited / 3600)
    """

    def __init__(self, key: Callable[[WaitingJob, float, State], Any], *, changes: bool = True) -> None:
        self._key = key
        self.changes = changes

    def key(self, job: WaitingJob, state: State) -> Any:
        return self._key(job, state.now - job.submitted, state)
