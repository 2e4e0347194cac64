"""What is generated of the reference is complete, and each thing is told at one place."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest
from stories import DOCS
from support import ROOT

sys.path.append(str(ROOT / "tools"))
pytest.importorskip("sphinx", reason="the extra docs")

from handbook import catalogues, commands, rules
from handbook.markdown import definitions, prose
from handbook.pages import completed

from batprotocol.policies.names import PARTS
from batprotocol.simulator import METRICS
from batprotocol.simulator.inputs.names import FILE_WORDS, MODEL_WORDS
from batprotocol.studies import KEYS

WITHOUT_ENGINE = True


def page(name: str) -> str:
    """A page with what is generated in it."""
    return completed(name, (DOCS / f"{name}.md").read_text(encoding="utf-8"))


def targets(name: str) -> Counter[str]:
    return Counter(re.findall(r"^\((.+)\)=$", page(name), re.MULTILINE))


@pytest.mark.parametrize("kind", rules.KINDS)
def test_every_rule_is_on_its_page_once(kind: str) -> None:
    name, _, having = rules.KINDS[kind]
    found = targets(name)
    wrong = {id: found[rules.anchor(kind, id)] for id in having if found[rules.anchor(kind, id)] != 1}
    assert not wrong, f"docs/{name}.md has a marker `generated: rules {kind} TOPIC...` for each topic, once"


def test_a_rule_tells_how_bad_it_is_and_where() -> None:
    told = rules.rules("", "today job")
    assert "### `job.kill-again`" in told
    assert "Warning in `protocol`; error in `batsim-5.0.0-rc2`." in told
    assert rules.names()["job.unknown"] == ("reference/rules", "rule-job-unknown")


def test_every_command_is_on_one_page() -> None:
    missing = commands.all_commands().keys() - commands.names().keys()
    assert not missing, f"a page of docs/reference/commands has `generated: command NAME` for {missing}"
    for name, (where, anchor) in commands.names().items():
        if anchor:
            assert targets(where)[anchor] == 1, name


def test_a_command_is_told_with_all_its_options() -> None:
    told = commands.command("", "at")
    assert "batproto at [OPTIONS] RUN SECONDS" in told
    assert "`--json`\n: Print JSON." in told
    assert "Examples:\n\n```text\nbatproto at run.tar.xz 3600\n" in told


@pytest.mark.parametrize(
    ("name", "things"),
    [
        ("reference/policies", [part.name for part in PARTS.values()]),
        ("reference/metrics", list(METRICS)),
        ("reference/workloads", [*FILE_WORDS, *MODEL_WORDS]),
        ("reference/studies", list(KEYS)),
    ],
)
def test_what_has_a_name_is_on_its_page(name: str, things: list[str]) -> None:
    generated = page(name)
    missing = [each for each in things if not re.search(rf"`{each}[`=]", generated)]
    assert not missing, f"docs/{name}.md has no `generated:` marker for {missing}"


def test_metrics_lead_to_their_headings() -> None:
    found = targets("reference/metrics")
    assert all(found[anchor] == 1 for _, anchor in catalogues.metric_names().values())
    told = catalogues.metrics("", "jobs")
    assert "### Bounded slowdown\n\n`mean_bounded_slowdown`, `median_bounded_slowdown`" in told
    assert "Less is better. Source: D. G. Feitelson and L. Rudolph, JSSPP 1998." in told


def test_sentences_of_the_code_become_markdown() -> None:
    assert prose('KillJobsEvent *and* `a*b` with --full, see "batproto rules"') == (
        r"`KillJobsEvent` \*and\* `a*b` with `--full`, see `batproto rules`"
    )
    assert definitions([("a", "one\n\ntwo")]) == "a\n: one\n\n  two"
