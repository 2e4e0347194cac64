"""The regulators of the flow of jobs to the clusters: the predictor's ratio, CiGri 3's taps, or a controller.

Each limits the number of jobs that a couple of campaign and cluster may get. A ratio allows jobs for every campaign, by
the resources that it is offered. Taps and controllers do not use the free resources, but the jobs that wait. They let
one campaign at a time use a cluster: the first one that they allow jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns._values import read_resources
from batprotocol.campaigns.entities.prediction import initial_ratio
from batprotocol.campaigns.entities.scheduling import Couple, Limit, draw, is_test
from batprotocol.campaigns.model import (
    Campaign,
    ControllerSettings,
    Forecast,
    GridJobState,
    GridSettings,
    GridState,
    GridTask,
    GridValue,
    JobOrder,
    PiControllerState,
    Regulator,
    Tap,
    TapSettings,
    TapState,
    TaskSubmission,
)

__all__ = [
    "REGULATORS",
    "QueuedRun",
    "Regulation",
    "TaskSource",
    "close_tap",
    "controller_step",
    "decrease_tap",
    "increase_tap",
    "limit_by_tap",
    "open_tap",
    "reset_tap",
    "served_run",
    "submission",
    "submissions",
    "tap_after",
    "tap_in_grace",
    "taps_after",
    "turn",
]


# CiGri 3's rate control: a tap for each campaign on each cluster.


def tap_in_grace(tap: Tap, now: float, settings: TapSettings) -> bool:
    """Whether the tap was closed within the time of grace, so that its rate stays."""
    return tap.close_date is not None and now - tap.close_date < settings.grace


def increase_tap(tap: Tap, settings: TapSettings) -> Tap:
    """The tap with a greater rate; from the maximum on, it does not grow.

    >>> increase_tap(Tap(campaign=1, cluster="a", rate=9), TapSettings()).rate
    13
    """
    if tap.rate >= settings.maximum:
        return tap
    return msgspec.structs.replace(tap, rate=min(int(tap.rate * settings.factor), settings.maximum))


def decrease_tap(tap: Tap, now: float, settings: TapSettings) -> Tap:
    """The tap with a smaller rate, but not below the first one. In the time of grace, it is unchanged.

    >>> decrease_tap(Tap(campaign=1, cluster="a", rate=13), 0.0, TapSettings()).rate
    8
    """
    if tap.rate <= settings.rate or tap_in_grace(tap, now, settings):
        return tap
    return msgspec.structs.replace(tap, rate=max(int(tap.rate / settings.factor), settings.rate))


def open_tap(tap: Tap) -> Tap:
    """The tap, open."""
    return msgspec.structs.replace(tap, state=TapState.OPEN)


def close_tap(tap: Tap, now: float) -> Tap:
    """The tap, closed. If it was closed already, it keeps its date."""
    if tap.state is TapState.CLOSED:
        return tap
    return msgspec.structs.replace(tap, state=TapState.CLOSED, close_date=now)


def reset_tap(tap: Tap, settings: TapSettings) -> Tap:
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
        tap = decrease_tap(tap, now, settings)
    return close_tap(tap, now) if waiting else open_tap(tap)


def tap_after(tap: Tap, submitted: int, settings: TapSettings) -> Tap:
    """The tap after jobs were submitted: its rate grows if it was nearly used."""
    used = tap.state is TapState.OPEN and tap.rate < submitted * settings.factor + 1
    return increase_tap(tap, settings) if used else tap


# A PI controller: it submits more or fewer jobs, so that a small number of them waits.


def controller_step(state: PiControllerState, waiting: int, settings: ControllerSettings) -> PiControllerState:
    """The next state of the controller.

    If the result is limited, to 0 or to the maximum, the sum does not grow further in that direction. So there is no
    flood after a long time in which nothing could be submitted.

    >>> controller_step(PiControllerState(campaign=1, cluster="a"), 0, ControllerSettings()).submitted
    2.2
    """
    error = settings.reference - waiting
    integral = state.integral + error
    submitted = state.submitted + settings.proportional * error + settings.integral * integral
    bounded = min(max(submitted, 0.0), float(settings.maximum))
    if (submitted - bounded) * error > 0:
        integral = state.integral
    return PiControllerState(campaign=state.campaign, cluster=state.cluster, submitted=bounded, integral=integral)


# The runner: it selects the tasks to submit to the clusters, and their order. The loop submits them.


TaskSource: TypeAlias = Callable[[int, str, int], Sequence[GridTask]]
"""Returns the first waiting tasks of a campaign for a cluster: `tasks(campaign, cluster, how_many)`.

