"""The common parts of all values of FaST: the names of their fields on the wire, and their numbers.

The names are the protocol's, with `_` for `-`. It must not know of YAML, of topics or of any single message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec

from batprotocol.model.value import Value

__all__ = ["U8", "U16", "U32", "U64", "CPUMap", "FastMessage", "OptionalCPUMap", "Part", "on_wire"]

U8: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**8 - 1)]
U16: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
U64: TypeAlias = Annotated[int, msgspec.Meta(ge=0, extra={"le": 2**64 - 1})]  # msgspec has no bounds beyond int64

# For each virtual CPU (or NUMA node), from 0 on, the CPUs (or nodes) of the host that it may run on. To type checkers
# they are descriptors, as those of `model.fields` are: a constructor takes more than the field holds.

if TYPE_CHECKING:
    _Map: TypeAlias = tuple[tuple[int, ...], ...]

    class CPUMap:
        """A tuple of number tuples, made of any iterable of iterables."""

        def __get__(self, instance: object, owner: Any) -> _Map: ...
        def __set__(self, instance: object, value: Iterable[Iterable[int]]) -> None: ...

    class OptionalCPUMap:
        """The same, or None."""

        def __get__(self, instance: object, owner: Any) -> _Map | None: ...
        def __set__(self, instance: object, value: Iterable[Iterable[int]] | None) -> None: ...

else:
    CPUMap = tuple[tuple[U32, ...], ...]
    OptionalCPUMap = CPUMap | None

_WORDS = {"retry_counter": "retry_counter", "kpi": "KPI", "kpis": "KPIS", "supported_kpi": "supported_KPI"}
"""The keys that are not their field's name with `-` for `_`."""

_set = msgspec.structs.force_setattr


def on_wire(field: str) -> str:
    """The key of a field in fast-lib.

    >>> on_wire("vm_name"), on_wire("retry_counter"), on_wire("kpi")
    ('vm-name', 'retry_counter', 'KPI')
    """
    return _WORDS.get(field, field.replace("_", "-"))


class Part(Value, frozen=True, tag=False, rename=on_wire, forbid_unknown_fields=True):
    """A part of a message: an entry of a list, or the value of a key."""


class FastMessage(Value, frozen=True, tag=True, tag_field="message", rename=on_wire, forbid_unknown_fields=True):
    """A message: the content of one payload."""


def none_of(value: Value, name: str, nothing: Any) -> None:
    """Replace an empty value of a field by None: to the programs, both are the same."""
    if getattr(value, name) == nothing:
        _set(value, name, None)


def nested_tuples_into(value: Value, *names: str) -> None:
    """Replace the nested lists in these fields by nested tuples."""
    for name in names:
        given: Any = getattr(value, name)
        if given is not None and not isinstance(given, str | bytes | dict):
            try:
                _set(value, name, tuple(row if isinstance(row, str) else tuple(row) for row in given))
            except TypeError:
                continue
