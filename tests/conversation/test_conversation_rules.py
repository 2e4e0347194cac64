"""Every rule is reported where it is broken, and where it is nearly broken it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import CASES
from sentences import sentences

from batprotocol.conversation import RULE_SETS, RULES, Conversation, check

WITHOUT_ENGINE = True


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_reported_where_it_is_broken(rule: str) -> None:
    for rules, severities in RULE_SETS.items():
        found = {violation.severity for violation in check(CASES[rule].breaks, rules) if violation.rule == rule}
        assert found == ({severities[rule]} if rule in severities else set()), rules


# What breaks no rule although it comes near to one may break another, on purpose: these do, all others nothing at all.
ALSO_BROKEN = {
    "event.not-implemented": {"probe.stop-unknown"},
    "end.register-job": {"end.useless", "register.not-requested"},
    "end.turn-on-off": {"end.useless"},
    "time.not-a-number": {"time.past"},
    "job.infinite": {"profile.infinite"},
    "hosts.pstate-unknown": {"hosts.pstate-sleep"},
    "hosts.unknown": {"job.host-stores"},
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_not_reported_where_it_is_nearly_broken(rule: str) -> None:
    for rules in RULE_SETS:
        assert rule not in {violation.rule for violation in check(CASES[rule].keeps, rules)}, rules
    found = {violation.rule for violation in check(CASES[rule].keeps)}
    assert found <= ALSO_BROKEN.get(rule, set())


SENTENCES = Path(__file__).parent.parent / "data" / "sentences.txt"
"""What `python tests/sentences.py` prints, kept once it is right."""


def test_what_people_are_told() -> None:
    """Word by word: which message, which of its fields, what is wrong with it, and which rule says so."""
    assert sentences() == SENTENCES.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("rules", RULE_SETS)
def test_violations_are_explained(rules: str) -> None:
    for case in CASES.values():
        for violation in check(case.breaks, rules):
            assert violation.explained is RULES[violation.rule]
            assert 0 <= violation.message < len(case.breaks)


def test_explanations_are_for_people() -> None:
    for id, rule in RULES.items():
        assert rule.id == id
        assert rule.title[0].isupper()
        assert not rule.title.endswith(".")
        assert rule.explanation.endswith(".")
        assert len(rule.title) < 80


def test_unknown_rule_set() -> None:
    with pytest.raises(ValueError, match=r"'batsim-4', only 'protocol', 'batsim-5.0.0-rc2'"):
        Conversation("batsim-4")
