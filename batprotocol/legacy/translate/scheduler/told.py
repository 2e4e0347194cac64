"""The events of the current Batsim, as events of Batsim 1 to 4: a function for each event, and a table of them.

Each function takes the state, which it reads and changes, and the event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from batprotocol import model
from batprotocol.errors import HostSetError, InputError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Job, JobProfile
from batprotocol.legacy.json.versions import Version
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import words
from batprotocol.legacy.translate.scheduler.memory import OURS, Memory
from batprotocol.model import parse_hosts
from batprotocol.workloads.host_events import HostEvent, read_host_event

__all__ = ["TOLD"]

_STATES: Final = {state: state.name for state in model.FinalJobState}
_STATUSES: Final = {
    model.FinalJobState.COMPLETED_SUCCESSFULLY: "SUCCESS",
    model.FinalJobState.COMPLETED_WALLTIME_REACHED: "TIMEOUT",
}


def _begins(to: Memory, event: model.SimulationBeginsEvent) -> Iterable[e.Event]:
    version, options = to.version, to.options
    before = version < (3,)
    computing = tuple(words.resource_of(host, version) for host in event.computation_hosts)
    storing = tuple(words.resource_of(host, version) for host in event.storage_hosts)
    for host in event.computation_hosts:
        properties = words.pairs(host.properties)
        to.asleep[host.id] = words.sleep_states(properties)
        to.passing[host.id] = words.sleep_states(properties, slice(1, None))
        to.pstates[host.id] = host.pstate
    to.hosts = model.format_hosts([host.id for host in event.computation_hosts])
    workloads = {each.name: each.filename for each in event.workloads}
    to.all_injected = not event.external_event_lists
    profiles: dict[str, dict[str, JobProfile]] = {name: {} for name in workloads}
    for each in event.profiles or ():
        workload, _, name = each.id.partition("!")
        to.profiles[each.id] = each.profile
        fields = JobProfile.of(each.profile, version)
        if fields is None:
            to.report.add("SimulationBeginsEvent", "profiles", f"{type(each.profile).__name__} has no older form")
        else:
            profiles.setdefault(workload, {})[name] = fields
    if to.store is not None:
        to.store.nb_res = len(computing)
    if before and storing:
        to.report.add("SimulationBeginsEvent", "storage_hosts", "they are left out")
    if before:
        yield e.SimulationBegins(
            event.timestamp,
            nb_resources=len(computing),
            config=_config(to),
            allow_time_sharing=options.sharing,
            resources_data=computing,
            workloads=workloads if version >= (2,) else None,
        )
        return
    yield e.SimulationBegins(
        event.timestamp,
        nb_resources=len(computing) + len(storing),
        config=_config(to),
        nb_compute_resources=len(computing),
        nb_storage_resources=len(storing),
        allow_compute_sharing=options.sharing,
        allow_storage_sharing=True,
        compute_resources=computing,
        storage_resources=storing,
        workloads=workloads,
        profiles=profiles,
    )


def _config(to: Memory) -> dict[str, Any]:
    options = to.options
    host, port, prefix = options.redis or ("127.0.0.1", 6379, "default")
    if to.version < (3,):
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


def _submitted(to: Memory, event: model.JobSubmittedEvent) -> Iterable[e.Event]:
    job_id = event.job_id
    to.jobs.add(job_id)
    to.registered.add(event.job.profile_id)
    job = words.job_to_old(job_id, event.job, event.submission_time)
    profile = None
    if event.profile is not None:
        to.profiles[event.profile.id] = event.profile.profile
        profile = JobProfile.of(event.profile.profile, to.version)
        if profile is None:
            to.report.add("JobSubmittedEvent", "profile", "it has no older form: it is left out")
    options = to.options
    if to.store is not None:
        _keep(to.store, job, profile)
    if options.redis is not None:
        return (e.JobSubmitted(event.timestamp, job_id),)
    return (e.JobSubmitted(event.timestamp, job_id, job, profile if options.forward_profiles else None),)


def _keep(store: JobStore, job: Job, profile: JobProfile | None) -> None:
    store.put_job(job)
    if profile is not None:
        workload = str(job.id).partition("!")[0]
        store.put_profile(f"{workload}!{job.profile}", profile)


def _completed(to: Memory, event: model.JobCompletedEvent) -> Iterable[e.Event]:
    version, state, job_id = to.version, event.state, event.job_id
    to.jobs[job_id] = "ended"
    alloc = to.allocations.pop(job_id, "")
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


def _killed(to: Memory, event: model.JobsKilledEvent) -> Iterable[e.Event]:
    before = to.version < (3,)
    progress = {
        each.job_id: words.progress_to_old(each.wrapper, before, partial(_length_of, to)) for each in event.progresses
    }
    for job_id in event.job_ids:
        to.killing.pop(job_id, None)
    yield e.JobKilled(event.timestamp, event.job_ids, progress if to.version >= (1, 2) else None)


def _length_of(to: Memory, profile_id: str) -> int | None:
    profile = to.profiles.get(profile_id)
    return len(profile.profile_ids) if isinstance(profile, model.SequentialCompositionProfile) else None


def _probed(to: Memory, event: model.ProbeDataEmittedEvent) -> Iterable[e.Event]:
    if isinstance(event.data, model.AggregatedProbeData):
        joules = event.data.data
        if to.version < (2,):
            yield e.QueryReply(event.timestamp, {"energy_consumed": joules})
        else:
            yield e.Answer(event.timestamp, {"consumed_energy": joules})


def _called(to: Memory, event: model.RequestedCallEvent) -> Iterable[e.Event]:
    if not event.call_me_later_id.startswith(f"{OURS}wake"):
        to.now = max(to.now, to.calls.pop(event.call_me_later_id, 0.0))
        yield e.RequestedCall(to.now)


def _ends(to: Memory, event: model.SimulationEndsEvent) -> Iterable[e.Event]:
    yield e.SimulationEnds(event.timestamp)


def _failed(to: Memory, event: model.SimulationErrorEvent) -> Iterable[e.Event]:
    to.report.add("SimulationErrorEvent", "error", "the scheduler gets the end of the simulation instead")
    yield e.SimulationEnds(event.timestamp)


def _all_submitted(to: Memory, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> Iterable[e.Event]:
    to.all_submitted = True
    return _notify(to, event, "no_more_static_job_to_submit", (3,))


def _all_injected(to: Memory, event: model.AllStaticExternalEventsHaveBeenInjectedEvent) -> Iterable[e.Event]:
    to.all_injected = True
    return _notify(to, event, "no_more_external_event_to_occur", (3, 1))


def _notify(to: Memory, event: model.Event, kind: str, since: Version) -> Iterable[e.Event]:
    if to.version < since:
        to.report.add(type(event).__name__, "", "this version has no such event: it is left out")
        return []
    return [e.Notify(event.timestamp, kind)]


def _states(to: Memory, event: model.HostsPStateChangedEvent | model.HostsTurnedOnOffEvent) -> Iterable[e.Event]:
    state = event.pstate if isinstance(event, model.HostsPStateChangedEvent) else event.state
    try:
        to.pstates.update(dict.fromkeys(parse_hosts(event.host_ids), state))
    except HostSetError:
        to.report.add(type(event).__name__, "host_ids", "it is not a set of hosts: it is sent unchanged")
    yield e.ResourceStateChanged(event.timestamp, event.host_ids, str(state))


def _occurred(to: Memory, event: model.ExternalEventOccurredEvent) -> Iterable[e.Event]:
    text = event.external_event.data
    machines = _machine_event(to, text)
    if machines is not None and (to.version >= (3,) or to.options.machine_events):
        kind, resources = machines
        yield e.Notify(event.timestamp, kind, extra=resources)
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    fields = found if isinstance(found, dict) else {"data": text}
    name = fields.pop("type", None)
    if to.version < (3,):
        to.report.add("ExternalEventOccurredEvent", "", "this version has no such event: it is left out")
        return
    yield e.Notify(event.timestamp, name if isinstance(name, str) else "external_event", extra=fields)


def _machine_event(to: Memory, data: str) -> tuple[str, dict[str, Any]] | None:
    """The type and the fields of the notification for hosts that fail or come back; None for all other events."""
    try:
        found = read_host_event(data)
    except InputError:
        return None
    old = words.machine_event_to_old(found) if isinstance(found, HostEvent) else None
    if found is not None and old is None and to.version >= (3,):
        what = "hosts that are drained or promised have no older event: the scheduler gets the data as they are"
        to.report.add("ExternalEventOccurredEvent", "", what)
    return old


TOLD: Final[Mapping[type[model.Event], Callable[[Memory, Any], Iterable[e.Event]]]] = {
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
