"""The kinds of what stands below a key: how each is read from a node, and written as a tree.

They are fast-lib's and the specification's; `shapes` says which key has which. It must not know of any message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.errors import EncodeError, shown
from batprotocol.fast.wire import scalars
from batprotocol.fast.wire.emitter import Flow, Tree
from batprotocol.fast.wire.nodes import MappingNode, Node, Refused, ScalarNode, SequenceNode

__all__ = [
    "BOOLEAN",
    "CPU_MAP",
    "DURATIONS",
    "PAIRS",
    "PCI_NUMBER",
    "REAL",
    "REAL_EXACT",
    "TEXT",
    "YES_OR_NO",
    "Kind",
    "Layout",
    "either",
    "found",
    "lenient",
    "list_of",
    "unsigned",
]


class Kind(NamedTuple):
    """What stands below a key.

    Attributes:
        name: what people call it.
        read: the value of a node. `Refused` if it is none.
        write: the tree of a value. `EncodeError` if it is no such value.
    """

    name: str
    read: Callable[[Node], Any]
    write: Callable[[Any], Tree]


class Layout(NamedTuple):
    """The two ways in which names with values are written.

    Attributes:
        as_mapping: a mapping.
        as_list: a list with a mapping of one key for each.
    """

    as_mapping: Kind
    as_list: Kind


def found(node: Node) -> str:
    """What a node is, for an error."""
    if isinstance(node, ScalarNode):
        return "nothing" if node.is_null and node.text == "" else shown(node.text)
    return "a list" if isinstance(node, SequenceNode) else "a mapping"


def _refuse(expected: str, node: Node) -> Refused:
    return Refused(f"expected {expected}, found {found(node)}", node)


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


TEXT: Final = Kind("text", _read_text, _write_text)
"""Any scalar, but null."""


def _scalar(expected: str, parse: Callable[[str], Any], write: Callable[[Any], Tree]) -> Kind:
    def read(node: Node) -> Any:
        value = parse(node.text) if isinstance(node, ScalarNode) and not node.is_null else None
        if value is None:
            raise _refuse(expected, node)
        return value

    return Kind(expected.removeprefix("a "), read, write)


def _boolean_as(true: str, false: str) -> Kind:
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


def unsigned(largest: int) -> Kind:
    """An unsigned number of up to this size."""

    def parse(text: str) -> int | None:
        return scalars.unsigned(text, largest)

    return _scalar(f"a number in [0, {largest}]", parse, lambda value: str(_in_range(value, largest)))


PCI_NUMBER: Final = _scalar(
    "a number, such as 0x15b3", scalars.pci_number, lambda value: f"0x{_in_range(value, 2**16 - 1):04x}"
)


def _real_as(write_finite: Callable[[float], str]) -> Kind:
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


def list_of(item: Kind, *, flexible: bool = False) -> Kind:
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
            except Refused as refused:
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

    return Kind(f"list of {item.name}", read, write)


def _dotted(path: str) -> str:
    return f".{path}" if path and not path.startswith("[") else path


_ROWS: Final = list_of(list_of(unsigned(2**32 - 1)))


def _write_cpu_map(value: Any) -> Tree:
    _ROWS.write(value)
    return Flow(tuple(tuple(row) for row in value))


CPU_MAP: Final = Kind("list of lists of numbers", _ROWS.read, _write_cpu_map)


# Names with values


def _pairs(value: Kind, order: Callable[[Mapping[str, Tree]], Mapping[str, Tree]]) -> Layout:
    """Names with values, in both ways. Of equal names, the first one counts."""
    name = f"mapping of text to {value.name}"

    def read(node: Node) -> dict[str, Any]:
        if not isinstance(node, MappingNode):
            raise _refuse("a mapping", node)
        values = {}
        for key, each in node.entries.items():
            try:
                values[key] = value.read(each)
            except Refused as refused:
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

    mappings = list_of(Kind(name, read, write))

    def read_list(node: Node) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for mapping in mappings.read(node):
            for key, each in mapping.items():
                values.setdefault(key, each)
        return values

    return Layout(
        Kind(name, read, lambda mapping: order(write(mapping))),
        Kind(mappings.name, read_list, lambda mapping: [{key: tree} for key, tree in write(mapping).items()]),
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
DURATIONS: Final = _pairs(Kind("seconds", _read_duration, _write_duration), lambda trees: trees)
"""How long things took, with six decimals."""


def either(first: Layout) -> Kind:
    """A kind that reads both ways, and writes the first one."""

    def read(node: Node) -> Any:
        return (first.as_mapping if isinstance(node, MappingNode) else first.as_list).read(node)

    return Kind(first.as_mapping.name, read, first.as_mapping.write)


def lenient(kind: Kind, otherwise: Any = None) -> Kind:
    """The same, but what cannot be read is None or something else."""

    def read(node: Node) -> Any:
        try:
            return kind.read(node)
        except Refused:
            return otherwise

    return Kind(kind.name, read, kind.write)
