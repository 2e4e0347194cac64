"""Reservations as hosts of their own: the hosts of each have other numbers there, and a future of their own.

To plans, a reservation is like a partition. Its hosts are free in its windows, and for other jobs they are free at all
other times. A job takes its part of a host under all of the host's numbers. This module must not know jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batprotocol.workloads.host_events import Window
from batprotocol.workloads.host_events.events import UserId

__all__ = ["Lane", "Lanes"]


class Lane:
    """A reservation: the windows with the same hosts, name, users and accounts.

    Args:
        window: one of them.
        number: its number, > 0: no other lane has it at the same time.
        step: the distance between the numbers that a host has in two lanes.

    Attributes:
        place: a text that no partition and no other lane has.
        hosts: the hosts, by their own numbers.
        members: the same, by their numbers in this lane.
        windows: the windows that are known and not over, in the order of their begins.
    """

    __slots__ = ("_offset", "hosts", "members", "number", "place", "sample", "windows")

    def __init__(self, window: Window, number: int, step: int) -> None:
        self.sample, self.number, self._offset = window, number, number * step
        self.place = f"\0{number}"
        self.hosts = frozenset(window.hosts)
        self.members = self.numbered(self.hosts)
        self.windows: list[Window] = []

    @property
    def name(self) -> str:
        """The name of the reservation, or ""."""
        return self.sample.name

    @property
    def whose(self) -> str:
        """The users and accounts whose jobs may run in it, for people."""
        users, accounts = self.sample.users, self.sample.accounts
        named = [f"users {', '.join(map(str, users))}"] if users else []
        return " and ".join([*named, *([f"accounts {', '.join(accounts)}"] if accounts else [])])

    def rest(self, now: float) -> float:
        """How many seconds the window lasts from now on, or the next one, if none has begun.

        A window that begins when another one ends goes on with it.
        """
        begin, end = max(self.windows[0].begin, now), self.windows[0].end
        for window in self.windows[1:]:
            if window.begin > end:
                break
            end = window.end
        return end - begin

    def is_open(self, now: float) -> bool:
        """Whether a window has begun."""
        return bool(self.windows) and self.windows[0].begin <= now

    def allows(self, user: UserId | None, account: str | None) -> bool:
        """Whether a job of this user and account may run in it."""
        return self.sample.allows(user, account)

    def numbered(self, hosts: Iterable[int]) -> frozenset[int]:
        """The numbers of hosts in this lane."""
        return frozenset(host + self._offset for host in hosts)

    def own(self, hosts: Iterable[int]) -> list[int]:
        """The own numbers of hosts that have numbers of this lane."""
        return [host - self._offset for host in hosts]


class Lanes:
    """The lanes of the windows that are known.

    Args:
        hosts: all hosts.
    """

    def __init__(self, hosts: Iterable[int]) -> None:
        self._step = max(hosts, default=0) + 2  # so that no hosts of two lanes are neighbours
        self._lanes: dict[tuple[object, ...], Lane] = {}
        self._numbers: dict[str, list[int]] = {}  # those that lanes with these hosts had: jobs are of known kinds there
        self._last = 0
        self._others: dict[int, list[int]] = {}

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def of(self, window: Window) -> tuple[Lane, bool]:
        """The lane of a window, and whether it is new."""
        key = window.hosts.text, window.name, window.users, window.accounts
        lane = self._lanes.get(key)
        if lane is not None:
            return lane, False
        numbers = self._numbers.get(window.hosts.text)
        if not numbers:
            self._last += 1
        lane = self._lanes[key] = Lane(window, numbers.pop() if numbers else self._last, self._step)
        for host, number in zip(sorted(lane.hosts), sorted(lane.members), strict=True):
            self._others.setdefault(host, []).append(number)
        return lane, True

    def close(self, lane: Lane) -> None:
        """The windows of a lane are over."""
        window = lane.sample
        del self._lanes[window.hosts.text, window.name, window.users, window.accounts]
        self._numbers.setdefault(window.hosts.text, []).append(lane.number)
        for host, number in zip(sorted(lane.hosts), sorted(lane.members), strict=True):
            self._others[host].remove(number)
            if not self._others[host]:
                del self._others[host]

    def own(self, number: int) -> int:
        """The own number of a host, by any number that it has."""
        return number % self._step

    def everywhere(self, hosts: Iterable[int]) -> Iterable[int]:
        """All numbers that hosts have: their own, and those in lanes."""
        others = self._others
        return [each for host in hosts for each in (host, *others.get(host, ()))] if others else hosts
