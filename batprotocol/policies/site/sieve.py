"""Which kinds of jobs an amount suffices for: all of them at once, as the bits of a number.

For each dimension, the wanted amounts are sorted, each with the bits of those that want no more. So a question costs
one search in each dimension, however many kinds there are. This module must not know hosts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from batprotocol.policies.site.pool import Amount

__all__ = ["Sieve"]


class Sieve:
    """Wanted amounts, each with a bit.

    Attributes:
        count: how many there are.

    >>> sieve = Sieve()
    >>> sieve.add((1, 4)), sieve.add((1, 2))
    (1, 2)
    >>> sieve.passing((1, 3)), sieve.passing((1, 8)), sieve.passing((0, 8))
    (2, 3, 0)
    """

    def __init__(self) -> None:
        self.count = 0
        self._dimensions: list[tuple[list[int], list[int]]] = []

    def add(self, wanted: Amount) -> int:
        """Add an amount; its bit."""
        bit = 1 << self.count
        self.count += 1
        if not self._dimensions:
            self._dimensions = [([], [0]) for _ in wanted]
        for value, (values, bits) in zip(wanted, self._dimensions, strict=True):
            place = bisect_left(values, value)
            if place == len(values) or values[place] != value:
                values.insert(place, value)
                bits.insert(place + 1, bits[place])
            for each in range(place + 1, len(bits)):
                bits[each] |= bit
        return bit

    def passing(self, free: Sequence[int]) -> int:
        """The bits of the amounts that something free suffices for, in each dimension."""
        passing = -1
        for there, (values, bits) in zip(free, self._dimensions):  # noqa: B905 - asked often, and they are as long
            passing &= bits[bisect_right(values, there)]
            if not passing:
                break
        return passing
