"""Programs that speak text: the names of jobs, Unix sockets, and the ends of a bridge.

`to_json` and `from_json` convert messages to events of JSON 1.x, so that each translation is written only once.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from select import select
from typing import Final

from msgspec.structs import replace

from batprotocol._util.requirements import refusal
from batprotocol._util.sockets import PATIENCE, refuse_bad_endpoint
from batprotocol.errors import DecodeError, EncodeError, PeerGone, PeerSilent, SystemLacks, shown
from batprotocol.legacy._ends import Batsim, OldComponent
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Job, JobProfile, Resource
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text import wire as codec
from batprotocol.legacy.text.wire import BY_VALUE, FrameStream
from batprotocol.legacy.translate import Options, ToOldBatsim, ToOldScheduler, TranslationReport
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Direction,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    RejectJobEvent,
    SimulationEndsEvent,
    format_hosts,
    parse_hosts,
)

__all__ = [
    "NOP",
    "JobNames",
    "TextBatsim",
    "TextScheduler",
    "UnixLine",
    "from_json",
    "to_json",
]


_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_FIRST: Final = 1_000_000
"""The first number for jobs that have no number of their own."""


class JobNames:
    """The names of jobs on both sides.

    Args:
        version: the version of the text protocol.
        workloads: the names of workloads in text, by their current names; by default, the same names.

    >>> names = JobNames(1)
    >>> names.to_text("w0!7"), names.to_today("7"), names.to_text("w0!seven")
    ('7', 'w0!7', '1000000')
    """

    def __init__(self, version: int, workloads: Mapping[str, str] | None = None) -> None:
        self._version = version
        self._workloads = dict(workloads or {})
        self._text: dict[str, str] = {}
        self._today: dict[str, str] = {}
        self.renamed = 0

    def to_text(self, job_id: str) -> str:
        """The name in text of a job, from its current name.

        Raises:
            EncodeError: versions 0 and 1 know only one workload, and this is a job of a second one.
        """
        known = self._text.get(job_id)
        if known is not None:
            return known
        workload, _, name = job_id.rpartition("!")
        if not _NUMBER.fullmatch(name):
            name = str(_FIRST + self.renamed)
            self.renamed += 1
        said = name if self._version < 2 else f"{self._workloads.get(workload, workload)}!{name}"
        if said in self._today:
            other = shown(self._today[said])
            reason = f"{shown(job_id)} and {other} would both be job {said}"
            raise EncodeError(f"{reason}: versions 0 and 1 of text know only one workload")
        self._text[job_id], self._today[said] = said, job_id
        return said

    def to_today(self, said: str) -> str:
        """The current name of a job."""
        known = self._today.get(said)
        if known is not None:
            return known
        return said if self._version >= 2 else f"w0!{said}"


# Text as events of JSON 1.x, and back


NOP: Final = "NOP"
"""The name of a scheduler's `N`: Batsim waits until its time, and does nothing then."""


def to_json(message: t.Message, direction: Direction | None = None) -> e.Message:
    """Convert a message in text to events of JSON.

    Args:
        message: the message.
        direction: the side that sends it; None: the side that its stamps show, by default Batsim. The time of a
            scheduler's message is the time of its last event, because Batsim reads no other time.

    >>> to_json(t.Message(3, 1.0, [t.JobRejection(1.0, "w0!1")])).events
    (RejectJob(timestamp=1.0, job_id='w0!1', extra={}, beside={}),)
    >>> to_json(t.Message(3, 2.0, [t.Nop(1.5)])).events
    (RequestedCall(timestamp=1.5, extra={}, beside={}),)
    """
    if direction is None:
        direction = _direction(message)
    is_batsim = direction is Direction.BATSIM_TO_EDC
    now = message.now if is_batsim else max(event.timestamp for event in message.events)
    return e.Message(now, tuple(each for event in message.events for each in _to_json(event, is_batsim)))


def _direction(message: t.Message) -> Direction:
    said = [BY_VALUE[type(event)].directions for event in message.events]
    certain = next((directions for directions in said if len(directions) == 1), (Direction.BATSIM_TO_EDC,))
    return certain[0]


