"""The regulators of the flow of jobs to the clusters: the predictor's ratio, CiGri 3's taps, or a controller.

Each limits the number of jobs that a couple of campaign and cluster may get. A ratio allows jobs for every campaign, by
the resources that it is offered. Taps and controllers do not use the free resources, but the jobs that wait. They let
one campaign at a time use a cluster: the first one that they allow jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from batprotocol.campaigns.entities import controller, taps
from batprotocol.campaigns.entities.forecasting import initial_ratio
from batprotocol.campaigns.entities.metascheduler import Couple, is_test
from batprotocol.campaigns.entities.runner import Run, serve
from batprotocol.campaigns.entities.scheduler import Limit
from batprotocol.campaigns.model import (
    ControllerState,
    Forecast,
    Grid,
    JobState,
    Order,
    Record,
    Regulator,
    Settings,
    Tap,
)

__all__ = ["REGULATORS", "Regulation", "limit_by_tap", "taps_after"]


class Regulation(Record, frozen=True, kw_only=True):
    """The limits of a regulator in this cycle.

    Args:
        served: the couples that may order jobs, in their order.
        limits: the limit of jobs for each of them.
        taps: the new taps.
        controllers: the new states of the controllers.
    """

    served: tuple[Couple, ...]
    limits: dict[tuple[int, str], Limit]
    taps: tuple[Tap, ...] = ()
    controllers: tuple[ControllerState, ...] = ()


def limit_by_tap(rate: int, *, max_jobs: int | None = None, active: int = 0, queued: int = 0, ahead: int = 1) -> int:
    """How many more jobs of a campaign a cluster may get, by its tap; below 0 if it has too many.

    Args:
        rate: the rate of the tap.
        max_jobs: how many jobs the campaign may have there at once; None: no limit.
        active: how many jobs it has there.
        queued: how many of its tasks are in the cluster's queue.
        ahead: for how many cycles jobs are queued: CiGri 3 queues for ten.

    >>> limit_by_tap(3, ahead=10), limit_by_tap(3, ahead=10, max_jobs=4, active=9)
    (30, -5)
    """
    limit = max(0, rate * ahead - queued)
    return limit if max_jobs is None else min(limit, max_jobs - active - queued)


def _by_ratio(grid: Grid, settings: Settings, couples: Sequence[Couple], expected: Sequence[Forecast]) -> Regulation:
    ratios = {(each.campaign, each.cluster): each.ratio for each in expected}
    limits = {}
    for couple in couples:
        ratio = ratios.get(couple.key)
        limits[couple.key] = Limit(ratio=initial_ratio(couple.properties) if ratio is None else ratio)
    return Regulation(served=tuple(couples), limits=limits)


def _by_taps(grid: Grid, settings: Settings, couples: Sequence[Couple], expected: Sequence[Forecast]) -> Regulation:
    active = _active(grid)
    waiting = {(job.campaign, job.cluster) for job in grid.jobs if job.state is JobState.REMOTE_WAITING}
    old = {(each.campaign, each.cluster): each for each in grid.taps}
    turned = {}
    for couple in couples:
        campaign, cluster = couple.key
        tap = old.get(couple.key) or Tap(campaign=campaign, cluster=cluster, rate=settings.tap.rate)
        turned[couple.key] = taps.turn(tap, waiting=couple.key in waiting, now=grid.now, settings=settings.tap)
    banned = {each.cluster for each in grid.blacklist if each.campaign is None}
    shut = [taps.close(taps.reset(tap, settings.tap), grid.now) for tap in grid.taps if tap.cluster in banned]
    limits: dict[tuple[int, str], Limit] = {}
    for cluster, here in _by_cluster(couples):
        queue = [Run(couple.campaign.id, _room(couple, active)) for couple in here if _room(couple, active) > 0]
        own = {couple.campaign.id: turned[couple.key] for couple in here}
        run = serve(queue, own, frozenset(), grid.now, settings.tap)
        if run is not None:
            limits[run.campaign, cluster] = Limit(jobs=min(run.jobs, settings.batch))
    served = tuple(couple for couple in couples if couple.key in limits)
    return Regulation(served=served, limits=limits, taps=(*turned.values(), *shut))


def _by_controllers(
    grid: Grid, settings: Settings, couples: Sequence[Couple], expected: Sequence[Forecast]
) -> Regulation:
    active = _active(grid)
    old = {(each.campaign, each.cluster): each for each in grid.controllers}
    limits: dict[tuple[int, str], Limit] = {}
    states = []
    for cluster, here in _by_cluster(couples):
        first = next((couple for couple in here if _room(couple, active) > 0), None)
        if first is None:
            continue
        waiting = sum(job.cluster == cluster and job.state is JobState.REMOTE_WAITING for job in grid.jobs)
        state = old.get(first.key) or ControllerState(campaign=first.campaign.id, cluster=cluster)
        state = controller.step(state, waiting, settings.controller)
        states.append(state)
        limits[first.key] = Limit(jobs=min(round(state.submitted), settings.batch))
    served = tuple(couple for couple in couples if couple.key in limits)
    return Regulation(served=served, limits=limits, controllers=tuple(states))


def _active(grid: Grid) -> Counter[tuple[int, str]]:
    return Counter((job.campaign, job.cluster) for job in grid.jobs)


def _room(couple: Couple, active: Counter[tuple[int, str]]) -> int:
    """How many more jobs a campaign has for a cluster and may have there."""
    properties = couple.properties
    most = 1 if is_test(couple.campaign, properties) else properties.max_jobs
    return couple.status.pending if most is None else min(couple.status.pending, most - active[couple.key])


def _by_cluster(couples: Sequence[Couple]) -> Iterator[tuple[str, list[Couple]]]:
    found: dict[str, list[Couple]] = {}
    for couple in couples:
        found.setdefault(couple.cluster.name, []).append(couple)
    return iter(found.items())


REGULATORS: dict[Regulator, Callable[[Grid, Settings, Sequence[Couple], Sequence[Forecast]], Regulation]] = {
    "slow-start": _by_ratio,
    "two-way": _by_ratio,
    "exponential": _by_ratio,
    "rate": _by_taps,
    "controller": _by_controllers,
}


def taps_after(
    turned: Sequence[Tap], orders: Sequence[Order], settings: Settings, old: Sequence[Tap]
) -> tuple[Tap, ...]:
    """The taps that have changed since the last cycle, after the orders were submitted.

    Args:
        turned: the taps before the orders.
        orders: the orders.
        settings: the settings of the grid.
        old: the taps after the last cycle.
    """
    submitted: Mapping[tuple[int, str], int] = {(order.campaign, order.cluster): order.jobs for order in orders}
    before = set(old)
    now = (taps.after(tap, submitted.get((tap.campaign, tap.cluster), 0), settings.tap) for tap in turned)
    return tuple(tap for tap in now if tap not in before)
