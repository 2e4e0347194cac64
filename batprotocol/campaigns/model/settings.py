"""The settings of the grid: the numbers and names that the entities use. The defaults are CiGri's."""

from __future__ import annotations

from typing import Literal, TypeAlias

from batprotocol.campaigns.model.record import Record

__all__ = ["CIGRI_2", "CIGRI_3", "ControllerSettings", "Regulator", "Settings", "Strategy", "TapSettings"]

Strategy: TypeAlias = Literal["fifo", "affinity", "priority"]
"""The order of the campaigns in the metascheduler. `fifo`: by number. `affinity`: first the clusters to which the user
has an affinity, as in the specification's note. `priority`: cluster by cluster, by the users' priorities, as CiGri
3."""

Regulator: TypeAlias = Literal["slow-start", "two-way", "exponential", "rate", "controller"]
"""The part that limits the number of jobs of a campaign on a cluster: the predictor of the ratio (the first three, by
their algorithms), CiGri 3's taps, or a PI controller."""


class TapSettings(Record, frozen=True, kw_only=True):
    """The settings of taps.

    Args:
        rate: the rate that a tap begins with.
        factor: the factor by which the rate grows or falls.
        maximum: the greatest rate: from it on, a rate does not grow.
        grace: for how many seconds the rate stays unchanged after the tap was closed.
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
        reference: how many jobs should wait on the cluster; the error is this minus the number of jobs that wait.
        maximum: the greatest number of jobs to submit in a cycle.
    """

    proportional: float = 0.2
    integral: float = 0.02
    reference: float = 10.0
    maximum: int = 1000


class Settings(Record, frozen=True, kw_only=True):
    """The settings of the grid.

    Args:
        strategy: the order of the campaigns in the metascheduler.
        regulator: the part that limits the number of jobs on a cluster.
        flood_rate: how many jobs may wait, as a part of the cluster's resources; nikita wipes more jobs.
        order_flood_rate: how many jobs are ordered in excess of the free resources, as a part of all resources.
        window: the time over which the throughput is measured, in seconds.
        stale: the number of seconds after which a job that waits is wiped.
        walltime_grace: the number of seconds after its walltime after which a job that runs is wiped.
        finalize: whether the last tasks of a campaign are copied to idle resources.
        copies: how many jobs a task may have at once with `finalize`.
        batch: the greatest number of jobs of a campaign that a cluster gets at once.
        group_seconds: the intended duration of a group of tasks, for campaigns with temporal grouping.
        group_tasks: the greatest number of tasks in a group.
        tap: the settings of taps.
        controller: the settings of the controller.
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
"""CiGri 2: by the ratio, campaign after campaign; jobs that wait in excess of half a cluster are wiped. No copies."""

CIGRI_3 = Settings(strategy="priority", regulator="rate", flood_rate=100.0, finalize=False)
"""CiGri 3: by taps, cluster after cluster, by the users' priorities; only jobs that have waited for long are wiped."""
