"""Translation between the current protocol and the flatbuffers of another age, field by field.

The translation finds fields by their names, in both directions. This module lists the exceptions once: new names, other
units, and other ways to be absent. The translation leaves out a field that only one side has, and reports this. If the
other side cannot express an event, the translation leaves out the whole event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from batprotocol._schema.description import SCHEMA
from batprotocol.builder import PROTOCOL_VERSION
from batprotocol.errors import DecodeError, EncodeError
from batprotocol.legacy.translate._values import TranslationReport
from batprotocol.model import Message
from batprotocol.schemas import Codec, Record
from batprotocol.wire import decode_binary
from batprotocol.wire.binding import RANGES
from batprotocol.wire.reader import CODES
from batprotocol.wire.reflection import Field, Schema, Table, Type
from batprotocol.wire.tree import from_message

__all__ = ["AgeTranslation"]

_NAMES: Final = {"ExternalDecisionComponentHelloEvent": "EDCHelloEvent"}
"""Tables that have a new name."""

_HELLO: Final = "BatsimHelloEvent"
"""The event with which Batsim introduced itself. Now SimulationBeginsEvent has these fields."""

_UNSAID: Final = {"batprotocol_version": PROTOCOL_VERSION, "batsim_version": "unknown"}
"""The version of Batsim if its messages do not give it: all ages have the same one."""

_TIMES: Final = {"Second": 1.0, "Millisecond": 0.001}


class _NotCarried(Exception):
    """The other side cannot express this: the path and the reason."""


class AgeTranslation:
    """Converts the messages of a conversation from another age to the current protocol, and back.

    Args:
        schema: the schema of the other age.

    Attributes:
        report: the losses.

    >>> from batprotocol.schemas import age
    >>> translation = AgeTranslation(age("2023-07-20"))
    >>> record = {"now": 3.0, "events": [{"timestamp": 3.0, "event_type": "CallMeLaterEvent", "event":
    ...     {"call_me_later_id": "a", "when_type": "OneShot", "when": {"time": 4.5}}}]}
    >>> translation.to_today(record).events[0].when
    OneShot(time=4500, time_unit=<TimeUnit.Millisecond: 1>)
    """

    def __init__(self, schema: Schema) -> None:
        self.codec = Codec(schema)
        self.report = TranslationReport()
        self._today = Codec(SCHEMA)
        self._in = _Way(schema, SCHEMA, self.report)
        self._out = _Way(SCHEMA, schema, self.report)

    def to_today(self, record: Record) -> Message:
        """The current message for a record of the other age.

        Raises:
            DecodeError: no current message can express it.
        """
        translated = self._in.message(record)
        try:
            return decode_binary(self._today.encode(translated))
        except EncodeError as error:
            raise DecodeError(error.reason, error.path) from None

    def from_today(self, message: Message) -> Record:
        """The record of the other age for a current message.

        Raises:
            EncodeError: that schema cannot express it.
        """
        return self._out.message(from_message(message))

    def next_turn(self) -> None:
        """Count later losses for the next message."""
        self.report.message += 1


class _Way:
    """A conversion from one schema to another."""

    def __init__(self, source: Schema, target: Schema, report: TranslationReport) -> None:
        self.source, self.target, self.report = source, target, report
        back = {new: old for old, new in _NAMES.items()}
        self.names = {
            name: found for name in source.tables if (found := self.named(name, _NAMES.get(name), back.get(name)))
        }
        self.now = 0.0
        self.event = ""
        self.hello: Record = {}

    def named(self, name: str, *others: str | None) -> str | None:
        """The name of a table in the target."""
        return next((each for each in (name, *others) if each in self.target.tables), None)

    def message(self, record: Record) -> Record:
        self.now = record.get("now", 0.0)
        events = []
        for each in record.get("events", ()):
            self.event = each.get("event_type", "")
            if self.event == _HELLO and _HELLO not in self.target.unions["Event"].members:
                self.hello = each["event"]
                continue
            member = self.member("Event", self.event)
            if member is None:
                self.report.add(self.event, "", "the other side has no such event, it is left out")
                continue
            try:
                event = self.table(self.event, each.get("event", {}), member, [])
            except _NotCarried as error:
                self.report.add(self.event, "", f"it is left out: {error}")
                continue
            events.append({"timestamp": each.get("timestamp", 0.0), "event_type": member, "event": event})
        return {"now": self.now, "events": events}

    def member(self, union: str, name: str) -> str | None:
        """The name in the target's union of a table of the source."""
        found = self.names.get(name)
        there = self.target.unions.get(union)
        return found if there is not None and found in there.members else None

    def table(self, name: str, tree: Record, target: str, path: list[str]) -> Record:
        """Convert a table to the target."""
        source, into = self.source.tables[name], self.target.tables[target]
        found: Record = {}
        taken: set[str] = set()
        special = _SPECIAL.get(_NAMES.get(name, name))
        if special is not None:
            taken = special(self, source, tree, into, found)
        there = {field.name for field in into.fields} | taken
        for field in source.fields:
            if field.name not in there and field.type.kind != "utype" and not self.is_nothing(field, tree):
                self.report.add(self.event, ".".join([*path, field.name]), "the other side has no such field")
        for field in into.fields:
            if field.type.kind != "utype" and field.name not in taken:
                self.field(source, tree, field, found, [*path, field.name])
        return found

    @staticmethod
    def is_nothing(field: Field, tree: Record) -> bool:
        """Whether a field holds no information: it is absent, or has its default."""
        value = tree.get(field.name)
        return (
            value in (None, "", 0, "None") or value == field.default or (hasattr(value, "__len__") and not len(value))
        )

    def field(self, source: Table, tree: Record, field: Field, found: Record, path: list[str]) -> None:
        """Set a field of the target's table."""
        value = tree.get(field.name)
        if value is None:
            if field.required:
                found[field.name] = self.filled(source, field, path)
            return
        here = next(each for each in source.fields if each.name == field.name)
        if field.type.kind == "union":
            member = tree[f"{field.name}_type"]
            known = self.member(field.type.name, member)
            if known is None:
                if field.required:
                    raise _NotCarried(f"{'.'.join(path)} is a {member}, which the other side does not know")
                self.report.add(self.event, ".".join(path), f"the other side has no {member}")
                return
            found[f"{field.name}_type"] = known
            found[field.name] = self.table(member, value, known, path)
        else:
            found[field.name] = self.value(here.type, value, field, path)

    def value(self, type_: Type, value: Any, field: Field, path: list[str]) -> Any:
        """Convert a value to the target."""
        into = field.type
        if type_.kind == into.kind == "table":
            return self.table(type_.name, value, into.name, path)
        if type_.kind == into.kind == "enum":
            if isinstance(value, str) and value not in self.target.enums[into.name].values:
                raise _NotCarried(f"{'.'.join(path)} is {value}, which the other side does not know")
            return value
        if type_.kind == into.kind == "vector":
            assert type_.element
            if type_.element.kind != "table":
                return value
            assert into.element
            return [self.table(type_.element.name, each, into.element.name, path) for each in value]
        if type_.kind in RANGES and into.kind in RANGES and CODES[type_.kind].lower() == CODES[into.kind].lower():
            least, most = RANGES[into.kind]
            return value if least <= value <= most else (value - least) % (most - least + 1) + least  # the same bytes
        if type_.kind in CODES and into.kind.startswith("float"):
            return float(value)
        if into.kind in RANGES and isinstance(value, float):
            if not value.is_integer():
                raise _NotCarried(f"{'.'.join(path)} is {value}, and the other side has integers only")
            return int(value)
        return value

    def filled(self, source: Table, field: Field, path: list[str]) -> Any:
        """The value of a field that the target requires and the source does not have."""
        if field.type.kind == "vector":
            return []
        if field.type.kind == "string":
            return self.hello.get(field.name, "")
        if field.type.kind == "table":
            return {
                each.name: self.filled(source, each, [*path, each.name])
                for each in self.target.tables[field.type.name].fields
                if each.required
            }
        raise _NotCarried(f"{'.'.join(path)} is missing, and the other side needs it")


