"""`batproto rules`: the rules of the protocols' catalogues as text for the terminal. It does not check anything."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from batprotocol._util.rules import Catalogue
from batprotocol.cli.terminal import Piece

__all__ = ["explain", "ids", "overview"]

_OFF = "off"
_WIDEST_WORD = len("deadlock")

Line = list[Piece]


def ids(catalogues: Mapping[str, Catalogue]) -> tuple[str, ...]:
    """The ids of all rules, each once: several catalogues can have the same id."""
    return tuple(dict.fromkeys(id for catalogue in catalogues.values() for id in catalogue.rules))


def overview(catalogues: Mapping[str, Catalogue]) -> Iterator[Line]:
    """All rules: the id, the severity in each rule set, and the title."""
    for name, catalogue in catalogues.items():
        yield from _heading(name, catalogues)
        widest = max(map(len, catalogue.rules))
        columns = {name: max(len(name), _WIDEST_WORD) for name in catalogue.rule_sets}
        heads = "  ".join(name.ljust(width) for name, width in columns.items())
        yield [("heading", f"{'rule'.ljust(widest)}  {heads}  problem")]
        for rule in catalogue.rules.values():
            words = (_severity(catalogue, name, rule.id).ljust(width) for name, width in columns.items())
            yield [("type", rule.id.ljust(widest)), ("", f"  {'  '.join(words)}  {rule.title}")]


def explain(id: str, catalogues: Mapping[str, Catalogue], width: int | None) -> Iterator[Line]:
    """A rule in each catalogue that has it: its explanation, wrapped at `width` unless it is None, and severities."""
    having = {name: catalogue for name, catalogue in catalogues.items() if id in catalogue.rules}
    for name, catalogue in having.items():
        yield from _heading(name, having)
        rule = catalogue.rules[id]
        yield [("type", rule.id), ("", ": "), ("heading", rule.title)]
        lines = textwrap.wrap(rule.explanation, max(width - 2, 20)) if width else [rule.explanation]
        yield from ([("", f"  {line}")] for line in lines)
        for rule_set in catalogue.rule_sets:
            yield [("", "  "), ("field", rule_set), ("", f": {_severity(catalogue, rule_set, id)}")]


def _heading(name: str, among: Iterable[str]) -> Iterator[Line]:
    """The name of a catalogue, if there are several."""
    if len(list(among)) > 1:
        yield [("file", name)]


def _severity(catalogue: Catalogue, rule_set: str, id: str) -> str:
    return catalogue.rule_sets[rule_set].get(id, _OFF)
