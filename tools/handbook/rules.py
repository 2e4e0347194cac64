"""The rules of all conversations, from the catalogues of the judges alone. Each rule has its own place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol._util.rules import Catalogue, Rule
from batprotocol.conversation import CATALOGUE
from batprotocol.fast.conversation import CATALOGUE as FAST
from batprotocol.legacy.rules import CATALOGUE as LEGACY
from batprotocol.simulator.batsim.rules import SIMULATOR_RULES
from batprotocol.testing.rules import CONFORMANCE_RULES
from handbook.events.places import EVENTS, SPEAKERS
from handbook.events.rules import general, own
from handbook.markdown import code, prose, target
from handbook.severities import severities

__all__ = ["KINDS", "anchor", "names", "rules"]

KINDS: Final[Mapping[str, tuple[str, Catalogue | None, Mapping[str, Rule]]]] = {
    "today": ("reference/rules", CATALOGUE, CATALOGUE.rules),
    "simulator": ("reference/rules", None, SIMULATOR_RULES),
    "conformance": ("reference/rules", None, CONFORMANCE_RULES),
    "fast": ("reference/fast", FAST, FAST.rules),
    "older": ("reference/older-rules", LEGACY, LEGACY.rules),
}
"""For each kind of rules its page, its catalogue (or None) and the rules."""


def anchor(kind: str, id: str) -> str:
    """The place of a rule on its page."""
    return f"rule-{'' if kind == 'today' else f'{kind}-'}{id.replace('.', '-')}"


def names() -> Mapping[str, tuple[str, str]]:
    """All ids with their places. If several kinds have an id, it leads to the first of them."""
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
    about = f" {_about(rule.id)}" if kind == "today" else ""
    told = f"{severities(rule, catalogue)}{about}"
    return "\n\n".join([heading, f"**{prose(rule.title)}.** {prose(rule.explanation)}", told])


def _about(id: str) -> str:
    """The events to which a current rule applies."""
    named = [name for name, kind in EVENTS.items() if id in own(kind)]
    of_all = [side for side, kinds in SPEAKERS.items() if all(id in (*general(kind), *own(kind)) for kind in kinds)]
    if of_all:
        return f"About all events of {' and of '.join(of_all)}."
    if any(id in general(kind) for kind in EVENTS.values()):
        return "About most events of the decision component."
    assert named, f"no event falls under {id}: tools/handbook/events/rules.py"
    return f"About {', '.join(map(code, named))}."
