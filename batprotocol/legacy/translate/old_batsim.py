"""Translation between a Batsim of version 1 to 4 and a current decision component. No I/O.

`EVENTS` has a function for each event of Batsim, `DECISIONS` one for each event of the component. Each takes the state,
which it reads and changes, and the event. `ToOldBatsim` adds the events that the current Batsim would send and the
older one does not.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION
from batprotocol.errors import DecodeError, HostSetError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.events import Version, version_of
from batprotocol.legacy.json.values import Job, JobProfile, integer
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import _values as values
from batprotocol.legacy.translate._values import JobStates, TranslationReport
from batprotocol.model import parse_hosts

__all__ = [
    "DECISIONS",
    "EVENTS",
    "BatsimMemory",
    "ToOldBatsim",
]


class BatsimMemory:
    """Information that one side sends once, and the other side needs again.

    Args:
        version: the version of Batsim.
        store: the store of the jobs, if messages do not describe them.
    """

    def __init__(self, version: str | Version, store: JobStore | None) -> None:
        self.version = version_of(version)
        self.store = store
        self.report = TranslationReport()
        self.features = model.EDCRequestedSimulationFeatures()
        self.now = 0.0
        self.res: dict[str, int] = {}
        self.jobs = JobStates()
        self.calls: list[tuple[float, int, str]] = []
        """The requested calls, the next one first: the time, the order, and the owner."""
        self.periods: dict[str, tuple[float, int | None]] = {}
        """The period of each periodic call and probe, and how many calls remain; None: without limit."""
        self.probes: dict[str, model.CreateProbeEvent] = {}
        self.asked: list[str] = []
        """The probes that wait for an answer."""
        self.due: list[str] = []
        """The periodic calls and probes whose next call the translation must request."""
        self.measure: list[str] = []
        """The probes that must measure now."""
        self.switching: list[tuple[frozenset[int], int]] = []
        self.profiles: dict[str, JobProfile] = {}
        self.names: dict[str, str] = {}
        self.current_names: dict[str, str] = {}
        self.dynamic: set[str] = set()
        self.acknowledged = False
        self.dynamic_enabled = False
        self.finished = False
        """Whether the component has finished registration."""
        self.closed = False
        """Whether Batsim knows no better than that registration has ended."""
        self.hosts: frozenset[int] = frozenset()
        self.sleeping: dict[int, frozenset[int]] = {}
        self.pstates: dict[int, int] = {}
        self.pending: list[model.Event] = []
        self.wakes = False
        self.stopping = False
        self.all_submitted = False
        self.all_injected = False
        self.is_over = False
        self.order = 0

    def lose(self, event: str, field: str, what: str) -> None:
        """Report something that the other protocol cannot express."""
        self.report.add(event, field, what)

    @property
    def is_idle(self) -> bool:
        """Whether the component hears of nothing more, unless Batsim submits another job."""
        return not (self.jobs.open or self.calls or self.asked or self.due or self.measure or self.switching)

    def call(self, whose: str, when: float, time: float) -> e.Event:
        """Request a call at that time, but not in the past: an older Batsim aborts on that."""
        at = when
        if at <= max(time, self.now) + 1e-4:
            at = max(time, self.now) + 0.001
        self.order += 1
        heapq.heappush(self.calls, (at, self.order, whose))
        return e.CallMeLater(time, at)

    def next_multiple(self, period: float, time: float) -> float:
        """The first multiple of a period after that time."""
        number = int(max(time, self.now) / period + 1e-9) + 1
        return number * period


# Events of Batsim


_SLACK: Final = 1e-6
"""Seconds by which a time that was printed with six decimals may be earlier than the requested time."""


def _begins(memory: BatsimMemory, event: e.SimulationBegins) -> Iterable[model.Event]:
    config = event.config or {}
    if memory.version >= (3,):
        memory.dynamic_enabled = config.get("dynamic-jobs-enabled") is True
        memory.acknowledged = config.get("dynamic-jobs-acknowledged") is True
    else:
        submission = config.get("job_submission")
        given = submission.get("from_scheduler") if isinstance(submission, dict) else None
        memory.dynamic_enabled = isinstance(given, dict) and given.get("enabled") is True
        memory.acknowledged = isinstance(given, dict) and given.get("acknowledge") is not False
    if memory.features.dynamic_registration and not memory.dynamic_enabled:
        memory.lose("EDCHelloEvent", "dynamic_registration", "Batsim was started without it: it will refuse jobs")
    computing = [each for each in event.hosts if each.id >= 0]
    storing = [each for each in event.storage_resources or () if each.id >= 0]
    if event.hpst_host is not None or event.lcst_host is not None:
        memory.lose("SIMULATION_BEGINS", "hpst_host, lcst_host", "hosts without a number are left out")
    memory.hosts = frozenset(each.id for each in computing)
    for each in computing:
        memory.sleeping[each.id] = values.sleep_states(each.properties or {})
    memory.lose("SIMULATION_BEGINS", "compute_resources", "the speeds of hosts are unknown")
    workloads = event.workloads
    if workloads is None:
        memory.lose("SIMULATION_BEGINS", "workloads", "this version does not give them: there is one, unnamed")
        workloads = {"": ""}
    profiles: list[model.ProfileAndId] = []
    for workload, found in (event.profiles or {}).items():
        for name, profile in found.items():
            profile_id = f"{workload}!{name}"
            memory.profiles[profile_id] = profile
            value = profile.value
            if value is not None and memory.features.forward_profiles_on_simulation_begins:
                profiles.append(model.ProfileAndId(profile_id, values.full_profile(workload, value)))
    yield model.SimulationBeginsEvent(
        timestamp=event.timestamp,
        batprotocol_version=PROTOCOL_VERSION,
        batsim_version=".".join(map(str, memory.version)),
        batsim_commit="",
        host_number=len(computing) + len(storing),
        computation_host_number=len(computing),
        computation_hosts=tuple(map(values.host_of, computing)),
        storage_host_number=len(storing),
        storage_hosts=tuple(map(values.host_of, storing)),
        batsim_arguments=(),
        batsim_execution_context_json=json.dumps(config),
        workloads=tuple(model.WorkloadAndFilename(name, str(path)) for name, path in workloads.items()),
        # Older Batsims do not announce lists. They may send events, and since 4.0 also that no more will come.
        external_event_lists=(model.ExternalEventListAndFilename("notify", ""),),
        profiles=tuple(profiles),
    )


def _submitted(memory: BatsimMemory, event: e.JobSubmitted) -> Iterable[model.Event]:
    job_id = memory.current_names.get(event.job_id, event.job_id)
    job = event.job
    if job is None and memory.store is not None:
        job = memory.store.job(event.job_id)
    if job is None:
        memory.lose("JOB_SUBMITTED", "job", "its requests are neither in the message nor in Redis: it is left out")
        return
    if job_id in memory.dynamic and not memory.features.acknowledge_dynamic_jobs:
        return  # the component did not request it
    if job_id in memory.dynamic:
        memory.pending = [
            each for each in memory.pending if not (isinstance(each, model.JobSubmittedEvent) and each.job_id == job_id)
        ]
    said = values.job_to_new(job_id, job)
    memory.jobs.add(job_id)
    memory.res[job_id] = said.resource_request
    yield model.JobSubmittedEvent(
        timestamp=event.timestamp,
        job_id=job_id,
        job=said,
        submission_time=event.timestamp if job.subtime is None else job.subtime,
        profile=_profile_of(memory, event, said) if memory.features.forward_profiles_on_job_submission else None,
    )


def _profile_of(memory: BatsimMemory, event: e.JobSubmitted, job: model.Job) -> model.ProfileAndId | None:
    found = event.profile or memory.profiles.get(job.profile_id)
    if found is not None:
        memory.profiles.setdefault(job.profile_id, found)
    if found is None and memory.store is not None:
        found = memory.store.profile(job.profile_id)
    value = None if found is None else found.value
    if value is None:
        memory.lose(
            "JOB_SUBMITTED",
            "profile",
            "the component requested it, but Batsim does not give it, or it has no successor",
        )
        return None
    workload = job.profile_id.partition("!")[0]
    return model.ProfileAndId(job.profile_id, values.full_profile(workload, value))


def _completed(memory: BatsimMemory, event: e.JobCompleted) -> Iterable[model.Event]:
    job_id = memory.current_names.get(event.job_id, event.job_id)
    memory.jobs[job_id] = "ended"
    states = model.FinalJobState.__members__
    by_status = {"SUCCESS": "COMPLETED_SUCCESSFULLY", "TIMEOUT": "COMPLETED_WALLTIME_REACHED"}
    name = event.job_state or by_status.get(event.status or "", "COMPLETED_FAILED")
    if event.status == "TIMEOUT" and name == "COMPLETED_KILLED":  # the name of a walltime in Batsim 1.0
        name = "COMPLETED_WALLTIME_REACHED"
    if name not in states:
        memory.lose("JOB_COMPLETED", "job_state", f"{name} is reported as COMPLETED_FAILED")
        name = "COMPLETED_FAILED"
    code = event.return_code if event.return_code is not None else int(name != "COMPLETED_SUCCESSFULLY")
    yield model.JobCompletedEvent(timestamp=event.timestamp, job_id=job_id, state=states[name], return_code=code)


def _killed(memory: BatsimMemory, event: e.JobKilled) -> Iterable[model.Event]:
    ids = tuple(memory.current_names.get(job_id, job_id) for job_id in event.job_ids)
    progress = {memory.current_names.get(job_id, job_id): each for job_id, each in (event.job_progress or {}).items()}
    for job_id in ids:
        if memory.jobs.get(job_id) == "running":  # before 2.0, no other event reports its end
            memory.jobs[job_id] = "ended"
            yield model.JobCompletedEvent(
                timestamp=event.timestamp,
                job_id=job_id,
                state=model.FinalJobState.COMPLETED_KILLED,
                return_code=-1,
            )
    if not ids:
        memory.lose("JOB_KILLED", "job_ids", "it names no job: it is left out")
        return
    yield model.JobsKilledEvent(
        timestamp=event.timestamp,
        job_ids=ids,
        progresses=tuple(
            model.JobAndProgress(job_id, values.progress_to_new(each, job_id.partition("!")[0]))
            for job_id, each in progress.items()
        ),
    )


def _states(memory: BatsimMemory, event: e.ResourceStateChanged) -> Iterable[model.Event]:
    try:
        hosts = frozenset(parse_hosts(event.resources))
    except HostSetError:
        memory.lose("RESOURCE_STATE_CHANGED", "resources", "it is not a set of hosts: it is left out")
        return
    state = int(event.state) if event.state.isdecimal() and len(event.state) < 9 else 0
    memory.pstates.update(dict.fromkeys(hosts, state))
    if (hosts, state) in memory.switching:
        memory.switching.remove((hosts, state))
        yield model.HostsTurnedOnOffEvent(timestamp=event.timestamp, host_ids=event.resources, state=state)
    else:
        yield model.HostsPStateChangedEvent(timestamp=event.timestamp, host_ids=event.resources, pstate=state)


def _called(memory: BatsimMemory, event: e.RequestedCall) -> Iterable[model.Event]:
    if not memory.calls or memory.calls[0][0] > event.timestamp + _SLACK:
        return  # no longer expected, or of the translation itself
    _, _, whose = heapq.heappop(memory.calls)
    kind, _, name = whose.partition(":")
    if kind == "once":
        yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=False)
        return
    period = memory.periods.get(whose)
    if period is None:  # it was stopped
        return
    every, left = period
    is_last = left is not None and left <= 1
    if is_last:
        del memory.periods[whose]
    else:
        memory.periods[whose] = (every, None if left is None else left - 1)
        memory.due.append(whose)
    if kind == "every":
        yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=is_last)
    else:
        memory.measure.append(name)


def _answered(memory: BatsimMemory, event: e.Answer | e.QueryReply) -> Iterable[model.Event]:
    joules = event.consumed_energy
    if joules is None or not memory.asked:
        memory.lose("ANSWER", "", "the component did not ask this: it is left out")
        return
    asked, memory.asked = memory.asked, []
    for name in asked:
        probe = memory.probes.get(name)
        if probe is not None:
            mean = isinstance(probe.resources_aggregation_function, model.ArithmeticMean)
            value = joules / max(len(memory.hosts), 1) if mean else joules
            yield model.ProbeDataEmittedEvent(
                timestamp=event.timestamp,
                probe_id=name,
                resources=probe.resources,
                data=model.AggregatedProbeData(value),
            )


def _notified(memory: BatsimMemory, event: e.Notify) -> Iterable[model.Event]:
    if event.type == "no_more_static_job_to_submit":
        memory.all_submitted = True
        yield model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=event.timestamp)
    elif event.type == "no_more_external_event_to_occur":
        memory.all_injected = True
        yield model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=event.timestamp)
    else:
        data = values.machine_event_to_new(event.type, event.extra)
        if data is None:
            data = json.dumps({"type": event.type, **event.extra})
        memory.order += 1
        yield model.ExternalEventOccurredEvent(
            timestamp=event.timestamp, id=f"notify!{memory.order}", external_event=model.GenericExternalEvent(data)
        )


def _queried(memory: BatsimMemory, event: e.Query) -> Iterable[model.Event]:
    memory.lose("QUERY", "requests", "a current decision component cannot be asked: it gets no answer")
    return ()


def _ends(memory: BatsimMemory, event: e.SimulationEnds) -> Iterable[model.Event]:
    yield model.SimulationEndsEvent(timestamp=event.timestamp)


EVENTS: Final[Mapping[type[e.Event], Callable[[BatsimMemory, Any], Iterable[model.Event]]]] = {
    e.SimulationBegins: _begins,
    e.JobSubmitted: _submitted,
    e.JobCompleted: _completed,
    e.JobKilled: _killed,
    e.ResourceStateChanged: _states,
    e.RequestedCall: _called,
    e.Answer: _answered,
    e.QueryReply: _answered,
    e.Notify: _notified,
    e.Query: _queried,
    e.SimulationEnds: _ends,
}
"""The function for each event of Batsim. FROM_JOB_MSG has no successor."""


# Decisions of the component


_FILL: Final = model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


# Jobs


def _said(memory: BatsimMemory, job_id: str) -> str:
    return memory.names.get(job_id, job_id)


def _execute(memory: BatsimMemory, event: model.ExecuteJobEvent, time: float) -> Iterable[e.Event]:
    allocation = event.allocation
    hosts = sorted(parse_hosts(allocation.host_allocation))
    placement = allocation.executor_placement
    mapping: dict[str, Any] | None = None
    asked = memory.res.get(event.job_id)
    if isinstance(placement, model.CustomExecutorToHostMapping):
        mapping = {str(number): str(place) for number, place in enumerate(placement.mapping)}
    elif asked is not None and hosts and asked != len(hosts):
        mapping = {str(number): str(number % len(hosts)) for number in range(asked)}
        memory.lose(
            "ExecuteJobEvent", "allocation", "the number of hosts differs from the request: executors are mapped"
        )
    if placement == _FILL:
        memory.lose(
            "ExecuteJobEvent", "executor_placement", "the older version has no cores: executors are spread over hosts"
        )
    if event.profile_allocation_override:
        memory.lose("ExecuteJobEvent", "profile_allocation_override", "all tasks run on the hosts of the job")
    storages: dict[str, Any] | None = None
    if event.storage_placement:
        if memory.version < (3,):
            memory.lose("ExecuteJobEvent", "storage_placement", "storages cannot be placed: it is left out")
        elif mapping is not None:
            memory.lose("ExecuteJobEvent", "storage_placement", "it cannot be combined with a mapping: it is left out")
        else:
            storages = {each.storage_name: each.host_id for each in event.storage_placement}
    memory.jobs[event.job_id] = "running"
    alloc = str(parse_hosts(allocation.host_allocation))
    yield e.ExecuteJob(time, _said(memory, event.job_id), alloc, mapping, storages)


def _reject(memory: BatsimMemory, event: model.RejectJobEvent, time: float) -> Iterable[e.Event]:
    memory.jobs[event.job_id] = "ended"
    yield e.RejectJob(time, _said(memory, event.job_id))


def _kill(memory: BatsimMemory, event: model.KillJobsEvent, time: float) -> Iterable[e.Event]:
    yield e.KillJob(time, tuple(_said(memory, job_id) for job_id in event.job_ids))


# Registration


def _register_profile(memory: BatsimMemory, event: model.RegisterProfileEvent, time: float) -> Iterable[e.Event]:
    workload, _, name = event.profile.id.partition("!")
    profile = JobProfile.of(event.profile.profile, memory.version)
    if profile is None:
        kind = type(event.profile.profile).__name__
        memory.lose("RegisterProfileEvent", "profile", f"there is no such profile as {kind}: it is left out")
        return
    memory.profiles[event.profile.id] = profile
    if event.profile.extra_data:
        memory.lose("RegisterProfileEvent", "profile.extra_data", "no message can carry it: it is left out")
    if memory.store is not None and memory.version < (3,):
        memory.store.put_profile(event.profile.id, profile)
    elif memory.version < (1, 4):
        memory.lose("RegisterProfileEvent", "", "it is sent with the job that has it")
        if isinstance(event.profile.profile, model.SequentialCompositionProfile):
            memory.lose("RegisterProfileEvent", "profile", "no message can carry the parts of a sequence")
    elif memory.version < (3,):
        yield e.SubmitProfile(time, workload, name, profile)
    else:
        yield e.RegisterProfile(time, workload, name, profile)


def _register(memory: BatsimMemory, event: model.RegisterJobEvent, time: float) -> Iterable[e.Event]:
    job = event.job
    profile = job.profile_id.rpartition("!")[2]
    workload, place = event.job_id.partition("!")[0], job.profile_id.partition("!")[0]
    job_id = _named(memory, event.job_id, place)
    if memory.version >= (3,) and place and place != workload and job.profile_id in memory.profiles:
        # There, a job and its profile are in one workload, which a profile makes.
        profile = f"{place}-{profile}"
        if f"{workload}!{profile}" not in memory.profiles:
            copied = memory.profiles[f"{workload}!{profile}"] = memory.profiles[job.profile_id]
            yield e.RegisterProfile(time, workload, profile, copied)
    extra: dict[str, Any] = {}
    if job.extra_data:
        try:
            found = json.loads(job.extra_data)
        except (ValueError, RecursionError):
            found = None
        extra = found if isinstance(found, dict) else {"extra_data": job.extra_data}
    walltime = -1.0 if job.walltime is None or job.walltime <= 0 else job.walltime
    said = Job(job_id, profile, job.resource_request, time, walltime, extra)
    memory.dynamic.add(event.job_id)
    memory.jobs[event.job_id] = "submitted"
    memory.res[event.job_id] = job.resource_request
    if memory.features.acknowledge_dynamic_jobs and not memory.acknowledged:
        memory.pending.append(
            model.JobSubmittedEvent(timestamp=time, job_id=event.job_id, job=job, submission_time=time)
        )
    kept = memory.store is not None
    if memory.store is not None:
        memory.store.put_job(said)
    if memory.version >= (3,):
        yield e.RegisterJob(time, job_id, None if kept else said)
        return
    inline = memory.profiles.get(job.profile_id) if memory.version < (1, 4) else None
    if memory.version < (2,):
        number = integer(job_id.rpartition("!")[2])
        said = Job(number, profile, job.resource_request, time, walltime, extra)
    yield e.SubmitJob(time, job_id, None if kept else said, None if kept else inline)


def _named(memory: BatsimMemory, job_id: str, place: str) -> str:
    """The name of a job for Batsim.

    Batsim 1 accepts only numbers. Before Batsim 3, the job is put into the workload of its profile: no message may have
    described the profile, so it cannot be copied.
    """
    workload, _, name = job_id.partition("!")
    is_there = not place or place == workload
    if memory.version >= (3,) or (is_there and (memory.version >= (2,) or _is_number(name))):
        return job_id
    if memory.version >= (2,):
        said = f"{place}!{workload}-{name}"
        memory.lose("RegisterJobEvent", "job_id", "a job is in the workload of its profile: it gets a name there")
    else:
        said = f"{place or workload}!{1_000_000 + len(memory.names)}"
        memory.lose("RegisterJobEvent", "job_id", "this Batsim accepts only numbers: jobs are numbered from 1000000 on")
    memory.names[job_id] = said
    memory.current_names[said] = job_id
    return said


def _is_number(name: str) -> bool:
    return name.isdecimal() and name.isascii() and len(name) < 9


def _finish(memory: BatsimMemory, event: model.FinishRegistrationEvent, time: float) -> Iterable[e.Event]:
    memory.finished = True
    if memory.dynamic_enabled and not memory.closed:
        memory.closed = True
        yield e.Notify(time, _end_of_registration(memory))


def _end_of_registration(memory: BatsimMemory) -> str:
    return "registration_finished" if memory.version >= (3,) else "submission_finished"


# Calls and probes


def _seconds(number: int, unit: model.TimeUnit) -> float:
    return number / 1000 if unit == model.TimeUnit.Millisecond else float(number)


def _call(memory: BatsimMemory, event: model.CallMeLaterEvent, time: float) -> Iterable[e.Event]:
    when = event.when
    if isinstance(when, model.OneShot):
        yield memory.call(f"once:{event.call_me_later_id}", _seconds(when.time, when.time_unit), time)
    else:
        yield _periodic(memory, f"every:{event.call_me_later_id}", when, time)


def _periodic(memory: BatsimMemory, whose: str, when: model.Periodic, time: float, more: int = 0) -> e.Event:
    mode = when.mode
    period = _seconds(max(when.period, 1), when.time_unit)
    memory.periods[whose] = (period, mode.nb_periods + more if isinstance(mode, model.FinitePeriodNumber) else None)
    return memory.call(whose, memory.next_multiple(period, time), time)


def _stop_call(memory: BatsimMemory, event: model.StopCallMeLaterEvent, time: float) -> Iterable[e.Event]:
    memory.periods.pop(f"every:{event.call_me_later_id}", None)
    return ()


def _create_probe(memory: BatsimMemory, event: model.CreateProbeEvent, time: float) -> Iterable[e.Event]:
    resources, when = event.resources, event.measurement_triggering_policy
    fits = (
        event.metrics == model.Metrics.Power
        and isinstance(resources, model.HostResources)
        and isinstance(when, model.Periodic)
        and isinstance(event.data_accumulation_strategy, model.ProbeDataAccumulation)
        and isinstance(event.resources_aggregation_function, model.Sum | model.ArithmeticMean)
    )
    try:
        if fits and isinstance(resources, model.HostResources):
            fits = frozenset(parse_hosts(resources.host_ids)) == memory.hosts
    except HostSetError:
        fits = False
    if not fits or not isinstance(when, model.Periodic):
        memory.lose("CreateProbeEvent", "", "an older Batsim gives only the energy of all hosts: it never emits data")
        return
    memory.probes[event.probe_id] = event
    yield _periodic(memory, f"probe:{event.probe_id}", when, time)


def _stop_probe(memory: BatsimMemory, event: model.StopProbeEvent, time: float) -> Iterable[e.Event]:
    memory.periods.pop(f"probe:{event.probe_id}", None)
    memory.probes.pop(event.probe_id, None)
    return ()


# Hosts, and the end


def _change(memory: BatsimMemory, event: model.ChangeHostsPStateEvent, time: float) -> Iterable[e.Event]:
    yield e.SetResourceState(time, event.host_ids, str(event.pstate))


def _switch(memory: BatsimMemory, event: model.TurnOnOffHostsEvent, time: float) -> Iterable[e.Event]:
    memory.switching.append((frozenset(parse_hosts(event.host_ids)), event.state))
    yield e.SetResourceState(time, event.host_ids, str(event.state))


def _force_stop(memory: BatsimMemory, event: model.ForceSimulationStopEvent, time: float) -> Iterable[e.Event]:
    memory.lose("ForceSimulationStopEvent", "", "all jobs are killed or rejected, also later ones")
    memory.stopping = True
    memory.periods.clear()
    running, waiting = memory.jobs.those("running"), memory.jobs.those("submitted")
    if running:
        yield e.KillJob(time, tuple(_said(memory, job_id) for job_id in running))
    for job_id in waiting:
        memory.jobs[job_id] = "ended"
        yield e.RejectJob(time, _said(memory, job_id))
    memory.finished = True


DECISIONS: Final[Mapping[type[model.Event], Callable[[BatsimMemory, Any, float], Iterable[e.Event]]]] = {
    model.ExecuteJobEvent: _execute,
    model.RejectJobEvent: _reject,
    model.KillJobsEvent: _kill,
    model.RegisterProfileEvent: _register_profile,
    model.RegisterJobEvent: _register,
    model.FinishRegistrationEvent: _finish,
    model.CallMeLaterEvent: _call,
    model.StopCallMeLaterEvent: _stop_call,
    model.CreateProbeEvent: _create_probe,
    model.StopProbeEvent: _stop_probe,
    model.ChangeHostsPStateEvent: _change,
    model.TurnOnOffHostsEvent: _switch,
    model.ForceSimulationStopEvent: _force_stop,
}
"""The function for each event of the component. Probes cannot be triggered or reset."""


# The translation


class ToOldBatsim:
    """Translates for a current decision component.

    Args:
        version: the version of Batsim.
        store: the store of the jobs, if messages do not describe them.

    `init` gives the initialization data from Batsim's first message, and `begin` takes the hello that answers them.
    Then, in turns, `hear` takes a message of Batsim (also the first one) and returns the message for the component, and
    `say` takes the reply of the component and returns the reply for Batsim.
    """

    def __init__(self, version: str | Version = "4.2", store: JobStore | None = None) -> None:
        self._memory = BatsimMemory(version, store)

    @property
    def version(self) -> Version:
        """The version of Batsim."""
        return self._memory.version

    @property
    def report(self) -> TranslationReport:
        """The losses of the translation."""
        return self._memory.report

    def init(self, first: e.Message) -> str:
        """The initialization data: the scheduler's configuration in Batsim's first message, or ""."""
        begins = next((event for event in first.events if isinstance(event, e.SimulationBegins)), None)
        if begins is None:
            raise DecodeError("the first message of a Batsim has SIMULATION_BEGINS", "events")
        config = (begins.config or {}).get("sched-config", "")
        return config if isinstance(config, str) else json.dumps(config)

    def begin(self, hello: model.Message) -> None:
        """Take the hello. It cannot change the simulation: the command line of an older Batsim sets its options."""
        memory = self._memory
        for event in hello.events:
            if isinstance(event, model.EDCHelloEvent):
                memory.features = event.requested_simulation_features

    # From Batsim

    def hear(self, message: e.Message) -> model.Message:
        """The message for the component, from a message of Batsim."""
        memory = self._memory
        memory.now = message.now
        memory.wakes = False
        said, memory.pending = memory.pending, []
        ends: list[model.Event] = []
        for event in message.events:
            tell = EVENTS.get(type(event))
            if tell is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                memory.lose(kind, "", "the current protocol has no such event: it is left out")
                continue
            for told in tell(memory, event):
                (ends if isinstance(told, model.SimulationEndsEvent) else said).append(told)
        if ends and not memory.all_submitted and memory.version < (3,):  # no event reported this, but now it is certain
            said.append(model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=message.now))
        if ends and not memory.all_injected:
            said.append(model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=message.now))
        # In older versions, it need not be the last event of its message. Now it is.
        ended = said + [replace(each, timestamp=message.now) for each in ends[:1]]
        memory.is_over = memory.is_over or bool(ends)
        last = 0.0
        for index, each in enumerate(ended):
            last = min(max(each.timestamp, last), message.now)
            ended[index] = replace(each, timestamp=last)
        return model.Message(message.now, tuple(ended))

    def say(self, message: model.Message) -> e.Message:
        """The reply for Batsim, from the reply of the component."""
        memory = self._memory
        now = max(message.now, memory.now)
        replies: list[e.Event] = []
        for event in message.events:
            wish = DECISIONS.get(type(event))
            if wish is None:
                memory.lose(type(event).__name__, "", "an older Batsim has no such event: it is left out")
            else:
                replies.extend(wish(memory, event, min(max(event.timestamp, 0.0), now)))
        replies[:0] = self._go_on(now)
        if memory.dynamic_enabled:
            self._open_or_close(replies, now)
        if memory.is_over:
            replies = []
        elif memory.pending and not memory.wakes:
            replies.append(e.CallMeLater(now, now + 0.001))
            memory.wakes = True
        memory.report.message += 1
        replies.sort(key=_timestamp)
        return e.Message(now, tuple(replies))

    def _open_or_close(self, replies: list[e.Event], now: float) -> None:
        """Tell Batsim whether jobs can still be registered: it ends when they cannot, and all jobs have ended.

        A component that does not ask for registration registers nothing. Before Batsim 3, no event reports that all
        jobs of the workload were submitted, so the component cannot know when it may finish. Whenever it has no job and
        expects nothing, registration is closed for it, until it has a job again.
        """
        memory = self._memory
        over = memory.finished or not memory.features.dynamic_registration
        if over or (memory.version < (3,) and memory.is_idle):
            if not memory.closed:
                memory.closed = True
                replies.append(e.Notify(now, _end_of_registration(memory)))
        elif memory.closed:
            memory.closed = False
            replies.insert(0, e.Notify(min((each.timestamp for each in replies), default=now), "continue_submission"))

    def _go_on(self, now: float) -> Iterable[e.Event]:
        """Request the next periodic calls, and the values that probes must measure now."""
        memory = self._memory
        due, memory.due = memory.due, []
        for whose in due:
            if whose in memory.periods:
                yield memory.call(whose, memory.next_multiple(memory.periods[whose][0], memory.now), memory.now)
        if memory.stopping:
            for job_id in memory.jobs.those("submitted"):
                memory.jobs[job_id] = "ended"
                yield e.RejectJob(now, memory.names.get(job_id, job_id))
        measure, memory.measure = memory.measure, []
        if measure:
            memory.asked += measure
            asked: dict[str, Any] = {"consumed_energy": {}}
            yield e.QueryRequest(memory.now, asked) if memory.version < (2,) else e.Query(memory.now, asked)


def _timestamp(event: e.Event) -> float:
    return event.timestamp
