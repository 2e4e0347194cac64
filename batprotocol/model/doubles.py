"""A read-only vector of doubles.

It keeps the eight bytes of each number as they were on the wire. A vector of a million numbers therefore needs no
million Python floats, and numpy reads it without a copy. This module must not import numpy.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

__all__ = ["Doubles"]


class Doubles(Sequence[float]):
    """An immutable sequence of float64 numbers, equal to any sequence of the same floats.

    Args:
        values: the numbers, any iterable of floats or ints.

    Two `Doubles` with the same bytes are equal, even if they hold NaN. `numpy.asarray(doubles)` gives a read-only view
    without a copy. `doubles.view` gives a `memoryview` of format "d", also without a copy.

    >>> Doubles([1, 2.5])
    Doubles([1.0, 2.5])
    >>> Doubles([1, 2.5]) == (1.0, 2.5)
    True
    """

    __slots__ = ("_bytes",)
    _bytes: bytes

    def __init__(self, values: Iterable[float] = ()) -> None:
        if isinstance(values, Doubles):
            _set_bytes(self, values._bytes)
        else:
            _set_bytes(self, array("d", values).tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Doubles:
        """Make a vector of bytes.

        Args:
            data: the numbers, little-endian, 8 bytes each.

        Raises:
            ValueError: the number of bytes is not a multiple of 8.
        """
        if len(data) % 8:
            raise ValueError(f"a vector of doubles takes a multiple of 8 bytes, got {len(data)}")
        if sys.byteorder == "big":
            swapped = array("d", data)
            swapped.byteswap()
            data = swapped.tobytes()
        return _wrapped(bytes(data))

    def to_bytes(self) -> bytes:
        """The numbers as bytes, as on the wire: little-endian, 8 bytes each."""
        if sys.byteorder == "big":
            swapped = array("d", self._bytes)
            swapped.byteswap()
            return swapped.tobytes()
        return self._bytes

    @property
    def view(self) -> memoryview[Any]:
        """A read-only `memoryview` of the numbers (format "d", native byte order), without a copy."""
        return memoryview(self._bytes).cast("d")

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The interface that `numpy.asarray` uses. It gives numpy a read-only view without a copy on every Python."""
        return {
            "version": 3,
            "typestr": "<f8" if sys.byteorder == "little" else ">f8",
            "shape": (len(self),),
            "data": self._bytes,
        }

    def __buffer__(self, flags: int, /) -> memoryview[Any]:
        return self.view

    def __len__(self) -> int:
        return len(self._bytes) // 8

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Doubles: ...
    def __getitem__(self, index: int | slice) -> float | Doubles:
        if isinstance(index, slice):
            return Doubles(self.view[index])
        try:
            number: float = self.view[index]
        except IndexError:
            raise IndexError(f"index {index} out of range for {len(self)} numbers") from None
        return number

    def __iter__(self) -> Iterator[float]:
        return iter(self.view)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Doubles):
            return self._bytes == other._bytes or self.view == other.view
        if isinstance(other, str | bytes | bytearray):
            return False  # texts are not numbers; a bytearray would compare our buffer with its own
        if isinstance(other, Sequence | memoryview | array):
            return len(other) == len(self) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        # Equal to the hash of the tuple of the same floats; NaN, whose hash is its identity, counts as None.
        return hash(tuple(number if number == number else None for number in self))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Doubles are read-only: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Doubles are read-only: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Doubles.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        if len(self) <= 12:
            return f"Doubles({list(self)})"
        return f"Doubles([{', '.join(map(repr, self[:6]))}, ... {len(self) - 6} more])"


_new: Any = Doubles.__new__
_set_bytes: Any = Doubles.__dict__["_bytes"].__set__  # for __setattr__ refuses


def _wrapped(data: bytes) -> Doubles:
    """The vector of these bytes, in this machine's byte order."""
    vector: Doubles = _new(Doubles)
    _set_bytes(vector, data)
    return vector
