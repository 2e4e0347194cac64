"""Rules, violations and catalogues, with which the checks of every protocol report their findings.

Each protocol has its own catalogue, and a class of violations that refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol._util.deprecation import old_names

__all__ = ["BrokenRule", "Catalogue", "Rule", "RuleRow", "Severity"]

Severity: TypeAlias = Literal["error", "deadlock", "warning"]
"""How bad a violation is.

`error`: the other side aborts or crashes because of it; an event of a simulator with an error is not reliable.
`deadlock`: the simulation can never continue. `warning`: it contradicts the documentation or is ignored, but the other
side survives it.
"""


class Rule(msgspec.Struct, frozen=True):
    """A rule of a protocol.

    Args:
        id: its stable name, `topic.what`.
        title: the problem in one line.
        explanation: the reason, and how to correct it.
        severity: its severity, unless the rule set has another one.
    """

    id: str
    title: str
    explanation: str
    severity: Severity


class RuleRow(NamedTuple):
    """A row of a catalogue: a rule, and its severity in each rule set.

    Attributes:
        id: the id of the rule.
        severities: one for each rule set, in the order of the catalogue; "off" means that it is not a violation.
        title: the problem in one line.
        explanation: the reason, and how to correct it.
    """

    id: str
    severities: tuple[Severity | Literal["off"], ...]
    title: str
    explanation: str


class Catalogue:
    """The rules of one protocol, and the severity of each rule in each of its rule sets.

    Args:
        rule_sets: the names of the rule sets. The last one is the default.
        rows: the rules.

    Attributes:
        default: the name of the default rule set.
        rules: all rules by id.
        rule_sets: the severity of each rule, by rule set. A rule that is not in it is off.

    >>> row = RuleRow("turn.order", ("warning", "error"), "A message out of turn", "Answer each message exactly once.")
    >>> catalogue = Catalogue(["as documented", "as built"], [row])
    >>> catalogue.rules["turn.order"].title, catalogue.severities("as documented")
    ('A message out of turn', {'turn.order': 'warning'})
    """

    __slots__ = ("default", "rule_sets", "rules")

    def __init__(self, rule_sets: Sequence[str], rows: Iterable[RuleRow]) -> None:
        found: dict[str, dict[str, Severity]] = {name: {} for name in rule_sets}
        rules: dict[str, Rule] = {}
        for row in rows:
            severity: Severity = "warning"
            for name, each in zip(rule_sets, row.severities, strict=True):
                if each != "off":
                    found[name][row.id] = severity = each
            rules[row.id] = Rule(row.id, row.title, row.explanation, severity)
        self.default: str = rule_sets[-1]
        self.rules: Mapping[str, Rule] = rules
        self.rule_sets: Mapping[str, Mapping[str, Severity]] = found

    @classmethod
    def of_one(cls, rule_set: str, rules: Iterable[Rule]) -> Catalogue:
        """A catalogue with a single rule set, in which each rule has its own severity."""
        return cls([rule_set], [RuleRow(rule.id, (rule.severity,), rule.title, rule.explanation) for rule in rules])

    def severities(self, rule_set: str) -> Mapping[str, Severity]:
        """The severity of each rule in this rule set.

        Raises:
            ValueError: there is no such rule set.
        """
        if rule_set not in self.rule_sets:
            raise ValueError(f"there is no rule set {rule_set!r}, only {', '.join(map(repr, self.rule_sets))}")
        return self.rule_sets[rule_set]


class BrokenRule(msgspec.Struct, frozen=True):
    """A broken rule, and the place. Each protocol has its own class, with its `RULES`.

    Args:
        message: the number of the message. The first one of the conversation is 0.
        path: the place in the message, by the names of the schema (`events[0].event.job_id`), or "" for the whole.
        rule: the id of the rule.
        severity: "error", "deadlock" or "warning", from the rule set in use.
        text: the finding, as one sentence.

    >>> print(BrokenRule(3, "events[0].event.job_id", "job.unknown", "error", "there is no job 'w0!1'"))
    message 3, events[0].event.job_id: error: there is no job 'w0!1' [job.unknown]
    """

    RULES: ClassVar[Mapping[str, Rule]] = {}
    """All rules that violations of this class can refer to, by id."""

    message: int
    path: str
    rule: str
    severity: Severity
    text: str

    @property
    def is_fatal(self) -> bool:
        """Whether the simulation does not survive it: it is an error or a deadlock."""
        return self.severity != "warning"

    @property
    def explained(self) -> Rule:
        """The rule, with its title and explanation."""
        return self.RULES[self.rule]

    def __str__(self) -> str:
        place = f"message {self.message}, {self.path}" if self.path else f"message {self.message}"
        return f"{place}: {self.severity}: {self.text} [{self.rule}]"


__getattr__ = old_names(__name__, {"Row": "RuleRow", "Violation": "BrokenRule"})
