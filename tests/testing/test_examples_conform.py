"""The examples, and the scheduler that `batproto new` writes, break no rule."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest
from support import ROOT

from batprotocol.edc import Scheduler
from batprotocol.edc.commands.new import example_scheduler
from batprotocol.testing import conformance

WITHOUT_ENGINE = True
EXAMPLES = {
    "fcfs": "FCFS",
    "easy_backfilling": "EASY",
    "power_saver": "PowerSaver",
    "killer": "Killer",
    "dynamic_registration": "LoadGenerator",
}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    yield
    for name in EXAMPLES:
        sys.modules.pop(name, None)


def scheduler(module: str) -> type[Scheduler]:
    found: type[Scheduler] = getattr(importlib.import_module(module), EXAMPLES[module])
    return found


def passes(component: type[Scheduler], examples: int, rules: str) -> None:
    report = conformance.check(component, examples=examples, rules=rules)
    assert report.simulations == examples
    assert report.counts["ExecuteJobEvent"] > examples


@pytest.mark.parametrize("rules", ["batsim-5.0.0-rc2", "protocol"])
@pytest.mark.parametrize("module", EXAMPLES)
def test_an_example_passes(module: str, rules: str) -> None:
    passes(scheduler(module), 30, rules)


@pytest.mark.slow
def test_the_template_passes() -> None:
    passes(example_scheduler(), 50, "batsim-5.0.0-rc2")


@pytest.mark.minutes
@pytest.mark.parametrize("module", EXAMPLES)
def test_an_example_passes_2000_simulations(module: str) -> None:
    passes(scheduler(module), 2000, "batsim-5.0.0-rc2")