def _to_json(event: t.Event, is_batsim: bool) -> Iterator[e.Event]:
    time = event.timestamp
    match event:
        case t.Nop():
            yield e.RequestedCall(time) if is_batsim else e.OtherEvent(time, NOP, {})
        case t.JobSubmission():
            yield e.JobSubmitted(time, event.job_id)
        case t.JobCompletion():
            yield e.JobCompleted(time, event.job_id, job_state="COMPLETED_SUCCESSFULLY")
        case t.JobAllocation():
            yield from (e.ExecuteJob(time, each.job_id, format_hosts(each.machines)) for each in event.allocations)
        case t.PStateRequest():
            yield e.SetResourceState(time, format_hosts(event.machines), str(event.pstate))
        case t.PStateChanged():
            yield e.ResourceStateChanged(time, format_hosts(event.machines), str(event.pstate))
        case t.JobRejection():
            yield e.RejectJob(time, event.job_id)
        case t.NopMeLater():
            yield e.CallMeLater(time, event.time)
        case t.EnergyRequest():
            yield e.QueryRequest(time, {"consumed_energy": {}})
        case t.Energy():
            yield e.QueryReply(time, {"energy_consumed": event.consumed_energy})
        case t.SimulationBegins():
            yield e.SimulationBegins(time)
        case t.SimulationEnds():
            yield e.SimulationEnds(time)
        case t.MachinesFailed():
            yield e.Notify(time, "event_machine_unavailable", extra={"resources": format_hosts(event.machines)})
        case t.MachinesRepaired():
            yield e.Notify(time, "event_machine_available", extra={"resources": format_hosts(event.machines)})
        case _:
            yield e.OtherEvent(time, type(event).__name__, {})


def from_json(message: e.Message, version: int = 3) -> tuple[t.Message, list[e.Event]]:
    """Convert a message of JSON to text. Returns also the events for which this version of text has no stamp.

    If no event remains, the message holds an `N` at its time.

    >>> from_json(e.Message(1.0, [e.RequestedCall(1.0), e.SetJobMetadata(1.0, "w0!1", "x")]))[0].events
    (Nop(timestamp=1.0),)
    """
    found: list[t.Event] = []
    left: list[e.Event] = []
    for event in message.events:
        said = [each for each in _from_json(event, version) if BY_VALUE[type(each)].since <= version]
        found += said
        if not said:
            left.append(event)
    return t.Message(version, message.now, tuple(found) or (t.Nop(message.now),)), left


def _machines(hosts: str, version: int = 3) -> str:
    """Machines in ascending order; version 0 requires them one by one."""
    return ",".join(map(str, parse_hosts(hosts)) if version == 0 else str(parse_hosts(hosts)).split())


def _from_json(event: e.Event, version: int) -> Iterator[t.Event]:
    time = event.timestamp
    match event:
        case e.JobSubmitted():
            yield t.JobSubmission(time, event.job_id)
        case e.JobCompleted():
            yield t.JobCompletion(time, event.job_id)
        case e.ExecuteJob():
            yield t.JobAllocation(time, (t.JobMachines(event.job_id, _machines(event.alloc, version)),))
        case e.SetResourceState():
            for machines in _groups(event.resources, version):
                yield t.PStateRequest(time, machines, int(event.state))
        case e.ResourceStateChanged():
            for machines in _groups(event.resources, version):
                yield t.PStateChanged(time, machines, int(event.state))
        case e.RejectJob():
            yield t.JobRejection(time, event.job_id)
        case e.CallMeLater():
            yield t.NopMeLater(time, event.time)
        case e.QueryRequest():
            yield t.EnergyRequest(time)
        case e.QueryReply() if event.consumed_energy is not None:
            yield t.Energy(time, event.consumed_energy)
        case e.SimulationBegins():
            yield t.SimulationBegins(time)
        case e.SimulationEnds():
            yield t.SimulationEnds(time)
        case e.RequestedCall() | e.OtherEvent(type="NOP"):
            yield t.Nop(time)
        case e.Notify(type="event_machine_unavailable"):
            yield t.MachinesFailed(time, _machines(str(event.extra.get("resources", ""))))
        case e.Notify(type="event_machine_available"):
            yield t.MachinesRepaired(time, _machines(str(event.extra.get("resources", ""))))


def _groups(hosts: str, version: int) -> list[str]:
    machines = _machines(hosts, version)
    return machines.split(",") if version == 0 else [machines]


# Unix sockets: Batsim listens, the scheduler connects


logger = logging.getLogger("batprotocol.legacy")

_TICK: Final = 0.2
_CHUNK: Final = 2**16


