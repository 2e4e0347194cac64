"""External events: events that a simulation reports at given times, for instance the failure of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from batprotocol.workloads.unstable import unstable_sorted

__all__ = ["ExternalEventList", "TimedEvent"]


class TimedEvent(NamedTuple):
    """A generic external event.

    Args:
        timestamp: the time of the event, in seconds, >= 0.
        id: its full name, `ee0!0`; the number is that of the line in the file.
        data: free text.
    """

    timestamp: float
    id: str
    data: str


class ExternalEventList(msgspec.Struct, frozen=True):
    """The events of one file, by timestamp. Events of the same timestamp are in the order of the file.

    Args:
        events: the events.
        name: the list's name, the part before the `!`.
        filename: the file that it was read from, or "".

    >>> ExternalEventList.of([(10.0, "up"), (5.0, "down")]).events[0]
    TimedEvent(timestamp=5.0, id='ee0!1', data='down')
    """

    events: tuple[TimedEvent, ...]
    name: str = "ee0"
    filename: str = ""

    @classmethod
    def of(
        cls, events: Iterable[tuple[float, str]], *, name: str = "ee0", filename: str = "", corrected: bool = False
    ) -> ExternalEventList:
        """The list of these (timestamp, data) pairs, which may come in any order.

        Args:
            events: the pairs; timestamps in seconds.
            name: the list's name.
            filename: the file that they come from, or "".
            corrected: whether events of one timestamp keep their order. Batsim loses the order if there are more than
                sixteen events in all.
        """
        numbered = [TimedEvent(float(time), f"{name}!{number}", data) for number, (time, data) in enumerate(events)]
        sort = sorted if corrected else unstable_sorted
        return cls(tuple(sort(numbered, key=_timestamp)), name, filename)

    def named(self, name: str) -> ExternalEventList:
        """The same list under another name."""
        cut = len(self.name)
        renamed = (event._replace(id=name + event.id[cut:]) for event in self.events)
        return ExternalEventList(tuple(renamed), name, self.filename)


def _timestamp(event: TimedEvent) -> float:
    return event.timestamp
