"""Files of events of hosts, written, and read with checks before a simulation begins; and windows that are planned.

A scheduler would find a bad event in the middle of a simulation. Here, it is an error with its file and line, or it is
skipped and counted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Final

import msgspec

from batprotocol._util.tables import LeftOut, TableRows
from batprotocol._util.times import parse_duration
from batprotocol.errors import HostSetError, InputError, shown
from batprotocol.model.hosts import HostSet, frozen_hosts
from batprotocol.workloads.events import (
    ExternalEventList,
    TimedEvent,
    event_of_line,
    lines_of_events,
    write_event_lines,
)
from batprotocol.workloads.host_events import MAINT, HostEvent, HostStates, Window, read_host_event
from batprotocol.workloads.host_events.events import WINDOW_KEYS

__all__ = [
    "OVERLAPS",
    "planned_windows",
    "read_host_events",
    "read_windows",
    "repeated_windows",
    "write_host_events",
]


# Windows that are known in advance

OVERLAPS: Final = "its window overlaps with another one on the same hosts"
"""The reason for which a window is left out that others leave no time for."""

_COLUMNS: Final = ("hosts", *WINDOW_KEYS, "announced")
_NEEDED: Final = ("hosts", "begin", "end")
_MOST: Final = 10_000_000
_LONGEST_LINE: Final = 1 << 20


def repeated_windows(
    hosts: HostSet,
    *,
    every: float,
    duration: float,
    until: float,
    at: float = 0.0,
    name: str = "",
    users: Iterable[str | int] = (),
    accounts: Iterable[str] = (),
    maintenance: bool = False,
) -> Iterator[Window]:
    """Equal windows, again and again.

    Args:
        hosts: the hosts.
        every: the time from one begin to the next, in seconds, >= `duration`.
        duration: how long each lasts, in seconds, > 0.
        until: no window begins at this time or later.
        at: the begin of the first one, in seconds.
        name: the name of each.
        users: the users whose jobs may run in them.
        accounts: the accounts whose jobs may run in them; without users and accounts, no job may.
        maintenance: whether they are planned maintenance (the flag MAINT).

    Raises:
        InputError: an argument is out of its range, or the hosts are no set of hosts.

    >>> week = 7 * 86400.0
    >>> [window.begin for window in repeated_windows("0-7", every=week, at=21600.0, duration=3600.0, until=2 * week)]
    [21600.0, 626400.0]
    """
    times: dict[str, tuple[float, bool, str]] = {
        "every": (every, 0 < every < math.inf, "seconds > 0"),
        "duration": (
            duration,
            0 < duration <= every,
            f"seconds > 0, and at most the {every:.15g} s from one begin to the next",
        ),
        "at": (at, 0 <= at < math.inf, "seconds >= 0"),
        "until": (until, 0 <= until < math.inf, "seconds >= 0"),
    }
    for name_of_time, (given, holds, expected) in times.items():
        if not holds:
            raise InputError(f"expected {expected}, got {shown(given)}", name_of_time)
    if (until - at) / every > _MOST:
        raise InputError(
            f"expected at most {_MOST:,} windows until {until:.15g} s, got one each {every:.15g} s", "every"
        )
    try:
        chosen = frozen_hosts(hosts)
    except HostSetError as error:
        raise InputError(str(error), "hosts") from None
    if not chosen.intervals:
        raise InputError("expected at least one host, got none", "hosts")
    of_users, of_accounts = tuple(users), tuple(accounts)
    flags = frozenset([MAINT] if maintenance else [])
    return (
        Window(chosen, begin, begin + duration, name, of_users, of_accounts, flags)
        for begin in _begins(at, every, until)
    )


def _begins(at: float, every: float, until: float) -> Iterator[float]:
    number = 0
    while (begin := at + number * every) < until:
        yield begin
        number += 1


def planned_windows(windows: Iterable[Window], *, announced: float | None = None) -> list[tuple[float, Window]]:
    """The windows with the times at which they are announced, by these times.

    Args:
        windows: the windows.
        announced: how long before its begin a window is announced, in seconds, but not before time 0; None: all are
            announced at time 0.

    >>> windows = repeated_windows("0", every=100.0, duration=9.0, until=250.0)
    >>> [time for time, _ in planned_windows(windows, announced=50.0)]
    [0.0, 50.0, 150.0]
    """
    if announced is not None and not announced >= 0:
        raise InputError(f"expected seconds >= 0, got {shown(announced)}", "announced")
    found = [(0.0 if announced is None else max(window.begin - announced, 0.0), window) for window in windows]
    return sorted(found, key=_announcement)


def _announcement(planned: tuple[float, Window]) -> float:
    return planned[0]


def read_windows(
    path: str | os.PathLike[str], *, announced: float | None = None, left_out: LeftOut | None = None
) -> list[tuple[float, Window]]:
    """The windows of a table, with the times at which they are announced, by these times.

    The table has a header and commas between its values. Its columns are `hosts`, `begin` and `end`, and perhaps
    `name`, `users`, `accounts`, `flags` and `announced` (how long before its begin the window is announced). Times are
    durations since the simulation began, such as `90` (seconds) or `1d8h`. Values with commas are in quotation marks.

    Args:
        path: the table.
        announced: how long before its begin a window without `announced` is announced; None: at time 0.
        left_out: where bad rows are counted; None: a bad row is an error.

    Raises:
        InputError: a row or the header cannot be read, or a window overlaps with one of a former row on the same
            hosts; the error names file, line and column.
        OSError: the file cannot be read.
    """
    filename = os.fspath(path)
    found: list[tuple[float, Window]] = []
    states = HostStates(0)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        rows = TableRows(iter(lambda: file.readline(_LONGEST_LINE), ""))
        unknown = [column for column in rows.columns if column not in _COLUMNS]
        missing = [column for column in _NEEDED if column not in rows.columns]
        if unknown or missing:
            raise InputError(
                f"expected columns {', '.join(_COLUMNS)}, got {shown(rows.columns)}", file=filename, line=1
            )
        walking = iter(rows)
        while True:
            try:
                row = next(walking, None)
                if row is None:
                    break
                planned = _planned(row, announced)
                states.announce(0.0, planned[1])
                found.append(planned)
            except ValueError as error:  # InputError, too
                if left_out is None:
                    reason, column = (error.reason, error.path) if isinstance(error, InputError) else (str(error), "")
                    raise InputError(reason, column, file=filename, line=rows.number) from None
                column = error.path if isinstance(error, InputError) else ""
                reason = f"its {column} cannot be read" if column else "the row cannot be read"
                left_out.row(OVERLAPS if column == "window" else reason, rows.number)
    return sorted(found, key=_announcement)


def _planned(row: dict[str, str], announced: float | None) -> tuple[float, Window]:
    begin, end = _duration(row, "begin"), _duration(row, "end")
    before = _duration(row, "announced") if row.get("announced") else announced
    text = {key: row[key] for key in ("name", "users", "accounts", "flags") if row.get(key)}
    data = msgspec.json.encode({"hosts": row.get("hosts", ""), "window": {"begin": begin, "end": end, **text}})
    try:
        found = read_host_event(data.decode())
    except InputError as error:
        raise InputError(error.reason, error.path.removeprefix("window.")) from None
    assert isinstance(found, Window)
    return 0.0 if before is None else max(begin - before, 0.0), found


def _duration(row: dict[str, str], column: str) -> float:
    try:
        return parse_duration(row.get(column, ""))
    except InputError as error:
        raise InputError(error.reason, column) from None


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
