"""The codec of the text protocol: `3:10.0|10.0:S:w0!1` in, a `Message` out, and back.

`STAMPS` is the table of stamps, as Batsim really has them: for the codec, for rules and for people. The documentation
has later versions for most of them; these were measured with four Batsims. Batsim reads more forms than it writes; the
codec does, too. A size precedes each message on a socket.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from batprotocol.errors import DecodeError, EncodeError, HostSetError, shown
from batprotocol.legacy.json.values import integer, real
from batprotocol.legacy.text import events as e
from batprotocol.model import Direction

__all__ = [
    "BY_LETTER",
    "BY_VALUE",
    "LARGEST",
    "STAMPS",
    "VERSIONS",
    "FrameStream",
    "Stamp",
    "StampFault",
    "decode",
    "decode_frame",
    "encode",
    "encode_frame",
    "fault_of",
    "read_event",
    "read_head",
    "split",
    "time_of",
    "written",
]


VERSIONS: Final = (0, 1, 2, 3)
"""The versions of the text protocol."""

_TIME = re.compile(r"[0-9]{1,309}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,9})", re.ASCII)

B2S: Final = (Direction.BATSIM_TO_EDC,)
S2B: Final = (Direction.EDC_TO_BATSIM,)
BOTH: Final = (*B2S, *S2B)


class StampFault(Exception):
    """The content of a stamp cannot be read, or cannot be written."""


class Stamp(NamedTuple):
    """A kind of event.

    Attributes:
        letter: the stamp.
        value: the class of the event.
        since: the first version of the protocol that has it.
        directions: the sides that send it.
        read: the values that its content holds, None if it has none.
        write: the content of an event.
        content: the form of its content, with WLOAD! from version 2 on.
        is_sent: for a stamp of Batsim, whether any Batsim sends it.
    """

    letter: str
    value: type[e.Event]
    since: int
    directions: tuple[Direction, ...]
    read: Callable[[str], tuple[Any, ...]] | None = None
    write: Callable[[Any], str] | None = None
    content: str = ""
    is_sent: bool = True


# Times


def time_of(text: str) -> float:
    """Read a time or an amount."""
    value = float(text) if _TIME.fullmatch(text) else float("nan")
    if not isfinite(value):
        raise StampFault(f"expected a number of seconds, got {shown(text)}")
    return value


def written(value: float) -> str:
    """Write a time or an amount as Batsim and its schedulers do: with six decimals, and no exponent."""
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise StampFault(f"expected a finite number >= 0, got {shown(value)}")
    return f"{abs(value):.6f}"


# Jobs


def _job_fault(job_id: object, version: int | None, forbidden: str) -> str | None:
    """The reason why this cannot be the name of a job in that version, None if it can."""
    if not isinstance(job_id, str) or not job_id or any(each in job_id for each in forbidden):
        return f"{shown(job_id)} cannot be written as the name of a job"
    if version is None:
        return None
    _, mark, name = job_id.rpartition("!")
    if bool(mark) != (version >= 2) or not _NUMBER.fullmatch(name):
        return f"expected {'WORKLOAD!NUMBER' if version >= 2 else 'the number of a job'}, got {shown(job_id)}"
    return None


def fault_of(event: Any, version: int | None) -> str | None:
    """The reason why that version cannot express the jobs and machines of this event, None if it can."""
    if isinstance(event, e.JobAllocation):
        for each in event.allocations:
            fault = _job_fault(each.job_id, version, "|:;=")
            if fault is not None:
                return fault
            if version == 0 and "-" in each.machines:
                return f"version 0 has no intervals of machines, got {shown(each.machines)}"
    elif isinstance(event, e.JobRejection):
        return _job_fault(event.job_id, version, "|:")
    elif isinstance(event, e.JobSubmission | e.JobCompletion):
        return _job_fault(event.job_id, version, "|")
    elif isinstance(event, e.PStateRequest | e.PStateChanged) and version == 0 and not event.machines.isdecimal():
        return f"version 0 has one machine in each such event, got {shown(event.machines)}"
    return None


def _job(text: str) -> str:
    if not text:
        raise StampFault("a job has a name")
    return text


def _read_job(text: str) -> tuple[str]:
    return (_job(text),)


def _write_job(event: Any) -> str:
    return _sayable(event.job_id, "|")


def _sayable(job_id: Any, forbidden: str) -> str:
    fault = _job_fault(job_id, None, forbidden)
    if fault is not None:
        raise StampFault(fault)
    return str(job_id)


# Machines


def _machines(text: str) -> str:
    try:
        e.machines_of(text)
    except (HostSetError, AttributeError, TypeError) as error:
        raise StampFault(str(error)) from None
    return text


def _read_machines(text: str) -> tuple[str]:
    return (_machines(text),)


def _write_machines(event: Any) -> str:
    return _machines(event.machines)


def _read_pstate(text: str) -> tuple[str, int]:
    machines, equals, state = text.partition("=")
    if not equals or not _INTEGER.fullmatch(state):
        raise StampFault(f"expected machines=state, got {shown(text)}")
    return _machines(machines), int(state)


def _write_pstate(event: Any) -> str:
    if type(event.pstate) is not int or not 0 <= event.pstate < 10**9:
        raise StampFault(f"expected the number of a power state, got {shown(event.pstate)}")
    return f"{_machines(event.machines)}={event.pstate}"


def _read_allocations(text: str) -> tuple[tuple[e.JobMachines, ...]]:
    found = []
    for part in text.split(";"):
        job, equals, machines = part.rpartition("=")
        if not equals:
            raise StampFault(f"expected job=machines, got {shown(part)}")
        found.append(e.JobMachines(_job(job), _machines(machines)))
    return (tuple(found),)


def _write_allocations(event: Any) -> str:
    if not event.allocations:
        raise StampFault("an allocation has at least one job")
    return ";".join(f"{_sayable(each.job_id, '|:;=')}={_machines(each.machines)}" for each in event.allocations)


# The other stamps


def _read_time(text: str) -> tuple[float]:
    return (time_of(text),)


def _read_query(text: str) -> tuple[str, int, float]:
    parts = text.split(",")
    if len(parts) != 3 or not parts[0] or not _INTEGER.fullmatch(parts[1]):
        raise StampFault(f"expected submitter,machines,seconds, got {shown(text)}")
    return parts[0], int(parts[1]), time_of(parts[2])


def _read_answer(text: str) -> tuple[str, int, float, float]:
    asked, _, expected = text.rpartition(",")
    return (*_read_query(asked), time_of(expected))


def _write_query(event: Any) -> str:
    submitter, count = event.submitter, event.nb_res
    if not isinstance(submitter, str) or not submitter or any(each in submitter for each in "|:,"):
        raise StampFault(f"{shown(submitter)} cannot be written as the name of a submitter")
    if type(count) is not int or not 0 <= count < 10**9:
        raise StampFault(f"expected a number of machines, got {shown(count)}")
    return f"{submitter},{count},{written(event.processing_time)}"


def _write_answer(event: Any) -> str:
    return f"{_write_query(event)},{written(event.expected_time)}"


STAMPS: Final[tuple[Stamp, ...]] = (
    Stamp("S", e.JobSubmission, 0, B2S, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("C", e.JobCompletion, 0, B2S, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("J", e.JobAllocation, 0, S2B, _read_allocations, _write_allocations, "WLOAD!JID1=MID1,MID2,MIDn[;...]"),
    Stamp("N", e.Nop, 0, BOTH),
    Stamp("P", e.PStateRequest, 0, S2B, _read_pstate, _write_pstate, "MID1,MID2,MIDn=PSTATE"),
    Stamp("p", e.PStateChanged, 0, B2S, _read_pstate, _write_pstate, "MID1,MID2,MIDn=PSTATE"),
    Stamp("R", e.JobRejection, 1, S2B, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("n", e.NopMeLater, 1, S2B, _read_time, lambda event: written(event.time), "TIME"),
    Stamp("E", e.EnergyRequest, 1, S2B),
    Stamp("e", e.Energy, 1, B2S, _read_time, lambda event: written(event.consumed_energy), "CONSUMED_ENERGY"),
    Stamp("A", e.SimulationBegins, 3, B2S),
    Stamp("Z", e.SimulationEnds, 3, B2S),
    Stamp("F", e.MachinesFailed, 3, B2S, _read_machines, _write_machines, "MID1,MID2,MIDn", False),
    Stamp("f", e.MachinesRepaired, 3, B2S, _read_machines, _write_machines, "MID1,MID2,MIDn", False),
    Stamp("Q", e.WaitingTimeQuery, 3, B2S, _read_query, _write_query, "SUBMITTER,NB_RES,SECONDS", False),
    Stamp("W", e.WaitingTime, 3, S2B, _read_answer, _write_answer, "SUBMITTER,NB_RES,SECONDS,WAITING_TIME"),
)
"""All stamps, in the order of the documentation."""

BY_LETTER: Final[Mapping[str, Stamp]] = {stamp.letter: stamp for stamp in STAMPS}
BY_VALUE: Final[Mapping[type, Stamp]] = {stamp.value: stamp for stamp in STAMPS}


# The forms that Batsim reads besides those that it writes


def split(text: str, mark: str) -> list[str]:
    """The parts between marks. Several marks in a row count as one."""
    return re.split(f"{re.escape(mark)}+", text)


def read_head(head: str, version: int | None, last: float) -> tuple[int, float]:
    """A version and a time, from any head: the numbers that can be read in it."""
    said, _, time = head.partition(":")
    number, now = integer(said), real(time)
    given = number if number is not None and number >= 0 else version or 0
    return given, now if now is not None and isfinite(now) and now >= 0 else last


def read_event(part: str, version: int | None) -> e.Event:
    """An event. `StampFault` where Batsim aborts."""
    parts = split(part, ":")
    if len(parts) < 2 or len(parts[1]) != 1:
        raise StampFault(f"expected TIME:STAMP, got {shown(part)}")
    stamp = BY_LETTER.get(parts[1])
    if stamp is None:
        raise StampFault(f"there is no stamp {shown(parts[1])}")
    time = _time(parts[0])
    expected = 2 if stamp.read is None else 3
    if len(parts) != expected:
        more = f"a content: {stamp.content}" if stamp.read is not None else "no content"
        raise StampFault(f"the stamp {stamp.letter} has {more}, got {shown(part)}")
    if stamp.read is None:
        return stamp.value(time)
    read = _CONTENTS.get(stamp.letter)
    values = stamp.read(parts[2]) if read is None else read(parts[2], version)
    return stamp.value(time, *values)


def _time(text: str) -> float:
    value = real(text)
    if value is None or not isfinite(value):
        raise StampFault(f"expected a number of seconds, got {shown(text)}")
    return value


def _number(text: str, what: str) -> int:
    value = integer(text)
    if value is None:
        raise StampFault(f"expected {what}, got {shown(text)}")
    return value


def _lenient_job(text: str, version: int | None) -> str:
    if version is None:
        if not text:
            raise StampFault("a job has a name")
        return text
    if version < 2:
        return str(_number(text, "the number of a job"))
    parts = split(text, "!")
    if len(parts) > 2:
        raise StampFault(f"expected WORKLOAD!NUMBER, got {shown(text)}")
    workload = parts[0] if len(parts) == 2 else "static"
    return f"{workload}!{_number(parts[-1], 'the number of a job')}"


def _lenient_machines(text: str, version: int | None) -> str:
    """Machines in their order, as numbers and intervals."""
    found = []
    for part in split(text, ","):
        ends = [part] if version == 0 else split(part, "-")
        if len(ends) > 2:
            raise StampFault(f"{shown(part)} is neither a machine nor an interval a-b")
        first, last = _number(ends[0], "a machine"), _number(ends[-1], "a machine")
        if first > last or first < 0:
            raise StampFault(f"{shown(part)} is neither a machine nor an interval a-b")
        found.append(str(first) if len(ends) == 1 else f"{first}-{last}")
    return ",".join(found)


def _allocations(text: str, version: int | None) -> tuple[Any, ...]:
    found = []
    for part in split(text, ";"):
        sides = split(part, "=")
        if len(sides) != 2:
            raise StampFault(f"expected job=machines, got {shown(part)}")
        found.append(e.JobMachines(_lenient_job(sides[0], version), _lenient_machines(sides[1], version)))
    return (tuple(found),)


def _pstate(text: str, version: int | None) -> tuple[Any, ...]:
    sides = split(text, "=")
    if len(sides) != 2:
        raise StampFault(f"expected machines=state, got {shown(text)}")
    state = _number(sides[1], "the number of a power state")
    if version != 0:
        return _lenient_machines(sides[0], version), state
    machine = _number(sides[0], "a machine")
    if machine < 0:
        raise StampFault(f"there is no machine {machine}")
    return str(machine), state


def _rejected(text: str, version: int | None) -> tuple[Any, ...]:
    return (_lenient_job(text, version),)


def _later(text: str, version: int | None) -> tuple[Any, ...]:
    return (_time(text),)


def _waiting(text: str, version: int | None) -> tuple[Any, ...]:
    parts = split(text, ",")
    if len(parts) < 4:
        raise StampFault(f"expected submitter,machines,seconds,seconds, got {shown(text)}")
    return parts[0], _number(parts[1], "a number of machines"), _time(parts[2]), _time(parts[3])


_CONTENTS: Final[Mapping[str, Callable[[str, int | None], tuple[Any, ...]]]] = {
    "J": _allocations,
    "P": _pstate,
    "R": _rejected,
    "n": _later,
    "W": _waiting,
}
"""The readers of the contents of a scheduler's stamps. There is no lenient reader for Batsim's own stamps."""


# Messages


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
    (JobMachines(job_id='w0!1', machines='0,1'),)
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
    except StampFault as error:
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
                raise StampFault(f"the stamp {letter} has no content, got {shown(content)}")
            return stamp.value(timestamp)
        if not colon:
            raise StampFault(f"the stamp {letter} has a content: {stamp.content}")
        event = stamp.value(timestamp, *stamp.read(content))
        fault = fault_of(event, version)
    except StampFault as error:
        raise DecodeError(str(error), path, offset) from None
    if fault is not None:
        raise DecodeError(fault, path, offset)
    return event


def _as_batsim(text: str, version: int | None) -> e.Message:
    head, *parts = split(text, "|")
    if not parts:
        raise DecodeError("a message has at least one event; use N if there is no other", "events", len(head))
    events: list[e.Event] = []
    for index, part in enumerate(parts):
        try:
            events.append(read_event(part, version))
        except StampFault as error:
            raise DecodeError(str(error), f"events[{index}]", text.find(part)) from None
    last = max(events[-1].timestamp, 0.0)
    return e.Message(*read_head(head, version, last), tuple(events))


# Writing


def encode(message: e.Message, version: int | None = None) -> bytes:
    """Write a message of the text protocol, without the size before it. Numbers have six digits behind the point.

    Args:
        message: the message.
        version: the version of the Batsim that sends or receives this, in [0,3]; None: any.

    Raises:
        EncodeError: the protocol, or that version, cannot express this; the error has the place.

    >>> encode(e.Message(3, 15.0, [e.JobAllocation(15.0, [e.JobMachines("w0!1", "0-3")])]))
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
    except StampFault as error:
        raise EncodeError(str(error), path) from None
    except UnicodeEncodeError:
        raise EncodeError("half of a surrogate pair cannot be written") from None