class UnixLine:
    """One end of a Unix socket.

    Args:
        path: the path of the socket.
        listens: whether it is Batsim's end, which listens; otherwise it connects, as soon as the other end listens.
        timeout: how many seconds to wait for each message; None: no limit.
        who: the name of the other end in errors.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.

    Raises:
        OSError: it is not possible to listen there.
        SystemLacks: this system has no Unix sockets.
    """

    def __init__(
        self,
        path: str,
        *,
        listens: bool,
        timeout: float | None = None,
        who: str = "the other one",
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        if sentence := refusal("the protocol of text and its Unix sockets", "socket.AF_UNIX"):
            raise SystemLacks(sentence)
        self._path = path
        self._timeout = timeout
        self._who = who
        self._on_wait = on_wait
        self._stream = FrameStream()
        self._ready: list[bytes] = []
        self._line: socket.socket | None = None
        self._door: socket.socket | None = None
        self._told = False
        if listens:
            refuse_bad_endpoint(f"ipc://{path}")
            self._door = socket.socket(socket.AF_UNIX)
            self._door.settimeout(_TICK)
            try:
                with suppress(FileNotFoundError):
                    os.unlink(path)  # no process listens to it any more
                self._door.bind(path)
                self._door.listen(1)
            except OSError as error:
                self._door.close()
                raise OSError(error.errno, os.strerror(error.errno or errno.EINVAL), path) from None

    def send(self, content: bytes) -> None:
        """Send a message. `PeerGone` if the other end is gone."""
        line = self._connected()
        view = memoryview(len(content).to_bytes(4, sys.byteorder) + content)
        began = time.monotonic()
        while view:
            try:
                view = view[line.send(view) :]
            except TimeoutError:
                self._look_around(began)
            except OSError:
                raise self._gone() from None

    def receive(self) -> bytes:
        """The next message.

        Raises:
            DecodeError: its size is larger than a message can be.
            PeerGone, PeerSilent: there is no message.
        """
        line, began = self._connected(), time.monotonic()
        while not self._ready:
            try:
                self._take(line)
            except TimeoutError:
                self._look_around(began)
        return self._ready.pop(0)

    def exchange(self, content: bytes) -> bytes:
        """Send a message, and wait for the answer. `DecodeError` if the other end has sent something before."""
        line = self._connected()
        if not self._ready and select([line], [], [], 0)[0]:
            self._take(line)
        if self._ready:
            raise DecodeError(f"{self._who} speaks out of turn")
        self.send(content)
        return self.receive()

    def _take(self, line: socket.socket) -> None:
        """Read the bytes that have arrived. `TimeoutError` if none arrive for a tick."""
        try:
            data = line.recv(_CHUNK)
        except TimeoutError:
            raise
        except OSError:
            raise self._gone() from None
        if not data:
            raise self._gone()
        self._ready += self._stream.feed(data)

    def _gone(self) -> PeerGone:
        return PeerGone(f"{self._who} at {self._path} closed the connection")

    def _connected(self) -> socket.socket:
        began = time.monotonic()
        while self._line is None:
            if self._door is not None:
                with suppress(TimeoutError):
                    self._line, _ = self._door.accept()
            else:
                line = socket.socket(socket.AF_UNIX)
                try:
                    line.connect(self._path)
                    self._line = line
                except OSError:
                    line.close()
                    time.sleep(0.02)
            if self._line is None:
                self._look_around(began)
            else:
                self._line.settimeout(_TICK)
        return self._line

    def _look_around(self, began: float) -> None:
        if self._on_wait is not None:
            self._on_wait()
        if self._line is None and not self._told and time.monotonic() - began >= PATIENCE:
            self._told = True
            what = "listen at" if self._door is None else "connect to"
            logger.warning("still waiting for %s to %s %s", self._who, what, self._path)
        if self._timeout is not None and time.monotonic() - began > self._timeout:
            raise PeerSilent(f"{self._who} at {self._path} has said nothing for {self._timeout:g} seconds")

    def limit(self, seconds: float) -> None:
        """Wait at most this long for each of the next messages, and do nothing else while waiting."""
        self._timeout, self._on_wait = seconds, None

    def close(self) -> None:
        """Close the sockets. To close them twice does nothing."""
        if self._line is not None:
            self._line.close()
        if self._door is not None:
            self._door.close()
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            self._door = None


# The ends of a bridge


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
        self._line = UnixLine(path, listens=False, timeout=timeout, who="the simulator", on_wait=on_wait)
        self._store = store
        self._names = JobNames(version)
        self._to = ToOldBatsim("1.4", store)
        self.report: TranslationReport = self._to.report
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
        message = to_json(said, Direction.BATSIM_TO_EDC)
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
            events = (*events, e.OtherEvent(max(wanted.now, self._now), NOP, {}))
        said, left = from_json(_renamed(e.Message(wanted.now, events), self._names.to_text), self._version)
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
        self._line = UnixLine(path, listens=True, timeout=timeout, who="the scheduler", on_wait=on_wait)
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
        said, left = from_json(_renamed(e.Message(told.now, events), self._names.to_text), self._version)
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
        found = to_json(answer, Direction.EDC_TO_BATSIM)
        decided = tuple(each for each in found.events if not (isinstance(each, e.OtherEvent) and each.type == NOP))
        return _renamed(e.Message(found.now, decided), self._names.to_today)

    def close(self) -> None:
        """Close the socket."""
        self._line.close()
