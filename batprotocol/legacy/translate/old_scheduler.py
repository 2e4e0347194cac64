"""Translation between the current Batsim and a scheduler of Batsim 1 to 4. No I/O.

`EVENTS` has a function for each event of Batsim, `DECISIONS` one for each event of the scheduler. Each takes the state,
which it reads and changes, and the event. `ToOldScheduler` does not ask the scheduler about events that concern only
the translation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import HostSetError, InputError, shown
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.events import Version, version_of
from batprotocol.legacy.json.values import Job, JobProfile, integer
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import _values as values
from batprotocol.legacy.translate._values import JobStates, TranslationReport
from batprotocol.model import format_hosts, parse_hosts
from batprotocol.workloads.host_events import HostEvent, read_host_event

__all__ = [
    "DECISIONS",
    "EVENTS",
    "NO_OPTIONS",
    "OURS",
    "Options",
    "SchedulerMemory",
    "ToOldScheduler",
]


OURS: Final = "legacy!"
"""The beginning of the names of the translation's own calls and probes."""


class Options(NamedTuple):
    """Options of the command line of an older Batsim.

    Attributes:
        dynamic: whether jobs can be registered.
        acknowledge: whether registered jobs come back in a JOB_SUBMITTED.
        forward_profiles: whether a JOB_SUBMITTED has the profile.
        sharing: whether several jobs may share a host.
        config: other keys of the configuration that the scheduler gets.
        redis: host, port and prefix of the Redis server, or None if messages describe the jobs.
        machine_events: whether the scheduler gets events of machines that fail and come back. Since Batsim 3.0, all
            schedulers get them; before, only those that speak text-3.
    """

    dynamic: bool = False
    acknowledge: bool = False
    forward_profiles: bool = False
    sharing: bool = False
    config: Mapping[str, Any] = {}
    redis: tuple[str, int, str] | None = None
    machine_events: bool = False


NO_OPTIONS: Final = Options()


class SchedulerMemory:
    """Information that one side sends once, and the other side needs again.

    Args:
        version: the version of Batsim that the scheduler was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.
    """

    def __init__(self, version: str | Version, options: Options, store: JobStore | None) -> None:
        self.version = version_of(version)
        self.options = options
        self.store = store
        self.report = TranslationReport()
        self.now = 0.0
        self.jobs = JobStates()
        self.allocations: dict[str, str] = {}
        self.profiles: dict[str, model.Profile] = {}
        self.registered: set[str] = set()
        """The profiles that exist, as far as events show it."""
        self.asleep: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        """The power states that a host has only while it changes from one to another."""
        self.pstates: dict[int, int] = {}
        self.killing: dict[str, int] = {}
        self.calls: dict[str, float] = {}
        """The times of requested calls that the current Batsim can only make at the millisecond before."""
        self.hosts = ""
        self.finishing = False
        """Whether the scheduler has notified the end of registration, and has not undone it."""
        self.finished = False
        """Whether the current Batsim knows that registration has ended."""
        self.all_submitted = False
        self.all_injected = True
        self.pending: list[e.Event] = []
        """Events for the next message to the scheduler that the current Batsim does not send."""
        self._number = 0
        self.wakes = False

    def lose(self, event: str, field: str, what: str) -> None:
        """Report something that the other protocol cannot express."""
        self.report.add(event, field, what)

    def name(self, kind: str) -> str:
        """A new name of the translation's own."""
        self._number += 1
        return f"{OURS}{kind}!{self._number}"

    @property
    def ends(self) -> bool:
        """Whether the simulation of an older Batsim would be over now: no job is left, and none is to come."""
        return self.finishing and self.all_submitted and not self.jobs.open and not self.killing

    def call_at(self, when: int, time: float) -> model.Event:
        """Request a call for the translation alone, as soon as possible."""
        trigger = model.OneShot(when, model.TimeUnit.Millisecond)
        return model.CallMeLaterEvent(timestamp=time, call_me_later_id=self.name("wake"), when=trigger)


# Events of Batsim


_STATES: Final = {state: state.name for state in model.FinalJobState}
_STATUSES: Final = {
    model.FinalJobState.COMPLETED_SUCCESSFULLY: "SUCCESS",
    model.FinalJobState.COMPLETED_WALLTIME_REACHED: "TIMEOUT",
}


