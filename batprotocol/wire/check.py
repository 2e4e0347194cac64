"""Whether a value can be written: types, ranges, required fields, union members, text, depth.

The binary encoder writes first, and calls this module only after an error; `MessageBuilder` calls it before it takes a
value. The error names the field. This module does not know the rules of the conversation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from batprotocol.errors import EncodeError, an, shown
from batprotocol.model import Doubles, Message, ProtocolEnum, Value
from batprotocol.wire.binding import ENVELOPE, MAX_DEPTH, RANGES, class_of, enum_of, member_of, wrapped

if TYPE_CHECKING:
    from batprotocol.wire.reflection import Field, Type

__all__ = ["check", "check_for", "refuse_late_events"]

_EVENT_DEPTH = 3  # below the message (1) and the table that holds the timestamp (2)

_Check = Callable[[Any, int], None]


def check(value: Value) -> None:
    """Raise `EncodeError`, with the path below `value` in the schema's words, if the wire cannot carry it.

    Args:
        value: a message, an event, or any other value.
    """
    if isinstance(value, Message):
        _named("now", _double, value.now, 0)
        _sequence(value.events, "events", _event, _EVENT_DEPTH)
    elif type(value) in member_of("Event"):
        _fields(value, _EVENT_DEPTH)
        _named("timestamp", _double, value.timestamp, 0)  # type: ignore[attr-defined]  # events have one
    else:
        _fields(value, 1)


def refuse_late_events(message: Message) -> None:
    """Raise `EncodeError` if an event is later than its message, as the rule time.after-now has it.

    Args:
        message: a message that can be written otherwise.
    """
    now = float(message.now)
    for index, event in enumerate(message.events):
        timestamp = float(event.timestamp)
        if not timestamp <= now and timestamp == timestamp:
            raise EncodeError(
                f"{type(event).__name__} is at {timestamp}, after the now of its message, {now}: give the message a "
                "later now (allow_late_events=True writes it as it is)",
                f"events[{index}].timestamp",
            )


def _event(value: Any, depth: int) -> None:
    if type(value) not in member_of("Event"):
        _refuse("an event", value)
    _named("timestamp", _double, value.timestamp, 0)
    _named("event", _fields, value, depth)


def _fields(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise EncodeError(f"tables nest more than {MAX_DEPTH} deep")
    for name, check_field in _checks(value.__class__):
        try:
            check_field(getattr(value, name), depth)
        except EncodeError as error:
            raise _below(error, name) from None


@cache
def _checks(class_: type[Any]) -> list[tuple[str, _Check]]:
    from batprotocol._schema.description import TABLES

    table = TABLES.get(class_.__name__)
    if table is None or class_of(table.name) is not class_ or table.name == ENVELOPE:
        raise EncodeError(f"expected a value of the protocol, got {an(class_.__name__)}")
    return [(field.name, _optional(field)) for field in table.fields if field.type.kind != "utype"]


def _optional(field: Field) -> _Check:
    check_field = check_for(field.type)
    can_be_none = not field.required and (field.optional or field.default is None)

    def check_optional(value: Any, depth: int) -> None:
        if value is not None:
            check_field(value, depth)
        elif not can_be_none:
            raise EncodeError("this field is required, got None")

    return check_optional


def check_for(type_: Type) -> _Check:
    """The check for values of this type, except None. Its arguments are the value, and the depth of its table."""
    if type_.kind in ("string", "bool", "float64"):
        return {"string": _text, "bool": _flag, "float64": _double}[type_.kind]
    if type_.kind == "enum":
        return _enum(type_.name)
    if type_.kind == "union":
        return _union(type_.name)
    if type_.kind == "table":
        inner = wrapped(type_.name)
        return _wrapper(inner) if inner else _table(type_.name)
    if type_.kind == "vector":
        assert type_.element
        return _vector(type_.element)
    return _integer(type_.kind)


def _text(value: Any, depth: int) -> None:
    if not isinstance(value, str):
        _refuse("a string", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise EncodeError(f"expected text that UTF-8 can carry, got {shown(value)}: {error.reason}") from None


def _flag(value: Any, depth: int) -> None:
    if not isinstance(value, bool):
        _refuse("True or False", value)


def _double(value: Any, depth: int) -> None:
    if isinstance(value, float):
        return
    if isinstance(value, bool | str) or not hasattr(type(value), "__float__"):
        _refuse("a number", value)
    try:
        float(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise EncodeError(f"expected a double, got {shown(value)}: {error}") from None


def _integer(kind: str) -> _Check:
    least, most = RANGES[kind]

    def check_integer(value: Any, depth: int) -> None:
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            _refuse(f"an integer ({kind})", value)
        if not least <= operator.index(value) <= most:
            raise EncodeError(f"expected {an(kind)}, in [{least}, {most}], got {shown(value)}")

    return check_integer


def _enum(name: str) -> _Check:
    enum, check_number = enum_of(name), _integer("int8")

    def check_enum(value: Any, depth: int) -> None:
        if type(value) is enum:
            return
        if isinstance(value, ProtocolEnum | bool) or not isinstance(value, int):
            _refuse(an(name), value)
        check_number(value, depth)

    return check_enum


def _union(name: str) -> _Check:
    def check_union(value: Any, depth: int) -> None:
        members = member_of(name)
        table = members.get(type(value))
        if table is None:
            _refuse(" or ".join(class_.__name__ for class_ in members), value)
        _check_for_table(table)(value, depth)

    return check_union


@cache
def _check_for_table(name: str) -> _Check:
    from batprotocol.wire.reflection import Type

    return check_for(Type("table", name))


def _table(name: str) -> _Check:
    class_ = class_of(name)

    def check_table(value: Any, depth: int) -> None:
        if type(value) is not class_:
            _refuse(an(name), value)
        _fields(value, depth + 1)

    return check_table


def _wrapper(inner: Field) -> _Check:
    check_inner = check_for(inner.type)
    return lambda value, depth: check_inner(value, depth + 1)


def _vector(element: Type) -> _Check:
    if element.kind == "float64":

        def check_doubles(value: Any, depth: int) -> None:
            if type(value) is not Doubles:
                _refuse("a sequence of numbers", value)

        return check_doubles
    check_element = check_for(element)
    what = f"a sequence of {element}"

    def check_vector(value: Any, depth: int) -> None:
        if type(value) is not tuple:
            _refuse(what, value)
        _each(value, check_element, depth)

    return check_vector


def _sequence(value: Any, name: str, check_element: _Check, depth: int) -> None:
    if type(value) is not tuple:
        raise EncodeError(f"expected a sequence, got {shown(value)}", name)
    try:
        _each(value, check_element, depth)
    except EncodeError as error:
        raise _below(error, name) from None


def _each(values: tuple[Any, ...], check_element: _Check, depth: int) -> None:
    for index, each in enumerate(values):
        try:
            check_element(each, depth)
        except EncodeError as error:
            raise _below(error, f"[{index}]") from None


def _named(name: str, check_value: _Check, value: Any, depth: int) -> None:
    try:
        check_value(value, depth)
    except EncodeError as error:
        raise _below(error, name) from None


def _below(error: EncodeError, name: str) -> EncodeError:
    separator = "" if not error.path or error.path.startswith("[") else "."
    return EncodeError(error.reason, f"{name}{separator}{error.path}")


def _refuse(expected: str, value: object) -> NoReturn:
    raise EncodeError(f"expected {expected}, got {shown(value)} ({type(value).__name__})")
