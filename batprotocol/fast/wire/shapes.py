"""Which keys each message and each part has, in each dialect: made of the fields of `values`, and of what differs.

The first table says how a key is written that is not what its type says, the second what the specification calls
otherwise. The rest follows from the classes. It must not know of YAML's text.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol.errors import EncodeError, an, shown
from batprotocol.fast import values as v
from batprotocol.fast.messages import ROUTES
from batprotocol.fast.values.base import on_wire
from batprotocol.fast.wire import kinds as k
from batprotocol.fast.wire import scalars
from batprotocol.fast.wire.emitter import Tree
from batprotocol.fast.wire.kinds import Kind, Layout
from batprotocol.fast.wire.nodes import MappingNode, Node, Refused, ScalarNode

__all__ = ["DIALECTS", "Dialect", "Key", "Reading", "Shape", "joined", "read_value", "shape_of", "write_value"]

Dialect: TypeAlias = Literal["fastlib", "specification"]
"""Whose words are written."""
Reading: TypeAlias = Literal["fastlib", "specification", "any"]
"""Whose words are read: those of one dialect, or of either."""
DIALECTS: Final[tuple[Dialect, ...]] = ("fastlib", "specification")
"""Both dialects."""

_OPTIONS: Final = ("concurrent_execution", "time_measurement", "driver")


class Key(NamedTuple):
    """A key of a message or part.

    Attributes:
        field: the field of the value.
        names: what it is called; where several names can be read, the first one is written.
        kind: what stands below it.
        required: whether it must be there.
    """

    field: str
    names: tuple[str, ...]
    kind: Kind
    required: bool


class Shape(NamedTuple):
    """The keys of a class of values in one dialect, in the order in which they are written.

    Attributes:
        value: the class.
        task: what its `task` is, or "" if none is written.
        keys: the keys.
    """

    value: type[Any]
    task: str
    keys: tuple[Key, ...]


# What is not as its type says


def _layout(layout: Layout) -> Callable[[Reading], Kind]:
    """A mapping to fast-lib, a list in the specification."""
    by_reading = {"fastlib": layout.as_mapping, "specification": layout.as_list, "any": k.either(layout)}
    return lambda reading: by_reading[reading]


def _always(kind: Kind) -> Callable[[Reading], Kind]:
    return lambda reading: kind


def _is_nothing(node: Node) -> bool:
    return not isinstance(node, MappingNode) and not (isinstance(node, ScalarNode) and not node.is_null)


def _parameter(cls: type[Any]) -> Callable[[Reading], Kind]:
    """A part that may be null or a list, and is absent then."""

    def kind(reading: Reading) -> Kind:
        part = part_of(cls, reading)
        return part._replace(read=lambda node: None if _is_nothing(node) else part.read(node))

    return kind


def _devices(cls: type[Any]) -> Callable[[Reading], Kind]:
    return lambda reading: k.list_of(part_of(cls, reading), flexible=True)


_NAMES_AND_VALUES: Final = _always(k.either(k.PAIRS)._replace(write=k.PAIRS.as_list.write, name=k.PAIRS.as_list.name))

_SPECIAL: Final[Mapping[tuple[type[Any], str], Callable[[Reading], Kind]]] = {
    (v.PCIId, "vendor"): _always(k.PCI_NUMBER),
    (v.PCIId, "device"): _always(k.PCI_NUMBER),
    (v.VMConfiguration, "pci_ids"): _devices(v.PCIId),
    (v.VMConfiguration, "pci_addrs"): _devices(v.PCIAddress),
    (v.MigrateVM, "parameter"): _parameter(v.MigrateParameter),
    (v.EvacuateNode, "parameter"): _parameter(v.EvacuateParameter),
    (v.Quit, "list"): lambda reading: k.lenient(k.list_of(part_of(v.TaskOptions, reading)), v.Quit().list),
    (v.Result, "id"): _always(k.lenient(k.TEXT)),
    (v.Result, "scheduler"): _always(k.lenient(k.TEXT)),
    (v.VMResult, "details"): _always(k.lenient(k.TEXT)),
    (v.VMResult, "process_id"): _always(k.lenient(k.TEXT)),
    (v.VMResult, "time_measurement"): lambda reading: k.lenient(_layout(k.DURATIONS)(reading)),
    (v.KPIConfiguration, "categories"): _layout(k.PAIRS),
    (v.KPI, "kpis"): _NAMES_AND_VALUES,
    (v.ApplicationKPIs, "supported_kpi"): _NAMES_AND_VALUES,
    (v.ApplicationStatus, "migration"): _always(k.YES_OR_NO),
}

_HOST: Final = _always(k.lenient(k.TEXT))
"""The node in a task: no program reads it, so none is refused because of it."""

_KEYS: Final[Mapping[tuple[type[Any], str], str]] = {(v.VMConfiguration, "pci_addrs"): "devs"}

_OPTIONAL: Final = frozenset([(v.Quit, "list")])
"""The fields that may be absent although absent is not None."""

_SPECIFICATION: Final[Mapping[tuple[type[Any], str], str]] = {
    (v.Init, "hostname"): "source",
    (v.MmbwmonResponse, "result"): "response",
    (v.MigrateParameter, "retry_counter"): "retry-counter",
}
"""The keys that have other names in the specification than in the programs."""

_UNSAID: Final = (v.MmbwmonRequest, v.MmbwmonResponse, v.MmbwmonStop, v.MmbwmonRestart)
"""The messages whose `task` the specification writes, and the programs do not, since 2017."""

_TASKS: Final = {route.message: route.task for route in ROUTES}


# Shapes


def shape_of(cls: type[Any], reading: Reading) -> Shape:
    """The shape of a class of values."""
    shape = _SHAPES.get((cls, reading))
    if shape is None:
        shape = _SHAPES[cls, reading] = _shape(cls, reading)
    return shape


_SHAPES: Final[dict[tuple[type[Any], Reading], Shape]] = {}
"""Those that were asked for."""


def _shape(cls: type[Any], reading: Reading) -> Shape:
    said = _TASKS.get(cls, "")
    task = "" if reading != "specification" and cls in _UNSAID else said
    fields = {field.name: field for field in msgspec.structs.fields(cls)}
    hints = typing.get_type_hints(cls, include_extras=True)
    keys = [_key(cls, fields[name], hints[name], reading) for name in _order(cls, reading)]
    return Shape(cls, task, tuple(keys))


def _order(cls: type[Any], reading: Reading) -> list[str]:
    """The order in which fields are written: options first, where all are there; `id` last, or early as specified."""
    names: list[str] = [field.name for field in msgspec.structs.fields(cls)]
    if not issubclass(cls, v.FastMessage):
        early, late = list[str](), list[str]()
    elif reading == "specification":
        early, late = ["host", "scheduler", "result", "id"], []
    else:
        early, late = ["host", "scheduler"], ["id"]
    if set(_OPTIONS) <= set(names):
        early += _OPTIONS
    middle = [name for name in names if name not in (*early, *late)]
    return [name for name in (*early, *middle, *late) if name in names]


def _key(cls: type[Any], field: Any, hint: Any, reading: Reading) -> Key:
    own = _KEYS.get((cls, field.name), on_wire(field.name))
    specified = _SPECIFICATION.get((cls, field.name), own)
    names = {"fastlib": (own,), "specification": (specified,), "any": (own, specified)}[reading]
    special = _HOST if field.name == "host" else _SPECIAL.get((cls, field.name))
    kind = special(reading) if special is not None else _kind_of(hint, reading)
    required = field.required or (field.default is not None and (cls, field.name) not in _OPTIONAL)
    return Key(field.name, tuple(dict.fromkeys(names)), kind, required)


def _kind_of(hint: Any, reading: Reading) -> Kind:
    """The kind that is meant by a type."""
    if typing.get_origin(hint) is typing.Annotated:
        return k.unsigned(_largest(hint.__metadata__[0]))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _kind_of(next(each for each in typing.get_args(hint) if each is not type(None)), reading)
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return k.CPU_MAP if typing.get_origin(item) is tuple else k.list_of(_kind_of(item, reading))
    plain = {str: k.TEXT, bool: k.BOOLEAN, float: k.REAL_EXACT if reading == "specification" else k.REAL}
    return plain.get(hint) or part_of(hint, reading)


def _largest(meta: msgspec.Meta) -> int:
    return int(meta.le if meta.le is not None else (meta.extra or {})["le"])


# Values


def read_value(cls: type[Any], node: Node, reading: Reading) -> Any:
    """A value of this class: from the keys of a mapping; null and lists have none."""
    if cls is v.PCIAddress:
        return _read_address(node)
    if isinstance(node, ScalarNode) and not node.is_null:
        raise Refused(f"expected a mapping, found {k.found(node)}", node)
    entries = node.entries if isinstance(node, MappingNode) else {}
    fields = {}
    for key in shape_of(cls, reading).keys:
        for name in key.names:
            if name in entries:
                try:
                    fields[key.field] = key.kind.read(entries[name])
                except Refused as refused:
                    raise refused.below(f".{name}") from None
                break
        else:
            if key.required:
                raise Refused(_missing(cls, key, entries), node)
    if cls is v.Quit:  # fast-lib writes its options below `list`, and reads them beside it
        fields["list"] = (read_value(v.TaskOptions, node, reading),)
    return cls(**fields)


def _missing(cls: type[Any], key: Key, entries: Mapping[str, Node]) -> str:
    """Why a key that must be there is not, with a hint for who wrote it as the other dialect does."""
    for dialect in DIALECTS:
        for other in shape_of(cls, dialect).keys:
            if other.field == key.field and other.names[0] in entries:
                return f"the key {key.names[0]!r} is missing; {other.names[0]!r} is that of the dialect {dialect!r}"
    return f"the key {key.names[0]!r} is missing"


def write_value(value: Any, cls: type[Any], dialect: Dialect) -> dict[str, Tree]:
    """The keys of a value, and what stands below them."""
    if type(value) is not cls:
        raise EncodeError(f"expected {an(cls.__name__)}, got {shown(value)}")
    if cls is v.PCIAddress:
        return _write_address(value)
    shape = shape_of(cls, dialect)
    tree: dict[str, Tree] = {"task": shape.task} if shape.task else {}
    for key in shape.keys:
        found = getattr(value, key.field)
        if found is not None or key.required:
            try:
                tree[key.names[0]] = key.kind.write(found)
            except EncodeError as error:
                raise EncodeError(error.reason, joined(key.names[0], error.path)) from None
    if dialect == "specification" and "host" in tree:
        tree = {"host": tree.pop("host"), **tree}
    return tree


def joined(step: str, path: str) -> str:
    """A path from one level above."""
    return f"{step}{'.' if path and not path.startswith('[') else ''}{path}"


def part_of(cls: type[Any], reading: Reading) -> Kind:
    """A part, as what stands below a key or in a list. One that says nothing is written as null."""
    dialect: Dialect = "specification" if reading == "specification" else "fastlib"

    def read(node: Node) -> Any:
        return read_value(cls, node, reading)

    def write(value: Any) -> Tree:
        return write_value(value, cls, dialect) or None

    return Kind(cls.__name__, read, write)


# The address of a PCI device, as fast-lib reads it below `devs`; what it writes below `dev` nothing reads


def _read_address(node: Node) -> v.PCIAddress:
    entries = node.entries if isinstance(node, MappingNode) else {}
    if "pci-addr" not in entries:
        raise Refused("the key 'pci-addr' is missing", node)
    try:
        text = k.TEXT.read(entries["pci-addr"])
        numbers = scalars.pci_address(text)
        if numbers is None:
            raise Refused(f"expected an address such as 0000:82:00.1, found {shown(text)}", entries["pci-addr"])
    except Refused as refused:
        raise refused.below(".pci-addr") from None
    domain, bus, device, funct = numbers
    return v.PCIAddress(bus, device, funct, domain)


def _write_address(value: v.PCIAddress) -> dict[str, Tree]:
    for name, largest in (("bus", 255), ("device", 255), ("funct", 255), ("domain", 65535)):
        try:
            k.unsigned(largest).write(getattr(value, name))
        except EncodeError as error:
            raise EncodeError(error.reason, name) from None
    return {"pci-addr": str(value)}
