"""Plots of results: what is drawn is what was measured, and the same plot is the same file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batprotocol.errors import InputError, PackageMissing
from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.studies.comparing import (
    Look,
    PlainRow,
    plot_boxes,
    plot_ecdf,
    plot_lines,
    plot_means,
    save_plot,
    table,
)

WITHOUT_ENGINE = True


def jobs(count: int, wait: float) -> tuple[JobRow, ...]:
    return tuple(
        JobRow(
            job_id=str(number),
            workload_name="w0",
            profile="w0!d",
            submission_time=float(number),
            requested_number_of_resources=1,
            requested_time=None,
            final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
            starting_time=number + wait * number,
            execution_time=20.0,
            allocated_resources="0",
        )
        for number in range(count)
    )


def results() -> list[PlainRow]:
    return [
        PlainRow(
            {"scheduler": scheduler, "load": load, "seed": seed, "log": "ab"[seed % 2]},
            {"mean_waiting_time": load * (10 + seed) * slow},
            jobs(10, slow),
        )
        for scheduler, slow in (("fcfs", 2.0), ("easy", 1.0))
        for load in (0.5, 1.0, 2.0)
        for seed in range(4)
    ] + [PlainRow({"scheduler": "easy", "load": 2.0, "seed": 9, "log": "b"}, {}, jobs(3, 99.0))]  # it has failed


def test_lines_are_the_means_of_the_table() -> None:
    figure = plot_lines(results(), x="load", metric="mean_waiting_time")
    (axes,) = figure.axes
    expected = table(results(), columns="load", metric="mean_waiting_time")
    for line, name, cells in zip(axes.get_lines(), expected.rows, expected.cells, strict=True):
        assert line.get_label() == name
        assert list(line.get_xdata()) == [0.5, 1.0, 2.0]
        assert list(line.get_ydata()) == [cell.mean for cell in cells]
    bands = [band.get_paths()[0].get_extents() for band in axes.collections]
    assert [(band.ymin, band.ymax) for band in bands] == [
        (min(cell.low or 0 for cell in cells), max(cell.high or 0 for cell in cells)) for cells in expected.cells
    ]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("load", "mean waiting time [s]")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["fcfs", "easy"]


def test_lines_differ_without_colours_too() -> None:
    many = [PlainRow({"scheduler": str(n), "x": x}, {"utilisation": n / 20}) for n in range(16) for x in (1, 2)]
    drawn = plot_lines(many, x="x", metric="utilisation").axes[0].get_lines()
    lines = [line for line in drawn if line.get_marker() not in ("_", "|")]  # without the caps of bars
    for first in (0, 8):
        assert len({line.get_marker() for line in lines[first : first + 8]}) == 8
        assert len({line.get_color() for line in lines[first : first + 8]}) == 8
    dashes = {(line.get_marker(), repr(line._dash_pattern)) for line in lines}  # type: ignore[attr-defined]
    assert len(dashes) == 16


def test_axes_without_numbers_have_their_names() -> None:
    (axes,) = plot_lines(results(), x="log", metric="mean_waiting_time", log=True).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b"]
    assert axes.get_yscale() == "log"


def test_boxes_are_over_runs() -> None:
    (axes,) = plot_boxes(results(), x="load", metric="mean_waiting_time").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "1", "2"]
    assert len(axes.patches) == 6
    figure = plot_boxes(results(), metric="mean_waiting_time", where={"load": ["1"]})
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["fcfs", "easy"]
    medians = [line.get_ydata()[0] for line in axes.get_lines() if line.get_linewidth() == 1.6]
    assert medians == [23.0, 11.5]
    assert not figure.legends


def test_distributions_are_over_jobs() -> None:
    import numpy as np

    (axes,) = plot_ecdf(results(), where={"load": [1.0]}).axes
    for line, slow in zip(axes.get_lines(), (2.0, 1.0), strict=True):
        waits = np.repeat(np.arange(10) * slow, 4)
        right, share = line.get_data()
        assert share[0] == 0
        assert share[-1] == 1
        for value, part in zip(right[1:], share[1:], strict=True):
            assert part <= (waits <= value).mean() + 1e-12
        last = dict(zip(right, share, strict=True))
        assert all(part == pytest.approx((waits <= value).mean()) for value, part in last.items())
    assert axes.get_xlabel() == "waiting time [s]"
    (axes,) = plot_ecdf(results(), of="bounded_slowdown", log=True).axes
    assert axes.get_xlabel() == "bounded slowdown"


def test_differences_are_those_of_the_table() -> None:
    figure = plot_lines(results(), x="load", metric="mean_waiting_time", baseline="FCFS", unit="min")
    (axes,) = figure.axes
    cells = table(results(), columns="load", metric="mean_waiting_time", baseline="fcfs").cells[1]
    line = axes.get_lines()[0]
    assert line.get_label() == "easy"
    assert list(line.get_ydata()) == pytest.approx([(cell.mean or 0) / 60 for cell in cells])
    assert axes.get_ylabel() == "mean waiting time,\ndifference to fcfs [min]"
    assert [list(each.get_ydata()) for each in axes.get_lines()[1:]] == [[0.0, 0.0]]


def test_a_panel_for_each_value() -> None:
    figure = plot_lines(results(), x="load", metric="mean_waiting_time", panels="log")
    assert [axes.get_title() for axes in figure.axes] == ["log = a", "log = b"]
    for axes, log in zip(figure.axes, "ab", strict=True):
        expected = table(results(), columns="load", metric="mean_waiting_time", where={"log": [log]})
        assert list(axes.get_lines()[0].get_ydata()) == [cell.mean for cell in expected.cells[0]]
    assert len(figure.legends) == 1
    many = [PlainRow({"scheduler": "a", "x": 1, "log": n}, {"utilisation": 0.5}) for n in range(25)]
    with pytest.raises(InputError, match="25 panels are too many"):
        plot_lines(many, x="x", metric="utilisation", panels="log")


def test_what_is_chosen_is_averaged_within_each_draw() -> None:
    """Five loads are no five repetitions."""
    figure = plot_lines(results(), x="log", metric="mean_waiting_time")
    (note,) = [each.get_text() for each in figure.texts if "means over" in each.get_text()]
    assert "each the mean over 3 loads, 95% intervals" in note
    assert plot_lines(results(), x="load", metric="mean_waiting_time", where={"seed": [0]}).notes == (
        "n = 1: one draw a cell has no interval, and no row is the best; repeat with several seeds",
    )


def test_lines_without_a_place_go_across() -> None:
    rows = [
        PlainRow({"scheduler": "mine", "depth": depth, "seed": seed}, {"utilisation": depth / 10 + seed / 100})
        for depth in (1, 2, 4)
        for seed in range(4)
    ]
    rows += [PlainRow({"scheduler": "easy", "seed": seed}, {"utilisation": 0.2 + seed / 100}) for seed in range(4)]
    (axes,) = plot_lines(rows, x="depth", metric="utilisation").axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines["mine"].get_xdata()) == [1, 2, 4]
    assert list(lines["easy"].get_ydata()) == pytest.approx([0.215, 0.215])
    assert list(lines["easy"].get_xdata()) == [0, 1]  # from one end to the other, whatever is there
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]


def test_the_realised_load_is_an_axis() -> None:
    rows = [
        PlainRow(row.axes, {**row.metrics, "offered_load": row.axes["load"] * 0.8 + row.axes["seed"] / 100})
        for row in results()
        if row.metrics
    ]
    (axes,) = plot_lines(rows, x="offered_load", metric="mean_waiting_time").axes
    assert list(axes.get_lines()[0].get_xdata()) == pytest.approx([0.415, 0.815, 1.615])
    assert axes.get_xlabel() == "offered load"
    alone = [PlainRow({"scheduler": "a", "seed": row.axes["seed"]}, row.metrics) for row in rows]
    with pytest.raises(InputError, match=r"offered_load is a metric, .* it needs an axis such as arrival_factor"):
        plot_lines(alone, x="offered_load", metric="mean_waiting_time")
    with pytest.raises(InputError, match="there is no axis 'lode'"):
        plot_lines(rows, x="lode", metric="mean_waiting_time")


def test_distributions_of_means() -> None:
    figure = plot_means(results(), x="load", metric="mean_waiting_time", unit="min")
    (axes,) = figure.axes
    expected = table(results(), columns="load", metric="mean_waiting_time")
    points = [line for line in axes.get_lines() if line.get_marker() in "os" and len(line.get_ydata()) == 1]
    assert [line.get_ydata()[0] for line in points] == pytest.approx(
        [(cell.mean or 0) / 60 for row in expected.cells for cell in row]
    )
    assert len(axes.collections) == 12  # a distribution and an interval for each
    assert axes.get_ylabel() == "mean waiting time [min]"
    assert plot_means(results(), metric="mean_waiting_time", where={"seed": [0]}).axes


def test_looks() -> None:
    look = Look(size=(4, 3), title="Loads", xlabel="right", ylabel="up")
    for figure in (
        plot_lines(results(), x="load", metric="mean_waiting_time", look=look),
        plot_boxes(results(), x="load", metric="mean_waiting_time", look=look),
        plot_means(results(), x="load", metric="mean_waiting_time", look=look),
        plot_ecdf(results(), look=look),
    ):
        (axes,) = figure.axes
        assert tuple(figure.get_size_inches()) == (4, 3)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("right", "up")
        assert figure.legends[0].get_title().get_text() == "Loads\nscheduler"
    for size in ((0, 3), (4,), (4, 1e9)):
        with pytest.raises(InputError, match="expected a width and a height in inches"):
            Look(size=size)  # type: ignore[arg-type]


def test_units() -> None:
    rows = [PlainRow({"scheduler": "a", "seed": seed}, {"consumed_joules": 3.6e9 + seed}) for seed in range(3)]
    assert "energy [GJ]" in str(table(rows, metric="consumed_joules"))
    shown = table(rows, metric="consumed_joules", unit="MWh")
    assert str(shown).splitlines()[0].split() == ["scheduler", "energy", "[MWh]"]
    assert str(shown).splitlines()[1].split()[1] == "1.000000000"[: len(str(shown).splitlines()[1].split()[1])]
    assert "3600000001.0" in shown.csv()
    assert plot_boxes(rows, metric="consumed_joules", unit="kWh").axes[0].get_ylabel() == "energy [kWh]"
    assert plot_ecdf(results(), unit="h").axes[0].get_xlabel() == "waiting time [h]"
    for unit, metric, message in (
        ("Wh", "mean_waiting_time", r"mean waiting time \[s\] cannot be shown in 'Wh': expected s, min, h, d"),
        ("h", "mean_bounded_slowdown", "mean bounded slowdown cannot be shown in 'h': it has one unit only"),
    ):
        given = [PlainRow({"scheduler": "a"}, {metric: 1.0})]
        for draw in (table, plot_boxes, plot_means):
            with pytest.raises(InputError, match=message):
                draw(given, metric=metric, unit=unit)  # type: ignore[operator]


def test_the_same_plot_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        figure = plot_lines(results(), x="load", metric="mean_waiting_time")
        for ending in ("png", "svg", "pdf"):
            save_plot(figure, tmp_path / f"{name}.{ending}")
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        data = (tmp_path / f"a.{ending}").read_bytes()
        assert data == (tmp_path / f"b.{ending}").read_bytes()
        assert data.startswith(start)


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a name that ends in \.png, \.svg, \.pdf, got"):
        save_plot(plot_lines(results(), x="load", metric="mean_waiting_time"), tmp_path / "plot.gif")
    with pytest.raises(InputError, match="there is no axis 'machine', only scheduler, load, seed, log"):
        plot_lines(results(), x="machine", metric="mean_waiting_time")
    with pytest.raises(InputError, match="no run has makespan"):
        plot_boxes(results(), metric="makespan")
    with pytest.raises(InputError, match="there are no results to draw"):
        plot_boxes([])
    with pytest.raises(InputError, match="expected waiting_time, turnaround_time, slowdown, bounded_slowdown"):
        plot_ecdf(results(), of="energy")
    with pytest.raises(InputError, match="no job ran"):
        plot_ecdf([PlainRow({"scheduler": "a"}, {"nb_jobs": 0.0})])
    with pytest.raises(FileNotFoundError) as missing:
        save_plot(plot_ecdf(results()), tmp_path / "nowhere" / "plot.png")
    assert missing.value.filename == str(tmp_path / "nowhere" / "plot.png")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PackageMissing, match=r"plots need the package matplotlib: pip install 'matplotlib>=[\d.]+'"):
        plot_ecdf(results())
