"""The events of a Batsim of version 1 to 4, as current events: a function for each event, and a table of them.

Each function takes the state, which it reads and changes, and the event.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION
from batprotocol.errors import HostSetError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.translate import words
from batprotocol.legacy.translate.batsim.memory import Memory
from batprotocol.model import parse_hosts

__all__ = ["TOLD"]

_SLACK: Final = 1e-6
"""Seconds by which a time that was printed with six decimals may be earlier than the requested time."""


def _begins(to: Memory, event: e.SimulationBegins) -> Iterable[model.Event]:
    config = event.config or {}
    if to.version >= (3,):
        to.dynamic_enabled = config.get("dynamic-jobs-enabled") is True
        to.acknowledged = config.get("dynamic-jobs-acknowledged") is True
    else:
        submission = config.get("job_submission")
        given = submission.get("from_scheduler") if isinstance(submission, dict) else None
        to.dynamic_enabled = isinstance(given, dict) and given.get("enabled") is True
        to.acknowledged = isinstance(given, dict) and given.get("acknowledge") is not False
    if to.features.dynamic_registration and not to.dynamic_enabled:
        to.report.add("EDCHelloEvent", "dynamic_registration", "Batsim was started without it: it will refuse jobs")
    computing = [each for each in event.hosts if each.id >= 0]
    storing = [each for each in event.storage_resources or () if each.id >= 0]
    if event.hpst_host is not None or event.lcst_host is not None:
        to.report.add("SIMULATION_BEGINS", "hpst_host, lcst_host", "hosts without a number are left out")
    to.hosts = frozenset(each.id for each in computing)
    for each in computing:
        to.sleeping[each.id] = words.sleep_states(each.properties or {})
    to.report.add("SIMULATION_BEGINS", "compute_resources", "the speeds of hosts are unknown")
    workloads = event.workloads
    if workloads is None:
        to.report.add("SIMULATION_BEGINS", "workloads", "this version does not give them: there is one, unnamed")
        workloads = {"": ""}
    profiles: list[model.ProfileAndId] = []
    for workload, found in (event.profiles or {}).items():
        for name, profile in found.items():
            profile_id = f"{workload}!{name}"
            to.profiles[profile_id] = profile
            value = profile.value
            if value is not None and to.features.forward_profiles_on_simulation_begins:
                profiles.append(model.ProfileAndId(profile_id, words.full_profile(workload, value)))
    yield model.SimulationBeginsEvent(
        timestamp=event.timestamp,
        batprotocol_version=PROTOCOL_VERSION,
        batsim_version=".".join(map(str, to.version)),
        batsim_commit="",
        host_number=len(computing) + len(storing),
        computation_host_number=len(computing),
        computation_hosts=tuple(map(words.host_of, computing)),
        storage_host_number=len(storing),
        storage_hosts=tuple(map(words.host_of, storing)),
        batsim_arguments=(),
        batsim_execution_context_json=json.dumps(config),
        workloads=tuple(model.WorkloadAndFilename(name, str(path)) for name, path in workloads.items()),
        # Older Batsims do not announce lists. They may send events, and since 4.0 also that no more will come.
        external_event_lists=(model.ExternalEventListAndFilename("notify", ""),),
        profiles=tuple(profiles),
    )


def _submitted(to: Memory, event: e.JobSubmitted) -> Iterable[model.Event]:
    job_id = to.told_names.get(event.job_id, event.job_id)
    job = event.job
    if job is None and to.store is not None:
        job = to.store.job(event.job_id)
    if job is None:
        to.report.add("JOB_SUBMITTED", "job", "its requests are neither in the message nor in Redis: it is left out")
        return
    if job_id in to.dynamic and not to.features.acknowledge_dynamic_jobs:
        return  # the component did not request it
    if job_id in to.dynamic:
        to.pending = [
            each for each in to.pending if not (isinstance(each, model.JobSubmittedEvent) and each.job_id == job_id)
        ]
    said = words.job_to_new(job_id, job)
    to.jobs.add(job_id)
    to.res[job_id] = said.resource_request
    yield model.JobSubmittedEvent(
        timestamp=event.timestamp,
        job_id=job_id,
        job=said,
        submission_time=event.timestamp if job.subtime is None else job.subtime,
        profile=_profile_of(to, event, said) if to.features.forward_profiles_on_job_submission else None,
    )


def _profile_of(to: Memory, event: e.JobSubmitted, job: model.Job) -> model.ProfileAndId | None:
    found = event.profile or to.profiles.get(job.profile_id)
    if found is not None:
        to.profiles.setdefault(job.profile_id, found)
    if found is None and to.store is not None:
        found = to.store.profile(job.profile_id)
    value = None if found is None else found.value
    if value is None:
        to.report.add(
            "JOB_SUBMITTED",
            "profile",
            "the component requested it, but Batsim does not give it, or it has no successor",
        )
        return None
    workload = job.profile_id.partition("!")[0]
    return model.ProfileAndId(job.profile_id, words.full_profile(workload, value))


def _completed(to: Memory, event: e.JobCompleted) -> Iterable[model.Event]:
    job_id = to.told_names.get(event.job_id, event.job_id)
    to.jobs[job_id] = "ended"
    states = model.FinalJobState.__members__
    by_status = {"SUCCESS": "COMPLETED_SUCCESSFULLY", "TIMEOUT": "COMPLETED_WALLTIME_REACHED"}
    name = event.job_state or by_status.get(event.status or "", "COMPLETED_FAILED")
    if event.status == "TIMEOUT" and name == "COMPLETED_KILLED":  # the name of a walltime in Batsim 1.0
        name = "COMPLETED_WALLTIME_REACHED"
    if name not in states:
        to.report.add("JOB_COMPLETED", "job_state", f"{name} is reported as COMPLETED_FAILED")
        name = "COMPLETED_FAILED"
    code = event.return_code if event.return_code is not None else int(name != "COMPLETED_SUCCESSFULLY")
    yield model.JobCompletedEvent(timestamp=event.timestamp, job_id=job_id, state=states[name], return_code=code)


def _killed(to: Memory, event: e.JobKilled) -> Iterable[model.Event]:
    ids = tuple(to.told_names.get(job_id, job_id) for job_id in event.job_ids)
    progress = {to.told_names.get(job_id, job_id): each for job_id, each in (event.job_progress or {}).items()}
    for job_id in ids:
        if to.jobs.get(job_id) == "running":  # before 2.0, no other event reports its end
            to.jobs[job_id] = "ended"
            yield model.JobCompletedEvent(
                timestamp=event.timestamp,
                job_id=job_id,
                state=model.FinalJobState.COMPLETED_KILLED,
                return_code=-1,
            )
    if not ids:
        to.report.add("JOB_KILLED", "job_ids", "it names no job: it is left out")
        return
    yield model.JobsKilledEvent(
        timestamp=event.timestamp,
        job_ids=ids,
        progresses=tuple(
            model.JobAndProgress(job_id, words.progress_to_new(each, job_id.partition("!")[0]))
            for job_id, each in progress.items()
        ),
    )


def _states(to: Memory, event: e.ResourceStateChanged) -> Iterable[model.Event]:
    try:
        hosts = frozenset(parse_hosts(event.resources))
    except HostSetError:
        to.report.add("RESOURCE_STATE_CHANGED", "resources", "it is not a set of hosts: it is left out")
        return
    state = int(event.state) if event.state.isdecimal() and len(event.state) < 9 else 0
    to.pstates.update(dict.fromkeys(hosts, state))
    if (hosts, state) in to.switching:
        to.switching.remove((hosts, state))
        yield model.HostsTurnedOnOffEvent(timestamp=event.timestamp, host_ids=event.resources, state=state)
    else:
        yield model.HostsPStateChangedEvent(timestamp=event.timestamp, host_ids=event.resources, pstate=state)


def _called(to: Memory, event: e.RequestedCall) -> Iterable[model.Event]:
    if not to.calls or to.calls[0][0] > event.timestamp + _SLACK:
        return  # no longer expected, or of the translation itself
    _, _, whose = heapq.heappop(to.calls)
    kind, _, name = whose.partition(":")
    if kind == "once":
        yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=False)
        return
    period = to.periods.get(whose)
    if period is None:  # it was stopped
        return
    every, left = period
    is_last = left is not None and left <= 1
    if is_last:
        del to.periods[whose]
    else:
        to.periods[whose] = (every, None if left is None else left - 1)
        to.due.append(whose)
    if kind == "every":
        yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=is_last)
    else:
        to.measure.append(name)


def _answered(to: Memory, event: e.Answer | e.QueryReply) -> Iterable[model.Event]:
    joules = event.consumed_energy
    if joules is None or not to.asked:
        to.report.add("ANSWER", "", "the component did not ask this: it is left out")
        return
    asked, to.asked = to.asked, []
    for name in asked:
        probe = to.probes.get(name)
        if probe is not None:
            mean = isinstance(probe.resources_aggregation_function, model.ArithmeticMean)
            value = joules / max(len(to.hosts), 1) if mean else joules
            yield model.ProbeDataEmittedEvent(
                timestamp=event.timestamp,
                probe_id=name,
                resources=probe.resources,
                data=model.AggregatedProbeData(value),
            )


def _notified(to: Memory, event: e.Notify) -> Iterable[model.Event]:
    if event.type == "no_more_static_job_to_submit":
        to.all_submitted = True
        yield model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=event.timestamp)
    elif event.type == "no_more_external_event_to_occur":
        to.all_injected = True
        yield model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=event.timestamp)
    else:
        data = words.machine_event_to_new(event.type, event.extra)
        if data is None:
            data = json.dumps({"type": event.type, **event.extra})
        to.order += 1
        yield model.ExternalEventOccurredEvent(
            timestamp=event.timestamp, id=f"notify!{to.order}", external_event=model.GenericExternalEvent(data)
        )


def _queried(to: Memory, event: e.Query) -> Iterable[model.Event]:
    to.report.add("QUERY", "requests", "a current decision component cannot be asked: it gets no answer")
    return ()


def _ends(to: Memory, event: e.SimulationEnds) -> Iterable[model.Event]:
    yield model.SimulationEndsEvent(timestamp=event.timestamp)


TOLD: Final[Mapping[type[e.Event], Callable[[Memory, Any], Iterable[model.Event]]]] = {
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
