"""Batsim's files of external events: one JSON object per line, read and written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from json.encoder import encode_basestring
from math import inf
from typing import Protocol

from batprotocol.errors import InputError, shown
from batprotocol.workloads.events import ExternalEventList
from batprotocol.workloads.json_stream import JsonStream
from batprotocol.workloads.profiles_json import is_amount, is_string, take

__all__ = ["event_of_line", "lines_of_events", "read_external_events", "write_event_lines", "written_event"]

_LONGEST_LINE = 1 << 24
_SPACE = b" \t\r\n"


def read_external_events(
    path: str | os.PathLike[str], *, name: str = "ee0", corrected: bool = False
) -> ExternalEventList:
    """The events of a file with lines such as `{"type": "generic", "timestamp": 10, "data": "down"}`.

    Empty lines are skipped.

    Args:
        path: the file.
        name: the list's name.
        corrected: whether events of one timestamp keep their order, and numbers of more than fifteen digits keep their
            last bits. Batsim loses the order if there are more than sixteen events in all, and loses the bits.

    Raises:
        InputError: a line has other content; the error names file and line.
        OSError: the file cannot be read.
    """
    filename = os.path.abspath(path)
    events = [event_of_line(line, filename, number, corrected) for number, line in lines_of_events(path)]
    return ExternalEventList.of(events, name=name, filename=filename, corrected=corrected)


def lines_of_events(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not empty, with their numbers from 1 on.

    Raises:
        InputError: a line has 16 MiB or more.
        OSError: the file cannot be read.
    """
    number = 0
    with open(path, "rb") as stream:
        while line := stream.readline(_LONGEST_LINE):
            number += 1
            if len(line) >= _LONGEST_LINE:
                filename = os.path.abspath(path)
                raise InputError(f"a line has {_LONGEST_LINE} bytes or more", file=filename, line=number)
            if line.strip(_SPACE):
                yield number, line


def written_event(time: float, data: str) -> str:
    """The line of an event, as `read_external_events` and Batsim read it.

    Raises:
        InputError: the time is not a finite number >= 0, or UTF-8 cannot have the data.

    >>> written_event(10.0, "down")
    '{"type":"generic","timestamp":10.0,"data":"down"}\\n'
    """
    if not 0 <= time < inf:
        raise InputError(f"expected a time >= 0 that is finite, got {time}", "timestamp")
    try:
        data.encode()
    except UnicodeEncodeError:
        raise InputError(f"expected data that UTF-8 can have, got {shown(data)}", "data") from None
    return f'{{"type":"generic","timestamp":{time!r},"data":{encode_basestring(data)}}}\n'


class HasData(Protocol):
    """An event that is a value, and that writes its data."""

    def to_data(self) -> str:
        """The data of the external event."""


class TextWriter(Protocol):
    """A file to which texts are written."""

    def write(self, text: str, /) -> object:
        """Write a text."""


def write_event_lines(events: Iterable[tuple[float, HasData]], file: TextWriter) -> int:
    """Write events with their times, in seconds, as `read_external_events` and Batsim read them.

    Args:
        events: the events, by their times.
        file: where they are written.

    Returns:
        The number of events.

    Raises:
        InputError: a time is not a finite number >= 0.
    """
    count = 0
    for time, event in events:
        file.write(written_event(time, event.to_data()))
        count += 1
    return count


def event_of_line(line: bytes, filename: str, number: int, corrected: bool) -> tuple[float, str]:
    """The timestamp and the data of a line.

    Raises:
        InputError: the line has other content; the error names file and line.
    """
    json = JsonStream(BytesIO(line), corrected=corrected)
    try:
        given = json.value()
        json.end()
        if not isinstance(given, dict):
            raise InputError(f"expected an object, got {shown(given)}")
        kind = take(given, "type", is_string)
        if kind != "generic":
            raise InputError(f"{shown(kind)} is not a type of external event; use generic", "type")
        return float(take(given, "timestamp", is_amount)), take(given, "data", is_string)
    except InputError as error:
        column = error.column if error.line == 1 else None
        raise InputError(error.reason, error.path, file=filename, line=number, column=column) from None
