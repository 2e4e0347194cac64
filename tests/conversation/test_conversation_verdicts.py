"""What a real Batsim 5.0.0-rc2 made of odd replies, and of whole runs: `check` must say the same.

The verdicts and runs kept with the tests are read everywhere, all of them where the recordings are at hand.
"""

from __future__ import annotations

import base64
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import CORPUS, DATA, ROOT, SHARED, files_of, read_run, runs

from batprotocol.conversation import Violation, check
from batprotocol.wire import binary

VERDICTS = tuple(SHARED / "verdicts" / f"batsim-5.0.0-rc2{part}.jsonl.xz" for part in ("", "-more"))
HERE = all(path.is_file() for path in VERDICTS)
KEPT = DATA / "verdicts.jsonl"

# Where Batsim did not survive and the conversation does not tell why. docs/explanation/conversation.md lists them too.
DISAGREEMENTS = {
    "multipart later reply": "the second ZeroMQ part of the reply is not in its bytes",
    "cover__test_usage_trace-kill-usage": "the profile of the killed job was not forwarded",
    "exec1by1-custom-mapping__test_various_profile_types-fail": "the profile of the mapped job was not forwarded",
    "mapping-out-of-range-vec": "the profile of the mapped job was not forwarded",
    "smpi-mapping-short": "the profile of the mapped job was not forwarded",
    "stop-hom-mid": "the profile of the running job was not forwarded",
    "stop-hom-running": "the profile of the running job was not forwarded",
    "stop-seq-of-ptask": "the profile of the running job was not forwarded",
    "stop-vec-running": "the profile of the running job was not forwarded",
    "static-unused-profile": "that no job of the workload has the profile was not told",
    "reg-job-id-of-future-static": "which jobs the workload still holds was not told",
}

# Batsim survives these, though it would have gone on for ever.
ENDLESS = {"cml-infinite-only"}

# What the rules say at Batsim's SimulationEndsEvent is about what the decision component left undone before its stop.
LEFT_UNDONE = {"job.undecided", "call.never-fires", "register.unfinished"}


@cache
def verdicts() -> list[dict[str, Any]]:
    """All verdicts where they are at hand, else those kept with the tests."""
    if HERE:
        return [json.loads(line) for path in VERDICTS for line in lzma.open(path, "rt")]
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


JUDGED: dict[tuple[str, str, str], list[Violation]] = {}


def judged(verdict: dict[str, Any]) -> list[Violation]:
    """What `check` says, which is asked once with each engine."""
    key = (verdict["name"], verdict["fmt"], binary.ENGINE)
    if key not in JUDGED:
        JUDGED[key] = check([base64.b64decode(data) for _, data in verdict["messages"]])
    return JUDGED[key]


def is_fatal(violations: list[Violation]) -> bool:
    return any(violation.is_fatal for violation in violations)


def is_refused(verdict: dict[str, Any]) -> bool:
    return verdict["verdict"] not in ("accepted", "endless")


def survived(archive: Path) -> bool:
    """Whether Batsim ended a recorded run well."""
    return bool(json.loads(files_of(archive)["run.json"])["batsim_rc"] == 0)


every_verdict = pytest.mark.parametrize(
    "verdict", verdicts(), ids=lambda verdict: f"{verdict['name']} ({verdict['fmt']})"
)
every_run = pytest.mark.parametrize("archive", runs(), ids=lambda archive: archive.name.removesuffix(".tar.xz"))


@every_verdict
def test_verdicts(verdict: dict[str, Any]) -> None:
    violations = judged(verdict)
    if verdict["name"] in DISAGREEMENTS:
        assert not is_fatal(violations), "this is no disagreement any more"
    else:
        assert is_fatal(violations) is is_refused(verdict), [str(each) for each in violations]


@every_verdict
def test_batsim_itself_keeps_the_rules(verdict: dict[str, Any]) -> None:
    said = [each for each in judged(verdict) if each.message % 2 == 0 and each.rule not in LEFT_UNDONE]
    assert [str(each) for each in said] == []


def test_what_would_go_on_for_ever_is_named() -> None:
    endless = [verdict for verdict in verdicts() if verdict["verdict"] == "endless"]
    assert {verdict["name"] for verdict in endless} <= ENDLESS
    assert endless or not HERE
    for verdict in endless:
        assert [each.rule for each in judged(verdict)].count("simulation.endless") == 1


def test_figures() -> None:
    """All that can be known, at least 95 of 100 with what cannot, and no false alarm."""
    outcomes = [(is_fatal(judged(verdict)), is_refused(verdict)) for verdict in verdicts()]
    assert sum(said is true for said, true in outcomes) >= (0.95 if HERE else 0.9) * len(outcomes)
    assert not any(said and not true for said, true in outcomes)


def test_deadlocks_are_told_from_errors() -> None:
    deadlocks = [verdict for verdict in verdicts() if verdict["verdict"] == "deadlock"]
    assert deadlocks
    for verdict in deadlocks:
        assert {each.severity for each in judged(verdict)} - {"warning"} == {"deadlock"}


@pytest.mark.slow
@pytest.mark.once
@every_run
def test_runs(archive: Path) -> None:
    violations = check([recorded.data for recorded in read_run(archive)])
    if archive.name.removesuffix(".tar.xz").rpartition("__")[0] in DISAGREEMENTS:
        assert not is_fatal(violations), "this is no disagreement any more"
    else:
        assert is_fatal(violations) is not survived(archive), [str(each) for each in violations]


RANDOM4 = SHARED / "random4" if (SHARED / "random4").is_dir() else DATA / "simulations" / "random"


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("archive", sorted(RANDOM4.glob("random4*.tar.xz")), ids=lambda path: path.name.split(".")[0])
def test_what_ended_well_breaks_no_rule(archive: Path) -> None:
    """Decisions about what is not there, switches that are changed on their way, parts that are never reached."""
    violations = check([recorded.data for recorded in read_run(archive)])
    assert not is_fatal(violations), [str(each) for each in violations if each.is_fatal]
    assert [str(each) for each in violations if each.message % 2 == 0 and each.rule not in LEFT_UNDONE] == []


@pytest.mark.slow
@pytest.mark.once
@every_run
def test_batsim_itself_keeps_the_rules_in_runs(archive: Path) -> None:
    """Also those of the documentation, whatever the decision component does."""
    for rules in ("batsim-5.0.0-rc2", "protocol"):
        violations = check([recorded.data for recorded in read_run(archive)], rules)
        assert [str(each) for each in violations if each.message % 2 == 0] == []


def test_the_kept_verdicts_are_small_and_genuine() -> None:
    kept = [json.loads(line) for line in KEPT.read_text().splitlines()]
    assert 10 <= len(kept) <= 40
    assert KEPT.stat().st_size < 250_000
    assert {each["verdict"] for each in kept} == {"accepted", "refused", "crashed", "deadlock"}
    if HERE:
        known = {(each["name"], each["fmt"]): each for each in verdicts()}
        for each in kept:
            assert each.items() <= known[each["name"], each["fmt"]].items()


def test_disagreements_are_documented() -> None:
    document = (ROOT / "docs" / "explanation" / "conversation.md").read_text()
    for name in DISAGREEMENTS:
        assert f"`{name}`" in document


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the whole corpus is not here")
def test_disagreements_exist() -> None:
    known = {verdict["name"] for verdict in verdicts()} | {path.name.rpartition("__")[0] for path in runs()}
    assert set(DISAGREEMENTS) <= known
