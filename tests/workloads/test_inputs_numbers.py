"""Numbers of JSON files as Batsim reads them, which is not always the nearest double."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.workloads._json_stream import JsonStream, quick_float

WITHOUT_ENGINE = True

# What a recorded Batsim said of the numbers in its inputs.
SAID = {
    "99.05126770673341": 99.0512677067334,
    "26.070874296324014": 26.070874296324018,
    "928.1591310942189": 928.1591310942188,
    "95.44886130889651": 95.44886130889653,
    "975304871.9506121": 975304871.950612,
    "1759571236.5277255": 1759571236.5277257,
    "127143312.03653373": 127143312.03653371,
    "26083635.897025738": 26083635.897025734,
    "14010328.178430999": 14010328.178431,
    "81.1234567890625": 81.1234567890625,
}


@pytest.mark.parametrize("text", SAID)
def test_numbers_are_what_batsim_took_them_for(text: str) -> None:
    assert quick_float(text) == SAID[text]
    assert quick_float(f"-{text}") == -SAID[text]
    assert JsonStream(BytesIO(text.encode())).value() == SAID[text]
    assert JsonStream(BytesIO(text.encode()), corrected=True).value() == float(text)


@given(st.floats(-1e308, 1e308))
def test_they_are_next_to_what_they_say(number: float) -> None:
    for text in (json.dumps(number), f"{number:.15e}"):
        read = quick_float(text)
        assert read == pytest.approx(number, rel=1e-15, abs=1e-307)


@given(st.integers(0, 10**15 - 1), st.integers(0, 15))
def test_up_to_fifteen_digits_they_are_exact(digits: int, behind: int) -> None:
    text = f"{digits:0{behind + 1}d}"
    text = f"{text[: len(text) - behind]}.{text[len(text) - behind :]}" if behind else f"{text}.0"
    assert quick_float(text) == float(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18446744073709551615", 18446744073709551615.0),
        ("18446744073709551616", 1.8446744073709552e19),
        ("1" * 40, float("1" * 40)),
        ("0." + "0" * 400 + "1", 0.0),
        ("1e-400", 0.0),
        ("4.9e-324", 4.9e-324),
        ("0e99999999999", 0.0),
        ("1e-99999999999", 0.0),
    ],
)
def test_extremes(text: str, number: float) -> None:
    assert quick_float(text) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize("text", ["1e309", "1e99999999999", "-1e400", "9" * 400])
def test_what_is_too_big_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="too big for a double"):
        JsonStream(BytesIO(text.encode())).value()
