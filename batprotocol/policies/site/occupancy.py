"""The hosts that running jobs have: what that changes in the free amounts, now and later, and for limits and shares.

This module must not know why jobs start and end.
"""

from __future__ import annotations

from batprotocol.policies.jobs import State
from batprotocol.policies.site.away import Residents
from batprotocol.policies.site.jobs import SiteRunning
from batprotocol.policies.site.lanes import Lanes
from batprotocol.policies.site.limits import Usage
from batprotocol.policies.site.planning import Planner
from batprotocol.policies.site.pool import Pool
from batprotocol.policies.site.priorities import Priorities
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Occupancy"]


class Occupancy:
    """The hosts that running jobs have.

    Args:
        state: the time.
        pool: what is free now.
        timeline: what will be free.
        queue: the entries that wait.
        planner: the plan.
        lanes: the other numbers of hosts.
        usage: what users and accounts have.
        priorities: the fair share of users; None: there is none.

    Attributes:
        residents: the jobs on each host.
        sleeping: the hosts that sleep; None: none do.
    """

    def __init__(
        self,
        state: State,
        pool: Pool,
        timeline: Timeline,
        queue: SiteQueue,
        planner: Planner,
        lanes: Lanes,
        usage: Usage,
        priorities: Priorities | None,
    ) -> None:
        self._state, self._pool, self._timeline, self._queue = state, pool, timeline, queue
        self._planner, self._lanes, self._usage, self._priorities = planner, lanes, usage, priorities
        self.residents = Residents()
        self.sleeping: Sleeping | None = None

    def take(self, job: SiteRunning) -> None:
        """A job has its hosts from now on."""
        everywhere, amount = self._lanes.everywhere(job.members), job.entry.kind.amount
        self._pool.take(everywhere, amount)
        self._queue.changed(everywhere)
        self._timeline.take(everywhere, self._state.now, job.end, amount)
        self._planner.began(job)
        self.residents.started(job)
        self._usage.runs(job, 1)

    def give_back(self, job: SiteRunning) -> None:
        """A job has its hosts no longer."""
        now = self._state.now
        everywhere, amount = self._lanes.everywhere(job.members), job.entry.kind.amount
        self._pool.give_back(everywhere, amount)
        self._queue.changed(everywhere)
        if job.end > now:
            self._timeline.give_back(everywhere, now, job.end, amount)
        self._planner.over(job, now)
        self._planner.freed(everywhere)
        self._usage.runs(job, -1)
        if self._priorities is not None:
            self._priorities.ended(job, now)
        self.residents.ended(job)
        if self.sleeping is not None:
            self.sleeping.give_back(job.members)

    def lasts(self, job: SiteRunning, end: float) -> None:
        """A job is expected to end at another time, which may be now."""
        now = self._state.now
        everywhere, amount = self._lanes.everywhere(job.members), job.entry.kind.amount
        if job.end > now:
            self._timeline.give_back(everywhere, now, job.end, amount)
        if job.end > now or end > now:
            self._state.move(job, end)
        if end > now:
            self._timeline.take(everywhere, now, end, amount)
        self._planner.lasts(job, now)
