"""A tree -> the text that yaml-cpp 0.5.3 writes for it, byte for byte, but for what nothing reads again.

The tree is of texts, None, dicts, lists and `Flow` lists. It must not know of any message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from batprotocol.errors import EncodeError

__all__ = ["LONGEST_KEY", "Flow", "Tree", "emit", "scalar"]

LONGEST_KEY: Final = 1000
"""How many characters a key has at most, with its quotes. YAML has keys of 1024."""


class Flow(NamedTuple):
    """Lists of numbers that are written on one line: `[[0, 1], [2]]`."""

    rows: tuple[tuple[int, ...], ...]


Tree: TypeAlias = "str | Flow | Mapping[str, Tree] | Sequence[Tree] | None"

_NULLS: Final = frozenset(["", "~", "null", "Null", "NULL"])
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
