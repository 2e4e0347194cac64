"""A trace of a capture for Perfetto, https://ui.perfetto.dev: jobs on hosts, counters, and what was said.

Nanoseconds of the trace are those of simulated time. Hosts are drawn in groups of neighbours, at most `GROUPS`; where
several jobs have hosts of one group, they are drawn in lanes below one another. It is written while the capture is
read. It must not know how captures are kept.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import IO, Any, Final

from batprotocol import model
from batprotocol.capture.exporting.run import Run
from batprotocol.capture.jobs import JobBook, ToldJob
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.errors import PackageMissing
from batprotocol.extras import installing
from batprotocol.model import Direction, Message
from batprotocol.recording.moments import MOST, moment_of

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
except ImportError:
    raise PackageMissing(f"Perfetto needs the package perfetto: {installing('capture')}") from None

__all__ = ["GROUPS", "write_trace"]

GROUPS: Final = 64
"""How many groups of hosts there are at most."""
MENTIONED: Final = 20
"""How many jobs of a message are named."""
SEQUENCE: Final = 1

_SIDES: Final = {Direction.BATSIM_TO_EDC: "Batsim", Direction.EDC_TO_BATSIM: "decision component"}


def write_trace(run: Run, file: IO[bytes]) -> None:
    """Write the trace of a capture.

    Args:
        run: the capture.
        file: where to.
    """
    trace = _Trace(file)
    book = JobBook()
    now = 0
    for entry in run:
        if entry.time is not None:
            now = max(now, min(moment_of(entry.time), MOST // 2))
        message = entry.message
        trace.said(now, entry.number, entry.direction, len(entry.data), message)
        if message is not None:
            over = book.take(message, entry.direction)
            trace.take(now, message, over, book)
    trace.finish(now)


class _Lanes:
    """The lanes of a group of hosts: which are free, and how many there are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.free: list[int] = []
        self.tracks: list[int] = []


class _Trace:
    """Writes the packets of a trace."""

    def __init__(self, file: IO[bytes]) -> None:
        self._builder = StreamingTraceProtoBuilder(file)
        self._tracks = 0
        self._events = self._sides()
        self._hosts = self._track("hosts")
        self._queue = self._track("queue (jobs)", counter=True)
        self._running = self._track("running jobs", counter=True)
        self._probes: dict[str, int] = {}
        self._groups: list[_Lanes] = []
        self._width = 1
        self._on: dict[str, tuple[ToldJob, list[tuple[int, int]]]] = {}
        self._waiting: set[str] = set()
        self._shown: dict[int, float] = {}

    def _sides(self) -> dict[Direction, int]:
        said = self._track("messages")
        return {direction: self._track(name, said) for direction, name in _SIDES.items()}

    def _track(self, name: str, parent: int = 0, *, counter: bool = False, unit: str = "") -> int:
        self._tracks += 1
        packet = self._packet(0)
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
            packet.track_descriptor.sibling_order_rank = self._tracks
        if counter:
            packet.track_descriptor.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def _packet(self, moment: int) -> TracePacket:
        packet = self._builder.create_packet()
        packet.timestamp = moment
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def _event(self, moment: int, kind: int, track: int, name: str = "", told: Iterable[tuple[str, Any]] = ()) -> None:
        packet = self._packet(moment)
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        if name:
            event.name = name
        for key, value in told:
            if value is not None:
                note = event.debug_annotations.add()
                note.name = key
                if isinstance(value, int):
                    note.int_value = value
                elif isinstance(value, float):
                    note.double_value = value
                else:
                    note.string_value = value
        self._builder.write_packet(packet)

    def _count(self, moment: int, track: int, value: float) -> None:
        if self._shown.get(track) == value:
            return
        self._shown[track] = value
        packet = self._packet(moment)
        packet.track_event.type = TrackEvent.TYPE_COUNTER
        packet.track_event.track_uuid = track
        packet.track_event.double_counter_value = value
        self._builder.write_packet(packet)

    def said(self, moment: int, number: int, direction: Direction, size: int, message: Message | None) -> None:
        """A message as a mark."""
        kinds = Counter(type(event).__name__.removesuffix("Event") for event in message.events) if message else {}
        name = ", ".join(kind if count == 1 else f"{kind} x{count}" for kind, count in kinds.items())
        jobs = [str(each) for event in (message.events if message else ()) if (each := getattr(event, "job_id", ""))]
        left = f" and {len(jobs) - MENTIONED} more" if len(jobs) > MENTIONED else ""
        self._event(
            moment,
            TrackEvent.TYPE_INSTANT,
            self._events[direction],
            name or ("nothing" if message else "not read"),
            [
                ("message", number),
                ("bytes", size),
                ("now", message.now if message else None),
                ("events", len(message.events) if message else None),
                ("jobs", " ".join(jobs[:MENTIONED]) + left if jobs else None),
            ],
        )

    def take(self, moment: int, message: Message, over: list[ToldJob], book: JobBook) -> None:
        """What a message changes."""
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

    def _start(self, job: ToldJob) -> None:
        self._waiting.discard(job.job_id)
        places = []
        touched: set[int] = set()
        for first, last in read_hosts(job.hosts).intervals:
            touched.update(range(first // self._width, min(last // self._width + 1, len(self._groups))))
        for group in sorted(touched):
            lanes = self._groups[group]
            if not lanes.free:
                name = lanes.name if not lanes.tracks else f"{lanes.name} ({len(lanes.tracks) + 1})"
                lanes.tracks.append(self._track(name, self._hosts))
                lanes.free.append(len(lanes.tracks) - 1)
            places.append((group, heapq.heappop(lanes.free)))
        self._on[job.job_id] = job, places

    def _end(self, moment: int, job: ToldJob) -> None:
        self._waiting.discard(job.job_id)
        _, places = self._on.pop(job.job_id, (job, []))
        start = moment_of(job.started)
        end = max(start, moment if job.finished is None else moment_of(job.finished))
        told = [
            ("hosts", job.hosts),
            ("profile", job.profile_id),
            ("submitted", job.submitted),
            ("waited", job.waited),
            ("walltime", job.walltime),
            ("state", "not over" if job.state is None else job.state.name),
        ]
        for group, lane in places:
            lanes = self._groups[group]
            self._event(start, TrackEvent.TYPE_SLICE_BEGIN, lanes.tracks[lane], job.job_id, told)
            self._event(end, TrackEvent.TYPE_SLICE_END, lanes.tracks[lane])
            heapq.heappush(lanes.free, lane)

    def _probe(self, event: model.ProbeDataEmittedEvent) -> None:
        if event.probe_id not in self._probes:
            name = f"{event.probe_id} ({event.metrics.name})"
            unit = "W" if event.metrics is model.Metrics.Power else ""
            self._probes[event.probe_id] = self._track(name, counter=True, unit=unit)
        data = event.data.data
        value = float(data) if isinstance(data, float | int) else float(sum(data))
        self._count(moment_of(event.timestamp), self._probes[event.probe_id], value)

    def finish(self, moment: int) -> None:
        """End what still runs."""
        for job, _ in list(self._on.values()):
            self._end(moment, job)
