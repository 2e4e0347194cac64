"""Vectors of doubles by themselves."""

from __future__ import annotations

import copy
import math
import pickle
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from exact import exact, one_nan
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.model import Doubles
from batprotocol.testing import strategies as bat

WITHOUT_ENGINE = True

floats = st.lists(bat.float64s(allow_nan=True), max_size=20)
numbers = st.lists(bat.float64s(), max_size=20)


@given(floats)
def test_doubles_hold_what_they_are_given(values: list[float]) -> None:
    doubles = Doubles(values)
    assert len(doubles) == len(values)
    assert exact(tuple(doubles)) == exact(tuple(values)) == exact(tuple(doubles[i] for i in range(len(values))))
    for other in (Doubles(iter(values)), Doubles(doubles), Doubles(tuple(values)), Doubles(array("d", values))):
        assert other.to_bytes() == doubles.to_bytes()
    assert Doubles.from_bytes(doubles.to_bytes()).to_bytes() == doubles.to_bytes()
    assert doubles.to_bytes() == np.array(values, "<f8").tobytes()


@given(numbers, numbers)
def test_doubles_are_equal_to_the_same_numbers(values: list[float], others: list[float]) -> None:
    same = values == others
    for make in (Doubles, list, tuple, lambda numbers: array("d", numbers), lambda numbers: Doubles(numbers).view):
        assert (Doubles(values) == make(others)) is same
        assert (Doubles(values) != make(others)) is not same
        assert Doubles(values) == make(values)
        assert make(values) == Doubles(values)


@given(floats)
def test_doubles_with_nan_are_equal_to_themselves(values: list[float]) -> None:
    assert Doubles(values) == Doubles(values)
    assert hash(Doubles(values)) == hash(Doubles(values))
    assert (Doubles(values) == values) is not any(map(math.isnan, values))


@pytest.mark.parametrize("other", ["", "1.0", b"", bytearray(), 1.0, None, {1.0}, {1.0: 1.0}, [1.0], [1.0, 2.0, 3.0]])
def test_doubles_are_not_equal_to_other_things(other: Any) -> None:
    assert Doubles([1.0, 2.0]) != other
    assert Doubles() != other
    assert (Doubles() == []) is True


@given(numbers)
def test_doubles_hash_as_the_tuple_that_they_are_equal_to(values: list[float]) -> None:
    assert hash(Doubles(values)) == hash(tuple(values))
    assert {Doubles(values): 1}[tuple(values)] == 1  # type: ignore[index]


@given(numbers)
def test_doubles_hash_equal_when_equal_in_spite_of_zeros(values: list[float]) -> None:
    flipped = [-number if number == 0 else number for number in values]
    assert Doubles(values) == Doubles(flipped)
    assert hash(Doubles(values)) == hash(Doubles(flipped))


@given(floats, st.data())
def test_doubles_are_indexed_and_sliced_as_tuples(values: list[float], data: st.DataObject) -> None:
    doubles = Doubles(values)
    cut = data.draw(st.slices(len(values)))
    assert type(doubles[cut]) is Doubles
    assert exact(tuple(doubles[cut])) == exact(tuple(values[cut]))
    index = data.draw(st.integers(-25, 25))
    if -len(values) <= index < len(values):
        assert exact(doubles[index]) == exact(values[index])
    else:
        with pytest.raises(IndexError, match=f"index {index} out of range for {len(values)} numbers"):
            doubles[index]


def test_doubles_are_sequences() -> None:
    doubles = Doubles([1, 2.5, 2.5, math.inf])
    assert isinstance(doubles, Sequence)
    assert list(reversed(doubles)) == [math.inf, 2.5, 2.5, 1.0]
    assert (doubles.index(2.5), doubles.count(2.5), 2.5 in doubles, 3.0 in doubles) == (1, 2, True, False)
    assert all(type(number) is float for number in doubles)
    assert not Doubles()
    assert doubles


@given(floats)
def test_numpy_sees_doubles_without_a_copy(values: list[float]) -> None:
    doubles = Doubles(values)
    seen = np.asarray(doubles)
    assert (seen.dtype, seen.shape, seen.tobytes()) == (np.dtype("<f8"), (len(values),), doubles.to_bytes())
    again = np.asarray(doubles.view)
    if values:
        address = seen.__array_interface__["data"]
        assert address[0] == again.__array_interface__["data"][0] == np.asarray(doubles).__array_interface__["data"][0]
        assert address[1] is True
        for array_seen in (seen, again):
            with pytest.raises(ValueError, match="read-only"):
                array_seen[0] = 1.0
    assert Doubles(seen).to_bytes() == doubles.to_bytes()


@given(floats)
def test_the_view_of_doubles_is_read_only(values: list[float]) -> None:
    view = Doubles(values).view
    assert (view.format, view.itemsize, len(view), view.readonly) == ("d", 8, len(values), True)
    assert exact(tuple(view)) == exact(tuple(values))


def test_doubles_outlive_what_they_were_made_of() -> None:
    source = array("d", [1.0, 2.0])
    doubles = Doubles(source)
    view, seen = doubles.view, np.asarray(doubles)
    source[0] = 9.0
    del doubles
    assert (list(view), list(seen)) == ([1.0, 2.0], [1.0, 2.0])


@pytest.mark.parametrize("name", ["_bytes", "view", "anything"])
def test_doubles_cannot_be_changed(name: str) -> None:
    doubles = Doubles([1.0])
    with pytest.raises(AttributeError, match="read-only"):
        setattr(doubles, name, b"")
    with pytest.raises(AttributeError, match="read-only"):
        delattr(doubles, name)
    with pytest.raises(TypeError):
        doubles[0] = 2.0  # type: ignore[index]
    assert doubles == [1.0]


@given(floats)
def test_doubles_are_copied_and_pickled(values: list[float]) -> None:
    doubles = Doubles(values)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(doubles, protocol))
        assert (type(again), again.to_bytes()) == (Doubles, doubles.to_bytes())
    assert copy.copy(doubles).to_bytes() == copy.deepcopy(doubles).to_bytes() == doubles.to_bytes()


@given(floats)
def test_the_repr_of_doubles_is_short(values: list[float]) -> None:
    shown = repr(Doubles(values))
    if len(values) <= 12:
        again = eval(shown, {"Doubles": Doubles, "inf": math.inf, "nan": math.nan})
        assert exact(again, one_nan) == exact(Doubles(values), one_nan)
    else:
        assert shown.endswith(f", ... {len(values) - 6} more])")
    assert len(repr(Doubles(range(10_000)))) < 100


@pytest.mark.parametrize("given_values", [["a"], [None], [1, "2"], 5, None, [10**400]])
def test_what_is_no_vector_of_doubles_is_refused(given_values: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        Doubles(given_values)


@pytest.mark.parametrize("size", [1, 7, 9, 15])
def test_odd_bytes_are_no_doubles(size: int) -> None:
    with pytest.raises(ValueError, match=f"a vector of doubles takes a multiple of 8 bytes, got {size}"):
        Doubles.from_bytes(bytes(size))
