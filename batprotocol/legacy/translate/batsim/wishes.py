"""The events of a current decision component, as events of Batsim 1 to 4: a function for each event, and the table.

Each function takes the state, which it reads and changes, the event, and its time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol.errors import HostSetError
from batprotocol.legacy.cpp import integer
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Job, JobProfile
from batprotocol.legacy.translate.batsim.memory import Memory
from batprotocol.model import parse_hosts

__all__ = ["WISHES"]

_FILL: Final = model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


# Jobs


def _said(to: Memory, job_id: str) -> str:
    return to.names.get(job_id, job_id)


def _execute(to: Memory, event: model.ExecuteJobEvent, time: float) -> Iterable[e.Event]:
    allocation = event.allocation
    hosts = sorted(parse_hosts(allocation.host_allocation))
    placement = allocation.executor_placement
    mapping: dict[str, Any] | None = None
    asked = to.res.get(event.job_id)
    if isinstance(placement, model.CustomExecutorToHostMapping):
        mapping = {str(number): str(place) for number, place in enumerate(placement.mapping)}
    elif asked is not None and hosts and asked != len(hosts):
        mapping = {str(number): str(number % len(hosts)) for number in range(asked)}
        to.report.add(
            "ExecuteJobEvent", "allocation", "the number of hosts differs from the request: executors are mapped"
        )
    if placement == _FILL:
        to.report.add(
            "ExecuteJobEvent", "executor_placement", "the older version has no cores: executors are spread over hosts"
        )
    if event.profile_allocation_override:
        to.report.add("ExecuteJobEvent", "profile_allocation_override", "all tasks run on the hosts of the job")
    storages: dict[str, Any] | None = None
    if event.storage_placement:
        if to.version < (3,):
            to.report.add("ExecuteJobEvent", "storage_placement", "storages cannot be placed: it is left out")
        elif mapping is not None:
            to.report.add(
                "ExecuteJobEvent", "storage_placement", "it cannot be combined with a mapping: it is left out"
            )
        else:
            storages = {each.storage_name: each.host_id for each in event.storage_placement}
    to.jobs[event.job_id] = "running"
    alloc = str(parse_hosts(allocation.host_allocation))
    yield e.ExecuteJob(time, _said(to, event.job_id), alloc, mapping, storages)


def _reject(to: Memory, event: model.RejectJobEvent, time: float) -> Iterable[e.Event]:
    to.jobs[event.job_id] = "ended"
    yield e.RejectJob(time, _said(to, event.job_id))


def _kill(to: Memory, event: model.KillJobsEvent, time: float) -> Iterable[e.Event]:
    yield e.KillJob(time, tuple(_said(to, job_id) for job_id in event.job_ids))


# Registration


def _register_profile(to: Memory, event: model.RegisterProfileEvent, time: float) -> Iterable[e.Event]:
    workload, _, name = event.profile.id.partition("!")
    profile = JobProfile.of(event.profile.profile, to.version)
    if profile is None:
        kind = type(event.profile.profile).__name__
        to.report.add("RegisterProfileEvent", "profile", f"there is no such profile as {kind}: it is left out")
        return
    to.profiles[event.profile.id] = profile
    if event.profile.extra_data:
        to.report.add("RegisterProfileEvent", "profile.extra_data", "no message can carry it: it is left out")
    if to.store is not None and to.version < (3,):
        to.store.put_profile(event.profile.id, profile)
    elif to.version < (1, 4):
        to.report.add("RegisterProfileEvent", "", "it is sent with the job that has it")
        if isinstance(event.profile.profile, model.SequentialCompositionProfile):
            to.report.add("RegisterProfileEvent", "profile", "no message can carry the parts of a sequence")
    elif to.version < (3,):
        yield e.SubmitProfile(time, workload, name, profile)
    else:
        yield e.RegisterProfile(time, workload, name, profile)


def _register(to: Memory, event: model.RegisterJobEvent, time: float) -> Iterable[e.Event]:
    job = event.job
    profile = job.profile_id.rpartition("!")[2]
    workload, place = event.job_id.partition("!")[0], job.profile_id.partition("!")[0]
    job_id = _named(to, event.job_id, place)
    if to.version >= (3,) and place and place != workload and job.profile_id in to.profiles:
        # There, a job and its profile are in one workload, which a profile makes.
        profile = f"{place}-{profile}"
        if f"{workload}!{profile}" not in to.profiles:
            copied = to.profiles[f"{workload}!{profile}"] = to.profiles[job.profile_id]
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
    to.dynamic.add(event.job_id)
    to.jobs[event.job_id] = "submitted"
    to.res[event.job_id] = job.resource_request
    if to.features.acknowledge_dynamic_jobs and not to.acknowledged:
        to.pending.append(model.JobSubmittedEvent(timestamp=time, job_id=event.job_id, job=job, submission_time=time))
    kept = to.store is not None
    if to.store is not None:
        to.store.put_job(said)
    if to.version >= (3,):
        yield e.RegisterJob(time, job_id, None if kept else said)
        return
    inline = to.profiles.get(job.profile_id) if to.version < (1, 4) else None
    if to.version < (2,):
        number = integer(job_id.rpartition("!")[2])
        said = Job(number, profile, job.resource_request, time, walltime, extra)
    yield e.SubmitJob(time, job_id, None if kept else said, None if kept else inline)


def _named(to: Memory, job_id: str, place: str) -> str:
    """The name of a job for Batsim.

    Batsim 1 accepts only numbers. Before Batsim 3, the job is put into the workload of its profile: no message may have
    described the profile, so it cannot be copied.
    """
    workload, _, name = job_id.partition("!")
    is_there = not place or place == workload
    if to.version >= (3,) or (is_there and (to.version >= (2,) or _is_number(name))):
        return job_id
    if to.version >= (2,):
        said = f"{place}!{workload}-{name}"
        to.report.add("RegisterJobEvent", "job_id", "a job is in the workload of its profile: it gets a name there")
    else:
        said = f"{place or workload}!{1_000_000 + len(to.names)}"
        to.report.add(
            "RegisterJobEvent", "job_id", "this Batsim accepts only numbers: jobs are numbered from 1000000 on"
        )
    to.names[job_id] = said
    to.told_names[said] = job_id
    return said


def _is_number(name: str) -> bool:
    return name.isdecimal() and name.isascii() and len(name) < 9


def _finish(to: Memory, event: model.FinishRegistrationEvent, time: float) -> Iterable[e.Event]:
    to.finished = True
    return ()


# Calls and probes


def _seconds(number: int, unit: model.TimeUnit) -> float:
    return number / 1000 if unit == model.TimeUnit.Millisecond else float(number)


def _call(to: Memory, event: model.CallMeLaterEvent, time: float) -> Iterable[e.Event]:
    when = event.when
    if isinstance(when, model.OneShot):
        yield to.call(f"once:{event.call_me_later_id}", _seconds(when.time, when.time_unit), time)
    else:
        yield _periodic(to, f"every:{event.call_me_later_id}", when, time)


def _periodic(to: Memory, whose: str, when: model.Periodic, time: float, more: int = 0) -> e.Event:
    mode = when.mode
    period = _seconds(max(when.period, 1), when.time_unit)
    to.periods[whose] = (period, mode.nb_periods + more if isinstance(mode, model.FinitePeriodNumber) else None)
    return to.call(whose, to.next_multiple(period, time), time)


def _stop_call(to: Memory, event: model.StopCallMeLaterEvent, time: float) -> Iterable[e.Event]:
    to.periods.pop(f"every:{event.call_me_later_id}", None)
    return ()


def _create_probe(to: Memory, event: model.CreateProbeEvent, time: float) -> Iterable[e.Event]:
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
            fits = frozenset(parse_hosts(resources.host_ids)) == to.hosts
    except HostSetError:
        fits = False
    if not fits or not isinstance(when, model.Periodic):
        to.report.add("CreateProbeEvent", "", "an older Batsim gives only the energy of all hosts: it never emits data")
        return
    to.probes[event.probe_id] = event
    yield _periodic(to, f"probe:{event.probe_id}", when, time)


def _stop_probe(to: Memory, event: model.StopProbeEvent, time: float) -> Iterable[e.Event]:
    to.periods.pop(f"probe:{event.probe_id}", None)
    to.probes.pop(event.probe_id, None)
    return ()


# Hosts, and the end


def _change(to: Memory, event: model.ChangeHostsPStateEvent, time: float) -> Iterable[e.Event]:
    yield e.SetResourceState(time, event.host_ids, str(event.pstate))


def _switch(to: Memory, event: model.TurnOnOffHostsEvent, time: float) -> Iterable[e.Event]:
    to.switching.append((frozenset(parse_hosts(event.host_ids)), event.state))
    yield e.SetResourceState(time, event.host_ids, str(event.state))


def _force_stop(to: Memory, event: model.ForceSimulationStopEvent, time: float) -> Iterable[e.Event]:
    to.report.add("ForceSimulationStopEvent", "", "all jobs are killed or rejected, also later ones")
    to.stopping = True
    to.periods.clear()
    running, waiting = to.jobs.those("running"), to.jobs.those("submitted")
    if running:
        yield e.KillJob(time, tuple(_said(to, job_id) for job_id in running))
    for job_id in waiting:
        to.jobs[job_id] = "ended"
        yield e.RejectJob(time, _said(to, job_id))
    to.finished = True


WISHES: Final[Mapping[type[model.Event], Callable[[Memory, Any, float], Iterable[e.Event]]]] = {
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
