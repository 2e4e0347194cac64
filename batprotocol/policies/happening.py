"""The events of hosts that come in a simulation, read and checked one after the other.

This module must not know what a policy does about them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from batprotocol.errors import InputError
from batprotocol.model import ExternalEventOccurredEvent, GenericExternalEvent
from batprotocol.workloads.host_events import HostEvent, HostStates, Window, read_host_event

__all__ = ["Happening"]

logger = logging.getLogger("batprotocol.policies")


class Happening:
    """Events of hosts in their order. Bad ones are logged with the reason, and ignored.

    Args:
        hosts: the numbers of the computation hosts.
    """

    def __init__(self, hosts: Iterable[int] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._states = HostStates(max(self._hosts, default=-1) + 1)
        self._waiting: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, event: ExternalEventOccurredEvent) -> None:
        """An external event has occurred, about hosts or about something else."""
        if isinstance(event.external_event, GenericExternalEvent):
            self._waiting.append(event.external_event.data)

    def announce(self, window: Window) -> None:
        """A window is known without an event."""
        self._waiting.append(window.to_data())

    def take(self, now: float) -> Iterator[HostEvent | Window]:
        """The events of hosts until now.

        Args:
            now: the time. The timestamps of external events can be earlier than they occur.
        """
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            try:
                event = read_host_event(data)
                if event is not None:
                    self._check(event)
                    self._states.take(now, event)
                    yield event
            except InputError as error:
                logger.warning("an event of hosts is ignored: %s", error)

    def _check(self, event: HostEvent | Window) -> None:
        """Batsim numbers storage hosts, too: events of hosts are not about those."""
        if len(self._hosts) == self._states.host_count:
            return
        other = next((host for host in event.hosts if host not in self._hosts), None)
        if other is not None and other < self._states.host_count:
            raise InputError(f"expected computation hosts, got host {other}, which is none", "hosts")
