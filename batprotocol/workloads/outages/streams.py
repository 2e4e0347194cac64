"""Streams of random numbers, small enough for a hundred thousand of them.

The generator is SplitMix64: G. L. Steele Jr., D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014. The seed and the name of a stream are hashed, so that streams are independent, and each is the same however
many there are.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

__all__ = ["RandomStream"]

_MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_UNIT: Final = 2.0**-53


class RandomStream:
    """A stream of random numbers.

    Args:
        seed: the seed, which all streams share.
        name: the name of the stream.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int, name: str) -> None:
        self._state = int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "big")

    def chance(self) -> float:
        """The next number: uniform in (0, 1), never 0 or 1."""
        self._state = state = (self._state + _GOLDEN) & _MASK
        state = ((state ^ (state >> 30)) * _FIRST) & _MASK
        state = ((state ^ (state >> 27)) * _SECOND) & _MASK
        return ((state ^ (state >> 31)) >> 12) * 2 * _UNIT + _UNIT
