"""A payload's text -> a tree of nodes, each with its line and column. libyaml, of PyYAML, does the parsing.

The tree is made of libyaml's events, not of PyYAML's objects, because the programs of FaST read otherwise: whether a
scalar is a number its reader decides, the first of equal keys wins, `<<` is a key as any other. Time and memory are
bounded for any bytes. It must not know of any message.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final, TypeAlias

from batprotocol._util.requirements import installing
from batprotocol.errors import DecodeError, PackageMissing

try:
    import yaml
    from yaml.cyaml import CParser  # type: ignore[attr-defined]  # it is what the module is for
except ImportError:  # programs that use only the rules need no YAML
    _HAS_LIBYAML = False
else:
    _HAS_LIBYAML = True

__all__ = ["LARGEST", "MappingNode", "Node", "Refused", "ScalarNode", "SequenceNode", "compose"]

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


class Refused(Exception):
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

    def below(self, step: str) -> Refused:
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
