"""How many hosts are in use over time, where several jobs may have one host at the same time.

It must not know where jobs come from, nor metrics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = ["ROUNDED", "Busy", "Stay", "busy_hosts", "share_hosts"]

ROUNDED: Final = 1e-5
"""Tables have six decimals: a job may seem to start so many seconds before another one ends."""

Stay: TypeAlias = "tuple[float, float, str]"
"""The start and the end of a job, in seconds, and its host set (`0-3 8`)."""

Busy: TypeAlias = "list[tuple[float, int]]"
"""Times in ascending order, and the number of hosts in use from each time on."""


def busy_hosts(stays: Iterable[Stay]) -> Busy:
    """The number of hosts with a job, over time. A host that several jobs have at the same time counts once.

    Args:
        stays: the jobs; host sets are valid.

    >>> busy_hosts([(0.0, 10.0, "0-1"), (5.0, 20.0, "1-3")])
    [(0.0, 2), (5.0, 4), (10.0, 3), (20.0, 0)]
    """
    given = [stay for stay in stays if stay[1] > stay[0] and stay[2]]
    bits = _Bits({hosts for _, _, hosts in given})
    events = [(start, True, hosts) for start, _, hosts in given]
    events += [(finish, False, hosts) for _, finish, hosts in given]
    events.sort(key=lambda event: event[:2])
    layers: list[int] = []  # the hosts with one job at least, with two at least, and so on
    found: Busy = []
    busy = 0
    for time, is_start, hosts in events:
        if is_start:
            busy += bits.width(_put(layers, bits.masks[hosts]))
        else:
            busy -= bits.width(_removed(layers, bits.masks[hosts]))
        if found and found[-1][0] == time:
            found[-1] = time, busy
        else:
            found.append((time, busy))
    return found


def _put(layers: list[int], mask: int) -> int:
    """Add a job on these hosts; the hosts that had none."""
    first = mask & ~layers[0] if layers else mask
    for number, layer in enumerate(layers):
        layers[number], mask = layer | mask, layer & mask
        if not mask:
            return first
    layers.append(mask)
    return first


def _removed(layers: list[int], mask: int) -> int:
    """Remove a job from these hosts; the hosts that have none then."""
    last = 0
    for number in range(len(layers) - 1, -1, -1):
        last = layers[number] & mask
        layers[number] ^= last
        mask ^= last
    while layers and not layers[-1]:
        layers.pop()
    return last


def share_hosts(stays: Iterable[Stay]) -> bool:
    """Whether two jobs had one host at the same time, for longer than times are rounded.

    >>> share_hosts([(0.0, 10.0, "0-1"), (10.0, 20.0, "1-3")]), share_hosts([(0.0, 10.0, "0-1"), (5.0, 20.0, "1-3")])
    (False, True)
    """
    given = [stay for stay in stays if stay[1] > stay[0] + ROUNDED]
    masks = _Bits({hosts for _, _, hosts in given}).masks
    events = [(start + ROUNDED, 1, hosts) for start, _, hosts in given]
    events += [(finish, 0, hosts) for _, finish, hosts in given]
    busy = 0
    for _, is_start, allocated in sorted(events):
        hosts = masks[allocated]
        if is_start:
            if busy & hosts:
                return True
            busy |= hosts
        else:
            busy &= ~hosts
    return False


class _Bits:
    """Host sets as the bits of numbers: a bit for hosts that are always together, so that numbers are not long.

    Attributes:
        masks: the bits of each host set.
    """

    def __init__(self, host_sets: Iterable[str]) -> None:
        parts: dict[str, list[tuple[int, int]]] = {}
        for text in host_sets:
            pairs = (part.partition("-") for part in text.split())
            parts[text] = [(int(first), int(last or first) + 1) for first, _, last in pairs]
        self._edges = sorted({edge for intervals in parts.values() for interval in intervals for edge in interval})
        self._widths: dict[int, int] = {}
        self.masks = dict.fromkeys(parts, 0)
        for text, intervals in parts.items():
            for first, after in intervals:
                low, high = bisect_left(self._edges, first), bisect_left(self._edges, after)
                self.masks[text] |= ((1 << (high - low)) - 1) << low
            self._widths[self.masks[text]] = sum(after - first for first, after in intervals)

    def width(self, mask: int) -> int:
        """The number of hosts of these bits."""
        found = self._widths.get(mask)
        if found is None:
            found, rest, edges = 0, mask, self._edges
            while rest:
                low = (rest & -rest).bit_length() - 1
                run = ((rest >> low) + 1 & ~(rest >> low)).bit_length() - 1  # so many bits follow each other
                found += edges[low + run] - edges[low]
                rest &= rest + (1 << low)  # without this run
        return found
