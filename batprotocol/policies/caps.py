"""Caps of watts: the most that a machine may draw. The watts of hosts come from their properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from batprotocol.errors import SchedulerError
from batprotocol.model import Host, SimulationBeginsEvent
from batprotocol.policies.energy import Switching
from batprotocol.policies.site.capped import PowerLimits
from batprotocol.policies.site.sleeping import Idling, StandBy
from batprotocol.policies.site.watts import Allowance, Budget, Pacing, micro, pstates_of
from batprotocol.workloads.electricity import HostWatts, Trace, host_watts

__all__ = ["Cap"]

_SOURCE: Final = "Georgiou et al., IPDPSW 2015"


class Cap:
    """The machine never draws more than some watts: jobs wait, as they wait for hosts.

    The watts of all hosts without load count, and for each host with jobs the most that it draws with any load. So a
    cap holds whatever jobs do.

    Args:
        watts: the cap: a number of watts, or watts over time, where time 0 is the begin of the simulation. Outside of
            its times, the first and the last value hold.
        slow: whether jobs that have their hosts for themselves start in slower power states, where they draw less,
            before they wait. Only jobs run slower that surely end by their walltimes.
        off: whether hosts without jobs are switched off, so that others may run, and on again when jobs get them.

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

    def __init__(self, watts: float | Trace, *, slow: bool = False, off: bool = False) -> None:
        if not isinstance(watts, Trace):
            if not 0 <= watts < math.inf:
                raise ValueError(f"expected a number of watts >= 0, got {watts}")
            watts = Trace([0.0], [watts], math.inf, "W")
        self.trace, self.slow, self.off = watts, slow, off

    def power(
        self, event: SimulationBeginsEvent, rounded: Callable[[float], float], switching: Switching
    ) -> PowerLimits | None:
        """The watts that jobs and idle hosts may draw.

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
        sleepy = switching.seconds
        if self.off and not sleepy:
            raise SchedulerError("cap: no host can sleep: add the property sleep_pstates to the platform, or omit off")
        hosts = {host.id: _watts_of(host) for host in event.computation_hosts}
        bases = {host.id: _base_of(host, hosts[host.id], host.id in sleepy) for host in event.computation_hosts}
        starts = {host.id: host.pstate for host in event.computation_hosts}
        states = {each: pstates_of(hosts[each], state) if self.slow else [state] for each, state in starts.items()}
        pacing = Pacing(hosts, states)
        least = {each: bases[each].asleep if self.off else bases[each].switching for each in hosts}
        paces = [
            {
                each: max(micro(watts.states[pacing.pstate(each, pace)].most), bases[each].switching) - least[each]
                for each, watts in hosts.items()
            }
            for pace in range(pacing.count)
        ]
        # Jobs of all hosts may keep storages busy.
        others = sum(micro(max(each.most for each in _watts_of(host).states)) for host in event.storage_hosts)
        peak = others
        for each, watts in hosts.items():
            alone = bases[each].on if self.off else bases[each].switching
            peak += max(alone, micro(watts.states[starts[each]].most))
        idle = others + sum(least.values())
        time, lowest = self._least()
        if lowest >= peak:
            return None
        if lowest < idle:
            when = f" from {time:g} s on" if time > 0 else ""
            whose = "hosts that sleep" if self.off else "hosts without jobs"
            raise SchedulerError(
                f"cap: {whose} draw {idle / 1e6:.10g} W, and the cap is {lowest / 1e6:.10g} W{when}: "
                f"use a cap of more watts{'' if self.off or not _can_sleep(hosts) else ', or off, as in cap=4kW,off'}"
            )
        budget = Budget(paces, Allowance(self.trace, idle), rounded)
        stand_by = {
            each: StandBy(*(bases[each][place] - least[each] for place in range(4)))
            for each in (sleepy if self.off else ())
        }
        idling = Idling(budget, stand_by, sleepy) if self.off else None
        return PowerLimits(budget, pacing if pacing.count > 1 else None, idling)

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


class _Base(NamedTuple):
    """The most that a host draws without jobs, in microwatts: on, leaving, asleep, waking; and the most of these."""

    on: int
    leaving: int
    asleep: int
    waking: int
    switching: int


def _base_of(host: Host, watts: HostWatts, sleeps: bool) -> _Base:
    """The most that a host draws without jobs.

    Args:
        host: the host.
        watts: its watts.
        sleeps: whether it is switched off and on.
    """
    states = watts.states
    # Until Batsim reads the energy of a host, it counts the power state 0, whatever it is in.
    on = micro(max(states[host.pstate].idle, states[0].idle))
    if not sleeps or not watts.sleeps:
        return _Base(on, on, on, on, on)
    first = watts.sleeps[0]
    leaving, asleep, waking = (
        micro(states[each].most) for each in (first.switching_off, first.sleep, first.switching_on)
    )
    return _Base(on, leaving, asleep, waking, max(on, leaving, waking))


def _can_sleep(hosts: Mapping[int, HostWatts]) -> bool:
    return any(watts.sleeps for watts in hosts.values())
