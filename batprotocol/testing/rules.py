"""The rules of conformance: what a decision component as a whole has to do, beside what the conversation's rules say.

It is a table, as the other catalogues are: what breaks a rule is found where a simulation is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.conversation import RULE_SETS, RULES, Rule, Violation
from batprotocol.simulator.batsim.state.rules import SIMULATOR_RULES

__all__ = ["ALL_RULES", "CONFORMANCE_RULES", "Misconduct", "counts_as_finding", "explained"]

_ALL: Final = (
    Rule(
        "edc.died",
        "The decision component ended before the simulation did",
        "It crashed, raised an exception or exited while a reply was due. Batsim would wait for ever.",
        "error",
    ),
    Rule(
        "edc.silent",
        "The decision component does not answer",
        "Each message is answered, if only with an empty reply: Batsim waits for it for ever. Answer the events that "
        "mean nothing to the scheduler, too. If it only needs longer, allow a longer time-out.",
        "deadlock",
    ),
    Rule(
        "edc.second-answer",
        "The decision component says something that nobody asked for",
        "Each message is answered exactly once, and nothing is said in between or after the end.",
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
        "Nothing runs and nothing is to come but calls and probes, again and again, and a job still waits. Execute it "
        "or reject it.",
        "deadlock",
    ),
    Rule(
        "edc.endless",
        "The simulation does not come to its end",
        "Nothing is left to do but to answer calls or probes, or new work is made without end. Stop the periodic calls "
        "and probes, and register no more jobs, once the inputs are done.",
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
"""Warnings of all rule sets that are findings all the same: Batsim survives them, but hardly anybody means them."""


class Misconduct(Exception):
    """A decision component breaks one of these rules.

    Attributes:
        rule: the id of the rule.
        text: what was found, as one sentence.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule
        self.text = text


def counts_as_finding(violation: Violation) -> bool:
    """Whether a violation makes a decision component non-conforming.

    All that is fatal does, all that the documentation of the protocol forbids even where this Batsim survives it, and a
    few warnings that hardly anybody means.
    """
    demanded = RULE_SETS["protocol"].get(violation.rule, "warning") != "warning"
    return violation.is_fatal or demanded or violation.rule in _BLAMED


def explained(rule: str) -> Rule:
    """A rule, with its title and explanation, whichever catalogue it is in."""
    return ALL_RULES[rule]