def _part(event: e.Event, version: int | None) -> str:
    stamp = BY_VALUE.get(type(event))
    if stamp is None:
        raise StampFault(f"expected an event of the text protocol, got {shown(event)}")
    if version is not None:
        if version < stamp.since:
            raise StampFault(f"the stamp {stamp.letter} exists from version {stamp.since} on, not in {version}")
        fault = fault_of(event, version)
        if fault is not None:
            raise StampFault(fault)
    head = f"{written(event.timestamp)}:{stamp.letter}"
    return head if stamp.write is None else f"{head}:{stamp.write(event)}"


# Frames: the size before each message


LARGEST: Final = 2**28
"""The size of the largest message, 256 MiB. A size of 4 GiB is a mistake: the reader must not wait for it."""

_SIZE = struct.Struct("=I")


def decode_frame(
    data: bytes | bytearray | memoryview, version: int | None = None, *, strict: bool = False
) -> e.Message:
    """Read a message behind its size, an unsigned integer of four bytes in the order of the machine.

    Raises:
        DecodeError: the size is wrong, or this is not a message.
    """
    given = bytes(data)
    if len(given) < _SIZE.size:
        raise DecodeError(f"expected a size of {_SIZE.size} bytes, found {len(given)} bytes", "", 0)
    (size,) = _SIZE.unpack_from(given)
    if size != len(given) - _SIZE.size:
        raise DecodeError(f"its size says {size} bytes, but {len(given) - _SIZE.size} bytes follow", "", 0)
    return decode(given[_SIZE.size :], version, strict=strict)


def encode_frame(message: e.Message, version: int | None = None) -> bytes:
    """Write a message behind its size.

    Raises:
        EncodeError: the protocol cannot express this.
    """
    data = encode(message, version)
    return _SIZE.pack(len(data)) + data


class FrameStream:
    """A reader of messages from the bytes of a Unix socket. It does no I/O.

    >>> stream = FrameStream()
    >>> [len(each) for each in stream.feed(encode_frame(e.Message(3, 0.0, [e.SimulationBegins(0.0)])) + b"\\x05")]
    [21]
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the bytes that have arrived, and return the contents of the complete messages.

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
