"""Numbers with a rest: what a double leaves over is written, and travels."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from batprotocol.results.observers import Precise

WITHOUT_ENGINE = True


@given(st.floats(0, 1e13), st.floats(-1e-6, 1e-6))
def test_precise_numbers_are_written_with_all_they_have(number: float, rest: float) -> None:
    precise = Precise(number, rest)
    exact = Decimal(number) + Decimal(rest)
    assert abs(Decimal(f"{precise:f}") - exact) <= Decimal("0.0000005")
    assert precise == number
    assert f"{precise:.3e}" == f"{number:.3e}"
    for again in (pickle.loads(pickle.dumps(precise)), copy.deepcopy(precise)):
        assert (again, again.rest) == (number, rest)
