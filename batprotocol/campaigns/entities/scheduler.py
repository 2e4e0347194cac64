"""The campaign schedulers: they decide how many jobs of a campaign a cluster gets, and with which tasks.

Each campaign has a policy on each cluster. *test* gives one job to each cluster. *workqueue* fills the offered
resources, by the ratio of jobs to resources. *finalize* copies the last tasks of a campaign to idle resources. When the
first copy of a task has ended well, the updator ends the others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from batprotocol.campaigns.model import Job, Policy, Record, Settings, Task

__all__ = ["POLICIES", "Limit", "Share", "draw", "finalize", "resources_for", "test", "workqueue"]


class Limit(Record, frozen=True, kw_only=True):
    """The limit of the regulator for a campaign on a cluster. One of both is None.

    Args:
        ratio: jobs for each offered resource.
        jobs: the number of jobs, for any number of offered resources.
    """

    ratio: float | None = None
    jobs: int | None = None


class Share(Record, frozen=True, kw_only=True):
    """The input of a campaign's scheduler, for one cluster.

    Args:
        offer: how many resources the metascheduler offers it.
        remaining: how many of its tasks are not ordered yet.
        limit: the limit of the regulator.
        active: how many jobs it has on the cluster that have not ended.
        max_jobs: how many jobs it may have there; None: no limit.
        weight: how many resources its JDL requests for each job.
        tested: whether a job of it has ended well there.
        group: how many tasks a job runs.
    """

    offer: float
    remaining: int
    limit: Limit
    active: int = 0
    max_jobs: int | None = None
    weight: int = 1
    tested: bool = False
    group: int = 1


def test(share: Share) -> int:
    """One job on each cluster, and another one only if the first one failed.

    >>> test(Share(offer=10, remaining=5, limit=Limit(ratio=1)))
    1
    >>> test(Share(offer=10, remaining=5, limit=Limit(ratio=1), active=1))
    0
    """
    return int(share.remaining > 0 and share.offer >= 1 and not share.active and not share.tested)


def workqueue(share: Share) -> int:
    """As many jobs as fill the offered resources, by the ratio; or as many as the regulator allows.

    A ratio above 0 gives one job at least, as slow start requires.

    >>> workqueue(Share(offer=10, remaining=100, limit=Limit(ratio=0.5)))
    5
    >>> workqueue(Share(offer=10, remaining=100, limit=Limit(ratio=0.05)))
    1
    """
    if share.limit.jobs is not None:
        jobs = share.limit.jobs
    elif share.limit.ratio and share.offer >= 1:
        jobs = max(1, math.floor(share.offer * share.limit.ratio))
    else:
        jobs = 0
    if share.max_jobs is not None:
        jobs = min(jobs, share.max_jobs - share.active)
    return max(0, min(jobs, math.ceil(share.remaining / share.group)))


POLICIES: dict[Policy, Callable[[Share], int]] = {"test": test, "workqueue": workqueue}


def resources_for(jobs: int, share: Share) -> float:
    """How many of the offered resources the jobs take: for each its weight, or `1 / ratio` if that is more."""
    each = max(share.weight, 1 / share.limit.ratio) if share.limit.ratio else share.weight
    return min(share.offer, jobs * each)


def draw(
    wanted: Mapping[tuple[int, str], int], candidates: Mapping[tuple[int, str], Sequence[Task]]
) -> dict[tuple[int, str], tuple[Task, ...]]:
    """The tasks for each cluster: the clusters draw one by one, in turn, and no task is drawn twice.

    Each draws its first task of its first campaign; if that campaign has no more tasks for it, of the next one.

    Args:
        wanted: how many tasks each couple of campaign and cluster gets; a cluster draws from campaigns in this order.
        candidates: the tasks of each couple, in the order in which the cluster draws them. For all to get enough, there
            must be as many as all clusters together want of that campaign.

    >>> tasks = [Task(number, 1, str(number), str(number)) for number in range(5)]
    >>> got = draw({(1, "a"): 2, (1, "b"): 9}, {(1, "a"): tasks, (1, "b"): tasks})
    >>> {cluster: [task.id for task in drawn] for (_, cluster), drawn in got.items()}
    {'a': [0, 2], 'b': [1, 3, 4]}
    """
    gone: set[int] = set()
    drawn: dict[tuple[int, str], list[Task]] = {couple: [] for couple in wanted}
    sources = {couple: iter(candidates[couple]) for couple in wanted}
    queues: dict[str, deque[tuple[int, str]]] = {}
    for couple in wanted:
        queues.setdefault(couple[1], deque()).append(couple)
    while queues:
        for cluster in list(queues):
            task, queue = None, queues[cluster]
            while queue and task is None:
                if len(drawn[queue[0]]) < wanted[queue[0]]:
                    task = next((each for each in sources[queue[0]] if each.id not in gone), None)
                if task is None:
                    queue.popleft()
            if task is None:
                del queues[cluster]
                continue
            gone.add(task.id)
            drawn[queue[0]].append(task)
    return {couple: tuple(tasks) for couple, tasks in drawn.items() if tasks}


def finalize(
    active: Iterable[Job], offer: float, weight: int, settings: Settings, copied: Mapping[int, int]
) -> list[int]:
    """The tasks of a campaign that are copied to idle resources, when none waits any more.

    The tasks that were submitted first come first. No task gets more copies than the settings allow.

    Args:
        active: the jobs of the campaign that have not ended, on all clusters.
        offer: how many resources are idle.
        weight: how many resources a job takes.
        settings: how many copies a task may have.
        copied: how many copies of each task other clusters have just got.
    """
    copies: dict[int, list[Job]] = {}
    for job in active:
        if job.task is not None:
            copies.setdefault(job.task, []).append(job)
    oldest = sorted(
        (task for task, jobs in copies.items() if len(jobs) + copied.get(task, 0) < settings.copies),
        key=lambda task: (min(job.submission_time for job in copies[task]), task),
    )
    return oldest[: max(0, math.floor(offer / weight))]
