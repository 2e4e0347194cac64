"""Every rule is reported where it is broken, and where it is nearly broken it is not."""

from __future__ import annotations

import pytest
from cases import CASES

from batprotocol.conversation import RULE_SETS, RULES, Conversation, check

WITHOUT_ENGINE = True


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_reported_where_it_is_broken(rule: str, rules: str) -> None:
    severities = {violation.severity for violation in check(CASES[rule].breaks, rules) if violation.rule == rule}
    expected = RULE_SETS[rules].get(rule)
    assert severities == ({expected} if expected else set())


@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_not_reported_where_it_is_kept(rule: str, rules: str) -> None:
    assert rule not in {violation.rule for violation in check(CASES[rule].keeps, rules)}


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
def test_the_near_miss_is_clean(rule: str) -> None:
    found = {violation.rule for violation in check(CASES[rule].keeps)}
    assert found <= ALSO_BROKEN.get(rule, set())


@pytest.mark.parametrize("rule", CASES)
def test_violations_say_where(rule: str) -> None:
    said = CASES[rule].breaks
    for violation in check(said, "protocol") + check(said):
        assert violation.explained is RULES[violation.rule]
        assert 0 <= violation.message < len(said)
        assert violation.text
        assert violation.rule in str(violation)
        assert violation.severity in ("error", "deadlock", "warning")


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