They are ordered by priority (the greatest first), then by affinity to the cluster (likewise), then by number."""


class QueuedRun(GridValue, frozen=True):
    """Consecutive jobs of one campaign in the queue of a cluster.

    Args:
        campaign: the number of the campaign.
        jobs: the number of jobs.
    """

    campaign: int
    jobs: int


def served_run(
    queue: Iterable[QueuedRun], turned: Mapping[int, Tap], banned: Set[int], now: float, settings: TapSettings
) -> QueuedRun | None:
    """The campaign whose jobs a cluster gets in this cycle, and their number: at most the rate of its tap.

    A tap that was closed a short time ago blocks the cluster, so that the jobs that wait there may start first.

    Args:
        queue: the queue of the cluster, in its order.
        turned: the tap of each campaign on this cluster.
        banned: the campaigns that must not use this cluster.
        now: seconds of the grid's clock.
        settings: the settings of taps.
    """
    for run in queue:
        tap = turned[run.campaign]
        if tap.state is TapState.CLOSED and tap_in_grace(tap, now, settings):
            return None
        if tap.state is TapState.OPEN and run.campaign not in banned:
            return QueuedRun(run.campaign, min(run.jobs, tap.rate))
    return None


def submission(
    campaign: Campaign, cluster: str, tasks: Iterable[int], *, replica: bool = False, group: int = 1
) -> TaskSubmission:
    """A submission of tasks, by number, with the campaign's keys for the cluster. Copies are always best effort."""
    properties = next(each for each in campaign.clusters if each.cluster == cluster)
    return TaskSubmission(
        campaign=campaign,
        cluster=cluster,
        tasks=tuple(tasks),
        best_effort=replica or properties.best_effort,
        replica=replica,
        weight=read_resources(properties.resources).weight,
        group=group,
    )


def submissions(
    ordered: Sequence[JobOrder], campaigns: Mapping[int, Campaign], tasks: TaskSource
) -> tuple[TaskSubmission, ...]:
    """The submissions for the orders. The clusters draw tasks in turn.

    Args:
        ordered: the orders of the campaigns' schedulers.
        campaigns: the campaigns by number.
        tasks: returns the waiting tasks.
    """
    wanted = {(order.campaign, order.cluster): order.jobs * order.group for order in ordered}
    groups = {(order.campaign, order.cluster): order.group for order in ordered}
    together: Counter[int] = Counter()
    for (number, _), tasks_of_it in wanted.items():
        together[number] += tasks_of_it
    candidates = {couple: tasks(*couple, together[couple[0]]) for couple in wanted}
    return tuple(
        submission(campaigns[number], cluster, (task.id for task in got), group=groups[number, cluster])
        for (number, cluster), got in draw(wanted, candidates).items()
    )


# The regulators.


class Regulation(GridValue, frozen=True, kw_only=True):
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
    controllers: tuple[PiControllerState, ...] = ()


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


