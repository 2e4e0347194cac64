"""MessageBuilder of the JSON protocol: one message of one version, for either side.

The builder owns the clock, and uses the names of its version: for example, jobs are submitted until 2.x, and registered
since. It refuses an event that the version does not have when you add it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from batprotocol.errors import BuilderError, EncodeError, HostSetError, shown
from batprotocol.legacy.json import events as said
from batprotocol.legacy.json import wire as codec
from batprotocol.legacy.json.events import Version, rows_of, version_of
from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource
from batprotocol.model import HostSet, Profile, format_hosts

__all__ = ["MessageBuilder"]


class MessageBuilder:
    """The events of one message.

    Args:
        version: the version of Batsim, such as "4.2.1".
        now: the current time, in simulated seconds.

    Methods raise `BuilderError` for events that the version or JSON cannot express. Then the builder does not change.

    >>> builder = MessageBuilder("4.2", now=10.0)
    >>> builder.add_execute_job("w0!1", range(4))
    >>> builder.finish_message().events
    (ExecuteJob(timestamp=10.0, job_id='w0!1', alloc='0-3', mapping=None, storage_mapping=None, \
additional_io_job=None, extra={}, beside={}),)
    """

    __slots__ = ("_events", "_now", "version")

    def __init__(self, version: str | Version = "4.2", now: float = 0.0) -> None:
        self.version = version_of(version)
        self.clear(now)

    def __len__(self) -> int:
        """How many events have been added."""
        return len(self._events)

    @property
    def current_time(self) -> float:
        """The time that the next event will carry, in simulated seconds."""
        return self._now

    @property
    def events(self) -> tuple[said.Event, ...]:
        """The events added since the builder was created or cleared."""
        return tuple(self._events)

    def clear(self, now: float = 0.0) -> None:
        """Remove all events, and start the next message."""
        self._now = _finite(now)
        self._events: list[said.Event] = []

    def set_current_time(self, now: float) -> None:
        """Move the clock. It cannot go backwards."""
        self._now = self._not_before(now)

    def finish_message(self, now: float | None = None) -> said.Message:
        """The message with all events added.

        Args:
            now: the time of the message, not before the current time; by default, the current time.
        """
        if now is not None:
            self._now = self._not_before(now)
        return said.Message(self._now, tuple(self._events))

    def add(self, event: said.Event) -> None:
        """Add an existing event, at the current time unless it has a timestamp of its own."""
        if not isinstance(event, said.Event):
            raise BuilderError(f"expected an event, got {shown(event)}", "event")
        if not event.timestamp:
            event = replace(event, timestamp=self._now)
        timestamp = self._not_before(event.timestamp)
        try:
            codec.encode(said.Message(timestamp, (event,)), self.version)
        except EncodeError as error:
            raise BuilderError(error.reason, error.path.removeprefix("events[0]").removeprefix(".")) from error
        self._events.append(event)
        self._now = timestamp

    def _not_before(self, time: float) -> float:
        if _finite(time) < self._now:
            raise BuilderError(f"expected a time not before the current time {self._now}, got {time}", "now")
        return float(time)

    # Both sides

    def add_notify(self, type: str, **extra: Any) -> None:
        """Both sides: a notification that needs no answer, such as "registration_finished"."""
        self.add(said.Notify(self._now, type, extra=extra))

    def add_query_consumed_energy(self) -> None:
        """Scheduler: how much energy was used since the beginning?"""
        asked: dict[str, Any] = {"consumed_energy": {}}
        before = self.version < (2,)
        self.add(said.QueryRequest(self._now, asked) if before else said.Query(self._now, asked))

    def add_answer(self, **answers: Any) -> None:
        """The answer to a query, by the name of the question: `add_answer(consumed_energy=12.5)`."""
        if self.version < (2,):
            if "consumed_energy" in answers:
                answers["energy_consumed"] = answers.pop("consumed_energy")
            self.add(said.QueryReply(self._now, answers))
        else:
            self.add(said.Answer(self._now, answers))

    # Batsim

    def add_simulation_begins(
        self,
        hosts: Iterable[Resource],
        storages: Iterable[Resource] = (),
        config: Mapping[str, Any] | None = None,
        *,
        sharing: bool = False,
        workloads: Mapping[str, str] | None = None,
        profiles: Mapping[str, Mapping[str, JobProfile]] | None = None,
    ) -> None:
        """Batsim: the simulation begins.

        Args:
            hosts: the hosts that compute.
            storages: the hosts that store; only from 3.0 on.
            config: the configuration, with the keys of the version.
            sharing: whether several jobs may share a host.
            workloads: the files of the workloads; only from 2.0 on.
            profiles: the profiles of each workload; only from 3.0 on.
        """
        computing, storing = tuple(hosts), tuple(storages)
        if self.version < (3,):
            event = said.SimulationBegins(
                self._now,
                nb_resources=len(computing),
                allow_time_sharing=sharing,
                config=config or {},
                resources_data=computing,
                storage_resources=storing or None,
                workloads=(workloads or {}) if self.version >= (2,) else workloads,
                profiles=profiles,
            )
        else:
            event = said.SimulationBegins(
                self._now,
                nb_resources=len(computing) + len(storing),
                nb_compute_resources=len(computing),
                nb_storage_resources=len(storing),
                allow_compute_sharing=sharing,
                allow_storage_sharing=True,
                config=config or {},
                compute_resources=computing,
                storage_resources=storing,
                workloads=workloads or {},
                profiles=profiles or {},
            )
        self.add(event)

    def add_simulation_ends(self) -> None:
        """Batsim: the simulation has ended."""
        self.add(said.SimulationEnds(self._now))

    def add_job_submitted(
        self, job_id: str, job: Job | None = None, profile: JobProfile | Profile | None = None
    ) -> None:
        """Batsim: a job was submitted. Its requests are in the event, unless they are in Redis."""
        self.add(said.JobSubmitted(self._now, job_id, job, self._profile(profile)))

    def add_job_completed(
        self,
        job_id: str,
        job_state: str = "COMPLETED_SUCCESSFULLY",
        return_code: int = 0,
        alloc: HostSet | None = None,
        kill_reason: str = "",
    ) -> None:
        """Batsim: a job has ended. Arguments that the version does not have are left out."""
        version = self.version
        self.add(
            said.JobCompleted(
                self._now,
                job_id,
                status=_STATUSES.get(job_state, "FAILED") if version < (2,) else None,
                job_state=job_state,
                return_code=return_code if version >= (1, 1) else None,
                kill_reason=kill_reason if version < (3,) else None,
                alloc=_hosts(alloc, "alloc") if alloc is not None and version >= (2,) else None,
            )
        )

    def add_job_killed(self, job_ids: Iterable[str], job_progress: Mapping[str, JobProgress] | None = None) -> None:
        """Batsim: these jobs were killed, as requested."""
        progress = (job_progress or {}) if self.version >= (1, 2) else job_progress
        self.add(said.JobKilled(self._now, tuple(job_ids), progress))

    def add_resource_state_changed(self, resources: HostSet, state: int | str) -> None:
        """Batsim: these hosts are in that power state."""
        self.add(said.ResourceStateChanged(self._now, _hosts(resources, "resources"), str(state)))

    def add_requested_call(self) -> None:
        """Batsim: the call that the scheduler requested."""
        self.add(said.RequestedCall(self._now))

    # The scheduler

    def add_reject_job(self, job_id: str) -> None:
        """Scheduler: this job will not be executed."""
        self.add(said.RejectJob(self._now, job_id))

    def add_execute_job(
        self,
        job_id: str,
        hosts: HostSet,
        mapping: Iterable[int] | None = None,
        storage_mapping: Mapping[str, int] | None = None,
        additional_io_job: Mapping[str, Any] | None = None,
    ) -> None:
        """Scheduler: execute this job on these hosts.

        Args:
            job_id: a submitted job.
            hosts: the hosts.
            mapping: for each executor, the place of its host in the allocation.
            storage_mapping: for each storage that the profile names, the number of its host; from 3.0 on.
            additional_io_job: transfers to be merged into the job; from 3.0 on.
        """
        executors = None if mapping is None else {str(number): str(place) for number, place in enumerate(mapping)}
        alloc = _hosts(hosts, "alloc")
        self.add(said.ExecuteJob(self._now, job_id, alloc, executors, storage_mapping, additional_io_job))

    def add_call_me_later(self, time: float) -> None:
        """Scheduler: request a call at that time, in simulated seconds."""
        self.add(said.CallMeLater(self._now, _finite(time)))

    def add_kill_job(self, job_ids: Iterable[str]) -> None:
        """Scheduler: kill these jobs."""
        self.add(said.KillJob(self._now, tuple(job_ids)))

    def add_register_job(self, job_id: str, job: Job | None = None) -> None:
        """Scheduler: register or submit a new job, as the version does; without a `job`, the job is in Redis."""
        kind = said.SubmitJob if "SUBMIT_JOB" in rows_of(self.version) else said.RegisterJob
        self.add(kind(self._now, job_id, job))

    def add_register_profile(self, workload: str, name: str, profile: JobProfile | Profile) -> None:
        """Scheduler: register or submit a new profile, as the version does."""
        kind = said.RegisterProfile if self.version >= (3,) else said.SubmitProfile
        found = self._profile(profile)
        assert found is not None
        self.add(kind(self._now, workload, name, found))

    def add_finish_registration(self) -> None:
        """Scheduler: no more jobs will be registered."""
        self.add_notify("registration_finished" if self.version >= (3,) else "submission_finished")

    def add_continue_registration(self) -> None:
        """Scheduler: more jobs will be registered, despite an earlier notification of the end."""
        self.add_notify("continue_registration" if self.version >= (3,) else "continue_submission")

    def add_set_resource_state(self, resources: HostSet, state: int | str) -> None:
        """Scheduler: change the power state of these hosts."""
        self.add(said.SetResourceState(self._now, _hosts(resources, "resources"), str(state)))

    def add_change_job_state(self, job_id: str, job_state: str, kill_reason: str | None = None) -> None:
        """Scheduler: change the state of this job."""
        self.add(said.ChangeJobState(self._now, job_id, job_state, kill_reason))

    def add_set_job_metadata(self, job_id: str, metadata: str) -> None:
        """Scheduler: write this text next to the job in the results; from 2.0 on."""
        self.add(said.SetJobMetadata(self._now, job_id, metadata))

    def _profile(self, profile: JobProfile | Profile | None) -> JobProfile | None:
        if profile is None or isinstance(profile, JobProfile):
            return profile
        found = JobProfile.of(profile, self.version)
        if found is None:
            raise BuilderError(f"this version cannot describe {shown(profile)}", "profile")
        return found


_STATUSES = {"COMPLETED_SUCCESSFULLY": "SUCCESS", "COMPLETED_FAILED": "FAILED", "COMPLETED_WALLTIME_REACHED": "TIMEOUT"}


def _hosts(hosts: HostSet, path: str) -> str:
    try:
        return format_hosts(hosts)
    except HostSetError as error:
        raise BuilderError(str(error), path) from None


def _finite(time: float) -> float:
    if type(time) not in (int, float) or not -1e300 < time < 1e300:
        raise BuilderError(f"expected a finite number of seconds, got {shown(time)}", "time")
    return float(time)
