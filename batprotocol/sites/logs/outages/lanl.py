"""Reads the table of failures of Los Alamos National Laboratory (LA-UR-05-7318), 1996 to 2005.

Its columns are read from published uses of the table, and its meaning from the laboratory's list of questions and
answers: a row is a failure that needed an administrator, with the system, the node, its start, its end and its cause.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import not_before, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.lines import opened
from batprotocol.sites.logs.outages.values import Outage

__all__ = ["read_lanl"]

_SYSTEM: Final = "system"
_NODES: Final = ("nodenumz", "nodenum")
"""The number of the node, from 0 on; else from 1 on."""
_BEGIN: Final = "prob started"
_END: Final = "prob fixed"
_CAUSES: Final = ("facilities", "hardware", "human error", "network", "undetermined", "software")
_FORMS: Final = ("%m/%d/%Y %H:%M", "%m/%d/%y %H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")


def read_lanl(
    path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None, system: str | None = None
) -> Iterator[Outage]:
    """The outages of the table, in its order.

    Args:
        path: the table, compressed by gzip or xz or not.
        left_out: where it counts what it leaves out.
        zone: the zone of its times, such as `America/Denver`, where the machines were; None: UTC.
        system: only the nodes of this system, by its number; None: of all, and then the system is part of the node's
            name: `20.7`.

    Raises:
        InputError: the header lacks a column, or there is no such zone.
        OSError: the file cannot be read.
    """
    times = zone_of(zone)
    with opened(path) as source:
        places: dict[str, int] | None = None
        for number, line in source.lines(left_out):
            try:
                values = next(csv.reader([line], strict=True), [])
            except csv.Error:
                left_out.row("its quotation marks do not match", number)
                continue
            if not any(value.strip() for value in values):
                continue
            if places is None:
                places = _places(values, source.name, number)
                continue
            if system is not None and _value(values, places, _SYSTEM) != system:
                continue
            found = _outage(values, places, number, times, system is None)
            if isinstance(found, Outage):
                yield found
            else:
                left_out.row(found, number)


def _places(values: list[str], name: str, number: int) -> dict[str, int]:
    places = {" ".join(value.lower().split()): place for place, value in enumerate(values)}
    if not {_SYSTEM, _BEGIN, _END} <= set(places) or not any(column in places for column in _NODES):
        raise InputError(
            f"expected the columns System, nodenum, Prob Started and Prob Fixed, got {shown(values)}",
            file=name,
            line=number,
        )
    return places


def _value(values: list[str], places: dict[str, int], column: str) -> str:
    place = places.get(column)
    return values[place].strip() if place is not None and place < len(values) else ""


def _outage(values: list[str], places: dict[str, int], number: int, zone: tzinfo, with_system: bool) -> Outage | str:
    """The outage of a row, or why it is left out."""
    node = next((found for column in _NODES if (found := _value(values, places, column))), "")
    if not node:
        return "it has no node"
    begin = _time(_value(values, places, _BEGIN), zone)
    if begin is None:
        return "its start is not a time"
    text = _value(values, places, _END)
    end = _time(text, zone) if text else None
    if text and end is None:
        return "its end is not a time"
    if end is not None:
        end = not_before(end, math.nextafter(begin, math.inf), zone)
    if end is not None and end <= begin:
        return "it does not end after it begins"
    causes = [f"{column}: {found}" for column in _CAUSES if (found := _value(values, places, column))]
    name = f"{_value(values, places, _SYSTEM)}.{node}" if with_system else node
    return Outage(name, begin, end, "; ".join(causes), number)


def _time(text: str, zone: tzinfo) -> float | None:
    if len(text) <= 20:
        for form in _FORMS:
            try:
                return datetime.strptime(text, form).replace(tzinfo=zone).timestamp()
            except (ValueError, OverflowError):
                continue
    return None
