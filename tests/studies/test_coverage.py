"""How often intervals of ten seeds, and of the windows of queues, contain the true mean: `tools/coverage.py`."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WITHOUT_ENGINE = True


def tool() -> Any:
    """The tool, by a name that no package has."""
    name = "coverage_of_intervals"
    if name not in sys.modules:
        spec = spec_from_file_location(name, Path(__file__).parents[2] / "tools" / "coverage.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (1, 0.75), (8, 0.75)])
def test_queues_wait_as_long_as_their_formulas_say(servers: int, load: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pollaczek and Khinchine's formula, and Erlang's."""
    monkeypatch.setattr(tool(), "WARM_UP", 500)
    queue = tool().Queue(servers, False)
    slow, fast, counts = tool().waits_of(queue, load, 200, 10, 200)
    assert counts.sum() == pytest.approx(200 * 10 * 200, rel=0.01)
    assert slow.sum() / counts.sum() == pytest.approx(queue.wait(load), rel=0.06)
    assert fast.sum() / counts.sum() == pytest.approx(queue.wait(load / 1.1) / 1.1, rel=0.06)


def test_formulas_of_queues() -> None:
    queue = tool().Queue
    assert queue(1, False).wait(0.5) == queue(1, True).wait(0.5) / 2.5 == 1.0
    assert queue(2, False).wait(0.5) == pytest.approx(
        1 / 3
    )  # Erlang's C is 1/3 for two servers and an offered load of 1
    assert queue(8, True).wait(0.5) is None


@pytest.mark.minutes
def test_tables_of_ten_seeds_contain_the_truth_as_often_as_the_page_says() -> None:
    """In each of 16 forms; the truth is exact, as the seeds are drawn from a known population."""
    whole = tool().population(2000, None, os.cpu_count() or 1)
    found = tool().of_seeds(whole, 1000, os.cpu_count() or 1)
    assert len(found) == 16
    for form, (share, below, above, width) in found.items():
        assert 93 <= share <= 98, form  # 97, and what chance does to 1,000 tables
        assert max(below, above) <= 5, form
        assert 0.9 < width < 2.6, form


@pytest.mark.minutes
@pytest.mark.parametrize("jobs", [1000, 3000])
@pytest.mark.parametrize("load", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("servers", [1, 8])
def test_windows_contain_the_truth_as_often_as_the_page_says(servers: int, load: float, jobs: int) -> None:
    """Queues with exponential run times; the page has the others, too."""
    _, rows = tool().held((tool().Queue(servers, False), load, jobs, 1000))
    least = 90 if load == 0.9 and jobs == 1000 else 92.5
    for windows, what, share, wide, widest in rows:
        assert least <= share <= 99, (windows, what)
        assert 0.9 < wide < 1.5, (windows, what)
        assert widest < 2.1, (windows, what)


@pytest.mark.slow
def test_the_tables_of_the_page_have_a_row_for_each_form(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool(), "WARM_UP", 100)
    values = np.random.default_rng(1).lognormal(0, 1, (40, 2, 2, 4))
    values[..., 0] += 1
    values[..., 2] = 1 / (1 + values[..., 2])
    tool().print_seeds(tool().of_seeds(values, 4, 1))
    tool().print_windows([tool().held((tool().Queue(1, False), 0.6, 20, 5))])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:6]] == list(tool().FORMS)
    assert lines[8].startswith("| 20 | 0.6 | ")
    assert lines[-1].startswith("| 20 | 0.6 | M/M/1 | ")
