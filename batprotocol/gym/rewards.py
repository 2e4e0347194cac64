"""The rewards of agents. Each reward computes its value until now; at the end, that is the reward of the episode."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import ClassVar, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from batprotocol.errors import InputError, shown
from batprotocol.gym._world import World
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.simulator import TAU, JobRow, OwnMetric, load_metric, measured
from batprotocol.workloads.electricity import CARBON, PRICE

__all__ = [
    "REWARDS",
    "BoundedSlowdown",
    "Carbon",
    "Cost",
    "Energy",
    "OfMetric",
    "OfRows",
    "Reward",
    "Utilisation",
    "Waiting",
    "reward_of",
    "summed_up",
]

Floats: TypeAlias = "npt.NDArray[np.float64]"
_Self = TypeVar("_Self", bound="Reward")
_Mean = TypeVar("_Mean", bound="_OfJobs")
RowsReward: TypeAlias = Callable[[Sequence[JobRow]], float]


class Reward(ABC):
    """A reward. To make one, derive and write `value`. Its attributes are copied with an environment."""

    name: ClassVar[str] = ""
    """Its name."""

    def begin(self: _Self, world: World) -> _Self:
        """The reward of a new episode."""
        made = self.__class__.__new__(self.__class__)
        made.__dict__.update(self.__dict__)
        return made

    def counts(self) -> tuple[float, float, float]:
        """Its counts of the jobs that have started, for an engine in C that counts on; see `COUNTED`."""
        raise NotImplementedError

    def recount(self, counted: float, total: float, end: float) -> None:
        """Take over the counts of such an engine."""
        raise NotImplementedError

    @abstractmethod
    def value(self, world: World) -> float:
        """The reward of the episode until now; larger is better. It is computed after each step, or at the end only."""


class _OfJobs(Reward, ABC):
    """Minus the mean over all jobs of an episode. Waiting jobs count as if they started now."""

    _counted = 0
    _sum = 0.0

    @abstractmethod
    def of_jobs(self, waited: Floats, lasted: Floats) -> Floats:
        """The values to average, of jobs with these waiting times and run times in seconds."""

    def begin(self: _Mean, world: World) -> _Mean:
        made = super().begin(world)
        made._counted, made._sum = 0, 0.0
        return made

    def counts(self) -> tuple[float, float, float]:
        return self._counted, self._sum, 0.0

    def recount(self, counted: float, total: float, end: float) -> None:
        self._counted, self._sum = int(counted), total

    def value(self, world: World) -> float:
        first, outcomes = self._counted, world.outcome_numbers()
        if len(outcomes) > first:
            new = outcomes[first:]
            waited, lasted = _times(world, new)
            values = self.of_jobs(waited, lasted)
            if len(new) == world.count:  # all at once: without rounding of intermediate sums
                return -math.fsum(values.tolist()) / world.count
            self._sum += math.fsum(values.tolist())
            self._counted = len(outcomes)
        total = self._sum
        waiting = _NOBODY if world.is_over else world.pending()
        if len(waiting):
            lasted = world.times.lasts.take(waiting)
            if not world.knows_ends:  # walltimes in place of times that only the simulator can compute
                lasted = np.where(np.isnan(lasted), np.array(world.walltimes)[waiting], lasted)
            total += float(self.of_jobs(world.now - world.times.submitted.take(waiting), lasted).sum())
        return -total / max(world.counted, 1)


_NOBODY: Final = np.empty(0, np.int64)


def _times(world: World, jobs: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The waiting times and the run times of jobs that are outcomes."""
    waited = world.start_times().take(jobs) - world.times.submitted.take(jobs)
    return waited, (world.times.lasts if world.knows_ends else np.array(world.lasts)).take(jobs)


class BoundedSlowdown(_OfJobs):
    """Minus the mean bounded slowdown, as `Metrics` defines it, with tau = 10 s."""

    name = "bounded_slowdown"

    def of_jobs(self, waited: Floats, lasted: Floats) -> Floats:
        return np.maximum((waited + lasted) / np.maximum(lasted, TAU), 1.0)


class Waiting(_OfJobs):
    """Minus the mean waiting time, in seconds."""

    name = "waiting"

    def of_jobs(self, waited: Floats, lasted: Floats) -> Floats:
        return waited


class Utilisation(Reward):
    """The fraction of the time of all hosts that jobs used, from the first submission to the last end, in [0,1].

    A job that shares hosts uses the share of their cores that it takes, as in `Metrics`.
    """

    name = "utilisation"

    def __init__(self) -> None:
        self._counted, self._area, self._end = 0, 0.0, 0.0

    def begin(self, world: World) -> Utilisation:
        return Utilisation()

    def counts(self) -> tuple[float, float, float]:
        return self._counted, self._area, self._end

    def recount(self, counted: float, total: float, end: float) -> None:
        self._counted, self._area, self._end = int(counted), total, end

    def value(self, world: World) -> float:
        for job in world.outcomes[self._counted :]:
            self._area += world.used(job) * world.lasts[job]
            self._end = max(self._end, world.starts[job] + world.lasts[job])
        self._counted = len(world.outcomes)
        passed = self._end - world.submitted[0]
        return self._area / (world.log.hosts * passed) if passed > 0 else 0.0


