"""One cycle of the grid: the entities decide one after the other, in the order of the specification's note.

The order is: updator (its findings are in the grid already), predictor, metascheduler with the campaign schedulers,
runner, nikita. The cycle is one function of values. It reads waiting tasks only when it knows how many it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from batprotocol.campaigns.entities import failures, regulation, scheduling
from batprotocol.campaigns.entities.prediction import forecasts
from batprotocol.campaigns.entities.regulation import REGULATORS, TaskSource, taps_after
from batprotocol.campaigns.entities.scheduling import Couple, finalize, group_size, heads, is_test
from batprotocol.campaigns.model import (
    CampaignState,
    CampaignType,
    Decisions,
    Durations,
    Forecast,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    JobOrder,
    TaskSubmission,
)

__all__ = ["decide"]


def decide(grid: GridState, settings: GridSettings, tasks: TaskSource) -> Decisions:
    """The decisions of a cycle, after the updator.

    Args:
        grid: the state of the grid.
        settings: the settings of the grid.
        tasks: returns the first waiting tasks of a campaign for a cluster.
    """
    every_job, grid = grid.jobs, msgspec.structs.replace(grid, jobs=heads(grid.jobs))
    expected = forecasts(grid, settings)
    couples = scheduling.couples(grid, settings)
    ready = [couple for couple in couples if not _awaits_prologue(couple)]
    rule = REGULATORS[settings.regulator](grid, settings, ready, expected)
    offered = scheduling.offers(grid, settings)
    before = dict(offered)
    active = Counter((job.campaign, job.cluster) for job in grid.jobs)
    orders = scheduling.orders(rule.served, offered, rule.limits, active, _tested(grid), _sizes(grid, settings))
    ordered = {(order.campaign, order.cluster) for order in orders}
    campaigns = {each.campaign.id: each.campaign for each in grid.campaigns}
    return Decisions(
        forecasts=_with_submitted(expected, orders, before),
        launches=scheduling.launches(couple for couple in rule.served if couple.key in ordered),
        orders=orders,
        submissions=(
            *_preparations(grid, couples),
            *regulation.submissions(orders, campaigns, tasks),
            *(_copies(every_job, ready, offered, settings) if settings.finalize else ()),
        ),
        taps=taps_after(rule.taps, orders, settings, grid.taps),
        controllers=rule.controllers,
        wipes=failures.wipes(msgspec.structs.replace(grid, jobs=every_job), settings),
        ended=tuple(
            each.campaign.id
            for each in grid.campaigns
            if each.ended and each.campaign.state is CampaignState.IN_TREATMENT
        ),
    )


_ON_THE_WAY = (GridJobState.TO_LAUNCH, GridJobState.SUBMITTED)


def _awaits_prologue(couple: Couple) -> bool:
    return bool(couple.properties.prologue) and couple.cluster.name not in couple.status.prologue_done


def _starts(couple: Couple) -> bool:
    return couple.status.pending > 0 and _awaits_prologue(couple)


def _awaits_epilogue(couple: Couple) -> bool:
    name, status = couple.cluster.name, couple.status
    return (
        bool(couple.properties.epilogue)
        and status.pending == status.active == 0
        and name in status.used
        and name not in status.epilogue_done
    )


def _preparations(grid: GridState, couples: Sequence[Couple]) -> Iterator[TaskSubmission]:
    """The prologues and epilogues that are due and have no job yet."""
    under_way = {(job.campaign, job.cluster, job.tag) for job in grid.jobs}
    due = (("prologue", _starts), ("epilogue", _awaits_epilogue))
    for couple in couples:
        for tag, is_due in due:
            if is_due(couple) and (*couple.key, tag) not in under_way:
                yield TaskSubmission(campaign=couple.campaign, cluster=couple.cluster.name, tag=tag, best_effort=False)


def _sizes(grid: GridState, settings: GridSettings) -> Callable[[Couple, int, float], int]:
    """The function for the number of tasks in a job, by the durations of the campaign's jobs on the cluster."""
    durations = {(each.campaign, each.cluster): each.durations for each in grid.progress}

    def size(couple: Couple, remaining: int, offer: float) -> int:
        if is_test(couple.campaign, couple.properties):
            return 1
        return group_size(
            couple.properties,
            durations.get(couple.key, Durations()),
            remaining=remaining,
            places=int(offer // couple.weight),
            settings=settings,
        )

    return size


def _tested(grid: GridState) -> frozenset[tuple[int, str]]:
    """The campaigns and clusters where a test has had its job."""
    tests = {each.campaign.id for each in grid.campaigns if each.campaign.type is CampaignType.TEST}
    return frozenset(
        (each.campaign, each.cluster) for each in grid.progress if each.campaign in tests and each.durations.count
    )


def _copies(
    active: Sequence[GridJob], couples: Sequence[Couple], left: dict[str, float], settings: GridSettings
) -> Iterator[TaskSubmission]:
    """Copies of the last tasks of campaigns on idle resources, except of tasks that a cluster has not accepted yet."""
    jobs: dict[int, list[GridJob]] = {}
    unsettled = {job.task for job in active if job.kill is not None or job.state in _ON_THE_WAY}
    for job in active:
        if job.task not in unsettled:
            jobs.setdefault(job.campaign, []).append(job)
    copied: dict[int, Counter[int]] = {}
    for couple in couples:
        if couple.status.pending or is_test(couple.campaign, couple.properties) or couple.properties.result_marker:
            continue
        number, cluster = couple.key
        extra = copied.setdefault(number, Counter())
        chosen = finalize(jobs.get(number, ()), left[cluster], couple.weight, settings, extra)
        if chosen:
            extra.update(chosen)
            left[cluster] -= len(chosen) * couple.weight
            yield regulation.submission(couple.campaign, cluster, chosen, replica=True)


def _with_submitted(
    expected: Sequence[Forecast], orders: Sequence[JobOrder], offered: dict[str, float]
) -> tuple[Forecast, ...]:
    """The forecasts with the numbers of jobs that were submitted: the next cycle adjusts its ratios by them."""
    submitted = {(order.campaign, order.cluster): order.jobs for order in orders}
    return tuple(
        each
        if each.cluster is None
        else msgspec.structs.replace(
            each, nsub=submitted.get((each.campaign, each.cluster), 0), free=offered.get(each.cluster, 0.0)
        )
        for each in expected
    )