# Fields that need more than another name: each function returns the fields of both sides that it has converted

_Special = Callable[[_Way, Table, Record, Table, Record], set[str]]


def _fields(table: Table) -> set[str]:
    return {field.name for field in table.fields}


def _job(way: _Way, source: Table, tree: Record, target: Table, found: Record) -> set[str]:
    """The older walltime could not be absent: 0 stood for none. The older request was for hosts or for cores."""
    taken: set[str] = set()
    before, now = [{field.name for field in table.fields if field.optional} for table in (source, target)]
    if "walltime" in _fields(source) & _fields(target) and "walltime" in before ^ now:
        taken.add("walltime")
        walltime = tree.get("walltime") or 0.0
        found["walltime"] = None if "walltime" in now and walltime <= 0 else walltime
    one, other = "resource_request", "computation_resource_request"
    if other in _fields(source) and one in _fields(target):
        taken |= {one, other}
        request = tree.get(other, {})
        found[one] = request.get("host_number", request.get("core_number", 0))
        if "core_number" in request:
            way.report.add(way.event, f"job.{other}", "cores count as hosts")
    elif one in _fields(source) and other in _fields(target):
        taken |= {one, other}
        found[f"{other}_type"] = "HostNumber"
        found[other] = {"host_number": tree.get(one, 0)}
    if "rigid" in _fields(source) and "rigid" not in _fields(target):
        taken.add("rigid")
        if tree.get("rigid") is False:
            way.report.add(way.event, "job.rigid", "the other side has no such field")
    return taken


