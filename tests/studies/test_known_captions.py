"""Captions and axes of tables: each word as it was once checked by hand."""

from __future__ import annotations

import math

import pytest

from batprotocol.errors import InputError
from batprotocol.studies._measurement import loads_of
from batprotocol.studies.comparing import PlainRow, table
from batprotocol.studies.comparing.rows import DRAWS, draws_of, label, select, select_one, value_of
from batprotocol.studies.comparing.tables import (
    draws_sentence,
    equal_pairs,
    factor_note,
    notes_of,
    pooled_sentence,
    runs_sentence,
)

WITHOUT_ENGINE = True

ROUGH = "intervals of 3 to 5 draws are rough: use 10 or more"

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


# Captions


def test_notes() -> None:
    rows = [PlainRow({"scheduler": "a", "workload": each}, {"makespan": 1.0}) for each in ("x", "y")]
    alone = "n = 1: one draw a cell has no interval, and no row is the best; repeat with several seeds"
    few = "cells with fewer than 3 draws have no interval"
    assert notes_of(rows, ("seed",), [1, 1]) == [alone]
    assert notes_of(rows, ("seed",), [2, 0]) == [few]
    assert notes_of(rows, ("seed",), [2, 3]) == [few, ROUGH]
    assert notes_of(rows, ("seed",), [5, 12]) == [ROUGH]
    assert notes_of(rows, ("seed",), [6]) == notes_of(rows, ("seed",), []) == notes_of(rows, ("seed",), [0]) == []


def test_warnings_of_what_is_not_steady() -> None:
    def rows(*pairs: tuple[float, float]) -> list[PlainRow]:
        return [PlainRow({}, {"offered_load": load, "waiting_at_end": share, "nb_jobs": 100}) for load, share in pairs]

    end = ": nothing is steady there, and results depend on the length of the workload"
    waiting = "in 2 of 2 runs more than 10% of the jobs wait at the end"
    assert notes_of(rows((1.0, 0.1), (0.5, 0.0)), (), []) == []
    assert notes_of(rows((1.234567, 0.0), (0.5, 0.0), (1.1, 0.0)), (), []) == [
        f"in 2 of 3 runs the offered load is above 1 (up to 1.23){end}"
    ]
    assert notes_of(rows((1.5, 0.3), (0.5, 0.2)), (), []) == [
        f"in 1 of 2 runs the offered load is above 1 (up to 1.5); {waiting}{end}"
    ]
    assert notes_of([PlainRow({}, {"makespan": 1.0}), *rows((2.0, 0.0))], (), []) == [
        f"in 1 of 1 runs the offered load is above 1 (up to 2){end}"
    ]


def test_sentences() -> None:
    rows = [PlainRow({"workload": each}, {"makespan": 1.0}) for each in ("x", "y")]
    assert draws_sentence(rows, (), [1]) == "single runs"
    assert draws_sentence(rows, ("jobs",), [4, 4]) == "4 windows of 2 logs"
    assert draws_sentence(rows[:1], ("time",), [4, 1, 0]) == "1 to 4 windows of one log"
    assert draws_sentence(rows, ("seed",), [1]) == "1 seed"
    assert draws_sentence(rows, ("seed",), [1234]) == "1,234 seeds"
    assert draws_sentence(rows, ("seed",), []) == "0 seeds"
    loads = [PlainRow({"scheduler": one, "load": each, "off": off}) for one in "ab" for each in "123" for off in "xy"]
    assert pooled_sentence(loads, "scheduler", []) == ""
    assert pooled_sentence(loads, "scheduler", ["load", "off"]) == ", each the mean over 3 loads x 2 values of off"
    other = PlainRow({"scheduler": "c", "load": "1"})
    assert pooled_sentence([*loads, other], "scheduler", ["load", "off"]) == (
        ", each the mean over 3 loads x 2 values of off in a and b"
    )
    own = [PlainRow({"scheduler": "own", "load": each, "alpha": alpha}) for each in "12" for alpha in "123"]
    plain = [PlainRow({"scheduler": "easy", "load": each}) for each in "12"]
    assert pooled_sentence([*own, *plain], "scheduler", ["load", "alpha"]) == (
        ", each the mean over 2 loads, each the mean over 3 values of alpha in own"
    )
    axes = {"scheduler": ["a", "b"], "load": ["1", "2"], "seed": ["0"], "depth": ["1", "2", "3"]}
    assert runs_sentence(axes, ("scheduler", None)) == "runs of 2 loads x 3 values of depth"
    assert runs_sentence(axes, ("scheduler", "load", "depth")) == ""


# Axes


