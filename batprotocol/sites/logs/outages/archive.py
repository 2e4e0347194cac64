"""Reads the tables `event_trace` of the Failure Trace Archive.

D. Kondo, B. Javadi, A. Iosup and D. Epema, "The Failure Trace Archive: enabling comparative analysis of failures in
diverse distributed systems", CCGrid 2010. The format is that of the archive's page "FTAFormat": rows of
unavailability (type 0) and of availability (type 1) of the components of nodes, with times in seconds since 1970.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.lines import opened
from batprotocol.sites.logs.outages.values import Outage

__all__ = ["read_archive"]

_COLUMNS: Final = (
    *("event_id", "component_id", "node_id", "platform_id", "node_name"),
    *("event_type", "event_start_time", "event_stop_time", "event_end_reason"),
)
"""The columns in their order, for tables without a header. The page calls the stop time `event_end_time`."""
_OTHER_NAMES: Final = {"event_end_time": "event_stop_time"}
_NEEDED: Final = ("node_id", "event_type", "event_start_time", "event_stop_time")
_UNAVAILABLE: Final = "0"
_AVAILABLE: Final = "1"
_NOTHING: Final = ("", "NULL", "\\N")
_REASONS: Final = {
    "1": "miscellaneous",
    "2": "mouse activity",
    "3": "keyboard activity",
    "4": "scheduled downtime",
    "5": "graceful shutdown",
    "6": "hard shutdown",
}


def read_archive(
    path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None, system: str | None = None
) -> Iterator[Outage]:
    """The outages of a table, in its order. It skips rows of availability, and does not count them.

    Args:
        path: the table, compressed by gzip or xz or not.
        left_out: where it counts what it leaves out.
        zone: nothing; the times of these tables are in UTC.
        system: only the nodes of this platform, by its `platform_id`; None: of all.

    Raises:
        InputError: the header lacks a column.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        places: dict[str, int] | None = None
        for number, line in source.lines(left_out):
            values = [value.strip() for value in (line.split("\t") if "\t" in line else line.split())]
            if not any(values):
                continue
            if places is None:
                places = _places(values, source.name, number)
                if not values[0].isdigit():
                    continue
            elif values[0].startswith("#"):
                continue
            if system is not None and _value(values, places, "platform_id") != system:
                continue
            found = _outage(values, places, number)
            if isinstance(found, Outage):
                yield found
            elif found is not None:
                left_out.row(found, number)


def _places(values: list[str], name: str, number: int) -> dict[str, int]:
    """The places of the columns: those of the header, or the usual ones if the first row has values."""
    if values[0].isdigit():
        return {column: place for place, column in enumerate(_COLUMNS)}
    words = [value for value in (value.lstrip("# ") for value in values) if value]
    places = {_OTHER_NAMES.get(word, word): place for place, word in enumerate(words)}
    missing = [column for column in _NEEDED if column not in places]
    if missing:
        raise InputError(
            f"expected the columns {', '.join(_NEEDED)} of an event_trace, got {shown(words)}", file=name, line=number
        )
    return places


def _value(values: list[str], places: dict[str, int], column: str) -> str:
    place = places.get(column)
    return values[place] if place is not None and place < len(values) else ""


def _outage(values: list[str], places: dict[str, int], number: int) -> Outage | str | None:
    """The outage of a row; None for a row of availability; or why it is left out."""
    node, kind = _value(values, places, "node_id"), _value(values, places, "event_type")
    if kind == _AVAILABLE:
        return None
    if kind != _UNAVAILABLE:
        return "its type is neither 0 (unavailable) nor 1 (available)"
    if node in _NOTHING:
        return "it has no node"
    begin = seconds(_value(values, places, "event_start_time"))
    if begin is None:
        return "its start is not a time"
    text = _value(values, places, "event_stop_time")
    end = None if text in _NOTHING else seconds(text)
    if end is None and text not in _NOTHING:
        return "its stop is not a time"
    if end is not None and end <= begin:
        return "it does not end after it begins"
    return Outage(node, begin, end, _REASONS.get(_value(values, places, "event_end_reason"), ""), number)


def seconds(text: str) -> float | None:
    """A finite number of seconds, or None."""
    try:
        found = float(text) if len(text) <= 40 else math.nan
    except ValueError:
        return None
    return found if abs(found) <= 2**43 else None
