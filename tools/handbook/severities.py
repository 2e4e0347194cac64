"""How severe a rule is in which rule sets, in words."""

from __future__ import annotations

from typing import Final

from batprotocol._util.rules import Catalogue, Rule
from handbook.markdown import capitalised, code, listed

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
        told = "; ".join(f"{word} in {listed(map(code, sets))}" for word, sets in words.items()) + "."
    return capitalised(told)
