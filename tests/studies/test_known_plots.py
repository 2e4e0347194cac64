"""Plots of fixed results: all that they draw, as it was when somebody last looked at them (`plots.py`)."""

from __future__ import annotations

from typing import Any

import plots
import pytest

from batprotocol.errors import InputError
from batprotocol.studies.comparing import Look, PlainRow, plot_boxes, plot_lines, plot_means
from batprotocol.studies.comparing._drawing import HATCHES, MOST_TICKS, canvas, finish, looks, name_places
from batprotocol.studies.comparing._plots import FORMATS, _mean_of, _of_job, _place_of, _steps, expect_plots

WITHOUT_ENGINE = True


def test_all_plots_draw_what_they_drew() -> None:
    assert plots.text().splitlines() == plots.KEPT.read_text(encoding="utf-8").splitlines()


def test_looks() -> None:
    found = [looks(number) for number in range(17)]
    assert [colour for colour, _, _ in found[:8]] == [
        *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
    ]
    assert "".join(marker for _, marker, _ in found) == "os^DvPX*os^DvPX*o"
    dashes: list[Any] = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2, 1, 2))]
    assert [each for _, _, each in found] == [*dashes, *dashes[1:], dashes[0], dashes[2]]
    assert [colour for colour, _, _ in found[8:]] == [colour for colour, _, _ in found[:9]]
    assert HATCHES == ("", "//", "\\\\", "..", "xx", "--", "++", "oo")
    assert (MOST_TICKS, FORMATS) == (10, ("png", "svg", "pdf"))