def _begins(memory: SchedulerMemory, event: model.SimulationBeginsEvent) -> Iterable[e.Event]:
    version, options = memory.version, memory.options
    before = version < (3,)
    computing = tuple(values.resource_of(host, version) for host in event.computation_hosts)
    storing = tuple(values.resource_of(host, version) for host in event.storage_hosts)
    for host in event.computation_hosts:
        properties = values.pairs(host.properties)
        memory.asleep[host.id] = values.sleep_states(properties)
        memory.passing[host.id] = values.sleep_states(properties, slice(1, None))
        memory.pstates[host.id] = host.pstate
    memory.hosts = model.format_hosts([host.id for host in event.computation_hosts])
    workloads = {each.name: each.filename for each in event.workloads}
    memory.all_injected = not event.external_event_lists
    profiles: dict[str, dict[str, JobProfile]] = {name: {} for name in workloads}
    for each in event.profiles or ():
        workload, _, name = each.id.partition("!")
        memory.profiles[each.id] = each.profile
        fields = JobProfile.of(each.profile, version)
        if fields is None:
            memory.lose("SimulationBeginsEvent", "profiles", f"{type(each.profile).__name__} has no older form")
        else:
            profiles.setdefault(workload, {})[name] = fields
    if memory.store is not None:
        memory.store.nb_res = len(computing)
    if before and storing:
        memory.lose("SimulationBeginsEvent", "storage_hosts", "they are left out")
    if before:
        yield e.SimulationBegins(
            event.timestamp,
            nb_resources=len(computing),
            config=_config(memory),
            allow_time_sharing=options.sharing,
            resources_data=computing,
            workloads=workloads if version >= (2,) else None,
        )
        return
    yield e.SimulationBegins(
        event.timestamp,
        nb_resources=len(computing) + len(storing),
        config=_config(memory),
        nb_compute_resources=len(computing),
        nb_storage_resources=len(storing),
        allow_compute_sharing=options.sharing,
        allow_storage_sharing=True,
        compute_resources=computing,
        storage_resources=storing,
        workloads=workloads,
        profiles=profiles,
    )


def _config(memory: SchedulerMemory) -> dict[str, Any]:
    options = memory.options
    host, port, prefix = options.redis or ("127.0.0.1", 6379, "default")
    if memory.version < (3,):
        submission = {"enabled": options.dynamic, "acknowledge": options.acknowledge}
        return {
            "redis": {"enabled": options.redis is not None, "hostname": host, "port": port, "prefix": prefix},
            "job_submission": {"forward_profiles": options.forward_profiles, "from_scheduler": submission},
            **options.config,
        }
    return {
        "redis-enabled": options.redis is not None,
        "redis-hostname": host,
        "redis-port": port,
        "redis-prefix": prefix,
        "profiles-forwarded-on-submission": options.forward_profiles,
        "dynamic-jobs-enabled": options.dynamic,
        "dynamic-jobs-acknowledged": options.acknowledge,
        "profile-reuse-enabled": options.dynamic,
        "sched-config": "",
        "forward-unknown-events": True,
        **options.config,
    }


def _submitted(memory: SchedulerMemory, event: model.JobSubmittedEvent) -> Iterable[e.Event]:
    job_id = event.job_id
    memory.jobs.add(job_id)
    memory.registered.add(event.job.profile_id)
    job = values.job_to_old(job_id, event.job, event.submission_time)
    profile = None
    if event.profile is not None:
        memory.profiles[event.profile.id] = event.profile.profile
        profile = JobProfile.of(event.profile.profile, memory.version)
        if profile is None:
            memory.lose("JobSubmittedEvent", "profile", "it has no older form: it is left out")
    options = memory.options
    if memory.store is not None:
        _keep(memory.store, job, profile)
    if options.redis is not None:
        return (e.JobSubmitted(event.timestamp, job_id),)
    return (e.JobSubmitted(event.timestamp, job_id, job, profile if options.forward_profiles else None),)


def _keep(store: JobStore, job: Job, profile: JobProfile | None) -> None:
    store.put_job(job)
    if profile is not None:
        workload = str(job.id).partition("!")[0]
        store.put_profile(f"{workload}!{job.profile}", profile)


