"""How long jobs are expected to run, as backfilling counts on it: as long as their walltimes say, or as predicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from batprotocol.policies.jobs import RunningJob, State, WaitingJob

__all__ = ["AsRequested", "MeanOfLast", "Predicted", "Walltimes"]


class Walltimes:
    """How long jobs are expected to run. To make one, derive, and write `expected`.

    A job that lasts longer than that is expected to use all of its walltime from then on.
    """

    name: ClassVar[str] = ""
    """What it is called on the command line."""
    sentence: ClassVar[str] = ""
    """What it does."""
    source: ClassVar[str] = ""
    """Where it comes from."""

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def expected(self, job: WaitingJob, state: State) -> float:
        """Seconds, asked when the job is submitted. More than the walltime counts as the walltime."""
        raise NotImplementedError

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended: it ran from `job.started` until `state.now`."""


class AsRequested(Walltimes):
    """The walltimes as they are."""

    name = "requested"
    sentence = "Jobs are expected to run as long as their walltimes say."

    def expected(self, job: WaitingJob, state: State) -> float:
        return job.walltime


class MeanOfLast(Walltimes):
    """The mean of the run times of the last jobs of the same user; the walltime, until there are so many.

    Args:
        count: how many jobs, >= 1.
    """

    name = "predicted"
    sentence = "Jobs are expected to run as long as the last two jobs of their user did, in the mean."
    source = "Tsafrir, Etsion and Feitelson, TPDS 18, 2007"

    def __init__(self, count: int = 2) -> None:
        if count < 1:
            raise ValueError(f"expected a count >= 1, got {count}")
        self.count = count
        self.begin(State())

    def begin(self, state: State) -> None:
        self._last: dict[str | int, deque[float]] = {}

    def expected(self, job: WaitingJob, state: State) -> float:
        user = job.user
        last = None if user is None else self._last.get(user)
        return job.walltime if last is None or len(last) < self.count else sum(last) / self.count

    def ended(self, job: RunningJob, state: State) -> None:
        user = job.waited.user
        if user is not None:
            self._last.setdefault(user, deque(maxlen=self.count)).append(state.now - job.started)


class Predicted(Walltimes):
    """What a Python function says.

    Args:
        function: called with a job and the state; gives seconds.
    """

    def __init__(self, function: Callable[[WaitingJob, State], float]) -> None:
        self._function = function

    def expected(self, job: WaitingJob, state: State) -> float:
        return self._function(job, state)
