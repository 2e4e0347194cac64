"""Tables of results: means and paired differences, against a few lines of numpy, in all their forms."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.simulator import METRICS
from batprotocol.studies.comparing import PlainRow, interval, table

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
    found = table(results, columns="load", metric=metric, resamples=20)
    assert [float(each) for each in found.columns] == sorted({row.axes["load"] for row in results})
    for scheduler, cells in zip(found.rows, found.cells, strict=True):
        for load, cell in zip(found.columns, cells, strict=True):
            values = list(values_of(results, scheduler, float(load), metric).values())
            runs = [row for row in results if (row.axes["scheduler"], f"{row.axes['load']:g}") == (scheduler, load)]
            assert (cell.count, cell.missing) == (len(values), len(runs) - len(values))
            assert cell.mean == (pytest.approx(np.mean(values)) if values else None)
            among = interval(values, resamples=20)
            assert (cell.low, cell.high) == (among or (None, None))
    better = min if METRICS[metric].better == "less" else max
    for column in zip(*found.cells, strict=True):
        means = [cell.mean for cell in column if cell.mean is not None]
        if len(set(means)) > 1:
            assert [cell.mean for cell in column if cell.best] == pytest.approx(
                [better(means)] * means.count(better(means))
            )
        else:
            assert not any(cell.best for cell in column)


@given(studies())
def test_paired_differences(results: list[PlainRow]) -> None:
    found = table(results, columns="load", metric="mean_waiting_time", baseline="FCFS", resamples=20)
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
    waits = {"fcfs": [20.0, 24.0, 31.0], "easy": [11.0, 13.0, 12.5], "my_<b>&%.py:SAF": [19.0, 26.0, 32.0]}
    found = [
        PlainRow({"scheduler": name, "seed": seed}, {"mean_waiting_time": value, "utilisation": value / 100})
        for name, values in waits.items()
        for seed, value in enumerate(values)
    ]
    found[4] = PlainRow(found[4].axes)
    return found


SHOWN = """\
scheduler                mean waiting time [s]
fcfs (baseline)              25.0 [20.0, 31.0]
easy             **-13.8 [-18.5, -9.0] (n=2)**
my_<b>&%.py:SAF         +0.7 [-1.0, +1.7] n.s.
paired differences to fcfs over 3 seeds, with 95% bootstrap intervals; n.s.: 0 is in the interval; n: how many there \
were, where some are missing"""


def test_text() -> None:
    assert str(table(example(), metric="mean_waiting_time", baseline="fcfs")) == SHOWN


def test_forms() -> None:
    found = table(example(), metric=["mean_waiting_time", "utilisation"], baseline="fcfs")
    assert "my\\_\\<b\\>&%.py:SAF" in found.markdown()
    assert r"my\_\textless{}b\textgreater{}\&\%.py:SAF" in found.latex()
    records = list(csv.DictReader(io.StringIO(found.csv())))
    told = json.loads(found.json())
    assert len(records) == len(told["cells"]) == 6
    for record, cell in zip(records, told["cells"], strict=True):
        assert record["scheduler"] == cell["scheduler"]
        assert float(record["mean"]) == cell["mean"]
        assert record["best"] == str(cell["best"]).lower()
    assert told["over"] == {"seed": 3}
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
    assert "over 2 logs and 3 seeds" in table(results, metric="utilisation").caption
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
        ({"columns": "scheduler"}, "cannot be that of the rows and that of the columns"),
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


def test_without_results() -> None:
    with pytest.raises(InputError, match="there are no results"):
        table([])
