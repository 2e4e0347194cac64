"""CiGri 3's taps: each turn at the values where it becomes another one."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.campaigns.entities import regulation
from batprotocol.campaigns.model import Tap, TapSettings, TapState

WITHOUT_ENGINE = True

SETTINGS = TapSettings(rate=3, factor=1.5, maximum=100, grace=60.0)


def tap(rate: int = 3, closed: float | None = None) -> Tap:
    state = TapState.OPEN if closed is None else TapState.CLOSED
    return Tap(campaign=1, cluster="a", rate=rate, state=state, close_date=closed)


@pytest.mark.parametrize(
    ("rate", "up", "down"),
    [
        (0, 0, 0),
        (1, 1, 1),  # CiGri's arithmetic: a rate of 1 never grows
        (2, 3, 2),
        (3, 4, 3),
        (4, 6, 3),
        (5, 7, 3),
        (6, 9, 4),
        (66, 99, 44),
        (67, 100, 44),
        (99, 100, 66),
        (100, 100, 66),
        (150, 150, 100),
    ],
)
def test_rates_as_they_are_turned(rate: int, up: int, down: int) -> None:
    assert regulation.increase_tap(tap(rate), SETTINGS).rate == up
    assert regulation.decrease_tap(tap(rate), 0.0, SETTINGS).rate == down


@given(st.integers(0, 200), st.integers(1, 20), st.integers(20, 150), st.floats(1.0, 4.0))
def test_a_rate_stays_within_its_bounds(rate: int, first: int, maximum: int, factor: float) -> None:
    settings = TapSettings(rate=first, factor=factor, maximum=maximum)
    up, down = regulation.increase_tap(tap(rate), settings), regulation.decrease_tap(tap(rate), 0.0, settings)
    assert rate <= up.rate <= max(rate, maximum)
    assert min(rate, first) <= down.rate <= rate
    assert msgspec.structs.replace(up, rate=rate) == msgspec.structs.replace(down, rate=rate) == tap(rate)


@pytest.mark.parametrize(("now", "grace"), [(10.0, True), (69.9, True), (70.0, False), (70.1, False)])
def test_the_time_of_grace(now: float, grace: bool) -> None:
    closed = tap(20, closed=10.0)
    assert regulation.tap_in_grace(closed, now, SETTINGS) is grace
    assert regulation.decrease_tap(closed, now, SETTINGS).rate == (20 if grace else 13)
    assert not regulation.tap_in_grace(tap(20), now, SETTINGS)


def test_what_is_closed_keeps_its_date() -> None:
    once = regulation.close_tap(tap(7), 5.0)
    assert once == tap(7, closed=5.0)
    assert regulation.close_tap(once, 9.0) == once
    opened = regulation.open_tap(once)
    assert (opened.state, opened.rate, opened.close_date) == (TapState.OPEN, 7, 5.0)
    assert regulation.close_tap(opened, 9.0).close_date == 9.0
    again = regulation.reset_tap(once, SETTINGS)
    assert again == tap(3, closed=5.0)


@pytest.mark.parametrize(
    ("before", "waiting", "now", "after"),
    [
        (tap(9), False, 100.0, tap(9)),
        (tap(9), True, 100.0, tap(9, closed=100.0)),
        (tap(9, closed=99.0), True, 100.0, tap(9, closed=99.0)),
        (tap(9, closed=40.0), True, 100.0, tap(6, closed=40.0)),
        (tap(9, closed=99.0), False, 100.0, regulation.open_tap(tap(9, closed=99.0))),
        (tap(9, closed=40.0), False, 100.0, regulation.open_tap(tap(6, closed=40.0))),
        (regulation.open_tap(tap(9, closed=40.0)), False, 100.0, regulation.open_tap(tap(9, closed=40.0))),
    ],
)
def test_a_turn_before_jobs_are_submitted(before: Tap, waiting: bool, now: float, after: Tap) -> None:
    assert regulation.turn(before, waiting=waiting, now=now, settings=SETTINGS) == after


@pytest.mark.parametrize(
    ("before", "submitted", "rate"),
    [
        (tap(2), 0, 2),
        (tap(0), 0, 0),
        (tap(2), 1, 3),  # 2 < 1 * 1.5 + 1
        (tap(3), 1, 3),  # 3 is not
        (tap(3), 2, 4),  # 3 < 2 * 1.5 + 1
        (tap(4), 2, 4),  # 4 is not: equal does not count
        (tap(5), 3, 7),
        (tap(6), 3, 6),
        (tap(9, closed=1.0), 9, 9),
        (tap(100), 100, 100),
    ],
)
def test_a_rate_grows_where_it_was_nearly_used(before: Tap, submitted: int, rate: int) -> None:
    assert regulation.tap_after(before, submitted, SETTINGS).rate == rate
