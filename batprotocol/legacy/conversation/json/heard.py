"""The effect of Batsim's messages on the state. They count as true: if Batsim reports the end of a job, it has ended.

Each function takes the state and an event. The table at the end maps the types of events to the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol.errors import HostSetError
from batprotocol.legacy.conversation.state import JobRecord, State
from batprotocol.legacy.json import events as e
from batprotocol.model import parse_hosts

__all__ = ["HEARD"]


_ENERGY: Final = frozenset({"watt_per_state", "wattage_per_state", "watt_off", "wattage_off", "sleep_pstates"})
"""The properties of a host that only a simulation of energy uses. The messages do not show whether there is one."""


def _begins(state: State, event: e.SimulationBegins) -> None:
    state.began = True
    config = event.config or {}
    if state.major == 0:
        return
    hosts = [*event.hosts, *(event.storage_resources or ())]
    state.host_count = len(hosts) if event.nb_resources is None else max(event.nb_resources, len(hosts))
    state.shares = bool(event.allow_compute_sharing or event.allow_time_sharing)
    if "redis-enabled" in config or state.major >= 3:
        state.redis = config.get("redis-enabled") is True
        state.registration = config.get("dynamic-jobs-enabled") is True
        state.acknowledges = config.get("dynamic-jobs-acknowledged") is True
        state.reuses_profiles = config.get("profile-reuse-enabled") is True
    else:
        submission = _member(config, "job_submission", "from_scheduler")
        state.redis = _member(config, "redis").get("enabled") is True
        state.registration = submission.get("enabled") is True
        state.acknowledges = submission.get("acknowledge") is not False
    state.workloads.update(event.workloads or {})
    state.knows_profiles = event.profiles is not None
    for workload, profiles in (event.profiles or {}).items():
        state.profiles.update(((workload, name), profile.fields) for name, profile in profiles.items())
    for host in event.hosts:
        properties = host.properties or {}
        watts = properties.get("watt_per_state") or properties.get("wattage_per_state")
        state.has_watts = state.has_watts or not _ENERGY.isdisjoint(properties)
        if isinstance(watts, str):
            state.machines.counts[host.id] = watts.count(",") + 1
        sleeps = properties.get("sleep_pstates")
        if isinstance(sleeps, str):
            triples = [each.split(":") for each in sleeps.split(",")]
            state.machines.sleeping[host.id] = _numbers(triple[0] for triple in triples)
            state.machines.passing[host.id] = _numbers(each for triple in triples for each in triple[1:])


def _numbers(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(int(text) for text in texts if text.strip().isdecimal() and len(text) < 9)


def _member(found: Any, *path: str) -> Mapping[str, Any]:
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _submitted(state: State, event: e.JobSubmitted) -> None:
    job = event.job
    record = state.jobs.get(event.job_id)
    if record is None:
        record = state.jobs[event.job_id] = JobRecord()
        state.workloads.add(event.job_id.partition("!")[0])
    state.unannounced.discard(event.job_id)
    if job is not None:
        record.res, record.profile = job.res, job.profile
        if job.profile is not None:
            fields = event.profile.fields if event.profile is not None else {}
            key = (event.job_id.partition("!")[0], job.profile)
            state.profiles[key] = state.profiles.get(key) or fields


def _completed(state: State, event: e.JobCompleted) -> None:
    if event.job_id not in state.jobs:
        state.report("batsim.odd", "events", f"there is no job {event.job_id!r} that could have ended")
    state.end(event.job_id)


def _killed(state: State, event: e.JobKilled) -> None:
    for job_id in event.job_ids:
        state.end(job_id, told=False)


def _changed(state: State, event: e.ResourceStateChanged) -> None:
    try:
        hosts = parse_hosts(event.resources)
    except HostSetError:
        return
    pstate = int(event.state) if event.state.isdecimal() and len(event.state) < 9 else -1
    for host in hosts:
        state.machines.reached(host, pstate)


HEARD: Final[Mapping[type[e.Event], Callable[[State, Any], None]]] = {
    e.SimulationBegins: _begins,
    e.JobSubmitted: _submitted,
    e.JobCompleted: _completed,
    e.JobKilled: _killed,
    e.ResourceStateChanged: _changed,
}
"""The function for each type of event. The other events change nothing that the rules need."""
