"""YAML of FaST: scalars as yaml-cpp reads them, the text of a payload as a tree of nodes, and a tree as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from batprotocol._util.requirements import installing
from batprotocol.errors import DecodeError, EncodeError, PackageMissing, shown
from batprotocol.fast import values as v

LONGEST_NUMBER: Final = 400
"""The maximum number of characters of a number: enough for each double and each integer."""

_BOOLEANS: Final = {
    spelling: value
    for value, words in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_SPACE = r"[ \t\n\r\v\f]*"
_UNSIGNED: Final = re.compile(rf"{_SPACE}([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*){_SPACE}")
_REAL: Final = re.compile(rf"{_SPACE}[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?{_SPACE}")
_PCI: Final = re.compile(rf"{_SPACE}([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_HEX: Final = re.compile(rf"{_SPACE}([+-]?)(?:0[xX](?=[0-9a-fA-F]))?([0-9a-fA-F]+)")
_SPECIAL: Final = {
    **{f"{sign}.{word}": math.inf for sign in ("", "+") for word in ("inf", "Inf", "INF")},
    **{f"-.{word}": -math.inf for word in ("inf", "Inf", "INF")},
    **{f".{word}": math.nan for word in ("nan", "NaN", "NAN")},
}


def boolean(text: str) -> bool | None:
    """Whether this is yes or no, or None if it is neither.

    >>> boolean("Yes"), boolean("OFF"), boolean("1"), boolean("tRUE")
    (True, False, None, None)
    """
    return _BOOLEANS.get(text)


def unsigned(text: str, largest: int) -> int | None:
    """A number in [0, largest], or None if the text is not one. A negative number counts from the end, as in C.

    >>> unsigned("0x10", 255), unsigned("010", 255), unsigned("-1", 255), unsigned("256", 255), unsigned("1.0", 255)
    (16, 8, 255, None, None)
    """
    found = _UNSIGNED.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return None
    number = _number(found[2])
    if number > largest:
        return None
    return -number % (largest + 1) if found[1] == "-" else number


def real(text: str) -> float | None:
    """A double, or None if the text is not one. NaN and infinities have a dot before.

    >>> real("0.5"), real(".inf"), real("nan"), real("1e999")
    (0.5, inf, None, None)
    """
    if text in _SPECIAL:
        return _SPECIAL[text]
    if len(text) > LONGEST_NUMBER or not _REAL.fullmatch(text):
        return None
    value = float(text)
    return None if math.isinf(value) else value


def pci_number(text: str) -> int | None:
    """The number at the beginning of a text, cut to 16 bits, or None if there is none: as `std::stoul` has it.

    >>> pci_number("0x15b3"), pci_number("15b3"), pci_number("b315")
    (5555, 15, None)
    """
    found = _PCI.match(text[:LONGEST_NUMBER])
    if found is None:
        return None
    return _cut(found[1], _number(found[2]), 2**16)


def pci_address(text: str) -> tuple[int, int, int, int] | None:
    """Domain, bus, device and function of an address, or None if the text is not one: as fast-lib splits it.

    Each is the hexadecimal number at its beginning, cut to 16 or 8 bits. The domain may be missing; so may the
    function, which is then the number of the device.

    >>> pci_address("0000:82:1f.7"), pci_address("82:00"), pci_address("82.0")
    ((0, 130, 31, 7), (0, 130, 0, 0), None)
    """
    parts = text.split(":", 3)
    if len(parts) not in (2, 3):
        return None
    domain, bus, place = ("0", *parts)[-3:]
    device, _, funct = place.partition(".") if "." in place else (place, "", place)
    found = [_hexadecimal(part, size) for part, size in ((domain, 2**16), (bus, 2**8), (device, 2**8), (funct, 2**8))]
    first, second, third, fourth = found
    if first is None or second is None or third is None or fourth is None:
        return None
    return first, second, third, fourth


def _hexadecimal(text: str, size: int) -> int | None:
    """The hexadecimal number at the beginning of a text, as `std::stoul` has it, or None if there is none."""
    found = _HEX.match(text[:LONGEST_NUMBER])
    return None if found is None else _cut(found[1], int(found[2], 16), size)


def _cut(sign: str, number: int, size: int) -> int | None:
    """The number modulo `size`; None for a number that does not fit into 64 bits."""
    return None if number >= 2**64 else (-number if sign == "-" else number) % size


def _number(digits: str) -> int:
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return int(digits, 8) if digits.startswith("0") else int(digits)


# Reading: a tree of nodes, each with its line and column. libyaml, of PyYAML, does the parsing


try:
    import yaml
    from yaml.cyaml import CParser  # type: ignore[attr-defined]  # it is what the module is for
except ImportError:  # programs that use only the rules need no YAML
    _HAS_LIBYAML = False
else:
    _HAS_LIBYAML = True


LARGEST: Final = 2**22
"""How many bytes a payload has at most."""
MOST_NODES: Final = 100_000
"""How many scalars, lists and mappings it has at most, with those that aliases repeat."""
DEEPEST: Final = 64
"""How deep lists and mappings stand in each other at most."""

_NULLS: Final = frozenset(["", "~", "null", "Null", "NULL"])
_ODD: Final = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF))).translate(
    {ord(character): None for character in "\0\x04\t\n"}
)
"""The characters that are text to yaml-cpp, but a line break or forbidden to libyaml. A carriage return is one, too, if
no line ends there."""
_END: Final = re.compile("[\0\x04]")
"""The characters that end a text, or make it invalid."""
_PRIVATE: Final = range(0xE000, 0xF900)


class NodeRefused(Exception):
    """Something in the tree is not what it should be. It becomes a `DecodeError` where the whole path is known.

    Attributes:
        reason: what was expected and what was found.
        node: where.
        path: the keys and numbers on the way to it, the innermost first.
    """

    def __init__(self, reason: str, node: Node) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node
        self.path: list[str] = []

    def below(self, step: str) -> NodeRefused:
        """The same, seen from one level above."""
        self.path.append(step)
        return self

    def error(self) -> DecodeError:
        """The error for the caller of the library."""
        path = "".join(reversed(self.path)).removeprefix(".")
        return DecodeError(self.reason, path, line=self.node.line, column=self.node.column)


class ScalarNode:
    """A text. `is_null` says whether it is null in YAML; `weight` is the number of nodes for which an alias counts."""

    __slots__ = ("column", "is_null", "line", "text", "weight")

    def __init__(self, text: str, is_null: bool, line: int, column: int) -> None:
        self.text = text
        self.is_null = is_null
        self.line = line
        self.column = column
        self.weight = 1


class SequenceNode:
    """A list."""

    __slots__ = ("column", "items", "line", "weight")

    def __init__(self, line: int, column: int) -> None:
        self.items: list[Node] = []
        self.line = line
        self.column = column
        self.weight = 0

    def add(self, node: Node) -> None:
        """Take the next node in it."""
        self.items.append(node)


class MappingNode:
    """A mapping by its keys. Of equal keys, the first one counts. It has no keys that are not texts."""

    __slots__ = ("_key", "column", "entries", "line", "weight")

    def __init__(self, line: int, column: int) -> None:
        self.entries: dict[str, Node] = {}
        self.line = line
        self.column = column
        self.weight = 0
        self._key: Node | None = None

    def add(self, node: Node) -> None:
        """Take the next node in it: a key, then its value."""
        key, self._key = self._key, node
        if key is not None:
            self._key = None
            if isinstance(key, ScalarNode) and not key.is_null and key.text not in self.entries:
                self.entries[key.text] = node


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def compose(payload: bytes) -> Node:
    """The tree of a payload's first document; a null where there is none.

    Raises:
        DecodeError: it is no YAML, or too large.
        PackageMissing: PyYAML is not installed, or without libyaml.
    """
    if not _HAS_LIBYAML:
        raise PackageMissing(f"YAML needs the package pyyaml, built with libyaml: {installing('fast')}")
    if len(payload) > LARGEST:
        raise DecodeError(f"expected at most {LARGEST:,} bytes, found {len(payload):,}")
    text = payload.decode("utf-8", "replace")  # as yaml-cpp, which does not look at it
    end = _END.search(text)
    if end:
        line, column = text.count("\n", 0, end.start()) + 1, end.start() - text.rfind("\n", 0, end.start())
        raise DecodeError(f"expected a text, found the character {end[0]!r}", line=line, column=column)
    text, replaced = _readable(text)
    try:
        return _Composer(CParser(text), replaced).compose()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except yaml.YAMLError as error:
        raise DecodeError(str(error)) from None


def _readable(text: str) -> tuple[str, dict[int, int]]:
    """The text with private characters that it has not in place of the odd ones, and which stand for which."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    odd = [character for character in _ODD if character in text]
    if not odd:
        return text, {}
    there = set(text)
    free = list(islice((number for number in _PRIVATE if chr(number) not in there), len(odd)))
    if len(free) < len(odd):
        raise DecodeError("it has all private characters and control characters")
    stand_ins = dict(zip(map(ord, odd), free, strict=False))
    return text.translate(stand_ins), {stand_in: character for character, stand_in in stand_ins.items()}


