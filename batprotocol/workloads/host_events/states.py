"""The states of hosts through a sequence of events, which refuses events that cannot be meant.

This module must not know files, and what schedulers do about events.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

from batprotocol.errors import InputError
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.workloads.host_events.events import HostChange, HostEvent, Window

__all__ = ["HostStates"]

_UP: Final = 0
_DRAINED: Final = 1
_DOWN: Final = 2
_CODES: Final = {HostChange.UP: _UP, HostChange.DRAIN: _DRAINED, HostChange.DOWN: _DOWN}


class HostStates:
    """Which hosts are down or drained, and which windows are known. In the beginning, all hosts are up.

    Events must come in the order of their times. An event that is refused changes nothing.

    Args:
        host_count: the number of hosts; they are 0 to `host_count` - 1.

    >>> from batprotocol.workloads.host_events import read_host_event
    >>> states = HostStates(8)
    >>> states.take(10.0, read_host_event('{"hosts": "0-3", "state": "down"}'))
    >>> states.take(20.0, read_host_event('{"hosts": "0-1", "state": "up"}'))
    >>> states.down
    FrozenHosts('2-3')
    >>> states.take(30.0, read_host_event('{"hosts": "0", "state": "up"}'))
    Traceback (most recent call last):
    ...
    batprotocol.errors.InputError: state: host 0 is up already: it must fail or be drained before it comes back
    """

    def __init__(self, host_count: int) -> None:
        self.host_count = host_count
        self._states = bytearray(host_count)
        self._windows: list[tuple[float, int, Window]] = []
        self._longest = 0.0
        self._order = 0

    @property
    def down(self) -> FrozenHosts:
        """The hosts that have failed."""
        return self._in_state(_DOWN)

    @property
    def drained(self) -> FrozenHosts:
        """The hosts where no job may start, and the jobs on them run to their ends."""
        return self._in_state(_DRAINED)

    @property
    def windows(self) -> list[Window]:
        """The windows that are known and were not over at the last event, by their begins."""
        return [window for _, _, window in self._windows]

    def _in_state(self, code: int) -> FrozenHosts:
        return frozen_hosts(host for host, state in enumerate(self._states) if state == code)

    def take(self, time: float, event: HostEvent | Window) -> None:
        """An event happens.

        Args:
            time: its time, in seconds of the simulation.
            event: the event.

        Raises:
            InputError: it names a host that does not exist; a host comes back that is up, fails while it is down, or is
                drained while it is drained or down; or a window begins before its event, or overlaps with another one.
        """
        last = event.hosts.intervals[-1][1]
        if last >= self.host_count:
            known = f"0 to {self.host_count - 1}" if self.host_count else "none"
            raise InputError(f"there is no host {last}; the hosts are {known}", "hosts")
        if isinstance(event, Window):
            self.announce(time, event)
        else:
            self._change(event)

    def _change(self, event: HostEvent) -> None:
        states = self._states
        for first, last in event.hosts.intervals:
            for code in _REFUSED[event.state]:
                host = states.find(code, first, last + 1)
                if host >= 0:
                    raise InputError(f"host {host} {_REFUSED[event.state][code]}", "state")
        code = _CODES[event.state]
        for first, last in event.hosts.intervals:
            states[first : last + 1] = bytes((code,)) * (last + 1 - first)

    def announce(self, time: float, window: Window) -> None:
        """A window is announced, whose hosts may be any.

        Args:
            time: the time, in seconds of the simulation.
            window: the window.

        Raises:
            InputError: the window begins before its event, or overlaps with another one.
        """
        if window.begin < time:
            raise InputError(
                f"expected a time that is not before the event, which is at {time:.15g}, got {window.begin:.15g}",
                "window.begin",
            )
        if self._windows and self._windows[0][2].end <= time:
            self._windows = [entry for entry in self._windows if entry[2].end > time]
        first = bisect_left(self._windows, (window.begin - self._longest, -1))
        last = bisect_left(self._windows, (window.end, -1))
        for _, _, other in self._windows[first:last]:
            if window.overlaps(other):
                named = f" {other.name!r}" if other.name else ""
                hosts = (window.hosts & other.hosts).text
                raise InputError(
                    f"it overlaps with the window{named} from {other.begin:.15g} to {other.end:.15g} on hosts {hosts}",
                    "window",
                )
        self._order += 1
        insort(self._windows, (window.begin, self._order, window))
        self._longest = max(self._longest, window.end - window.begin)


_REFUSED: Final = {
    HostChange.UP: {_UP: "is up already: it must fail or be drained before it comes back"},
    HostChange.DOWN: {_DOWN: "is down already: it must come back before it fails again"},
    HostChange.DRAIN: {
        _DRAINED: "is drained already: it must come back before it is drained again",
        _DOWN: "is down: it must come back before it is drained",
    },
}
"""The states in which hosts cannot change to a state, and why."""
