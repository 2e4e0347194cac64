"""The fate of jobs whose hosts fail: they run again from the start, or from checkpoints that they take.

Without one of these, such jobs are lost. This module must not know how jobs are killed and registered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Final

__all__ = ["FORMULAS", "Checkpoint", "Failures", "Requeue", "daly", "lanl", "young"]


class Failures:
    """The fate of jobs whose hosts fail.

    Args:
        times: how often a job runs again because of failures, >= 0; infinity: as often as is needed.
        last: whether a job that runs again goes to the end of the queue; by default, it keeps its place.
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""

    def __init__(self, times: float = math.inf, *, last: bool = False) -> None:
        if not times >= 0:
            raise ValueError(f"expected a number of times >= 0, got {times}")
        self.times, self.last = times, last


class Requeue(Failures):
    """Jobs run again from their start.

    >>> Requeue(3).times
    3
    """

    name = "requeue"
    sentence = "Jobs whose hosts fail run again from the start: as often as needed, or TIMES."
    source = "Slurm, JobRequeue"


class Checkpoint(Failures):
    """Jobs take checkpoints, and run again from the last one.

    Args:
        interval: the seconds of work between checkpoints, > 0; or a name of `FORMULAS`, which computes them.
        cost: the seconds that a checkpoint takes, >= 0; with a formula > 0.
        mtbf: for a formula: the mean time between failures of one host, in seconds. Without it, the policy estimates it
            from the failures that it has seen, and jobs take no checkpoints before the first one.
        restart: the seconds that a job needs each time that it starts again, as for reading its checkpoint, >= 0.
        times: how often a job runs again because of failures, >= 0; infinity: as often as is needed.
        last: whether a job that runs again goes to the end of the queue; by default, it keeps its place.

    >>> part = Checkpoint("young", 60, mtbf=86400 * 365)
    >>> round(part.seconds(10, None))
    19453
    """

    name = "checkpoint"
    sentence = "Jobs take checkpoints, every SECONDS or by a formula, and run again from the last one."
    source = "Young, CACM 17, 1974; Daly, FGCS 22, 2006"

    def __init__(
        self,
        interval: float | str = "daly",
        cost: float = 60.0,
        *,
        mtbf: float | None = None,
        restart: float = 0.0,
        times: float = math.inf,
        last: bool = False,
    ) -> None:
        super().__init__(times, last=last)
        if isinstance(interval, str) and interval not in FORMULAS:
            raise ValueError(f"expected {', '.join(FORMULAS)} or seconds, got {interval!r}")
        if not isinstance(interval, str) and not 0 < interval < math.inf:
            raise ValueError(f"expected an interval > 0 in seconds, got {interval}")
        if not 0 <= cost < math.inf or (isinstance(interval, str) and not cost):
            raise ValueError(f"expected a cost {'> 0' if isinstance(interval, str) else '>= 0'} in seconds, got {cost}")
        if mtbf is not None and not 0 < mtbf < math.inf:
            raise ValueError(f"expected a mean time between failures > 0 in seconds, got {mtbf}")
        if not 0 <= restart < math.inf:
            raise ValueError(f"expected a restart >= 0 in seconds, got {restart}")
        self.interval, self.cost, self.mtbf, self.restart = interval, cost, mtbf, restart

    def seconds(self, hosts: int, seen: float | None) -> float:
        """The seconds of work between the checkpoints of a job; infinity: it takes none.

        Args:
            hosts: the number of hosts of the job, >= 1.
            seen: the mean time between the failures of one host that were seen; None: none were.
        """
        if not isinstance(self.interval, str):
            return self.interval
        mtbf = seen if self.mtbf is None else self.mtbf
        return FORMULAS[self.interval](self.cost, mtbf / hosts) if mtbf is not None and mtbf > 0 else math.inf


def young(cost: float, mtbf: float) -> float:
    """Young's interval: the square root of twice the cost of a checkpoint, times the mean time between failures.

    Args:
        cost: the seconds that a checkpoint takes.
        mtbf: the mean time between the failures of the hosts of the job, in seconds.

    >>> young(50.0, 10_000.0)
    1000.0
    """
    return math.sqrt(2 * cost * mtbf)


def daly(cost: float, mtbf: float) -> float:
    """Daly's interval of higher order. It is the mean time between failures if a checkpoint costs twice that or more.

    Args:
        cost: the seconds that a checkpoint takes.
        mtbf: the mean time between the failures of the hosts of the job, in seconds.

    >>> round(daly(50.0, 10_000.0), 3), daly(100.0, 10.0)
    (966.944, 10.0)
    """
    if cost >= 2 * mtbf:
        return mtbf
    ratio = math.sqrt(cost / (2 * mtbf))
    return math.sqrt(2 * cost * mtbf) * (1 + ratio / 3 + ratio**2 / 9) - cost


def lanl(cost: float, mtbf: float) -> float:
    """The interval of Los Alamos National Laboratory's Batsim: Young's times Euler's number, less the cost.

    Where that is not positive, it is the mean time between failures.

    Args:
        cost: the seconds that a checkpoint takes.
        mtbf: the mean time between the failures of the hosts of the job, in seconds.

    >>> round(lanl(50.0, 10_000.0), 3)
    2668.282
    """
    interval = math.sqrt(2 * cost * mtbf) * math.e - cost
    return interval if interval > 0 else mtbf


FORMULAS: Final[dict[str, Callable[[float, float], float]]] = {"young": young, "daly": daly, "lanl": lanl}
"""The formulas of the interval between checkpoints: functions of the cost and of the mean time between failures."""
