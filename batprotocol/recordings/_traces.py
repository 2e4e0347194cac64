"""A capture as a trace of simulated time: the jobs on hosts, counters, and a mark for each message.

Hosts are drawn in groups of neighbours, at most `GROUPS`. Where several jobs have hosts of one group, they are drawn
below one another. The trace is written while the capture is read: as JSON in Chrome's Trace Event Format, or by
`_perfetto` as protobuf.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final, Protocol, TypeAlias

import msgspec

from batprotocol import model
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.edc.recording.entries import Entry
from batprotocol.edc.recording.names import MOST, moment_of
from batprotocol.model import Direction, Message
from batprotocol.recordings.statistics import CapturedJob, JobBook

GROUPS: Final = 64
"""How many groups of hosts there are at most."""
MENTIONED: Final = 20
"""How many jobs of a message are named."""

Notes: TypeAlias = Sequence[tuple[str, Any]]
"""Facts about a job or a message, by their names. A fact that is None is left out."""

_SIDES: Final = {Direction.BATSIM_TO_EDC: "Batsim", Direction.EDC_TO_BATSIM: "decision component"}


class ExportedRun(Protocol):
    """A run to export."""

    def __iter__(self) -> Iterator[Entry]:
        """All messages, in the order in which they were sent."""
        ...

    def jobs(self) -> Iterator[CapturedJob]:
        """A row for each job, from the messages."""
        ...

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """The names and bytes of the other files in the recording."""
        ...


class TraceWriter(Protocol):
    """Writes a trace. Moments are nanoseconds of simulated time, and tracks are named by numbers."""

    def track(self, name: str, parent: int = 0) -> int:
        """Add a track, below the track `parent` if that is not 0."""
        ...

    def counter(self, name: str, unit: str = "") -> int:
        """Add a track for a value that changes."""
        ...

    def mark(self, moment: int, track: int, name: str, notes: Notes) -> None:
        """Add a mark at a moment."""
        ...

    def slice(self, start: int, end: int, track: int, name: str, notes: Notes) -> None:
        """Add a bar from one moment to another."""
        ...

    def count(self, moment: int, track: int, value: float) -> None:
        """Set the value of a counter from this moment on."""
        ...


def trace(run: ExportedRun, writer: TraceWriter) -> None:
    """Write the trace of a capture.

    Args:
        run: the capture.
        writer: writes it.
    """
    found = _Trace(writer)
    book = JobBook()
    now = 0
    for entry in run:
        if entry.time is not None:
            now = max(now, min(moment_of(entry.time), MOST // 2))
        message = entry.message
        found.mark(now, entry.number, entry.direction, len(entry.data), message)
        if message is not None:
            over = book.take(message, entry.direction)
            found.take(now, message, over, book)
    found.finish(now)


class _Lanes:
    """The lanes of a group of hosts: which are free, and how many there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.free: list[int] = []
        self.tracks: list[int] = []


