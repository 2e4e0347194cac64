"""One form for what can be written in several: host sets, what is absent or empty, ids in full, sets of things.

A function for each type of event that has several forms. It must not know of calls and probes, nor of other events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from batprotocol import model
from batprotocol.recordings.jobs import canonical_hosts

__all__ = ["FORMS", "canonical_resources"]


def _job(job_id: str, job: model.Job) -> model.Job:
    profile_id = job.profile_id if "!" in job.profile_id else f"{job_id.partition('!')[0]}!{job.profile_id}"
    walltime = None if job.walltime is not None and job.walltime < 0 else job.walltime
    extra_data = job.extra_data or None
    if (profile_id, walltime, extra_data) == (job.profile_id, job.walltime, job.extra_data):
        return job
    return replace(job, profile_id=profile_id, walltime=walltime, extra_data=extra_data)


def _profile(given: model.ProfileAndId | None) -> model.ProfileAndId | None:
    return given if given is None or given.extra_data is None or given.extra_data else replace(given, extra_data=None)


def _profiles(given: tuple[model.ProfileAndId, ...] | None) -> tuple[model.ProfileAndId, ...]:
    return tuple(sorted((each for each in map(_profile, given or ()) if each), key=lambda each: each.id))


def _submitted(event: model.JobSubmittedEvent) -> model.JobSubmittedEvent:
    job, profile = _job(event.job_id, event.job), _profile(event.profile)
    return event if job is event.job and profile is event.profile else replace(event, job=job, profile=profile)


def _registered(event: model.RegisterJobEvent) -> model.RegisterJobEvent:
    job = _job(event.job_id, event.job)
    return event if job is event.job else replace(event, job=job)


def _register_profile(event: model.RegisterProfileEvent) -> model.RegisterProfileEvent:
    return replace(event, profile=_profile(event.profile))


def _executed(event: model.ExecuteJobEvent) -> model.ExecuteJobEvent:
    allocation = event.allocation
    hosts = canonical_hosts(allocation.host_allocation)
    is_plain = event.profile_allocation_override is None and event.storage_placement is None
    if is_plain and hosts == allocation.host_allocation:
        return event
    overrides = (
        replace(each, host_allocation=canonical_hosts(each.host_allocation))
        for each in event.profile_allocation_override or ()
    )
    return replace(
        event,
        allocation=replace(allocation, host_allocation=hosts),
        profile_allocation_override=tuple(sorted(overrides, key=lambda each: each.profile_id)) or None,
        storage_placement=tuple(sorted(event.storage_placement or (), key=lambda each: each.storage_name)) or None,
    )


def _kill(event: model.KillJobsEvent) -> model.KillJobsEvent:
    return event if len(event.job_ids) < 2 else replace(event, job_ids=tuple(sorted(event.job_ids)))


def _killed(event: model.JobsKilledEvent) -> model.JobsKilledEvent:
    return replace(
        event,
        job_ids=tuple(sorted(event.job_ids)),
        progresses=tuple(sorted(event.progresses, key=lambda each: each.job_id)),
        profiles=_profiles(event.profiles) or None,
    )


def _hosts(event: Any) -> Any:
    hosts = canonical_hosts(event.host_ids)
    return event if hosts == event.host_ids else replace(event, host_ids=hosts)


def canonical_resources(resources: model.Resources) -> model.Resources:
    """The resources of a probe."""
    if isinstance(resources, model.LinkResources):
        return resources
    hosts = canonical_hosts(resources.host_ids)
    return resources if hosts == resources.host_ids else model.HostResources(hosts)


def _begins(event: model.SimulationBeginsEvent) -> model.SimulationBeginsEvent:
    """How Batsim was started, which versions speak and where the inputs lie is not what happens in the simulation."""

    def hosts(given: tuple[model.Host, ...]) -> tuple[model.Host, ...]:
        plain = (
            replace(each, properties=each.properties or None, zone_properties=each.zone_properties or None)
            for each in given
        )
        return tuple(sorted(plain, key=lambda host: host.id))

    return replace(
        event,
        batprotocol_version="",
        batsim_version="",
        batsim_commit=None,
        computation_hosts=hosts(event.computation_hosts),
        storage_hosts=hosts(event.storage_hosts),
        batsim_arguments=(),
        batsim_execution_context_json="",
        workloads=tuple(replace(each, filename="") for each in event.workloads),
        external_event_lists=tuple(replace(each, filename="") for each in event.external_event_lists),
        profiles=_profiles(event.profiles) or None,
    )


def _hello(event: model.EDCHelloEvent) -> model.EDCHelloEvent:
    """The hello without the name and the version of the decision component."""
    return replace(
        event,
        batprotocol_version="",
        batprotocol_commit=None,
        decision_component_name="",
        decision_component_version="",
        decision_component_commit=None,
    )


FORMS: Final[Mapping[type[model.Event], Callable[[Any], Any]]] = {
    model.JobSubmittedEvent: _submitted,
    model.JobsKilledEvent: _killed,
    model.SimulationBeginsEvent: _begins,
    model.HostsPStateChangedEvent: _hosts,
    model.HostsTurnedOnOffEvent: _hosts,
    model.EDCHelloEvent: _hello,
    model.ExecuteJobEvent: _executed,
    model.KillJobsEvent: _kill,
    model.RegisterJobEvent: _registered,
    model.RegisterProfileEvent: _register_profile,
    model.ChangeHostsPStateEvent: _hosts,
    model.TurnOnOffHostsEvent: _hosts,
}
"""The function that makes the canonical form of each type of event."""
