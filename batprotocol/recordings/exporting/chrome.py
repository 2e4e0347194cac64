"""A trace as JSON, in Chrome's Trace Event Format: Perfetto opens it, as do chrome://tracing and Speedscope.

It needs no other package. `traces` says what is in it.
"""

from __future__ import annotations

from typing import IO, Any

import msgspec

from batprotocol.recordings.exporting.run import Run
from batprotocol.recordings.exporting.traces import Notes, trace

__all__ = ["write_chrome"]


def write_chrome(run: Run, file: IO[bytes]) -> None:
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
