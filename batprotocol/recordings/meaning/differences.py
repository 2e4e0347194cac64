"""Where two messages differ: the first place, and what is there in each.

Times may differ by a tolerance, and numbers by what JSON loses: Batsim writes 12 decimals. Measures (energy, progress)
are sums of many such, and may differ by a millionth. It must not know what does not matter: all that is given counts.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from math import isclose
from typing import Any, Final, NamedTuple

from batprotocol.errors import shown
from batprotocol.model import Doubles, Event, Message
from batprotocol.model.value import Value
from batprotocol.recordings.meaning.order import label

__all__ = ["TOLERANCE", "Difference", "Meant", "difference"]

TOLERANCE: Final = 1e-6
"""Seconds that times may differ: the last digit of Batsim's own files."""

_TIMES: Final = frozenset(["now", "timestamp", "submission_time"])
_MEASURES: Final = frozenset(["progress", "data"])
_CLOSE: Final = 1e-9
_LAST_DECIMAL: Final = 1e-12
_MEASURED: Final = 1e-6

ABSENT: Final = "nothing"


class Meant(NamedTuple):
    """A message without what does not matter.

    Attributes:
        message: what is left of it, its events in their one order.
        events: the events as they were said, in the same order.
    """

    message: Message
    events: tuple[Event, ...]

    @classmethod
    def exactly(cls, message: Message) -> Meant:
        """A message of which all matters."""
        return cls(message, message.events)


class Difference(NamedTuple):
    """Where two messages differ first.

    Attributes:
        place: the field, in the words of the schema, behind the event that it is of; or which events differ.
        one: what is there in the first message, as text.
        other: what is there in the second.
    """

    place: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.place}: {self.one} and {self.other}"


def difference(one: Meant, other: Meant, tolerance: float = TOLERANCE) -> Difference | None:
    """Where two messages differ first, or None if they are alike.

    Args:
        one: what one side means, see `Meaning`.
        other: what the other means.
        tolerance: how many seconds times may differ.

    >>> print(difference(Meant.exactly(Message(1.0)), Meant.exactly(Message(2.0))))
    now: 1.0 and 2.0
    """
    if one.message == other.message:
        return None
    mine, theirs = (list(map(label, each.message.events)) for each in (one, other))
    if mine != theirs:
        return _events(mine, theirs, one, other)
    for said, first, second in zip(one.events, one.message.events, other.message.events, strict=True):
        found = _fields(first, second, "", tolerance)
        if found is not None:
            return Difference(f"{_titled(said)}, {found.place}", found.one, found.other)
    now, then = one.message.now, other.message.now
    return None if _alike(now, then, "now", tolerance) else Difference("now", repr(now), repr(then))


def _titled(event: Event) -> str:
    """What an event is called, with the ids that it was said with."""
    kind, about = label(event)
    return f"{kind} of {shown(about)}" if about else kind


def _events(mine: list[tuple[str, str]], theirs: list[tuple[str, str]], one: Meant, other: Meant) -> Difference:
    """Events that only one of them has, or else those that stand in another order."""
    only_mine, only_theirs = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    if not only_mine and not only_theirs:
        place = next(number for number, (name, also) in enumerate(zip(mine, theirs, strict=True)) if name != also)
        return Difference("the order of events", _titled(one.events[place]), _titled(other.events[place]))
    first = next((_titled(said) for name, said in zip(mine, one.events, strict=True) if name in only_mine), ABSENT)
    second = next(
        (_titled(said) for name, said in zip(theirs, other.events, strict=True) if name in only_theirs), ABSENT
    )
    return Difference("events", first, second)


def _fields(one: Any, other: Any, name: str, tolerance: float) -> Difference | None:
    """The first field in which two values differ."""
    if _alike(one, other, name.rpartition(".")[2].partition("[")[0], tolerance):
        return None
    if type(one) is type(other) and isinstance(one, Value):
        for field in one.__struct_fields__:
            path = f"{name}.{field}" if name else field
            found = _fields(getattr(one, field), getattr(other, field), path, tolerance)
            if found is not None:
                return found
        return None
    if isinstance(one, tuple | Doubles) and isinstance(other, tuple | Doubles):
        for place, (first, second) in enumerate(zip_longest(one, other, fillvalue=ABSENT)):
            found = _fields(first, second, f"{name}[{place}]", tolerance)
            if found is not None:
                return found
        return None
    return Difference(name, _written(one), _written(other))


def _written(value: Any) -> str:
    if value is None or value is ABSENT:
        return ABSENT
    return repr(value) if isinstance(value, float) else shown(value)


def _alike(one: Any, other: Any, name: str, tolerance: float) -> bool:
    """Whether two values are equal, or close enough where they are numbers."""
    if one == other:
        return True
    if not (isinstance(one, float | int) and isinstance(other, float | int)):
        return False
    if name in _TIMES:
        return abs(one - other) <= tolerance
    if isinstance(one, float) or isinstance(other, float):
        if one != one and other != other:
            return True
        if name in _MEASURES:
            return isclose(one, other, rel_tol=_MEASURED, abs_tol=_CLOSE)
        return isclose(one, other, rel_tol=_CLOSE, abs_tol=_LAST_DECIMAL)
    return False
