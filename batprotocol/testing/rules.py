"""The rules of conformance: the duties of a decision component as a whole, besides the rules of the conversation.

This is a table, as the other catalogues are. The code that plays a simulation finds the violations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.conversation import RULE_SETS, RULES, Rule, Violation
from batprotocol.simulator.batsim.rules import SIMULATOR_RULES

__all__ = ["ALL_RULES", "CONFORMANCE_RULES", "Misconduct", "counts_as_finding", "explained"]

_ALL: Final = (
    Rule(
        "edc.died",
        "The decision component ended before the simulation did",
        "It crashed, raised an exception or exited while a reply was due. Batsim would wait without an end.",
        "error",
    ),
    Rule(
        "edc.silent",
        "The decision component does not answer",
        "Batsim waits for an answer to each message, without an end. Answer the events that mean nothing to the "
        "scheduler, too, with an empty reply. If the scheduler only needs more time, allow a longer time-out.",
        "deadlock",
    ),
    Rule(
        "edc.second-answer",
        "The decision component sends a message that nobody asked for",
        "Answer each message exactly once, and send nothing in between or after the end.",
        "error",
    ),
    Rule(
        "edc.several-parts",
        "An answer is not one frame",
        "A message is one ZeroMQ frame. A second part makes Batsim fail.",
        "error",
    ),
    Rule(
        "edc.never-decided",
        "A job that could run is never decided on",
        "No job runs and nothing will come except calls and probes, again and again, and a job still waits. Execute or "
        "reject the job.",
        "deadlock",
    ),
    Rule(
        "edc.endless",
        "The simulation does not come to its end",
        "Only calls or probes are left to answer, or the decision component makes new work without an end. When the "
        "inputs are done, stop the periodic calls and probes, and register no more jobs.",
        "deadlock",
    ),
)

CONFORMANCE_RULES: Final[Mapping[str, Rule]] = {rule.id: rule for rule in _ALL}
"""The rules by id."""

ALL_RULES: Final[Mapping[str, Rule]] = {**RULES, **SIMULATOR_RULES, **CONFORMANCE_RULES}
"""These, those of the simulator and those of the conversation."""

_BLAMED: Final = frozenset(
    {
        "frame.flags",
        "hosts.pstate-sleep",
        "job.host-number",
        "job.host-stores",
        "job.over-allocation",
        "message.unverified",
    }
)
"""Warnings of all rule sets that count as findings: Batsim survives them, but they are hardly ever intended."""


class Misconduct(Exception):
    """A decision component breaks one of these rules.

    Attributes:
        rule: the id of the rule.
        text: the fault, as one sentence.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule
        self.text = text


def counts_as_finding(violation: Violation) -> bool:
    """Whether a violation makes a decision component non-conforming.

    Fatal violations do, and violations of the documentation of the protocol, even where this Batsim survives them. So
    do a few warnings that are hardly ever intended.
    """
    demanded = RULE_SETS["protocol"].get(violation.rule, "warning") != "warning"
    return violation.is_fatal or demanded or violation.rule in _BLAMED


def explained(rule: str) -> Rule:
    """A rule, with its title and explanation, whichever catalogue it is in."""
    return ALL_RULES[rule]
