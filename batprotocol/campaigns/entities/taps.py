"""CiGri 3's rate control: a tap for each campaign on each cluster.

It is turned up while its jobs start, and closed when they wait. A closed tap stays as it is for a time of grace, in
which the jobs that wait may start. After each cycle in which the tap was open and its jobs were submitted, the rate
grows; once it was closed for longer than the grace, it falls.
"""

from __future__ import annotations

import msgspec

from batprotocol.campaigns.model import Tap, TapSettings, TapState

__all__ = ["after", "close", "decrease", "in_grace", "increase", "open_", "reset", "turn"]


def in_grace(tap: Tap, now: float, settings: TapSettings) -> bool:
    """Whether it was closed so short a time ago that its rate stays."""
    return tap.close_date is not None and now - tap.close_date < settings.grace


def increase(tap: Tap, settings: TapSettings) -> Tap:
    """A tap that lets more through; above the maximum, nothing grows.

    >>> increase(Tap(campaign=1, cluster="a", rate=9), TapSettings()).rate
    13
    """
    if tap.rate >= settings.maximum:
        return tap
    return msgspec.structs.replace(tap, rate=min(int(tap.rate * settings.factor), settings.maximum))


def decrease(tap: Tap, now: float, settings: TapSettings) -> Tap:
    """A tap that lets less through, though not less than in the beginning; none does during the time of grace.

    >>> decrease(Tap(campaign=1, cluster="a", rate=13), 0.0, TapSettings()).rate
    8
    """
    if tap.rate <= settings.rate or in_grace(tap, now, settings):
        return tap
    return msgspec.structs.replace(tap, rate=max(int(tap.rate / settings.factor), settings.rate))


def open_(tap: Tap) -> Tap:
    """A tap that lets jobs through."""
    return msgspec.structs.replace(tap, state=TapState.OPEN)


def close(tap: Tap, now: float) -> Tap:
    """A tap that lets nothing through. One that was closed already keeps its date."""
    if tap.state is TapState.CLOSED:
        return tap
    return msgspec.structs.replace(tap, state=TapState.CLOSED, close_date=now)


def reset(tap: Tap, settings: TapSettings) -> Tap:
    """A tap with the rate that all begin with, open or closed as it was."""
    return msgspec.structs.replace(tap, rate=settings.rate)


def turn(tap: Tap, *, waiting: bool, now: float, settings: TapSettings) -> Tap:
    """The tap before jobs are submitted: closed while jobs of its campaign wait on its cluster, else opened.

    Args:
        tap: the tap as the last cycle left it.
        waiting: whether any of its campaign's jobs wait there.
        now: seconds of the grid's clock.
        settings: how taps are turned.
    """
    if tap.state is TapState.CLOSED:
        tap = decrease(tap, now, settings)
    return close(tap, now) if waiting else open_(tap)


def after(tap: Tap, submitted: int, settings: TapSettings) -> Tap:
    """The tap after jobs were submitted: it is turned up where its rate was nearly used."""
    used = tap.state is TapState.OPEN and tap.rate < submitted * settings.factor + 1
    return increase(tap, settings) if used else tap
