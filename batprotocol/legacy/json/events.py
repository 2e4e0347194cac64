"""The events of the JSON protocol (`JOB_SUBMITTED` is `JobSubmitted`), the message, and the table of versions.

An event holds the fields of all versions; `EVENTS` lists the events and fields of each version. `extra` keeps the
unknown fields of its data, and `beside` keeps the fields next to its `timestamp`, `type` and `data`. Fields are keyword
arguments.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource
from batprotocol.model import Direction
from batprotocol.model.value import TupleOf, Value, tuples_into

__all__ = [
    "EVENTS",
    "VERSIONS",
    "Answer",
    "CallMeLater",
    "ChangeJobState",
    "Event",
    "EventVersions",
    "ExecuteJob",
    "FieldRow",
    "FromJobMsg",
    "JobCompleted",
    "JobKilled",
    "JobSubmitted",
    "KillJob",
    "Message",
    "Notify",
    "OtherEvent",
    "Query",
    "QueryReply",
    "QueryRequest",
    "RegisterJob",
    "RegisterProfile",
    "RejectJob",
    "RequestedCall",
    "ResourceStateChanged",
    "SetJobMetadata",
    "SetResourceState",
    "SimulationBegins",
    "SimulationEnds",
    "SubmitJob",
    "SubmitProfile",
    "ToJobMsg",
    "Version",
    "rows_of",
    "version_of",
    "written",
]


class Event(Value, frozen=True, tag=False):
    """The base class of all events.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """

    timestamp: float


class OpenEvent(Event, frozen=True, kw_only=True, tag=False):
    """An event to which forks of Batsim and of schedulers add fields.

    Args:
        extra: the unknown fields of its data.
        beside: the unknown fields next to its `timestamp`, `type` and `data`.
    """

    extra: Mapping[str, Any] = {}
    beside: Mapping[str, Any] = {}


# Both sides


class Query(OpenEvent, frozen=True):
    """Both sides: a question to the other side.

    Args:
        requests: the questions by their names: `consumed_energy` to Batsim, `estimate_waiting_time` to the scheduler.
    """

    requests: Mapping[str, Any]


class Answer(Event, frozen=True):
    """Both sides: the answer to a `Query`.

    Args:
        answers: the answers, by the names of the questions.
    """

    answers: Mapping[str, Any]
    beside: Mapping[str, Any] = {}

    @property
    def consumed_energy(self) -> float | None:
        """The energy that was used since the beginning, in joules, None if this answers other questions."""
        return _joules(self.answers)


class Notify(OpenEvent, frozen=True):
    """Both sides: a notification that needs no answer.

    Args:
        type: its type: `submission_finished`, `registration_finished`, `no_more_static_job_to_submit`,
            `no_more_external_event_to_occur`, `event_machine_unavailable`, or the type of an external event that the
            user defined.
        extra: other fields, such as `resources` for machines that become available.
    """

    type: str


# Batsim


class SimulationBegins(OpenEvent, frozen=True):
    """Batsim: the simulation begins, with this platform.

    Args:
        nb_resources: how many hosts there are.
        config: the configuration; nested before 3.0, flat and hyphenated since.
        allow_time_sharing: whether several jobs may share a host.
        resources_data: the hosts.
        hpst_host: the host of the high-performance storage tier, if there is one.
        lcst_host: the host of the large-capacity storage tier, if there is one.
        nb_compute_resources: how many hosts compute.
        nb_storage_resources: how many hosts store.
        allow_compute_sharing: whether several jobs may share a host that computes.
        allow_storage_sharing: whether several jobs may share a host that stores.
        compute_resources: the hosts that compute.
        storage_resources: the hosts that store.
        workloads: the files of the workloads, by their names.
        profiles: the profiles of each workload, by their names.
    """

    nb_resources: int | None = None
    config: Mapping[str, Any] | None = None
    allow_time_sharing: bool | None = None
    resources_data: tuple[Resource, ...] | None = None
    hpst_host: Resource | None = None
    lcst_host: Resource | None = None
    nb_compute_resources: int | None = None
    nb_storage_resources: int | None = None
    allow_compute_sharing: bool | None = None
    allow_storage_sharing: bool | None = None
    compute_resources: tuple[Resource, ...] | None = None
    storage_resources: tuple[Resource, ...] | None = None
    workloads: Mapping[str, Any] | None = None
    profiles: Mapping[str, Mapping[str, JobProfile]] | None = None

    @property
    def hosts(self) -> tuple[Resource, ...]:
        """The hosts that compute, from the field that the version has for them."""
        return (self.resources_data if self.compute_resources is None else self.compute_resources) or ()


class SimulationEnds(OpenEvent, frozen=True):
    """Batsim: the simulation has ended. The scheduler answers once more."""


class JobSubmitted(OpenEvent, frozen=True):
    """Batsim: a job was submitted.

    Args:
        job_id: the job, `workload!job`.
        job: its requests; None if they are in Redis.
        profile: its profile, if profiles are forwarded.
    """

    job_id: str
    job: Job | None = None
    profile: JobProfile | None = None


class JobCompleted(OpenEvent, frozen=True):
    """Batsim: a job has ended. Before 2.0, killed jobs have no such event.

    Args:
        job_id: the job, `workload!job`.
        status: "SUCCESS", "FAILED" or "TIMEOUT".
        job_state: `COMPLETED_SUCCESSFULLY`, `COMPLETED_FAILED`, `COMPLETED_WALLTIME_REACHED`, `COMPLETED_KILLED`.
        return_code: 0 for success.
        kill_reason: the reason for which it was killed, or "".
        alloc: the hosts that it ran on.
    """

    job_id: str
    status: str | None = None
    job_state: str | None = None
    return_code: int | None = None
    kill_reason: str | None = None
    alloc: str | None = None


class JobKilled(OpenEvent, frozen=True):
    """Batsim: these jobs were killed, as requested, or had ended meanwhile.

    Args:
        job_ids: the jobs.
        job_progress: the progress of the jobs that were really killed.
    """

    job_ids: tuple[str, ...]
    job_progress: Mapping[str, JobProgress] | None = None


class ResourceStateChanged(OpenEvent, frozen=True):
    """Batsim: these hosts have reached the requested power state.

    Args:
        resources: the hosts.
        state: the power state, a number in text.
    """

    resources: str
    state: str


class QueryReply(Event, frozen=True):
    """Batsim: the answer to a `QueryRequest`.

    Args:
        answers: the answers. The name of the energy is `energy_consumed`; the documentation has `consumed_energy`.
    """

    answers: Mapping[str, Any]
    beside: Mapping[str, Any] = {}

    @property
    def consumed_energy(self) -> float | None:
        """The energy that was used since the beginning, in joules, None if this answers other questions."""
        return _joules(self.answers)


class RequestedCall(OpenEvent, frozen=True):
    """Batsim: the call that the scheduler requested."""


class FromJobMsg(OpenEvent, frozen=True):
    """Batsim: a message of a job with a profile `send`.

    Args:
        job_id: the job.
        msg: its message.
    """

    job_id: str
    msg: Any


# The scheduler


class QueryRequest(Event, frozen=True):
    """Scheduler: a question to Batsim.

    Args:
        requests: the questions by their names, in the form that Batsim accepts, or inside `requests`, as documented.
    """

    requests: Mapping[str, Any]
    beside: Mapping[str, Any] = {}


class RejectJob(OpenEvent, frozen=True):
    """Scheduler: this job will not be executed.

    Args:
        job_id: a submitted job.
    """

    job_id: str


class ExecuteJob(OpenEvent, frozen=True):
    """Scheduler: execute this job on these hosts.

    Args:
        job_id: a submitted job.
        alloc: the hosts.
        mapping: for each executor, the place of its host in the allocation; numbers, or strings of numbers.
        storage_mapping: for each storage that the profile names, the number of the host.
        additional_io_job: `profile_name`, `alloc` and optionally `profile` of transfers to be merged into the job.
    """

    job_id: str
    alloc: str
    mapping: Mapping[str, Any] | None = None
    storage_mapping: Mapping[str, Any] | None = None
    additional_io_job: Mapping[str, Any] | None = None


class CallMeLater(OpenEvent, frozen=True):
    """Scheduler: request a call at that time.

    Args:
        time: the time of the call, in simulated seconds; its name on the wire is `timestamp`.
    """

    time: float


class KillJob(OpenEvent, frozen=True):
    """Scheduler: kill these jobs.

    Args:
        job_ids: running jobs.
    """

    job_ids: tuple[str, ...]


class SubmitJob(OpenEvent, frozen=True):
    """Scheduler: submit a new job, until 2.x.

    Args:
        job_id: its name, `workload!job`.
        job: its requests; None if they are in Redis.
        profile: its profile, if that is new.
    """

    job_id: str
    job: Job | None = None
    profile: JobProfile | None = None


class SubmitProfile(OpenEvent, frozen=True):
    """Scheduler: submit a new profile, in 1.4 and 2.x.

    Args:
        workload_name: its workload.
        profile_name: its name.
        profile: the profile.
    """

    workload_name: str
    profile_name: str
    profile: JobProfile


class RegisterJob(OpenEvent, frozen=True):
    """Scheduler: register a new job, from 3.0 on.

    Args:
        job_id: its name, `workload!job`.
        job: its requests; None if they are in Redis.
    """

    job_id: str
    job: Job | None = None


class RegisterProfile(OpenEvent, frozen=True):
    """Scheduler: register a new profile, from 3.0 on.

    Args:
        workload_name: its workload.
        profile_name: its name.
        profile: the profile.
    """

    workload_name: str
    profile_name: str
    profile: JobProfile


class SetResourceState(OpenEvent, frozen=True):
    """Scheduler: change the power state of these hosts.

    Args:
        resources: the hosts.
        state: the power state, a number in text.
    """

    resources: str
    state: str


class ChangeJobState(OpenEvent, frozen=True):
    """Scheduler: change the state of this job.

    Args:
        job_id: the job.
        job_state: the state.
        kill_reason: the reason, for `COMPLETED_KILLED`.
    """

    job_id: str
    job_state: str
    kill_reason: str | None = None


class SetJobMetadata(OpenEvent, frozen=True):
    """Scheduler: write this text next to the job in Batsim's results.

    Args:
        job_id: the job.
        metadata: the text.
    """

    job_id: str
    metadata: str


class ToJobMsg(OpenEvent, frozen=True):
    """Scheduler: a message to a job with a profile `recv`.

    Args:
        job_id: the job.
        msg: the message.
    """

    job_id: str
    msg: str


class OtherEvent(Event, frozen=True):
    """An event that no version of the protocol has, such as a fork's.

    Args:
        type: its name on the wire.
        data: all its fields.
    """

    type: str
    data: Any
    beside: Mapping[str, Any] = {}


class Message(Value, frozen=True):
    """The events of one turn, and its time.

    Args:
        now: the time at which it is sent, in simulated seconds.
        events: the events, each with a `timestamp` <= `now`, in ascending order. None is called NOP.
        extra: the other fields of the message.

    >>> Message(1.5)
    Message(now=1.5, events=(), extra={})
    """

    now: float
    events: TupleOf[Event] = ()  # type: ignore[assignment]
    extra: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if type(self.events) is not tuple:
            tuples_into(self, "events")


def _joules(answers: Mapping[str, Any]) -> float | None:
    value = answers.get("consumed_energy", answers.get("energy_consumed"))
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


# Versions: one table, for the codec and for people


Version: TypeAlias = tuple[int, ...]
"""A version of Batsim as numbers: (4, 2) is 4.2."""

VERSIONS: Final = ("1.0", "1.1", "1.2", "1.3", "1.4", "2.0", "3.0", "3.1", "4.0", "4.1", "4.2")
"""The versions of Batsim that use this JSON protocol."""

B2S: Final = (Direction.BATSIM_TO_EDC,)
S2B: Final = (Direction.EDC_TO_BATSIM,)
BOTH: Final = (*B2S, *S2B)

_FIRST: Final = (1,)
_LAST: Final = (5,)


class FieldRow(NamedTuple):
    """A field of an event's data.

    Attributes:
        name: its name in the value.
        since: the first version that has it.
        until: the first version that does not have it any more.
        required: whether the event needs it.
        key: its name on the wire.
    """

    name: str
    since: Version = _FIRST
    until: Version = _LAST
    required: bool = False
    key: str = ""

    @property
    def on_wire(self) -> str:
        """Its name on the wire."""
        return self.key or self.name


class EventVersions(NamedTuple):
    """An event.

    Attributes:
        type: its name on the wire.
        value: its class.
        directions: the sides that send it.
        fields: the fields of its data; None if they are the questions or answers, by their names.
        since: the first version that has it.
        until: the first version that does not have it any more.
        successor: its later name, or "".
    """

    type: str
    value: builtins.type[Event]
    directions: tuple[Direction, ...]
    fields: tuple[FieldRow, ...] | None
    since: Version = _FIRST
    until: Version = _LAST
    successor: str = ""

    def exists(self, version: Version) -> bool:
        """Whether that version has the event."""
        return self.since <= version < self.until

    def fields_of(self, version: Version) -> tuple[FieldRow, ...]:
        """The fields of the event in that version."""
        return tuple(field for field in self.fields or () if field.since <= version < field.until)


def _must(name: str, key: str = "") -> FieldRow:
    return FieldRow(name, required=True, key=key)


_JOB: Final = (_must("job_id"),)
_PROFILE: Final = (_must("workload_name"), _must("profile_name"), _must("profile"))
_STATE: Final = (_must("resources"), _must("state"))

EVENTS: Final[tuple[EventVersions, ...]] = (
    # Both sides
    EventVersions("QUERY", Query, BOTH, (_must("requests"),), (2,)),
    EventVersions("ANSWER", Answer, BOTH, None, (2,)),
    EventVersions("NOTIFY", Notify, S2B, None, (1,), (3,)),  # Batsim notifies since 3.0
    EventVersions("NOTIFY", Notify, BOTH, None, (3,)),
    # Batsim
    EventVersions(
        "SIMULATION_BEGINS",
        SimulationBegins,
        B2S,
        (
            FieldRow("nb_resources"),
            FieldRow("nb_compute_resources", (3,)),
            FieldRow("nb_storage_resources", (3,)),
            FieldRow("allow_time_sharing", (1,), (3,)),
            FieldRow("allow_compute_sharing", (3,)),
            FieldRow("allow_storage_sharing", (3,)),
            FieldRow("config"),
            FieldRow("resources_data", (1,), (3,)),
            FieldRow("hpst_host", (1,), (3,)),
            FieldRow("lcst_host", (1,), (3,)),
            FieldRow("compute_resources", (3,)),
            FieldRow("storage_resources", (3,)),
            FieldRow("workloads", (2,)),
            FieldRow("profiles", (3,)),
        ),
    ),
    EventVersions("SIMULATION_ENDS", SimulationEnds, B2S, ()),
    EventVersions("JOB_SUBMITTED", JobSubmitted, B2S, (*_JOB, FieldRow("job"), FieldRow("profile"))),
    EventVersions(
        "JOB_COMPLETED",
        JobCompleted,
        B2S,
        (
            *_JOB,
            FieldRow("status", (1,), (2,)),
            FieldRow("job_state"),
            FieldRow("return_code", (1, 1)),
            FieldRow("kill_reason", (1,), (3,)),
            FieldRow("alloc", (2,)),
        ),
    ),
    EventVersions("JOB_KILLED", JobKilled, B2S, (_must("job_ids"), FieldRow("job_progress", (1, 2)))),
    EventVersions("RESOURCE_STATE_CHANGED", ResourceStateChanged, B2S, _STATE),
    EventVersions("QUERY_REPLY", QueryReply, B2S, None, (1,), (2,), "ANSWER"),
    EventVersions("REQUESTED_CALL", RequestedCall, B2S, ()),
    EventVersions("FROM_JOB_MSG", FromJobMsg, B2S, (*_JOB, _must("msg")), (1, 1)),
    # The scheduler
    EventVersions("QUERY_REQUEST", QueryRequest, S2B, None, (1,), (2,), "QUERY"),
    EventVersions("REJECT_JOB", RejectJob, S2B, _JOB),
    EventVersions(
        "EXECUTE_JOB",
        ExecuteJob,
        S2B,
        (
            *_JOB,
            _must("alloc"),
            FieldRow("mapping"),
            FieldRow("storage_mapping", (3,)),
            FieldRow("additional_io_job", (3,)),
        ),
    ),
    EventVersions("CALL_ME_LATER", CallMeLater, S2B, (_must("time", "timestamp"),)),
    EventVersions("KILL_JOB", KillJob, S2B, (_must("job_ids"),)),
    EventVersions(
        "SUBMIT_JOB", SubmitJob, S2B, (*_JOB, FieldRow("job"), FieldRow("profile")), (1,), (3,), "REGISTER_JOB"
    ),
    EventVersions("SUBMIT_PROFILE", SubmitProfile, S2B, _PROFILE, (1, 4), (3,), "REGISTER_PROFILE"),
    EventVersions("REGISTER_JOB", RegisterJob, S2B, (*_JOB, FieldRow("job")), (3,)),
    EventVersions("REGISTER_PROFILE", RegisterProfile, S2B, _PROFILE, (3,)),
    EventVersions("SET_RESOURCE_STATE", SetResourceState, S2B, _STATE),
    EventVersions("CHANGE_JOB_STATE", ChangeJobState, S2B, (*_JOB, _must("job_state"), FieldRow("kill_reason"))),
    EventVersions("SET_JOB_METADATA", SetJobMetadata, S2B, (*_JOB, _must("metadata")), (2,)),
    EventVersions("TO_JOB_MSG", ToJobMsg, S2B, (*_JOB, _must("msg")), (1, 1)),
)
"""All events, in the order of the documentation. The fields are in the order in which Batsim writes them."""

_WRITTEN = re.compile(r"v?([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?", re.ASCII)


def version_of(version: str | Version) -> Version:
    """A version as numbers.

    Args:
        version: "4.2.1", "4.2", "v1.4.0" or "4", the last of its kind; or the numbers.

    Raises:
        ValueError: no Batsim of this version uses this protocol.

    >>> version_of("4.2.1"), version_of("2.0"), version_of("4")
    ((4, 2, 1), (2, 0), (4, 2))
    """
    if isinstance(version, tuple):
        numbers = version
    else:
        found = _WRITTEN.fullmatch(version)
        numbers = tuple(int(part) for part in found.groups() if part is not None) if found else ()
        if len(numbers) == 1:  # the last one
            known = [tuple(map(int, each.split("."))) for each in VERSIONS]
            numbers = max((each for each in known if each[0] == numbers[0]), default=numbers)
    if not numbers or not _FIRST <= numbers < _LAST:
        raise ValueError(f"expected a version from 1.0 to 4.2, such as '4.2.1', got {version!r}")
    return numbers


def written(version: Version) -> str:
    """A version as people write it: "3.0", and not "3"."""
    return ".".join(map(str, version if len(version) > 1 else (*version, 0)))


@cache
def rows_of(version: Version) -> Mapping[str, EventVersions]:
    """The events of a version, by their names on the wire."""
    return {row.type: row for row in EVENTS if row.exists(version)}
