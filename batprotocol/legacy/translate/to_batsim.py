"""ToOldBatsim: what a Batsim of version 1 to 4 says, for today's decision components, and what these answer. No I/O.

It remembers what one side tells once and the other one again: which call comes, which probe is meant by an answer, how
hosts were switched. What today's Batsim would say and the older one does not, it says itself.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION
from batprotocol.errors import DecodeError, HostSetError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import JobProfile
from batprotocol.legacy.json.versions import Version, version_of
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import words
from batprotocol.legacy.translate.report import Report
from batprotocol.legacy.translate.wishes import WISHES
from batprotocol.model import parse_hosts

__all__ = ["ToOldBatsim"]

_SLACK: Final = 1e-6
"""Seconds by which a time that was printed with six decimals may be earlier than the one that was asked for."""


class ToOldBatsim:
    """Translates for a decision component of today.

    Args:
        version: the version of Batsim that speaks.
        store: where jobs are kept if they are not told in messages.

    Attributes:
        report: what could not be carried.

    `init` gives the initialization data from Batsim's first message, and `begin` takes the hello that answers them.
    Then, in turns, `hear` takes what Batsim says (the first message, too) and gives what the component is told, and
    `say` takes its reply and gives the one for Batsim.
    """

    def __init__(self, version: str | Version = "4.2", store: JobStore | None = None) -> None:
        self.version = version_of(version)
        self.store = store
        self.report = Report()
        self.features = model.EDCRequestedSimulationFeatures()
        self.now = 0.0
        self.res: dict[str, int] = {}
        self.jobs: dict[str, str] = {}
        """What has become of each job: "submitted", "running", "ended"."""
        self.calls: list[tuple[float, int, str]] = []
        """The calls that were asked for, the next one first: when, in which order, and whose."""
        self.periods: dict[str, tuple[float, int | None]] = {}
        """The period of each periodic call and probe, and how often it still comes; None is for ever."""
        self.probes: dict[str, model.CreateProbeEvent] = {}
        self.asked: list[str] = []
        """The probes that wait for an answer."""
        self.due: list[str] = []
        """The periodic calls and probes whose next call is to be asked for."""
        self.measure: list[str] = []
        """The probes that are to measure now."""
        self.switching: list[tuple[frozenset[int], int]] = []
        self.profiles: dict[str, JobProfile] = {}
        self.names: dict[str, str] = {}
        self.told_names: dict[str, str] = {}
        self.dynamic: set[str] = set()
        self.acknowledged = False
        self.dynamic_enabled = False
        self.hosts: frozenset[int] = frozenset()
        self.sleeping: dict[int, frozenset[int]] = {}
        self.pstates: dict[int, int] = {}
        self.pending: list[model.Event] = []
        self.wakes = False
        self.stopping = False
        self.all_submitted = False
        self.is_over = False
        self._order = 0

    def init(self, first: e.Message) -> str:
        """The initialization data: what the scheduler's configuration is in Batsim's first message, or ""."""
        begins = next((event for event in first.events if isinstance(event, e.SimulationBegins)), None)
        if begins is None:
            raise DecodeError("the first message of a Batsim has SIMULATION_BEGINS", "events")
        config = (begins.config or {}).get("sched-config", "")
        return config if isinstance(config, str) else json.dumps(config)

    def begin(self, hello: model.Message) -> None:
        """Take the hello: what the component asks of the simulation, an older Batsim's command line has decided."""
        for event in hello.events:
            if isinstance(event, model.EDCHelloEvent):
                self.features = event.requested_simulation_features

    # From Batsim

    def hear(self, message: e.Message) -> model.Message:
        """What the component is told of this message."""
        self.now = message.now
        self.wakes = False
        said, self.pending = self.pending, []
        ends: list[model.Event] = []
        for event in message.events:
            tell = _TOLD.get(type(event))
            if tell is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                self.report.add(kind, "", "there is no such thing today: it is left out")
                continue
            for told in tell(self, event):
                (ends if isinstance(told, model.SimulationEndsEvent) else said).append(told)
        if ends and not self.all_submitted and self.version < (3,):  # nobody said so, but now it is certain
            said.append(model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=message.now))
        # Once, it was not the last event of its message; today it is.
        ended = said + [replace(each, timestamp=message.now) for each in ends[:1]]
        self.is_over = self.is_over or bool(ends)
        last = 0.0
        for index, each in enumerate(ended):
            last = min(max(each.timestamp, last), message.now)
            ended[index] = replace(each, timestamp=last)
        return model.Message(message.now, tuple(ended))

    def say(self, message: model.Message) -> e.Message:
        """The reply for Batsim: what the component answered."""
        now = max(message.now, self.now)
        replies: list[e.Event] = []
        for event in message.events:
            wish = WISHES.get(type(event))
            if wish is None:
                self.report.add(type(event).__name__, "", "an older Batsim has no such thing: it is left out")
            else:
                replies.extend(wish(self, event, min(max(event.timestamp, 0.0), now)))
        replies[:0] = self._go_on(now)
        if self.is_over:
            replies = []
        elif self.pending and not self.wakes:
            replies.append(e.CallMeLater(now, now + 0.001))
            self.wakes = True
        self.report.message += 1
        replies.sort(key=_timestamp)
        return e.Message(now, tuple(replies))

    def _go_on(self, now: float) -> Iterable[e.Event]:
        """Ask for what comes again, and for what probes measure now."""
        due, self.due = self.due, []
        for whose in due:
            if whose in self.periods:
                yield self.call(whose, self.next_multiple(self.periods[whose][0], self.now), self.now)
        if self.stopping:
            for job_id in [job_id for job_id, state in self.jobs.items() if state == "submitted"]:
                self.jobs[job_id] = "ended"
                yield e.RejectJob(now, self.names.get(job_id, job_id))
        measure, self.measure = self.measure, []
        if measure:
            self.asked += measure
            asked: dict[str, Any] = {"consumed_energy": {}}
            yield e.QueryRequest(self.now, asked) if self.version < (2,) else e.Query(self.now, asked)

    # What wishes need

    def call(self, whose: str, when: float, time: float) -> e.Event:
        """A call at that time, and not in the past, with which an older Batsim aborts."""
        at = when
        if at <= max(time, self.now) + 1e-4:
            at = max(time, self.now) + 0.001
        self._order += 1
        heapq.heappush(self.calls, (at, self._order, whose))
        return e.CallMeLater(time, at)

    def next_multiple(self, period: float, time: float) -> float:
        """The first multiple of a period after that time."""
        number = int(max(time, self.now) / period + 1e-9) + 1
        return number * period

    # Each event of Batsim

    def _begins(self, event: e.SimulationBegins) -> Iterable[model.Event]:
        config = event.config or {}
        if self.version >= (3,):
            self.dynamic_enabled = config.get("dynamic-jobs-enabled") is True
            self.acknowledged = config.get("dynamic-jobs-acknowledged") is True
        else:
            submission = config.get("job_submission")
            given = submission.get("from_scheduler") if isinstance(submission, dict) else None
            self.dynamic_enabled = isinstance(given, dict) and given.get("enabled") is True
            self.acknowledged = isinstance(given, dict) and given.get("acknowledge") is not False
        if self.features.dynamic_registration and not self.dynamic_enabled:
            self.report.add("EDCHelloEvent", "dynamic_registration", "Batsim was started without: it will refuse jobs")
        computing = [each for each in event.hosts if each.id >= 0]
        storing = [each for each in event.storage_resources or () if each.id >= 0]
        if event.hpst_host is not None or event.lcst_host is not None:
            self.report.add("SIMULATION_BEGINS", "hpst_host, lcst_host", "hosts without a number are not told")
        self.hosts = frozenset(each.id for each in computing)
        for each in computing:
            self.sleeping[each.id] = words.sleep_states(each.properties or {})
        self.report.add("SIMULATION_BEGINS", "compute_resources", "the speeds of hosts were not told")
        workloads = event.workloads
        if workloads is None:
            self.report.add("SIMULATION_BEGINS", "workloads", "this version did not tell them: there is one, unnamed")
            workloads = {"": ""}
        profiles: list[model.ProfileAndId] = []
        for workload, found in (event.profiles or {}).items():
            for name, profile in found.items():
                profile_id = f"{workload}!{name}"
                self.profiles[profile_id] = profile
                value = profile.value
                if value is not None and self.features.forward_profiles_on_simulation_begins:
                    profiles.append(model.ProfileAndId(profile_id, words.full_profile(workload, value)))
        yield model.SimulationBeginsEvent(
            timestamp=event.timestamp,
            batprotocol_version=PROTOCOL_VERSION,
            batsim_version=".".join(map(str, self.version)),
            batsim_commit="",
            host_number=len(computing) + len(storing),
            computation_host_number=len(computing),
            computation_hosts=tuple(map(words.host_of, computing)),
            storage_host_number=len(storing),
            storage_hosts=tuple(map(words.host_of, storing)),
            batsim_arguments=(),
            batsim_execution_context_json=json.dumps(config),
            workloads=tuple(model.WorkloadAndFilename(name, str(path)) for name, path in workloads.items()),
            external_event_lists=(),
            profiles=tuple(profiles),
        )

    def _submitted(self, event: e.JobSubmitted) -> Iterable[model.Event]:
        job_id = self.told_names.get(event.job_id, event.job_id)
        job = event.job
        if job is None and self.store is not None:
            job = self.store.job(event.job_id)
        if job is None:
            self.report.add("JOB_SUBMITTED", "job", "what it asks for is not said, nor kept in Redis: it is left out")
            return
        if job_id in self.dynamic and not self.features.acknowledge_dynamic_jobs:
            return  # it was not asked for
        if job_id in self.dynamic:
            self.pending = [
                each
                for each in self.pending
                if not (isinstance(each, model.JobSubmittedEvent) and each.job_id == job_id)
            ]
        said = words.job_to_new(job_id, job)
        self.jobs.setdefault(job_id, "submitted")
        self.res[job_id] = said.resource_request
        yield model.JobSubmittedEvent(
            timestamp=event.timestamp,
            job_id=job_id,
            job=said,
            submission_time=event.timestamp if job.subtime is None else job.subtime,
            profile=self._profile_of(event, said) if self.features.forward_profiles_on_job_submission else None,
        )

    def _profile_of(self, event: e.JobSubmitted, job: model.Job) -> model.ProfileAndId | None:
        found = event.profile or self.profiles.get(job.profile_id)
        if found is None and self.store is not None:
            found = self.store.profile(job.profile_id)
        value = None if found is None else found.value
        if value is None:
            self.report.add("JOB_SUBMITTED", "profile", "it was asked for, and is not told, or has no successor")
            return None
        workload = job.profile_id.partition("!")[0]
        return model.ProfileAndId(job.profile_id, words.full_profile(workload, value))

    def _completed(self, event: e.JobCompleted) -> Iterable[model.Event]:
        job_id = self.told_names.get(event.job_id, event.job_id)
        self.jobs[job_id] = "ended"
        states = model.FinalJobState.__members__
        by_status = {"SUCCESS": "COMPLETED_SUCCESSFULLY", "TIMEOUT": "COMPLETED_WALLTIME_REACHED"}
        name = event.job_state or by_status.get(event.status or "", "COMPLETED_FAILED")
        if name not in states:
            self.report.add("JOB_COMPLETED", "job_state", f"{name} is told as COMPLETED_FAILED")
            name = "COMPLETED_FAILED"
        code = event.return_code if event.return_code is not None else int(name != "COMPLETED_SUCCESSFULLY")
        yield model.JobCompletedEvent(timestamp=event.timestamp, job_id=job_id, state=states[name], return_code=code)

    def _killed(self, event: e.JobKilled) -> Iterable[model.Event]:
        ids = tuple(self.told_names.get(job_id, job_id) for job_id in event.job_ids)
        progress = {self.told_names.get(job_id, job_id): each for job_id, each in (event.job_progress or {}).items()}
        for job_id in ids:
            if self.jobs.get(job_id) == "running":  # before 2.0, nothing else tells of its end
                self.jobs[job_id] = "ended"
                yield model.JobCompletedEvent(
                    timestamp=event.timestamp,
                    job_id=job_id,
                    state=model.FinalJobState.COMPLETED_KILLED,
                    return_code=-1,
                )
        if not ids:
            self.report.add("JOB_KILLED", "job_ids", "it names no job, and is left out")
            return
        yield model.JobsKilledEvent(
            timestamp=event.timestamp,
            job_ids=ids,
            progresses=tuple(
                model.JobAndProgress(job_id, words.progress_to_new(each, job_id.partition("!")[0]))
                for job_id, each in progress.items()
            ),
        )

    def _states(self, event: e.ResourceStateChanged) -> Iterable[model.Event]:
        try:
            hosts = frozenset(parse_hosts(event.resources))
        except HostSetError:
            self.report.add("RESOURCE_STATE_CHANGED", "resources", "it is no set of hosts, and is left out")
            return
        state = int(event.state) if event.state.isdecimal() and len(event.state) < 9 else 0
        self.pstates.update(dict.fromkeys(hosts, state))
        if (hosts, state) in self.switching:
            self.switching.remove((hosts, state))
            yield model.HostsTurnedOnOffEvent(timestamp=event.timestamp, host_ids=event.resources, state=state)
        else:
            yield model.HostsPStateChangedEvent(timestamp=event.timestamp, host_ids=event.resources, pstate=state)

    def _called(self, event: e.RequestedCall) -> Iterable[model.Event]:
        if not self.calls or self.calls[0][0] > event.timestamp + _SLACK:
            return  # one that nobody waits for any more, or that was our own
        _, _, whose = heapq.heappop(self.calls)
        kind, _, name = whose.partition(":")
        if kind == "once":
            yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=False)
            return
        period = self.periods.get(whose)
        if period is None:  # it was stopped
            return
        every, left = period
        is_last = left is not None and left <= 1
        if is_last:
            del self.periods[whose]
        else:
            self.periods[whose] = (every, None if left is None else left - 1)
            self.due.append(whose)
        if kind == "every":
            yield model.RequestedCallEvent(timestamp=event.timestamp, call_me_later_id=name, last_periodic_call=is_last)
        else:
            self.measure.append(name)

    def _answered(self, event: e.Answer | e.QueryReply) -> Iterable[model.Event]:
        joules = event.consumed_energy
        if joules is None or not self.asked:
            self.report.add("ANSWER", "", "nobody asked this: it is left out")
            return
        asked, self.asked = self.asked, []
        for name in asked:
            probe = self.probes.get(name)
            if probe is not None:
                mean = isinstance(probe.resources_aggregation_function, model.ArithmeticMean)
                value = joules / max(len(self.hosts), 1) if mean else joules
                yield model.ProbeDataEmittedEvent(
                    timestamp=event.timestamp,
                    probe_id=name,
                    resources=probe.resources,
                    data=model.AggregatedProbeData(value),
                )

    def _notified(self, event: e.Notify) -> Iterable[model.Event]:
        if event.type == "no_more_static_job_to_submit":
            self.all_submitted = True
            yield model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=event.timestamp)
        elif event.type == "no_more_external_event_to_occur":
            yield model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=event.timestamp)
        else:
            data = json.dumps({"type": event.type, **event.extra})
            self._order += 1
            yield model.ExternalEventOccurredEvent(
                timestamp=event.timestamp, id=f"notify!{self._order}", external_event=model.GenericExternalEvent(data)
            )

    def _queried(self, event: e.Query) -> Iterable[model.Event]:
        self.report.add("QUERY", "requests", "no decision component of today is asked: it stays without an answer")
        return ()

    def _ends(self, event: e.SimulationEnds) -> Iterable[model.Event]:
        yield model.SimulationEndsEvent(timestamp=event.timestamp)


def _timestamp(event: e.Event) -> float:
    return event.timestamp


_TOLD: Final[Mapping[type[e.Event], Callable[[ToOldBatsim, Any], Iterable[model.Event]]]] = {
    e.SimulationBegins: ToOldBatsim._begins,
    e.JobSubmitted: ToOldBatsim._submitted,
    e.JobCompleted: ToOldBatsim._completed,
    e.JobKilled: ToOldBatsim._killed,
    e.ResourceStateChanged: ToOldBatsim._states,
    e.RequestedCall: ToOldBatsim._called,
    e.Answer: ToOldBatsim._answered,
    e.QueryReply: ToOldBatsim._answered,
    e.Notify: ToOldBatsim._notified,
    e.Query: ToOldBatsim._queried,
    e.SimulationEnds: ToOldBatsim._ends,
}
"""How the component is told of each event. FROM_JOB_MSG has no successor."""
