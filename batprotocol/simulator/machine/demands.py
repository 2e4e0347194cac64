"""The demands of messages and tasks, created once for each host, and once for equal work on equal hosts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from batprotocol.simulator.actions.demand import PythonDemand

__all__ = ["Demands"]

_MOST_HOSTS: Final = 1 << 16
"""The maximum number of hosts of all stored tasks: a demand takes memory for each of its hosts."""


class Demands:
    """The stored demands of one machine and its copies. After unpickling, the store is empty.

    Attributes:
        messages: the demand of a message to the master, by host.
    """

    __slots__ = ("_hosts", "_tasks", "messages")

    def __init__(self) -> None:
        self.messages: dict[int, PythonDemand] = {}
        self._tasks: dict[tuple[int, Hashable], tuple[object, tuple[int, ...], PythonDemand]] = {}
        self._hosts = 0

    def find(self, profile: object, key: Hashable) -> tuple[tuple[int, ...], PythonDemand] | None:
        """The hosts and the demand of a profile with this key; None if they are not stored."""
        found = self._tasks.get((id(profile), key))
        return None if found is None else found[1:]

    def remember(self, profile: object, key: Hashable, hosts: tuple[int, ...], demand: PythonDemand) -> None:
        """Store the demand of a profile with this key, which is on these hosts."""
        self._hosts += len(hosts)
        if self._hosts > _MOST_HOSTS:
            self._tasks.clear()
            self._hosts = len(hosts)
        self._tasks[id(profile), key] = profile, hosts, demand  # a profile that is kept keeps its id

    def __getstate__(self) -> tuple[()]:
        """Pickle nothing, because demands are quickly computed again."""
        return ()

    def __setstate__(self, state: tuple[()]) -> None:
        Demands.__init__(self)
