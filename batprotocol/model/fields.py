"""The types of fields whose constructors take more than the fields hold: any iterable for a tuple, any numbers for
`Doubles`, any host set for its string.

To type checkers they are descriptors: what is read from a field has the type of `__get__`, what the constructor takes
has that of `__set__` (that is how `typing.dataclass_transform` has it). When the program runs, they are the types of
what the fields hold. The constructors do the conversion, with the functions of `value`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from batprotocol.model.doubles import Doubles
from batprotocol.model.hosts import HostSet

__all__ = ["HostString", "OptionalTupleOf", "OptionalVector", "TupleOf", "Vector"]

Item = TypeVar("Item")

if TYPE_CHECKING:

    class TupleOf(Generic[Item]):
        """A tuple, made of any iterable."""

        def __get__(self, instance: object, owner: Any) -> tuple[Item, ...]: ...
        def __set__(self, instance: object, value: Iterable[Item]) -> None: ...

    class OptionalTupleOf(Generic[Item]):
        """A tuple, made of any iterable, or None."""

        def __get__(self, instance: object, owner: Any) -> tuple[Item, ...] | None: ...
        def __set__(self, instance: object, value: Iterable[Item] | None) -> None: ...

    class Vector:
        """`Doubles`, made of any iterable of numbers."""

        def __get__(self, instance: object, owner: Any) -> Doubles: ...
        def __set__(self, instance: object, value: Iterable[float]) -> None: ...

    class OptionalVector:
        """`Doubles`, made of any iterable of numbers, or None."""

        def __get__(self, instance: object, owner: Any) -> Doubles | None: ...
        def __set__(self, instance: object, value: Iterable[float] | None) -> None: ...

    class HostString:
        """The string of a host set, made of any host set."""

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
