"""`Backfill`: which job starts before its turn while the first job of the queue waits."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from batprotocol.gym.backfilling import Backfiller
from batprotocol.gym.environment import Environment, Mask
from batprotocol.policies import EASY

__all__ = ["Backfill"]


class Backfill(Environment):
    """Choose jobs to start while the first job of the queue waits. An action is a place in the queue; the last is none.

    The first job starts automatically as soon as it fits. After the last action, no job starts until something happens.

    Args:
        arguments: see `Environment`; `order` decides which job is the first one.
        reserve: whether only jobs may start that do not delay the first one, as in EASY backfilling.
        options: see `Environment`.
    """

    own = ("_is_settled",)

    def __init__(self, *arguments: Any, reserve: bool = True, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._reserve = Backfiller(EASY(), self.log, True) if reserve else None
        self._is_settled = False

    def actions(self) -> spaces.Space[Any]:
        return spaces.Discrete(self.max_queue + 1)

    def begin(self) -> None:
        self._is_settled = False

    def is_due(self) -> bool:
        world = self.world
        while world.queue and world.fits(world.queue[0]):
            world.start(world.take(0))
            self._is_settled = False
        if self._is_settled or world.is_full:
            self._is_settled = False
            return False
        return bool(self._places())

    def mask(self) -> Mask:
        made = np.zeros(self.max_queue + 1, np.int8)
        made[self._places()] = made[-1] = 1
        return made

    def act(self, action: int) -> None:
        world = self.world
        if action in self._places():
            first = world.queue[0]
            world.overtake(first, world.take(action), self._reserve)
            return
        if action != self.max_queue:
            self.refuse(f"the job at place {action} of the queue cannot start now, so no job starts")
        self._is_settled = True

    def _places(self) -> list[int]:
        """The places of the jobs that may start."""
        world = self.world
        if len(world.queue) < 2:
            return []
        return world.overtaking(world.queue[: self.max_queue], self._reserve)
