"""What an agent is rewarded for: each reward knows its value so far, which at the end is the whole of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import ClassVar, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.worlds.world import World
from batprotocol.simulator import JobRow
from batprotocol.simulator.results.metrics import TAU

__all__ = ["REWARDS", "BoundedSlowdown", "Energy", "OfRows", "Reward", "Utilisation", "Waiting", "reward_of"]

Floats: TypeAlias = "npt.NDArray[np.float64]"
_Self = TypeVar("_Self", bound="Reward")
_Mean = TypeVar("_Mean", bound="_OfJobs")
RowsReward: TypeAlias = Callable[[Sequence[JobRow]], float]


class Reward(ABC):
    """A reward. To make one, derive, and write `value`; what it keeps is copied with an environment."""

    name: ClassVar[str] = ""
    """What it is called."""

    def begin(self: _Self, world: World) -> _Self:
        """The reward of a new episode."""
        return copy(self)

    @abstractmethod
    def value(self, world: World) -> float:
        """What the episode is worth so far: asked after each step, or at the end only. Larger is better."""


class _OfJobs(Reward, ABC):
    """Minus the mean over all jobs of an episode; of those that wait, as it would be if they started now."""

    _counted = 0
    _sum = 0.0

    @abstractmethod
    def of_jobs(self, waited: Floats, lasted: Floats) -> Floats:
        """What is averaged, of jobs that have waited and run for so many seconds."""

    def begin(self: _Mean, world: World) -> _Mean:
        made = super().begin(world)
        made._counted, made._sum = 0, 0.0
        return made

    def value(self, world: World) -> float:
        first, outcomes = self._counted, world.outcomes
        if len(outcomes) > first:
            new = np.array(outcomes[first:])
            values = self.of_jobs(np.array(world.starts)[new] - world.times.submitted[new], world.times.lasts[new])
            if len(new) == world.count:  # all at once: without any rounding on the way
                return -math.fsum(values.tolist()) / world.count
            self._sum += math.fsum(values.tolist())
            self._counted = len(outcomes)
        total = self._sum
        if world.waiting and not world.is_over:
            waiting = world.head(world.count)
            values = self.of_jobs(world.now - world.times.submitted.take(waiting), world.times.lasts.take(waiting))
            total += float(values.sum())
        return -total / world.count


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
    """The part of all hosts' time that jobs used, from the first submission to the last end; in [0,1]."""

    name = "utilisation"

    def __init__(self) -> None:
        self._counted, self._area, self._end = 0, 0.0, 0.0

    def begin(self, world: World) -> Utilisation:
        return Utilisation()

    def value(self, world: World) -> float:
        for job in world.outcomes[self._counted :]:
            self._area += world.sizes[job] * world.lasts[job]
            self._end = max(self._end, world.starts[job] + world.lasts[job])
        self._counted = len(world.outcomes)
        passed = self._end - world.submitted[0]
        return self._area / (world.log.hosts * passed) if passed > 0 else 0.0


class Energy(Reward):
    """Minus the energy that all hosts consumed, in kWh. It takes an environment that measures energy."""

    name = "energy"

    def value(self, world: World) -> float:
        return -world.joules() / 3.6e6


class OfRows(Reward):
    """A function of the rows of all jobs that have ended, in that order; 0 as long as there is none.

    Args:
        function: called with the rows; larger is better.
    """

    def __init__(self, function: RowsReward) -> None:
        self.function = function

    def value(self, world: World) -> float:
        return float(self.function(world.rows())) if world.finished else 0.0


REWARDS: Final = {kind.name: kind for kind in (BoundedSlowdown, Waiting, Utilisation, Energy)}
"""The rewards by name."""


def reward_of(given: Reward | RowsReward | str) -> Reward:
    """A reward, its name, or that of a function of the rows of finished jobs.

    Raises:
        InputError: there is none of this name.
    """
    if isinstance(given, Reward):
        return given
    if callable(given):
        return OfRows(given)
    if given not in REWARDS:
        raise InputError(f"expected {', '.join(REWARDS)}, or a function of the rows of jobs, got {shown(given)}")
    return REWARDS[given]()
