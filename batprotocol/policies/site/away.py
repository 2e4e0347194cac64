"""The hosts that are away, as they have failed or are drained: no job has space there. And the jobs that run on hosts.

This module must not know the fate of jobs on hosts that have failed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from batprotocol.policies.site.jobs import SiteRunning
from batprotocol.policies.site.lanes import Lanes
from batprotocol.policies.site.pool import Pool
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.timeline import Timeline
from batprotocol.workloads.host_events import HostChange, HostEvent

__all__ = ["Away", "Residents"]


class Residents:
    """The jobs that run on each host. They are counted from the first question on."""

    def __init__(self) -> None:
        self._jobs: dict[int, dict[str, SiteRunning]] | None = None

    def on(self, hosts: Iterable[int], running: Iterable[SiteRunning]) -> list[SiteRunning]:
        """The jobs that run on some of these hosts, in the order of their starts.

        Args:
            hosts: the hosts.
            running: all jobs that run.
        """
        if self._jobs is None:
            self._jobs = {}
            for job in running:
                self.started(job)
        found = {job.place: job for host in hosts for job in self._jobs.get(host, {}).values()}
        return [found[place] for place in sorted(found)]

    def started(self, job: SiteRunning) -> None:
        """A job has started."""
        if self._jobs is not None:
            for host in job.members:
                self._jobs.setdefault(host, {})[job.waited.id] = job

    def ended(self, job: SiteRunning) -> None:
        """A job has ended."""
        if self._jobs is not None:
            for host in job.members:
                del self._jobs[host][job.waited.id]


class Away:
    """The hosts that are away. Nobody knows when they are back.

    Args:
        pool: what is free now.
        timeline: what will be free.
        queue: the entries that wait.
        lanes: the other numbers of hosts.

    Attributes:
        hosts: the hosts that are down or drained.
        down: those that are down.
    """

    def __init__(self, pool: Pool, timeline: Timeline, queue: SiteQueue, lanes: Lanes) -> None:
        self._pool, self._timeline, self._queue, self._lanes = pool, timeline, queue, lanes
        self.hosts: set[int] = set()
        self.down: set[int] = set()
        self._closed: dict[int, float] = {}  # the hosts that are being switched off, and until when
        self._failures, self._worked, self._since = 0, 0.0, 0.0

    def mean_time_between_failures(self, now: float) -> float | None:
        """The time that hosts have been up, for each failure of a host so far; None: there was no failure."""
        return self._worked_until(now) / self._failures if self._failures else None

    def _worked_until(self, now: float) -> float:
        return self._worked + (now - self._since) * (len(self._pool.hosts) - len(self.down))

    def change(self, event: HostEvent, now: float) -> list[int]:
        """Hosts fail, are drained or come back; returns those that have come back."""
        self._worked, self._since = self._worked_until(now), now
        if event.state is HostChange.DOWN:
            self._failures += len(event.hosts)
            self.down.update(event.hosts)
        if event.state is HostChange.UP:
            back = list(event.hosts)
            self.hosts.difference_update(back)
            self.down.difference_update(back)
            self._timeline.give_back(self._lanes.everywhere(back), now, math.inf, self._pool.whole)
            self.come_back(back)
            return back
        left = [host for host in event.hosts if host not in self.hosts]  # drained hosts can fail
        self.hosts.update(left)
        self._timeline.take(self._lanes.everywhere(left), now, math.inf, self._pool.whole)
        self.leave(left)
        return []

    def leave(self, hosts: Iterable[int]) -> None:
        """From now on, no job has space on these hosts, for one reason more."""
        hosts = tuple(self._lanes.everywhere(hosts))
        self._pool.take(hosts, self._pool.whole)
        self._queue.changed(hosts)

    def come_back(self, hosts: Iterable[int]) -> None:
        """These hosts are not away any more for one of the reasons that there were."""
        hosts = tuple(self._lanes.everywhere(hosts))
        self._pool.give_back(hosts, self._pool.whole)
        self._queue.changed(hosts)

    def closes(self, host: int, now: float, end: float) -> None:
        """A host is being switched off: it has no space until then."""
        self._closed[host] = end
        self._timeline.take(self._lanes.everywhere((host,)), now, end, self._pool.whole)
        self.leave((host,))

    def opens(self, host: int, now: float) -> None:
        """A host was switched off, and has space again."""
        end = self._closed.pop(host)
        if end > now:
            self._timeline.give_back(self._lanes.everywhere((host,)), now, end, self._pool.whole)
        self.come_back((host,))

    def anew(self, now: float) -> None:
        """The timeline was begun anew: take the hosts that are away."""
        for host, end in self._closed.items():
            if end > now:
                self._timeline.take(self._lanes.everywhere((host,)), now, end, self._pool.whole)
        self._timeline.take(self._lanes.everywhere(self.hosts), now, math.inf, self._pool.whole)
