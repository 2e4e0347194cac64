"""`Batch`: which job comes next. `Policies`: which queue order chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from batprotocol.errors import InputError, shown
from batprotocol.gym.backfilling import Backfiller, backfilling_of
from batprotocol.gym.environment import Environment, Mask
from batprotocol.gym.log import order_of
from batprotocol.policies import FCFS, Backfilling, Order

__all__ = ["Batch", "Policies"]


class Batch(Environment):
    """Choose the next job: an action is its place in the queue.

    Args:
        arguments: see `Environment`.
        choice: "any": the chosen job starts as soon as it fits, and there is no decision until then; "fitting": only
            jobs that fit now can be chosen.
        backfilling: with "any", the kind of backfilling while the chosen job waits: `EASY` or `Greedy` of `policies`,
            or a name (`easy`, `greedy`); None: no other job starts.
        wait: whether there is one more action, the last one: to wait until something happens.
        options: see `Environment`.

    Raises:
        InputError: see `Environment`; or `choice` and `backfilling` exclude one another.

    >>> environment = Batch("lublin:64?jobs=100", jobs=20, backfilling="easy")
    >>> observation, info = environment.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = environment.step(0)
    """

    def __init__(
        self,
        *arguments: Any,
        choice: str = "any",
        backfilling: Backfilling | str | None = None,
        wait: bool = False,
        **options: Any,
    ) -> None:
        if choice not in ("any", "fitting"):
            raise InputError(f"expected choice to be 'any' or 'fitting', got {shown(choice)}")
        self.only_fitting, self._can_wait = choice == "fitting", wait
        kind = backfilling_of(backfilling)
        if kind is not None and self.only_fitting:
            raise InputError("choice='fitting' excludes backfilling, as no chosen job waits: use choice='any'")
        super().__init__(*arguments, **options)
        queue_order = self.order or _FCFS
        is_in_order = kind is not None and (
            kind.order is None or kind.order is queue_order or type(kind.order) is type(queue_order) is FCFS
        )
        self.backfiller = None if kind is None else Backfiller(kind, self.log, is_in_order)

    def actions(self) -> spaces.Space[Any]:
        return spaces.Discrete(self.max_queue + self._can_wait)

    def is_due(self) -> bool:
        world = self.world
        if not self.only_fitting:
            return world.waiting > 0
        return bool(self._fit(self.max_queue).any())

    def mask(self) -> Mask:
        world = self.world
        made = np.zeros(self.max_queue + self._can_wait, np.int8)
        seen = min(world.waiting, self.max_queue)
        if self.only_fitting:
            made[:seen] = self._fit(seen)
        else:
            made[:seen] = 1
        if self._can_wait and self.world.goes_on:
            made[-1] = 1
        return made

    def act(self, action: int) -> None:
        if action >= self.world.waiting or action == self.max_queue or not self._is_allowed(action):
            action = self._instead(action)
        if action < 0:
            self.world.advance()
        else:
            self.choose(action)

    def choose(self, place: int) -> None:
        """Choose the job at a place of the queue: wait until it fits, and start it."""
        world = self.world
        job = world.take(place)
        if world.fits(job) or world.wait_for(job, self.backfiller):
            world.start(job)

    def pick(self, order: Order | str) -> int:
        """The action that chooses the first job in a queue order, of the jobs that the agent may choose."""
        return self.place_of_first(order, self.max_queue)

    def place_of_first(self, order: Order | str, limit: int) -> int:
        """The place of the first job, in a queue order, that may be chosen, of up to `limit` jobs of the queue."""
        world, chosen = self.world, order_of(order)
        numbers = world.head(limit)
        if self.only_fitting:
            numbers = numbers[self._fit(limit)]
        if chosen.changes:
            return world.queue.index(world.sorted_by(chosen, numbers.tolist())[0])
        ranks = world.log.ranks(chosen)[world.first + numbers]
        best = int(ranks.argmin())
        return world.queue.index(int(numbers[best])) if self.only_fitting else best

    # Internal

    def _fit(self, limit: int) -> npt.NDArray[np.bool_]:
        """Whether each of the first `limit` jobs of the queue fits now."""
        world = self.world
        return world.fit(world.head(limit))

    def _is_allowed(self, place: int) -> bool:
        world = self.world
        return not self.only_fitting or world.fits(world.queue[place])

    def _instead(self, action: int) -> int:
        """The action in place of one that is not allowed: wait (-1), or the first job that may be chosen."""
        waiting = self.world.waiting
        if action == self.max_queue:
            if self.world.goes_on:
                return -1
            self.refuse("no event will come while all jobs wait, so the first job is chosen")
        else:
            what = "does not fit now" if action < waiting else f"is empty: {waiting} jobs wait"
            self.refuse(f"place {action} of the queue {what}")
            if self._can_wait and self.world.goes_on:
                return -1
        return next(place for place in range(waiting) if self._is_allowed(place))


class Policies(Batch):
    """Choose a queue order: the next job is the first one in that order. See `Batch` for the options.

    Args:
        arguments: see `Environment`.
        policies: the queue orders to choose from, or their names.
        options: see `Batch`.
    """

    def __init__(
        self, *arguments: Any, policies: Sequence[Order | str] = ("fcfs", "sjf", "saf", "f4"), **options: Any
    ) -> None:
        if not policies:
            raise InputError("expected at least one policy to choose from, got none")
        self.policies = [order_of(policy) for policy in policies]
        super().__init__(*arguments, **options)

    def actions(self) -> spaces.Space[Any]:
        return spaces.Discrete(len(self.policies))

    def mask(self) -> Mask:
        return np.ones(len(self.policies), np.int8)

    def act(self, action: int) -> None:
        self.choose(self.place_of_first(self.policies[action], self.world.waiting))


_FCFS = FCFS()
