"""`Hosts`: which job each host gets. `Power`: the number of hosts that are on."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
from gymnasium import spaces

from batprotocol.errors import InputError
from batprotocol.gym.backfilling import Backfiller
from batprotocol.gym.environment import Environment, Mask, Ranks
from batprotocol.gym.worlds.electric import Electric
from batprotocol.gym.worlds.simulated import Simulated
from batprotocol.gym.worlds.world import World
from batprotocol.model.free_hosts import FrozenHosts
from batprotocol.policies import EASY
from batprotocol.simulator import Platform, SleepPState, Watts

__all__ = ["Hosts", "Power"]


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
    def world(self) -> Simulated:
        world = super().world
        assert isinstance(world, Simulated)
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
    def world(self) -> Simulated:
        world = super().world
        assert isinstance(world, Simulated)
        return world

    def make_world(self, first: int, ranks: Ranks | None, tried: Ranks | None) -> World:
        if self.electricity is not None:
            return Electric(self.log, first, self.jobs, ranks, tried, known=self.electricity, platform=self.platform)
        return Simulated(self.log, first, self.jobs, ranks, tried, self.platform, energy=True)

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
