"""Queue orders: which of the waiting jobs comes first.

An order is a key. The job with the smallest key comes first; among equal keys, the job that was submitted first. A key
that never changes while a job waits is computed once. Where keys change, `bound` gives a lower bound for the keys of
jobs that are alike, so that only some of the keys are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from batprotocol.model import Job
from batprotocol.policies.jobs import RunningJob, State, WaitingJob

__all__ = ["Alike", "Order", "Ordered"]


class Alike(NamedTuple):
    """Bounds of jobs that are alike."""

    smallest: int
    """No job requests fewer hosts."""
    largest: int
    """No job requests more hosts."""
    shortest: float
    """No job has a shorter walltime."""


class Order:
    """A queue order. To make one, derive and write `key`, or use `Ordered`.

    >>> class FewestHostSeconds(Order):
    ...     def key(self, job, state):
    ...         return job.size * job.walltime
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""
    changes: bool = False
    """Whether keys change while jobs wait."""

    def key(self, job: WaitingJob, state: State) -> Any:
        """The key of a job: a number or a tuple, without NaN. The job with the smallest key comes first."""
        raise NotImplementedError

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        """A lower bound of the keys of these jobs if they were submitted then or later; None if there is none.

        The queue asks for it only where keys change.
        """
        return None

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def submitted(self, job_id: str, job: Job, state: State) -> None:
        """A job was submitted. It may have to wait for others before it can join the queue.

        All jobs of a message are submitted before the key of the first one is computed.
        """

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended."""


class Ordered(Order):
    """A queue order by a Python function.

    Args:
        key: takes a job, its waiting time in seconds and the state. The job with the smallest result comes first.
        changes: whether the result changes while jobs wait. If so, it is called anew for each job that could start.

    >>> order = Ordered(lambda job, waited, state: job.size - waited / 3600)
    """

    def __init__(self, key: Callable[[WaitingJob, float, State], Any], *, changes: bool = True) -> None:
        self._key = key
        self.changes = changes

    def key(self, job: WaitingJob, state: State) -> Any:
        return self._key(job, state.now - job.submitted, state)
