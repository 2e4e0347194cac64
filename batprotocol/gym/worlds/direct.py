"""`Direct`: a machine of equal hosts, and jobs that take time and nothing else: when they end is known when they start.

For these, the embedded Batsim gives the same times, message by message; without messages, a job costs a tenth. A test
compares both, decision by decision.
"""

from __future__ import annotations

from heapq import heappop, heappush

from batprotocol.gym.log import Log
from batprotocol.gym.worlds.world import World

__all__ = ["Direct"]


class Direct(World):
    """See the module."""

    __slots__ = ("_is_whole", "_running")

    changing = (*World.changing, "_running")

    def __init__(self, log: Log, first: int, count: int, ranks: list[int] | None = None) -> None:
        super().__init__(log, first, count, ranks)
        self._running: list[tuple[float, int, int]] = []
        self._is_whole = log.is_whole
        self.arrived()

    def advance(self) -> int | None:
        running, job = self._running, self.next
        if job < self.count:
            time = self.submitted[job]
            if not running or time <= running[0][0]:
                self.now = time
                return self.arrived()
        elif not running:
            return None
        self.now, _, job = heappop(running)
        return self.ended(job)

    def begin(self, job: int) -> None:
        end = self.now + self.lasts[job]
        if not self._is_whole:
            end = self.log.rounded(end)
        heappush(self._running, (end, len(self.started), job))
        self.outcomes.append(job)
