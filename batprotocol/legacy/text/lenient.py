"""The messages of a scheduler, as Batsim reads them: all forms that it accepts, in the form that it writes itself.

Batsim ignores the head. It reads several bars, colons or commas as one. Of a number, it reads the part that is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.cpp import integer, real
from batprotocol.legacy.text import events as e
from batprotocol.legacy.text.stamps import BY_LETTER, Unfit

__all__ = ["read_event", "read_head", "split"]


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
    """An event. `Unfit` where Batsim aborts."""
    parts = split(part, ":")
    if len(parts) < 2 or len(parts[1]) != 1:
        raise Unfit(f"expected TIME:STAMP, got {shown(part)}")
    stamp = BY_LETTER.get(parts[1])
    if stamp is None:
        raise Unfit(f"there is no stamp {shown(parts[1])}")
    time = _time(parts[0])
    expected = 2 if stamp.read is None else 3
    if len(parts) != expected:
        more = f"a content: {stamp.content}" if stamp.read is not None else "no content"
        raise Unfit(f"the stamp {stamp.letter} has {more}, got {shown(part)}")
    if stamp.read is None:
        return stamp.value(time)
    read = _CONTENTS.get(stamp.letter)
    values = stamp.read(parts[2]) if read is None else read(parts[2], version)
    return stamp.value(time, *values)


def _time(text: str) -> float:
    value = real(text)
    if value is None or not isfinite(value):
        raise Unfit(f"expected a number of seconds, got {shown(text)}")
    return value


def _number(text: str, what: str) -> int:
    value = integer(text)
    if value is None:
        raise Unfit(f"expected {what}, got {shown(text)}")
    return value


def _job(text: str, version: int | None) -> str:
    if version is None:
        if not text:
            raise Unfit("a job has a name")
        return text
    if version < 2:
        return str(_number(text, "the number of a job"))
    parts = split(text, "!")
    if len(parts) > 2:
        raise Unfit(f"expected WORKLOAD!NUMBER, got {shown(text)}")
    workload = parts[0] if len(parts) == 2 else "static"
    return f"{workload}!{_number(parts[-1], 'the number of a job')}"


def _machines(text: str, version: int | None) -> str:
    """Machines in their order, as numbers and intervals."""
    found = []
    for part in split(text, ","):
        ends = [part] if version == 0 else split(part, "-")
        if len(ends) > 2:
            raise Unfit(f"{shown(part)} is neither a machine nor an interval a-b")
        first, last = _number(ends[0], "a machine"), _number(ends[-1], "a machine")
        if first > last or first < 0:
            raise Unfit(f"{shown(part)} is neither a machine nor an interval a-b")
        found.append(str(first) if len(ends) == 1 else f"{first}-{last}")
    return ",".join(found)


def _allocations(text: str, version: int | None) -> tuple[Any, ...]:
    found = []
    for part in split(text, ";"):
        sides = split(part, "=")
        if len(sides) != 2:
            raise Unfit(f"expected job=machines, got {shown(part)}")
        found.append(e.Allocation(_job(sides[0], version), _machines(sides[1], version)))
    return (tuple(found),)


def _pstate(text: str, version: int | None) -> tuple[Any, ...]:
    sides = split(text, "=")
    if len(sides) != 2:
        raise Unfit(f"expected machines=state, got {shown(text)}")
    state = _number(sides[1], "the number of a power state")
    if version != 0:
        return _machines(sides[0], version), state
    machine = _number(sides[0], "a machine")
    if machine < 0:
        raise Unfit(f"there is no machine {machine}")
    return str(machine), state


def _rejected(text: str, version: int | None) -> tuple[Any, ...]:
    return (_job(text, version),)


def _later(text: str, version: int | None) -> tuple[Any, ...]:
    return (_time(text),)


def _waiting(text: str, version: int | None) -> tuple[Any, ...]:
    parts = split(text, ",")
    if len(parts) < 4:
        raise Unfit(f"expected submitter,machines,seconds,seconds, got {shown(text)}")
    return parts[0], _number(parts[1], "a number of machines"), _time(parts[2]), _time(parts[3])


_CONTENTS: Final[Mapping[str, Callable[[str, int | None], tuple[Any, ...]]]] = {
    "J": _allocations,
    "P": _pstate,
    "R": _rejected,
    "n": _later,
    "W": _waiting,
}
"""The readers of the contents of a scheduler's stamps. There is no lenient reader for Batsim's own stamps."""