@pytest.mark.parametrize(
    ("panels", "size"),
    [(1, (6.0, 3.7)), (2, (9.6, 3.7)), (3, (13.2, 3.7)), (4, (13.2, 6.475)), (7, (13.2, 9.25)), (24, (13.2, 23.125))],
)
def test_panels(panels: int, size: tuple[float, float]) -> None:
    figure, drawn = canvas(Look(), panels)
    assert tuple(figure.get_size_inches()) == pytest.approx(size)
    assert len(drawn) == len(figure.axes) == panels
    assert drawn[0].get_subplotspec().get_gridspec().get_geometry() == (-(-panels // 3), min(panels, 3))


def test_too_many_panels() -> None:
    with pytest.raises(InputError) as refused:
        canvas(Look(), 25)
    assert str(refused.value) == "25 panels are too many to read: select at most 24 with --only or where"


@pytest.mark.parametrize("size", [(0, 3), (-1, 3), (3,), (3, 3, 3), (100.5, 3)])
def test_sizes(size: Any) -> None:
    with pytest.raises(InputError, match=r"expected a width and a height in inches, in \(0, 100\], got"):
        Look(size=size)
    assert Look(size=(100, 0.5)).size == (100, 0.5)


def test_long_names_lean() -> None:
    _, (axes,) = canvas(Look())
    for length, degrees in ((36, 0.0), (37, 25.0)):
        name_places(axes, ["a" * length, "b" * length])
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {degrees}
        assert list(axes.get_xticks()) == [0, 1]


@pytest.mark.parametrize(
    ("name", "columns"), [("a", 7), ("a" * 8, 5), ("a" * 18, 3), ("a" * 30, 2), ("a" * 40, 1), ("a" * 90, 1)]
)
def test_legends_have_as_many_columns_as_fit(name: str, columns: int) -> None:
    figure, (axes,) = canvas(Look())
    for number in range(7):
        axes.plot([0, 1], [0, number], label=f"{name[1:]}{number}")
    finish(figure, [axes], Look(), log=False, legend="scheduler", note="a note")
    (legend,) = figure.legends
    assert (legend._ncols, legend.get_title().get_text()) == (columns, "scheduler")  # type: ignore[attr-defined]
    assert not legend.get_frame_on()
    assert {text.get_fontsize() for text in legend.get_texts()} == {10}
    assert figure._supxlabel.get_fontsize() == 8  # type: ignore[attr-defined]


def test_titles_without_a_legend() -> None:
    figure, (axes,) = canvas(Look())
    finish(figure, [axes], Look(title="a title"), log=False, legend="scheduler")
    assert (figure.get_suptitle(), figure.get_supxlabel(), figure.legends) == ("a title", "", [])
    assert figure._suptitle.get_fontsize() == 12  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("limits", "log", "texts"),
    [
        ((0, 9_999), False, ("2000", "5000")),
        ((0, 10_000), False, ("2,000", "5,000")),
        ((-10_000, 5), False, ("2,000", "5,000")),
        ((1, 999), True, ("2,000", "5,000")),
        ((1, 1_001), True, None),
    ],
)
def test_scales(limits: tuple[float, float], log: bool, texts: tuple[str, str] | None) -> None:
    figure, (axes,) = canvas(Look())
    axes.set_ylim(*((1, 2) if log else limits))
    if log:
        axes.set_yscale("log")
        axes.set_ylim(*limits)
    finish(figure, [axes], Look(), log=log)
    axes.yaxis.get_major_formatter().set_locs([2000, 5000])
    found = tuple(axes.yaxis.get_major_formatter()(value) for value in (2000, 5000))
    assert axes.get_yscale() == ("log" if log else "linear")
    assert found == texts if texts is not None else found != ("2,000", "5,000")
    if log:
        assert (axes.yaxis.get_minor_formatter()(20) == "20") is (texts is not None)


def test_places_in_groups() -> None:
    assert [_place_of(2, number, 4) for number in range(4)] == pytest.approx([1.7, 1.9, 2.1, 2.3])
    assert _place_of(1, 0, 1) == 1.0


def test_steps() -> None:
    assert _steps([]) == ([], [])
    assert _steps([3.0]) == ([3.0, 3.0], [0.0, 1.0])
    assert _steps([2.0, 1.0]) == ([1.0, 1.0, 2.0], [0.0, 0.5, 1.0])
    right, share = _steps([float(number) for number in range(4001)])
    assert right[:4] == [0.0, 1.0, 3.0, 5.0]
    assert right[-2:] == [3999.0, 4000.0]
    assert share[:3] == [0.0, 2 / 4001, 4 / 4001]
    assert (share[-1], len(share)) == (1.0, 2002)
    right, _ = _steps([float(number) for number in range(3999)])
    assert right[:4] == [0.0, 0.0, 1.0, 2.0]
    right, _ = _steps([float(number) for number in range(6000)])
    assert right[:3] == [0.0, 2.0, 5.0]
    assert right[-2:] == [5996.0, 5999.0]


def test_values_of_jobs() -> None:
    first, *_, last = plots.jobs(6, 2.0)
    assert [_of_job(last, of) for of in ("waiting_time", "turnaround_time", "slowdown", "bounded_slowdown")] == [
        *(10.0, 14.0, 3.5, 1.4)
    ]
    assert _of_job(first, "bounded_slowdown") == 1.0
    assert _of_job(plots.jobs(6, 2.0)[4], "waiting_time") is None  # it was rejected


def test_means_of_other_metrics() -> None:
    rows = [PlainRow({"a": 1, "b": x}, {"makespan": float(x)}) for x in range(4)]
    assert _mean_of(rows, {"a": "1"}, "makespan") == 1.5
    assert _mean_of(rows, {"a": "1", "b": "3"}, "makespan") == 3.0
    assert str(_mean_of(rows, {"a": "2"}, "makespan")) == str(_mean_of(rows, {}, "utilisation")) == "nan"


def test_many_values_on_an_axis_have_round_ticks() -> None:
    def ticks(count: int) -> list[str]:
        rows = [PlainRow({"scheduler": "a", "x": x / 7}, {"makespan": x}) for x in range(count)]
        return [text.get_text() for text in plot_lines(rows, x="x", metric="makespan").axes[0].get_xticklabels()]

    assert ticks(10)[1:3] == ["0.1428571429", "0.2857142857"]
    assert len(ticks(10)) == 10
    assert "0.1428571429" not in ticks(11)


def test_truths_are_no_numbers() -> None:
    rows = [PlainRow({"scheduler": "a", "keep": keep}, {"makespan": 1.0 + keep}) for keep in (True, False)]
    (axes,) = plot_lines(rows, x="keep", metric="makespan").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["True", "False"]
    assert list(axes.get_xlim()) == [-0.5, 1.5]


def test_metrics_on_the_axis() -> None:
    rows = [
        PlainRow({"scheduler": "a", "load": load, "depth": depth}, {"makespan": 1.0, "utilisation": load / 2})
        for load in (1, 2)
        for depth in (3, 4)
    ]
    (axes,) = plot_lines(rows, x="utilisation", metric="makespan").axes  # the loads are the axis, not the depths
    line: Any = axes.get_lines()[0]
    assert list(line.get_xdata()) == [0.5, 1.0]
    others = [PlainRow({**row.axes, "load": 1, "wide": row.axes["load"]}, row.metrics) for row in rows]
    with pytest.raises(InputError) as refused:
        plot_lines(others, x="utilisation", metric="makespan")
    assert str(refused.value) == (
        "utilisation is a metric, whose means are drawn for each value of one axis: select one value of all of depth, "
        "wide except one"
    )


def test_equal_means_have_no_distribution() -> None:
    rows = [PlainRow({"scheduler": "a", "seed": seed}, {"makespan": 5.0}) for seed in range(4)]
    (axes,) = plot_means(rows, metric="makespan").axes
    assert len(axes.collections) == 1  # the bar of the interval
    (axes,) = plot_boxes(rows, metric="makespan").axes
    assert not axes.xaxis.get_gridlines()[0].get_visible()


@pytest.mark.parametrize("name", ["a.PNG", "b.svg", "c.x.pdf"])
def test_endings(name: str) -> None:
    assert expect_plots(name) == name.rpartition(".")[2].lower()
