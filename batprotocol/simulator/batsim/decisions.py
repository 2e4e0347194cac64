"""The decisions of the decision component, and the server's actions for them.

The conversation has already checked each decision against the rules. This module refuses only decisions that the
simulator can check better, mostly because it knows all profiles.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import (
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    CreateProbeEvent,
    ExecuteJobEvent,
    FinalJobState,
    FinishRegistrationEvent,
    ForceSimulationStopEvent,
    HostResources,
    HostsPStateChangedEvent,
    Job,
    JobSubmittedEvent,
    KillJobsEvent,
    Metrics,
    OneShot,
    ParallelTaskProfile,
    ProbeDataAccumulation,
    Profile,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    ResetProbeEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
    TraceReplayProfile,
    TraceType,
    TriggerProbeEvent,
    TurnOnOffHostsEvent,
)
from batprotocol.simulator.batsim.calls import OneShotCall, OneShotProbe
from batprotocol.simulator.batsim.executions import Execution, ExecutionOrder, HostSwitch, Killer, execution_of
from batprotocol.simulator.batsim.jobs import SimulatedJob
from batprotocol.simulator.batsim.probes import NORMALIZED, Probe
from batprotocol.simulator.batsim.simulation_state import Simulation, SwitchRequest
from batprotocol.simulator.machine.machine import intervals
from batprotocol.simulator.machine.placement import allocation_of, hosts_of
from batprotocol.simulator.machine.work import ProfileWalk, size
from batprotocol.workloads import Usage, WorkloadProfile

__all__ = ["DECISIONS", "check_probe", "check_registration", "read_trace", "submitted_event"]


# Checks of what depends on profiles that the decision component did not get


_OF_NETWORK: Final = (Metrics.NetworkLoad, Metrics.NormalizedNetworkLoad)


def read_trace(simulation: Simulation, id: str, profile: Profile) -> tuple[tuple[Usage, ...], ...] | None:
    """The lines of a usage trace that is being registered, or None for other profiles. Refuse one that is not there."""
    if not isinstance(profile, TraceReplayProfile) or profile.trace_type != TraceType.FractionalComputation:
        return None
    try:
        return simulation.setup.traces(profile.filename, corrected=simulation.corrected)
    except (InputError, OSError, ValueError) as error:
        text = f"the trace {shown(profile.filename)} of profile {shown(id)} cannot be read: {error}"
        raise simulation.refusal("profile.trace-unreadable", text) from None


def check_registration(simulation: Simulation, event: RegisterJobEvent, profile_id: str) -> None:
    """Refuse a job whose profile does not exist, or no longer exists."""
    workload = event.job_id.partition("!")[0]
    if simulation.setup.has_workload(workload) and simulation.setup.has_static_job(event.job_id):
        raise simulation.refusal("register.duplicate-job", f"job {shown(event.job_id)} exists already")
    known = simulation.profiles.known.get(profile_id)
    if profile_id in simulation.profiles.dropped or (known is not None and profile_id in simulation.profiles.unusable):
        raise simulation.refusal(
            "register.profile-gone",
            f"job {shown(event.job_id)} has profile {shown(profile_id)}, which existed and is no longer accessible",
        )
    if known is None:
        text = f"job {shown(event.job_id)} has profile {shown(profile_id)}, which does not exist"
        raise simulation.refusal("register.unknown-profile", text)
    profile = known.profile
    if isinstance(profile, ParallelTaskProfile) and size(profile) != event.job.resource_request:
        text = f"job {shown(event.job_id)} requests {event.job.resource_request}, its profile has {size(profile)}"
        raise simulation.refusal("register.job-size", text)


def check_probe(simulation: Simulation, event: CreateProbeEvent) -> list[int]:
    """Refuse a probe that cannot measure anything; otherwise return the resources that it observes."""
    accumulates = isinstance(event.data_accumulation_strategy, ProbeDataAccumulation)
    if accumulates and event.metrics in NORMALIZED:
        text = f"{event.metrics.name} cannot be accumulated: it is not defined per unit of time"
        raise simulation.refusal("probe.senseless", text)
    if event.metrics == Metrics.Power and not simulation.machine.has_energy:
        raise simulation.refusal("probe.no-energy", "energy is not measured")
    if isinstance(event.resources, HostResources):
        if event.metrics in _OF_NETWORK:
            raise simulation.refusal("probe.senseless", f"{event.metrics.name} is measured of links, not of hosts")
        return list(hosts_of(event.resources.host_ids))
    if event.metrics not in _OF_NETWORK:
        raise simulation.refusal("probe.senseless", f"{event.metrics.name} is measured of hosts, not of links")
    found = []
    for name in event.resources.link_ids:
        link = simulation.machine.link(name)
        if link is None:
            raise simulation.refusal("probe.link-unknown", f"there is no link {shown(name)}")
        found.append(link)
    return found


def _job(simulation: Simulation, job_id: str) -> SimulatedJob:
    job = simulation.jobs.get(job_id)
    if job is None:
        raise simulation.refusal("job.unknown", f"there is no job {shown(job_id)}")
    return job


def _execute(simulation: Simulation, event: ExecuteJobEvent) -> None:
    job = _job(simulation, event.job_id)
    job.hosts, job.allocation = allocation_of(event.allocation.host_allocation)
    order = ExecutionOrder(event, job.hosts, job.job.resource_request)
    for given in event.profile_allocation_override or ():
        _check_some(simulation, given.host_allocation, f"profile {shown(given.profile_id)} is executed on no host")
    job.execution = Execution(job, order, ProfileWalk(job.profile_id, simulation.profiles.find))
    simulation.server.todo.append(("spawn", (job.execution,)))


def _reject(simulation: Simulation, event: RejectJobEvent) -> None:
    job = _job(simulation, event.job_id)
    job.final_state = FinalJobState.REJECTED
    simulation.finish_job(job)


def _kill(simulation: Simulation, event: KillJobsEvent) -> None:
    jobs = []
    for job_id in event.job_ids:
        job = _job(simulation, job_id)
        if not job.kill_asked:
            job.kill_asked = True
            jobs.append(job)
    if jobs or simulation.corrected:
        simulation.server.kills += 1
        simulation.server.todo.append(("spawn", (Killer(jobs),)))


def _register_profile(simulation: Simulation, event: RegisterProfileEvent) -> None:
    given = event.profile
    traces = read_trace(simulation, given.id, given.profile)
    simulation.profiles.known[given.id] = WorkloadProfile(given.profile, 0, given.extra_data, traces)


def _register_job(simulation: Simulation, event: RegisterJobEvent) -> None:
    now = simulation.queue.now
    profile_id = event.job.profile_id
    if "!" not in profile_id:
        profile_id = f"{event.job_id.partition('!')[0]}!{profile_id}"
    check_registration(simulation, event, profile_id)
    job = SimulatedJob(event.job_id, event.job, profile_id, now, True)
    simulation.add_job(job)
    if simulation.setup.features.acknowledge_dynamic_jobs:
        simulation.server.stamp = now
        simulation.server.events.append(submitted_event(simulation, job, now))


def _finish_registration(simulation: Simulation, event: FinishRegistrationEvent) -> None:
    simulation.server.registration_is_open = False


def _call_me_later(simulation: Simulation, event: CallMeLaterEvent) -> None:
    server = simulation.server
    if isinstance(event.when, OneShot):
        server.one_shots += 1
        server.todo.append(("spawn", (OneShotCall(event.call_me_later_id, event.when),)))
    else:
        server.calls.add(event.call_me_later_id)
        server.todo.append(("forward", event))


def _stop_call(simulation: Simulation, event: StopCallMeLaterEvent) -> None:
    """Batsim forwards it in any case; the actor of periodic calls ignores what does not run, at the same cost."""
    if simulation.is_batsim or event.call_me_later_id in simulation.server.calls:
        simulation.server.todo.append(("forward", event))


def _create_probe(simulation: Simulation, event: CreateProbeEvent) -> None:
    if isinstance(event.resources, HostResources):
        _check_some(simulation, hosts_of(event.resources.host_ids), f"probe {shown(event.probe_id)} observes no host")
    server, trigger = simulation.server, event.measurement_triggering_policy
    server.probes.add(event.probe_id)
    if not simulation.is_batsim:
        resources = check_probe(simulation, event)
        probe = simulation.probes[event.probe_id] = Probe(event, resources, simulation.queue)
        simulation.machine.meters.append(probe)
    if isinstance(trigger, OneShot):
        server.todo.append(("spawn", (OneShotProbe(event.probe_id, trigger),)))
    else:
        server.todo.append(("forward", event))


def _stop_probe(simulation: Simulation, event: StopProbeEvent) -> None:
    server = simulation.server
    probe = simulation.probes.get(event.probe_id)
    if probe is not None and isinstance(probe.event.measurement_triggering_policy, OneShot):
        simulation.end_probe(event.probe_id)
    elif simulation.is_batsim or event.probe_id in server.probes:
        server.todo.append(("forward", event))


def _known_probe(simulation: Simulation, probe_id: str) -> Probe:
    probe = simulation.probes.get(probe_id)
    if probe is None:
        raise simulation.refusal("probe.unknown", f"no probe {shown(probe_id)} is running")
    return probe


def _trigger_probe(simulation: Simulation, event: TriggerProbeEvent) -> None:
    probe = _known_probe(simulation, event.probe_id)
    measured = probe.measure(simulation.queue, manually=True, force=event.force_data_emission)
    if measured is not None:
        server = simulation.server
        server.stamp = simulation.queue.now
        server.events.append(msgspec.structs.replace(measured, timestamp=server.stamp))


def _reset_probe(simulation: Simulation, event: ResetProbeEvent) -> None:
    probe, now = _known_probe(simulation, event.probe_id), simulation.queue.now
    simulation.queue.settle()
    simulation.machine.watch(now)
    probe.reset(event.new_value, now)


def _check_some(simulation: Simulation, hosts: Sized, text: str) -> None:
    if not hosts and simulation.is_batsim:
        raise simulation.refusal("hosts.empty", text)


def _change_pstate(simulation: Simulation, event: ChangeHostsPStateEvent) -> None:
    _check_some(simulation, hosts_of(event.host_ids), "no host changes its power state")
    simulation.read_energy(_set_pstates, event)


def _set_pstates(simulation: Simulation, event: ChangeHostsPStateEvent) -> None:
    server, hosts, now = simulation.server, hosts_of(event.host_ids), simulation.queue.now
    simulation.reports.pstates(hosts, event.pstate)
    for host in hosts:
        simulation.machine.set_pstate(host, event.pstate, now)
    server.events.append(
        HostsPStateChangedEvent(timestamp=server.stamp, host_ids=intervals(hosts), pstate=event.pstate)
    )


def _turn_on_off(simulation: Simulation, event: TurnOnOffHostsEvent) -> None:
    simulation.read_energy(_start_switches, event)


def _start_switches(simulation: Simulation, event: TurnOnOffHostsEvent) -> None:
    server, machine = simulation.server, simulation.machine
    hosts, now = hosts_of(event.host_ids), simulation.queue.now
    for host in hosts:
        found = machine.power[host].obstacle(event.state)
        if found is not None:
            raise simulation.refusal(found[0], f"host {host} is {found[1]}")
    request = SwitchRequest(hosts, intervals(hosts), event.state)
    turns_off = machine.hosts[hosts[0]].sleep_state(event.state) is not None
    switches = [HostSwitch(host, request, machine.begin_switch(host, event.state, now)) for host in hosts]
    server.switching += 1
    simulation.reports.switches(len(hosts))
    simulation.reports.pstates(hosts, -2 if turns_off else -1)
    simulation.reports.states()
    server.todo.append(("spawn", switches))


def _stop(simulation: Simulation, event: ForceSimulationStopEvent) -> None:
    if not simulation.corrected:
        running = next((job.id for job in simulation.jobs.values() if (at := execution_of(job)) and at.runs_task), None)
        if running is not None:
            text = f"Batsim aborts when it is stopped while a parallel task runs, that of job {shown(running)}"
            raise simulation.refusal("stop.task-running", text)
    for job in simulation.jobs.values():
        execution = execution_of(job)
        if execution is not None:
            execution.stop(simulation)
            job.execution = None
    simulation.server.end()


def submitted_event(simulation: Simulation, known: SimulatedJob, now: float) -> JobSubmittedEvent:
    """The event for a job that was submitted."""
    job = known.job
    if (
        job.extra_data is None
        or job.profile_id is not known.profile_id
        or (job.walltime is not None and job.walltime <= 0.0)
    ):
        job = Job(
            resource_request=job.resource_request,
            walltime=job.walltime if job.walltime is not None and job.walltime > 0.0 else None,
            extra_data=job.extra_data or "",
            profile_id=known.profile_id,
        )
    profile = (
        simulation.profiles.sent(known.profile_id)
        if simulation.setup.features.forward_profiles_on_job_submission
        else None
    )
    return JobSubmittedEvent(
        timestamp=now, job_id=known.id, job=job, submission_time=known.submission_time, profile=profile
    )


DECISIONS: dict[type, Any] = {
    ExecuteJobEvent: _execute,
    RejectJobEvent: _reject,
    KillJobsEvent: _kill,
    RegisterProfileEvent: _register_profile,
    RegisterJobEvent: _register_job,
    FinishRegistrationEvent: _finish_registration,
    CallMeLaterEvent: _call_me_later,
    StopCallMeLaterEvent: _stop_call,
    CreateProbeEvent: _create_probe,
    StopProbeEvent: _stop_probe,
    TriggerProbeEvent: _trigger_probe,
    ResetProbeEvent: _reset_probe,
    ChangeHostsPStateEvent: _change_pstate,
    TurnOnOffHostsEvent: _turn_on_off,
    ForceSimulationStopEvent: _stop,
}
"""The server's function for each decision."""
