"""External events: events that a simulation reports at given times, for instance the failure of a machine.

`read_external_events` reads Batsim's files of them: one JSON object per line, in the order in which Batsim sorts them,
unless this is corrected. `write_event_lines` writes such files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from json.encoder import encode_basestring
from math import inf
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.workloads._json_stream import JsonStream
from batprotocol.workloads.workload_files import is_amount, is_string, take

__all__ = [
    "ExternalEventList",
    "TimedEvent",
    "event_of_line",
    "lines_of_events",
    "read_external_events",
    "unstable_sorted",
    "write_event_lines",
    "written_event",
]


# The order of std::sort of the GNU C++ library, for equal items
#
# Batsim sorts external events by their timestamps. Up to sixteen events with equal timestamps keep their order. If
# there are more than sixteen events, they do not.

T = TypeVar("T")
_SHORT = 16


def unstable_sorted(items: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """The items by their keys, with equal items in the order of `std::sort`.

    >>> unstable_sorted([3, 1, 2], key=lambda number: number)
    [1, 2, 3]
    """
    pairs = [(key(item), item) for item in items]
    _quicksort(pairs, 0, len(pairs), 2 * (len(pairs).bit_length() - 1))
    for last in range(1, len(pairs)):
        pair, place = pairs[last], last
        if last < _SHORT and pair[0] < pairs[0][0]:
            pairs.insert(0, pairs.pop(last))
            continue
        while place and pair[0] < pairs[place - 1][0]:
            pairs[place] = pairs[place - 1]
            place -= 1
        pairs[place] = pair
    return [item for _, item in pairs]


def _quicksort(pairs: list[tuple[Any, T]], first: int, last: int, depth: int) -> None:
    """Split until each part has at most sixteen items, or the maximum depth is reached."""
    while last - first > _SHORT:
        if depth == 0:
            _heapsort(pairs, first, last)
            return
        depth -= 1
        _median_to_first(pairs, first, first + 1, first + (last - first) // 2, last - 1)
        cut = _partition(pairs, first + 1, last, pairs[first][0])
        _quicksort(pairs, cut, last, depth)
        last = cut


def _median_to_first(pairs: list[tuple[Any, T]], first: int, a: int, b: int, c: int) -> None:
    one, two, three = pairs[a][0], pairs[b][0], pairs[c][0]
    if one < two:
        median = b if two < three else c if one < three else a
    else:
        median = a if one < three else c if two < three else b
    pairs[first], pairs[median] = pairs[median], pairs[first]


def _partition(pairs: list[tuple[Any, T]], first: int, last: int, pivot: Any) -> int:
    while True:
        while pairs[first][0] < pivot:
            first += 1
        last -= 1
        while pivot < pairs[last][0]:
            last -= 1
        if first >= last:
            return first
        pairs[first], pairs[last] = pairs[last], pairs[first]
        first += 1


def _heapsort(pairs: list[tuple[Any, T]], first: int, last: int) -> None:
    heap = pairs[first:last]
    for parent in range((len(heap) - 2) // 2, -1, -1):
        _sift(heap, parent, len(heap), heap[parent])
    for end in range(len(heap) - 1, 0, -1):
        pair, heap[end] = heap[end], heap[0]
        _sift(heap, 0, end, pair)
    pairs[first:last] = heap


def _sift(heap: list[tuple[Any, T]], hole: int, length: int, pair: tuple[Any, T]) -> None:
    """Let the hole sink to the bottom, then the pair rise in it."""
    top, child = hole, hole
    while child < (length - 1) // 2:
        child = 2 * child + 2
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and heap[parent][0] < pair[0]:
        heap[hole] = heap[parent]
        hole, parent = parent, (parent - 1) // 2
    heap[hole] = pair


class TimedEvent(NamedTuple):
    """A generic external event.

    Args:
        timestamp: the time of the event, in seconds, >= 0.
        id: its full name, `ee0!0`; the number is that of the line in the file.
        data: free text.
    """

    timestamp: float
    id: str
    data: str


class ExternalEventList(msgspec.Struct, frozen=True):
    """The events of one file, by timestamp. Events of the same timestamp are in the order of the file.

    Args:
        events: the events.
        name: the list's name, the part before the `!`.
        filename: the file that it was read from, or "".

    >>> ExternalEventList.of([(10.0, "up"), (5.0, "down")]).events[0]
    TimedEvent(timestamp=5.0, id='ee0!1', data='down')
    """

    events: tuple[TimedEvent, ...]
    name: str = "ee0"
    filename: str = ""

    @classmethod
    def of(
        cls, events: Iterable[tuple[float, str]], *, name: str = "ee0", filename: str = "", corrected: bool = False
    ) -> ExternalEventList:
        """The list of these (timestamp, data) pairs, which may come in any order.

        Args:
            events: the pairs; timestamps in seconds.
            name: the list's name.
            filename: the file that they come from, or "".
            corrected: whether events of one timestamp keep their order. Batsim loses the order if there are more than
                sixteen events in all.
        """
        numbered = [TimedEvent(float(time), f"{name}!{number}", data) for number, (time, data) in enumerate(events)]
        sort = sorted if corrected else unstable_sorted
        return cls(tuple(sort(numbered, key=_timestamp)), name, filename)

    def named(self, name: str) -> ExternalEventList:
        """The same list under another name."""
        cut = len(self.name)
        renamed = (event._replace(id=name + event.id[cut:]) for event in self.events)
        return ExternalEventList(tuple(renamed), name, self.filename)


def _timestamp(event: TimedEvent) -> float:
    return event.timestamp


# Files

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