def _syntax_error(error: yaml.MarkedYAMLError) -> DecodeError:
    reason = ": ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark or error.context_mark
    return DecodeError(reason, line=mark.line + 1, column=mark.column + 1) if mark else DecodeError(reason)


class _Composer:
    def __init__(self, parser: Any, replaced: dict[int, int]) -> None:
        self._parser = parser
        self._replaced = replaced
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def compose(self) -> Node:
        """The first document. The text after it is ignored."""
        get = self._parser.get_event
        while not isinstance(event := get(), yaml.DocumentStartEvent):
            if isinstance(event, yaml.StreamEndEvent):
                return ScalarNode("", True, 1, 1)
        open_: list[tuple[SequenceNode | MappingNode, str | None]] = []  # with their anchors
        while True:
            event = get()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node: Node = self._scalar(event)
            elif kind is yaml.AliasEvent:
                node = self._alias(event)
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                node = self._closed(*open_.pop())
            else:
                open_.append(self._opened(event, kind is yaml.MappingStartEvent))
                if len(open_) > DEEPEST:
                    raise _fault(event, f"lists and mappings stand in each other more than {DEEPEST} deep")
                continue
            if not open_:
                return node
            open_[-1][0].add(node)

    def _scalar(self, event: Any) -> ScalarNode:
        self._count(event, 1)
        text = event.value
        is_null = text in _NULLS and not event.style and (text != "" or event.tag is None)
        if self._replaced:
            text = text.translate(self._replaced)
        mark = event.start_mark
        node = ScalarNode(text, is_null, mark.line + 1, mark.column + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _opened(self, event: Any, is_mapping: bool) -> tuple[SequenceNode | MappingNode, str | None]:
        mark = event.start_mark
        node = (MappingNode if is_mapping else SequenceNode)(mark.line + 1, mark.column + 1)
        node.weight = self._nodes
        self._count(event, 1)
        self._anchors.pop(event.anchor, None)  # it is no name for what is not complete
        return node, event.anchor

    def _closed(self, node: SequenceNode | MappingNode, anchor: str | None) -> Node:
        node.weight = self._nodes - node.weight
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise _fault(event, f"there is no anchor {event.anchor!r} before")
        self._count(event, node.weight)
        return node

    def _count(self, event: Any, more: int) -> None:
        self._nodes += more
        if self._nodes > MOST_NODES:
            raise _fault(event, f"expected at most {MOST_NODES:,} values, found more")


def _fault(event: Any, reason: str) -> DecodeError:
    mark = event.start_mark
    return DecodeError(reason, line=mark.line + 1, column=mark.column + 1)


# Writing: the text that yaml-cpp 0.5.3 writes, byte for byte, but for what nothing reads again


LONGEST_KEY: Final = 1000
"""How many characters a key has at most, with its quotes. YAML has keys of 1024."""


class Flow(NamedTuple):
    """Lists of numbers that are written on one line: `[[0, 1], [2]]`."""

    rows: tuple[tuple[int, ...], ...]


Tree: TypeAlias = "str | Flow | Mapping[str, Tree] | Sequence[Tree] | None"

_QUOTED: Final = re.compile(
    r"""^[ ,\[\]{}#&*!|>'"%@`]"""  # what begins something else
    r"|^[-?:](?: |\Z)"
    r"|[ \r]\Z"  # what is lost at the end
    r"|:(?: |\Z)| \#"  # what ends it
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\t\n\ufeff\ufffe\uffff]"
)
_ESCAPED: Final = re.compile(r"""["\\]|[^ -~\xa1-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]""")
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b"}


