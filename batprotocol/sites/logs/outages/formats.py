"""The formats of traces of failures: a table of their names, how a file shows that it has one, and their readers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.logs.lines import opened
from batprotocol.sites.logs.outages.values import Outage

__all__ = ["OUTAGE_FORMATS", "OutageFormat", "OutageReader", "read_outages"]


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
        "batprotocol.sites.logs.outages.archive:read_archive",
        r"(?:#\s*)?event_id\s|[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\s",
    ),
    "lanl": OutageFormat(
        "the table of failures of Los Alamos National Laboratory, as CSV",
        "batprotocol.sites.logs.outages.lanl:read_lanl",
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
