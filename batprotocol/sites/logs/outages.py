"""Published traces of failures: which nodes were away, and when, read as outages and made events of hosts.

There are the tables `event_trace` of the Failure Trace Archive, and the table of Los Alamos National Laboratory
(LA-UR-05-7318), 1996 to 2005. All that is left out is counted by reason.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from importlib import import_module
from typing import Final, NamedTuple, Protocol

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import not_before, zone_of
from batprotocol.errors import InputError, hint, shown
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.sites.logs.sources import opened
from batprotocol.workloads.host_events import HostEvent
from batprotocol.workloads.host_events.failures import merged_outages
from batprotocol.workloads.platform import natural_order

__all__ = [
    "OUTAGE_FORMATS",
    "Outage",
    "OutageFormat",
    "OutageReader",
    "outage_events",
    "read_archive",
    "read_lanl",
    "read_outages",
]


class Outage(msgspec.Struct, frozen=True, gc=False):
    """A time for which a node was away.

    Attributes:
        node: the name or the number of the node in the trace.
        begin: when it failed, in seconds since 1970 (UTC).
        end: when it was back, later than the begin; None: the trace does not say.
        reason: the cause, as the trace has it, or "".
        line: the number of its line in the file, from 1 on.
    """

    node: str
    begin: float
    end: float | None
    reason: str
    line: int


# The Failure Trace Archive


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
                places = _archive_places(values, source.name, number)
                if not values[0].isdigit():
                    continue
            elif values[0].startswith("#"):
                continue
            if system is not None and _archive_value(values, places, "platform_id") != system:
                continue
            found = _archive_outage(values, places, number)
            if isinstance(found, Outage):
                yield found
            elif found is not None:
                left_out.row(found, number)


def _archive_places(values: list[str], name: str, number: int) -> dict[str, int]:
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


def _archive_value(values: list[str], places: dict[str, int], column: str) -> str:
    place = places.get(column)
    return values[place] if place is not None and place < len(values) else ""


def _archive_outage(values: list[str], places: dict[str, int], number: int) -> Outage | str | None:
    """The outage of a row; None for a row of availability; or why it is left out."""
    node, kind = _archive_value(values, places, "node_id"), _archive_value(values, places, "event_type")
    if kind == _AVAILABLE:
        return None
    if kind != _UNAVAILABLE:
        return "its type is neither 0 (unavailable) nor 1 (available)"
    if node in _NOTHING:
        return "it has no node"
    begin = seconds(_archive_value(values, places, "event_start_time"))
    if begin is None:
        return "its start is not a time"
    text = _archive_value(values, places, "event_stop_time")
    end = None if text in _NOTHING else seconds(text)
    if end is None and text not in _NOTHING:
        return "its stop is not a time"
    if end is not None and end <= begin:
        return "it does not end after it begins"
    return Outage(node, begin, end, _REASONS.get(_archive_value(values, places, "event_end_reason"), ""), number)


def seconds(text: str) -> float | None:
    """A finite number of seconds, or None."""
    try:
        found = float(text) if len(text) <= 40 else math.nan
    except ValueError:
        return None
    return found if abs(found) <= 2**43 else None


# Los Alamos National Laboratory


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
                places = _lanl_places(values, source.name, number)
                continue
            if system is not None and _lanl_value(values, places, _SYSTEM) != system:
                continue
            found = _lanl_outage(values, places, number, times, system is None)
            if isinstance(found, Outage):
                yield found
            else:
                left_out.row(found, number)


def _lanl_places(values: list[str], name: str, number: int) -> dict[str, int]:
    places = {" ".join(value.lower().split()): place for place, value in enumerate(values)}
    if not {_SYSTEM, _BEGIN, _END} <= set(places) or not any(column in places for column in _NODES):
        raise InputError(
            f"expected the columns System, nodenum, Prob Started and Prob Fixed, got {shown(values)}",
            file=name,
            line=number,
        )
    return places


def _lanl_value(values: list[str], places: dict[str, int], column: str) -> str:
    place = places.get(column)
    return values[place].strip() if place is not None and place < len(values) else ""


def _lanl_outage(
    values: list[str], places: dict[str, int], number: int, zone: tzinfo, with_system: bool
) -> Outage | str:
    """The outage of a row, or why it is left out."""
    node = next((found for column in _NODES if (found := _lanl_value(values, places, column))), "")
    if not node:
        return "it has no node"
    begin = _time(_lanl_value(values, places, _BEGIN), zone)
    if begin is None:
        return "its start is not a time"
    text = _lanl_value(values, places, _END)
    end = _time(text, zone) if text else None
    if text and end is None:
        return "its end is not a time"
    if end is not None:
        end = not_before(end, math.nextafter(begin, math.inf), zone)
    if end is not None and end <= begin:
        return "it does not end after it begins"
    causes = [f"{column}: {found}" for column in _CAUSES if (found := _lanl_value(values, places, column))]
    name = f"{_lanl_value(values, places, _SYSTEM)}.{node}" if with_system else node
    return Outage(name, begin, end, "; ".join(causes), number)


def _time(text: str, zone: tzinfo) -> float | None:
    if len(text) <= 20:
        for form in _FORMS:
            try:
                return datetime.strptime(text, form).replace(tzinfo=zone).timestamp()
            except (ValueError, OverflowError):
                continue
    return None


# Formats


class OutageReader(Protocol):
    """A reader of a format. It streams."""

    def __call__(
        self, path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None, system: str | None = None
    ) -> Iterator[Outage]:
        """The outages of a file, in its order.

        Args:
            path: the file, compressed by gzip or xz or not.
            left_out: where it counts what it leaves out.
            zone: the zone of times that have none; None: UTC.
            system: only the nodes of this system (or platform) of the trace; None: of all.

        Raises:
            InputError: the file as a whole cannot be read.
            OSError: the file cannot be read.
        """


class OutageFormat(NamedTuple):
    """A format of traces of failures.

    Attributes:
        title: what it is, for lists.
        place: the module and the function of its reader, `module:function`.
        looks_like: a regular expression that matches the first bytes of such a file.
    """

    title: str
    place: str
    looks_like: str

    def reader(self) -> OutageReader:
        """The reader of the format."""
        module, _, function = self.place.partition(":")
        found: OutageReader = getattr(import_module(module), function)
        return found


OUTAGE_FORMATS: Final[dict[str, OutageFormat]] = {
    "fta": OutageFormat(
        "the table event_trace of the Failure Trace Archive",
        "batprotocol.sites.logs.outages:read_archive",
        r"(?:#\s*)?event_id\s|[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\s",
    ),
    "lanl": OutageFormat(
        "the table of failures of Los Alamos National Laboratory, as CSV",
        "batprotocol.sites.logs.outages:read_lanl",
        r"(?i:system,)",
    ),
}
"""The formats by their names, in the order in which a file is compared with them."""


def read_outages(
    path: str | os.PathLike[str],
    left_out: LeftOut,
    *,
    format: str | None = None,
    zone: str | None = None,
    system: str | None = None,
) -> Iterator[Outage]:
    """The outages of a trace of failures, in its order.

    Args:
        path: the file, compressed by gzip or xz or not.
        left_out: where what is left out is counted.
        format: the name of its format, one of `OUTAGE_FORMATS`; None: the file shows it.
        zone: the zone of times that have none, such as `America/Denver`; None: UTC.
        system: only the nodes of this system (or platform) of the trace; None: of all.

    Raises:
        InputError: the format is unknown, or the file as a whole cannot be read.
        OSError: the file cannot be read.
    """
    name = _format_of(path) if format is None else format
    found = OUTAGE_FORMATS.get(name)
    if found is None:
        raise InputError(
            f"expected a format, {', '.join(OUTAGE_FORMATS)}, got {shown(name)}{hint(name, OUTAGE_FORMATS)}"
        )
    return found.reader()(path, left_out, zone=zone, system=system)


def _format_of(path: str | os.PathLike[str]) -> str:
    with opened(path) as source:
        begin = source.first()[:1000].decode("utf-8-sig", "replace")
    for name, format in OUTAGE_FORMATS.items():
        if re.match(format.looks_like, begin.lstrip()):
            return name
    known = ", ".join(OUTAGE_FORMATS)
    raise InputError(
        f"expected a trace of failures, got {shown(begin[:40])}: name its format, {known}", file=os.fspath(path)
    )


# Events: each node of a trace is a host of the platform


def outage_events(
    outages: Iterable[Outage],
    hosts: Sequence[str] | int,
    left_out: LeftOut,
    *,
    since: float | None = None,
    until: float | None = None,
) -> list[tuple[float, HostEvent]]:
    """The events of hosts of a trace, by their times. Outages of a node that overlap are one.

    Args:
        outages: the outages, in any order.
        hosts: the names of the platform's computation hosts, or their number. A node is the host of its name. If no
            node is a host's name, the nodes are the hosts in their natural order: `n2` comes before `n10`.
        left_out: where the outages of nodes without a host, and those outside the time, are counted.
        since: the time 0 of the simulation, in seconds since 1970; None: the begin of the first outage. A node that is
            away at this time fails at 0.
        until: outages that begin at this time or later are left out, in seconds since 1970; None: none are.

    >>> trace = [Outage("b", 100.0, 160.0, "", 1), Outage("a", 130.0, None, "", 2)]
    >>> [(time, each.state.value, each.hosts.text) for time, each in outage_events(trace, 2, LeftOut())]
    [(0.0, 'down', '1'), (30.0, 'down', '0'), (60.0, 'up', '1')]
    """
    found = list(outages)
    numbers = _numbers({outage.node for outage in found}, hosts)
    sets = [frozen_hosts(host) for host in range(hosts if isinstance(hosts, int) else len(hosts))]
    begin = min((outage.begin for outage in found), default=0.0) if since is None else since
    changes: list[tuple[float, FrozenHosts, bool]] = []
    for outage in found:
        number = numbers.get(outage.node)
        if number is None:
            left_out.row("its node has no host: the platform has fewer hosts, or other names", outage.line)
        elif outage.end is not None and outage.end <= begin:
            left_out.row("it ends before the time begins", outage.line)
        elif until is not None and outage.begin >= until:
            left_out.row("it begins after the time ends", outage.line)
        else:
            changes.append((max(outage.begin - begin, 0.0), sets[number], True))
            if outage.end is None:
                left_out.value("it has no end: its host stays away", outage.line)
            else:
                changes.append((outage.end - begin, sets[number], False))
    changes.sort(key=_time_of_change)
    return list(merged_outages(changes, len(sets)))


def _time_of_change(change: tuple[float, FrozenHosts, bool]) -> float:
    return change[0]


def _numbers(nodes: Iterable[str], hosts: Sequence[str] | int) -> dict[str, int]:
    """The host of each node that has one."""
    ordered = sorted(nodes, key=natural_order)
    if not isinstance(hosts, int):
        named = {name: number for number, name in enumerate(hosts)}
        if any(node in named for node in ordered):
            return {node: named[node] for node in ordered if node in named}
    count = hosts if isinstance(hosts, int) else len(hosts)
    return {node: number for number, node in enumerate(ordered[:count])}
