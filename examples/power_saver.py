"""Turns idle hosts off, and on again when the queue needs them. A probe measures the power of the hosts.

The platform gives each host a `sleep_pstates` property, and Batsim runs with `--energy-host`:

    batproto run examples/power_saver.py:PowerSaver -- batsim -p platform.xml -w workload.json --energy-host \\
        --edc-socket-str {endpoint} ""

`batprotocol.policies` has it, too, with orders, backfilling and allocations: `batproto simulate easy+off=600`.
"""

from __future__ import annotations

import logging
from collections import defaultdict

from fcfs import FCFS

from batprotocol import (
    AggregatedProbeData,
    AllStaticJobsHaveBeenSubmittedEvent,
    FrozenHosts,
    Host,
    Hosts,
    HostsTurnedOnOffEvent,
    Metrics,
    Periodic,
    ProbeDataAccumulation,
    ProbeDataEmittedEvent,
    SimulationBeginsEvent,
    Sum,
)

logger = logging.getLogger("power_saver")

PROBE = "energy"
PERIOD = 60
"""Seconds of simulated time between two measures."""


class PowerSaver(FCFS):
    """A host is in one of four states: running a job, free, asleep, or switching between the last two."""

    def __init__(self) -> None:
        super().__init__()
        self.pstates: dict[int, tuple[int, int]] = {}
        """The power states to compute and to sleep in, of the hosts that can sleep."""
        self.asleep = Hosts()
        self.switching = Hosts()
        self.probing = False
        self.joules = 0.0
        self.all_submitted = False

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        super().on_simulation_begins(event)
        self.all_submitted = not event.workloads  # without workloads, no event reports the end of submissions
        for host in event.computation_hosts:
            pstate = sleep_pstate(host)
            if pstate is not None:
                self.pstates[host.id] = host.pstate, pstate
        if "--energy-host" in event.batsim_arguments:
            self.probing = True
            self.reply.add_create_probe(
                PROBE,
                Metrics.Power,
                hosts=[host.id for host in event.computation_hosts],
                trigger=Periodic(PERIOD),
                accumulation=ProbeDataAccumulation(),  # power accumulated over time is energy
                aggregation=Sum(),
            )

    def on_all_static_jobs_have_been_submitted(self, event: AllStaticJobsHaveBeenSubmittedEvent) -> None:
        self.all_submitted = True

    def on_probe_data_emitted(self, event: ProbeDataEmittedEvent) -> None:
        if event.probe_id == PROBE and isinstance(event.data, AggregatedProbeData):
            watts = (event.data.data - self.joules) / PERIOD
            self.joules = event.data.data
            logger.info("%.0f s: %.1f W, %d hosts asleep", self.now, watts, len(self.asleep))

    def on_hosts_turned_on_off(self, event: HostsTurnedOnOffEvent) -> None:
        for host in self.switching & event.host_ids:
            if event.state == self.pstates[host][0]:
                self.free |= host
            else:
                self.asleep |= host
        self.switching -= event.host_ids

    def decide(self) -> None:
        super().decide()
        if self.queue:
            first = next(iter(self.queue.values()))
            missing = first.resource_request - len(self.free) - len(self.switching)
            wanted = min(max(0, missing), len(self.asleep))
            self.switch(self.asleep.take(wanted), on=True)
        else:
            self.switch(self.free.take_these(self.free & self.pstates.keys()), on=False)
            if self.probing and self.all_submitted and not self.running:
                self.reply.add_stop_probe(PROBE)  # a simulation does not end while a probe runs
                self.probing = False

    def switch(self, hosts: FrozenHosts, on: bool) -> None:
        """Turn taken hosts on or off, with an event for each target power state."""
        targets: dict[int, list[int]] = defaultdict(list)
        for host, pstates in self.pstates.items():
            if host in hosts:
                targets[pstates[0 if on else 1]].append(host)
        for pstate, members in targets.items():
            self.reply.add_turn_on_off_hosts(members, pstate)
        self.switching |= hosts


def sleep_pstate(host: Host) -> int | None:
    """The first power state in which a host can sleep: `1` of `1:2:3, 4:5:6`. `2` and `3` are on the way."""
    for each in host.properties or ():
        if each.key == "sleep_pstates" and each.value:
            return int(each.value.split(":")[0])
    return None