def emit(tree: Mapping[str, Tree]) -> str:
    """The lines of a mapping.

    >>> print(emit({"list": [None, {"vm-name": "a: b"}], "cores": [], "vcpu-map": Flow(((0, 1), (2,)))}))
    list:
      - ~
      - vm-name: "a: b"
    cores:
      []
    vcpu-map: [[0, 1], [2]]
    """
    return "\n".join(_mapping(tree, ""))


def scalar(text: str) -> str:
    """A text as it is written: plain wherever possible.

    >>> print(scalar("true"), scalar("a: b"), scalar("null"), scalar("line\\n"))
    true "a: b" "null" "line\\n"
    """
    if text not in _NULLS and not _QUOTED.search(text):
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def _mapping(tree: Mapping[str, Tree], indent: str) -> Iterator[str]:
    if not tree:
        yield f"{indent}{{}}"
    for key, value in tree.items():
        name = scalar(key)
        if len(name) > LONGEST_KEY:
            raise EncodeError(f"expected a key of at most {LONGEST_KEY:,} characters, got {len(name):,}")
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _mapping(value, f"{indent}  ")
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from _list(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_inline(value)}"


def _list(values: Sequence[Tree], indent: str) -> Iterator[str]:
    if not values:
        yield f"{indent}[]"
    for value in values:
        if isinstance(value, Mapping):
            first, *rest = _mapping(value, f"{indent}  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
        else:
            yield f"{indent}- {_inline(value)}"


def _inline(value: Tree) -> str:
    if value is None:
        return "~"
    if isinstance(value, Flow):
        rows = (", ".join(map(str, row)) for row in value.rows)
        return f"[{', '.join(f'[{row}]' for row in rows)}]"
    assert isinstance(value, str), "lists stand in mappings only"
    return scalar(value)


# Payloads that are not YAML: the bare words between the migration framework and pscom


_AROUND: Final = " \t\r\n\0"
"""The characters that may surround the words: pscom sends a NUL after them."""
_ANSWER: Final = re.compile(r"([0-9]{1,10}) : (.+)", re.DOTALL)
_LARGEST_PROCESS: Final = 2**32 - 1


def decode_words(cls: type[Any], payload: bytes) -> Any:
    """Read a request to pscom or an answer of it. Any text is valid.

    >>> decode_words(v.PscomResponse, b"4242 : ALLOWED\\0")
    PscomResponse(state='ALLOWED', process=4242)
    """
    if len(payload) > LARGEST:
        raise DecodeError(f"expected at most {LARGEST:,} bytes, found {len(payload):,}")
    text = payload.decode("utf-8", "replace").strip(_AROUND)
    if cls is v.PscomRequest:
        return v.PscomRequest(text)
    found = _ANSWER.fullmatch(text)
    if found is None or int(found[1]) > _LARGEST_PROCESS or found[2] != found[2].strip(_AROUND):
        return v.PscomResponse(text)
    return v.PscomResponse(found[2], int(found[1]))


def encode_words(message: Any) -> bytes:
    """Write a request to pscom or an answer of it.

    Raises:
        EncodeError: a reader would get other words.
    """
    name = "task" if isinstance(message, v.PscomRequest) else "state"
    words = getattr(message, name)
    if not isinstance(words, str):
        raise EncodeError(f"expected a text, got {shown(words)}", name)
    text = words
    if isinstance(message, v.PscomResponse) and message.process is not None:
        if type(message.process) is not int or not 0 <= message.process <= _LARGEST_PROCESS:
            raise EncodeError(
                f"expected a number in [0, {_LARGEST_PROCESS}] or None, got {shown(message.process)}", "process"
            )
        text = f"{message.process} : {words}"
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise EncodeError(f"expected Unicode, got {shown(words)} with half a character", name) from None
    if len(data) > LARGEST or decode_words(type(message), data) != message:
        raise EncodeError(f"expected words that are read as they are written, got {shown(words)}", name)
    return data