class Energy(Reward):
    """Minus the energy that all hosts consumed, in kWh. It needs an environment that measures energy."""

    name = "energy"

    def value(self, world: World) -> float:
        return -world.joules() / 3.6e6


class Carbon(Reward):
    """Minus the carbon of all hosts since the first submission, in kg CO2eq. It needs an `electricity` with carbon."""

    name = "carbon"

    def value(self, world: World) -> float:
        return -world.weighted(CARBON) / 1000


class Cost(Reward):
    """Minus the cost of the energy of all hosts since the first submission. It needs an `electricity` with a price."""

    name = "cost"

    def value(self, world: World) -> float:
        return -world.weighted(PRICE)


class OfRows(Reward):
    """A function of the rows of all jobs that have ended, in the order of their ends; 0 before the first end.

    Args:
        function: takes the rows, and returns a number; larger is better.
    """

    def __init__(self, function: RowsReward) -> None:
        self.function = function

    def value(self, world: World) -> float:
        return float(self.function(world.rows())) if world.finished else 0.0


class OfMetric(Reward):
    """A metric of your own, of the jobs that have ended; minus the metric if less is better; 0 if it is unknown.

    If the metric takes the run, all metrics are computed each time. In environments that only count hosts, each job has
    the free hosts with the lowest numbers.

    Args:
        metric: a metric that defines whether less or more is better.

    Raises:
        InputError: it does not define that.
    """

    def __init__(self, metric: OwnMetric) -> None:
        if metric.better is None:
            raise InputError(
                f"the metric {shown(metric.name)} is not a reward, as it does not define which direction is better: "
                f"write @metric(better='less') or @metric(better='more') above it"
            )
        self.metric = metric
        self.sign = -1.0 if metric.better == "less" else 1.0

    def value(self, world: World) -> float:
        if not world.finished:
            return 0.0
        rows = _on_hosts(world.rows(), world.log.hosts)
        if self.metric.takes_run:
            run = measured(rows, world.log.hosts, own=[self.metric], allocations=world.allocated)
            found = run.own[self.metric.name]
        else:
            found = self.metric.value([row for row in rows if row.starting_time is not None])
        return 0.0 if math.isnan(found) else self.sign * found


def _on_hosts(rows: Sequence[JobRow], hosts: int) -> list[JobRow]:
    """The rows of jobs. If only the numbers of their hosts are known, each gets the lowest hosts that are free."""
    found = list(rows)
    free = Hosts(range(hosts))
    ends: list[tuple[float, int, FrozenHosts]] = []
    for place in sorted(range(len(rows)), key=lambda place: rows[place].starting_time or 0.0):
        row = rows[place]
        if row.starting_time is None or row.finish_time is None or row.allocated_resources:
            continue
        size = row.requested_number_of_resources
        while ends and (ends[0][0] <= row.starting_time or len(free) < size):  # ends are rounded
            free.give_back(heappop(ends)[2])
        taken = free.take(size)
        heappush(ends, (row.finish_time, place, taken))
        found[place] = replace(row, allocated_resources=taken.text)
    return found


REWARDS: Final = {kind.name: kind for kind in (BoundedSlowdown, Waiting, Utilisation, Energy, Carbon, Cost)}
"""The rewards by name."""


COUNTED: Final[dict[type[Reward], int]] = {BoundedSlowdown: 1, Waiting: 2, Utilisation: 3}
"""The rewards that the engine in C computes, too, with their numbers there."""


def reward_of(given: Reward | OwnMetric | RowsReward | str) -> Reward:
    """The reward with a name, or from a metric of your own or a function of the rows of finished jobs.

    Raises:
        InputError: there is no reward of this name, or a metric does not define whether less or more is better.
    """
    if isinstance(given, Reward):
        return given
    if isinstance(given, str) and ":" in given:
        given = load_metric(given)
    if isinstance(given, OwnMetric):
        return OfMetric(given)
    if callable(given):
        return OfRows(given)
    if given not in REWARDS:
        names = ", ".join(REWARDS)
        raise InputError(f"expected {names}, FILE.py:NAME, or a function of the rows of jobs, got {shown(given)}")
    return REWARDS[given]()


def summed_up(world: World) -> dict[str, float]:
    """The metrics of an episode that is over, by their names in `info`."""
    slowdowns, waits, area, end = world.sums()
    count, passed = max(len(world.outcomes), 1), world.log.hosts * (end - float(world.times.submitted[0]))
    return {
        "mean_bounded_slowdown": slowdowns / count,
        "mean_waiting_time": waits / count,
        "utilisation": area / passed if passed > 0 else 0.0,
    }