def _by_ratio(
    grid: GridState, settings: GridSettings, couples: Sequence[Couple], expected: Sequence[Forecast]
) -> Regulation:
    ratios = {(each.campaign, each.cluster): each.ratio for each in expected}
    limits = {}
    for couple in couples:
        ratio = ratios.get(couple.key)
        limits[couple.key] = Limit(ratio=initial_ratio(couple.properties) if ratio is None else ratio)
    return Regulation(served=tuple(couples), limits=limits)


def _by_taps(
    grid: GridState, settings: GridSettings, couples: Sequence[Couple], expected: Sequence[Forecast]
) -> Regulation:
    active = _active(grid)
    waiting = {(job.campaign, job.cluster) for job in grid.jobs if job.state is GridJobState.REMOTE_WAITING}
    old = {(each.campaign, each.cluster): each for each in grid.taps}
    turned = {}
    for couple in couples:
        campaign, cluster = couple.key
        tap = old.get(couple.key) or Tap(campaign=campaign, cluster=cluster, rate=settings.tap.rate)
        turned[couple.key] = turn(tap, waiting=couple.key in waiting, now=grid.now, settings=settings.tap)
    banned = {each.cluster for each in grid.blacklist if each.campaign is None}
    shut = [close_tap(reset_tap(tap, settings.tap), grid.now) for tap in grid.taps if tap.cluster in banned]
    limits: dict[tuple[int, str], Limit] = {}
    for cluster, here in _by_cluster(couples):
        queue = [QueuedRun(couple.campaign.id, _room(couple, active)) for couple in here if _room(couple, active) > 0]
        own = {couple.campaign.id: turned[couple.key] for couple in here}
        run = served_run(queue, own, frozenset(), grid.now, settings.tap)
        if run is not None:
            limits[run.campaign, cluster] = Limit(jobs=min(run.jobs, settings.batch))
    served = tuple(couple for couple in couples if couple.key in limits)
    return Regulation(served=served, limits=limits, taps=(*turned.values(), *shut))


def _by_controllers(
    grid: GridState, settings: GridSettings, couples: Sequence[Couple], expected: Sequence[Forecast]
) -> Regulation:
    active = _active(grid)
    old = {(each.campaign, each.cluster): each for each in grid.controllers}
    limits: dict[tuple[int, str], Limit] = {}
    states = []
    for cluster, here in _by_cluster(couples):
        first = next((couple for couple in here if _room(couple, active) > 0), None)
        if first is None:
            continue
        waiting = sum(job.cluster == cluster and job.state is GridJobState.REMOTE_WAITING for job in grid.jobs)
        state = old.get(first.key) or PiControllerState(campaign=first.campaign.id, cluster=cluster)
        state = controller_step(state, waiting, settings.controller)
        states.append(state)
        limits[first.key] = Limit(jobs=min(round(state.submitted), settings.batch))
    served = tuple(couple for couple in couples if couple.key in limits)
    return Regulation(served=served, limits=limits, controllers=tuple(states))


def _active(grid: GridState) -> Counter[tuple[int, str]]:
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


REGULATORS: dict[Regulator, Callable[[GridState, GridSettings, Sequence[Couple], Sequence[Forecast]], Regulation]] = {
    "slow-start": _by_ratio,
    "two-way": _by_ratio,
    "exponential": _by_ratio,
    "rate": _by_taps,
    "controller": _by_controllers,
}


def taps_after(
    turned: Sequence[Tap], orders: Sequence[JobOrder], settings: GridSettings, old: Sequence[Tap]
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
    now = (tap_after(tap, submitted.get((tap.campaign, tap.cluster), 0), settings.tap) for tap in turned)
    return tuple(tap for tap in now if tap not in before)


__getattr__ = old_names(
    __name__,
    {
        "Run": "QueuedRun",
        "after": "tap_after",
        "close": "close_tap",
        "decrease": "decrease_tap",
        "in_grace": "tap_in_grace",
        "increase": "increase_tap",
        "open_": "open_tap",
        "reset": "reset_tap",
        "serve": "served_run",
        "step": "controller_step",
    },
)
