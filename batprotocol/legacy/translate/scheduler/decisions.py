"""The events of a scheduler of Batsim 1 to 4, as current events: a function for each event, and a table of them.

Each function takes the state, which it reads and changes, the event, and its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol.errors import HostSetError, shown
from batprotocol.legacy.cpp import integer
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import JobProfile
from batprotocol.legacy.translate import words
from batprotocol.legacy.translate.scheduler.memory import Memory
from batprotocol.model import format_hosts, parse_hosts

__all__ = ["DECISIONS"]

_SOON: Final = 5e-4
"""Seconds in which Batsim has certainly not yet made a requested call."""
_SPREAD: Final = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


def _hosts(to: Memory, text: str, event: str, field: str) -> str | None:
    try:
        return format_hosts(text)
    except HostSetError as error:
        to.report.add(event, field, f"{error}: the event is left out")
        return None


# Jobs


def _execute(to: Memory, event: e.ExecuteJob, time: float) -> Iterable[model.Event]:
    hosts = _hosts(to, event.alloc, "EXECUTE_JOB", "alloc")
    if hosts is None:
        return ()
    if event.additional_io_job is not None:
        to.report.add(
            "EXECUTE_JOB", "additional_io_job", "the current protocol cannot merge transfers into a job: it is left out"
        )
    placement: model.ExecutorPlacement = _SPREAD
    if event.mapping is not None:
        places = _mapping(event.mapping)
        if places is None:
            to.report.add("EXECUTE_JOB", "mapping", "it maps no executors to places: the executors are spread")
        else:
            placement = model.CustomExecutorToHostMapping(places)
    storages = None
    if event.storage_mapping is not None:
        storages = tuple(
            model.StorageHost(name, host) for name, host in event.storage_mapping.items() if type(host) is int
        )
    to.jobs[event.job_id] = "running"
    to.allocations[event.job_id] = hosts
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


def _reject(to: Memory, event: e.RejectJob, time: float) -> Iterable[model.Event]:
    to.jobs[event.job_id] = "ended"
    yield model.RejectJobEvent(timestamp=time, job_id=event.job_id)


def _kill(to: Memory, event: e.KillJob, time: float) -> Iterable[model.Event]:
    ids = tuple(dict.fromkeys(event.job_ids))
    alive = tuple(job_id for job_id in ids if to.jobs.get(job_id, "running") == "running" and job_id not in to.killing)
    if not alive:  # older Batsims acknowledge kills of jobs that have ended, or are being killed
        to.report.add(
            "KILL_JOB", "job_ids", "no such job runs: the bridge acknowledges it, and does not send it to Batsim"
        )
        to.pending.append(e.JobKilled(to.now, ids, {} if to.version >= (1, 2) else None))
        return
    if alive != ids:
        to.report.add("KILL_JOB", "job_ids", "only running jobs are killed")
    to.killing.update(dict.fromkeys(alive, 1))
    yield model.KillJobsEvent(timestamp=time, job_ids=alive)


def _change(to: Memory, event: e.ChangeJobState, time: float) -> Iterable[model.Event]:
    state, job_id = event.job_state, event.job_id
    known = to.jobs.get(job_id)
    if state == "RUNNING" and known == "submitted":
        to.jobs[job_id] = "faked"
        to.report.add("CHANGE_JOB_STATE", "job_state", "RUNNING is kept: Batsim gets an event only when the job ends")
    elif known == "faked" and state.startswith("COMPLETED"):
        to.jobs[job_id] = "ended"
        to.report.add("CHANGE_JOB_STATE", "job_state", f"{state}: the job is rejected")
        yield model.RejectJobEvent(timestamp=time, job_id=job_id)
    elif known == "submitted" and state == "REJECTED":
        to.jobs[job_id] = "ended"
        yield model.RejectJobEvent(timestamp=time, job_id=job_id)
    elif known == "running" and state.startswith("COMPLETED"):
        to.report.add("CHANGE_JOB_STATE", "job_state", f"{state}: the job is killed")
        if job_id not in to.killing:
            to.killing[job_id] = 1
            yield model.KillJobsEvent(timestamp=time, job_ids=(job_id,))
    else:
        to.report.add(
            "CHANGE_JOB_STATE", "job_state", f"{state} does not exist in the current protocol: it is left out"
        )


# Registration


def _register(to: Memory, event: e.SubmitJob | e.RegisterJob, time: float) -> Iterable[model.Event]:
    job = event.job
    workload = event.job_id.partition("!")[0]
    if job is None and to.store is not None:
        job = to.store.job(event.job_id)
        if job is not None and job.profile is not None:
            found = to.store.profile(f"{workload}!{job.profile}")
            if found is not None:
                yield from _profile(to, workload, job.profile, found, time)
    if job is None:
        to.report.add("REGISTER_JOB", "job", "its requests are neither in the message nor in Redis: it is left out")
        return
    inline = event.profile if isinstance(event, e.SubmitJob) else None
    if inline is not None and job.profile is not None:
        yield from _profile(to, workload, job.profile, inline, time)
    to.jobs[event.job_id] = "submitted"
    yield model.RegisterJobEvent(timestamp=time, job_id=event.job_id, job=words.job_to_new(event.job_id, job))


def _register_profile(to: Memory, event: e.SubmitProfile | e.RegisterProfile, time: float) -> Iterable[model.Event]:
    return _profile(to, event.workload_name, event.profile_name, event.profile, time)


def _profile(to: Memory, workload: str, name: str, profile: JobProfile, time: float) -> Iterable[model.Event]:
    value = profile.value
    profile_id = f"{workload}!{name}"
    if value is None:
        to.report.add(
            "REGISTER_PROFILE",
            "profile",
            f"{shown(profile.type)} is not a type of the current protocol: it is left out",
        )
        return
    if profile.return_code:
        to.report.add("REGISTER_PROFILE", "profile.ret", "jobs return 0")
    if profile_id in to.registered:
        return
    to.registered.add(profile_id)
    said = model.ProfileAndId(profile_id, words.full_profile(workload, value))
    yield model.RegisterProfileEvent(timestamp=time, profile=said)


def _notify(to: Memory, event: e.Notify, time: float) -> Iterable[model.Event]:
    """The current Batsim hears of the end of registration when no job is left: until then, it can be undone."""
    if event.type in ("submission_finished", "registration_finished"):
        to.finishing = to.options.dynamic
    elif event.type in ("continue_submission", "continue_registration"):
        to.finishing = False
    else:
        to.report.add("NOTIFY", "type", f"{shown(event.type)} does not exist in the current protocol: it is left out")
    return ()


# Calls, hosts, energy


def _call(to: Memory, event: e.CallMeLater, time: float) -> Iterable[model.Event]:
    name, when = to.name("call"), int(event.time * 1000 + 1e-6)
    if when / 1000 > max(to.now, time) + _SOON:
        to.calls[name] = event.time  # it comes at the millisecond before, and is reported as if it came then
    else:
        when = words.milliseconds(event.time)
        if abs(when / 1000 - event.time) > 1e-9:
            to.report.add("CALL_ME_LATER", "timestamp", "calls come at whole milliseconds: it comes up to one later")
    trigger = model.OneShot(when, model.TimeUnit.Millisecond)
    if when % 1000 == 0:
        trigger = model.OneShot(when // 1000)
    yield model.CallMeLaterEvent(timestamp=time, call_me_later_id=name, when=trigger)


def _set_state(to: Memory, event: e.SetResourceState, time: float) -> Iterable[model.Event]:
    hosts, state = _hosts(to, event.resources, "SET_RESOURCE_STATE", "resources"), integer(event.state)
    if hosts is None:
        return
    if state is None or state < 0:
        to.report.add("SET_RESOURCE_STATE", "state", f"{shown(event.state)} is not a power state: it is left out")
        return
    groups: dict[bool, list[int]] = {}
    for host in parse_hosts(hosts):
        if state in to.passing.get(host, ()):
            to.report.add("SET_RESOURCE_STATE", "state", "a host has this state only while it changes: nothing is done")
            continue
        sleeps = to.asleep.get(host, frozenset())
        groups.setdefault((to.pstates.get(host, 0) in sleeps) != (state in sleeps), []).append(host)
        to.pstates[host] = state
    if len(groups) > 1:
        to.report.add(
            "SET_RESOURCE_STATE", "resources", "some are switched, some are not: it is sent and reported in two events"
        )
    for switches, members in groups.items():
        if switches:
            yield model.TurnOnOffHostsEvent(timestamp=time, host_ids=members, state=state)
        else:
            yield model.ChangeHostsPStateEvent(timestamp=time, host_ids=members, pstate=state)


def _query(to: Memory, event: e.Query | e.QueryRequest, time: float) -> Iterable[model.Event]:
    requests = event.requests
    wrapped = requests.get("requests")
    for name in wrapped if isinstance(wrapped, dict) else requests:
        if name != "consumed_energy":
            to.report.add("QUERY", f"requests.{name}", "the current protocol has no such question: it is left out")
            continue
        to.report.add("QUERY", "requests.consumed_energy", "a probe measures it, and answers some milliseconds later")
        yield model.CreateProbeEvent(
            timestamp=time,
            probe_id=to.name("energy"),
            resources=model.HostResources(to.hosts),
            data_accumulation_strategy=model.ProbeDataAccumulation(),
            measurement_triggering_policy=model.Periodic(
                1, time_unit=model.TimeUnit.Millisecond, mode=model.FinitePeriodNumber(1)
            ),
            resources_aggregation_function=model.Sum(),
        )


DECISIONS: Final[Mapping[type[e.Event], Callable[[Memory, Any, float], Iterable[model.Event]]]] = {
    e.ExecuteJob: _execute,
    e.RejectJob: _reject,
    e.KillJob: _kill,
    e.ChangeJobState: _change,
    e.SubmitJob: _register,
    e.RegisterJob: _register,
    e.SubmitProfile: _register_profile,
    e.RegisterProfile: _register_profile,
    e.Notify: _notify,
    e.CallMeLater: _call,
    e.SetResourceState: _set_state,
    e.Query: _query,
    e.QueryRequest: _query,
}
"""The function for each event of the scheduler. The others have no successor: metadata, messages to jobs, answers."""
