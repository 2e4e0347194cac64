"""Batsim's server: it takes one message at a time, and reports events to the decision component.

It sends a message when it has received the reply to its last message, and no actor waits to deliver a message. Batsim
did not check the second condition before version 3 (`Setup.at_once`). `OCCURRENCES` has its function for each message
of the simulation's own actors, and `DECISIONS` for each decision.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from batprotocol import workloads as inputs
from batprotocol._util.counting import step
from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    Doubles,
    ExternalEventListAndFilename,
    ExternalEventOccurredEvent,
    FinalJobState,
    GenericExternalEvent,
    Host,
    HostProperty,
    HostState,
    HostsTurnedOnOffEvent,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    Message,
    ProfileAndId,
    RequestedCallEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    WorkloadAndFilename,
)
from batprotocol.simulator.batsim.calls import PeriodicActor
from batprotocol.simulator.batsim.decisions import DECISIONS, submitted_event
from batprotocol.simulator.batsim.jobs import SimulatedJob
from batprotocol.simulator.batsim.messages import (
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
from batprotocol.simulator.batsim.simulation_state import Simulation, SwitchRequest
from batprotocol.simulator.batsim.submitters import Injector
from batprotocol.simulator.machine.queue import SimulationActor

__all__ = [
    "OCCURRENCES",
    "BatsimServer",
    "beginning",
]


# The first event


_BATSIM_VERSION: Final = "5.0.0-rc2"
_PROTOCOL_VERSION: Final = "0.1.0"


def beginning(simulation: Simulation) -> SimulationBeginsEvent:
    """The event with the platform and the inputs, after all submitters have started."""
    setup = simulation.setup
    speeds: dict[tuple[float, ...], Doubles] = {}
    computing = tuple([_host_of_event(host, speeds) for host in setup.platform.computation_hosts])
    storing = tuple([_host_of_event(host, speeds) for host in setup.platform.storage_hosts])
    profiles: tuple[ProfileAndId, ...] = ()
    if setup.features.forward_profiles_on_simulation_begins:
        known = simulation.profiles
        profiles = tuple(known.sent(id) for id in known.known if id not in known.unusable)
    return SimulationBeginsEvent(
        timestamp=simulation.server.stamp,
        batprotocol_version=_PROTOCOL_VERSION,
        batsim_version=_BATSIM_VERSION,
        host_number=len(computing) + len(storing),
        computation_host_number=len(computing),
        computation_hosts=computing,
        storage_host_number=len(storing),
        storage_hosts=storing,
        batsim_arguments=setup.arguments,
        batsim_execution_context_json="{}",
        workloads=tuple(WorkloadAndFilename(each.name, each.filename) for each in setup.workloads),
        external_event_lists=tuple(
            ExternalEventListAndFilename(each.name, each.filename) for each in setup.event_lists
        ),
        profiles=profiles,
    )


def _host_of_event(host: inputs.PlatformHost, speeds: dict[tuple[float, ...], Doubles]) -> Host:
    """A host of the event. Equal hosts share their values, because there may be very many of them."""
    step()
    speed = speeds.get(host.speeds)
    if speed is None:
        speed = speeds[host.speeds] = Doubles(host.speeds)
    return Host(
        id=host.id,
        name=host.name,
        pstate=host.pstate,
        pstate_count=len(host.speeds),
        state=HostState.IDLE,
        properties=tuple(HostProperty(key, value) for key, value in host.properties),
        zone_properties=tuple(HostProperty(key, value) for key, value in host.zone_properties),
        core_count=host.cores,
        computation_speed=speed,
    )


# Events of the simulation


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


_HANDLERS: Final[dict[type, Any]] = {**OCCURRENCES, **DECISIONS}

_STARTING: Final = 0
_HANDLING: Final = 1
_GOING_ON: Final = 2
_LOOKING: Final = 3


class BatsimServer(SimulationActor):
    """The server of this module. Its state is in `Simulation.server`."""

    __slots__ = ("_step",)

    def __init__(self) -> None:
        super().__init__()
        self._step = _STARTING

    def run(self, simulator: Simulation) -> None:
        step, server = self._step, simulator.server
        if step == _HANDLING:
            message, self.message = self.message, None
            self._step = _GOING_ON
            _HANDLERS[type(message)](simulator, message)
        elif step == _STARTING:
            self._step = _GOING_ON
            server.todo.append(("spawn", (PeriodicActor(),)))
            if simulator.setup.at_once or not server.submitters_starting:
                server.events.append(beginning(simulator))
        todo = server.todo
        while todo:
            if self._do(simulator, *todo.popleft()):
                return
        if server.is_ending:
            self._send_end(simulator)
            return
        at_once = simulator.setup.at_once
        if server.is_ready and self._step == _GOING_ON and not at_once:
            self._step = _LOOKING
            simulator.queue.call(self)  # to find its own mailbox
            return
        if server.is_ready:
            nobody_waits = not server.mailbox.inbox and not server.submitters_starting
            if server.events and (nobody_waits or at_once):
                self._send_events(simulator)
                return
            if nobody_waits and server.is_done():
                server.end()
                self._do(simulator, *todo.popleft())
                return
        self._step = _HANDLING
        simulator.queue.receive(self, server.mailbox)

    def _do(self, simulator: Simulation, kind: str, argument: Any) -> bool:
        """Do something that may take simulated time; whether it does."""
        queue = simulator.queue
        if kind == "spawn":
            queue.spawn(self, argument)
        elif kind == "read":
            return queue.read(self, argument)
        elif kind == "do":
            function, about = argument
            if simulator.machine.has_energy:
                simulator.reports.energy("p")
            function(simulator, about)
            return False
        elif simulator.periodic_is_posting and simulator.corrected:
            queue.post_and_continue(self, simulator.periodic_mailbox, argument)
        else:
            if simulator.periodic_is_posting:  # each waits for the other to receive
                what = type(argument).__name__.removesuffix("Event")
                text = f"{what} crosses a periodic call or probe, and Batsim's actors wait for one another without end"
                simulator.warn(text, "decide it at another moment")
            queue.post(self, simulator.periodic_mailbox, argument)
        return True

    def _send_events(self, simulator: Simulation) -> None:
        """Send the events to the decision component."""
        now, server = simulator.queue.now, simulator.server
        server.stamp = now
        message = Message(now, tuple(server.events))
        server.events = []
        server.is_ready = False
        simulator.forget_ended()
        simulator.queue.spawn(self, (Injector(message),))

    def _send_end(self, simulator: Simulation) -> None:
        simulator.server.is_ready = False
        now = simulator.queue.now
        simulator.is_ending = True
        message = Message(now, (SimulationEndsEvent(timestamp=now),))
        simulator.queue.spawn(self, (Injector(message),))
