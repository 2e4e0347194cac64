"""Slower power states: which one each host has at a pace, how long jobs take then, and the switches before and after.

This module must not know when jobs start, and which watts are allowed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.policies.site.actions import Actions
from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.pieces import length_of
from batprotocol.workloads.electricity import HostWatts

__all__ = ["Pacing", "pstates_of"]


def pstates_of(watts: HostWatts, pstate: int) -> list[int]:
    """The power states in which a host computes no faster than in its own one, which comes first, then the fastest.

    Args:
        watts: what it draws, and how fast it computes.
        pstate: its own power state.

    >>> from batprotocol.workloads.electricity import Watts
    >>> pstates_of(HostWatts((Watts(9, 9, 20),) * 4, (2e9, 3e9, 1e9, 2e9)), 0)
    [0, 2]
    """
    speeds = watts.speeds
    slower = [each for each in watts.computation_pstates if speeds[each] < speeds[pstate]]
    return [pstate, *sorted(slower, key=lambda each: -speeds[each])]


class Pacing:
    """The power states of hosts at each pace.

    Args:
        hosts: the watts and the speeds of each host.
        pstates: for each host, its power states: that of pace 0, and so on. The last one is also that of later paces.
    """

    def __init__(self, hosts: Mapping[int, HostWatts], pstates: Mapping[int, list[int]]) -> None:
        self._hosts, self._pstates = hosts, pstates
        self._change: Callable[[int, list[int]], None]
        self._slow: set[str] = set()  # the jobs that run slower than usual

    @property
    def count(self) -> int:
        """The number of paces."""
        return max(map(len, self._pstates.values()), default=1)

    def pstate(self, host: int, pace: int) -> int:
        """The power state of a host at a pace."""
        states = self._pstates[host]
        return states[min(pace, len(states) - 1)]

    def _speed(self, host: int, pace: int) -> float:
        return self._hosts[host].speeds[self.pstate(host, pace)]

    def is_possible(self, entry: Entry, hosts: Iterable[int], pace: int) -> bool:
        """Whether an entry may run at a slower pace.

        Batsim kills a job at the walltime that it was submitted with, so only jobs run slower that surely end by then.

        Args:
            entry: the entry.
            hosts: the hosts that it may get, by their own numbers.
            pace: the pace.
        """
        job, profile = entry.job, entry.job.profile
        if entry.limit == math.inf or isinstance(profile, DelayProfile):
            return True
        if not isinstance(profile, ParallelTaskHomogeneousProfile) or profile.communication_amount:
            return False
        if job.run is not None and job.run.pieces is not None:
            return False
        length = length_of(profile, job.size, min((self._speed(host, pace) for host in hosts), default=0.0))
        return length is not None and length * (1 + 1e-6) + 1e-3 <= entry.limit

    def expected(self, entry: Entry, hosts: Iterable[int], pace: int, before: int, seconds: float) -> float:
        """The seconds that an entry is expected to run on hosts at a pace.

        Args:
            entry: the entry.
            hosts: the hosts that it may get, by their own numbers.
            pace: the pace.
            before: another pace.
            seconds: the seconds that it is expected to run at that one.
        """
        if isinstance(entry.job.profile, DelayProfile):
            return seconds
        ratio = max((self._speed(host, before) / self._speed(host, pace) for host in hosts), default=1.0)
        return min(seconds * ratio, entry.limit)

    def switch(self, hosts: Iterable[int], pace: int) -> None:
        """Change the power states of hosts to those of a pace.

        Args:
            hosts: the hosts, by their own numbers.
            pace: the pace; 0: hosts go back to their own power states.
        """
        members: defaultdict[int, list[int]] = defaultdict(list)
        for host in hosts:
            if len(self._pstates[host]) > 1:
                members[self.pstate(host, pace)].append(host)
        for pstate, these in sorted(members.items()):
            self._change(pstate, these)

    def around(self, actions: Actions, pace_of: Callable[[str], int]) -> Actions:
        """Actions that execute jobs at their paces.

        Args:
            actions: the actions.
            pace_of: gives the pace of a job that is executed.
        """
        self._change = actions.change_pstate
        return _Paced(actions, self, pace_of)

    def began(self, job_id: str, hosts: list[int], pace: int) -> None:
        """A job is executed at a pace."""
        if pace:
            self._slow.add(job_id)
            self.switch(hosts, pace)

    def over(self, job_id: str, hosts: list[int]) -> None:
        """A job does not run any more: its hosts go back to their own power states."""
        if job_id in self._slow:
            self._slow.remove(job_id)
            self.switch(hosts, 0)


class _Paced:
    """Actions, which change the power states of the hosts of a job before it is executed."""

    def __init__(self, actions: Actions, pacing: Pacing, pace_of: Callable[[str], int]) -> None:
        self._actions, self._pacing, self._pace_of = actions, pacing, pace_of
        self.reject, self.kill, self.withdraw = actions.reject, actions.kill, actions.withdraw
        self.register, self.finish, self.switch = actions.register, actions.finish, actions.switch
        self.change_pstate = actions.change_pstate

    def execute(self, job_id: str, hosts: list[int], mapping: list[int] | None) -> str | None:
        """Execute a job at its pace; returns why that is not possible, or None."""
        self._pacing.began(job_id, hosts, self._pace_of(job_id))
        refusal = self._actions.execute(job_id, hosts, mapping)
        if refusal is not None:
            self._pacing.over(job_id, hosts)
        return refusal
