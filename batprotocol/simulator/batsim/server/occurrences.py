"""The server's actions for the events of the simulation: submissions, ends and kills of jobs, calls, switches."""

from __future__ import annotations

from typing import Any

import msgspec

from batprotocol._util.counting import step
from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    ExternalEventOccurredEvent,
    FinalJobState,
    GenericExternalEvent,
    HostsTurnedOnOffEvent,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    RequestedCallEvent,
)
from batprotocol.simulator.batsim.server.beginning import beginning
from batprotocol.simulator.batsim.state.desk import SwitchRequest
from batprotocol.simulator.batsim.state.jobs import SimulatedJob
from batprotocol.simulator.batsim.state.messages import (
    AllEventsInjected,
    AllJobsSubmitted,
    CallDue,
    CallStopped,
    CallsTriggered,
    EmptyReply,
    EventsOccurred,
    HostSwitched,
    JobEnded,
    JobsKilled,
    JobsSubmitted,
    ReplyDelivered,
    SubmitterStarted,
)
from batprotocol.simulator.batsim.state.simulation import Simulation

__all__ = ["OCCURRENCES", "submitted_event"]


def _submitter_started(simulation: Simulation, message: SubmitterStarted) -> None:
    server = simulation.server
    server.submitters_starting -= 1
    if server.submitters_starting == 0 and not simulation.setup.at_once:  # all submitters have started
        server.events.append(beginning(simulation))


def _ready(simulation: Simulation, message: ReplyDelivered) -> None:
    simulation.server.is_ready = True


def _nothing(simulation: Simulation, message: EmptyReply) -> None:
    """Do nothing."""


def _submitted(simulation: Simulation, message: JobsSubmitted) -> None:
    server = simulation.server
    now = server.stamp = simulation.queue.now
    for time, id, job in message.jobs:
        step()
        known = SimulatedJob(id, job, job.profile_id, time, False)
        simulation.add_job(known)
        server.events.append(submitted_event(simulation, known, now))


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


def _all_submitted(simulation: Simulation, message: AllJobsSubmitted) -> None:
    server = simulation.server
    server.workloads_left -= 1
    if server.workloads_left == 0:
        server.stamp = simulation.queue.now
        server.events.append(AllStaticJobsHaveBeenSubmittedEvent(timestamp=server.stamp))


def _occurred(simulation: Simulation, message: EventsOccurred) -> None:
    server = simulation.server
    for event in message.events:
        step()
        server.events.append(
            ExternalEventOccurredEvent(
                timestamp=server.stamp, id=event.id, external_event=GenericExternalEvent(event.data)
            )
        )


def _all_injected(simulation: Simulation, message: AllEventsInjected) -> None:
    server = simulation.server
    server.lists_left -= 1
    if server.lists_left == 0:
        server.stamp = simulation.queue.now
        server.events.append(AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=server.stamp))


def _job_ended(simulation: Simulation, message: JobEnded) -> None:
    now = simulation.server.stamp = simulation.queue.now
    _complete(simulation, message.job, now)


def _complete(simulation: Simulation, job: SimulatedJob, now: float) -> None:
    assert job.final_state is not None, "it has ended"
    simulation.server.events.append(
        JobCompletedEvent(timestamp=now, job_id=job.id, state=job.final_state, return_code=job.return_code)
    )
    simulation.finish_job(job)


def _jobs_killed(simulation: Simulation, message: JobsKilled) -> None:
    server = simulation.server
    server.kills -= 1
    killed = [job for job in message.jobs if job.final_state is FinalJobState.COMPLETED_KILLED]
    for job in killed:
        server.stamp = simulation.queue.now
        _complete(simulation, job, server.stamp)
    profiles = None
    if simulation.setup.features.forward_profiles_on_jobs_killed:
        profiles = tuple(simulation.profiles.sent(id) for id in dict.fromkeys(job.profile_id for job in killed)) or None
    server.events.append(
        JobsKilledEvent(
            timestamp=server.stamp,
            job_ids=tuple(job.id for job in message.jobs),
            progresses=tuple(sorted(message.progresses, key=_job_id)),
            profiles=profiles,
        )
    )


def _job_id(progress: JobAndProgress) -> str:
    return progress.job_id


def _call_due(simulation: Simulation, message: CallDue) -> None:
    server = simulation.server
    server.stamp = simulation.queue.now
    server.one_shots -= 1
    server.events.append(RequestedCallEvent(timestamp=server.stamp, call_me_later_id=message.call_me_later_id))


def _triggered(simulation: Simulation, message: CallsTriggered) -> None:
    server = simulation.server
    now = server.stamp = simulation.queue.now
    for id, is_last in message.calls:
        server.events.append(RequestedCallEvent(timestamp=now, call_me_later_id=id, last_periodic_call=is_last))
        if is_last:
            server.calls.discard(id)
    for id, event, is_last in message.data:
        if event is not None:
            server.events.append(msgspec.structs.replace(event, timestamp=now))
        if is_last:
            simulation.end_probe(id)


def _stopped(simulation: Simulation, message: CallStopped) -> None:
    if message.is_probe:
        simulation.end_probe(message.id)
    else:
        simulation.server.calls.discard(message.id)


def _switched(simulation: Simulation, message: HostSwitched) -> None:
    request, pstate = message.request, simulation.machine.power[message.host].pstate
    if pstate != request.target and not simulation.corrected:
        text = f"host {message.host} was switched to power state {request.target}, and then changed to {pstate}"
        raise simulation.refusal("hosts.change-crosses", f"{text}, before Batsim's server heard of the switch")
    request.left -= 1
    if request.left:
        return
    server = simulation.server
    server.switching -= 1
    simulation.reports.pstates(request.hosts, request.target)
    simulation.read_energy(_report_switched, request)


def _report_switched(simulation: Simulation, request: SwitchRequest) -> None:
    server = simulation.server
    simulation.reports.states()
    server.events.append(HostsTurnedOnOffEvent(timestamp=server.stamp, host_ids=request.text, state=request.target))


OCCURRENCES: dict[type, Any] = {
    SubmitterStarted: _submitter_started,
    ReplyDelivered: _ready,
    EmptyReply: _nothing,
    JobsSubmitted: _submitted,
    AllJobsSubmitted: _all_submitted,
    EventsOccurred: _occurred,
    AllEventsInjected: _all_injected,
    JobEnded: _job_ended,
    JobsKilled: _jobs_killed,
    CallDue: _call_due,
    CallsTriggered: _triggered,
    CallStopped: _stopped,
    HostSwitched: _switched,
}
"""The server's function for each type of message of the simulation's own actors."""
