"""`Direct`: a machine of equal hosts, and jobs that only take time. The end of a job is known when it starts.

The embedded Batsim computes the same times, message by message. Without messages, a job costs a tenth of that, and a
hundredth where the steps are compiled. Tests compare all three, decision by decision.
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from batprotocol.gym.log import Log
from batprotocol.gym.worlds.world import Filling, Layout, World

if TYPE_CHECKING:
    from batprotocol.gym.worlds._play import Play

__all__ = ["Direct", "NativeDirect", "PythonDirect"]


class PythonDirect(World):
    """The world of this module, in Python."""

    __slots__ = ("_running",)

    changing: ClassVar[tuple[str, ...]] = (*World.changing, "_running")

    def settle(self) -> None:
        super().settle()
        self._running: list[tuple[float, int, int]] = []
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
        if not self.log.is_whole:
            end = self.log.rounded(end)
        heappush(self._running, (end, len(self.started), job))
        self.outcomes.append(job)


class NativeDirect(World):
    """The same with its state and steps in C. Its attributes return copies."""

    __slots__ = ("_play",)

    def settle(self) -> None:
        log, part = self.log, slice(self.first, self.first + self.count)
        order = np.arange(self.count)
        floats = (log.submitted[part], log.walltimes[part], log.lasts[part])
        ranks, tried = (order if each is None else each for each in (self.ranks, self.tried))
        fixed = b"".join(each.tobytes() for each in (*floats, *(log.sizes[part], ranks, tried)))
        has = (self.ranks is not None, self.tried is not None)
        self._play = _Play(fixed, self.count, log.hosts, log.resolution, log.per_second, log.is_whole, *has)
        self._play.advance()

    def copy(self) -> NativeDirect:
        made = self.__class__.__new__(self.__class__)
        for name in self.shared:
            setattr(made, name, getattr(self, name))
        made._play = self._play.copy()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.log, self.first, self.count, self.ranks, self.tried, self._play.state())

    def advance(self) -> int | None:
        return self._play.advance()

    def take(self, place: int) -> int:
        return self._play.take(place)

    def start(self, job: int) -> None:
        self._play.start(job)

    def wait_for(self, job: int, filling: Filling | None = None) -> bool:
        self._play.wait_for(job, None if filling is None else filling.rules)
        return True

    def see(self, row: Any, tables: tuple[Any, Any, Any], layout: Layout) -> bool:
        self._play.see(row, *tables, *layout)
        return True

    def head(self, limit: int) -> npt.NDArray[np.int64]:
        return np.frombuffer(self._play.queue(limit), np.int64)

    def running(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        return np.frombuffer(self._play.ends), np.frombuffer(self._play.end_jobs, np.int64)

    @property
    def is_over(self) -> bool:
        return self._play.begun == self.count

    @property
    def waiting(self) -> int:
        return self._play.waiting

    if not TYPE_CHECKING:  # in place of attributes, this world has properties that read the state in C
        now = property(lambda self: self._play.now)
        free = property(lambda self: self._play.free)
        next = property(lambda self: self._play.next)
        queue = property(
            lambda self: array("q", self._play.queue(-1)), lambda self, jobs: self._play.set_queue(jobs.tobytes())
        )
        ends = property(lambda self: array("d", self._play.ends))
        end_jobs = property(lambda self: array("q", self._play.end_jobs))
        started = outcomes = property(lambda self: array("q", self._play.started))
        starts = property(lambda self: array("d", self._play.starts))
        finished = property(lambda self: array("q", self._play.finished))


def _restored(
    log: Log,
    first: int,
    count: int,
    ranks: npt.NDArray[np.int64] | None,
    tried: npt.NDArray[np.int64] | None,
    state: tuple[Any, ...],
) -> World:
    world = Direct(log, first, count, ranks, tried)
    if not isinstance(world, NativeDirect):
        raise TypeError(
            "this moment was pickled where the steps of environments are compiled, and here they are not: "
            "install batprotocol with a C compiler"
        )
    world._play.set_state(state)
    return world


_Play: type[Play]
Direct: type[World] = PythonDirect
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.gym.worlds._play import Play as _Play

        Direct = NativeDirect
