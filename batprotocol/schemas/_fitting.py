"""Find the age of messages: compare them with the known schemas, and report the misfits.

A flatbuffer does not contain its schema, and most bytes can be read by several schemas. So a message fits only if more
than its form is right: each byte of a table belongs to a field, each number of an enum has a name, doubles and times
are plausible, and this side may send its events.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from batprotocol.errors import DecodeError, an
from batprotocol.model import BATSIM_TO_EDC, Direction
from batprotocol.schemas._codec import Record
from batprotocol.schemas._sources import AGES, TODAY, age, ages
from batprotocol.wire.reader import Reader
from batprotocol.wire.reflection import Field, Schema, Type

FROM_BATSIM: Final = frozenset({event.__name__ for event in BATSIM_TO_EDC} | {"BatsimHelloEvent"})
"""The events that Batsim sends in any age: the current ones, and one that was removed. The decision component sends all
others."""

_TINY: Final = 1e-200
"""The smallest plausible quantity of a simulation. Doubles whose bytes were an integer are smaller."""
_HUGE: Final = 2**53
"""The limit of plausible counts and times. Integers whose bytes were a double are larger."""


def misfit(data: bytes, schema: Schema, direction: Direction | None = None) -> str:
    """Why a message does not fit this schema, as one sentence; "" if it fits.

    Args:
        data: the message, in either format, without the frames of the first two messages of a conversation.
        schema: the schema.
        direction: the direction of the message, or None if it is not known.
    """
    try:
        if data[:1] == b"{":
            from batprotocol.wire.dialect.parser import read as read_json  # which takes long to import

            record = read_json(data, True, None, schema)
        else:
            record = _Exact(data, schema).message()
        return _unlikely(record, direction)
    except DecodeError as error:
        return str(error)


class Verdicts(NamedTuple):
    """The schemas that messages fit, and those that they do not fit.

    Attributes:
        fits: the names of the schemas that all messages fit, the oldest first.
        misfits: for each other schema, the first reason why not.
    """

    fits: tuple[str, ...]
    misfits: Mapping[str, str]

    def __str__(self) -> str:
        if not self.fits:
            return "it fits none of the known ages"
        if len(self.fits) == 1:
            return f"it fits {self.fits[0]}"
        return f"it fits {', '.join(self.fits[:-1])} and {self.fits[-1]}"


class Fitting:
    """Compares the messages of a conversation with several schemas, one message after the other.

    Args:
        schemas: the schemas by name. By default, all known ages.

    >>> from batprotocol.schemas import Codec, Fitting, age
    >>> fitting = Fitting()
    >>> begin = {"timestamp": 0.0, "event_type": "BatsimHelloEvent",
    ...          "event": {"batprotocol_version": "0.1.0", "batsim_version": "4.9"}}
    >>> fitting.feed(Codec(age("2024-10")).encode({"now": 0.0, "events": [begin]}), Direction.BATSIM_TO_EDC)
    >>> fitting.verdicts.fits[-1]
    '2024-10'
    """

    def __init__(self, schemas: Mapping[str, Schema] | None = None) -> None:
        self._schemas = ages() if schemas is None else schemas
        self._misfits: dict[str, str] = {}

    def feed(self, data: bytes, direction: Direction | None = None) -> None:
        """Take the next message.

        Args:
            data: the message, in either format, without the frames of the first two messages of a conversation.
            direction: the direction of the message, or None if it is not known.
        """
        for name, schema in self._schemas.items():
            if name not in self._misfits and (reason := misfit(data, schema, direction)):
                self._misfits[name] = reason

    @property
    def verdicts(self) -> Verdicts:
        """The result for all messages so far."""
        fits = tuple(name for name in self._schemas if name not in self._misfits)
        return Verdicts(fits, {name: self._misfits[name] for name in self._schemas if name in self._misfits})


def _unlikely(record: Record, direction: Direction | None) -> str:
    """The reason why a readable message is implausible, or ""."""
    now = record.get("now", 0.0)
    if not isinstance(now, float) or not isfinite(now) or now < 0:
        return f"now: {now} is not a time"
    for index, each in enumerate(record.get("events", ())):
        kind = each.get("event_type")
        if kind is None:
            return f"events[{index}].event: there is none"
        timestamp = each.get("timestamp", 0.0)
        if not 0 <= timestamp <= now:
            return f"events[{index}].timestamp: {timestamp} is not a time before {now}"
        if direction is not None and (kind in FROM_BATSIM) != (direction is Direction.BATSIM_TO_EDC):
            sender = "Batsim" if kind in FROM_BATSIM else "a decision component"
            return f"events[{index}].event_type: {kind} is sent by {sender}"
    return ""


class _Exact(Reader):
    """A reader that also refuses bytes and numbers that the schema does not explain."""

    def table(self, name: str, position: int, depth: int, tree: dict[str, Any]) -> tuple[int, int]:
        below = super().table(name, position, depth, tree)
        vtable = position - int(struct.unpack_from("<i", self.data, position)[0])
        size, length = struct.unpack_from("<HH", self.data, vtable)
        entries = struct.unpack_from(f"<{(size - 4) // 2}H", self.data, vtable + 4)
        slots = {field.slot: field for field in self.schema.tables[name].fields}
        parts = [(0, 4)]
        for slot, entry in enumerate(entries):
            if not entry:
                continue
            field = slots.get(slot)
            if field is None:
                self.fail(f"the {name} here has a field number {slot}, which this schema does not have", vtable)
            self.path.append(field.name)
            parts.append((entry, self.extent(field, position + entry)))
            self.path.pop()
        end = 0
        for start, width in sorted(parts):
            if start < end or any(self.data[position + end : position + start]):
                self.fail(f"the {name} here has bytes that belong to no field of this schema", position + end)
            end = start + width
        if end > length or any(self.data[position + end : position + length]):
            self.fail(f"the {name} here has bytes that belong to no field of this schema", position + end)
        return below

    def extent(self, field: Field, place: int) -> int:
        """The number of bytes of a field in its table. Places that no writer uses are refused."""
        if field.type.kind == "struct":
            struct_ = self.schema.tables[field.type.name]
            if place % struct_.align:
                self.fail(f"{an(field.type.name)} does not lie so", place)
            self.need(place, struct_.size, f"the field {field.name}")
            return struct_.size
        layout = self.layout(field.type)
        if place % layout.size:
            self.fail(f"{an(self.schema.kind_of(field.type))} of {layout.size} bytes does not lie so", place)
        self.need(place, layout.size, f"the field {field.name}")  # other readers do not read deprecated fields
        self.likely(field.type, layout.unpack_from(self.data, place)[0], place)
        return layout.size

    def likely(self, type_: Type, value: float, place: int) -> None:
        """Refuse a scalar that is implausible in a simulation."""
        if type_.kind == "enum":
            if value not in self.schema.names[type_.name]:
                self.fail(f"{type_.name} has no number {value}", place)
        elif type_.kind == "bool" and value > 1:
            self.fail(f"{value} is neither true nor false", place)
        elif type_.kind == "float64" and value and abs(value) < _TINY:
            self.fail(f"{value} is too small to be meant", place)
        elif type_.kind in ("int64", "uint64") and abs(value) >= _HUGE:
            self.fail(f"{value} is too large to be meant", place)


def other_ages(data: bytes, direction: Direction | None = None) -> str:
    """The ages that a message fits if it does not fit the current schema, as a sentence; "" if it fits the current one.

    Args:
        data: the message, in either format, without the frames of the first two messages of a conversation.
        direction: the direction of the message, or None if it is not known.
    """
    if not misfit(data, age(TODAY), direction):
        return ""
    fits = [name for name in AGES if name != TODAY and not misfit(data, age(name), direction)]
    if not fits:
        return ""
    several = " or ".join(fits)
    return f"it fits the schema of {several}, and not the current one: use --schema {fits[-1]} to read it"
