"""Fast copies of a whole simulation: they copy objects that change, and share objects that never change.

`copy.deepcopy` calls Python functions for each object, and also copies values that cannot change. This module examines
each class once, and then copies its objects field by field, in C if the package was compiled (`_copier`), else in
Python. Objects of other packages (observers of users) are copied by `copy.deepcopy`.
"""

from __future__ import annotations

import copy
import enum
import types
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from batprotocol.conversation.hostsets import HostSetText
from batprotocol.model import Doubles
from batprotocol.model.hosts import FrozenHosts
from batprotocol.simulator.actions import KINDS
from batprotocol.workloads import ExternalEventList, Platform, Workload

__all__ = [
    "FOREIGN",
    "OBJECT",
    "SHARED",
    "STRUCT",
    "copied",
    "copied_in_python",
    "how_to_copy",
]


_T = TypeVar("_T")

SHARED: Final = 0
"""Never changes: copies share the object."""
TUPLE: Final = 1
LIST: Final = 2
DICT: Final = 3
SET: Final = 4
DEQUE: Final = 5
OBJECT: Final = 6
"""An object of this library: a new object of its class gets copies of its fields."""
STRUCT: Final = 7
"""The same for a `msgspec.Struct` that can change."""
WEAK: Final = 8
"""A weak reference: the copy has None, because the original refers to an object that is not copied."""
FOREIGN: Final = 9
"""Copied by `copy.deepcopy`."""

_KINDS: Final[dict[type, int]] = {list: LIST, dict: DICT, set: SET, deque: DEQUE, weakref.ref: WEAK}
_UNCHANGING: Final = (
    *(type(None), bool, int, float, complex, str, bytes, range, type, enum.Enum, type(...)),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
    *(Doubles, ExternalEventList, FrozenHosts, HostSetText, Platform, Workload),
    *(demand for _, demand in KINDS.values()),
)
_HEAP_TYPE: Final = 1 << 9  # among a class's flags: it was made by a class statement
_OWN: Final = __name__.partition(".")[0]


def how_to_copy(kind: type, root: bool = False) -> tuple[int, tuple[Any, ...], bool]:
    """The way in which objects of a class are copied.

    Args:
        kind: the class.
        root: whether to ignore its own `__deepcopy__`.

    Returns:
        One of the numbers above; the descriptors of its fields; and whether it has a `__dict__`, too.
    """
    if kind in _KINDS:
        return _KINDS[kind], (), False
    if issubclass(kind, tuple):
        return TUPLE, (), False
    if issubclass(kind, _UNCHANGING):
        return SHARED, (), False
    if issubclass(kind, msgspec.Struct):
        if kind.__struct_config__.frozen:
            return SHARED, (), False
        return STRUCT, tuple(_descriptor(kind, name) for name in kind.__struct_fields__), False
    if not _is_plain(kind, root):
        return FOREIGN, (), False
    fields: dict[str, Any] = {}
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (*base.__dict__.get("__mypyc_attrs__", ()), *((slots,) if isinstance(slots, str) else slots)):
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"
            found = base.__dict__.get(name)
            if isinstance(found, types.MemberDescriptorType | types.GetSetDescriptorType) and name != "__dict__":
                fields.setdefault(name, found)
    return OBJECT, tuple(fields.values()), kind.__dictoffset__ != 0


def _is_plain(kind: type, root: bool) -> bool:
    """Whether a class is one of this library, without methods for copies; `__getstate__` is for pickles."""
    if kind.__module__.partition(".")[0] != _OWN:
        return False
    if hasattr(kind, "__deepcopy__") and not root:
        return False
    if any(getattr(kind, name) is not getattr(object, name) for name in ("__reduce__", "__reduce_ex__")):
        return False
    return bool(kind.__flags__ & _HEAP_TYPE)  # classes in C have hidden fields


def _descriptor(kind: type, name: str) -> Any:
    return next(base.__dict__[name] for base in kind.__mro__ if name in base.__dict__)


class _Copying:
    """One copy in progress: the objects that were copied already, by identity."""

    def __init__(self, memo: dict[int, Any]) -> None:
        self.memo = memo

    def copied(self, value: Any) -> Any:
        kind = type(value)
        plan = _plans.get(kind) or _planned(kind)
        how = plan[0]
        if how == SHARED:
            return value
        if how == WEAK:
            return None
        known = self.memo.get(id(value))
        if known is not None:
            return known
        if how in (OBJECT, STRUCT):
            return self.object(value, how, plan[1], plan[2])
        if how == FOREIGN:
            return copy.deepcopy(value, self.memo)
        return self.container(value, how)

    def object(self, value: Any, how: int, fields: tuple[Any, ...], has_dict: bool) -> Any:
        kind: Any = type(value)
        made: Any = copy.copy(value) if how == STRUCT else kind.__new__(kind)
        self.memo[id(value)] = made
        for field in fields:
            with suppress(AttributeError):  # not set yet
                field.__set__(made, self.copied(field.__get__(value)))
        if has_dict and hasattr(value, "__dict__"):  # some compiled classes only claim to have one
            made.__dict__.update(self.copied(value.__dict__))
        return made

    def container(self, value: Any, how: int) -> Any:
        made: Any
        if how == TUPLE:
            items = [self.copied(item) for item in value]
            same = all(item is before for item, before in zip(items, value, strict=True))
            made = value if same else tuple.__new__(type(value), items)
            return made if same else self.memo.setdefault(id(value), made)
        if how == LIST:
            made = self.memo[id(value)] = []
            made.extend(self.copied(item) for item in value)
        elif how == DICT:
            made = self.memo[id(value)] = {}
            for key, item in value.items():
                made[self.copied(key)] = self.copied(item)
        elif how == SET:
            made = self.memo[id(value)] = set()
            made.update(self.copied(item) for item in value)
        else:
            made = self.memo[id(value)] = deque(maxlen=value.maxlen)
            made.extend(self.copied(item) for item in value)
        return made


_plans: dict[type, tuple[int, tuple[Any, ...], bool]] = {}


def _planned(kind: type, root: bool = False) -> tuple[int, tuple[Any, ...], bool]:
    plan = how_to_copy(kind, root)
    if plan[0] != FOREIGN:  # whose classes come and go
        _plans[kind] = plan
    return plan


def copied_in_python(value: _T, memo: dict[int, Any] | None = None) -> _T:
    """The same as `copied`, in Python."""
    kind = type(value)
    if kind not in _plans:
        _planned(kind, root=True)
    made: _T = _Copying({} if memo is None else memo).copied(value)
    return made


copied: Callable[..., Any] = copied_in_python
"""A copy of a value, with copies of all that can change.

Args:
    value: the value; its own `__deepcopy__` is ignored.
    memo: the memo that `copy.deepcopy` passes to `__deepcopy__`.
"""

if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.simulator import _copier

        _copier.bind(how_to_copy, copy.deepcopy, deque)
        copied = _copier.copied
