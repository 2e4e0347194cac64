"""`batproto rules`: the rules of the conversation as text for people.

It shows what `batprotocol.conversation` has in its catalogue, and judges nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from batprotocol.cli.text import Piece
from batprotocol.conversation import RULE_SETS, RULES

__all__ = ["NAMES", "explain", "overview"]

NAMES = tuple(RULES)
"""The ids of all rules."""

_OFF = "off"
_WIDEST_ID = max(map(len, NAMES))
_COLUMNS = {name: max(len(name), len("deadlock")) for name in RULE_SETS}

Line = list[Piece]


def overview() -> Iterator[Line]:
    """All rules: id, severity in each rule set, title."""
    heads = "  ".join(name.ljust(width) for name, width in _COLUMNS.items())
    yield [("heading", f"{'rule'.ljust(_WIDEST_ID)}  {heads}  what is wrong")]
    for rule in RULES.values():
        severities = "  ".join(_severity(name, rule.id).ljust(width) for name, width in _COLUMNS.items())
        yield [("type", rule.id.ljust(_WIDEST_ID)), ("", f"  {severities}  {rule.title}")]


def explain(id: str, width: int | None) -> Iterator[Line]:
    """One rule with its explanation, wrapped at a width or not at all."""
    rule = RULES[id]
    yield [("type", rule.id), ("", ": "), ("heading", rule.title)]
    lines = textwrap.wrap(rule.explanation, max(width - 2, 20)) if width else [rule.explanation]
    yield from ([("", f"  {line}")] for line in lines)
    for name in RULE_SETS:
        yield [("", "  "), ("field", name), ("", f": {_severity(name, id)}")]


def _severity(rule_set: str, id: str) -> str:
    return RULE_SETS[rule_set].get(id, _OFF)
