"""The keys of messages and parts in each dialect, and the kinds of what stands below a key.

A kind reads a node of a tree, and writes a tree. The shapes are made of the fields of `values`, and of the facts that
their types do not have.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol.errors import EncodeError, an, shown
from batprotocol.fast import values as v
from batprotocol.fast.topics import ROUTES
from batprotocol.fast.values import on_wire
from batprotocol.fast.wire import _yaml as scalars
from batprotocol.fast.wire._yaml import Flow, MappingNode, Node, NodeRefused, ScalarNode, SequenceNode, Tree

__all__ = [
    "BOOLEAN",
    "CPU_MAP",
    "DIALECTS",
    "DURATIONS",
    "PAIRS",
    "PCI_NUMBER",
    "REAL",
    "REAL_EXACT",
    "TEXT",
    "YES_OR_NO",
    "Dialect",
    "Reading",
    "Shape",
    "WireKey",
    "WireKind",
    "WireLayout",
    "either",
    "found",
    "joined",
    "lenient",
    "list_of",
    "read_value",
    "shape_of",
    "unsigned",
    "write_value",
]


class WireKind(NamedTuple):
    """What stands below a key.

    Attributes:
        name: what people call it.
        read: the value of a node. `NodeRefused` if it is none.
        write: the tree of a value. `EncodeError` if it is no such value.
    """

    name: str
    read: Callable[[Node], Any]
    write: Callable[[Any], Tree]


class WireLayout(NamedTuple):
    """The two ways in which names with values are written.

    Attributes:
        as_mapping: a mapping.
        as_list: a list with a mapping of one key for each.
    """

    as_mapping: WireKind
    as_list: WireKind


def found(node: Node) -> str:
    """What a node is, for an error."""
    if isinstance(node, ScalarNode):
        return "nothing" if node.is_null and node.text == "" else shown(node.text)
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


def _refuse(expected: str, node: Node) -> NodeRefused:
    return NodeRefused(f"expected {expected}, found {found(node)}", node)


def _cannot(expected: str, value: Any) -> EncodeError:
    return EncodeError(f"expected {expected}, got {shown(value)}")


# Scalars


def _read_text(node: Node) -> str:
    if not isinstance(node, ScalarNode) or node.is_null:
        raise _refuse("a text", node)
    return node.text


def _write_text(value: Any) -> Tree:
    if not isinstance(value, str):
        raise _cannot("a text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EncodeError(f"expected Unicode, got {shown(value)} with half a character") from None
    return value


TEXT: Final = WireKind("text", _read_text, _write_text)
"""Any scalar, but null."""


def _scalar(expected: str, parse: Callable[[str], Any], write: Callable[[Any], Tree]) -> WireKind:
    def read(node: Node) -> Any:
        value = parse(node.text) if isinstance(node, ScalarNode) and not node.is_null else None
        if value is None:
            raise _refuse(expected, node)
        return value

    return WireKind(expected.removeprefix("a "), read, write)


def _boolean_as(true: str, false: str) -> WireKind:
    def write(value: Any) -> Tree:
        if not isinstance(value, bool):
            raise _cannot("a boolean", value)
        return true if value else false

    return _scalar("a boolean", scalars.boolean, write)


BOOLEAN: Final = _boolean_as("true", "false")
YES_OR_NO: Final = _boolean_as("yes", "no")


def _in_range(value: Any, largest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise _cannot(f"a number in [0, {largest}]", value)
    return int(value)


def unsigned(largest: int) -> WireKind:
    """An unsigned number of up to this size."""

    def parse(text: str) -> int | None:
        return scalars.unsigned(text, largest)

    return _scalar(f"a number in [0, {largest}]", parse, lambda value: str(_in_range(value, largest)))


PCI_NUMBER: Final = _scalar(
    "a number, such as 0x15b3", scalars.pci_number, lambda value: f"0x{_in_range(value, 2**16 - 1):04x}"
)


def _real_as(write_finite: Callable[[float], str]) -> WireKind:
    def write(value: Any) -> Tree:
        if not isinstance(value, float | int) or isinstance(value, bool):
            raise _cannot("a number", value)
        if math.isfinite(number := _double(value)):
            return write_finite(number)
        return ".nan" if math.isnan(number) else ".inf" if number > 0 else "-.inf"

    return _scalar("a number", scalars.real, write)


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _cannot("a number that a double can hold", value) from None


def _in_16_digits(value: float) -> str:
    text = f"{value:.16g}"
    return text if math.isfinite(float(text)) else repr(value)


REAL: Final = _real_as(_in_16_digits)
"""A double with the 16 digits that fast-lib writes. Infinities, NaN, and what these digits make infinite are written so
that they can be read again."""
REAL_EXACT: Final = _real_as(repr)


# Lists


def list_of(item: WireKind, *, flexible: bool = False) -> WireKind:
    """A list.

    Args:
        item: what is in it.
        flexible: whether any other value counts as an empty list.
    """

    def read(node: Node) -> Any:
        if not isinstance(node, SequenceNode):
            if flexible:
                return ()
            raise _refuse("a list", node)
        values = []
        for index, each in enumerate(node.items):
            try:
                values.append(item.read(each))
            except NodeRefused as refused:
                raise refused.below(f"[{index}]") from None
        return tuple(values)

    def write(value: Any) -> Tree:
        if not isinstance(value, tuple | list):
            raise _cannot("a list", value)
        trees = []
        for index, each in enumerate(value):
            try:
                trees.append(item.write(each))
            except EncodeError as error:
                raise EncodeError(error.reason, f"[{index}]{_dotted(error.path)}") from None
        return trees

    return WireKind(f"list of {item.name}", read, write)


def _dotted(path: str) -> str:
    return f".{path}" if path and not path.startswith("[") else path


_ROWS: Final = list_of(list_of(unsigned(2**32 - 1)))


def _write_cpu_map(value: Any) -> Tree:
    _ROWS.write(value)
    return Flow(tuple(tuple(row) for row in value))


CPU_MAP: Final = WireKind("list of lists of numbers", _ROWS.read, _write_cpu_map)


# Names with values


def _pairs(value: WireKind, order: Callable[[Mapping[str, Tree]], Mapping[str, Tree]]) -> WireLayout:
    """Names with values, in both ways. Of equal names, the first one counts."""
    name = f"mapping of text to {value.name}"

    def read(node: Node) -> dict[str, Any]:
        if not isinstance(node, MappingNode):
            raise _refuse("a mapping", node)
        values = {}
        for key, each in node.entries.items():
            try:
                values[key] = value.read(each)
            except NodeRefused as refused:
                raise refused.below(f"[{key!r}]") from None
        return values

    def write(mapping: Any) -> Mapping[str, Tree]:
        if not isinstance(mapping, Mapping):
            raise _cannot("a mapping", mapping)
        trees: dict[str, Tree] = {}
        for key, each in mapping.items():
            TEXT.write(key)
            try:
                trees[key] = value.write(each)
            except EncodeError as error:
                raise EncodeError(error.reason, f"[{key!r}]") from None
        return trees

    mappings = list_of(WireKind(name, read, write))

    def read_list(node: Node) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for mapping in mappings.read(node):
            for key, each in mapping.items():
                values.setdefault(key, each)
        return values

    return WireLayout(
        WireKind(name, read, lambda mapping: order(write(mapping))),
        WireKind(mappings.name, read_list, lambda mapping: [{key: tree} for key, tree in write(mapping).items()]),
    )


def _by_bytes(trees: Mapping[str, Tree]) -> Mapping[str, Tree]:
    return {key: trees[key] for key in sorted(trees, key=str.encode)}


def _read_duration(node: Node) -> float | str:
    text = _read_text(node)
    seconds = scalars.real(text)
    return text if seconds is None or not math.isfinite(seconds) else seconds


def _write_duration(value: Any) -> Tree:
    if isinstance(value, str):
        return _write_text(value)
    if not isinstance(value, float | int) or isinstance(value, bool) or not math.isfinite(number := _double(value)):
        raise _cannot("seconds or a text", value)
    return f"{number:.6f}"


PAIRS: Final = _pairs(TEXT, _by_bytes)
"""Names with texts; a mapping of them is sorted by its bytes, as `std::map` is."""
DURATIONS: Final = _pairs(WireKind("seconds", _read_duration, _write_duration), lambda trees: trees)
"""How long things took, with six decimals."""


def either(first: WireLayout) -> WireKind:
    """A kind that reads both ways, and writes the first one."""

    def read(node: Node) -> Any:
        return (first.as_mapping if isinstance(node, MappingNode) else first.as_list).read(node)

    return WireKind(first.as_mapping.name, read, first.as_mapping.write)


def lenient(kind: WireKind, otherwise: Any = None) -> WireKind:
    """The same, but what cannot be read is None or something else."""

    def read(node: Node) -> Any:
        try:
            return kind.read(node)
        except NodeRefused:
            return otherwise

    return WireKind(kind.name, read, kind.write)


# Keys of messages and parts


Dialect: TypeAlias = Literal["fastlib", "specification"]
"""Whose words are written."""
Reading: TypeAlias = Literal["fastlib", "specification", "any"]
"""Whose words are read: those of one dialect, or of either."""
DIALECTS: Final[tuple[Dialect, ...]] = ("fastlib", "specification")
"""Both dialects."""

_OPTIONS: Final = ("concurrent_execution", "time_measurement", "driver")


class WireKey(NamedTuple):
    """A key of a message or part.

    Attributes:
        field: the field of the value.
        names: what it is called; where several names can be read, the first one is written.
        kind: what stands below it.
        required: whether it must be there.
    """

    field: str
    names: tuple[str, ...]
    kind: WireKind
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
    keys: tuple[WireKey, ...]


# Facts that types do not have


def _layout(layout: WireLayout) -> Callable[[Reading], WireKind]:
    """A mapping to fast-lib, a list in the specification."""
    by_reading = {"fastlib": layout.as_mapping, "specification": layout.as_list, "any": either(layout)}
    return lambda reading: by_reading[reading]


def _always(kind: WireKind) -> Callable[[Reading], WireKind]:
    return lambda reading: kind


def _is_nothing(node: Node) -> bool:
    return not isinstance(node, MappingNode) and not (isinstance(node, ScalarNode) and not node.is_null)


def _parameter(cls: type[Any]) -> Callable[[Reading], WireKind]:
    """A part that may be null or a list, and is absent then."""

    def kind(reading: Reading) -> WireKind:
        part = part_of(cls, reading)
        return part._replace(read=lambda node: None if _is_nothing(node) else part.read(node))

    return kind


def _devices(cls: type[Any]) -> Callable[[Reading], WireKind]:
    return lambda reading: list_of(part_of(cls, reading), flexible=True)


_NAMES_AND_VALUES: Final = _always(either(PAIRS)._replace(write=PAIRS.as_list.write, name=PAIRS.as_list.name))

_SPECIAL: Final[Mapping[tuple[type[Any], str], Callable[[Reading], WireKind]]] = {
    (v.PCIId, "vendor"): _always(PCI_NUMBER),
    (v.PCIId, "device"): _always(PCI_NUMBER),
    (v.VMConfiguration, "pci_ids"): _devices(v.PCIId),
    (v.VMConfiguration, "pci_addrs"): _devices(v.PCIAddress),
    (v.MigrateVM, "parameter"): _parameter(v.MigrateParameter),
    (v.EvacuateNode, "parameter"): _parameter(v.EvacuateParameter),
    (v.Quit, "list"): lambda reading: lenient(list_of(part_of(v.TaskOptions, reading)), v.Quit().list),
    (v.Result, "id"): _always(lenient(TEXT)),
    (v.Result, "scheduler"): _always(lenient(TEXT)),
    (v.VMResult, "details"): _always(lenient(TEXT)),
    (v.VMResult, "process_id"): _always(lenient(TEXT)),
    (v.VMResult, "time_measurement"): lambda reading: lenient(_layout(DURATIONS)(reading)),
    (v.KPIConfiguration, "categories"): _layout(PAIRS),
    (v.KPI, "kpis"): _NAMES_AND_VALUES,
    (v.ApplicationKPIs, "supported_kpi"): _NAMES_AND_VALUES,
    (v.ApplicationStatus, "migration"): _always(YES_OR_NO),
}

_HOST: Final = _always(lenient(TEXT))
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


def _key(cls: type[Any], field: Any, hint: Any, reading: Reading) -> WireKey:
    own = _KEYS.get((cls, field.name), on_wire(field.name))
    specified = _SPECIFICATION.get((cls, field.name), own)
    names = {"fastlib": (own,), "specification": (specified,), "any": (own, specified)}[reading]
    special = _HOST if field.name == "host" else _SPECIAL.get((cls, field.name))
    kind = special(reading) if special is not None else _kind_of(hint, reading)
    required = field.required or (field.default is not None and (cls, field.name) not in _OPTIONAL)
    return WireKey(field.name, tuple(dict.fromkeys(names)), kind, required)


def _kind_of(hint: Any, reading: Reading) -> WireKind:
    """The kind that is meant by a type."""
    if typing.get_origin(hint) is typing.Annotated:
        return unsigned(_largest(hint.__metadata__[0]))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _kind_of(next(each for each in typing.get_args(hint) if each is not type(None)), reading)
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return CPU_MAP if typing.get_origin(item) is tuple else list_of(_kind_of(item, reading))
    plain = {str: TEXT, bool: BOOLEAN, float: REAL_EXACT if reading == "specification" else REAL}
    return plain.get(hint) or part_of(hint, reading)


def _largest(meta: msgspec.Meta) -> int:
    return int(meta.le if meta.le is not None else (meta.extra or {})["le"])


# Values


def read_value(cls: type[Any], node: Node, reading: Reading) -> Any:
    """A value of this class: from the keys of a mapping; null and lists have none."""
    if cls is v.PCIAddress:
        return _read_address(node)
    if isinstance(node, ScalarNode) and not node.is_null:
        raise NodeRefused(f"expected a mapping, found {found(node)}", node)
    entries = node.entries if isinstance(node, MappingNode) else {}
    fields = {}
    for key in shape_of(cls, reading).keys:
        for name in key.names:
            if name in entries:
                try:
                    fields[key.field] = key.kind.read(entries[name])
                except NodeRefused as refused:
                    raise refused.below(f".{name}") from None
                break
        else:
            if key.required:
                raise NodeRefused(_missing(cls, key, entries), node)
    if cls is v.Quit:  # fast-lib writes its options below `list`, and reads them beside it
        fields["list"] = (read_value(v.TaskOptions, node, reading),)
    return cls(**fields)


def _missing(cls: type[Any], key: WireKey, entries: Mapping[str, Node]) -> str:
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


def part_of(cls: type[Any], reading: Reading) -> WireKind:
    """A part, as what stands below a key or in a list. One that says nothing is written as null."""
    dialect: Dialect = "specification" if reading == "specification" else "fastlib"

    def read(node: Node) -> Any:
        return read_value(cls, node, reading)

    def write(value: Any) -> Tree:
        return write_value(value, cls, dialect) or None

    return WireKind(cls.__name__, read, write)


# The address of a PCI device, as fast-lib reads it below `devs`; what it writes below `dev` nothing reads


def _read_address(node: Node) -> v.PCIAddress:
    entries = node.entries if isinstance(node, MappingNode) else {}
    if "pci-addr" not in entries:
        raise NodeRefused("the key 'pci-addr' is missing", node)
    try:
        text = TEXT.read(entries["pci-addr"])
        numbers = scalars.pci_address(text)
        if numbers is None:
            raise NodeRefused(f"expected an address such as 0000:82:00.1, found {shown(text)}", entries["pci-addr"])
    except NodeRefused as refused:
        raise refused.below(".pci-addr") from None
    domain, bus, device, funct = numbers
    return v.PCIAddress(bus, device, funct, domain)


def _write_address(value: v.PCIAddress) -> dict[str, Tree]:
    for name, largest in (("bus", 255), ("device", 255), ("funct", 255), ("domain", 65535)):
        try:
            unsigned(largest).write(getattr(value, name))
        except EncodeError as error:
            raise EncodeError(error.reason, name) from None
    return {"pci-addr": str(value)}
