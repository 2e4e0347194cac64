"""The codec of the text protocol: `3:10.0|10.0:S:w0!1` in, a `Message` out, and back.

The codec reads well-formed messages with the table of the stamps. It can read other messages in the way of Batsim.
"""

from __future__ import annotations

import re

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.legacy.text import events as e
from batprotocol.legacy.text import lenient
from batprotocol.legacy.text.stamps import BY_LETTER, BY_VALUE, VERSIONS, Unfit, fault_of, time_of, written

__all__ = ["decode", "encode"]

_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)


# Reading


def decode(
    data: bytes | bytearray | memoryview | str, version: int | None = None, *, strict: bool = False
) -> e.Message:
    """Read a message of the text protocol, without the size before it.

    Args:
        data: the text, in UTF-8; other bytes survive a round trip.
        version: the version of the Batsim that sends or receives this, in [0,3]; None: any.
        strict: whether to refuse forms that Batsim does not write itself: other forms of numbers, empty parts, and
            stamps and names of jobs that this version does not have. Otherwise, they are read as Batsim reads them.

    Raises:
        DecodeError: this is not a message, or Batsim aborts on it; the error has the place.

    >>> decode(b"3:10.5|10:S:w0!1|10.5:N").events
    (JobSubmission(timestamp=10.0, job_id='w0!1'), Nop(timestamp=10.5))
    >>> decode(b"|| 10:J:w0!01x=0,,+1", 3).events[0].allocations
    (Allocation(job_id='w0!1', machines='0,1'),)
    """
    text = data if isinstance(data, str) else str(bytes(data), "utf-8", "surrogateescape")
    try:
        return _plain(text, version, strict)
    except DecodeError:
        if strict:
            raise
    return _as_batsim(text, version)


def _plain(text: str, version: int | None, strict: bool) -> e.Message:
    head, *parts = text.split("|")
    said, colon, time = head.partition(":")
    if not colon or not _INTEGER.fullmatch(said):
        raise DecodeError(f"expected VERSION:TIME, got {shown(head)}", "", 0)
    offset = len(said) + 1
    try:
        now = time_of(time)
    except Unfit as error:
        raise DecodeError(str(error), "now", offset) from None
    if not parts:
        raise DecodeError("a message has at least one event; use N if there is no other", "events", len(head))
    events = []
    offset = len(head) + 1
    for index, part in enumerate(parts):
        events.append(_event(part, f"events[{index}]", offset, version, strict))
        offset += len(part) + 1
    return e.Message(int(said), now, tuple(events))


def _event(part: str, path: str, offset: int, version: int | None, strict: bool) -> e.Event:
    time, _, rest = part.partition(":")
    letter, colon, content = rest.partition(":")
    stamp = BY_LETTER.get(letter)
    if stamp is None:
        raise DecodeError(f"expected TIME:STAMP, got {shown(part)}", path, offset)
    if strict and version is not None and version < stamp.since:
        reason = f"the stamp {letter} exists from version {stamp.since} on, not in {version}"
        raise DecodeError(reason, path, offset)
    try:
        timestamp = time_of(time)
        if stamp.read is None:
            if colon:
                raise Unfit(f"the stamp {letter} has no content, got {shown(content)}")
            return stamp.value(timestamp)
        if not colon:
            raise Unfit(f"the stamp {letter} has a content: {stamp.content}")
        event = stamp.value(timestamp, *stamp.read(content))
        fault = fault_of(event, version)
    except Unfit as error:
        raise DecodeError(str(error), path, offset) from None
    if fault is not None:
        raise DecodeError(fault, path, offset)
    return event


def _as_batsim(text: str, version: int | None) -> e.Message:
    head, *parts = lenient.split(text, "|")
    if not parts:
        raise DecodeError("a message has at least one event; use N if there is no other", "events", len(head))
    events: list[e.Event] = []
    for index, part in enumerate(parts):
        try:
            events.append(lenient.read_event(part, version))
        except Unfit as error:
            raise DecodeError(str(error), f"events[{index}]", text.find(part)) from None
    last = max(events[-1].timestamp, 0.0)
    return e.Message(*lenient.read_head(head, version, last), tuple(events))


# Writing


def encode(message: e.Message, version: int | None = None) -> bytes:
    """Write a message of the text protocol, without the size before it. Numbers have six digits behind the point.

    Args:
        message: the message.
        version: the version of the Batsim that sends or receives this, in [0,3]; None: any.

    Raises:
        EncodeError: the protocol, or that version, cannot express this; the error has the place.

    >>> encode(e.Message(3, 15.0, [e.JobAllocation(15.0, [e.Allocation("w0!1", "0-3")])]))
    b'3:15.000000|15.000000:J:w0!1=0-3'
    """
    if type(message.version) is not int or not 0 <= message.version < 10**9:
        raise EncodeError(f"expected a version such as {VERSIONS[-1]}, got {shown(message.version)}", "version")
    if not message.events:
        raise EncodeError("a message has at least one event; use a Nop if there is no other", "events")
    path = "now"
    try:
        parts = [f"{message.version}:{written(message.now)}"]
        for index, event in enumerate(message.events):
            path = f"events[{index}]"
            parts.append(_part(event, version))
        return "|".join(parts).encode("utf-8", "surrogateescape")
    except Unfit as error:
        raise EncodeError(str(error), path) from None
    except UnicodeEncodeError:
        raise EncodeError("half of a surrogate pair cannot be written") from None


def _part(event: e.Event, version: int | None) -> str:
    stamp = BY_VALUE.get(type(event))
    if stamp is None:
        raise Unfit(f"expected an event of the text protocol, got {shown(event)}")
    if version is not None:
        if version < stamp.since:
            raise Unfit(f"the stamp {stamp.letter} exists from version {stamp.since} on, not in {version}")
        fault = fault_of(event, version)
        if fault is not None:
            raise Unfit(fault)
    head = f"{written(event.timestamp)}:{stamp.letter}"
    return head if stamp.write is None else f"{head}:{stamp.write(event)}"