def _seconds(tree: Record, name: str) -> float:
    value: float = tree.get(name, 0)
    return value * _TIMES.get(tree.get("time_unit", "Second"), 1.0) if isinstance(value, int) else value


def _units(way: _Way, seconds: tuple[float, ...]) -> tuple[tuple[int, ...], str]:
    """Times as integers, in a unit that can express all of them."""
    if not all(math.isfinite(each) and 0 <= each < 2**53 for each in seconds):
        raise _NotCarried(f"{max(seconds)} is not a possible time on the other side")
    if all(float(each).is_integer() for each in seconds):
        return tuple(map(int, seconds)), "Second"
    exact = [round(each * 1000, 6) for each in seconds]
    if not all(each.is_integer() for each in exact):
        way.report.add(way.event, "when", "the time is rounded up to the next millisecond")
    return tuple(math.ceil(each) for each in exact), "Millisecond"


def _one_shot(way: _Way, source: Table, tree: Record, target: Table, found: Record) -> set[str]:
    """Older times were seconds in a double. Now they are an integer with a unit."""
    if ("time_unit" in _fields(source)) == ("time_unit" in _fields(target)):
        return set()
    time = _seconds(tree, "time")
    if "time_unit" in _fields(target):
        (found["time"],), found["time_unit"] = _units(way, (time,))
    else:
        found["time"] = time
    return {"time", "time_unit"}


def _periodic(way: _Way, source: Table, tree: Record, target: Table, found: Record) -> set[str]:
    """An older period began at a time. Now it fires at multiples of the period, shifted by the offset."""
    if ("time_unit" in _fields(source)) == ("time_unit" in _fields(target)):
        return set()
    period = _seconds(tree, "period")
    if "time_unit" in _fields(target):
        (found["period"],), found["time_unit"] = _units(way, (period,))
        start = tree.get("start_time", 0.0)
        if period and not math.isclose(start / period, round(start / period), abs_tol=1e-9):
            way.report.add(way.event, "when.start_time", "it fires at multiples of its period")
        elif period and start > _next(way.now, period) * (1 + 1e-12):
            way.report.add(way.event, "when.start_time", "it fires from the next multiple of its period on")
    else:
        found["period"] = period
        offset = _seconds(tree, "offset")
        found["start_time"] = _next(way.now - offset, period) + offset if period else way.now
    return {"period", "offset", "start_time", "time_unit"}


def _next(now: float, period: float) -> float:
    """The first multiple of the period after now; or now, if doubles are too coarse to distinguish them."""
    count = now / period
    return (math.floor(count) + 1) * period if count < 2**53 else now


def _begins(way: _Way, source: Table, tree: Record, target: Table, found: Record) -> set[str]:
    """Move the fields of Batsim's hello: now they are in the event of the beginning."""
    versions = {"batprotocol_version", "batsim_version", "batsim_commit"}
    if versions <= _fields(target) and not versions & _fields(source):
        for name in sorted(versions):
            value = way.hello.get(name) or _UNSAID.get(name)
            if value is not None:
                found[name] = value
    elif versions & _fields(target):
        return set()
    return versions


_SPECIAL: Final[dict[str, _Special]] = {
    "Job": _job,
    "OneShot": _one_shot,
    "Periodic": _periodic,
    "SimulationBeginsEvent": _begins,
}
