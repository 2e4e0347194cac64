"""When hosts were down, drained or promised, from events of hosts in the order of their times.

This module must not know the source of the events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from batprotocol.errors import InputError
from batprotocol.recordings.timeline.switches import Power, Switches
from batprotocol.recordings.timeline.values import MOST_HOSTS, OffDuty
from batprotocol.workloads.host_events import HostChange, HostEvent, Window, read_host_event

__all__ = ["Absences", "absences_of"]

_POWER: Final = {HostChange.DOWN: Power.DOWN, HostChange.DRAIN: Power.DRAINED, HostChange.UP: Power.ON}


class Absences:
    """Follows hosts that fail, come back, are drained or are promised. All are up at first.

    >>> absences = Absences()
    >>> absences.read(5.0, '{"hosts": "0-1", "state": "down"}')
    >>> absences.read(9.0, '{"hosts": "0-1", "state": "up"}')
    >>> absences.finish(20.0)
    [OffDuty(first=0, last=1, start=5.0, end=9.0, is_switching=False, reason='down')]
    """

    def __init__(self) -> None:
        self._switches = Switches()
        self._windows: list[Window] = []

    def read(self, time: float, data: str) -> None:
        """The data of an external event at this time. Data about something else, and bad data, have no effect."""
        try:
            event = read_host_event(data)
        except InputError:
            return
        if event is not None:
            self.take(time, event)

    def take(self, time: float, event: HostEvent | Window) -> None:
        """An event of hosts happens at this time."""
        if event.hosts.intervals[-1][1] >= MOST_HOSTS:
            return
        if isinstance(event, Window):
            self._windows.append(event)
        else:
            self._switches.change(time, event.hosts.intervals, _POWER[event.state])

    def finish(self, end: float) -> list[OffDuty]:
        """All times at which hosts were away or reserved, until the end of the run. Windows come first."""
        windows = [
            OffDuty(first, last, each.begin, min(each.end, end), reason="closed" if each.is_closed else "reserved")
            for each in self._windows
            if each.begin < end
            for first, last in each.hosts.intervals
        ]
        return windows + self._switches.finish(end)


def absences_of(events: Iterable[tuple[float, HostEvent | Window]], end: float) -> list[OffDuty]:
    """All times at which hosts were away or reserved.

    Args:
        events: the events with their times, by their times.
        end: the end of the run, in seconds.
    """
    absences = Absences()
    for time, event in events:
        absences.take(time, event)
    return absences.finish(end)
