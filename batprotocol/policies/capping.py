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

    def __init__(self, watts: float | Trace) -> None:
        if not isinstance(watts, Trace):
            if not 0 <= watts < math.inf:
                raise ValueError(f"expected a number of watts >= 0, got {watts}")
            watts = Trace([0.0], [watts], math.inf, "W")
        self.trace = watts

    def budget(self, event: SimulationBeginsEvent, rounded: Callable[[float], float]) -> Budget | None:
        """The watts that jobs may draw; None if the cap is never less than what the machine draws at most.

        Args:
            event: the hosts.
            rounded: rounds times to the policy's resolution.

        Raises:
            SchedulerError: hosts do not declare their watts, or the cap is less than they draw without jobs.
            InputError: their watts cannot be read.
        """
        idle, increments = 0, dict[int, int]()
        for host in event.computation_hosts:
            state, base = _watts_of(host), _idle_of(host)
            increments[host.id] = max(micro(state.states[host.pstate].most) - base, 0)
            idle += base
        for host in event.storage_hosts:  # jobs of all hosts may keep them busy
            idle += micro(max(each.most for each in _watts_of(host).states))
        time, least = self._least()
        if least >= idle + sum(increments.values()):
            return None
        if least < idle:
            when = f" from {time:g} s on" if time > 0 else ""
            raise SchedulerError(
                f"cap: hosts without jobs draw {idle / 1e6:.10g} W, and the cap is {least / 1e6:.10g} W{when}: "
                "use a cap of more watts"
            )
        return Budget(increments, Allowance(self.trace, idle), rounded)

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


def _idle_of(host: Host) -> int:
    """What a host draws without jobs. Until Batsim reads its energy, it counts the power state 0, whatever it is in."""
    states = _watts_of(host).states
    return micro(max(states[host.pstate].idle, states[0].idle))
