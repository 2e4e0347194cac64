"""Recorded runs with something changed: in memory, as entries of a capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace
from recorded import said_in

from batprotocol import Event, Message, model
from batprotocol.model import Direction
from batprotocol.recordings import Entry
from batprotocol.wire import FORMATS, binary, frames

Run: TypeAlias = list[Entry]
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


def loaded(path: Path) -> Run:
    return [
        Entry(number, direction, said if isinstance(said, bytes) else said.to_binary())
        for number, (direction, said) in enumerate(said_in(path))
    ]


def with_message(run: Run, number: int, message: Message) -> Run:
    """The same run with another message, in binary."""
    encode = frames.encode_hello if number == 1 else binary.encode
    data = encode(message, allow_late_events=True)
    return [*run[:number], Entry(number, run[number].direction, data), *run[number + 1 :]]


def with_events(run: Run, number: int, events: list[Event]) -> Run:
    message = run[number].message
    assert message is not None
    return with_message(run, number, replace(message, events=tuple(events)))


def every(run: Run, kind: type[Any]) -> Iterator[tuple[int, int, Any]]:
    """The events of a type, with the numbers of their message and of their place in it."""
    for entry in run:
        for place, event in enumerate(entry.message.events if entry.message is not None else ()):
            if isinstance(event, kind):
                yield entry.number, place, event


def changed(run: Run, number: int, place: int, **fields: Any) -> Run:
    """The same run with an event whose fields are others."""
    message = run[number].message
    assert message is not None
    events = list(message.events)
    events[place] = replace(events[place], **fields)
    return with_events(run, number, events)


def without(run: Run, number: int, place: int) -> Run:
    """The same run without an event."""
    message = run[number].message
    assert message is not None
    return with_events(run, number, [event for index, event in enumerate(message.events) if index != place])


def rewritten(run: Run, change: Callable[[Direction, Message], Message]) -> Run:
    """The same run with all messages changed."""
    found = list(run)
    for entry in run:
        if entry.message is not None:
            found = with_message(found, entry.number, change(entry.direction, entry.message))
    return found


def in_json(run: Run) -> Run:
    """The same run in the other format."""
    found = []
    for entry in run:
        data = entry.data
        if entry.number == 1 and entry.message is not None:
            data = frames.encode_hello(entry.message, "json")
        elif entry.message is not None:
            data = FORMATS["json"].encode(entry.message)
        found.append(Entry(entry.number, entry.direction, data))
    return found


NAMED = ("call_me_later_id", "probe_id")


def renamed(direction: Direction, message: Message) -> Message:
    """Other ids of calls and probes."""

    def other(event: Any) -> Any:
        return replace(event, **{name: f"x{getattr(event, name)[::-1]}" for name in NAMED if hasattr(event, name)})

    return replace(message, events=tuple(map(other, message.events)))


def exchanged(direction: Direction, message: Message) -> Message:
    """Decisions of one moment that have nothing to do with one another, in another order."""
    apart = (model.ExecuteJobEvent, model.RejectJobEvent, model.CallMeLaterEvent, model.KillJobsEvent)
    about: list[str] = []
    for event in message.events:
        about += getattr(event, "job_ids", None) or [getattr(event, "job_id", None) or str(event)]
    if (
        all(isinstance(event, apart) for event in message.events)
        and len({event.timestamp for event in message.events}) < 2
    ):
        taken: list[int] = []
        for event in message.events:
            if isinstance(event, model.ExecuteJobEvent):
                taken += model.parse_hosts(event.allocation.host_allocation)
        if len(set(taken)) == len(taken) and len(set(about)) == len(about):
            return replace(message, events=message.events[::-1])
    return message