class _Trace:
    """Draws the messages and jobs of a capture."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        messages = writer.track("messages")
        self._sides = {direction: writer.track(name, messages) for direction, name in _SIDES.items()}
        self._hosts = writer.track("hosts")
        self._queue = writer.counter("queue (jobs)")
        self._running = writer.counter("running jobs")
        self._probes: dict[str, int] = {}
        self._groups: list[_Lanes] = []
        self._width = 1
        self._on: dict[str, tuple[CapturedJob, list[tuple[int, int]]]] = {}
        self._waiting: set[str] = set()
        self._shown: dict[int, float] = {}

    def _count(self, moment: int, track: int, value: float) -> None:
        if self._shown.get(track) != value:
            self._shown[track] = value
            self._writer.count(moment, track, value)

    def mark(self, moment: int, number: int, direction: Direction, size: int, message: Message | None) -> None:
        """Draw a message as a mark."""
        kinds = Counter(type(event).__name__.removesuffix("Event") for event in message.events) if message else {}
        name = ", ".join(kind if count == 1 else f"{kind} x{count}" for kind, count in kinds.items())
        jobs = [str(each) for event in (message.events if message else ()) if (each := getattr(event, "job_id", ""))]
        more = f" and {len(jobs) - MENTIONED} more" if len(jobs) > MENTIONED else ""
        self._writer.mark(
            moment,
            self._sides[direction],
            name or ("nothing" if message else "not read"),
            [
                ("message", number),
                ("bytes", size),
                ("now", message.now if message else None),
                ("events", len(message.events) if message else None),
                ("jobs", " ".join(jobs[:MENTIONED]) + more if jobs else None),
            ],
        )

    def take(self, moment: int, message: Message, over: list[CapturedJob], book: JobBook) -> None:
        """Draw the changes that a message brings."""
        for job in over:
            self._end(moment, job)
        for event in message.events:
            if isinstance(event, model.JobSubmittedEvent | model.RegisterJobEvent):
                if event.job_id not in self._on and event.job_id in book.open:
                    self._waiting.add(event.job_id)
            elif isinstance(event, model.ExecuteJobEvent):
                begun = book.open.get(event.job_id)
                if begun is not None and event.job_id not in self._on:
                    self._start(begun)
            elif isinstance(event, model.SimulationBeginsEvent) and not self._groups:
                self._divide(len(event.computation_hosts))
            elif isinstance(event, model.ProbeDataEmittedEvent):
                self._probe(event)
        self._count(moment, self._queue, len(self._waiting))
        self._count(moment, self._running, len(self._on))

    def _divide(self, count: int) -> None:
        """Make groups of the hosts."""
        self._width = max(1, -(-count // GROUPS))
        for first in range(0, count, self._width):
            last = min(first + self._width, count) - 1
            self._groups.append(_Lanes(f"host {first}" if first == last else f"hosts {first}-{last}"))

    def _start(self, job: CapturedJob) -> None:
        self._waiting.discard(job.job_id)
        places = []
        touched: set[int] = set()
        for first, last in read_hosts(job.hosts).intervals:
            touched.update(range(first // self._width, min(last // self._width + 1, len(self._groups))))
        for group in sorted(touched):
            lanes = self._groups[group]
            if not lanes.free:
                name = lanes.name if not lanes.tracks else f"{lanes.name} ({len(lanes.tracks) + 1})"
                lanes.tracks.append(self._writer.track(name, self._hosts))
                lanes.free.append(len(lanes.tracks) - 1)
            places.append((group, heapq.heappop(lanes.free)))
        self._on[job.job_id] = job, places

    def _end(self, moment: int, job: CapturedJob) -> None:
        self._waiting.discard(job.job_id)
        _, places = self._on.pop(job.job_id, (job, []))
        start = moment_of(job.started)
        end = max(start, moment if job.finished is None else moment_of(job.finished))
        notes = [
            ("hosts", job.hosts),
            ("profile", job.profile_id),
            ("submitted", job.submitted),
            ("waited", job.waited),
            ("walltime", job.walltime),
            ("state", "not over" if job.state is None else job.state.name),
        ]
        for group, lane in places:
            lanes = self._groups[group]
            self._writer.slice(start, end, lanes.tracks[lane], job.job_id, notes)
            heapq.heappush(lanes.free, lane)

    def _probe(self, event: model.ProbeDataEmittedEvent) -> None:
        if event.probe_id not in self._probes:
            name = f"{event.probe_id} ({event.metrics.name})"
            unit = "W" if event.metrics is model.Metrics.Power else ""
            self._probes[event.probe_id] = self._writer.counter(name, unit)
        data = event.data.data
        value = float(data) if isinstance(data, float | int) else float(sum(data))
        self._count(moment_of(event.timestamp), self._probes[event.probe_id], value)

    def finish(self, moment: int) -> None:
        """End the jobs that still run."""
        for job, _ in list(self._on.values()):
            self._end(moment, job)


# A trace as JSON, in Chrome's Trace Event Format: Perfetto opens it, as do chrome://tracing and Speedscope


def write_chrome(run: ExportedRun, file: IO[bytes]) -> None:
    """Write the trace of a capture.

    Args:
        run: the capture.
        file: where to.
    """
    file.write(b'{"displayTimeUnit": "ms", "traceEvents": [\n')
    events = _Events(file)
    trace(run, events)
    file.write(b"\n]}\n")


class _Events:
    """Writes the events of a trace, one in each line.

    The format has processes, which have threads, and times in microseconds. A track without a parent is a process, and
    the tracks below it are its threads.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: list[tuple[int, int]] = []
        self._counters: dict[int, str] = {}
        self._is_first = True

    def track(self, name: str, parent: int = 0) -> int:
        number = len(self._places) + 1
        process = self._places[parent - 1][0] if parent else number
        self._places.append((process, number))
        what = "thread" if parent else "process"
        about = {"ph": "M", "pid": process, "tid": number}
        self._write({**about, "name": f"{what}_name", "args": {"name": name}})
        self._write({**about, "name": f"{what}_sort_index", "args": {"sort_index": number}})
        return number

    def counter(self, name: str, unit: str = "") -> int:
        number = self.track(name)
        self._counters[number] = f"{name} ({unit})" if unit else name
        return number

    def mark(self, moment: int, track: int, name: str, notes: Notes) -> None:
        self._event({"ph": "i", "s": "t", "name": name, "ts": moment / 1000}, track, notes)

    def slice(self, start: int, end: int, track: int, name: str, notes: Notes) -> None:
        self._event({"ph": "X", "name": name, "ts": start / 1000, "dur": (end - start) / 1000}, track, notes)

    def count(self, moment: int, track: int, value: float) -> None:
        self._event({"ph": "C", "name": self._counters[track], "ts": moment / 1000}, track, [("value", value)])

    def _event(self, event: dict[str, Any], track: int, notes: Notes) -> None:
        process, thread = self._places[track - 1]
        arguments = {name: value for name, value in notes if value is not None}
        self._write({**event, "pid": process, "tid": thread, "args": arguments})

    def _write(self, event: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(event) if self._is_first else b",\n" + msgspec.json.encode(event))
        self._is_first = False