@pytest.mark.parametrize(
    ("axes", "taken", "expected"),
    [
        ({"seed": ["0", "1"], "jobs": ["0-99", "100-199"]}, ["scheduler"], ("jobs",)),
        ({"seed": ["0", "1"], "jobs": ["100", "1000"]}, ["scheduler"], ("seed",)),
        ({"seed": ["0"], "jobs": ["0-99"]}, [], ("seed",)),
        ({"seed": ["0"], "jobs": ["0-99", "50-199"]}, [], ("seed",)),
        ({"seed": ["0"], "time": ["100-", "0-100"]}, [], ("time",)),
        ({"seed": ["0"], "time": ["0-", "100-200"]}, [], ("seed",)),
        ({"seed": ["0"], "time": ["0-9", "1.2.3-20"]}, [], ("seed",)),
        ({"seed": ["0"], "time": ["0-9", "10-19"]}, ["time"], ("seed",)),
        ({"seed": ["0"], "time": ["0-9", "10-19"]}, ["seed", "time"], ()),
        ({"jobs": ["0-9", "10-19"], "time": ["0-9", "9-19"]}, [None], ("jobs", "time")),
        ({"load": ["0.5"]}, [], ()),
    ],
)
def test_draws(axes: dict[str, list[str]], taken: list[str | None], expected: tuple[str, ...]) -> None:
    assert draws_of(axes, DRAWS, taken) == expected


def test_labels_and_values() -> None:
    assert [label(each) for each in (1.0, 0.1, 1 / 3, None, True, "x", 7)] == [
        *("1", "0.1", "0.3333333333", "-", "True", "x", "7")
    ]
    axes = {"scheduler": ["my.py:EASY", "fcfs", "a.py:Same", "b.py:Same"], "load": ["0.5", "1"]}
    assert value_of(axes, "scheduler", "FCFS") == "fcfs"
    assert value_of(axes, "scheduler", "easy") == "my.py:EASY"
    assert value_of(axes, "load", "1.0") == "1"
    assert value_of(axes, "load", None) == "-"
    for given, message in (
        ("same", "there is no scheduler 'same'; there are my.py:EASY, fcfs, a.py:Same, b.py:Same"),
        ("fcf", "there is no scheduler 'fcf'; there is fcfs"),
    ):
        with pytest.raises(InputError) as refused:
            value_of(axes, "scheduler", given)
        assert str(refused.value) == message


def test_one_row() -> None:
    rows = results()
    assert select_one(rows, {"scheduler": ["easy"], "load": [1], "seed": ["2"]}).metrics["mean_waiting_time"] == 25.0
    for where, message in (
        ({"scheduler": ["easy"], "load": [1]}, "there are 4 runs with scheduler=easy load=1: give the seed, too"),
        ({"seed": [2]}, "there are 6 runs with seed=2: give the scheduler and the load, too"),
        ({}, "there are 24 runs: give the scheduler and the load and the seed, too"),
    ):
        with pytest.raises(InputError) as refused:
            select_one(rows, where)  # type: ignore[arg-type]
        assert str(refused.value) == message
    with pytest.raises(InputError, match=r"^there are no runs$"):
        select_one([], {})


def test_arrival_factors_have_their_offered_loads() -> None:
    def row(factor: float, load: float | None, workload: str = "a") -> PlainRow:
        return PlainRow(
            {"workload": workload, "arrival_factor": factor}, {} if load is None else {"offered_load": load}
        )

    rows = [row(1.2, 0.9), row(1.2, 1.05, "b"), row(1, 0.75), row(1, 0.75, "b"), row(2, None), row(3, math.nan)]
    sentence = "offered load: 0.75 at factor 1, 0.9 to 1.05 at factor 1.2"
    assert factor_note(rows, ("workload", "arrival_factor")) == sentence
    assert factor_note(rows, ("workload", None)) == factor_note(rows[-1:], ("arrival_factor",)) == ""
    assert [str(each) for each in loads_of(rows)] == [
        "workload=a arrival_factor=1.2: offered load 0.9",
        "workload=b arrival_factor=1.2: offered load 1.05",
        "workload=a arrival_factor=1: offered load 0.75",
        "workload=b arrival_factor=1: offered load 0.75",
    ]
    measured = [PlainRow({**each.axes, "scheduler": "x"}, {**each.metrics, "makespan": 5.0}) for each in rows[:4]]
    found = table(measured, columns="arrival_factor", metric="makespan")
    assert sentence in found.caption
    assert found.head == "scheduler \\ arrival factor"
    with pytest.deprecated_call(match="the axis load is deprecated: use arrival_factor instead"):
        assert table(measured, columns="load", metric="makespan") == found
    with pytest.deprecated_call():
        assert len(select(measured, {"load": ["1.2"]})) == 2


def test_pairs_that_do_not_differ() -> None:
    rows = [
        PlainRow({"scheduler": name, "seed": seed}, {"makespan": 100.0 - less * (seed < differ)})
        for name, less, differ in (("fcfs", 0, 0), ("easy", 5, 4), ("sjf", 3, 9))
        for seed in range(10)
    ]
    found = table(rows, metric="makespan", baseline="fcfs")
    note = "up to 6 of 10 pairs do not differ: intervals are wide; with 25 draws, about 10 would differ"
    assert note in found.caption.splitlines()
    assert "do not differ" not in table(rows, metric="makespan").caption
    assert list(equal_pairs([(2, 10), (10, 10), (0, 0), (0, 3), (10, 20), (300, 1000)])) == []
    assert list(equal_pairs([(11, 20)])) == [
        "up to 11 of 20 pairs do not differ: intervals are wide; with 23 draws, about 10 would differ"
    ]
