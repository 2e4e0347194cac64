"""The ends over Unix sockets: Batsims and schedulers that speak text, each in its version.

This module knows the differences between the versions: which side reports the beginning and the end, and the names of
jobs. The time of a reply is the time of its events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from batprotocol.errors import DecodeError, PeerGone
from batprotocol.legacy.bridge.ends import Batsim, OldComponent
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Job, JobProfile, Resource
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.text import as_json, codec
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text.names import JobNames
from batprotocol.legacy.translate import Options, Report, ToOldBatsim, ToOldScheduler
from batprotocol.legacy.unix import Line
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Direction,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    RejectJobEvent,
    SimulationEndsEvent,
)

__all__ = ["TextBatsim", "TextScheduler"]

_OF_JOBS = (e.JobSubmitted, e.JobCompleted, e.ExecuteJob, e.RejectJob)
_UNSAID = (e.SimulationBegins, e.SimulationEnds)
"""Events that versions 0 to 2 do not send: they begin with the first job, and close the socket at the end."""


_SPARE = 0.01
"""How many seconds a reply may be before the clock. Older Batsims abort on less, but their clock runs differently."""


def _renamed(message: e.Message, name: Callable[[str], str]) -> e.Message:
    events = tuple(
        replace(event, job_id=name(event.job_id)) if isinstance(event, _OF_JOBS) else event for event in message.events
    )
    return e.Message(message.now, events)


class TextBatsim(Batsim):
    """A Batsim that speaks text, and listens to a Unix socket.

    Args:
        path: where the socket is.
        store: the requests of the jobs: in Redis for versions 2 and 3, or from the workload file (`store_of_workload`).
        version: the version that it speaks, in [0,3].
        timeout: how many seconds to wait for each message; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.

    The simulation ends when Batsim closes the socket: in version 3, messages may follow its Z, and need replies.
    """

    def __init__(
        self,
        path: str,
        store: JobStore,
        version: int = 3,
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._line = Line(path, listens=False, timeout=timeout, who="the simulator", on_wait=on_wait)
        self._store = store
        self._names = JobNames(version)
        self._to = ToOldBatsim("1.4", store)
        self.report: Report = self._to.report
        self._version = version
        self._first: e.Message | None = None
        self._waiting: set[str] = set()
        self._running: set[str] = set()
        self._now = 0.0
        self._decided = self._said_end = self._is_over = False

    def _heard(self) -> e.Message:
        data = self._line.receive()
        if self.recorder is not None:
            self.recorder.write(Direction.BATSIM_TO_EDC, data)
        said = codec.decode(data, self._version)
        if said.version != self._version:
            raise DecodeError(f"it speaks version {said.version} of text, and not {self._version}", "version", 0)
        self._now = said.now
        message = as_json.to_json(said, Direction.BATSIM_TO_EDC)
        for event in message.events:
            if isinstance(event, e.JobSubmitted):
                self._waiting.add(event.job_id)
            elif isinstance(event, e.JobCompleted):
                self._running.discard(event.job_id)
                self._waiting.discard(event.job_id)
            self._said_end = self._said_end or isinstance(event, e.SimulationEnds)
        events = tuple(event for event in message.events if not isinstance(event, _UNSAID))
        return _renamed(e.Message(message.now, events), self._names.to_today)

    def begin(self) -> str:
        first = self._heard()
        hosts = tuple(Resource(number, f"host{number}", "idle", {}) for number in range(self._store.nb_res or 0))
        begins = e.SimulationBegins(0.0, nb_resources=len(hosts), config={}, resources_data=hosts)
        self._first = e.Message(first.now, (begins, *first.events))
        return self._to.init(self._first)

    def greet(self, hello: Message) -> None:
        self._to.begin(hello)

    def receive(self) -> Message:
        message, self._first = self._first, None
        try:
            return self._to.hear(self._heard() if message is None else message)
        except PeerGone:
            if not self._may_be_over():
                raise
        self._is_over = True
        return self._to.hear(e.Message(self._now, (e.SimulationEnds(self._now),)))

    def _may_be_over(self) -> bool:
        """Whether a closed socket is the end: version 3 sends the end before; in the others, no job remains."""
        if self._version >= 3:
            return self._said_end
        if self._decided and (self._waiting or self._running):
            return False
        if self._waiting and not self._running:
            return False
        if self._waiting or self._running:
            said = f"Batsim closed its socket before it reported the end of {len(self._waiting | self._running)} jobs"
            self.report.add("SimulationEndsEvent", "", said)
        return True

    def send(self, message: Message) -> None:
        if self._is_over:
            return
        wanted = self._to.say(message)
        events = tuple(  # earlier than the clock, Batsim aborts
            event if event.timestamp >= self._now else replace(event, timestamp=self._now) for event in wanted.events
        )
        if not events or wanted.now > events[-1].timestamp:  # Batsim waits until the last event, and no longer
            events = (*events, e.OtherEvent(max(wanted.now, self._now), as_json.NOP, {}))
        said, left = as_json.from_json(_renamed(e.Message(wanted.now, events), self._names.to_text), self._version)
        for event in left:
            self.report.add(type(event).__name__, "", f"text-{self._version} has no stamp for it: it is left out")
        self._follow(said)
        data = codec.encode(said, self._version)
        self._line.send(data)
        if self.recorder is not None:
            self.recorder.write(Direction.EDC_TO_BATSIM, data)

    def _follow(self, said: t.Message) -> None:
        self._decided = not all(isinstance(each, t.Nop) for each in said.events)
        for event in said.events:
            if isinstance(event, t.JobRejection):
                self._waiting.discard(event.job_id)
            elif isinstance(event, t.JobAllocation):
                given = {each.job_id for each in event.allocations}
                self._waiting -= given
                self._running |= given

    def limit(self, seconds: float) -> None:
        self._line.limit(seconds)

    def close(self) -> None:
        self._line.close()


class _NamedStore(JobStore):
    """A store in which jobs have their names of the text protocol."""

    def __init__(self, store: JobStore, names: JobNames, workloads: Mapping[str, str]) -> None:
        super().__init__(store.values, store.prefix)
        self._names = names
        self._workloads = workloads

    def put_job(self, job: Job) -> None:
        super().put_job(replace(job, id=self._names.to_text(str(job.id))))

    def put_profile(self, profile_id: str, profile: JobProfile) -> None:
        workload, _, name = profile_id.partition("!")
        super().put_profile(f"{self._workloads.get(workload, workload)}!{name}", profile)


class TextScheduler(OldComponent):
    """A scheduler that speaks text, and connects to a Unix socket of the bridge: a decision component, as for `drive`.

    Args:
        path: where the bridge creates the socket.
        store: where the scheduler finds the requests of the jobs; versions 0 and 1 read the workload file instead.
        version: the version of text that it was made for, in [0,3].
        workloads: its names of the workloads, by their current names; by default, the same names.
        timeout: how many seconds to wait for each answer; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.

    The bridge reads its messages as Batsim does. It raises `DecodeError` where that Batsim aborts: if it cannot read a
    message, and if an event is earlier than the clock or the event before it.
    """

    is_notified_at_once = True
    """Batsims that speak text report each event as soon as they have received the last reply."""

    def __init__(
        self,
        path: str,
        store: JobStore | None = None,
        version: int = 3,
        *,
        workloads: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._names = JobNames(version, workloads)
        named = _NamedStore(store or JobStore({}, path), self._names, workloads or {})
        options = Options(forward_profiles=True, redis=("", 0, named.prefix), machine_events=version >= 3)
        super().__init__(ToOldScheduler("1.4", options, named))
        self._version = version
        self.says_nothing = "waiting" if version < 2 else "leaving"
        self._line = Line(path, listens=True, timeout=timeout, who="the scheduler", on_wait=on_wait)
        self._open: set[str] = set()
        self._all_submitted = self._said_end = False

    def answer(self, message: Message) -> Message:
        """The reply of the scheduler. The bridge asks the scheduler only if the message concerns it."""
        for event in message.events:
            if isinstance(event, AllStaticJobsHaveBeenSubmittedEvent):
                self._all_submitted = True
            elif isinstance(event, JobSubmittedEvent):
                self._open.add(event.job_id)
            elif isinstance(event, JobCompletedEvent):
                self._open.discard(event.job_id)
        reply = super().answer(message)
        self._open.difference_update(each.job_id for each in reply.events if isinstance(each, RejectJobEvent))
        if any(isinstance(event, SimulationEndsEvent) for event in message.events):
            self.close()  # the scheduler sees the end by this
        return reply

    def _told(self, told: e.Message) -> tuple[e.Event, ...]:
        """The events that this version gets: only version 3 gets the end, together with the end of the last job."""
        events = tuple(event for event in told.events if self._version >= 3 or not isinstance(event, _UNSAID))
        if self._version < 3:
            return events
        if self._said_end:
            return tuple(event for event in events if not isinstance(event, e.SimulationEnds))
        last = events[-1] if events else None
        if isinstance(last, e.JobCompleted) and self._all_submitted and not self._open:
            events = (*events, e.SimulationEnds(last.timestamp))
        self._said_end = any(isinstance(event, e.SimulationEnds) for event in events)
        return events

    def _ask(self, told: e.Message) -> e.Message | None:
        events = self._told(told)
        renamed = self._names.renamed
        said, left = as_json.from_json(_renamed(e.Message(told.now, events), self._names.to_text), self._version)
        if self._names.renamed > renamed:
            self.report.add("JobSubmittedEvent", "job_id", "text takes numbers only: jobs are numbered from 1000000 on")
        for event in left:
            self.report.add(
                type(event).__name__, "", f"text-{self._version} has no stamp for it: the scheduler does not get it"
            )
        if len(left) == len(events):
            return None
        answer = codec.decode(self._line.exchange(codec.encode(said, self._version)), self._version)
        last = float(f"{told.now:.6f}")
        for index, each in enumerate(answer.events):
            if each.timestamp < last - (0.0 if index else _SPARE):
                raise DecodeError(f"{each.timestamp} is earlier than {last}", f"events[{index}].timestamp")
            last = each.timestamp
        found = as_json.to_json(answer, Direction.EDC_TO_BATSIM)
        decided = tuple(
            each for each in found.events if not (isinstance(each, e.OtherEvent) and each.type == as_json.NOP)
        )
        return _renamed(e.Message(found.now, decided), self._names.to_today)

    def close(self) -> None:
        """Close the socket."""
        self._line.close()
