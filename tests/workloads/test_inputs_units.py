"""Numbers with units, as platform files have them."""

from __future__ import annotations

import pytest

from batprotocol.errors import InputError
from batprotocol.workloads.simgrid import parse_bandwidth, parse_speed, parse_time

WITHOUT_ENGINE = True


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_speed, "1.5Gf", 1.5e9), (parse_speed, "3kiloflops", 3000.0), (parse_speed, "1e-9Mf", 1e-9 * 1e6),
        (parse_speed, "1Ef", 1e18), (parse_speed, "7", 7.0),
        (parse_bandwidth, "1MiBps", 1048576.0), (parse_bandwidth, "100Mbps", 12.5e6), (parse_bandwidth, "8Kibps", 1024),
        (parse_time, "1.461517ms", 1.461517 * 1e-3), (parse_time, "2w", 1209600.0), (parse_time, "0", 0.0),
        (parse_time, "3 s", 3.0),
    ],
)  # fmt: skip
def test_units(parse, text: str, value: float) -> None:
    assert parse(text) == value


@pytest.mark.parametrize("parse", [parse_speed, parse_bandwidth, parse_time])
@pytest.mark.parametrize("text", ["", "f", "1x", "-1", "nan", "inf", "1e999", "0x1", "1" * 200, "1,5s", "1__0"])
def test_no_numbers(parse, text: str) -> None:
    with pytest.raises(InputError):
        parse(text)
