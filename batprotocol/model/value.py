"""The base class of all values, and the conversions that their constructors do.

A value is a frozen `msgspec.Struct`. This module must not depend on the wire formats.
"""

from __future__ import annotations

import functools
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from batprotocol.errors import hint
from batprotocol.model.hosts import HostSet, hosts_once

__all__ = [
    "REPR_CHARACTERS",
    "Doubles",
    "HostString",
    "OptionalTupleOf",
    "OptionalVector",
    "TupleOf",
    "Value",
    "Vector",
    "fast",
    "hosts_into",
    "tuples_into",
    "vectors_into",
]


# A read-only vector of doubles.


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


_Made = TypeVar("_Made")

REPR_CHARACTERS = 10_000
"""The approximate maximum length of the `repr` of a value, in characters. The `repr` is one line. Unless it is cut,
Python can evaluate it.
"""

_set = msgspec.structs.force_setattr


_construct: Any = msgspec.StructMeta.__call__


class _Named(msgspec.StructMeta):
    """The type of all classes of values: an error of a constructor names the class and its fields."""

    if not TYPE_CHECKING:  # type checkers would take its arguments for those of the constructors

        def __call__(cls, *arguments, **keywords):  # noqa: N805
            try:
                return _construct(cls, *arguments, **keywords)
            except TypeError as error:
                raise TypeError(_fault(cls, arguments, keywords) or f"{cls.__name__}: {error}") from None


def _fault(kind: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """The fault in the arguments of a constructor, or "" if only the constructor knows it."""
    by_position, fields = kind.__match_args__, kind.__struct_fields__
    if len(arguments) > len(by_position):
        if not fields:
            return f"{kind.__name__} has no fields, got {len(arguments)} by position"
        how = "only by keyword" if not by_position else "by position or keyword"
        return f"{kind.__name__} takes {', '.join(by_position or fields)} {how}, got {len(arguments)} by position"
    given = {*by_position[: len(arguments)], *keywords}
    unknown = [name for name in keywords if name not in fields]
    if unknown:
        return f"{kind.__name__} has no field {unknown[0]!r}{hint(unknown[0], fields)}"
    missing = [each.name for each in msgspec.structs.fields(kind) if each.required and each.name not in given]
    return f"{kind.__name__} needs {' and '.join(missing)}" if missing else ""


def fast(kind: Callable[..., _Made]) -> Callable[..., _Made]:
    """The constructor of a class of values, without the names in its errors: for code that makes many values."""
    return functools.partial(_construct, kind)


class Value(msgspec.Struct, frozen=True, gc=False, tag=True, metaclass=_Named):
    """A value of the protocol: immutable, hashable, comparable. The constructor does not check its arguments.

    Values compare as in Python: two values that hold a scalar NaN are not equal. A `repr` longer than `REPR_CHARACTERS`
        is cut and ends with `... and more`.
    """

    def __repr__(self) -> str:
        pieces: list[str] = []
        free = REPR_CHARACTERS
        for piece in _pieces(self):
            pieces.append(piece)
            free -= len(piece)
            if free < 0:
                return f"{''.join(pieces)[:REPR_CHARACTERS]}... and more"
        return "".join(pieces)


def _pieces(value: Any) -> Iterator[str]:
    """The `repr` of a value in pieces, so that the caller can stop early."""
    if isinstance(value, Value):
        before = f"{type(value).__name__}("
        for name in value.__struct_fields__:
            yield f"{before}{name}="
            yield from _pieces(getattr(value, name))
            before = ", "
        yield ")" if before == ", " else f"{before})"
    elif type(value) is tuple:
        before = "("
        for each in value:
            yield before
            yield from _pieces(each)
            before = ", "
        yield f"{'(' if not value else ',' if len(value) == 1 else ''})"
    elif type(value) is str:
        yield repr(value[:REPR_CHARACTERS])
    else:
        yield repr(value)


# The functions below do not fail: a value that they cannot convert stays as it is, and encoding or MessageBuilder then
# names the field. So the usual case, in which nothing has to be done, costs one test.


def tuples_into(value: Value, *names: str) -> None:
    """Convert the iterables in these fields to tuples. Strings stay as they are: nobody means them as sequences."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not tuple and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, tuple(given))
            except TypeError:
                continue


def vectors_into(value: Value, *names: str) -> None:
    """Convert the iterables of numbers in these fields to `Doubles`."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and type(given) is not Doubles and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, Doubles(given))
            except (TypeError, OverflowError):
                continue


def hosts_into(value: Value, name: str) -> None:
    """Convert a host set that is not a string to the canonical string."""
    given: Any = getattr(value, name)
    if type(given) is not str:
        _set(value, name, hosts_once(given).text)


# The types of fields whose constructors take more types than the fields hold: any iterable for a tuple, any numbers
# for `Doubles`, any host set for its string.


Item = TypeVar("Item")

if TYPE_CHECKING:

    class TupleOf(Generic[Item]):
        """A tuple. The constructor takes any iterable."""

        def __get__(self, instance: object, owner: Any) -> tuple[Item, ...]: ...
        def __set__(self, instance: object, value: Iterable[Item]) -> None: ...

    class OptionalTupleOf(Generic[Item]):
        """A tuple or None. The constructor takes any iterable, or None."""

        def __get__(self, instance: object, owner: Any) -> tuple[Item, ...] | None: ...
        def __set__(self, instance: object, value: Iterable[Item] | None) -> None: ...

    class Vector:
        """`Doubles`. The constructor takes any iterable of numbers."""

        def __get__(self, instance: object, owner: Any) -> Doubles: ...
        def __set__(self, instance: object, value: Iterable[float]) -> None: ...

    class OptionalVector:
        """`Doubles` or None. The constructor takes any iterable of numbers, or None."""

        def __get__(self, instance: object, owner: Any) -> Doubles | None: ...
        def __set__(self, instance: object, value: Iterable[float] | None) -> None: ...

    class HostString:
        """The string of a host set. The constructor takes any host set."""

        def __get__(self, instance: object, owner: Any) -> str: ...
        def __set__(self, instance: object, value: HostSet) -> None: ...

else:

    class TupleOf:
        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]

    class OptionalTupleOf:
        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...] | None

    Vector = Doubles
    OptionalVector = Doubles | None
    HostString = str