def _completed(memory: SchedulerMemory, event: model.JobCompletedEvent) -> Iterable[e.Event]:
    version, state, job_id = memory.version, event.state, event.job_id
    memory.jobs[job_id] = "ended"
    alloc = memory.allocations.pop(job_id, "")
    if version >= (3,):  # by far the most frequent
        return (e.JobCompleted(event.timestamp, job_id, None, _STATES[state], event.return_code, None, alloc),)
    killed = state == model.FinalJobState.COMPLETED_KILLED
    if killed and version < (2,):  # JOB_KILLED reports it
        return ()
    reason, name = "Killed, as asked" if killed else "", _STATES[state]
    if version < (1, 2) and state == model.FinalJobState.COMPLETED_WALLTIME_REACHED:
        reason, name = "Walltime reached", "COMPLETED_KILLED"
    said = e.JobCompleted(
        event.timestamp,
        job_id,
        status=_STATUSES.get(state, "FAILED") if version < (2,) else None,
        job_state=name,
        return_code=event.return_code if version >= (1, 1) else None,
        kill_reason=reason,
        alloc=alloc if version >= (2,) else None,
    )
    return (said,)


def _killed(memory: SchedulerMemory, event: model.JobsKilledEvent) -> Iterable[e.Event]:
    before = memory.version < (3,)
    progress = {
        each.job_id: values.progress_to_old(each.wrapper, before, partial(_length_of, memory))
        for each in event.progresses
    }
    for job_id in event.job_ids:
        memory.killing.pop(job_id, None)
    yield e.JobKilled(event.timestamp, event.job_ids, progress if memory.version >= (1, 2) else None)


def _length_of(memory: SchedulerMemory, profile_id: str) -> int | None:
    profile = memory.profiles.get(profile_id)
    return len(profile.profile_ids) if isinstance(profile, model.SequentialCompositionProfile) else None


def _probed(memory: SchedulerMemory, event: model.ProbeDataEmittedEvent) -> Iterable[e.Event]:
    if isinstance(event.data, model.AggregatedProbeData):
        joules = event.data.data
        if memory.version < (2,):
            yield e.QueryReply(event.timestamp, {"energy_consumed": joules})
        else:
            yield e.Answer(event.timestamp, {"consumed_energy": joules})


def _called(memory: SchedulerMemory, event: model.RequestedCallEvent) -> Iterable[e.Event]:
    if not event.call_me_later_id.startswith(f"{OURS}wake"):
        memory.now = max(memory.now, memory.calls.pop(event.call_me_later_id, 0.0))
        yield e.RequestedCall(memory.now)


def _ends(memory: SchedulerMemory, event: model.SimulationEndsEvent) -> Iterable[e.Event]:
    yield e.SimulationEnds(event.timestamp)


def _failed(memory: SchedulerMemory, event: model.SimulationErrorEvent) -> Iterable[e.Event]:
    memory.lose("SimulationErrorEvent", "error", "the scheduler gets the end of the simulation instead")
    yield e.SimulationEnds(event.timestamp)


