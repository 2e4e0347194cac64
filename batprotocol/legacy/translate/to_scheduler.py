"""ToOldScheduler: what today's Batsim says, for a scheduler of Batsim 1 to 4, and what that answers. No I/O.

It remembers what one side tells once and the other one again: the hosts of a job, the states of hosts, calls that have
no name, and which probe stands for a query. What only it is concerned with, no scheduler is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import HostSetError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Job, JobProfile
from batprotocol.legacy.json.versions import Version, version_of
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import words
from batprotocol.legacy.translate.decisions import DECISIONS
from batprotocol.legacy.translate.report import Report
from batprotocol.model import parse_hosts

__all__ = ["Options", "ToOldScheduler"]

_OURS: Final = "legacy!"
"""What the names of our own calls and probes begin with."""


class Options(NamedTuple):
    """What the command line of an older Batsim decided on.

    Attributes:
        dynamic: whether jobs can be registered.
        acknowledge: whether registered jobs come back in a JOB_SUBMITTED.
        forward_profiles: whether a JOB_SUBMITTED tells the profile.
        sharing: whether several jobs may share a host.
        config: what else is in the configuration that the scheduler is told.
        redis: host, port and prefix of the Redis server, or None if jobs are told in messages.
    """

    dynamic: bool = False
    acknowledge: bool = False
    forward_profiles: bool = False
    sharing: bool = False
    config: Mapping[str, Any] = {}
    redis: tuple[str, int, str] | None = None


NO_OPTIONS: Final = Options()


class ToOldScheduler:
    """Translates for a scheduler of the JSON protocol.

    Args:
        version: the version of Batsim that it was made for.
        options: what that Batsim's command line decided on.
        store: where jobs are kept if they are not told in messages.

    Attributes:
        report: what could not be carried.

    `hello` gives the first message for Batsim. Then, in turns, `hear` takes what Batsim says and gives what the
    scheduler is told, or None if it is not concerned, and `say` takes what it answers (None then) and gives the reply.
    """

    def __init__(
        self, version: str | Version = "4.2", options: Options = NO_OPTIONS, store: JobStore | None = None
    ) -> None:
        self.version = version_of(version)
        self.options = options
        self.store = store
        self.report = Report()
        self.now = 0.0
        self.jobs: dict[str, str] = {}
        """What has become of each job: "submitted", "running", "faked", "ended"."""
        self.allocations: dict[str, str] = {}
        self.profiles: dict[str, model.Profile] = {}
        self.registered: set[str] = set()
        self.asleep: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        """The power states that a host has on its way from one to another only."""
        self.pstates: dict[int, int] = {}
        self.killing: dict[str, int] = {}
        self.hosts = ""
        self.finished = False
        self.pending: list[e.Event] = []
        """What the scheduler is told with the next message, because today's Batsim does not."""
        self._number = 0
        self._wakes = False

    def hello(self, text: str = "") -> model.Message:
        """The first message for Batsim: that of a decision component that asks for what the scheduler expects."""
        options = self.options
        builder = MessageBuilder()
        builder.add_edc_hello(
            "batprotocol bridge",
            ".".join(map(str, self.version)),
            "",
            model.EDCRequestedSimulationFeatures(
                dynamic_registration=options.dynamic,
                acknowledge_dynamic_jobs=options.acknowledge,
                profile_reuse=options.dynamic,
                forward_profiles_on_job_submission=options.forward_profiles or self.store is not None,
                forward_profiles_on_simulation_begins=self.version >= (3,),
            ),
        )
        if text and "sched-config" not in options.config:
            self.options = options._replace(config={**options.config, "sched-config": text})
        return builder.finish_message()

    # From Batsim

    def hear(self, message: model.Message) -> e.Message | None:
        """What the scheduler is told of this message, None if nothing concerns it."""
        self.now = message.now
        self._wakes = False
        said, self.pending = self.pending, []
        for event in message.events:
            tell = _TOLD.get(type(event))
            if tell is None:
                self.report.add(type(event).__name__, "", "the scheduler is not told")
            else:
                said.extend(tell(self, event))
        if not said:
            return None
        last = 0.0
        for index, each in enumerate(said):  # today's Batsim tells some things late
            time = each.timestamp
            if not last <= time <= self.now:
                time = min(max(time, last), self.now)
                said[index] = replace(each, timestamp=time)
            last = time
        return e.Message(message.now, tuple(said))

    def say(self, message: e.Message | None) -> model.Message:
        """The reply for Batsim: what the scheduler answered, None if it was not asked."""
        now = self.now if message is None else max(message.now, self.now)
        replies: list[model.Event] = []
        for event in message.events if message is not None else ():
            decide = DECISIONS.get(type(event))
            if decide is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                self.report.add(kind, "", "there is no such thing today: it is left out")
            else:
                time = event.timestamp
                replies.extend(decide(self, event, time if 0 <= time <= now else min(max(time, 0.0), now)))
        if self.pending and not self._wakes:  # nobody else would call us for it
            replies.append(self.call_at(0, now))
            self._wakes = True
        if len(replies) > 1:
            replies.sort(key=_timestamp)
        self.report.message += 1
        return model.Message(now, tuple(replies))

    # What decisions need

    def name(self, kind: str) -> str:
        """A new name of our own."""
        self._number += 1
        return f"{_OURS}{kind}!{self._number}"

    def call_at(self, when: int, time: float) -> model.Event:
        """A call that only we are concerned with, as soon as possible."""
        trigger = model.OneShot(when, model.TimeUnit.Millisecond)
        return model.CallMeLaterEvent(timestamp=time, call_me_later_id=self.name("wake"), when=trigger)

    # Each event of Batsim

    def _begins(self, event: model.SimulationBeginsEvent) -> Iterable[e.Event]:
        version, options = self.version, self.options
        before = version < (3,)
        computing = tuple(words.resource_of(host, version) for host in event.computation_hosts)
        storing = tuple(words.resource_of(host, version) for host in event.storage_hosts)
        for host in event.computation_hosts:
            properties = words.pairs(host.properties)
            self.asleep[host.id] = words.sleep_states(properties)
            self.passing[host.id] = words.sleep_states(properties, slice(1, None))
            self.pstates[host.id] = host.pstate
        self.hosts = model.format_hosts([host.id for host in event.computation_hosts])
        workloads = {each.name: each.filename for each in event.workloads}
        profiles: dict[str, dict[str, JobProfile]] = {name: {} for name in workloads}
        for each in event.profiles or ():
            workload, _, name = each.id.partition("!")
            self.profiles[each.id] = each.profile
            fields = JobProfile.of(each.profile, version)
            if fields is None:
                self.report.add(
                    "SimulationBeginsEvent", "profiles", f"{type(each.profile).__name__} has no older words"
                )
            else:
                profiles.setdefault(workload, {})[name] = fields
        if self.store is not None:
            self.store.nb_res = len(computing)
        if before and storing:
            self.report.add("SimulationBeginsEvent", "storage_hosts", "they are not told")
        if before:
            yield e.SimulationBegins(
                event.timestamp,
                nb_resources=len(computing),
                config=self._config(),
                allow_time_sharing=options.sharing,
                resources_data=computing,
                workloads=workloads if version >= (2,) else None,
            )
            return
        yield e.SimulationBegins(
            event.timestamp,
            nb_resources=len(computing) + len(storing),
            config=self._config(),
            nb_compute_resources=len(computing),
            nb_storage_resources=len(storing),
            allow_compute_sharing=options.sharing,
            allow_storage_sharing=True,
            compute_resources=computing,
            storage_resources=storing,
            workloads=workloads,
            profiles=profiles,
        )

    def _config(self) -> dict[str, Any]:
        options = self.options
        host, port, prefix = options.redis or ("127.0.0.1", 6379, "default")
        if self.version < (3,):
            submission = {"enabled": options.dynamic, "acknowledge": options.acknowledge}
            return {
                "redis": {"enabled": options.redis is not None, "hostname": host, "port": port, "prefix": prefix},
                "job_submission": {"forward_profiles": options.forward_profiles, "from_scheduler": submission},
                **options.config,
            }
        return {
            "redis-enabled": options.redis is not None,
            "redis-hostname": host,
            "redis-port": port,
            "redis-prefix": prefix,
            "profiles-forwarded-on-submission": options.forward_profiles,
            "dynamic-jobs-enabled": options.dynamic,
            "dynamic-jobs-acknowledged": options.acknowledge,
            "profile-reuse-enabled": options.dynamic,
            "sched-config": "",
            "forward-unknown-events": True,
            **options.config,
        }

    def _submitted(self, event: model.JobSubmittedEvent) -> Iterable[e.Event]:
        job_id = event.job_id
        self.jobs.setdefault(job_id, "submitted")
        job = words.job_to_old(job_id, event.job, event.submission_time)
        profile = None
        if event.profile is not None:
            self.profiles[event.profile.id] = event.profile.profile
            profile = JobProfile.of(event.profile.profile, self.version)
            if profile is None:
                self.report.add("JobSubmittedEvent", "profile", "it has no older words, and is not told")
        options = self.options
        if self.store is not None:
            self._keep(self.store, job, profile)
        if options.redis is not None:
            return (e.JobSubmitted(event.timestamp, job_id),)
        return (e.JobSubmitted(event.timestamp, job_id, job, profile if options.forward_profiles else None),)

    def _keep(self, store: JobStore, job: Job, profile: JobProfile | None) -> None:
        store.put_job(job)
        if profile is not None:
            workload = str(job.id).partition("!")[0]
            store.put_profile(f"{workload}!{job.profile}", profile)

    def _completed(self, event: model.JobCompletedEvent) -> Iterable[e.Event]:
        version, state, job_id = self.version, event.state, event.job_id
        self.jobs[job_id] = "ended"
        alloc = self.allocations.pop(job_id, "")
        if version >= (3,):  # by far the most frequent
            return (e.JobCompleted(event.timestamp, job_id, None, _STATES[state], event.return_code, None, alloc),)
        killed = state == model.FinalJobState.COMPLETED_KILLED
        if killed and version < (2,):  # JOB_KILLED tells of it
            return ()
        said = e.JobCompleted(
            event.timestamp,
            job_id,
            status=_STATUSES.get(state, "FAILED") if version < (2,) else None,
            job_state=_STATES[state],
            return_code=event.return_code if version >= (1, 1) else None,
            kill_reason="Killed, as asked" if killed else "",
            alloc=alloc if version >= (2,) else None,
        )
        return (said,)

    def _killed(self, event: model.JobsKilledEvent) -> Iterable[e.Event]:
        before = self.version < (3,)
        progress = {
            each.job_id: words.progress_to_old(each.wrapper, before, self._length_of) for each in event.progresses
        }
        for job_id in event.job_ids:
            self.killing.pop(job_id, None)
        yield e.JobKilled(event.timestamp, event.job_ids, progress if self.version >= (1, 2) else None)

    def _length_of(self, profile_id: str) -> int | None:
        profile = self.profiles.get(profile_id)
        return len(profile.profile_ids) if isinstance(profile, model.SequentialCompositionProfile) else None

    def _probed(self, event: model.ProbeDataEmittedEvent) -> Iterable[e.Event]:
        if isinstance(event.data, model.AggregatedProbeData):
            joules = event.data.data
            if self.version < (2,):
                yield e.QueryReply(event.timestamp, {"energy_consumed": joules})
            else:
                yield e.Answer(event.timestamp, {"consumed_energy": joules})

    def _called(self, event: model.RequestedCallEvent) -> Iterable[e.Event]:
        if not event.call_me_later_id.startswith(f"{_OURS}wake"):
            yield e.RequestedCall(event.timestamp)

    def _ends(self, event: model.SimulationEndsEvent) -> Iterable[e.Event]:
        yield e.SimulationEnds(event.timestamp)

    def _failed(self, event: model.SimulationErrorEvent) -> Iterable[e.Event]:
        self.report.add("SimulationErrorEvent", "error", "the scheduler is told that the simulation ends")
        yield e.SimulationEnds(event.timestamp)

    def _all_submitted(self, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> Iterable[e.Event]:
        return self._notify(event, "no_more_static_job_to_submit", (3,))

    def _all_injected(self, event: model.AllStaticExternalEventsHaveBeenInjectedEvent) -> Iterable[e.Event]:
        return self._notify(event, "no_more_external_event_to_occur", (3, 1))

    def _notify(self, event: model.Event, kind: str, since: Version) -> Iterable[e.Event]:
        if self.version < since:
            self.report.add(type(event).__name__, "", "this version was not told: it is left out")
            return []
        return [e.Notify(event.timestamp, kind)]

    def _states(self, event: model.HostsPStateChangedEvent | model.HostsTurnedOnOffEvent) -> Iterable[e.Event]:
        state = event.pstate if isinstance(event, model.HostsPStateChangedEvent) else event.state
        try:
            self.pstates.update(dict.fromkeys(parse_hosts(event.host_ids), state))
        except HostSetError:
            self.report.add(type(event).__name__, "host_ids", "it is no set of hosts, and is told as it is")
        yield e.ResourceStateChanged(event.timestamp, event.host_ids, str(state))

    def _occurred(self, event: model.ExternalEventOccurredEvent) -> Iterable[e.Event]:
        text = event.external_event.data
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        fields = found if isinstance(found, dict) else {"data": text}
        kind = fields.pop("type", None)
        if self.version < (3,):
            self.report.add("ExternalEventOccurredEvent", "", "this version was not told: it is left out")
            return
        yield e.Notify(event.timestamp, kind if isinstance(kind, str) else "external_event", extra=fields)


_STATES: Final = {state: state.name for state in model.FinalJobState}
_STATUSES: Final = {
    model.FinalJobState.COMPLETED_SUCCESSFULLY: "SUCCESS",
    model.FinalJobState.COMPLETED_WALLTIME_REACHED: "TIMEOUT",
}


def _timestamp(event: model.Event) -> float:
    return event.timestamp


_TOLD: Final[Mapping[type[model.Event], Callable[[ToOldScheduler, Any], Iterable[e.Event]]]] = {
    model.SimulationBeginsEvent: ToOldScheduler._begins,
    model.JobSubmittedEvent: ToOldScheduler._submitted,
    model.JobCompletedEvent: ToOldScheduler._completed,
    model.JobsKilledEvent: ToOldScheduler._killed,
    model.ProbeDataEmittedEvent: ToOldScheduler._probed,
    model.RequestedCallEvent: ToOldScheduler._called,
    model.SimulationEndsEvent: ToOldScheduler._ends,
    model.SimulationErrorEvent: ToOldScheduler._failed,
    model.AllStaticJobsHaveBeenSubmittedEvent: ToOldScheduler._all_submitted,
    model.AllStaticExternalEventsHaveBeenInjectedEvent: ToOldScheduler._all_injected,
    model.HostsPStateChangedEvent: ToOldScheduler._states,
    model.HostsTurnedOnOffEvent: ToOldScheduler._states,
    model.ExternalEventOccurredEvent: ToOldScheduler._occurred,
}
"""How the scheduler is told of each event."""
