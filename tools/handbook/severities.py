"""How severe a rule is in which rule sets, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from batprotocol.rules import Catalogue, Rule
from handbook.markdown import capitalised, code

__all__ = ["severities"]

_OFF: Final = "off"


def severities(rule: Rule, catalogue: Catalogue | None) -> str:
    """How severe a rule is, and where."""
    if catalogue is None:
        return f"{rule.severity.capitalize()}."
    words: dict[str, list[str]] = {}
    for name, severities in catalogue.rule_sets.items():
        words.setdefault(severities.get(rule.id, _OFF), []).append(name)
    if len(words) == 1:
        told = f"{next(iter(words))} in {'both' if len(catalogue.rule_sets) == 2 else 'all'} rule sets."
    else:
        told = "; ".join(f"{word} in {_listed(sets)}" for word, sets in words.items()) + "."
    return capitalised(told)


def _listed(sets: Iterable[str]) -> str:
    *first, last = map(code, sets)
    return f"{', '.join(first)} and {last}" if first else last
