"""Values that translations share: losses, the states of jobs, and conversions of jobs, progress and hosts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from math import ceil, isfinite
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol.errors import HostSetError
from batprotocol.legacy.json.values import Job, JobProgress, Resource
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.host_events import HostChange, HostEvent

_MOST: Final = 1000
"""How many losses the report keeps one by one."""


class Loss(msgspec.Struct, frozen=True):
    """Information that the other protocol cannot express.

    Args:
        message: the number of the turn, counted from 0.
        event: the event, by its name in its own protocol.
        field: the field, or "" for the whole event.
        instead: what the translation does instead.

    >>> print(Loss(3, "SET_JOB_METADATA", "", "it is left out"))
    message 3, SET_JOB_METADATA: it is left out
    """

    message: int
    event: str
    field: str
    instead: str

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"message {self.message}, {self.event}{field}: {self.instead}"


class TranslationReport:
    """All losses so far, and how often each happened. Of a repeated loss, the report keeps the first one."""

    def __init__(self) -> None:
        self.message = 0
        self._found: dict[tuple[str, str, str], tuple[Loss, int]] = {}
        self.new: list[Loss] = []

    def add(self, event: str, field: str, instead: str) -> None:
        """Add a loss."""
        key = (event, field, instead)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = (known[0], known[1] + 1)
        elif len(self._found) < _MOST:
            loss = Loss(self.message, event, field, instead)
            self._found[key] = (loss, 1)
            self.new.append(loss)

    def __iter__(self) -> Iterator[Loss]:
        return (loss for loss, _ in self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def lines(self) -> Iterator[str]:
        """A line for each loss, with the number of times."""
        for loss, count in self._found.values():
            yield str(loss) if count == 1 else f"{loss} ({count:,} times)"


# The states of jobs


class JobStates:
    """The state of each job: "submitted", "running", "faked" or "ended".

    Attributes:
        open: the jobs that have not ended, in the order in which they became known.

    >>> states = JobStates()
    >>> states["w0!1"] = "submitted"
    >>> states["w0!1"] = "ended"
    >>> states.get("w0!1"), list(states.open)
    ('ended', [])
    """

    def __init__(self) -> None:
        self.open: dict[str, None] = {}
        self._states: dict[str, str] = {}

    def __setitem__(self, job_id: str, state: str) -> None:
        self._states[job_id] = state
        if state == "ended":
            self.open.pop(job_id, None)
        else:
            self.open.setdefault(job_id)

    def get(self, job_id: str, default: str | None = None) -> str | None:
        """The state of a job; the default for one that is unknown."""
        return self._states.get(job_id, default)

    def add(self, job_id: str) -> None:
        """Take a job that is submitted, unless it is known."""
        if job_id not in self._states:
            self[job_id] = "submitted"

    def those(self, state: str) -> tuple[str, ...]:
        """The jobs in one of the states of jobs that have not ended."""
        return tuple(job_id for job_id in self.open if self._states[job_id] == state)


def milliseconds(time: float) -> int:
    """The first whole millisecond that is not before this time: now, times of calls are whole numbers."""
    return ceil(round(time * 1000, 6))


# Jobs


def job_to_old(job_id: str, job: model.Job, subtime: float) -> Job:
    """Convert a current job to a job of the older workload files."""
    profile = job.profile_id.rpartition("!")[2]
    if not job.extra_data:
        return Job(job_id, profile, job.resource_request, subtime, job.walltime)
    try:
        found = json.loads(job.extra_data)
    except (ValueError, RecursionError):
        found = None
    extra = found if isinstance(found, dict) else {"extra_data": job.extra_data}
    extra = {key: value for key, value in extra.items() if key not in Job.__struct_fields__}
    return Job(job_id, profile, job.resource_request, subtime, job.walltime, extra)


def job_to_new(job_id: str, job: Job) -> model.Job:
    """Convert a job of the older workload files to a current job."""
    walltime = job.walltime if job.walltime is not None and job.walltime > 0 else None
    profile = job.profile or ""
    workload = job_id.partition("!")[0]
    return model.Job(
        resource_request=job.res or 0,
        walltime=walltime,
        extra_data=extra_of(job),
        profile_id=profile if "!" in profile else f"{workload}!{profile}",
    )


def extra_of(job: Job) -> str:
    """The other fields of a job in the workload file, as text. Today's extra data, an object, are among them."""
    if not job.extra:
        return ""
    only = job.extra.get("extra_data")
    if isinstance(only, dict):
        return json.dumps({key: value for key, value in job.extra.items() if key != "extra_data"} | only)
    return only if len(job.extra) == 1 and isinstance(only, str) else json.dumps(job.extra)


