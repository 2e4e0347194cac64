"""Switch hosts off that have been idle for a while, and on when a job gets them.

This module knows which hosts sleep, and since when the others are idle. It must not know the jobs that wait.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from procset import ProcSet

from batprotocol.edc import Reply
from batprotocol.errors import InputError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.jobs import Ending, State
from batprotocol.workloads.electricity.hosts import SleepPState, read_sleep_pstates

__all__ = ["Switching"]

_NO_HOSTS: Final = frozen_hosts("")


class Switching:
    """Switches hosts off that can sleep and have been idle for a while.

    Args:
        after: the seconds without a job after which a host is switched off, >= 0; infinity: never.
    """

    def __init__(self, after: float = math.inf) -> None:
        if not after >= 0:
            raise ValueError(f"expected a number of seconds >= 0 after which hosts are switched off, got {after}")
        self.after = after
        self._pstates: dict[int, tuple[int, int]] = {}
        self.seconds: dict[int, tuple[float, float]] = {}
        """The hosts that can sleep, with the seconds in which they are switched off and on."""
        self.asleep = Hosts()
        """The free hosts that sleep."""
        self.waking = Hosts()
        """The hosts that are being switched on."""
        self._sleepy: list[tuple[Ending, Hosts]] = []  # hosts that are being switched off
        self._idle: dict[int, float] = {}  # since when; the host that has been idle for longest comes first

    def begin(self, event: SimulationBeginsEvent) -> None:
        """A simulation begins."""
        self.asleep, self.waking, self._pstates, self._idle, self.seconds = Hosts(), Hosts(), {}, {}, {}
        self._sleepy = []
        if self.after == math.inf:
            return
        for host in event.computation_hosts:
            sleep = _sleep_of(host)
            if sleep is not None:
                self._pstates[host.id] = host.pstate, sleep.sleep
                self.seconds[host.id] = _seconds_in(host, sleep.switching_off), _seconds_in(host, sleep.switching_on)
        self._idle = dict.fromkeys(self._pstates, 0.0)

    @property
    def idle_since(self) -> Mapping[int, float]:
        """The hosts that are idle and on, and can sleep, with the times since when."""
        return self._idle

    def hand_over(self, state: State) -> list[int]:
        """Somebody else switches hosts from now on; returns those that are being switched off."""
        hosts = [host for _, sleepy in self._sleepy for host in sleepy]
        for ending, _ in self._sleepy:
            state.endings.remove(ending)
        self._sleepy = []
        return hosts

    def taken(self, hosts: FrozenHosts, reply: Reply) -> FrozenHosts:
        """Switch on the hosts of a job that sleep. Return the hosts that it must wait for."""
        if not self._pstates:
            return _NO_HOSTS
        for host in hosts:
            self._idle.pop(host, None)
        sleeping = hosts & self.asleep
        if sleeping:
            self.asleep -= sleeping
            self.waking |= sleeping
            self.switch(sleeping, True, reply)
        return hosts & self.waking

    def released(self, hosts: FrozenHosts, now: float) -> None:
        """No job has these hosts any more."""
        for host in hosts if self._pstates else ():
            if host in self._pstates:
                self._idle[host] = now

    def idle(self, now: float) -> list[int]:
        """The hosts that are to be switched off now."""
        hosts = []
        for host, since in self._idle.items():
            if since + self.after > now:
                break
            hosts.append(host)
        for host in hosts:
            del self._idle[host]
        return hosts

    def falls_asleep(self, hosts: FrozenHosts, number: int, state: State, share: int) -> None:
        """Hosts are being switched off. They are free again when they sleep.

        Args:
            hosts: the hosts, which were taken of those that are free.
            number: a number that no job has.
            state: the policy's state.
            share: how many jobs a host can have.
        """
        ending = state.now, number, hosts.size * share, ""
        state.endings.add(ending)
        self._sleepy.append((ending, Hosts(hosts)))

    def fell_asleep(self, hosts: ProcSet, state: State, share: int) -> bool:
        """Of the switched hosts, free those that were switched off; whether there are some."""
        changed = False
        for number, (ending, sleepy) in enumerate(self._sleepy):
            if sleepy & hosts:
                state.endings.remove(ending)
                done = sleepy & hosts
                sleepy -= done
                state.free.give_back(done)
                self.asleep |= done
                self._sleepy[number] = (*ending[:2], len(sleepy) * share, ""), sleepy
                state.endings.add(self._sleepy[number][0])
                changed = True
        for ending, sleepy in self._sleepy:
            if not sleepy:
                state.endings.remove(ending)
        self._sleepy = [each for each in self._sleepy if each[1]]
        return changed

    def next(self) -> float:
        """The next time at which hosts are to be switched off; infinity if none are idle."""
        return next(iter(self._idle.values()), math.inf) + self.after

    def switch(self, hosts: Iterable[int], on: bool, reply: Reply) -> None:
        """Switch hosts on or off, with an event for each target power state."""
        targets: dict[int, list[int]] = defaultdict(list)
        for host in hosts:
            targets[self._pstates[host][0 if on else 1]].append(host)
        for pstate, members in targets.items():
            reply.add_turn_on_off_hosts(members, pstate)


def _sleep_of(host: Host) -> SleepPState | None:
    """The first sleep state of a host; None: it has none, or its declaration cannot be read."""
    properties = {each.key: each.value for each in host.properties or () if each.value}
    try:
        sleeps = read_sleep_pstates(properties, len(host.computation_speed or ()))
    except InputError:
        return None
    return sleeps[0] if sleeps else None


def _seconds_in(host: Host, pstate: int) -> float:
    """The seconds in which a host executes one flop in a power state, as it does when it is switched off or on."""
    speed = host.computation_speed[pstate]
    return 1 / speed if speed > 0 else 0.0
