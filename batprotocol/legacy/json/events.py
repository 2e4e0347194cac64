"""The events of the JSON protocol in its own words: `JOB_SUBMITTED` is `JobSubmitted`, and so on; and the message.

An event holds the fields of all versions; `versions` lists the fields of each version. `extra` keeps the unknown fields
of its data, and `beside` keeps the fields next to its `timestamp`, `type` and `data`. Fields are keyword arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource
from batprotocol.model.value import TupleOf, Value, tuples_into

__all__ = [
    "Answer",
    "CallMeLater",
    "ChangeJobState",
    "Event",
    "ExecuteJob",
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
