"""How the grid is run: the few numbers and names that the entities ask for. Each has CiGri's own default."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model.record import Record

__all__ = ["CIGRI_2", "CIGRI_3", "ControllerSettings", "Regulator", "Settings", "Strategy", "TapSettings"]

Strategy: TypeAlias = Literal["fifo", "affinity", "priority"]
"""In which order the metascheduler goes through campaigns: by number; first where their users have an affinity to the
cluster, as the specification's note has it; or by the priority of their users there, cluster by cluster, as CiGri 3."""

Regulator: TypeAlias = Literal["slow-start", "two-way", "exponential", "rate", "controller"]
"""What decides how many jobs a cluster gets of a campaign: a predictor of the ratio (the first three, by what they do),
CiGri 3's taps, or a PI controller."""


class TapSettings(Record, frozen=True, kw_only=True):
    """How taps are turned.

    Args:
        rate: the rate that a tap begins with.
        factor: by what the rate is multiplied or divided.
        maximum: the rate from which on it grows no further.
        grace: seconds after it was closed in which it stays as it is.
    """

    rate: int = 3
    factor: float = 1.5
    maximum: int = 100
    grace: float = 60.0


class ControllerSettings(Record, frozen=True, kw_only=True):
    """A PI controller: in each cycle, `submitted += proportional * error + integral * (sum of errors)`.

    Args:
        proportional: Kp.
        integral: Ki.
        reference: how many jobs are to wait on the cluster; the error is this minus how many do.
        maximum: more is never submitted in a cycle.
    """

    proportional: float = 0.2
    integral: float = 0.02
    reference: float = 10.0
    maximum: int = 1000


class Settings(Record, frozen=True, kw_only=True):
    """How the grid is run.

    Args:
        strategy: in which order the metascheduler goes through campaigns.
        regulator: what decides how many jobs a cluster gets.
        flood_rate: which part of a cluster's resources may be waiting jobs; nikita wipes what is more.
        order_flood_rate: which part of a cluster's resources is ordered beyond what is free.
        window: over how many seconds the throughput is measured.
        stale: seconds after which a job that still waits is wiped.
        walltime_grace: seconds after its walltime at which a job that still runs is wiped.
        finalize: whether the last jobs of a campaign are copied to resources that are left over.
        copies: how many jobs a task may have at once when it is finalized.
        batch: how many jobs of a campaign a cluster gets at once at most.
        group_seconds: how long a job should take that does several tasks, where the campaign wants temporal grouping.
        group_tasks: how many tasks it does at most.
        tap: how taps are turned.
        controller: the constants of the controller.
    """

    strategy: Strategy = "fifo"
    regulator: Regulator = "two-way"
    flood_rate: float = 0.5
    order_flood_rate: float = 0.0
    window: float = 7200.0
    stale: float = 900.0
    walltime_grace: float = 1800.0
    finalize: bool = True
    copies: int = 2
    batch: int = 500
    group_seconds: float = 30.0
    group_tasks: int = 1000
    tap: TapSettings = TapSettings()
    controller: ControllerSettings = ControllerSettings()


CIGRI_2 = Settings(strategy="fifo", regulator="two-way", flood_rate=0.5, order_flood_rate=0.5, finalize=False)
"""As CiGri 2: by the ratio, campaign after campaign; what waits beyond half of a cluster is wiped. No copies."""

CIGRI_3 = Settings(strategy="priority", regulator="rate", flood_rate=100.0, finalize=False)
"""As CiGri 3: by taps, cluster after cluster, by the users' priorities; only what has waited for long is wiped."""
