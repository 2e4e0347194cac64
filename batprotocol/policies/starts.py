"""When jobs start that could start now: as soon as they can, or at a better time of a trace.

A trace has carbon intensities or prices. This module must not know hosts, and how jobs are held and interrupted.
"""

from __future__ import annotations

import logging
import math
import random
from typing import ClassVar, NamedTuple

from batprotocol.workloads.electricity import BestTimes, Trace

__all__ = ["Turn", "Wait"]

logger = logging.getLogger("batprotocol.policies")

_SHORT = 1.0
"""Seconds: a job without an expected run time waits as if it was as short, and a deadline is met by that much."""


class Turn(NamedTuple):
    """When a job may run.

    Attributes:
        begin: the first time at which it may start, in seconds.
        until: the time at which it waits again; infinity: it does not.
    """

    begin: float
    until: float = math.inf


class Wait:
    """Jobs wait for the best time of a trace, as far as they have slack.

    A job starts in the interval with the least mean value that is as long as it is expected to run. It may start late
    by its slack, which counts from the time at which it could have started: from its submission, its `begin`, and the
    jobs that it depends on. If no hosts are free then, it starts as soon as there are some.

    Args:
        trace: the values over time: carbon intensities, or prices. Where it has none, jobs do not wait.
        slack: how late a job may start, in seconds, >= 0.
        share: how late a job may start, as a part of its expected run time, >= 0; None: `slack` holds.
        deadline: whether jobs with the key `deadline` may wait until they have to start. Others may by their slack.
        interruptible: whether jobs that can be divided run in the best times of their window, with interruptions. This
            window ends when a job would end that starts as late as it may.
        error: the standard deviation of the errors of a forecast, as a part of the mean value, >= 0. Jobs then wait
            by the forecast: each value of the trace has a normal error.
        seed: decides these errors.
        quantile: all jobs of the queue wait while the value is above this quantile, from 0 to 1, of the values of the
            24 hours from then on, as far as they have slack; None: each waits for its best time.

    >>> trace = Trace([0.0, 3600.0, 7200.0], [300.0, 200.0, 250.0], 10800.0, "g/kWh", repeats=True)
    >>> Wait(trace, 7200.0).turn(0.0, 0.0, 1800.0).begin
    3600.0
    """

    name: ClassVar[str] = "wait"
    """Its name on the command line."""
    sentence: ClassVar[str] = "Jobs wait for the times of a trace with the least carbon intensity, or the least price."
    """One sentence that describes it."""
    source: ClassVar[str] = "Wiesner et al., Middleware 2021"
    """The publication or documentation that defines it."""

    def __init__(
        self,
        trace: Trace,
        slack: float = 8 * 3600.0,
        *,
        share: float | None = None,
        deadline: bool = False,
        interruptible: bool = False,
        error: float = 0.0,
        seed: int = 0,
        quantile: float | None = None,
    ) -> None:
        if not 0 <= slack < math.inf:
            raise ValueError(f"expected a slack >= 0 in seconds, got {slack}")
        if share is not None and not 0 <= share < math.inf:
            raise ValueError(f"expected a slack >= 0 as a part of the run time, got {share}")
        if not 0 <= error < math.inf:
            raise ValueError(f"expected a standard deviation of errors >= 0, got {error}")
        if quantile is not None and not 0 <= quantile <= 1:
            raise ValueError(f"expected a quantile from 0 to 1, got {quantile}")
        if quantile is not None and interruptible:
            raise ValueError("expected interruptible or queue, got both")
        self.trace, self.slack, self.share, self.deadline = trace, slack, share, deadline
        self.interruptible, self.error, self.seed, self.quantile = interruptible, error, seed, quantile
        self._best = BestTimes(forecast_of(trace, error, seed) if error else trace)
        self._is_known_to_end = False

    @property
    def has_effect(self) -> bool:
        """Whether some time is better than another one."""
        return not self._best.is_constant

    def turn(
        self,
        now: float,
        since: float,
        expected: float,
        *,
        walltime: float = math.inf,
        deadline: float | None = None,
        divisible: bool = False,
        ran: float = 0.0,
    ) -> Turn:
        """When a job may run.

        Args:
            now: the time.
            since: when it could have started first.
            expected: how long it is expected to run, in seconds; infinity: that is not known.
            walltime: its walltime; infinity: it has none.
            deadline: when it must have ended; None: at any time.
            divisible: whether it can be interrupted.
            ran: how long it has run before it was interrupted.
        """
        seconds = expected if 0 < expected < math.inf else _SHORT
        latest = self._latest(since, expected, walltime, deadline)
        if latest <= since or self._is_unknown(since):
            return Turn(since)
        if self.quantile is not None:
            begin = self._best.low_from(max(now, since), latest, self.quantile)
            return Turn(begin, self._best.high_from(begin, latest, self.quantile))
        if not (self.interruptible and divisible and expected < math.inf):
            return Turn(self._best.start(since, latest, seconds))
        rest = seconds - ran
        if rest <= 0:  # it takes longer than expected
            return Turn(since)
        pieces = self._best.pieces(max(now, since), latest + seconds, rest)
        return Turn(pieces[0][0], pieces[0][1] if len(pieces) > 1 else math.inf)

    def _latest(self, since: float, expected: float, walltime: float, deadline: float | None) -> float:
        """The latest time at which a job may start because of this part."""
        slack = self.slack if self.share is None else self.share * expected if expected < math.inf else 0.0
        latest = since + slack
        if deadline is None:
            return latest
        if walltime == math.inf:  # it is not known when it has to start
            return since
        due = deadline - walltime - _SHORT
        return due if self.deadline else min(latest, due)

    def _is_unknown(self, since: float) -> bool:
        """Whether the trace has no values at a time."""
        if self._best.known(since, math.inf) > since:
            return False
        if not self._is_known_to_end:
            self._is_known_to_end = True
            logger.warning(
                "jobs do not wait from %g s on: their trace has values from %g s to %g s; repeat it with repeat=yes",
                *(since, self.trace.begin, self.trace.end),
            )
        return True


def forecast_of(trace: Trace, error: float, seed: int) -> Trace:
    """A trace with normal errors, which are independent for each value.

    Args:
        trace: the true values.
        error: the standard deviation of the errors, as a part of the mean value.
        seed: decides them.
    """
    chance = random.Random(seed)
    deviation = error * abs(trace.mean(trace.begin, trace.end))
    values = [value + chance.gauss(0.0, deviation) for value in trace.values]
    return Trace(trace.times, values, trace.end, trace.unit, repeats=trace.repeats)
