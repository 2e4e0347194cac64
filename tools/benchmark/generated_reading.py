"""Reads messages with the classes that flatc generates, as a careful user of them does it by hand.

Each field's accessor is called once, and unions are looked up in a dict. Vectors of doubles are read element by
element, as the classes do it, or through numpy, for those who have it. Only what the workloads need is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batprotocol.fb.AllocationPlacement import AllocationPlacement
from batprotocol.fb.Event import Event
from batprotocol.fb.ExecuteJobEvent import ExecuteJobEvent
from batprotocol.fb.ExecutorPlacement import ExecutorPlacement
from batprotocol.fb.Host import Host
from batprotocol.fb.HostProperty import HostProperty
from batprotocol.fb.HostResources import HostResources
from batprotocol.fb.Job import Job
from batprotocol.fb.JobCompletedEvent import JobCompletedEvent
from batprotocol.fb.JobsKilledEvent import JobsKilledEvent
from batprotocol.fb.JobSubmittedEvent import JobSubmittedEvent
from batprotocol.fb.KillProgress import KillProgress
from batprotocol.fb.KillProgressAtomicProfile import KillProgressAtomicProfile
from batprotocol.fb.KillProgressForkJoinProfile import KillProgressForkJoinProfile
from batprotocol.fb.KillProgressSequentialProfile import KillProgressSequentialProfile
from batprotocol.fb.KillProgressWrapper import KillProgressWrapper
from batprotocol.fb.Message import Message
from batprotocol.fb.PredefinedExecutorPlacementStrategyWrapper import PredefinedExecutorPlacementStrategyWrapper
from batprotocol.fb.ProbeData import ProbeData
from batprotocol.fb.ProbeDataEmittedEvent import ProbeDataEmittedEvent
from batprotocol.fb.Resources import Resources
from batprotocol.fb.SimulationBeginsEvent import SimulationBeginsEvent
from batprotocol.fb.VectorialProbeData import VectorialProbeData
from batprotocol.fb.WorkloadAndFilename import WorkloadAndFilename

from batprotocol import model

__all__ = ["decode"]


def decode(data: bytes) -> model.Message:
    """The message in these bytes."""
    message = Message.GetRootAs(data)
    events = []
    for index in range(message.EventsLength()):
        envelope = message.Events(index)
        events.append(_EVENTS[envelope.EventType()](envelope.Event(), envelope.Timestamp()))
    return model.Message(message.Now(), tuple(events))


def _absent(present: object) -> Any:
    """The value of an optional field that no workload has; a reader must ask for it all the same."""
    if present:
        raise NotImplementedError("no workload has this field")
    return None


# Jobs


def _submitted(table: Any, timestamp: float) -> model.JobSubmittedEvent:
    event = JobSubmittedEvent()
    event.Init(table.Bytes, table.Pos)
    return model.JobSubmittedEvent(
        timestamp=timestamp,
        job_id=event.JobId().decode(),
        job=_job(event.Job()),
        submission_time=event.SubmissionTime(),
        profile=_absent(event.Profile()),
    )


def _job(job: Job) -> model.Job:
    extra_data = job.ExtraData()
    return model.Job(
        resource_request=job.ResourceRequest(),
        walltime=job.Walltime(),
        extra_data=None if extra_data is None else extra_data.decode(),
        profile_id=job.ProfileId().decode(),
    )


def _completed(table: Any, timestamp: float) -> model.JobCompletedEvent:
    event = JobCompletedEvent()
    event.Init(table.Bytes, table.Pos)
    return model.JobCompletedEvent(
        timestamp=timestamp,
        job_id=event.JobId().decode(),
        state=model.FinalJobState(event.State()),
        return_code=event.ReturnCode(),
    )


def _execute(table: Any, timestamp: float) -> model.ExecuteJobEvent:
    event = ExecuteJobEvent()
    event.Init(table.Bytes, table.Pos)
    return model.ExecuteJobEvent(
        timestamp=timestamp,
        job_id=event.JobId().decode(),
        allocation=_allocation(event.Allocation()),
        profile_allocation_override=_absent(not event.ProfileAllocationOverrideIsNone()),
        storage_placement=_absent(not event.StoragePlacementIsNone()),
    )


def _allocation(placement: AllocationPlacement) -> model.AllocationPlacement:
    return model.AllocationPlacement(
        placement.HostAllocation().decode(),
        _EXECUTORS[placement.ExecutorPlacementType()](placement.ExecutorPlacement()),
    )


def _predefined(table: Any) -> model.PredefinedExecutorPlacementStrategy:
    wrapper = PredefinedExecutorPlacementStrategyWrapper()
    wrapper.Init(table.Bytes, table.Pos)
    return model.PredefinedExecutorPlacementStrategy(wrapper.Strategy())


_EXECUTORS: dict[int, Callable[[Any], model.ExecutorPlacement]] = {
    ExecutorPlacement.PredefinedExecutorPlacementStrategyWrapper: _predefined,
}


def _killed(table: Any, timestamp: float) -> model.JobsKilledEvent:
    event = JobsKilledEvent()
    event.Init(table.Bytes, table.Pos)
    progresses = []
    for index in range(event.ProgressesLength()):
        each = event.Progresses(index)
        progresses.append(model.JobAndProgress(each.JobId().decode(), _progress(each.Wrapper())))
    return model.JobsKilledEvent(
        timestamp=timestamp,
        job_ids=tuple([event.JobIds(index).decode() for index in range(event.JobIdsLength())]),
        progresses=tuple(progresses),
        profiles=_absent(not event.ProfilesIsNone()),
    )


def _progress(wrapper: KillProgressWrapper) -> model.KillProgress:
    return _PROGRESSES[wrapper.KillProgressType()](wrapper.KillProgress())


def _atomic(table: Any) -> model.KillProgressAtomicProfile:
    progress = KillProgressAtomicProfile()
    progress.Init(table.Bytes, table.Pos)
    return model.KillProgressAtomicProfile(progress.ProfileId().decode(), progress.Progress())


def _sequential(table: Any) -> model.KillProgressSequentialProfile:
    progress = KillProgressSequentialProfile()
    progress.Init(table.Bytes, table.Pos)
    return model.KillProgressSequentialProfile(
        progress.ProfileId().decode(),
        progress.CurrentRepetition(),
        progress.CurrentTaskIndex(),
        _progress(progress.CurrentTaskProgress()),
    )


def _fork_join(table: Any) -> model.KillProgressForkJoinProfile:
    progress = KillProgressForkJoinProfile()
    progress.Init(table.Bytes, table.Pos)
    return model.KillProgressForkJoinProfile(
        progress.ProfileId().decode(),
        tuple([_progress(progress.TasksProgress(index)) for index in range(progress.TasksProgressLength())]),
    )


_PROGRESSES: dict[int, Callable[[Any], model.KillProgress]] = {
    KillProgress.KillProgressAtomicProfile: _atomic,
    KillProgress.KillProgressSequentialProfile: _sequential,
    KillProgress.KillProgressForkJoinProfile: _fork_join,
}


# The platform


def _begins(table: Any, timestamp: float) -> model.SimulationBeginsEvent:
    event = SimulationBeginsEvent()
    event.Init(table.Bytes, table.Pos)
    commit = event.BatsimCommit()
    return model.SimulationBeginsEvent(
        timestamp=timestamp,
        batprotocol_version=event.BatprotocolVersion().decode(),
        batsim_version=event.BatsimVersion().decode(),
        batsim_commit=None if commit is None else commit.decode(),
        host_number=event.HostNumber(),
        computation_host_number=event.ComputationHostNumber(),
        computation_hosts=tuple(
            [_host(event.ComputationHosts(index)) for index in range(event.ComputationHostsLength())]
        ),
        storage_host_number=event.StorageHostNumber(),
        storage_hosts=tuple([_host(event.StorageHosts(index)) for index in range(event.StorageHostsLength())]),
        batsim_arguments=tuple(
            [event.BatsimArguments(index).decode() for index in range(event.BatsimArgumentsLength())]
        ),
        batsim_execution_context_json=event.BatsimExecutionContextJson().decode(),
        workloads=tuple([_workload(event.Workloads(index)) for index in range(event.WorkloadsLength())]),
        external_event_lists=_absent(event.ExternalEventListsLength()) or (),
        profiles=None if event.ProfilesIsNone() else _absent(event.ProfilesLength()) or (),
    )


def _workload(workload: WorkloadAndFilename) -> model.WorkloadAndFilename:
    return model.WorkloadAndFilename(workload.Name().decode(), workload.Filename().decode())


def _host(host: Host) -> model.Host:
    return model.Host(
        id=host.Id(),
        name=host.Name().decode(),
        pstate=host.Pstate(),
        pstate_count=host.PstateCount(),
        state=model.HostState(host.State()),
        properties=(
            None
            if host.PropertiesIsNone()
            else tuple([_property(host.Properties(index)) for index in range(host.PropertiesLength())])
        ),
        zone_properties=(
            None
            if host.ZonePropertiesIsNone()
            else tuple([_property(host.ZoneProperties(index)) for index in range(host.ZonePropertiesLength())])
        ),
        core_count=host.CoreCount(),
        computation_speed=_doubles(host, "ComputationSpeed"),
    )


with_numpy = False
"""Whether vectors of doubles go through numpy."""


def _doubles(table: Any, name: str) -> model.Doubles:
    if with_numpy:
        return model.Doubles.from_bytes(getattr(table, f"{name}AsNumpy")().tobytes())
    element = getattr(table, name)
    return model.Doubles([element(index) for index in range(getattr(table, f"{name}Length")())])


def _property(property: HostProperty) -> model.HostProperty:
    return model.HostProperty(property.Key().decode(), property.Value().decode())


# Probes


def _probe_data(table: Any, timestamp: float) -> model.ProbeDataEmittedEvent:
    event = ProbeDataEmittedEvent()
    event.Init(table.Bytes, table.Pos)
    return model.ProbeDataEmittedEvent(
        timestamp=timestamp,
        probe_id=event.ProbeId().decode(),
        resources=_RESOURCES[event.ResourcesType()](event.Resources()),
        metrics=model.Metrics(event.Metrics()),
        data=_DATA[event.DataType()](event.Data()),
        manually_triggered=event.ManuallyTriggered(),
        nb_emitted=event.NbEmitted(),
        nb_triggered=event.NbTriggered(),
    )


def _hosts(table: Any) -> model.HostResources:
    resources = HostResources()
    resources.Init(table.Bytes, table.Pos)
    return model.HostResources(resources.HostIds().decode())


def _vector(table: Any) -> model.VectorialProbeData:
    vectorial = VectorialProbeData()
    vectorial.Init(table.Bytes, table.Pos)
    return model.VectorialProbeData(_doubles(vectorial, "Data"))


_RESOURCES: dict[int, Callable[[Any], model.Resources]] = {Resources.HostResources: _hosts}
_DATA: dict[int, Callable[[Any], model.ProbeData]] = {ProbeData.VectorialProbeData: _vector}

_EVENTS: dict[int, Callable[[Any, float], model.Event]] = {
    Event.JobSubmittedEvent: _submitted,
    Event.JobCompletedEvent: _completed,
    Event.ExecuteJobEvent: _execute,
    Event.JobsKilledEvent: _killed,
    Event.SimulationBeginsEvent: _begins,
    Event.ProbeDataEmittedEvent: _probe_data,
}
