"""Tables of results: means and paired differences, against a few lines of numpy, in all their forms."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.simulator import METRICS, JobRow
from batprotocol.studies.comparing import PlainRow, interval, table
from batprotocol.studies.comparing.intervals import ANY
from batprotocol.studies.comparing.rows import domain_for

WITHOUT_ENGINE = True

SCHEDULERS, LOADS = ("fcfs", "my.py:EASY", "saf+easy"), (0.8, 1.0, 1.2)


@st.composite
def studies(draw: st.DrawFn) -> list[PlainRow]:
    """Results of which some runs have failed or are missing."""
    found = []
    for seed in range(draw(st.integers(1, 4))):
        for load in LOADS:
            for scheduler in SCHEDULERS:
                axes = {"seed": seed, "scheduler": scheduler, "load": load}
                wait, use = draw(st.integers(0, 100)), draw(st.integers(0, 8))
                kind = draw(st.sampled_from(["", "", "", "failed", "missing", "nan"]))
                metrics = {"mean_waiting_time": wait / 4, "utilisation": use / 8}
                if kind == "nan":
                    metrics["mean_waiting_time"] = math.nan
                if kind != "missing":
                    found.append(PlainRow(axes, {} if kind == "failed" else metrics))
    everywhere = {"seed": 99, "scheduler": "fcfs", "load": 1.0}
    return [*found, PlainRow(everywhere, {"mean_waiting_time": 1.0, "utilisation": 0.5})]


def values_of(results: list[PlainRow], scheduler: str, load: float, metric: str) -> dict[int, float]:
    return {
        row.axes["seed"]: row.metrics[metric]
        for row in results
        if (row.axes["scheduler"], row.axes["load"]) == (scheduler, load)
        and not math.isnan(row.metrics.get(metric, math.nan))
    }


@given(studies(), st.sampled_from(["mean_waiting_time", "utilisation"]))
def test_means(results: list[PlainRow], metric: str) -> None:
    found = table(results, columns="load", metric=metric)
    assert [float(each) for each in found.columns] == sorted({row.axes["load"] for row in results})
    for scheduler, cells in zip(found.rows, found.cells, strict=True):
        for load, cell in zip(found.columns, cells, strict=True):
            values = list(values_of(results, scheduler, float(load), metric).values())
            runs = [row for row in results if (row.axes["scheduler"], f"{row.axes['load']:g}") == (scheduler, load)]
            assert (cell.count, cell.missing) == (len(values), len(runs) - len(values))
            assert cell.mean == (pytest.approx(np.mean(values)) if values else None)
            among = interval(values, domain=domain_for(METRICS[metric], values))
            assert (cell.low, cell.high) == (among or (None, None))
    better = min if METRICS[metric].better == "less" else max
    for column in zip(*found.cells, strict=True):
        means = [cell.mean for cell in column if cell.mean is not None]
        best = [cell for cell in column if cell.best]
        assert not best or [best[0].mean] == [better(means)]  # one at most
        assert not best or best[0].draws > 2


@given(studies())
def test_paired_differences(results: list[PlainRow]) -> None:
    found = table(results, columns="load", metric="mean_waiting_time", baseline="FCFS")
    assert found.baseline == "fcfs"
    for scheduler, cells in zip(found.rows, found.cells, strict=True):
        for load, cell in zip(found.columns, cells, strict=True):
            own = values_of(results, scheduler, float(load), "mean_waiting_time")
            others = values_of(results, "fcfs", float(load), "mean_waiting_time")
            pairs = [own[seed] - others[seed] for seed in sorted(own.keys() & others.keys())]
            expected = list(own.values()) if scheduler == "fcfs" else pairs
            assert cell.count == len(expected)
            assert cell.mean == (pytest.approx(np.mean(expected)) if expected else None)
            if cell.low is not None and cell.high is not None:
                assert cell.has_zero is (cell.low <= 0 <= cell.high)


def example() -> list[PlainRow]:
    waits = {
        "fcfs": [20.0, 24.0, 31.0, 22.0, 23.0, 26.0],
        "easy": [11.0, 13.0, 12.5, 11.9, 12.0, 14.0],
        "my_<b>&%.py:SAF": [19.0, 26.0, 32.0, 21.0, 22.5, 26.5],
    }
    found = [
        PlainRow({"scheduler": name, "seed": seed}, {"mean_waiting_time": value, "utilisation": value / 100})
        for name, values in waits.items()
        for seed, value in enumerate(values)
    ]
    found[7] = PlainRow(found[7].axes)
    return found


def test_text() -> None:
    lines = str(table(example(), metric="mean_waiting_time", baseline="fcfs")).splitlines()
    assert lines[0].split() == ["scheduler", "mean", "waiting", "time", "[s]"]
    assert re.fullmatch(r"fcfs \(baseline\) +24\.3 \[[\d.]+, [\d.]+\] \(n=6\)", lines[1])
    assert re.fullmatch(r"easy +\*\*-12\.1 \[-[\d.]+, -[\d.]+\] \(n=5\)\*\*", lines[2])
    assert re.fullmatch(r"my_<b>&%\.py:SAF +\+0\.1\d* \[-[\d.]+, \+[\d.]+\] n\.s\. \(n=6\)", lines[3])
    assert lines[4] == (
        "paired differences to fcfs over 5 to 6 seeds, with 95% intervals; n.s.: may be chance; bold: better "
        "than fcfs, by more than chance; 2 comparisons, not corrected for their number; n: the number of runs, "
        "where some are missing"
    )
    assert lines[5:] == ["intervals of 3 to 5 draws are rough: use 10 or more"]


def test_forms() -> None:
    found = table(example(), metric=["mean_waiting_time", "utilisation"], baseline="fcfs")
    assert "my\\_\\<b\\>&%.py:SAF" in found.markdown()
    assert r"my\_\textless{}b\textgreater{}\&\%.py:SAF" in found.latex()
    records = list(csv.DictReader(io.StringIO(found.csv())))
    told = json.loads(found.json())
    assert len(records) == len(told["cells"]) == 6
    assert told["comparisons"] == 4
    for record, cell in zip(records, told["cells"], strict=True):
        assert record["scheduler"] == cell["scheduler"]
        assert float(record["mean"]) == cell["mean"]
        assert record["best"] == str(cell["best"]).lower()
    assert told["over"] == {"seed": 6}
    assert (told["baseline"], told["rows"], told["columns"]) == ("fcfs", "scheduler", None)


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_notebooks_are_shown_texts_not_markup() -> None:
    tags = Tags()
    tags.feed(table(example(), metric="mean_waiting_time")._repr_html_())
    assert tags.tags.count("b") == 1  # the best one
    assert tags.tags.count("tr") == 4
    assert "my_<b>&%.py:SAF" in tags.texts


def test_latex_is_balanced() -> None:
    text = table(example(), metric="mean_waiting_time").latex()
    assert text.count("{") == text.count("}")
    assert text.count(r"\\") == 4


def test_axes_that_are_not_in_a_table_are_told() -> None:
    results = [
        PlainRow({"scheduler": "a", "log": log, "seed": seed, "option": "same"}, {"utilisation": 0.5})
        for log in ("x", "y")
        for seed in range(3)
    ]
    assert "over 3 seeds, each the mean over 2 logs, with" in table(results, metric="utilisation").caption
    assert table(results, metric="utilisation", where={"log": ["X"], "seed": [0, "1.0"]}).over == {"seed": 2}


def test_texts_with_commas_are_several_values_unless_there_is_one() -> None:
    names = ("easy=fcfs,no-spare", "easy", "fcfs")
    results = [PlainRow({"scheduler": name}, {"utilisation": 0.5}) for name in names]
    for text, expected in {names[0]: (names[0],), "fcfs,easy": ("easy", "fcfs")}.items():
        assert table(results, metric="utilisation", where={"scheduler": [text]}).rows == expected


def test_what_has_failed_throughout_is_shown() -> None:
    results = [PlainRow({"scheduler": "a", "seed": seed}, {"utilisation": 0.5}) for seed in range(2)]
    results += [PlainRow({"scheduler": "b", "seed": seed}) for seed in range(2)]
    for baseline in (None, "a"):
        shown = str(table(results, metric="utilisation", baseline=baseline)).splitlines()[2]
        assert shown.split() == ["b", "-", "(n=0)"]


def test_rows_without_an_axis_are_shown_as_such() -> None:
    results = [
        PlainRow({"scheduler": "a"}, {"utilisation": 0.5}),
        PlainRow({"scheduler": "a", "load": 2}, {"utilisation": 1.0}),
    ]
    assert table(results, columns="load", metric="utilisation").columns == ("2", "-")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "policy"}, "there is no axis 'policy', only scheduler, seed"),
        ({"columns": "scheduler"}, "cannot be both in the rows and in the columns"),
        ({"columns": "seed", "metric": ["makespan", "utilisation"]}, "expected one metric"),
        ({"metric": []}, "expected one metric"),
        ({"metric": "mean_wait"}, "there is no metric 'mean_wait'"),
        ({"metric": "makespan"}, "no run has makespan"),
        ({"baseline": "sjf"}, "there is no scheduler 'sjf'; there are fcfs, easy, my_"),
        ({"where": {"seed": [7]}}, "there is no seed '7'"),
        ({"where": {"log": [7]}}, "there is no axis 'log'"),
        ({"confidence": 2.0}, "expected a confidence"),
    ],
)
def test_what_is_not_there_is_told(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(example(), **{"metric": "mean_waiting_time", **options})  # type: ignore[arg-type]


def pooled(count: int = 10) -> list[PlainRow]:
    """Rows whose values hang on the seed much more than on the estimates: easy is better by 1 in each."""
    chance = random.Random(3)
    found = []
    for seed in range(count):
        level = chance.lognormvariate(2.0, 0.5)
        for factor in (0, 1, 2, 4, 8):
            for scheduler, less in (("fcfs", 0.0), ("easy", 1.0)):
                axes = {"scheduler": scheduler, "estimate_factor": factor, "seed": seed}
                value = level + chance.gauss(0, 0.1) - less
                found.append(PlainRow(axes, {"mean_bounded_slowdown": value}))
    return found


@pytest.mark.parametrize("baseline", [None, "fcfs"])
def test_whole_seeds_are_draws_and_never_what_was_chosen(baseline: str | None) -> None:
    rows = pooled()
    found = table(rows, baseline=baseline)
    for name, (cell,) in zip(found.rows, found.cells, strict=True):
        values: dict[int, list[float]] = {}
        for row in rows:
            if row.axes["scheduler"] == name:
                values.setdefault(row.axes["seed"], []).append(row.metrics["mean_bounded_slowdown"])
        means = [math.fsum(each) / 5 for each in values.values()]
        if name != baseline and baseline is not None:
            others = [row.metrics["mean_bounded_slowdown"] for row in rows if row.axes["scheduler"] == baseline]
            means = [mean - math.fsum(others[5 * n : 5 * n + 5]) / 5 for n, mean in enumerate(means)]
        assert (cell.draws, cell.count) == (10, 50)
        assert cell.mean == pytest.approx(np.mean(means))
        domain = (1.0, math.inf) if name == baseline or baseline is None else ANY
        assert (cell.low, cell.high) == pytest.approx(interval(means, domain=domain))
    assert "over 10 seeds, each the mean over 5 values of estimate_factor" in found.caption


def test_wide_intervals_of_pooled_rows() -> None:
    """Rows of one seed are not independent: as such, they would make intervals that are much too narrow."""
    rows = [row for row in pooled() if row.axes["scheduler"] == "fcfs"]
    (cell,) = table(rows).cells[0]
    alone = interval([row.metrics["mean_bounded_slowdown"] for row in rows], domain=(1, math.inf))
    assert alone is not None
    assert cell.low is not None
    assert cell.high is not None
    assert cell.high - cell.low > 1.8 * (alone[1] - alone[0])


def test_windows_that_are_apart_are_draws() -> None:
    rows = [
        PlainRow({"scheduler": "easy", "jobs": f"{first}-{first + 99}", "seed": seed}, {"utilisation": first + seed})
        for first in range(0, 1000, 100)
        for seed in range(3)
    ]
    found = table(rows, metric="utilisation")
    assert (found.draws, found.cells[0][0].draws, found.cells[0][0].count) == (("jobs",), 10, 30)
    assert "over 10 windows of one log, each the mean over 3 seeds" in found.caption
    overlapping = [
        PlainRow({**row.axes, "jobs": f"0-{row.axes['jobs'].partition('-')[2]}"}, row.metrics) for row in rows
    ]
    assert table(overlapping, metric="utilisation").draws == ("seed",)


class Kept(NamedTuple):
    """A row of a store, as far as tables look at it."""

    key: str
    axes: dict[str, object]
    metrics: dict[str, float]
    drawn: tuple[str, ...] = ()
    is_model: bool | None = None

    def jobs(self) -> Iterator[JobRow]:
        return iter(())


def kept(drawn: tuple[str, ...], count: int = 10, same: bool = False, **metrics: float) -> list[Kept]:
    return [
        Kept(
            f"{scheduler}{0 if same else seed}",
            {"scheduler": scheduler, "workload": "KTH", "load": 1.5, "seed": seed},
            {"mean_bounded_slowdown": base + (0 if same else seed % 3), **metrics},
            drawn,
            drawn == ("workload",),
        )
        for scheduler, base in (("fcfs", 20.0), ("easy", 10.0))
        for seed in range(count)
    ]


@pytest.mark.parametrize(
    ("drawn", "sentence", "warned"),
    [
        (("estimates",), "10 draws of the estimates, one log", True),
        (("weeks",), "10 draws of the weeks of one log", False),
        (("weeks", "estimates"), "10 draws of the weeks and the estimates of one log", False),
        (("workload",), "10 draws of the workload", False),
        (("scheduler",), "10 draws of the scheduler's random numbers, one workload", True),
        (("workload", "scheduler"), "10 draws of the workload and of the scheduler's random numbers", False),
        ((), "10 seeds", False),
    ],
)
def test_captions_say_what_seeds_draw(drawn: tuple[str, ...], sentence: str, warned: bool) -> None:
    caption = table(kept(drawn)).caption
    assert f"means over {sentence}, with 95% intervals" in caption
    assert ("the seeds do not redraw the workload" in caption) is warned


def test_seeds_that_stand_for_one_run_are_one_draw() -> None:
    """As of a log beside a model: no seed changes what becomes of it."""
    found = table(kept((), same=True))
    assert [(cell.draws, cell.count, cell.low) for (cell,) in found.cells] == [(1, 1, None)] * 2


def test_one_draw_has_no_interval_and_no_winner() -> None:
    found = table(kept(("workload",), count=1))
    assert [str(line).split()[-2:] for line in str(found).splitlines()[1:3]] == [["20", "(n=1)"], ["10", "(n=1)"]]
    assert "interval" not in found.caption.splitlines()[0]
    assert "n = 1: one draw a cell has no interval, and no row is the best" in found.caption
    assert not any(cell.best for (cell,) in found.cells)


@pytest.mark.parametrize(("count", "rough"), [(2, False), (3, True), (5, True), (6, False)])
def test_few_draws_are_warned_of(count: int, rough: bool) -> None:
    caption = table(kept(("workload",), count=count)).caption
    assert ("intervals of 3 to 5 draws are rough" in caption) is rough
    assert ("cells with fewer than 3 draws have no interval" in caption) is (count == 2)


def test_what_may_be_chance_is_not_bold() -> None:
    chance = random.Random(1)
    rows = [
        PlainRow({"scheduler": name, "seed": seed}, {"mean_bounded_slowdown": mean + chance.gauss(0, 1)})
        for name, mean in (("far", 10.0), ("near", 5.1), ("nearest", 5.0))
        for seed in range(10)
    ]
    assert not any(cell.best for (cell,) in table(rows).cells)
    assert "bold" not in table(rows).caption
    sure = table([row for row in rows if row.axes["scheduler"] != "near"])
    assert [cell.best for (cell,) in sure.cells] == [False, True]


def test_comparisons_are_counted_and_corrected_on_request() -> None:
    chance = random.Random(2)
    rows = [
        PlainRow({"scheduler": str(n), "seed": seed}, {"mean_bounded_slowdown": n * 0.35 + chance.gauss(0, 0.5)})
        for n in range(9)
        for seed in range(10)
    ]
    plain, holm = (table(rows, baseline="0", correction=each) for each in (None, "holm"))
    assert "8 comparisons, not corrected for their number" in plain.caption
    assert "8 comparisons, corrected by Holm" in holm.caption
    pairs = [(one[0], other[0]) for one, other in zip(plain.cells[1:], holm.cells[1:], strict=True)]
    ordered = sorted((one.p, other.p) for one, other in pairs if one.p is not None and other.p is not None)
    running = 0.0
    for place, (p, corrected) in enumerate(ordered):
        running = max(running, min(1.0, p * (8 - place)))
        assert corrected == pytest.approx(running)
    assert "n.s." in str(holm)
    assert str(holm).count("n.s.") >= str(plain).count("n.s.")
    with pytest.raises(InputError, match="expected holm or None as the correction, got 'bonferroni'"):
        table(rows, correction="bonferroni")  # type: ignore[arg-type]


def test_numbers_keep_three_digits_beside_wide_ones() -> None:
    values = {"a": [5.0 + 0.1 * (seed % 7) for seed in range(10)], "b": [20.0 + 5 * (seed % 7) for seed in range(10)]}
    rows = [
        PlainRow({"scheduler": name, "seed": seed}, {"mean_bounded_slowdown": value})
        for name, each in values.items()
        for seed, value in enumerate(each)
    ]
    first, second = (line.split()[1].strip("*") for line in str(table(rows)).splitlines()[1:3])
    assert (first, second) == ("5.24", "32.0")


def test_rows_that_are_the_same_are_named() -> None:
    rows = kept(("workload",))
    rows += [row._replace(axes={**row.axes, "scheduler": "sjf"}) for row in rows if row.axes["scheduler"] == "easy"]
    assert "easy and sjf have the same numbers in each run" in table(rows).caption
    assert "the same numbers" not in table(kept(("workload",))).caption


def test_what_is_not_steady_is_warned_of() -> None:
    steady = table(kept(("workload",), offered_load=0.9, waiting_at_end=0.05, nb_jobs=500.0))
    assert "nothing is steady" not in steady.caption
    above = table(kept(("workload",), offered_load=1.25)).caption
    assert "in 20 of 20 runs the offered load is above 1 (up to 1.25): nothing is steady there" in above
    growing = table(kept(("workload",), waiting_at_end=0.3, nb_jobs=500.0)).caption
    assert "in 20 of 20 runs more than 10% of the jobs wait at the end: nothing is steady there" in growing


def test_the_load_of_a_log_is_a_factor() -> None:
    log, model = (table(kept((what,)), rows="load") for what in ("weeks", "workload"))
    assert str(log).startswith("arrival factor  ")  # of an older store
    assert str(model).startswith("load  ")
    assert log.row_axis == "load"


def test_a_baseline_without_a_parameter_is_paired_all_the_same() -> None:
    rows = [PlainRow({"scheduler": "easy", "seed": seed}, {"utilisation": 0.5}) for seed in range(4)]
    rows += [
        PlainRow({"scheduler": "mine", "depth": depth, "seed": seed}, {"utilisation": 0.5 + depth / 10 + seed / 100})
        for depth in (1, 3)
        for seed in range(4)
    ]
    (_, (cell,)) = table(rows, metric="utilisation", baseline="easy").cells
    assert (cell.mean, cell.draws, cell.missing) == (pytest.approx(0.215), 4, 0)
    found = table(rows, rows="depth", metric="utilisation", baseline="-")
    assert [cell.mean for (cell,) in found.cells] == pytest.approx([0.115, 0.315, 0.5])


def test_without_results() -> None:
    with pytest.raises(InputError, match="there are no results"):
        table([])
