"""Small conversations for tests: a platform, a workload, and turns of events told briefly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from batprotocol.conversation import AnyMessage
from batprotocol.model import (
    AllocationPlacement,
    AllStaticJobsHaveBeenSubmittedEvent,
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    CreateProbeEvent,
    CustomExecutorToHostMapping,
    DelayProfile,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ExecuteJobEvent,
    ExternalEventListAndFilename,
    FinalJobState,
    FinitePeriodNumber,
    Host,
    HostProperty,
    HostResources,
    HostState,
    HostsTurnedOnOffEvent,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    KillProgressAtomicProfile,
    Message,
    OneShot,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    ProbeDataAccumulation,
    ProbeDataEmittedEvent,
    Profile,
    ProfileAndId,
    RegisterJobEvent,
    RegisterProfileEvent,
    RequestedCallEvent,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    TraceReplayProfile,
    TraceType,
    TurnOnOffHostsEvent,
    VectorialProbeData,
    WorkloadAndFilename,
)

COMPUTING = 4
"""Hosts 0 to 3 compute, can sleep (power state 1), and take 2 seconds to switch off and 20 to switch on."""
STORAGE = 4
"""Host 4, "pfs0", stores."""


def host(id: int, name: str = "") -> Host:
    return Host(
        id=id,
        name=name or f"h{id}",
        pstate_count=4,
        state=HostState.IDLE,
        properties=(HostProperty("sleep_pstates", "1:2:3"),),
        computation_speed=[1e8, 1e-3, 0.5, 0.05],
    )


def hello(commit: str | None = "", name: str = "tester", **features: bool) -> EDCHelloEvent:
    return EDCHelloEvent(
        batprotocol_version="0.1.0",
        decision_component_name=name,
        decision_component_version="1",
        decision_component_commit=commit,
        requested_simulation_features=EDCRequestedSimulationFeatures(**features),
    )


def begins(
    workloads: Sequence[str] = ("w0",),
    external: Sequence[str] = (),
    arguments: Sequence[str] = ("batsim", "--energy-host"),
    **changed: Any,
) -> SimulationBeginsEvent:
    event = SimulationBeginsEvent(
        batprotocol_version="0.1.0",
        batsim_version="5.0.0-rc2",
        host_number=COMPUTING + 1,
        computation_host_number=COMPUTING,
        computation_hosts=[host(id) for id in range(COMPUTING)],
        storage_host_number=1,
        storage_hosts=[host(STORAGE, "pfs0")],
        batsim_arguments=arguments,
        batsim_execution_context_json="{}",
        workloads=[WorkloadAndFilename(name, f"{name}.json") for name in workloads],
        external_event_lists=[ExternalEventListAndFilename(name, f"{name}.txt") for name in external],
        profiles=(),
    )
    return replace(event, **changed)


def message(turn: Message | Event | Iterable[Event], now: float) -> Message:
    """A message at this time: events whose timestamp is 0 happen then."""
    if isinstance(turn, Message):
        return turn
    events = (turn,) if isinstance(turn, Event) else tuple(turn)
    return Message(now, tuple(event if event.timestamp else replace(event, timestamp=now) for event in events))


def talk(
    *turns: Message | Event | Iterable[Event] | bytes,
    first: EDCHelloEvent | None = None,
    begin: SimulationBeginsEvent | None = None,
    **features: bool,
) -> list[AnyMessage]:
    """A conversation up to the beginning of the simulation, then these turns, the decision component's first.

    Message number n is at time n, unless a turn is a Message itself.
    """
    said: list[AnyMessage] = ["init", Message(0.0, (first or hello(**features),)), message(begin or begins(), 1e-5)]
    for number, turn in enumerate(turns, len(said)):
        said.append(turn if isinstance(turn, bytes) else message(turn, float(number)))
    return said


def submitted(
    job_id: str = "w0!1", profile_id: str = "w0!p", request: int = 1, profile: Profile | None = None
) -> JobSubmittedEvent:
    """A job that was submitted; its profile is forwarded if it is given."""
    job = Job(resource_request=request, profile_id=profile_id)
    forwarded = ProfileAndId(profile_id, profile) if profile is not None else None
    return JobSubmittedEvent(job_id=job_id, job=job, submission_time=0.0, profile=forwarded)


def executed(job_id: str = "w0!1", hosts: str = "0", **rest: Any) -> ExecuteJobEvent:
    """A job on these hosts."""
    placement = rest.pop("placement", None)
    allocation = AllocationPlacement(hosts) if placement is None else AllocationPlacement(hosts, placement)
    return ExecuteJobEvent(job_id=job_id, allocation=allocation, **rest)


def ended(job_id: str = "w0!1", state: FinalJobState = FinalJobState.COMPLETED_SUCCESSFULLY) -> JobCompletedEvent:
    """The end of a job."""
    return JobCompletedEvent(job_id=job_id, state=state)


def probe(probe_id: str = "watts", hosts: str = "0-1", **changed: Any) -> CreateProbeEvent:
    """The one kind of probe that Batsim 5.0.0-rc2 implements."""
    event = CreateProbeEvent(
        probe_id=probe_id,
        resources=HostResources(hosts),
        data_accumulation_strategy=ProbeDataAccumulation(),
        measurement_triggering_policy=Periodic(10),
    )
    return replace(event, **changed)


# Events and conversations about one question each

HELLO = message(hello(), 0.0)
BEGINS = message(begins(), 1e-5)
KILLED = FinalJobState.COMPLETED_KILLED
DELAY = DelayProfile(1.0)
TASK = ParallelTaskProfile([1e6, 1e6])
SPREAD = ParallelTaskHomogeneousProfile(1e6, 0.0)
USAGE = TraceReplayProfile(TraceType.FractionalComputation, "usage.txt")
STAGED = ParallelTaskOnStorageHomogeneousProfile("data", 1e6, 0.0)
LAST = AllStaticJobsHaveBeenSubmittedEvent()
TO_THE_END = (executed(), [ended(), LAST], [], SimulationEndsEvent())
FEW = Periodic(10, mode=FinitePeriodNumber(3))
VECTOR = ProbeDataEmittedEvent(probe_id="watts", resources=HostResources("0-1"), data=VectorialProbeData([1.0, 2.0]))


def call(when: OneShot | Periodic, name: str = "tick") -> CallMeLaterEvent:
    return CallMeLaterEvent(call_me_later_id=name, when=when)


def comes(name: str = "tick", last: bool = False) -> RequestedCallEvent:
    return RequestedCallEvent(call_me_later_id=name, last_periodic_call=last)


def kill(*jobs: str) -> KillJobsEvent:
    return KillJobsEvent(job_ids=jobs)


def killed(*jobs: str, progress: float = 0.5, of: str = "") -> JobsKilledEvent:
    progresses = [JobAndProgress(of or job, KillProgressAtomicProfile("w0!p", progress)) for job in jobs]
    return JobsKilledEvent(job_ids=jobs, progresses=progresses)


def new_profile(profile: Profile = DELAY, name: str = "d!p") -> RegisterProfileEvent:
    return RegisterProfileEvent(profile=ProfileAndId(name, profile))


def new_job(name: str = "d!j", profile: str = "d!p", size: int = 1, walltime: float | None = None) -> RegisterJobEvent:
    return RegisterJobEvent(job_id=name, job=Job(resource_request=size, profile_id=profile, walltime=walltime))


def sequence(*parts: str, times: int = 1) -> SequentialCompositionProfile:
    return SequentialCompositionProfile(profile_ids=parts, repetition_count=times)


def mapped(*entries: int) -> CustomExecutorToHostMapping:
    return CustomExecutorToHostMapping(entries)


def turn(hosts: str, state: int) -> TurnOnOffHostsEvent:
    return TurnOnOffHostsEvent(host_ids=hosts, state=state)


def turned(hosts: str, state: int) -> HostsTurnedOnOffEvent:
    return HostsTurnedOnOffEvent(host_ids=hosts, state=state)


def change(hosts: str, pstate: int) -> ChangeHostsPStateEvent:
    return ChangeHostsPStateEvent(host_ids=hosts, pstate=pstate)


def registering(*events: object, **features: bool) -> list[AnyMessage]:
    """A reply in a conversation with dynamic registration."""
    return talk(events, dynamic_registration=True, **features)


def on(profile: Profile, execution: object, request: int = 2) -> list[AnyMessage]:
    """An execution of a job with this profile, which is forwarded."""
    return talk([], submitted(request=request, profile=profile), execution, forward_profiles_on_job_submission=True)


def dynamic(
    profile: str, profiles: Sequence[Profile], request: int = 1, walltime: float | None = None, **execution: Any
) -> list[AnyMessage]:
    """The execution of a registered job with this profile. The first profile is d!p, the second d!s."""
    names = ("d!p", "d!s", "d!t")
    registered = [new_profile(each, name) for name, each in zip(names, profiles, strict=False)]
    execution.setdefault("hosts", f"0-{request - 1}" if request > 1 else "0")
    job = new_job(profile=profile, size=request, walltime=walltime)
    return talk([*registered, job], [], executed("d!j", **execution), dynamic_registration=True)


def at_the_end(*events: object) -> list[AnyMessage]:
    return talk([], submitted(), *TO_THE_END, events)
