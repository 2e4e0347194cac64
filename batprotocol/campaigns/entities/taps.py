"""CiGri 3's rate control: a tap for each campaign on each cluster.

A tap is closed while its jobs wait. Its rate stays unchanged for a time of grace, in which these jobs may start. It
falls if the tap was closed for longer than that. It grows after each cycle in which the tap was open and its jobs were
submitted.
"""

from __future__ import annotations

import msgspec

from batprotocol.campaigns.model import Tap, TapSettings, TapState

__all__ = ["after", "close", "decrease", "in_grace", "increase", "open_", "reset", "turn"]


def in_grace(tap: Tap, now: float, settings: TapSettings) -> bool:
    """Whether the tap was closed within the time of grace, so that its rate stays."""
    return tap.close_date is not None and now - tap.close_date < settings.grace


def increase(tap: Tap, settings: TapSettings) -> Tap:
    """The tap with a greater rate; from the maximum on, it does not grow.

    >>> increase(Tap(campaign=1, cluster="a", rate=9), TapSettings()).rate
    13
    """
    if tap.rate >= settings.maximum:
        return tap
    return msgspec.structs.replace(tap, rate=min(int(tap.rate * settings.factor), settings.maximum))


def decrease(tap: Tap, now: float, settings: TapSettings) -> Tap:
    """The tap with a smaller rate, but not below the first one. In the time of grace, it is unchanged.

    >>> decrease(Tap(campaign=1, cluster="a", rate=13), 0.0, TapSettings()).rate
    8
    """
    if tap.rate <= settings.rate or in_grace(tap, now, settings):
        return tap
    return msgspec.structs.replace(tap, rate=max(int(tap.rate / settings.factor), settings.rate))


def open_(tap: Tap) -> Tap:
    """The tap, open."""
    return msgspec.structs.replace(tap, state=TapState.OPEN)


def close(tap: Tap, now: float) -> Tap:
    """The tap, closed. If it was closed already, it keeps its date."""
    if tap.state is TapState.CLOSED:
        return tap
    return msgspec.structs.replace(tap, state=TapState.CLOSED, close_date=now)


def reset(tap: Tap, settings: TapSettings) -> Tap:
    """The tap with its first rate, open or closed as before."""
    return msgspec.structs.replace(tap, rate=settings.rate)


def turn(tap: Tap, *, waiting: bool, now: float, settings: TapSettings) -> Tap:
    """The tap before jobs are submitted: closed while jobs of its campaign wait on its cluster, else open.

    Args:
        tap: the tap after the last cycle.
        waiting: whether any of its campaign's jobs wait there.
        now: seconds of the grid's clock.
        settings: the settings of taps.
    """
    if tap.state is TapState.CLOSED:
        tap = decrease(tap, now, settings)
    return close(tap, now) if waiting else open_(tap)


def after(tap: Tap, submitted: int, settings: TapSettings) -> Tap:
    """The tap after jobs were submitted: its rate grows if it was nearly used."""
    used = tap.state is TapState.OPEN and tap.rate < submitted * settings.factor + 1
    return increase(tap, settings) if used else tap
