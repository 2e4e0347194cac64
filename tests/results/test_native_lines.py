"""Lines that are filled in C are those of Python's operator `%`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.results import _lines

WITHOUT_ENGINE = True

NUMBERS = st.one_of(
    st.floats(),
    st.floats(min_value=0.0, max_value=1e7),
    st.integers(0, 2**53).map(lambda number: number / 2.0**20),
    st.integers(0, 10**13).map(lambda number: number / 1e6),
    st.integers(-(10**9), 10**9).map(lambda number: number / 128.0),  # the seventh decimal is 5, and nothing follows
    st.integers(0, 10**7).map(float),
    st.integers(0, 10**7).map(lambda number: number + 0.5),
    st.tuples(st.integers(0, 10**6), st.integers(0, 12)).map(lambda pair: (10.0 * pair[0] + 5.0) * 10.0 ** pair[1]),
)
TEXTS = st.one_of(st.text(), st.text("abw0!,-", max_size=40), st.text("x", min_size=900, max_size=1100))
COUNTS = st.one_of(st.integers(), st.integers(0, 1000), st.booleans(), st.integers(2**62, 2**66))
VALUES = {
    "s": st.one_of(TEXTS, COUNTS, NUMBERS),
    "d": st.one_of(COUNTS, NUMBERS),
    "f": st.one_of(NUMBERS, COUNTS),
    "g": NUMBERS,
}


class Text(str):
    """A text that another class shows otherwise."""

    def __str__(self) -> str:
        return "other"


class Number(float):
    """A number of another class."""

    def __float__(self) -> float:
        return 2.0


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    """A format, and values for it."""
    kinds = draw(st.lists(st.sampled_from("sdfg"), max_size=18))
    between = draw(st.sampled_from([",", "", " - ", "é", "%%"]))
    return between.join(f"%{kind}" for kind in kinds), tuple(draw(VALUES[kind]) for kind in kinds)


def outcome(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)


def filled(format: str, values: tuple[Any, ...]) -> str:
    return format % values


@given(lines())
@example(("%f,%f", (0.0078125, 0.0234375)))  # ties
@example(("%f,%f,%f", (0.9999995, 0.99999951, 1e15 + 0.5)))
@example(("%f,%f,%f", (-0.0, -1e-9, 5e-324)))
@example(("%f,%f", (9.3e18, 8.9e18)))
@example(("%g,%g,%g", (999999.0, 1000000.0, 123456.5)))
@example(("%s,%d,%f", (Text("own"), True, Number(1.0))))
@example(("%g,%g", (-0.0, -3.0)))
@example(("%g,%g,%g", (999999.5, 9999995.0, 99999.95)))  # they are rounded up to a further digit
@example(("%g,%g,%g,%g", (100000.5, 100001.5, 1000005.0, 1000015.0)))  # ties
@example(("%g,%g,%g,%g", (1.0, 1.5, 120000.0, 1234567890123.25)))
@example(("%s,%s,%s", (3, -3, 2**70)))
def test_lines_are_equal(line: tuple[str, tuple[Any, ...]]) -> None:
    assert outcome(_lines.fill, *line) == outcome(filled, *line)


@pytest.mark.parametrize(
    ("format", "values"),
    [("%s,%s", ("a",)), ("%s", ("a", "b")), ("%d", ("a",)), ("%f", ("a",)), ("%", ()), ("%q", (1,)), ("%d", (None,))],
)
def test_what_python_refuses_is_refused(format: str, values: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        filled(format, values)
    with pytest.raises(expected.type) as raised:
        _lines.fill(format, values)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("arguments", [(), ("%s",), ("%s", ["a"]), (b"%s", ("a",))])
def test_other_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="a format and a tuple"):
        _lines.fill(*arguments)
