"""Hosts that can be switched off, for tests of caps and of hosts that sleep."""

from __future__ import annotations

from batprotocol.simulator import Platform, SleepPState, Watts

__all__ = ["sleepy"]


def sleepy(hosts: int) -> Platform:
    """Hosts that take 100 W when idle and 10 W when off. They are off in two seconds, and on again in ten."""
    return Platform.homogeneous(
        hosts,
        speeds=(1e9, 1.0, 0.5, 0.1),
        watts=(Watts(100.0, 100.0, 200.0), *(Watts(each, each, each) for each in (10.0, 80.0, 120.0))),
        sleep_pstates=(SleepPState(1, 2, 3),),
    )
