"""Files of events of hosts: written, and read with checks before a simulation begins.

A scheduler would find a bad event in the middle of a simulation. Here, it is an error with its file and line, or it is
left out and counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import IO, Final

from batprotocol._util.skipped_rows import LeftOut
from batprotocol.errors import InputError
from batprotocol.workloads.event_lists import event_of_line, lines_of_events, write_event_lines
from batprotocol.workloads.events import ExternalEventList, TimedEvent
from batprotocol.workloads.host_events import HostEvent, HostStates, Window, read_host_event
from batprotocol.workloads.outages.planned import OVERLAPS

__all__ = ["read_host_events", "write_host_events"]

_UNREAD: Final = {
    "": "it is not an external event",
    "hosts": "its hosts are not a set of hosts",
    "state": "its state cannot be read",
    "window": "its window cannot be read",
}
_UNFIT: Final = {
    "hosts": "it names hosts that do not exist",
    "state": "its hosts cannot change to this state, such as a repair before its failure",
    "window.begin": "its window begins before the event",
    "window": OVERLAPS,
}
"""The reasons for which an event is left out, by the path of its error: it cannot be read, or does not fit."""


def write_host_events(events: Iterable[tuple[float, HostEvent | Window]], file: IO[str]) -> int:
    """Write events of hosts as Batsim's file of external events.

    Args:
        events: the events with their times, in seconds, by their times.
        file: where they are written.

    Returns:
        The number of events.
    """
    return write_event_lines(events, file)


def read_host_events(
    paths: Sequence[str | os.PathLike[str]],
    host_count: int,
    *,
    left_out: Sequence[LeftOut] | None = None,
    corrected: bool = False,
) -> list[ExternalEventList]:
    """The events of files, of which those of hosts are checked together.

    Events that are about something else are taken as they are.

    Args:
        paths: the files.
        host_count: the number of hosts of the platform.
        left_out: where the bad events of each file are counted and left out; None: a bad event is an error.
        corrected: as for `read_external_events`.

    Raises:
        InputError: an event cannot be read, names hosts that do not exist, or cannot follow the events before: a repair
            before its failure, a second failure before the repair, or windows that overlap. The error names the file
            and the line.
        OSError: a file cannot be read.
    """
    files = [_File(path, place, None if left_out is None else left_out[place]) for place, path in enumerate(paths)]
    for file in files:
        file.read(corrected)
    states = HostStates(host_count)
    taken: list[tuple[float, _File, TimedEvent]] = [
        (event.timestamp, file, event) for file in files for event in file.events.events
    ]
    taken.sort(key=_time)
    for time, file, event in taken:
        parsed = file.parsed.get(event.id)
        if parsed is not None:
            try:
                states.take(time, parsed)
            except InputError as error:
                file.refuse(error, file.lines[event.id], _UNFIT)
                file.bad.add(event.id)
    return [file.without_bad() for file in files]


def _time(entry: tuple[float, _File, TimedEvent]) -> float:
    return entry[0]


class _File:
    """A file of events while it is read and checked."""

    def __init__(self, path: str | os.PathLike[str], place: int, left_out: LeftOut | None) -> None:
        self.filename = os.path.abspath(path)
        self.name = f"ee{place}"
        self.left_out = left_out
        self.events = ExternalEventList((), self.name, self.filename)
        self.lines: dict[str, int] = {}
        self.parsed: dict[str, HostEvent | Window] = {}
        self.bad: set[str] = set()

    def read(self, corrected: bool) -> None:
        """Read all lines."""
        pairs: list[tuple[float, str]] = []
        for line, data in lines_of_events(self.filename):
            event_id = f"{self.name}!{len(pairs)}"
            try:
                pair = event_of_line(data, self.filename, line, corrected)
                event = read_host_event(pair[1])
            except InputError as error:
                self.refuse(error, line, _UNREAD)
                continue
            pairs.append(pair)
            self.lines[event_id] = line
            if event is not None:
                self.parsed[event_id] = event
        self.events = ExternalEventList.of(pairs, name=self.name, filename=self.filename, corrected=corrected)

    def refuse(self, error: InputError, line: int, reasons: dict[str, str]) -> None:
        """Count an event that is left out, or raise its error with the place."""
        if self.left_out is None:
            raise InputError(error.reason, error.path, file=self.filename, line=line, column=error.column) from None
        reason = reasons.get(error.path) or reasons.get(error.path.partition(".")[0]) or _UNREAD[""]
        self.left_out.row(reason, line)

    def without_bad(self) -> ExternalEventList:
        """The events that were not left out."""
        if not self.bad:
            return self.events
        kept = tuple(event for event in self.events.events if event.id not in self.bad)
        return ExternalEventList(kept, self.name, self.filename)
