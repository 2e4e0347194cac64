"""The environments. Each defines its decisions in a few lines on top of `Environment`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from batprotocol.errors import InputError, shown
from batprotocol.gym._simulated import ElectricWorld, SimulatedWorld
from batprotocol.gym._world import World
from batprotocol.gym.environment import Backfiller, Environment, Mask, Ranks, backfilling_of
from batprotocol.gym.log import order_of
from batprotocol.model.free_hosts import FrozenHosts
from batprotocol.policies import EASY, FCFS, Backfilling, Order
from batprotocol.simulator import Platform, SleepPState, Watts

__path__: list[str] = []  # it was a package: its modules are found by their old names

REFUSALS: Final = (
    "",
    "no event will come while all jobs wait, so the first job is chosen",
    "place {action} of the queue is empty: {waiting} jobs wait",
    "place {action} of the queue does not fit now",
    "the job at place {action} of the queue cannot start now, so no job starts",
)
"""Why an action is refused. The steps in C report the position in this tuple."""
_NO_EVENT, _EMPTY, _TOO_LARGE, _CANNOT_START = range(1, len(REFUSALS))


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
        self.only_fitting, self.can_wait = choice == "fitting", wait
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
        return spaces.Discrete(self.max_queue + self.can_wait)

    def is_due(self) -> bool:
        world = self.world
        if not self.only_fitting:
            return world.waiting > 0
        return bool(self._fit(self.max_queue).any())

    def mask(self) -> Mask:
        world = self.world
        made = np.zeros(self.max_queue + self.can_wait, np.int8)
        seen = min(world.waiting, self.max_queue)
        if self.only_fitting:
            made[:seen] = self._fit(seen)
        else:
            made[:seen] = 1
        if self.can_wait and self.world.goes_on:
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
            self.refuse(REFUSALS[_NO_EVENT])
        else:
            why = REFUSALS[_TOO_LARGE if action < waiting else _EMPTY]
            self.refuse(why.format(action=action, waiting=waiting))
            if self.can_wait and self.world.goes_on:
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


# Which job each host gets, or how many hosts are on


class Hosts(Environment):
    """Choose for all hosts at a time which job each gets: its place in the queue + 1, or 0 for none.

    A job starts if it gets at least the free hosts that it requests. Then there is a new decision, as long as a job
    fits. If no job starts, time goes on. The embedded Batsim plays the episodes, so the allocation of jobs can matter.

    A mask has all hosts in a row: for each host, whether it may get none, and whether it may get each place of the
    queue.

    Args:
        workload: see `Environment`; by default, a smaller one.
        options: see `Environment`.
    """

    needs_simulator = True
    own = ("_is_settled",)

    def __init__(self, workload: Any = "lublin:16?jobs=2000&seed=1", **options: Any) -> None:
        super().__init__(workload, **{"jobs": 64, "max_queue": 16, **options})
        self._is_settled = False

    @property
    def world(self) -> SimulatedWorld:
        world = super().world
        assert isinstance(world, SimulatedWorld)
        return world

    def actions(self) -> spaces.Space[Any]:
        return spaces.MultiDiscrete([self.max_queue + 1] * self.log.hosts)

    def begin(self) -> None:
        self._is_settled = False

    def is_due(self) -> bool:
        world = self.world
        if self._is_settled:
            self._is_settled = False
            return False
        return any(world.sizes[job] <= world.free for job in world.queue[: self.max_queue])

    def mask(self) -> Mask:
        """For each host, 1 for no job, and 1 for each job that fits if the host is free."""
        world = self.world
        made = np.zeros((world.log.hosts, self.max_queue + 1), np.int8)
        made[:, 0] = 1
        fit = [place + 1 for place, job in enumerate(world.queue[: self.max_queue]) if world.sizes[job] <= world.free]
        for host in world.hosts:
            made[host, fit] = 1
        return made.ravel()

    def act(self, action: Any) -> None:
        world = self.world
        given: dict[int, list[int]] = defaultdict(list)
        for host, place in enumerate(np.asarray(action).tolist()):
            if place and host in world.hosts:
                given[place - 1].append(host)
        starting = []
        for place, hosts in given.items():
            if place >= len(world.queue):
                self.refuse(f"place {place} of the queue is empty: {len(world.queue)} jobs wait")
            elif len(hosts) < world.sizes[world.queue[place]]:
                self.refuse(f"the job at place {place} of the queue got {len(hosts)} free hosts, and requests more")
            else:
                starting.append((world.queue[place], hosts[: world.sizes[world.queue[place]]]))
        for job, hosts in starting:
            world.take(world.queue.index(job))
            world.start_on(job, hosts)
        if not starting:
            if not world.ends and world.next == world.count:
                self.refuse("no event will come while all jobs wait, so the first job starts")
                world.start(world.take(0))
            self._is_settled = True


class Power(Environment):
    """Choose the number of hosts that are on: an action is one of `levels` numbers, from none to all hosts.

    There is a decision after each submission, end and switch. It switches free hosts off, or hosts that are off on.
    Jobs start in queue order, with EASY backfilling, on hosts that are on. Energy is measured.

    Args:
        workload: see `Environment`; by default, a smaller one.
        levels: the number of actions, >= 2.
        platform: equal hosts that can sleep and have wattages. None: hosts that draw 95 W when they are idle, 190 W
            when they compute, and 9.75 W when they are off, and that take 150 s to switch on and 6 s to switch off.
        options: see `Environment`; by default, the reward is energy.
    """

    needs_simulator = True

    def __init__(
        self,
        workload: Any = "lublin:32?jobs=2000&seed=1",
        *,
        levels: int = 5,
        platform: Platform | None = None,
        **options: Any,
    ) -> None:
        if levels < 2:
            raise InputError(f"expected at least two levels, got {levels}")
        self.levels = levels
        given = {"jobs": 64, "reward": "energy", **options}
        if platform is not None:
            given.setdefault("hosts", len(platform.computation_hosts))
        super().__init__(workload, **given)
        self.platform = _sleepy(self.log.hosts) if platform is None else platform
        states = {host.sleep_pstates for host in self.platform.computation_hosts}
        if len(self.platform.computation_hosts) != self.log.hosts or len(states) != 1 or states == {()}:
            raise InputError(f"expected a platform of {self.log.hosts} hosts that all sleep in the same power states")
        self._off = next(iter(states))[0].sleep
        self._backfiller = Backfiller(EASY(), self.log, True)

    @property
    def world(self) -> SimulatedWorld:
        world = super().world
        assert isinstance(world, SimulatedWorld)
        return world

    def make_world(self, first: int, ranks: Ranks | None, tried: Ranks | None) -> World:
        if self.electricity is not None:
            return ElectricWorld(
                self.log, first, self.jobs, ranks, tried, known=self.electricity, platform=self.platform
            )
        return SimulatedWorld(self.log, first, self.jobs, ranks, tried, self.platform, energy=True)

    def actions(self) -> spaces.Space[Any]:
        return spaces.Discrete(self.levels)

    def is_due(self) -> bool:
        self._start_jobs()
        return not self.world.is_over

    def mask(self) -> Mask:
        """Each level, except where no event will come: those that switch hosts."""
        if not self._is_stuck():
            return super().mask()
        return np.array([self._change(level) != 0 for level in range(self.levels)], np.int8)

    def act(self, action: int) -> None:
        world, change = self.world, self._change(action)
        if change < 0:
            self._switch(world.hosts.copy().take(-change), self._off)
        elif change > 0:
            self._switch(world.asleep.copy().take(change), world.awake)
        if self._is_stuck():
            missing = world.sizes[world.queue[0]] - world.free
            self.refuse("no event will come while all jobs wait, so hosts are switched on for the first job")
            self._switch(world.asleep.copy().take(missing), world.awake)
        world.advance()

    def _is_stuck(self) -> bool:
        """Whether all jobs wait, and no event will come unless hosts are switched."""
        world = self.world
        return bool(world.queue) and not world.ends and not world.switching and world.next == world.count

    def _change(self, level: int) -> int:
        """The number of hosts that a level switches on now; if it is negative, off."""
        world = self.world
        wanted = round(level * world.log.hosts / (self.levels - 1))
        on = world.log.hosts - len(world.asleep) - world.switching
        if wanted < on:
            return -min(on - wanted, world.free)
        return min(max(wanted - on - world.switching, 0), len(world.asleep))

    def _switch(self, hosts: FrozenHosts, pstate: int) -> None:
        self.world.switch(hosts, pstate)

    def _start_jobs(self) -> None:
        world = self.world
        while world.queue and world.sizes[world.queue[0]] <= world.free:
            world.start(world.take(0))
        if len(world.queue) > 1 and world.free:
            first = world.take(0)
            self._backfiller.begin(world, first)
            world.queue.insert(0, first)


def _sleepy(count: int) -> Platform:
    """Hosts that sleep in power state 1. They reach it through state 2 (6 s), and wake up through state 3 (150 s)."""
    idle, off, on = Watts(95.0, 190.0, 190.0), Watts(9.75, 9.75, 9.75), Watts(100.0, 100.0, 100.0)
    return Platform.homogeneous(
        count,
        speeds=(1e9, 1.0, 1 / 6, 1 / 150),
        watts=(idle, off, on, on),
        sleep_pstates=(SleepPState(1, 2, 3),),
        properties={"sleep_pstates": "1:2:3"},
        bandwidth=math.inf,
        latency=0.0,
    )


# Which job starts before its turn while the first job of the queue waits


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
        self.reserve = Backfiller(EASY(), self.log, True) if reserve else None
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
            world.overtake(first, world.take(action), self.reserve)
            return
        if action != self.max_queue:
            self.refuse(REFUSALS[_CANNOT_START].format(action=action))
        self._is_settled = True

    def _places(self) -> list[int]:
        """The places of the jobs that may start."""
        world = self.world
        if len(world.queue) < 2:
            return []
        return world.overtaking(world.queue[: self.max_queue], self.reserve)
