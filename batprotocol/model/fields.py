"""The types of fields whose constructors take more types than the fields hold: any iterable for a tuple, any numbers
for `Doubles`, any host set for its string.

For type checkers they are descriptors, as `typing.dataclass_transform` defines: a field has the type of `__get__`, and
the argument of the constructor has the type of `__set__`. At run time, they are the types that the fields hold. The
constructors convert their arguments with the functions of `value`.
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