def full_profile(workload: str, profile: model.Profile) -> model.Profile:
    """A profile with the full names of its parts."""
    if not isinstance(profile, model.SequentialCompositionProfile):
        return profile
    names = tuple(name if "!" in name else f"{workload}!{name}" for name in profile.profile_ids)
    return model.SequentialCompositionProfile(repetition_count=profile.repetition_count, profile_ids=names)


# Progress


def progress_to_old(
    progress: model.KillProgress, before: bool, length_of: Callable[[str], int | None], depth: int = 0
) -> JobProgress:
    """Convert the current progress of a job. In older versions, the index of the task counts repetitions, too."""
    name = progress.profile_id.rpartition("!")[2]
    old, new = (name, None) if before else (None, name)
    if isinstance(progress, model.KillProgressSequentialProfile) and depth < 50:
        index = progress.current_task_index
        task = progress_to_old(progress.current_task_progress, before, length_of, depth + 1)
        return JobProgress(old, new, None, index, task)
    value = progress.progress if isinstance(progress, model.KillProgressAtomicProfile) else None
    return JobProgress(old, new, value)


def progress_to_new(progress: JobProgress, workload: str, depth: int = 0) -> model.KillProgress:
    """Convert the older progress of a job to the current form."""
    name = f"{workload}!{progress.name or ''}"
    if progress.current_task is not None and depth < 50:
        task = progress_to_new(progress.current_task, workload, depth + 1)
        return model.KillProgressSequentialProfile(name, 0, max(progress.current_task_index or 0, 0), task)
    value = progress.progress if progress.progress is not None and isfinite(progress.progress) else -1.0
    return model.KillProgressAtomicProfile(name, value)


# Hosts


def pairs(properties: tuple[model.HostProperty, ...] | None) -> dict[str, str]:
    """Properties as a mapping."""
    return {each.key: each.value for each in properties or ()}


def resource_of(host: model.Host, version: tuple[int, ...]) -> Resource:
    """Convert a current host to an older one. Properties that older Batsims had get their older names, too."""
    properties = pairs(host.properties)
    if "wattage_per_state" in properties:
        properties.setdefault("watt_per_state", properties["wattage_per_state"])
    zone = pairs(host.zone_properties) if version >= (4,) else None
    return Resource(host.id, host.name, host.state.name.lower(), properties, zone)


def host_of(resource: Resource) -> model.Host:
    """Convert an older host to a current one. Older messages do not give its speed."""
    states = model.HostState.__members__
    properties = resource.properties or {}
    watts = properties.get("wattage_per_state", properties.get("watt_per_state"))
    count = watts.count(",") + 1 if isinstance(watts, str) else 1
    return model.Host(
        id=resource.id,
        name=resource.name,
        pstate_count=count,
        state=model.HostState[states[(resource.state or "").upper()].name]
        if (resource.state or "").upper() in states
        else model.HostState.IDLE,
        properties=tuple(model.HostProperty(key, str(value)) for key, value in properties.items()),
        zone_properties=tuple(
            model.HostProperty(key, str(value)) for key, value in (resource.zone_properties or {}).items()
        ),
        computation_speed=(),
    )


def sleep_states(properties: Mapping[str, Any], places: slice = slice(0, 1)) -> frozenset[int]:
    """The power states in which a host sleeps, the first ones of `sleep:on:off, ...`; or those at other places."""
    text = properties.get("sleep_pstates")
    if not isinstance(text, str):
        return frozenset()
    found = [part.strip() for each in text.split(",") for part in each.split(":")[places]]
    return frozenset(int(each) for each in found if each.isdecimal() and len(each) < 9)


# Hosts that fail

_MACHINE_EVENTS: Final = {
    "event_machine_unavailable": HostChange.DOWN,
    "event_machine_available": HostChange.UP,
}
_KINDS: Final = {change: kind for kind, change in _MACHINE_EVENTS.items()}


def machine_event_to_new(kind: str, extra: Mapping[str, Any]) -> str | None:
    """Convert a notification of an older Batsim to the data of an external event; None if it is not about machines.

    >>> machine_event_to_new("event_machine_unavailable", {"resources": "0-3 7"})
    '{"hosts":"0-3,7","state":"down"}'
    """
    change, resources = _MACHINE_EVENTS.get(kind), extra.get("resources")
    if change is None or not isinstance(resources, str):
        return None
    try:
        hosts = frozen_hosts(resources)
    except HostSetError:
        return None
    return HostEvent(hosts, change).to_data() if hosts.intervals else None


def machine_event_to_old(event: HostEvent) -> tuple[str, dict[str, Any]] | None:
    """Convert an event of hosts to the type and the fields of a notification; None if there is none for it.

    An older Batsim has no word for hosts that are drained.
    """
    kind = _KINDS.get(event.state)
    return None if kind is None else (kind, {"resources": event.hosts.text})
