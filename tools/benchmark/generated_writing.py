"""Writes messages with the functions that flatc generates, as a careful user of them does it by hand.

One builder serves all messages, so that its buffer need grow only once; fields are added in the order of the C++
library (the widest first, the last first), so that the bytes are laid out as Batsim lays them out. Only what the
workloads need is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batprotocol.fb.AllocationPlacement import (
    AllocationPlacementAddExecutorPlacement,
    AllocationPlacementAddExecutorPlacementType,
    AllocationPlacementAddHostAllocation,
    AllocationPlacementEnd,
    AllocationPlacementStart,
)
from batprotocol.fb.Event import Event
from batprotocol.fb.EventAndTimestamp import (
    EventAndTimestampAddEvent,
    EventAndTimestampAddEventType,
    EventAndTimestampAddTimestamp,
    EventAndTimestampEnd,
    EventAndTimestampStart,
)
from batprotocol.fb.ExecuteJobEvent import (
    ExecuteJobEventAddAllocation,
    ExecuteJobEventAddJobId,
    ExecuteJobEventEnd,
    ExecuteJobEventStart,
)
from batprotocol.fb.ExecutorPlacement import ExecutorPlacement
from batprotocol.fb.Host import (
    HostAddComputationSpeed,
    HostAddCoreCount,
    HostAddId,
    HostAddName,
    HostAddProperties,
    HostAddPstate,
    HostAddPstateCount,
    HostAddState,
    HostAddZoneProperties,
    HostEnd,
    HostStart,
)
from batprotocol.fb.HostProperty import HostPropertyAddKey, HostPropertyAddValue, HostPropertyEnd, HostPropertyStart
from batprotocol.fb.HostResources import HostResourcesAddHostIds, HostResourcesEnd, HostResourcesStart
from batprotocol.fb.Job import (
    JobAddExtraData,
    JobAddProfileId,
    JobAddResourceRequest,
    JobAddWalltime,
    JobEnd,
    JobStart,
)
from batprotocol.fb.JobAndProgress import (
    JobAndProgressAddJobId,
    JobAndProgressAddWrapper,
    JobAndProgressEnd,
    JobAndProgressStart,
)
from batprotocol.fb.JobCompletedEvent import (
    JobCompletedEventAddJobId,
    JobCompletedEventAddReturnCode,
    JobCompletedEventAddState,
    JobCompletedEventEnd,
    JobCompletedEventStart,
)
from batprotocol.fb.JobsKilledEvent import (
    JobsKilledEventAddJobIds,
    JobsKilledEventAddProgresses,
    JobsKilledEventEnd,
    JobsKilledEventStart,
)
from batprotocol.fb.JobSubmittedEvent import (
    JobSubmittedEventAddJob,
    JobSubmittedEventAddJobId,
    JobSubmittedEventAddSubmissionTime,
    JobSubmittedEventEnd,
    JobSubmittedEventStart,
)
from batprotocol.fb.KillProgress import KillProgress
from batprotocol.fb.KillProgressAtomicProfile import (
    KillProgressAtomicProfileAddProfileId,
    KillProgressAtomicProfileAddProgress,
    KillProgressAtomicProfileEnd,
    KillProgressAtomicProfileStart,
)
from batprotocol.fb.KillProgressForkJoinProfile import (
    KillProgressForkJoinProfileAddProfileId,
    KillProgressForkJoinProfileAddTasksProgress,
    KillProgressForkJoinProfileEnd,
    KillProgressForkJoinProfileStart,
)
from batprotocol.fb.KillProgressSequentialProfile import (
    KillProgressSequentialProfileAddCurrentRepetition,
    KillProgressSequentialProfileAddCurrentTaskIndex,
    KillProgressSequentialProfileAddCurrentTaskProgress,
    KillProgressSequentialProfileAddProfileId,
    KillProgressSequentialProfileEnd,
    KillProgressSequentialProfileStart,
)
from batprotocol.fb.KillProgressWrapper import (
    KillProgressWrapperAddKillProgress,
    KillProgressWrapperAddKillProgressType,
    KillProgressWrapperEnd,
    KillProgressWrapperStart,
)
from batprotocol.fb.Message import MessageAddEvents, MessageAddNow, MessageEnd, MessageStart
from batprotocol.fb.PredefinedExecutorPlacementStrategyWrapper import (
    PredefinedExecutorPlacementStrategyWrapperAddStrategy,
    PredefinedExecutorPlacementStrategyWrapperEnd,
    PredefinedExecutorPlacementStrategyWrapperStart,
)
from batprotocol.fb.ProbeData import ProbeData
from batprotocol.fb.ProbeDataEmittedEvent import (
    ProbeDataEmittedEventAddData,
    ProbeDataEmittedEventAddDataType,
    ProbeDataEmittedEventAddManuallyTriggered,
    ProbeDataEmittedEventAddMetrics,
    ProbeDataEmittedEventAddNbEmitted,
    ProbeDataEmittedEventAddNbTriggered,
    ProbeDataEmittedEventAddProbeId,
    ProbeDataEmittedEventAddResources,
    ProbeDataEmittedEventAddResourcesType,
    ProbeDataEmittedEventEnd,
    ProbeDataEmittedEventStart,
)
from batprotocol.fb.Resources import Resources
from batprotocol.fb.SimulationBeginsEvent import (
    SimulationBeginsEventAddBatprotocolVersion,
    SimulationBeginsEventAddBatsimArguments,
    SimulationBeginsEventAddBatsimCommit,
    SimulationBeginsEventAddBatsimExecutionContextJson,
    SimulationBeginsEventAddBatsimVersion,
    SimulationBeginsEventAddComputationHostNumber,
    SimulationBeginsEventAddComputationHosts,
    SimulationBeginsEventAddExternalEventLists,
    SimulationBeginsEventAddHostNumber,
    SimulationBeginsEventAddProfiles,
    SimulationBeginsEventAddStorageHostNumber,
    SimulationBeginsEventAddStorageHosts,
    SimulationBeginsEventAddWorkloads,
    SimulationBeginsEventEnd,
    SimulationBeginsEventStart,
)
from batprotocol.fb.VectorialProbeData import (
    VectorialProbeDataAddData,
    VectorialProbeDataEnd,
    VectorialProbeDataStart,
)
from batprotocol.fb.WorkloadAndFilename import (
    WorkloadAndFilenameAddFilename,
    WorkloadAndFilenameAddName,
    WorkloadAndFilenameEnd,
    WorkloadAndFilenameStart,
)
from flatbuffers import Builder
from numpy import frombuffer

from batprotocol import model

__all__ = ["encode"]

_builder = Builder(2**18)  # more than the largest workload takes


def encode(message: model.Message) -> bytearray:
    """The bytes of a message."""
    builder = _builder
    builder.Clear()
    places = []
    for event in message.events:
        event_type, write = _EVENTS[event.__class__]
        place = write(builder, event)
        EventAndTimestampStart(builder)
        EventAndTimestampAddTimestamp(builder, event.timestamp)
        EventAndTimestampAddEvent(builder, place)
        EventAndTimestampAddEventType(builder, event_type)
        places.append(EventAndTimestampEnd(builder))
    events = _vector(builder, places)
    MessageStart(builder)
    MessageAddNow(builder, message.now)
    MessageAddEvents(builder, events)
    builder.Finish(MessageEnd(builder))
    data: bytearray = builder.Output()
    return data


def _vector(builder: Builder, places: list[int]) -> int:
    """A vector of what lies at these places."""
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    vector: int = builder.EndVector()
    return vector


with_numpy = False
"""Whether vectors of doubles go through numpy."""


def _doubles(builder: Builder, doubles: model.Doubles) -> int:
    vector: int
    if with_numpy:
        vector = builder.CreateNumpyVector(frombuffer(doubles.to_bytes()))
        return vector
    builder.StartVector(8, len(doubles), 8)
    for number in reversed(doubles):
        builder.PrependFloat64(number)
    vector = builder.EndVector()
    return vector


def _absent(*values: object) -> None:
    if any(values):
        raise NotImplementedError("no workload has this field")


# Jobs


def _submitted(builder: Builder, event: model.JobSubmittedEvent) -> Any:
    _absent(event.profile)
    job_id = builder.CreateString(event.job_id)
    job = _job(builder, event.job)
    JobSubmittedEventStart(builder)
    JobSubmittedEventAddSubmissionTime(builder, event.submission_time)
    JobSubmittedEventAddJob(builder, job)
    JobSubmittedEventAddJobId(builder, job_id)
    return JobSubmittedEventEnd(builder)


def _job(builder: Builder, job: model.Job) -> Any:
    extra_data = None if job.extra_data is None else builder.CreateString(job.extra_data)
    profile_id = builder.CreateString(job.profile_id)
    JobStart(builder)
    JobAddWalltime(builder, job.walltime)
    JobAddProfileId(builder, profile_id)
    if extra_data is not None:
        JobAddExtraData(builder, extra_data)
    JobAddResourceRequest(builder, job.resource_request)
    return JobEnd(builder)


def _completed(builder: Builder, event: model.JobCompletedEvent) -> Any:
    job_id = builder.CreateString(event.job_id)
    JobCompletedEventStart(builder)
    JobCompletedEventAddReturnCode(builder, event.return_code)
    JobCompletedEventAddJobId(builder, job_id)
    JobCompletedEventAddState(builder, event.state)
    return JobCompletedEventEnd(builder)


def _execute(builder: Builder, event: model.ExecuteJobEvent) -> Any:
    _absent(event.profile_allocation_override, event.storage_placement)
    job_id = builder.CreateString(event.job_id)
    allocation = _allocation(builder, event.allocation)
    ExecuteJobEventStart(builder)
    ExecuteJobEventAddAllocation(builder, allocation)
    ExecuteJobEventAddJobId(builder, job_id)
    return ExecuteJobEventEnd(builder)


def _allocation(builder: Builder, placement: model.AllocationPlacement) -> Any:
    host_allocation = builder.CreateString(placement.host_allocation)
    executor_type, write = _EXECUTORS[placement.executor_placement.__class__]
    executor_placement = write(builder, placement.executor_placement)
    AllocationPlacementStart(builder)
    AllocationPlacementAddExecutorPlacement(builder, executor_placement)
    AllocationPlacementAddHostAllocation(builder, host_allocation)
    AllocationPlacementAddExecutorPlacementType(builder, executor_type)
    return AllocationPlacementEnd(builder)


def _predefined(builder: Builder, strategy: model.PredefinedExecutorPlacementStrategy) -> Any:
    PredefinedExecutorPlacementStrategyWrapperStart(builder)
    PredefinedExecutorPlacementStrategyWrapperAddStrategy(builder, strategy)
    return PredefinedExecutorPlacementStrategyWrapperEnd(builder)


def _killed(builder: Builder, event: model.JobsKilledEvent) -> Any:
    _absent(event.profiles)
    job_ids = _vector(builder, [builder.CreateString(job_id) for job_id in event.job_ids])
    places = []
    for each in event.progresses:
        job_id = builder.CreateString(each.job_id)
        wrapper = _progress(builder, each.wrapper)
        JobAndProgressStart(builder)
        JobAndProgressAddWrapper(builder, wrapper)
        JobAndProgressAddJobId(builder, job_id)
        places.append(JobAndProgressEnd(builder))
    progresses = _vector(builder, places)
    JobsKilledEventStart(builder)
    JobsKilledEventAddProgresses(builder, progresses)
    JobsKilledEventAddJobIds(builder, job_ids)
    return JobsKilledEventEnd(builder)


def _progress(builder: Builder, progress: model.KillProgress) -> Any:
    progress_type, write = _PROGRESSES[progress.__class__]
    place = write(builder, progress)
    KillProgressWrapperStart(builder)
    KillProgressWrapperAddKillProgress(builder, place)
    KillProgressWrapperAddKillProgressType(builder, progress_type)
    return KillProgressWrapperEnd(builder)


def _atomic(builder: Builder, progress: model.KillProgressAtomicProfile) -> Any:
    profile_id = builder.CreateString(progress.profile_id)
    KillProgressAtomicProfileStart(builder)
    KillProgressAtomicProfileAddProgress(builder, progress.progress)
    KillProgressAtomicProfileAddProfileId(builder, profile_id)
    return KillProgressAtomicProfileEnd(builder)


def _sequential(builder: Builder, progress: model.KillProgressSequentialProfile) -> Any:
    profile_id = builder.CreateString(progress.profile_id)
    task = _progress(builder, progress.current_task_progress)
    KillProgressSequentialProfileStart(builder)
    KillProgressSequentialProfileAddCurrentTaskProgress(builder, task)
    KillProgressSequentialProfileAddCurrentTaskIndex(builder, progress.current_task_index)
    KillProgressSequentialProfileAddCurrentRepetition(builder, progress.current_repetition)
    KillProgressSequentialProfileAddProfileId(builder, profile_id)
    return KillProgressSequentialProfileEnd(builder)


def _fork_join(builder: Builder, progress: model.KillProgressForkJoinProfile) -> Any:
    profile_id = builder.CreateString(progress.profile_id)
    tasks = _vector(builder, [_progress(builder, task) for task in progress.tasks_progress])
    KillProgressForkJoinProfileStart(builder)
    KillProgressForkJoinProfileAddTasksProgress(builder, tasks)
    KillProgressForkJoinProfileAddProfileId(builder, profile_id)
    return KillProgressForkJoinProfileEnd(builder)


# The platform


def _begins(builder: Builder, event: model.SimulationBeginsEvent) -> Any:
    _absent(event.external_event_lists, event.profiles)
    batprotocol_version = builder.CreateString(event.batprotocol_version)
    batsim_version = builder.CreateString(event.batsim_version)
    batsim_commit = None if event.batsim_commit is None else builder.CreateString(event.batsim_commit)
    computation_hosts = _vector(builder, [_host(builder, host) for host in event.computation_hosts])
    storage_hosts = _vector(builder, [_host(builder, host) for host in event.storage_hosts])
    arguments = _vector(builder, [builder.CreateString(argument) for argument in event.batsim_arguments])
    context = builder.CreateString(event.batsim_execution_context_json)
    workloads = _vector(builder, [_workload(builder, workload) for workload in event.workloads])
    external_event_lists = _vector(builder, [])
    profiles = None if event.profiles is None else _vector(builder, [])
    SimulationBeginsEventStart(builder)
    if profiles is not None:
        SimulationBeginsEventAddProfiles(builder, profiles)
    SimulationBeginsEventAddExternalEventLists(builder, external_event_lists)
    SimulationBeginsEventAddWorkloads(builder, workloads)
    SimulationBeginsEventAddBatsimExecutionContextJson(builder, context)
    SimulationBeginsEventAddBatsimArguments(builder, arguments)
    SimulationBeginsEventAddStorageHosts(builder, storage_hosts)
    SimulationBeginsEventAddStorageHostNumber(builder, event.storage_host_number)
    SimulationBeginsEventAddComputationHosts(builder, computation_hosts)
    SimulationBeginsEventAddComputationHostNumber(builder, event.computation_host_number)
    SimulationBeginsEventAddHostNumber(builder, event.host_number)
    if batsim_commit is not None:
        SimulationBeginsEventAddBatsimCommit(builder, batsim_commit)
    SimulationBeginsEventAddBatsimVersion(builder, batsim_version)
    SimulationBeginsEventAddBatprotocolVersion(builder, batprotocol_version)
    return SimulationBeginsEventEnd(builder)


def _workload(builder: Builder, workload: model.WorkloadAndFilename) -> Any:
    name = builder.CreateString(workload.name)
    filename = builder.CreateString(workload.filename)
    WorkloadAndFilenameStart(builder)
    WorkloadAndFilenameAddFilename(builder, filename)
    WorkloadAndFilenameAddName(builder, name)
    return WorkloadAndFilenameEnd(builder)


def _properties(builder: Builder, properties: tuple[model.HostProperty, ...]) -> int:
    return _vector(builder, [_property(builder, each) for each in properties])


def _host(builder: Builder, host: model.Host) -> Any:
    name = builder.CreateString(host.name)
    properties = None if host.properties is None else _properties(builder, host.properties)
    zone_properties = None if host.zone_properties is None else _properties(builder, host.zone_properties)
    computation_speed = _doubles(builder, host.computation_speed)
    HostStart(builder)
    HostAddComputationSpeed(builder, computation_speed)
    HostAddCoreCount(builder, host.core_count)
    if zone_properties is not None:
        HostAddZoneProperties(builder, zone_properties)
    if properties is not None:
        HostAddProperties(builder, properties)
    HostAddPstateCount(builder, host.pstate_count)
    HostAddPstate(builder, host.pstate)
    HostAddName(builder, name)
    HostAddId(builder, host.id)
    HostAddState(builder, host.state)
    return HostEnd(builder)


def _property(builder: Builder, property: model.HostProperty) -> Any:
    key = builder.CreateString(property.key)
    value = builder.CreateString(property.value)
    HostPropertyStart(builder)
    HostPropertyAddValue(builder, value)
    HostPropertyAddKey(builder, key)
    return HostPropertyEnd(builder)


# Probes


def _probe_data(builder: Builder, event: model.ProbeDataEmittedEvent) -> Any:
    probe_id = builder.CreateString(event.probe_id)
    resources_type, write = _RESOURCES[event.resources.__class__]
    resources = write(builder, event.resources)
    data_type, write = _DATA[event.data.__class__]
    data = write(builder, event.data)
    ProbeDataEmittedEventStart(builder)
    ProbeDataEmittedEventAddNbTriggered(builder, event.nb_triggered)
    ProbeDataEmittedEventAddNbEmitted(builder, event.nb_emitted)
    ProbeDataEmittedEventAddData(builder, data)
    ProbeDataEmittedEventAddResources(builder, resources)
    ProbeDataEmittedEventAddProbeId(builder, probe_id)
    ProbeDataEmittedEventAddManuallyTriggered(builder, event.manually_triggered)
    ProbeDataEmittedEventAddDataType(builder, data_type)
    ProbeDataEmittedEventAddMetrics(builder, event.metrics)
    ProbeDataEmittedEventAddResourcesType(builder, resources_type)
    return ProbeDataEmittedEventEnd(builder)


def _hosts(builder: Builder, resources: model.HostResources) -> Any:
    host_ids = builder.CreateString(resources.host_ids)
    HostResourcesStart(builder)
    HostResourcesAddHostIds(builder, host_ids)
    return HostResourcesEnd(builder)


def _vectorial(builder: Builder, vectorial: model.VectorialProbeData) -> Any:
    data = _doubles(builder, vectorial.data)
    VectorialProbeDataStart(builder)
    VectorialProbeDataAddData(builder, data)
    return VectorialProbeDataEnd(builder)


# What writes the members of a union, by the class of the value, and the member's number.

_Members = dict[type[Any], tuple[int, Callable[[Builder, Any], Any]]]

_EXECUTORS: _Members = {
    model.PredefinedExecutorPlacementStrategy: (
        ExecutorPlacement.PredefinedExecutorPlacementStrategyWrapper,
        _predefined,
    ),
}
_PROGRESSES: _Members = {
    model.KillProgressAtomicProfile: (KillProgress.KillProgressAtomicProfile, _atomic),
    model.KillProgressSequentialProfile: (KillProgress.KillProgressSequentialProfile, _sequential),
    model.KillProgressForkJoinProfile: (KillProgress.KillProgressForkJoinProfile, _fork_join),
}
_RESOURCES: _Members = {model.HostResources: (Resources.HostResources, _hosts)}
_DATA: _Members = {model.VectorialProbeData: (ProbeData.VectorialProbeData, _vectorial)}
_EVENTS: _Members = {
    model.JobSubmittedEvent: (Event.JobSubmittedEvent, _submitted),
    model.JobCompletedEvent: (Event.JobCompletedEvent, _completed),
    model.ExecuteJobEvent: (Event.ExecuteJobEvent, _execute),
    model.JobsKilledEvent: (Event.JobsKilledEvent, _killed),
    model.SimulationBeginsEvent: (Event.SimulationBeginsEvent, _begins),
    model.ProbeDataEmittedEvent: (Event.ProbeDataEmittedEvent, _probe_data),
}
