"""Tables of a few fixed results in all forms: each word and each digit as it was once checked by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from batprotocol._util.grids import (
    Grid,
    GridEntry,
    as_csv,
    as_html,
    as_json,
    as_latex,
    as_markdown,
    as_text,
    cell_decimals,
    decimals_for,
    number,
    signed,
)
from batprotocol.errors import InputError
from batprotocol.results.catalogue import in_unit, usual_unit
from batprotocol.simulator import METRICS, Metric
from batprotocol.studies.comparing import PlainRow, StudyTable, holm, interval, table
from batprotocol.studies.comparing.intervals import means_of, p_value

WITHOUT_ENGINE = True

WAITS = {
    "fcfs": (20.0, 24.0, 31.0, 22.0),
    "easy": (11.0, 13.0, 12.5, 12.0),
    "my_a&b.py:SAF": (19.0, 26.0, 32.0, 21.0),
}


def results() -> list[PlainRow]:
    """Three schedulers at two loads with four seeds. The run of easy at load 0.5 with seed 1 has failed."""
    found = [
        PlainRow(
            {"scheduler": name, "load": load, "seed": seed},
            {"mean_waiting_time": wait * (1 + load), "utilisation": wait / 40, "consumed_joules": wait * 1e6},
        )
        for name, waits in WAITS.items()
        for load in (0.5, 1.0)
        for seed, wait in enumerate(waits)
    ]
    found[9] = PlainRow(found[9].axes)
    return found


def means() -> StudyTable:
    return table(results(), columns="load", metric="mean_waiting_time")


def differences() -> StudyTable:
    metrics = ["mean_waiting_time", "utilisation", "consumed_joules"]
    return table(results(), metric=metrics, baseline="fcfs", correction="holm")


OF_MEANS = (
    "mean waiting time [s]: means over 3 to 4 seeds, with 95% intervals; bold: better than each other row, "
    "by more than chance; 4 comparisons, not corrected for their number; n: the number of runs, where some are missing"
)
OF_DIFFERENCES = (
    "paired differences to fcfs over 4 seeds, each the mean over 2 loads, with 95% intervals; n.s.: may be "
    "chance; 6 comparisons, corrected by Holm; n: the number of runs, where some are missing"
)
ROUGH = "intervals of 3 to 5 draws are rough: use 10 or more"


def test_means_as_text() -> None:
    assert str(means()).splitlines() == [
        r"scheduler \ load                      0.5                            1",
        r"fcfs                  36.4 [22, 57] (n=4)          48.5 [29, 76] (n=4)",
        r"easy              17.8 [14.0, 21.5] (n=3)  **24.2 [20.9, 28.2] (n=4)**",
        r"my_a&b.py:SAF         36.8 [22, 61] (n=4)          49.0 [30, 81] (n=4)",
        OF_MEANS,
        ROUGH,
    ]
    assert repr(means()) == "<Table of mean_waiting_time: 3 x 2 means>"


def test_differences_as_text() -> None:
    assert str(differences()).splitlines() == [
        "scheduler             mean waiting time [s]                       utilisation                 energy [MJ]",
        "fcfs (baseline)               42.4 [26, 66]                0.606 [0.39, 0.80]               24.2 [15, 38]",
        "easy             -21.9 [-43, -9] n.s. (n=7)  -0.303 [-0.60, -0.11] n.s. (n=7)  -12.1 [-24, -4] n.s. (n=7)",
        "my_a&b.py:SAF           +0.44 [-6, +7] n.s.       +0.0063 [-0.08, +0.10] n.s.    +0.250 [-3.2, +4.0] n.s.",
        OF_DIFFERENCES,
        ROUGH,
    ]
    assert repr(differences()) == (
        "<Table of mean_waiting_time, utilisation, consumed_joules: 3 x 3 differences to fcfs>"
    )


def test_markdown() -> None:
    assert means().markdown().splitlines() == [
        r"| scheduler \\ load | 0.5 | 1 |",
        "| --- | ---: | ---: |",
        r"| fcfs | 36.4 \[22, 57\] (n=4) | 48.5 \[29, 76\] (n=4) |",
        r"| easy | 17.8 \[14.0, 21.5\] (n=3) | **24.2 \[20.9, 28.2\] (n=4)** |",
        r"| my\_a&b.py:SAF | 36.8 \[22, 61\] (n=4) | 49.0 \[30, 81\] (n=4) |",
        "",
        OF_MEANS.replace("[s]", r"\[s\]"),
        "",
        ROUGH,
    ]


def test_latex() -> None:
    assert means().latex().splitlines() == [
        f"% {OF_MEANS}",
        f"% {ROUGH}",
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"scheduler \textbackslash{} load & 0.5 & 1 \\",
        r"\midrule",
        r"fcfs & 36.4 [22, 57] (n=4) & 48.5 [29, 76] (n=4) \\",
        r"easy & 17.8 [14.0, 21.5] (n=3) & \textbf{24.2 [20.9, 28.2] (n=4)} \\",
        r"my\_a\&b.py:SAF & 36.8 [22, 61] (n=4) & 49.0 [30, 81] (n=4) \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    line = differences().latex().splitlines()[8]
    assert line.startswith(r"easy & $-$21.9 [$-$43, $-$9] n.s. (n=7) & $-$0.303 [$-$0.60, $-$0.11] n.s. (n=7) & ")


def test_notebooks() -> None:
    left, right = '<{} style="text-align: left">', '<{} style="text-align: right">'
    text = means()._repr_html_()
    assert text.startswith(f'<table><caption style="caption-side: bottom">{OF_MEANS}<br>{ROUGH}</caption><thead><tr>')
    head = (
        left.format("th") + r"scheduler \ load</th>" + right.format("th") + "0.5</th>" + right.format("th") + "1</th>"
    )
    assert f"<thead><tr>{head}</tr></thead><tbody><tr>" in text
    assert left.format("td") + "my_a&amp;b.py:SAF</td>" + right.format("td") + "36.8 [22, 61] (n=4)</td>" in text
    assert right.format("td") + "<b>24.2 [20.9, 28.2] (n=4)</b></td></tr>" in text
    assert text.endswith("</td></tr></tbody></table>")


def test_csv_has_all_digits() -> None:
    head, *lines = means().csv().splitlines()
    assert head == "scheduler,load,metric,mean,low,high,draws,count,missing,best"
    cells = [line.split(",") for line in lines]
    assert [[*each[:4], *each[6:]] for each in cells] == [
        ["fcfs", "0.5", "mean_waiting_time", "36.375", "4", "4", "0", "false"],
        ["fcfs", "1", "mean_waiting_time", "48.5", "4", "4", "0", "false"],
        ["easy", "0.5", "mean_waiting_time", "17.75", "3", "3", "1", "false"],
        ["easy", "1", "mean_waiting_time", "24.25", "4", "4", "0", "true"],
        ["my_a&b.py:SAF", "0.5", "mean_waiting_time", "36.75", "4", "4", "0", "false"],
        ["my_a&b.py:SAF", "1", "mean_waiting_time", "49.0", "4", "4", "0", "false"],
    ]
    assert [float(end) for each in cells[:3] for end in each[4:6]] == pytest.approx(
        [22.00612262533688, 57.0, 29.341496833782504, 76.0, 14.0, 21.5]
    )


def test_records_of_differences() -> None:
    found = json.loads(differences().json())
    cells = found.pop("cells")
    assert found == {
        "rows": "scheduler",
        "columns": None,
        "metrics": ["mean_waiting_time", "utilisation", "consumed_joules"],
        "baseline": "fcfs",
        "confidence": 0.95,
        "over": {"load": 2, "seed": 4},
        "draws": ["seed"],
        "comparisons": 6,
        "correction": "holm",
        "caption": f"{OF_DIFFERENCES}\n{ROUGH}",
    }
    assert cells[3] == {
        "scheduler": "easy",
        "metric": "mean_waiting_time",
        "mean": -21.90625,
        "low": pytest.approx(-42.6875),
        "high": pytest.approx(-9.21180428312676),
        "draws": 4,
        "count": 7,
        "missing": 1,
        "best": False,
        "baseline": "fcfs",
        "has_zero": False,
        "p": pytest.approx(0.05906658503931439),
    }
    assert [(cell["has_zero"], cell["p"]) for cell in (cells[0], cells[8])] == [(None, None), (True, 1.0)]


def test_without_a_correction_the_difference_is_no_chance() -> None:
    found = table(results(), metric="mean_waiting_time", baseline="fcfs")
    assert [(cell.best, cell.is_baseline) for (cell,) in found.cells] == [(False, True), (True, False), (False, False)]
    assert found.cells[1][0].p == pytest.approx(0.05906658503931439 / 6)
    assert "bold: better than fcfs, by more than chance; 2 comparisons, not corrected for their number" in found.caption


def test_more_can_be_better() -> None:
    rows = [PlainRow(row.axes, {"utilisation": row.metrics.get("utilisation", 0.3)}) for row in results()]
    found = table(rows, metric="utilisation", baseline="easy")
    assert [cell.best for (cell,) in found.cells] == [True, False, True]
    assert not any(cell.best for (cell,) in table(rows, metric="utilisation").cells)


def test_metrics_of_this_library_are_never_below_0_and_differences_are() -> None:
    values = (0.0, 0.0, 0.1, 9.0)
    rows = [PlainRow({"scheduler": "a", "seed": seed}, {"makespan": x, "own": x}) for seed, x in enumerate(values)]
    assert table(rows, metric="makespan").cells[0][0].low == 0.0
    low = table(rows, metric=Metric("own", "own", "", "", "", None, "own")).cells[0][0].low
    assert low is not None
    assert low < 0


def test_a_scheduler_with_a_parameter_is_averaged_over_it_before_it_is_compared() -> None:
    rows = [
        PlainRow({"scheduler": "mine", "depth": depth, "seed": seed}, {"makespan": 10.0 * depth + seed})
        for depth in (1, 2, 6)
        for seed in range(3)
    ]
    rows += [PlainRow({"scheduler": "easy", "seed": seed}, {"makespan": 5.0 + 2 * seed}) for seed in range(3)]
    found = table(rows, metric="makespan", baseline="easy")
    ((mine,), (easy,)) = found.cells
    assert (mine.mean, mine.draws, mine.count, mine.missing) == (24.0, 3, 3, 0)  # 30 - 5, 31 - 7, 32 - 9
    assert (easy.mean, easy.draws, easy.count) == (7.0, 3, 3)
    rows[0] = PlainRow(rows[0].axes)
    ((mine,), _) = table(rows, metric="makespan", baseline="easy").cells
    assert (mine.mean, mine.draws, mine.missing) == (23.5, 2, 1)


# Numbers


def test_known_intervals_and_p_values() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0]
    assert interval(values) == pytest.approx((-0.26555680090963296, 11.7))
    assert interval(values, domain=(0, math.inf)) == pytest.approx((0.0, 11.7))
    assert interval(values, confidence=0.8) == pytest.approx((1.427954854726003, 9.587137824904728))
    assert p_value(values) == pytest.approx(0.06065078045187677)
    for sign in (1, -1):
        assert p_value([sign * each for each in [3.0, -1.0, 4.0, -1.5, 2.0]]) == pytest.approx(0.3132925239151274)
    assert means_of(values)[::66] == pytest.approx([-2.875963, 2.78219, 4.920584, 11.7])
    assert (p_value([1.0, 2.0]), p_value([0.0] * 3), p_value([2.0] * 3)) == (None, 1.0, 0.0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.01, 0.04, None, 0.03], [0.03, 0.06, None, 0.06]),
        ([0.5, 0.5, 0.001], [1.0, 1.0, 0.003]),
        ([0.02], [0.02]),
        ([0.04, 0.01, 0.02], [0.04, 0.03, 0.04]),
        ([], []),
        ([None], [None]),
    ],
)
def test_holm(given: list[float | None], expected: list[float | None]) -> None:
    assert holm(given) == [None if each is None else pytest.approx(each) for each in expected]


@pytest.mark.parametrize(
    ("mean", "width", "decimals"),
    [
        (5.02, 1.0, (2, 1)),
        (44.1, 12.0, (1, 0)),
        (235.82, 150.0, (0, 0)),
        (53.64, None, (2, 2)),
        (0.0034, 12.0, (2, 0)),
        (7.0, None, (0, 0)),
        (7.5, None, (3, 3)),
        (0.0, 0.5, (2, 2)),
        (0.000012, 0.000004, (7, 7)),
        (1e-12, None, (8, 8)),
        (5.0, 1e-12, (0, 0)),
        (12345.6, None, (0, 0)),
        (1.5, float("inf"), (3, 3)),
    ],
)
def test_decimals_of_cells(mean: float, width: float | None, decimals: tuple[int, int]) -> None:
    assert cell_decimals(mean, width) == decimals


@pytest.mark.parametrize(
    ("widths", "values", "decimals"),
    [
        ([12.0, 9.0, 15.0], [235.82], 0),
        ([0.004], [0.85], 4),
        ([37.0, 11.0, 0.6], [39.0, 12.0, 3.0], 1),
        ([], [53.64], 2),
        ([], [250, 3], 0),
        ([], [0.0, 0.25], 4),
        ([1e-12], [5.5], 3),
        ([], [1e-11, 2e-11], 8),
        ([], [], 0),
    ],
)
def test_decimals_of_columns(widths: list[float], values: list[float], decimals: int) -> None:
    assert decimals_for(widths, values) == decimals


def test_numbers() -> None:
    assert [number(value, 2) for value in (1.005, -0.001, -0.01, 1e15, 999999999999999.0, float("nan"), -5)] == [
        *("1.00", "0.00", "-0.01", "1e+15", "999999999999999.00", "nan", "-5.00")
    ]
    assert [signed(value, 1) for value in (1.25, -3.0, 0.0, 0.01, -0.01, 10.0)] == [
        *("+1.2", "-3.0", "0.0", "0.0", "0.0", "+10.0")
    ]


@pytest.mark.parametrize(
    ("joules", "name", "divisor"),
    [
        (2e12, "TJ", 1e12),
        (1e12, "TJ", 1e12),
        (9.9e11, "GJ", 1e9),
        (1e9, "GJ", 1e9),
        (1e6, "MJ", 1e6),
        (1e3, "kJ", 1e3),
        (999.0, "J", 1.0),
        (-5e6, "MJ", 1e6),
    ],
)
def test_joules_have_a_prefix(joules: float, name: str, divisor: float) -> None:
    metric, found = usual_unit(METRICS["consumed_joules"], [joules, None, 0.5])
    assert (metric.unit, found) == (name, divisor)


def test_units() -> None:
    sizes = {"Wh": 3600.0, "kWh": 3.6e6, "MWh": 3.6e9, "GWh": 3.6e12, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "TJ": 1e12}
    assert {unit: in_unit(METRICS["consumed_joules"], unit)[1] for unit in sizes} == sizes
    times = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
    assert {unit: in_unit(METRICS["makespan"], unit)[1] for unit in times} == times
    assert usual_unit(METRICS["makespan"], [1e9]) == (METRICS["makespan"], 1.0)
    assert usual_unit(METRICS["consumed_joules"], [])[1] == 1.0
    with pytest.raises(InputError) as refused:
        in_unit(METRICS["utilisation"], "h")
    assert str(refused.value) == "utilisation cannot be shown in 'h': it has one unit only; leave out the unit"
    text = str(table(results(), columns="load", metric="mean_waiting_time", unit="min"))
    assert text.splitlines()[1].split() == [
        "fcfs",
        "0.606",
        "[0.37,",
        "0.95]",
        "(n=4)",
        "0.808",
        "[0.49,",
        "1.27]",
        "(n=4)",
    ]


# Forms

GRID = Grid(
    ["a|b", "x", "y"],
    [
        [GridEntry("one\n"), GridEntry("-1", True), GridEntry("")],
        [GridEntry("", True), GridEntry("22.5"), GridEntry("<3>")],
    ],
    "first\nsecond",
)


def test_forms_of_any_grid() -> None:
    assert as_text(GRID).splitlines() == [
        r"a|b         x    y",
        r"one\n  **-1**     ",
        r"****     22.5  <3>",
        "first",
        "second",
    ]
    assert as_markdown(GRID).splitlines() == [
        r"| a\|b | x | y |",
        "| --- | ---: | ---: |",
        "| one | **-1** |  |",
        r"| **** | 22.5 | \<3\> |",
        "",
        "first",
        "",
        "second",
    ]
    assert as_latex(GRID).splitlines()[3:] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"a|b & x & y \\",
        r"\midrule",
        r"one\textbackslash{}n & \textbf{$-$1} &  \\",
        r"\textbf{} & 22.5 & \textless{}3\textgreater{} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert as_html(Grid(["", ""], [[GridEntry("<"), GridEntry("2", True)]])) == (
        '<table><tbody><tr><td style="text-align: left">&lt;</td><td style="text-align: right"><b>2</b></td></tr>'
        "</tbody></table>"
    )
    words = Grid(["k", "kind", "n"], [[GridEntry("ab"), GridEntry("c"), GridEntry("1")]], texts=2)
    assert as_text(words) == "k   kind  n\nab  c     1"
    assert as_latex(words).splitlines()[0] == r"\begin{tabular}{llr}"
    assert as_markdown(words).splitlines()[1] == "| --- | --- | ---: |"
    assert as_text(Grid(["k", "long"], [[GridEntry("a"), GridEntry("b")]], texts=2)) == "k  long\na  b"


def test_records_in_both_forms() -> None:
    records: list[dict[str, Any]] = [{"a": None, "b": True}, {"a": 1.5, "c": "x,y"}]
    assert as_csv(records) == 'a,b,c\n,true,\n1.5,,"x,y"\n'
    assert json.loads(as_json([{"a": float("nan"), "b": (1, float("inf"), 2.5)}, "é"])) == [
        {"a": None, "b": [1, None, 2.5]},
        "é",
    ]
    assert as_json({"é": 1}) == '{\n  "é": 1\n}'
