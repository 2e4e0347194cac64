"""A trace in the format of Perfetto, https://ui.perfetto.dev: packets of protobuf. It needs the package perfetto."""

from __future__ import annotations

from typing import IO, Final

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing
from batprotocol.recordings._traces import ExportedRun, Notes, trace

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
    from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
except ImportError:
    raise PackageMissing(f"a .pftrace needs the package perfetto, a .json does not: {installing('capture')}") from None


SEQUENCE: Final = 1


def write_perfetto(run: ExportedRun, file: IO[bytes]) -> None:
    """Write the trace of a capture.

    Args:
        run: the capture.
        file: where to.
    """
    trace(run, _Packets(file))


class _Packets:
    """Writes the packets of a trace."""

    def __init__(self, file: IO[bytes]) -> None:
        self._builder = StreamingTraceProtoBuilder(file)
        self._tracks = 0

    def track(self, name: str, parent: int = 0) -> int:
        return self._described(name, parent)

    def counter(self, name: str, unit: str = "") -> int:
        return self._described(name, 0, unit)

    def _described(self, name: str, parent: int, unit: str | None = None) -> int:
        self._tracks += 1
        packet = self._packet(0)
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
            packet.track_descriptor.sibling_order_rank = self._tracks
        if unit is not None:
            packet.track_descriptor.counter.unit_name = unit
        self._builder.write_packet(packet)
        return self._tracks

    def mark(self, moment: int, track: int, name: str, notes: Notes) -> None:
        self._event(moment, TrackEvent.TYPE_INSTANT, track, name, notes)

    def slice(self, start: int, end: int, track: int, name: str, notes: Notes) -> None:
        self._event(start, TrackEvent.TYPE_SLICE_BEGIN, track, name, notes)
        self._event(end, TrackEvent.TYPE_SLICE_END, track)

    def count(self, moment: int, track: int, value: float) -> None:
        packet = self._packet(moment)
        packet.track_event.type = TrackEvent.TYPE_COUNTER
        packet.track_event.track_uuid = track
        packet.track_event.double_counter_value = value
        self._builder.write_packet(packet)

    def _packet(self, moment: int) -> TracePacket:
        packet = self._builder.create_packet()
        packet.timestamp = moment
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def _event(self, moment: int, kind: int, track: int, name: str = "", notes: Notes = ()) -> None:
        packet = self._packet(moment)
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        if name:
            event.name = name
        for key, value in notes:
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
