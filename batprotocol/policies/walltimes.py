"""The expected run times of jobs, which backfilling uses: their walltimes, or predictions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from batprotocol.policies.jobs import RunningJob, State, WaitingJob

__all__ = ["AsRequested", "MeanOfLast", "Predicted", "Walltimes"]


class Walltimes:
    """The expected run times of jobs. To make one, derive and write `expected`.

    When a job runs longer than expected, it is expected to use all of its walltime from then on.
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def expected(self, job: WaitingJob, state: State) -> float:
        """The expected run time in seconds, at most the walltime. The policy asks once, at the submission of the job.

        A larger number counts as the walltime.
        """
        raise NotImplementedError

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended. It ran from `job.started` until `state.now`."""


class AsRequested(Walltimes):
    """The requested times."""

    name = "requested"
    sentence = "Jobs are expected to run for their walltimes."

    def expected(self, job: WaitingJob, state: State) -> float:
        return job.walltime


class MeanOfLast(Walltimes):
    """The mean run time of the last `count` jobs of the same user. Until that many have ended, it is the walltime.

    Args:
        count: the number of jobs, >= 1.
    """

    name = "predicted"
    sentence = "Jobs are expected to run for the mean of the last N jobs of their user, two by default."
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
    """Predictions by a Python function.

    Args:
        function: takes a job and the state, and returns seconds.
    """

    def __init__(self, function: Callable[[WaitingJob, State], float]) -> None:
        self._function = function

    def expected(self, job: WaitingJob, state: State) -> float:
        return self._function(job, state)
