"""The rules of all conversations, each at a place of its own: of the catalogues that judge, and nothing besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol.conversation import CATALOGUE
from batprotocol.fast.conversation import CATALOGUE as FAST
from batprotocol.legacy.conversation.rules import CATALOGUE as LEGACY
from batprotocol.rules import Catalogue, Rule
from batprotocol.simulator.batsim.state.rules import SIMULATOR_RULES
from batprotocol.testing.conformance.rules import CONFORMANCE_RULES
from handbook.markdown import capitalised, code, prose, target

__all__ = ["KINDS", "anchor", "names", "rules", "severities"]

_OFF: Final = "off"

KINDS: Final[Mapping[str, tuple[str, Catalogue | None, Mapping[str, Rule]]]] = {
    "today": ("reference/rules", CATALOGUE, CATALOGUE.rules),
    "simulator": ("reference/rules", None, SIMULATOR_RULES),
    "conformance": ("reference/rules", None, CONFORMANCE_RULES),
    "fast": ("reference/fast", FAST, FAST.rules),
    "older": ("reference/older-rules", LEGACY, LEGACY.rules),
}
"""For each kind of rules its page, its catalogue, where there is one, and the rules."""


def anchor(kind: str, id: str) -> str:
    """The place of a rule on its page."""
    return f"rule-{'' if kind == 'today' else f'{kind}-'}{id.replace('.', '-')}"


def names() -> Mapping[str, tuple[str, str]]:
    """All ids with their places. An id that several kinds have leads to the first of them."""
    found: dict[str, tuple[str, str]] = {}
    for kind, (page, _, having) in KINDS.items():
        for id in having:
            found.setdefault(id, (page, anchor(kind, id)))
    return found


def rules(page: str, argument: str) -> str:
    """The rules of a kind, or those of some topics of it: `today job register`."""
    kind, *topics = argument.split()
    _, catalogue, having = KINDS[kind]
    chosen = [rule for rule in having.values() if not topics or rule.id.partition(".")[0] in topics]
    assert chosen, f"no rule is about {' or '.join(topics)}"
    return "\n\n".join(_rule(kind, rule, catalogue) for rule in chosen) + "\n"


def _rule(kind: str, rule: Rule, catalogue: Catalogue | None) -> str:
    heading = f"{target(anchor(kind, rule.id))}\n### {code(rule.id)}"
    return "\n\n".join([heading, f"**{prose(rule.title)}.** {prose(rule.explanation)}", severities(rule, catalogue)])


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
