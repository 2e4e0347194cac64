"""The hosts that are away, as they have failed or are drained: no job has space there.

This module must not know jobs, and the fate of those that ran on such hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from batprotocol.outages import HostChange, HostEvent
from batprotocol.policies.site.lanes import Lanes
from batprotocol.policies.site.pool import Pool
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Away"]


class Away:
    """The hosts that are away. Nobody knows when they are back.

    Args:
        pool: what is free now.
        timeline: what will be free.
        queue: the entries that wait.
        lanes: the other numbers of hosts.

    Attributes:
        hosts: the hosts that are down or drained.
    """

    def __init__(self, pool: Pool, timeline: Timeline, queue: SiteQueue, lanes: Lanes) -> None:
        self._pool, self._timeline, self._queue, self._lanes = pool, timeline, queue, lanes
        self.hosts: set[int] = set()

    def change(self, event: HostEvent, now: float) -> list[int]:
        """Hosts fail, are drained or come back; returns those that have come back."""
        if event.state is HostChange.UP:
            back = list(event.hosts)
            self.hosts.difference_update(back)
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

    def anew(self, now: float) -> None:
        """The timeline was begun anew: take the hosts that are away."""
        self._timeline.take(self._lanes.everywhere(self.hosts), now, math.inf, self._pool.whole)
