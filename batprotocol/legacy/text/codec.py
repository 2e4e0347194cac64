"""The codec of the text protocol: `3:10.0|10.0:S:w0!1` in, a `Message` out, and back; and the size before each message.

The table of the stamps is here, with the version of the protocol from which each exists. The documentation's own
examples use some before they exist, so they are read in all versions unless asked to be strict.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from batprotocol.errors import DecodeError, EncodeError, HostSetError, shown
from batprotocol.legacy.text import events as e
from batprotocol.model import Direction

__all__ = ["LARGEST", "STAMPS", "VERSIONS", "Stamp", "Stream", "decode", "decode_frame", "encode", "encode_frame"]

VERSIONS: Final = (0, 1, 2, 3)
"""The versions of the text protocol."""

LARGEST: Final = 2**28
"""No message is read that is larger, 256 MiB: a size of 4 GiB is a mistake, and must not be waited for."""

_SIZE = struct.Struct("=I")
_TIME = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)

B2S: Final = (Direction.BATSIM_TO_EDC,)
S2B: Final = (Direction.EDC_TO_BATSIM,)
BOTH: Final = (*B2S, *S2B)


# What is behind a stamp


def _time(text: str) -> float:
    value = float(text) if _TIME.fullmatch(text) else float("nan")
    if not isfinite(value):
        raise _Unfit(f"expected a number of seconds, got {shown(text)}")
    return value


def _written(value: float) -> str:
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise _Unfit(f"expected a finite number >= 0, got {shown(value)}")
    text = f"{value:f}"
    return text if float(text) == value else repr(float(value))


def _job(text: str) -> str:
    if not text:
        raise _Unfit("a job has a name")
    return text


def _job_written(text: str, forbidden: str = "|") -> str:
    if not isinstance(text, str) or not text or not text.isascii() or any(each in text for each in forbidden):
        raise _Unfit(f"{shown(text)} cannot be written as the name of a job")
    return text


def _machines(text: str) -> str:
    try:
        e.machines_of(text)
    except (HostSetError, AttributeError) as error:
        raise _Unfit(str(error)) from None
    return text


def _pstate(text: str) -> tuple[str, int]:
    machines, equals, state = text.partition("=")
    if not equals or not _INTEGER.fullmatch(state):
        raise _Unfit(f"expected machines=state, got {shown(text)}")
    return _machines(machines), int(state)


def _pstate_written(event: Any) -> str:
    if type(event.pstate) is not int or not 0 <= event.pstate < 10**9:
        raise _Unfit(f"expected the number of a power state, got {shown(event.pstate)}")
    return f"{_machines(event.machines)}={event.pstate}"


def _allocations(text: str) -> tuple[e.Allocation, ...]:
    found = []
    for part in text.split(";"):
        job, equals, machines = part.rpartition("=")
        if not equals:
            raise _Unfit(f"expected job=machines, got {shown(part)}")
        found.append(e.Allocation(_job(job), _machines(machines)))
    return tuple(found)


def _allocations_written(event: Any) -> str:
    if not event.allocations:
        raise _Unfit("an allocation has one job at least")
    return ";".join(f"{_job_written(each.job_id, '|;')}={_machines(each.machines)}" for each in event.allocations)


class _Unfit(Exception):
    """What is behind a stamp cannot be read, or cannot be written."""


class Stamp(NamedTuple):
    """A kind of event.

    Attributes:
        letter: the stamp.
        value: the class of the event.
        since: the first version of the protocol that has it.
        directions: who says it.
        read: what its content holds, None if it has none.
        write: its content.
        content: what its content looks like.
    """

    letter: str
    value: type[e.Event]
    since: int
    directions: tuple[Direction, ...]
    read: Callable[[str], Any] | None = None
    write: Callable[[Any], str] | None = None
    content: str = ""


def _of_job(event: Any) -> str:
    return _job_written(event.job_id)


def _of_machines(event: Any) -> str:
    return _machines(event.machines)


STAMPS: Final[tuple[Stamp, ...]] = (
    Stamp("S", e.JobSubmission, 2, B2S, _job, _of_job, "WLOAD!JOB_ID"),
    Stamp("C", e.JobCompletion, 2, B2S, _job, _of_job, "WLOAD!JOB_ID"),
    Stamp("J", e.JobAllocation, 2, S2B, _allocations, _allocations_written, "WLOAD!JID1=MID1,MID2,MIDn[;...]"),
    Stamp("N", e.Nop, 0, BOTH),
    Stamp("P", e.PStateRequest, 1, S2B, _pstate, _pstate_written, "MID1,MID2,MIDn=PSTATE"),
    Stamp("p", e.PStateChanged, 1, B2S, _pstate, _pstate_written, "MID1,MID2,MIDn=PSTATE"),
    Stamp("R", e.JobRejection, 2, S2B, _job, _of_job, "WLOAD!JOB_ID"),
    Stamp("n", e.NopMeLater, 1, S2B, _time, lambda event: _written(event.time), "TIME"),
    Stamp("E", e.EnergyRequest, 1, S2B),
    Stamp("e", e.Energy, 1, B2S, _time, lambda event: _written(event.consumed_energy), "CONSUMED_ENERGY"),
    Stamp("A", e.SimulationBegins, 3, B2S),
    Stamp("Z", e.SimulationEnds, 3, B2S),
    Stamp("F", e.MachinesFailed, 3, B2S, _machines, _of_machines, "MID1,MID2,MIDn"),
    Stamp("f", e.MachinesRepaired, 3, B2S, _machines, _of_machines, "MID1,MID2,MIDn"),
)
"""All stamps, in the order of the documentation."""

_BY_LETTER: Final[Mapping[str, Stamp]] = {stamp.letter: stamp for stamp in STAMPS}
_BY_VALUE: Final[Mapping[type, Stamp]] = {stamp.value: stamp for stamp in STAMPS}


# Reading


def decode(data: bytes | bytearray | memoryview | str, *, strict: bool = False) -> e.Message:
    """Read a message of the text protocol, without the size before it.

    Args:
        data: the text, in ASCII.
        strict: whether a stamp is refused that the message's version does not have.

    Raises:
        DecodeError: this is no message; it tells where.

    >>> decode(b"3:10.5|10:S:w0!1|10.5:N").events
    (JobSubmission(timestamp=10.0, job_id='w0!1'), Nop(timestamp=10.5))
    """
    try:
        text = data if isinstance(data, str) else str(bytes(data), "ascii")
        text.encode("ascii")
    except UnicodeError as error:
        raise DecodeError("the protocol is one of ASCII", "", getattr(error, "start", None)) from None
    head, *parts = text.split("|")
    version, colon, time = head.partition(":")
    if not colon or not _INTEGER.fullmatch(version):
        raise DecodeError(f"expected VERSION:TIME, got {shown(head)}", "", 0)
    if int(version) not in VERSIONS:
        raise DecodeError(f"expected a version from 0 to 3, got {version}", "version", 0)
    offset = len(version) + 1
    try:
        now = _time(time)
    except _Unfit as error:
        raise DecodeError(str(error), "now", offset) from None
    if not parts:
        raise DecodeError("a message has one event at least, if only N", "events", len(head))
    events = []
    offset = len(head) + 1
    for index, part in enumerate(parts):
        events.append(_event(part, f"events[{index}]", offset, int(version), strict))
        offset += len(part) + 1
    return e.Message(int(version), now, tuple(events))


def _event(part: str, path: str, offset: int, version: int, strict: bool) -> e.Event:
    time, _, rest = part.partition(":")
    letter, colon, content = rest.partition(":")
    stamp = _BY_LETTER.get(letter)
    if stamp is None:
        raise DecodeError(f"expected TIME:STAMP, got {shown(part)}", path, offset)
    if strict and version < stamp.since:
        reason = f"the stamp {letter} exists from version {stamp.since} on, not in {version}"
        raise DecodeError(reason, path, offset)
    try:
        timestamp = _time(time)
        if stamp.read is None:
            if colon:
                raise _Unfit(f"the stamp {letter} has no content, got {shown(content)}")
            return stamp.value(timestamp)
        if not colon:
            raise _Unfit(f"the stamp {letter} has a content: {stamp.content}")
        found = stamp.read(content)
    except _Unfit as error:
        raise DecodeError(str(error), path, offset) from None
    if stamp.read is _pstate:
        return stamp.value(timestamp, *found)
    return stamp.value(timestamp, found)  # type: ignore[call-arg]


# Writing


def encode(message: e.Message) -> bytes:
    """Write a message of the text protocol, without the size before it.

    Args:
        message: the message. A stamp is written in versions that have it only.

    Raises:
        EncodeError: the protocol cannot say this; it tells where.

    >>> encode(e.Message(3, 15.0, [e.JobAllocation(15.0, [e.Allocation("w0!1", "0-3")])]))
    b'3:15.000000|15.000000:J:w0!1=0-3'
    """
    if message.version not in VERSIONS or type(message.version) is not int:
        raise EncodeError(f"expected a version from 0 to 3, got {shown(message.version)}", "version")
    if not message.events:
        raise EncodeError("a message has one event at least, if only a Nop", "events")
    path = "now"
    try:
        parts = [f"{message.version}:{_written(message.now)}"]
        for index, event in enumerate(message.events):
            path = f"events[{index}]"
            parts.append(_part(event, message.version))
    except _Unfit as error:
        raise EncodeError(str(error), path) from None
    return "|".join(parts).encode("ascii")


def _part(event: e.Event, version: int) -> str:
    stamp = _BY_VALUE.get(type(event))
    if stamp is None:
        raise _Unfit(f"expected an event of the text protocol, got {shown(event)}")
    if version < stamp.since:
        raise _Unfit(f"the stamp {stamp.letter} exists from version {stamp.since} on, not in {version}")
    head = f"{_written(event.timestamp)}:{stamp.letter}"
    return head if stamp.write is None else f"{head}:{stamp.write(event)}"


# The size before each message


def decode_frame(data: bytes | bytearray | memoryview, *, strict: bool = False) -> e.Message:
    """Read a message behind its size, an unsigned integer of four bytes in the order of the machine.

    Raises:
        DecodeError: the size is another one, or this is no message.
    """
    given = bytes(data)
    if len(given) < _SIZE.size:
        raise DecodeError(f"expected a size of {_SIZE.size} bytes, found {len(given)} bytes", "", 0)
    (size,) = _SIZE.unpack_from(given)
    if size != len(given) - _SIZE.size:
        raise DecodeError(f"its size says {size} bytes, but {len(given) - _SIZE.size} bytes follow", "", 0)
    return decode(given[_SIZE.size :], strict=strict)


def encode_frame(message: e.Message) -> bytes:
    """Write a message behind its size.

    Raises:
        EncodeError: the protocol cannot say this.
    """
    data = encode(message)
    return _SIZE.pack(len(data)) + data


class Stream:
    """What comes through a Unix socket, cut into messages. It does no I/O.

    >>> stream = Stream()
    >>> [len(each) for each in stream.feed(encode_frame(e.Message(3, 0.0, [e.SimulationBegins(0.0)])) + b"\\x05")]
    [21]
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take what has come, and give the contents of the messages that are whole.

        Raises:
            DecodeError: a message is larger than `LARGEST`.
        """
        self._held += data
        while len(self._held) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._held)
            if size > LARGEST:
                raise DecodeError(f"its size says {size} bytes, and a message has {LARGEST} at most", "", 0)
            end = _SIZE.size + size
            if len(self._held) < end:
                return
            content = bytes(self._held[_SIZE.size : end])
            del self._held[:end]
            yield content