def _all_submitted(memory: SchedulerMemory, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> Iterable[e.Event]:
    memory.all_submitted = True
    return _notify(memory, event, "no_more_static_job_to_submit", (3,))


def _all_injected(
    memory: SchedulerMemory, event: model.AllStaticExternalEventsHaveBeenInjectedEvent
) -> Iterable[e.Event]:
    memory.all_injected = True
    return _notify(memory, event, "no_more_external_event_to_occur", (3, 1))


def _notify(memory: SchedulerMemory, event: model.Event, kind: str, since: Version) -> Iterable[e.Event]:
    if memory.version < since:
        memory.lose(type(event).__name__, "", "this version has no such event: it is left out")
        return []
    return [e.Notify(event.timestamp, kind)]


def _states(
    memory: SchedulerMemory, event: model.HostsPStateChangedEvent | model.HostsTurnedOnOffEvent
) -> Iterable[e.Event]:
    state = event.pstate if isinstance(event, model.HostsPStateChangedEvent) else event.state
    try:
        memory.pstates.update(dict.fromkeys(parse_hosts(event.host_ids), state))
    except HostSetError:
        memory.lose(type(event).__name__, "host_ids", "it is not a set of hosts: it is sent unchanged")
    yield e.ResourceStateChanged(event.timestamp, event.host_ids, str(state))


def _occurred(memory: SchedulerMemory, event: model.ExternalEventOccurredEvent) -> Iterable[e.Event]:
    text = event.external_event.data
    machines = _machine_event(memory, text)
    if machines is not None and (memory.version >= (3,) or memory.options.machine_events):
        kind, resources = machines
        yield e.Notify(event.timestamp, kind, extra=resources)
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    fields = found if isinstance(found, dict) else {"data": text}
    name = fields.pop("type", None)
    if memory.version < (3,):
        memory.lose("ExternalEventOccurredEvent", "", "this version has no such event: it is left out")
        return
    yield e.Notify(event.timestamp, name if isinstance(name, str) else "external_event", extra=fields)


def _machine_event(memory: SchedulerMemory, data: str) -> tuple[str, dict[str, Any]] | None:
    """The type and the fields of the notification for hosts that fail or come back; None for all other events."""
    try:
        found = read_host_event(data)
    except InputError:
        return None
    old = values.machine_event_to_old(found) if isinstance(found, HostEvent) else None
    if found is not None and old is None and memory.version >= (3,):
        what = "hosts that are drained or promised have no older event: the scheduler gets the data as they are"
        memory.lose("ExternalEventOccurredEvent", "", what)
    return old


EVENTS: Final[Mapping[type[model.Event], Callable[[SchedulerMemory, Any], Iterable[e.Event]]]] = {
    model.SimulationBeginsEvent: _begins,
    model.JobSubmittedEvent: _submitted,
    model.JobCompletedEvent: _completed,
    model.JobsKilledEvent: _killed,
    model.ProbeDataEmittedEvent: _probed,
    model.RequestedCallEvent: _called,
    model.SimulationEndsEvent: _ends,
    model.SimulationErrorEvent: _failed,
    model.AllStaticJobsHaveBeenSubmittedEvent: _all_submitted,
    model.AllStaticExternalEventsHaveBeenInjectedEvent: _all_injected,
    model.HostsPStateChangedEvent: _states,
    model.HostsTurnedOnOffEvent: _states,
    model.ExternalEventOccurredEvent: _occurred,
}
"""The function for each event of Batsim."""


# Decisions of the scheduler


_SOON: Final = 5e-4
"""Seconds in which Batsim has certainly not yet made a requested call."""
_SPREAD: Final = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


def _hosts(memory: SchedulerMemory, text: str, event: str, field: str) -> str | None:
    try:
        return format_hosts(text)
    except HostSetError as error:
        memory.lose(event, field, f"{error}: the event is left out")
        return None


# Jobs


def _execute(memory: SchedulerMemory, event: e.ExecuteJob, time: float) -> Iterable[model.Event]:
    hosts = _hosts(memory, event.alloc, "EXECUTE_JOB", "alloc")
    if hosts is None:
        return ()
    if event.additional_io_job is not None:
        memory.lose(
            "EXECUTE_JOB", "additional_io_job", "the current protocol cannot merge transfers into a job: it is left out"
        )
    placement: model.ExecutorPlacement = _SPREAD
    if event.mapping is not None:
        places = _mapping(event.mapping)
        if places is None:
            memory.lose("EXECUTE_JOB", "mapping", "it maps no executors to places: the executors are spread")
        else:
            placement = model.CustomExecutorToHostMapping(places)
    storages = None
    if event.storage_mapping is not None:
        storages = tuple(
            model.StorageHost(name, host) for name, host in event.storage_mapping.items() if type(host) is int
        )
    memory.jobs[event.job_id] = "running"
    memory.allocations[event.job_id] = hosts
    allocation = model.AllocationPlacement(hosts, placement)
    said = model.ExecuteJobEvent(timestamp=time, job_id=event.job_id, allocation=allocation, storage_placement=storages)
    return (said,)


def _mapping(mapping: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The places of the executors 0, 1, 2..., None if this has another form."""
    places: dict[int, int] = {}
    for executor, place in mapping.items():
        number, where = integer(executor), place if type(place) is int else integer(str(place))
        if number is None or where is None or where < 0:
            return None
        places[number] = where
    return tuple(places[each] for each in sorted(places)) if sorted(places) == list(range(len(places))) else None


def _reject(memory: SchedulerMemory, event: e.RejectJob, time: float) -> Iterable[model.Event]:
    memory.jobs[event.job_id] = "ended"
    yield model.RejectJobEvent(timestamp=time, job_id=event.job_id)


def _kill(memory: SchedulerMemory, event: e.KillJob, time: float) -> Iterable[model.Event]:
    ids = tuple(dict.fromkeys(event.job_ids))
    alive = tuple(
        job_id for job_id in ids if memory.jobs.get(job_id, "running") == "running" and job_id not in memory.killing
    )
    if not alive:  # older Batsims acknowledge kills of jobs that have ended, or are being killed
        memory.lose(
            "KILL_JOB", "job_ids", "no such job runs: the bridge acknowledges it, and does not send it to Batsim"
        )
        memory.pending.append(e.JobKilled(memory.now, ids, {} if memory.version >= (1, 2) else None))
        return
    if alive != ids:
        memory.lose("KILL_JOB", "job_ids", "only running jobs are killed")
    memory.killing.update(dict.fromkeys(alive, 1))
    yield model.KillJobsEvent(timestamp=time, job_ids=alive)


def _change(memory: SchedulerMemory, event: e.ChangeJobState, time: float) -> Iterable[model.Event]:
    state, job_id = event.job_state, event.job_id
    known = memory.jobs.get(job_id)
    if state == "RUNNING" and known == "submitted":
        memory.jobs[job_id] = "faked"
        memory.lose("CHANGE_JOB_STATE", "job_state", "RUNNING is kept: Batsim gets an event only when the job ends")
    elif known == "faked" and state.startswith("COMPLETED"):
        memory.jobs[job_id] = "ended"
        memory.lose("CHANGE_JOB_STATE", "job_state", f"{state}: the job is rejected")
        yield model.RejectJobEvent(timestamp=time, job_id=job_id)
    elif known == "submitted" and state == "REJECTED":
        memory.jobs[job_id] = "ended"
        yield model.RejectJobEvent(timestamp=time, job_id=job_id)
    elif known == "running" and state.startswith("COMPLETED"):
        memory.lose("CHANGE_JOB_STATE", "job_state", f"{state}: the job is killed")
        if job_id not in memory.killing:
            memory.killing[job_id] = 1
            yield model.KillJobsEvent(timestamp=time, job_ids=(job_id,))
    else:
        memory.lose("CHANGE_JOB_STATE", "job_state", f"{state} does not exist in the current protocol: it is left out")


# Registration


def _register(memory: SchedulerMemory, event: e.SubmitJob | e.RegisterJob, time: float) -> Iterable[model.Event]:
    job = event.job
    workload = event.job_id.partition("!")[0]
    if job is None and memory.store is not None:
        job = memory.store.job(event.job_id)
        if job is not None and job.profile is not None:
            found = memory.store.profile(f"{workload}!{job.profile}")
            if found is not None:
                yield from _profile(memory, workload, job.profile, found, time)
    if job is None:
        memory.lose("REGISTER_JOB", "job", "its requests are neither in the message nor in Redis: it is left out")
        return
    inline = event.profile if isinstance(event, e.SubmitJob) else None
    if inline is not None and job.profile is not None:
        yield from _profile(memory, workload, job.profile, inline, time)
    memory.jobs[event.job_id] = "submitted"
    yield model.RegisterJobEvent(timestamp=time, job_id=event.job_id, job=values.job_to_new(event.job_id, job))


def _register_profile(
    memory: SchedulerMemory, event: e.SubmitProfile | e.RegisterProfile, time: float
) -> Iterable[model.Event]:
    return _profile(memory, event.workload_name, event.profile_name, event.profile, time)


def _profile(
    memory: SchedulerMemory, workload: str, name: str, profile: JobProfile, time: float
) -> Iterable[model.Event]:
    value = profile.value
    profile_id = f"{workload}!{name}"
    if value is None:
        memory.lose(
            "REGISTER_PROFILE",
            "profile",
            f"{shown(profile.type)} is not a type of the current protocol: it is left out",
        )
        return
    if profile.return_code:
        memory.lose("REGISTER_PROFILE", "profile.ret", "jobs return 0")
    if profile_id in memory.registered:
        return
    memory.registered.add(profile_id)
    said = model.ProfileAndId(profile_id, values.full_profile(workload, value))
    yield model.RegisterProfileEvent(timestamp=time, profile=said)


def _notified(memory: SchedulerMemory, event: e.Notify, time: float) -> Iterable[model.Event]:
    """The current Batsim hears of the end of registration when no job is left: until then, it can be undone."""
    if event.type in ("submission_finished", "registration_finished"):
        memory.finishing = memory.options.dynamic
        yield from _finish(memory, time)
    elif event.type in ("continue_submission", "continue_registration"):
        memory.finishing = False
    else:
        memory.lose("NOTIFY", "type", f"{shown(event.type)} does not exist in the current protocol: it is left out")


def _finish(memory: SchedulerMemory, time: float) -> Iterable[model.Event]:
    if memory.ends and not memory.finished:
        memory.finished = True
        yield model.FinishRegistrationEvent(timestamp=time)


# Calls, hosts, energy


def _call(memory: SchedulerMemory, event: e.CallMeLater, time: float) -> Iterable[model.Event]:
    name, when = memory.name("call"), int(event.time * 1000 + 1e-6)
    if when / 1000 > max(memory.now, time) + _SOON:
        memory.calls[name] = event.time  # it comes at the millisecond before, and is reported as if it came then
    else:
        when = values.milliseconds(event.time)
        if abs(when / 1000 - event.time) > 1e-9:
            memory.lose("CALL_ME_LATER", "timestamp", "calls come at whole milliseconds: it comes up to one later")
    trigger = model.OneShot(when, model.TimeUnit.Millisecond)
    if when % 1000 == 0:
        trigger = model.OneShot(when // 1000)
    yield model.CallMeLaterEvent(timestamp=time, call_me_later_id=name, when=trigger)


def _set_state(memory: SchedulerMemory, event: e.SetResourceState, time: float) -> Iterable[model.Event]:
    hosts, state = _hosts(memory, event.resources, "SET_RESOURCE_STATE", "resources"), integer(event.state)
    if hosts is None:
        return
    if state is None or state < 0:
        memory.lose("SET_RESOURCE_STATE", "state", f"{shown(event.state)} is not a power state: it is left out")
        return
    groups: dict[bool, list[int]] = {}
    for host in parse_hosts(hosts):
        if state in memory.passing.get(host, ()):
            memory.lose("SET_RESOURCE_STATE", "state", "a host has this state only while it changes: nothing is done")
            continue
        sleeps = memory.asleep.get(host, frozenset())
        groups.setdefault((memory.pstates.get(host, 0) in sleeps) != (state in sleeps), []).append(host)
        memory.pstates[host] = state
    if len(groups) > 1:
        memory.lose(
            "SET_RESOURCE_STATE", "resources", "some are switched, some are not: it is sent and reported in two events"
        )
    for switches, members in groups.items():
        if switches:
            yield model.TurnOnOffHostsEvent(timestamp=time, host_ids=members, state=state)
        else:
            yield model.ChangeHostsPStateEvent(timestamp=time, host_ids=members, pstate=state)


def _query(memory: SchedulerMemory, event: e.Query | e.QueryRequest, time: float) -> Iterable[model.Event]:
    requests = event.requests
    wrapped = requests.get("requests")
    for name in wrapped if isinstance(wrapped, dict) else requests:
        if name != "consumed_energy":
            memory.lose("QUERY", f"requests.{name}", "the current protocol has no such question: it is left out")
            continue
        memory.lose("QUERY", "requests.consumed_energy", "a probe measures it, and answers some milliseconds later")
        yield model.CreateProbeEvent(
            timestamp=time,
            probe_id=memory.name("energy"),
            resources=model.HostResources(memory.hosts),
            data_accumulation_strategy=model.ProbeDataAccumulation(),
            measurement_triggering_policy=model.Periodic(
                1, time_unit=model.TimeUnit.Millisecond, mode=model.FinitePeriodNumber(1)
            ),
            resources_aggregation_function=model.Sum(),
        )


DECISIONS: Final[Mapping[type[e.Event], Callable[[SchedulerMemory, Any, float], Iterable[model.Event]]]] = {
    e.ExecuteJob: _execute,
    e.RejectJob: _reject,
    e.KillJob: _kill,
    e.ChangeJobState: _change,
    e.SubmitJob: _register,
    e.RegisterJob: _register,
    e.SubmitProfile: _register_profile,
    e.RegisterProfile: _register_profile,
    e.Notify: _notified,
    e.CallMeLater: _call,
    e.SetResourceState: _set_state,
    e.Query: _query,
    e.QueryRequest: _query,
}
"""The function for each event of the scheduler. The others have no successor: metadata, messages to jobs, answers."""


# The translation


class ToOldScheduler:
    """Translates for a scheduler of the JSON protocol.

    Args:
        version: the version of Batsim that it was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.

    `hello` gives the first message for Batsim. Then, in turns, `hear` takes a message of Batsim and returns the
    message for the scheduler, or None if there is none, and `say` takes its answer (None then) and returns the reply.
    """

    def __init__(
        self, version: str | Version = "4.2", options: Options = NO_OPTIONS, store: JobStore | None = None
    ) -> None:
        self._memory = SchedulerMemory(version, options, store)

    @property
    def version(self) -> Version:
        """The version of Batsim that the scheduler was made for."""
        return self._memory.version

    @property
    def report(self) -> TranslationReport:
        """The losses of the translation."""
        return self._memory.report

    def hello(self, text: str = "") -> model.Message:
        """The first message for Batsim: the hello of a decision component with the requests of the scheduler."""
        memory = self._memory
        options = memory.options
        builder = MessageBuilder()
        builder.add_edc_hello(
            "batprotocol bridge",
            ".".join(map(str, memory.version)),
            "",
            model.EDCRequestedSimulationFeatures(
                dynamic_registration=options.dynamic,
                acknowledge_dynamic_jobs=options.acknowledge,
                profile_reuse=options.dynamic,
                forward_profiles_on_job_submission=options.forward_profiles or memory.store is not None,
                forward_profiles_on_simulation_begins=memory.version >= (3,),
            ),
        )
        if text and "sched-config" not in options.config:
            memory.options = options._replace(config={**options.config, "sched-config": text})
        return builder.finish_message()

    # From Batsim

    def hear(self, message: model.Message) -> e.Message | None:
        """The message for the scheduler, from a message of Batsim; None if nothing in it concerns the scheduler."""
        memory = self._memory
        memory.now = message.now
        memory.wakes = False
        said, memory.pending = memory.pending, []
        for event in message.events:
            tell = EVENTS.get(type(event))
            if tell is None:
                memory.lose(type(event).__name__, "", "it is not sent to the scheduler")
            else:
                said.extend(tell(memory, event))
        if not said:
            return None
        if memory.ends and memory.all_injected and not memory.finished:
            memory.pending = said  # an older Batsim sends these events with SIMULATION_ENDS
            return None
        last = 0.0
        for index, each in enumerate(said):  # the current Batsim reports some events late
            time = each.timestamp
            if not last <= time <= memory.now:
                time = min(max(time, last), memory.now)
                said[index] = replace(each, timestamp=time)
            last = time
        return e.Message(memory.now, tuple(said))

    def say(self, message: e.Message | None) -> model.Message:
        """The reply for Batsim, from the answer of the scheduler, which is None if it was not asked."""
        memory = self._memory
        now = memory.now if message is None else max(message.now, memory.now)
        replies: list[model.Event] = []
        for event in message.events if message is not None else ():
            decide = DECISIONS.get(type(event))
            if decide is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                memory.lose(kind, "", "the current protocol has no such event: it is left out")
            else:
                time = event.timestamp
                replies.extend(decide(memory, event, time if 0 <= time <= now else min(max(time, 0.0), now)))
        replies.extend(_finish(memory, now))
        if memory.pending and not memory.wakes and not memory.ends:  # no other event would cause a message for it
            replies.append(memory.call_at(0, now))
            memory.wakes = True
        if len(replies) > 1:
            replies.sort(key=_timestamp)
        memory.report.message += 1
        return model.Message(now, tuple(replies))


def _timestamp(event: model.Event) -> float:
    return event.timestamp
