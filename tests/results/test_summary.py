"""What a terminal shows of a result, line by line: the labels of charts, the axis below them, and how wide they are."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from batprotocol.results import text as words
from batprotocol.results.text import Summary

WITHOUT_ENGINE = True


def shown(
    facts: list[tuple[str, str]], end: float | None, utilisation: list[float], queue: list[float], width: int = 40
) -> list[str]:
    """The lines of a summary, without what is blank at their ends. The series are stretched to the columns."""

    def stretched(values: list[float], parts: int) -> list[float]:
        return [values[part * len(values) // parts] for part in range(parts)]

    summary = Summary(facts, end, lambda parts: stretched(utilisation, parts), lambda parts: stretched(queue, parts))
    file = io.StringIO()
    Console(file=file, width=width, color_system=None, legacy_windows=False).print(summary)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_numbers_and_charts() -> None:
    lines = shown([("jobs", "3"), ("makespan", "90 s")], 90.0, [1.0, 0.5, 0.0], [0.0, 4.0, 2.0])
    assert lines == [
        "jobs      3",
        "makespan  90 s",
        "",
        "     utilisation",
        "100% ██████████",
        "     ██████████",
        "     ████████████████████",
        "   0 ████████████████████",
        "     0 s             90 s (1.5 min)",
        "     jobs waiting",
        "   4           ██████████",
        "               ██████████",
        "               ████████████████████",
        "   0           ████████████████████",
        "     0 s             90 s (1.5 min)",
    ]


def test_without_an_end_there_are_numbers_alone() -> None:
    assert shown([("jobs", "0")], None, [1.0], [1.0]) == ["jobs  0"]


@pytest.mark.parametrize(
    ("width", "columns"), [(5, 10), (20, 10), (21, 11), (40, 30), (110, 100), (111, 100), (300, 100)]
)
def test_charts_are_as_wide_as_the_console_and_100_columns_at_most(width: int, columns: int) -> None:
    asked: list[int] = []

    def series(parts: int) -> list[float]:
        asked.append(parts)
        return [1.0] * parts

    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(Summary([], 5.0, series, series))
    assert asked == [columns, columns]


@pytest.mark.parametrize(("end", "words"), [(5.0, "5 s"), (90.0, "90 s (1.5 min)"), (1e5, "100,000 s (1.16 d)")])
def test_the_axis_ends_where_the_charts_do(end: float, words: str) -> None:
    lines = shown([], end, [1.0], [1.0])
    axes = [line[5:] for line in lines if line.startswith("     0 s")]
    assert len(axes) == 2
    for axis in axes:
        assert (len(axis), axis.split("  ")[0], axis.split("  ")[-1].strip()) == (30, "0 s", words)


@pytest.mark.parametrize(
    ("utilisation", "queue", "labels"),
    [
        ([0.25, 0.5], [0.0], ["100%", "0", "0", "0"]),
        ([2.5, 1.0], [3.0], ["250%", "0", "3", "0"]),
        ([1.0], [1234.5], ["100%", "0", "1.23e+03", "0"]),
        ([1.0], [0.5], ["100%", "0", "0.5", "0"]),
        ([1.0], [1.47e-306], ["100%", "0", "0", "0"]),
    ],
)
def test_the_labels_beside_the_charts(utilisation: list[float], queue: list[float], labels: list[str]) -> None:
    lines = shown([], 5.0, utilisation, queue)
    blocks = " █▄▂▁▃▅▆▇"
    found = [line.rstrip(blocks).strip() for line in lines]
    assert [each for each in found if each and each[0].isdigit() and not each.startswith("0 s")] == labels


def test_an_empty_queue_is_an_empty_chart() -> None:
    lines = shown([], 5.0, [0.5], [0.0])
    assert lines[-5:-1] == ["   0", "", "", "   0"]


@pytest.mark.parametrize("width", [1, 3, 6, 9, 12, 14])
def test_a_narrow_console_cuts_and_wraps_nothing(width: int) -> None:
    """A chart that is wrapped is none."""
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(
        Summary([], 1e5, lambda parts: [1.0] * parts, lambda parts: [1234.5] * parts)
    )
    assert len(file.getvalue().splitlines()) == len(shown([], 1e5, [1.0], [1234.5]))


def test_names_and_titles_stand_out() -> None:
    file = io.StringIO()
    console = Console(file=file, width=40, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(Summary([("jobs", "[b]3")], 5.0, lambda parts: [1.0] * parts, lambda parts: [1.0] * parts))
    text = file.getvalue()
    assert "\x1b[1mjobs" in text
    assert "[b]3" in text  # what is told is no markup
    for title, colour in (("utilisation", 32), ("jobs waiting", 33)):
        assert f"\x1b[1m{title}" in text
        assert f"\x1b[{colour}m█" in text
    assert text.count("\x1b[2m") >= 6  # labels and axes are dim


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "0 J"),
        (999.0, "999 J"),
        (1e3, "1 kJ"),
        (-1e3, "-1 kJ"),
        (999_999.0, "1e+03 kJ"),
        (1e6, "1 MJ"),
        (999_999_999.0, "1e+03 MJ"),
        (1e9, "1 GJ"),
        (999_999_999_999.0, "1e+03 GJ"),
        (1e12, "1 TJ"),
    ],
)
def test_joules(amount: float, text: str) -> None:
    assert words.joules(amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (1.39e-309, "0 s"),
        (59.9, "59.9 s"),
        (60.0, "60 s (1 min)"),
        (-60.0, "-60 s (-1 min)"),
        (3599.0, "3,599 s (60 min)"),
        (3600.0, "3,600 s (1 h)"),
        (86_399.0, "86,399 s (24 h)"),
        (86_400.0, "86,400 s (1 d)"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(("value", "text"), [(99.9, "99.9"), (100.0, "100"), (1234.5, "1,234"), (0.12345, "0.123")])
def test_ratios(value: float, text: str) -> None:
    assert words.ratio(value) == text
