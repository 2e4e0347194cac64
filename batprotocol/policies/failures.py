"""The fate of jobs whose hosts fail: they run again from the start, or from checkpoints that they take.

Without one of these, such jobs are lost. `Pieces` divides the work of a job by its checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

import msgspec

from batprotocol.model import (
    DelayProfile,
    HomogeneousParallelTaskGenerationStrategy,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressSequentialProfile,
    ParallelTaskHomogeneousProfile,
    Profile,
    SequentialCompositionProfile,
)

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


# Jobs in pieces, with a checkpoint after each but the last one: the profiles of an attempt, and how far it came.


_MOST = 2**31
"""The most checkpoints of an attempt: more do not fit into a message."""

_SLACK = 1e-9
"""A last piece that is shorter than this part of an interval comes of rounding: it belongs to the piece before it."""

Registered = Callable[[Profile], str]
"""Registers a profile, unless an equal one is registered; returns its id."""


class AttemptProgress(NamedTuple):
    """How far an attempt has come.

    Attributes:
        checkpoints: how many checkpoints it has completed.
        stage: what it did then: `restart`, `work` or `checkpoint`.
        fraction: how much of that it had done, from 0 to 1.
    """

    checkpoints: int
    stage: str
    fraction: float


class Pieces(NamedTuple):
    """The work of an attempt, in pieces.

    Attributes:
        profile: the profile of the whole job.
        length: the seconds of work of the whole job.
        work: the seconds of work of this attempt.
        interval: the seconds of work of each piece but the last one.
        checkpoints: how many checkpoints the attempt takes.
        cost: the seconds of a checkpoint.
        restart: the seconds that it needs at first, before it goes on.
    """

    profile: Profile
    length: float
    work: float
    interval: float
    checkpoints: int
    cost: float
    restart: float

    @classmethod
    def of(cls, profile: Profile, length: float, kept: float, interval: float, cost: float, restart: float) -> Pieces:
        """The pieces of an attempt.

        Args:
            profile: the profile of the whole job.
            length: its seconds of work, see `length_of`.
            kept: the seconds of work that are done already.
            interval: the seconds of work between checkpoints; infinity: the attempt takes none.
            cost: the seconds of a checkpoint.
            restart: the seconds that the attempt needs before it goes on.
        """
        work = length - kept
        interval = max(interval, work / _MOST)
        return cls(profile, length, work, interval, checkpoints_in(work, interval), cost, restart)

    @property
    def is_plain(self) -> bool:
        """Whether the attempt is the job as it was submitted."""
        return not self.checkpoints and not self.restart and self.work == self.length

    @property
    def overhead(self) -> float:
        """The seconds of its restart and checkpoints."""
        return self.restart + self.checkpoints * self.cost

    def limit(self, walltime: float) -> float:
        """The walltime of the attempt.

        It is the rest of the walltime of the job, and the time of the restart and of the checkpoints in it.

        Args:
            walltime: the walltime of the job as it was submitted; infinity: none.
        """
        if walltime == math.inf:
            return walltime
        rest = walltime - (self.length - self.work)
        if not isinstance(self.profile, DelayProfile):  # how long the work really takes is not known
            return max(rest, walltime * self.work / self.length) + self.overhead
        return rest + self.restart + checkpoints_in(min(self.work, rest), self.interval) * self.cost

    def registered(self, register: Registered) -> str:
        """Register the profiles of the attempt; returns the id of the one that the job runs.

        Args:
            register: registers a profile.
        """
        ids = [register(DelayProfile(self.restart))] if self.restart else []
        if self.checkpoints:
            cycle = [register(scaled(self.profile, self.interval, self.length))]
            if self.cost:
                cycle.append(register(DelayProfile(self.cost)))
            ids.append(
                register(SequentialCompositionProfile(profile_ids=tuple(cycle), repetition_count=self.checkpoints))
            )
        ids.append(register(scaled(self.profile, self._last, self.length)))
        return ids[0] if len(ids) == 1 else register(SequentialCompositionProfile(profile_ids=tuple(ids)))

    def place(self, progress: KillProgress | None) -> AttemptProgress | None:
        """How far the attempt had come when it was killed; None: that is not known.

        Args:
            progress: the progress that Batsim reports.
        """
        stages = [*(["restart"] if self.restart else []), *(["cycle"] if self.checkpoints else []), "rest"]
        stage, done = "rest", progress
        if len(stages) > 1:
            if not isinstance(progress, KillProgressSequentialProfile) or progress.current_task_index >= len(stages):
                return None
            stage, done = stages[progress.current_task_index], progress.current_task_progress
        if stage == "cycle":
            if not isinstance(done, KillProgressSequentialProfile) or done.current_repetition >= self.checkpoints:
                return None
            return _place(done.current_repetition, ("work", "checkpoint")[done.current_task_index > 0], done)
        return _place(0, "restart", done) if stage == "restart" else _place(self.checkpoints, "work", done)

    def kept(self, place: AttemptProgress | None) -> float:
        """The seconds of work of the attempt that its checkpoints keep."""
        return place.checkpoints * self.interval if place is not None and place.checkpoints else 0.0

    def done(self, place: AttemptProgress | None) -> float:
        """The seconds of work of the attempt that are done, also since its last checkpoint."""
        if place is None or place.stage == "restart":
            return 0.0
        piece = self.interval if place.checkpoints < self.checkpoints else self._last
        return self.kept(place) + piece * (place.fraction if place.stage == "work" else 1.0)

    def spent(self, place: AttemptProgress | None, seconds: float) -> tuple[float, float, float, float]:
        """The use of the seconds of an attempt that was killed.

        Args:
            place: how far it had come.
            seconds: the seconds that it ran.

        Returns:
            The seconds of work that checkpoints keep, of checkpoints, of the restart, and of work that is lost.
        """
        if place is None:
            return 0.0, 0.0, 0.0, seconds
        if place.stage == "restart":
            return 0.0, 0.0, seconds, 0.0
        unfinished = place.fraction if place.stage == "checkpoint" else 0.0
        checkpoints = (place.checkpoints + unfinished) * self.cost
        worked, done = max(seconds - self.restart - checkpoints, 0.0), self.done(place)
        kept = worked * self.kept(place) / done if done else 0.0  # work may take another time than computed
        return kept, checkpoints, min(self.restart, seconds), worked - kept

    @property
    def _last(self) -> float:
        """The seconds of work of the last piece."""
        return self.work - self.checkpoints * self.interval if self.checkpoints else self.work


def _place(checkpoints: int, stage: str, progress: KillProgress | None) -> AttemptProgress:
    """The place in a piece: an atomic profile, or the cycle whose current profile is one."""
    while isinstance(progress, KillProgressSequentialProfile):
        progress = progress.current_task_progress
    done = progress.progress if isinstance(progress, KillProgressAtomicProfile) else 0.0
    return AttemptProgress(checkpoints, stage, min(max(done, 0.0), 1.0))


def checkpoints_in(work: float, interval: float) -> int:
    """How many checkpoints some seconds of work have: one after each interval, and none at the end."""
    return max(math.ceil(work / interval - _SLACK) - 1, 0) if interval < math.inf else 0


def length_of(profile: Profile | None, hosts: int, speed: float) -> float | None:
    """The seconds of work of a profile; None: it cannot be divided.

    A parallel task is as long as its computation takes alone.

    Args:
        profile: the profile; None: it is not known.
        hosts: the number of its executors.
        speed: the speed of a core, in flops per second.

    >>> length_of(ParallelTaskHomogeneousProfile(1e12, 0.0), 4, 1e9)
    1000.0
    """
    if isinstance(profile, DelayProfile):
        return profile.delay
    if not isinstance(profile, ParallelTaskHomogeneousProfile) or speed <= 0:
        return None
    is_total = profile.generation_strategy is HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
    return profile.computation_amount / (hosts if is_total else 1) / speed or None


def scaled(profile: Profile, part: float, whole: float) -> Profile:
    """A part of a delay or of a homogeneous parallel task.

    >>> scaled(DelayProfile(10.0), 2.5, 10.0)
    DelayProfile(delay=2.5)
    """
    if isinstance(profile, DelayProfile):
        return DelayProfile(profile.delay * (part / whole) if whole != profile.delay else part)
    assert isinstance(profile, ParallelTaskHomogeneousProfile)
    return msgspec.structs.replace(
        profile,
        computation_amount=profile.computation_amount * (part / whole),
        communication_amount=profile.communication_amount * (part / whole),
    )
