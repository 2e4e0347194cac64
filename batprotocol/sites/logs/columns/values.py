"""Values of tables by their kinds: times, durations, counts, memory, names of hosts, states."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import Any, Final

from batprotocol._util.times import Clock, not_before
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.columns.mapping import UNITS, Column
from batprotocol.sites.logs.columns.places import getter
from batprotocol.sites.logs.jobs import JobState
from batprotocol.sites.logs.slurm.times import NOTHING as NO_TIME
from batprotocol.sites.logs.tables.rows import UNREADABLE
from batprotocol.workloads.requests import expanded_names

__all__ = ["NOTHING", "reader"]

NOTHING: Final = frozenset({"", "nan", "NaN", "None", "null", "NULL", "NaT", "N/A"})
"""The texts that mean that there is no value."""

_LARGEST: Final = 2.0**53
_LATEST: Final = 1e12
_OF_STATUS: Final[dict[str, Callable[[int], int]]] = {
    "exit": lambda status: status >> 8 & 0xFF,
    "signal": lambda status: status & 0x7F,
}
"""The exit code and the signal in a status of `wait`."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]+")

Read = Callable[[Mapping[str, Any]], Any]
"""Reads a value of a row; None: there is none. It raises a ValueError if the value is not of its kind."""


def reader(column: Column, kind: str, zone: tzinfo) -> Read:
    """A function that reads the value of a column.

    Args:
        column: the column.
        kind: the kind of the value.
        zone: the zone of times that have none.
    """
    find = getter(column.column)
    convert = _KINDS[kind](column, zone)
    missing = NOTHING | {str(each) for each in column.missing}
    values = column.values

    def read(row: Mapping[str, Any]) -> Any:
        value = find(row)
        if value is None or value != value:  # a missing number of Parquet may be NaN
            return None
        if value is UNREADABLE or isinstance(value, dict):
            raise ValueError(value)
        if isinstance(value, str):
            value = value.strip()
        if not isinstance(value, list) and (missing and str(value) in missing):
            return None
        if values and not isinstance(value, list):
            value = values.get(str(value), value)
        return convert(value, row)

    return read


def _time(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    factor = UNITS["time"][column.unit or "s"]
    clock = Clock(zone, NO_TIME)
    added = reader(Column(column.plus, column.plus_unit), "duration", zone) if column.plus else None

    latest: float | None = -math.inf  # None: the rows are not in the order of this column

    def convert(value: Any, row: Mapping[str, Any]) -> float | None:
        nonlocal latest
        moment: float | None
        before = -math.inf if latest is None else latest
        if isinstance(value, datetime):
            moment = (value if value.tzinfo else value.replace(tzinfo=zone)).timestamp()
            moment = moment if value.tzinfo else not_before(moment, before, zone)
        elif isinstance(value, str) and not _is_number(value):
            moment = clock.after(value, before)
        else:
            moment = _number(value) * factor
        if moment is not None and latest is not None:
            latest = moment if moment >= latest else None
        if moment is not None and added is not None:
            more = added(row)
            moment = None if more is None else moment + more
        if moment is not None and not abs(moment) < _LATEST:
            raise ValueError(value)
        return moment

    return convert


def _duration(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    factor = UNITS["duration"][column.unit or "s"]

    def convert(value: Any, row: Mapping[str, Any]) -> float:
        seconds = _number(value) * factor
        if not 0 <= seconds < _LATEST:
            raise ValueError(value)
        return seconds

    return convert


def _amount(kind: str) -> Callable[[Column, tzinfo], Callable[[Any, Mapping[str, Any]], Any]]:
    def make(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
        units = UNITS[kind]
        factor = units[column.unit or next(iter(units))]
        by = reader(Column(column.times), "number", zone) if column.times else None

        def convert(value: Any, row: Mapping[str, Any]) -> int | None:
            if column.length:
                if not isinstance(value, list):
                    raise ValueError(value)
                return len(value)
            number: float = value if type(value) is int and factor == 1.0 else _number(value) * factor
            if by is not None:
                times = by(row)
                if times is None:
                    return None
                number *= times
            if not 0 <= number < _LARGEST:
                raise ValueError(value)
            if column.unit in _OF_STATUS:
                return _OF_STATUS[column.unit](int(number))
            return math.ceil(round(number, 6))

        return convert

    return make


def _plain_number(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    return lambda value, row: _number(value)


def _text(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    others = [reader(Column(each), "text", zone) for each in column.also]

    def convert(value: Any, row: Mapping[str, Any]) -> str:
        if isinstance(value, list):
            raise ValueError(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
            value = int(value)  # a column of whole numbers with a missing one is read as doubles by some programs
        return ".".join([str(value), *(str(found) for other in others if (found := other(row)) is not None)])

    return convert


def _names(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    def convert(value: Any, row: Mapping[str, Any]) -> tuple[str, ...]:
        if isinstance(value, list):
            return tuple(dict.fromkeys(str(each) for each in value if each is not None))
        text = str(value)
        if "[" in text and not text.startswith("["):
            try:
                return tuple(expanded_names(text))
            except InputError:
                raise ValueError(value) from None
        return tuple(dict.fromkeys(_NAME.findall(text)))

    return convert


def _state(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    # Of a word that is no state, the caller counts that it cannot be read: an attempt has the state UNKNOWN then.
    return lambda value, row: JobState(str(value).upper().partition(" ")[0])


_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def _truth(column: Column, zone: tzinfo) -> Callable[[Any, Mapping[str, Any]], Any]:
    def convert(value: Any, row: Mapping[str, Any]) -> bool:
        found = _TRUTHS.get(str(value).lower())
        if found is None:
            raise ValueError(value)
        return found

    return convert


_KINDS: Final = {
    "time": _time,
    "duration": _duration,
    "count": _amount("count"),
    "memory": _amount("memory"),
    "number": _plain_number,
    "text": _text,
    "names": _names,
    "state": _state,
    "truth": _truth,
}
"""For each kind, the function that makes the conversion of a column."""


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal()


def _number(value: Any) -> float:
    """A finite number.

    Raises:
        ValueError: the value is not a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(shown(value))
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(shown(value)) from None
    if not math.isfinite(number):
        raise ValueError(shown(value))
    return number
