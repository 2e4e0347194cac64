"""Values to the nested dicts of the protocol's JSON and back, written by hand for `json` and `orjson`.

The dialect is Batsim's: enums by name, each union after its type. Only what the workloads need is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batprotocol import model

__all__ = ["from_dict", "to_dict"]

Dict = dict[str, Any]


def from_dict(message: Dict) -> model.Message:
    """The message that a decoded JSON object stands for."""
    return model.Message(
        message["now"],
        tuple([_READ[each["event_type"]](each["event"], each["timestamp"]) for each in message["events"]]),
    )


def to_dict(message: model.Message) -> Dict:
    """The JSON object that stands for a message."""
    events = []
    for event in message.events:
        name, write = _WRITE[event.__class__]
        events.append({"timestamp": event.timestamp, "event_type": name, "event": write(event)})
    return {"now": message.now, "events": events}


def _absent(present: object) -> Any:
    """The value of an optional field that no workload has."""
    if present:
        raise NotImplementedError("no workload has this field")
    return None


# Reading


def _read_submitted(event: Dict, timestamp: float) -> model.JobSubmittedEvent:
    job = event["job"]
    return model.JobSubmittedEvent(
        timestamp=timestamp,
        job_id=event["job_id"],
        job=model.Job(
            resource_request=job["resource_request"],
            walltime=job["walltime"],
            extra_data=job.get("extra_data"),
            profile_id=job["profile_id"],
        ),
        submission_time=event["submission_time"],
        profile=_absent(event.get("profile")),
    )


def _read_completed(event: Dict, timestamp: float) -> model.JobCompletedEvent:
    return model.JobCompletedEvent(
        timestamp=timestamp,
        job_id=event["job_id"],
        state=model.FinalJobState[event["state"]],
        return_code=event["return_code"],
    )


def _read_execute(event: Dict, timestamp: float) -> model.ExecuteJobEvent:
    allocation = event["allocation"]
    if allocation["executor_placement_type"] != "PredefinedExecutorPlacementStrategyWrapper":
        raise NotImplementedError("no workload has another placement")
    return model.ExecuteJobEvent(
        timestamp=timestamp,
        job_id=event["job_id"],
        allocation=model.AllocationPlacement(
            allocation["host_allocation"],
            model.PredefinedExecutorPlacementStrategy[allocation["executor_placement"]["strategy"]],
        ),
        profile_allocation_override=_absent(event.get("profile_allocation_override")),
        storage_placement=_absent(event.get("storage_placement")),
    )


def _read_killed(event: Dict, timestamp: float) -> model.JobsKilledEvent:
    return model.JobsKilledEvent(
        timestamp=timestamp,
        job_ids=tuple(event["job_ids"]),
        progresses=tuple(
            [model.JobAndProgress(each["job_id"], _read_progress(each["wrapper"])) for each in event["progresses"]]
        ),
        profiles=_absent(event.get("profiles")),
    )


def _read_progress(wrapper: Dict) -> model.KillProgress:
    kind, progress = wrapper["kill_progress_type"], wrapper["kill_progress"]
    if kind == "KillProgressAtomicProfile":
        return model.KillProgressAtomicProfile(progress["profile_id"], progress["progress"])
    if kind == "KillProgressSequentialProfile":
        return model.KillProgressSequentialProfile(
            progress["profile_id"],
            progress["current_repetition"],
            progress["current_task_index"],
            _read_progress(progress["current_task_progress"]),
        )
    return model.KillProgressForkJoinProfile(
        progress["profile_id"], tuple([_read_progress(each) for each in progress["tasks_progress"]])
    )


def _read_begins(event: Dict, timestamp: float) -> model.SimulationBeginsEvent:
    profiles = event.get("profiles")
    return model.SimulationBeginsEvent(
        timestamp=timestamp,
        batprotocol_version=event["batprotocol_version"],
        batsim_version=event["batsim_version"],
        batsim_commit=event.get("batsim_commit"),
        host_number=event["host_number"],
        computation_host_number=event["computation_host_number"],
        computation_hosts=tuple([_read_host(each) for each in event["computation_hosts"]]),
        storage_host_number=event["storage_host_number"],
        storage_hosts=tuple([_read_host(each) for each in event["storage_hosts"]]),
        batsim_arguments=tuple(event["batsim_arguments"]),
        batsim_execution_context_json=event["batsim_execution_context_json"],
        workloads=tuple([model.WorkloadAndFilename(each["name"], each["filename"]) for each in event["workloads"]]),
        external_event_lists=_absent(event["external_event_lists"]) or (),
        profiles=None if profiles is None else _absent(profiles) or (),
    )


def _read_host(host: Dict) -> model.Host:
    return model.Host(
        id=host["id"],
        name=host["name"],
        pstate=host["pstate"],
        pstate_count=host["pstate_count"],
        state=model.HostState[host["state"]],
        properties=_read_properties(host.get("properties")),
        zone_properties=_read_properties(host.get("zone_properties")),
        core_count=host["core_count"],
        computation_speed=model.Doubles(host["computation_speed"]),
    )


def _read_properties(properties: list[Dict] | None) -> tuple[model.HostProperty, ...] | None:
    if properties is None:
        return None
    return tuple([model.HostProperty(each["key"], each["value"]) for each in properties])


def _read_probe_data(event: Dict, timestamp: float) -> model.ProbeDataEmittedEvent:
    if event["resources_type"] != "HostResources" or event["data_type"] != "VectorialProbeData":
        raise NotImplementedError("no workload has other data")
    return model.ProbeDataEmittedEvent(
        timestamp=timestamp,
        probe_id=event["probe_id"],
        resources=model.HostResources(event["resources"]["host_ids"]),
        metrics=model.Metrics[event["metrics"]],
        data=model.VectorialProbeData(model.Doubles(event["data"]["data"])),
        manually_triggered=event["manually_triggered"],
        nb_emitted=event["nb_emitted"],
        nb_triggered=event["nb_triggered"],
    )


_READ: dict[str, Callable[[Dict, float], model.Event]] = {
    "JobSubmittedEvent": _read_submitted,
    "JobCompletedEvent": _read_completed,
    "ExecuteJobEvent": _read_execute,
    "JobsKilledEvent": _read_killed,
    "SimulationBeginsEvent": _read_begins,
    "ProbeDataEmittedEvent": _read_probe_data,
}


# Writing


def _write_submitted(event: model.JobSubmittedEvent) -> Dict:
    _absent(event.profile)
    job: Dict = {"resource_request": event.job.resource_request, "walltime": event.job.walltime}
    if event.job.extra_data is not None:
        job["extra_data"] = event.job.extra_data
    job["profile_id"] = event.job.profile_id
    return {"job_id": event.job_id, "job": job, "submission_time": event.submission_time}


def _write_completed(event: model.JobCompletedEvent) -> Dict:
    return {"job_id": event.job_id, "state": event.state.name, "return_code": event.return_code}


def _write_execute(event: model.ExecuteJobEvent) -> Dict:
    _absent(event.profile_allocation_override)
    _absent(event.storage_placement)
    executor_placement = event.allocation.executor_placement
    if not isinstance(executor_placement, model.PredefinedExecutorPlacementStrategy):
        raise NotImplementedError("no workload has another placement")
    return {
        "job_id": event.job_id,
        "allocation": {
            "host_allocation": event.allocation.host_allocation,
            "executor_placement_type": "PredefinedExecutorPlacementStrategyWrapper",
            "executor_placement": {"strategy": executor_placement.name},
        },
    }


def _write_killed(event: model.JobsKilledEvent) -> Dict:
    _absent(event.profiles)
    return {
        "job_ids": event.job_ids,
        "progresses": [{"job_id": each.job_id, "wrapper": _write_progress(each.wrapper)} for each in event.progresses],
    }


def _write_progress(progress: model.KillProgress) -> Dict:
    if isinstance(progress, model.KillProgressAtomicProfile):
        value: Dict = {"profile_id": progress.profile_id, "progress": progress.progress}
    elif isinstance(progress, model.KillProgressSequentialProfile):
        value = {
            "profile_id": progress.profile_id,
            "current_repetition": progress.current_repetition,
            "current_task_index": progress.current_task_index,
            "current_task_progress": _write_progress(progress.current_task_progress),
        }
    else:
        value = {
            "profile_id": progress.profile_id,
            "tasks_progress": [_write_progress(each) for each in progress.tasks_progress],
        }
    return {"kill_progress_type": type(progress).__name__, "kill_progress": value}


def _write_begins(event: model.SimulationBeginsEvent) -> Dict:
    _absent(event.external_event_lists)
    _absent(event.profiles)
    value: Dict = {"batprotocol_version": event.batprotocol_version, "batsim_version": event.batsim_version}
    if event.batsim_commit is not None:
        value["batsim_commit"] = event.batsim_commit
    value |= {
        "host_number": event.host_number,
        "computation_host_number": event.computation_host_number,
        "computation_hosts": [_write_host(each) for each in event.computation_hosts],
        "storage_host_number": event.storage_host_number,
        "storage_hosts": [_write_host(each) for each in event.storage_hosts],
        "batsim_arguments": event.batsim_arguments,
        "batsim_execution_context_json": event.batsim_execution_context_json,
        "workloads": [{"name": each.name, "filename": each.filename} for each in event.workloads],
        "external_event_lists": [],
    }
    if event.profiles is not None:
        value["profiles"] = []
    return value


def _write_host(host: model.Host) -> Dict:
    value: Dict = {
        "id": host.id,
        "name": host.name,
        "pstate": host.pstate,
        "pstate_count": host.pstate_count,
        "state": host.state.name,
    }
    if host.properties is not None:
        value["properties"] = [{"key": each.key, "value": each.value} for each in host.properties]
    if host.zone_properties is not None:
        value["zone_properties"] = [{"key": each.key, "value": each.value} for each in host.zone_properties]
    value["core_count"] = host.core_count
    value["computation_speed"] = host.computation_speed.view.tolist()
    return value


def _write_probe_data(event: model.ProbeDataEmittedEvent) -> Dict:
    if not isinstance(event.resources, model.HostResources) or not isinstance(event.data, model.VectorialProbeData):
        raise NotImplementedError("no workload has other data")
    return {
        "probe_id": event.probe_id,
        "resources_type": "HostResources",
        "resources": {"host_ids": event.resources.host_ids},
        "metrics": event.metrics.name,
        "data_type": "VectorialProbeData",
        "data": {"data": event.data.data.view.tolist()},
        "manually_triggered": event.manually_triggered,
        "nb_emitted": event.nb_emitted,
        "nb_triggered": event.nb_triggered,
    }


_WRITE: dict[type[Any], tuple[str, Callable[[Any], Dict]]] = {
    model.JobSubmittedEvent: ("JobSubmittedEvent", _write_submitted),
    model.JobCompletedEvent: ("JobCompletedEvent", _write_completed),
    model.ExecuteJobEvent: ("ExecuteJobEvent", _write_execute),
    model.JobsKilledEvent: ("JobsKilledEvent", _write_killed),
    model.SimulationBeginsEvent: ("SimulationBeginsEvent", _write_begins),
    model.ProbeDataEmittedEvent: ("ProbeDataEmittedEvent", _write_probe_data),
}
