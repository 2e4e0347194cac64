"""Caps of watts: what a machine may draw at most, as a part of policies.

What hosts draw comes from their properties. This module must not know how jobs are planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from batprotocol.errors import SchedulerError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.policies.site.allowance import Allowance, micro
from batprotocol.policies.site.budget import Budget
from batprotocol.policies.site.pacing import Pacing, pstates_of
from batprotocol.policies.switching import Switching
from batprotocol.power import HostWatts, Trace, host_watts

__all__ = ["Cap"]

_SOURCE: Final = "Georgiou et al., IPDPSW 2015"


class Cap:
    """The machine never draws more than some watts: jobs wait, as they wait for hosts.

    What counts are the watts of all hosts without load, and for each host with jobs the most that it draws with any
    load. So a cap holds whatever jobs do.

    Args:
        watts: the cap: a number of watts, or watts over time, where time 0 is the begin of the simulation. Outside of
            its times, the first and the last value hold.
        slow: whether jobs that have their hosts for themselves start in slower power states, where they draw less,
            before they wait. Only jobs run slower that surely end by their walltimes.

    >>> from batprotocol.policies import EASY, Policy
    >>> from batprotocol.simulator import Platform, StaticJob, Watts, Workload, simulate
    >>> from batprotocol.model import DelayProfile
    >>> jobs = Workload([StaticJob(f"{number}", 0.0, 1, DelayProfile(60.0), walltime=90.0) for number in range(4)])
    >>> platform = Platform.homogeneous(4, watts=Watts(100.0, 100.0, 200.0))
    >>> simulate(platform, jobs, Policy(backfilling=EASY(), cap=Cap(600.0))).makespan > 120  # two jobs at a time
    True
    """

    name = "cap"
    sentence = "The machine never draws more watts: jobs wait until their hosts may draw what they can."
    source = _SOURCE

    def __init__(self, watts: float | Trace, *, slow: bool = False) -> None:
        if not isinstance(watts, Trace):
            if not 0 <= watts < math.inf:
                raise ValueError(f"expected a number of watts >= 0, got {watts}")
            watts = Trace([0.0], [watts], math.inf, "W")
        self.trace, self.slow = watts, slow

    def power(
        self, event: SimulationBeginsEvent, rounded: Callable[[float], float], switching: Switching
    ) -> tuple[Budget, Pacing | None] | None:
        """The watts that jobs may draw, and how they run slower.

        Args:
            event: the hosts.
            rounded: rounds times to the policy's resolution.
            switching: which hosts are switched off and on.

        Returns:
            None if the cap is never less than what the machine draws at most.

        Raises:
            SchedulerError: hosts do not declare their watts, or the cap is less than they draw without jobs.
            InputError: their watts cannot be read.
        """
        hosts = {host.id: _watts_of(host) for host in event.computation_hosts}
        bases = {
            host.id: _base_of(host, hosts[host.id], host.id in switching.seconds) for host in event.computation_hosts
        }
        pstates = {
            host.id: pstates_of(hosts[host.id], host.pstate) if self.slow else [host.pstate]
            for host in event.computation_hosts
        }
        pacing = Pacing(hosts, pstates)
        paces = [
            {
                number: max(micro(watts.states[pacing.pstate(number, pace)].most) - bases[number], 0)
                for number, watts in hosts.items()
            }
            for pace in range(pacing.count)
        ]
        idle = sum(bases.values())
        for host in event.storage_hosts:  # jobs of all hosts may keep them busy
            idle += micro(max(each.most for each in _watts_of(host).states))
        time, least = self._least()
        if least >= idle + sum(paces[0].values()):
            return None
        if least < idle:
            when = f" from {time:g} s on" if time > 0 else ""
            raise SchedulerError(
                f"cap: hosts without jobs draw {idle / 1e6:.10g} W, and the cap is {least / 1e6:.10g} W{when}: "
                "use a cap of more watts"
            )
        return Budget(paces, Allowance(self.trace, idle), rounded), pacing if pacing.count > 1 else None

    def _least(self) -> tuple[float, int]:
        """The least value from the begin of the simulation on, and when it begins to hold."""
        trace = self.trace
        ends = [*trace.times[1:], trace.end]
        steps = zip(trace.values, trace.times, ends, strict=True)
        value, time = min((value, time) for value, time, end in steps if end > 0 or trace.repeats or end == ends[-1])
        return time, micro(value)


def _watts_of(host: Host) -> HostWatts:
    found = host_watts(host)
    if found is None:
        raise SchedulerError(
            f"cap needs the watts of host {host.name}: add the property wattage_per_state to the platform, or typical "
            "watts to the simulation"
        )
    return found


def _base_of(host: Host, watts: HostWatts, sleeps: bool) -> int:
    """What a host draws at most without jobs, in microwatts.

    Args:
        host: the host.
        watts: its watts.
        sleeps: whether it is switched off and on, whenever that is.
    """
    # Until Batsim reads the energy of a host, it counts the power state 0, whatever it is in.
    states = [watts.states[host.pstate].idle, watts.states[0].idle]
    for sleep in watts.sleeps[:1] if sleeps else ():
        states += [watts.states[sleep.switching_off].most, watts.states[sleep.switching_on].most]
    return micro(max(states))
