"""Runs the loop: cycle after cycle with pauses, until a signal stops it or there is no work.

It tries again if a cluster does not answer, or if the server of a store goes away after the first cycle. It must not
know who watches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from batprotocol._util.signals import Interrupts
from batprotocol.campaigns.loop import Cycle, Loop
from batprotocol.campaigns.managers import Request, ResourceManager, open_manager
from batprotocol.campaigns.model import Observation, Settings
from batprotocol.campaigns.store import Store, Where
from batprotocol.errors import ClusterError, StoreAway

__all__ = ["run_campaigns"]

PATIENCE_SECONDS: Final = 2.0
"""How long a cycle waits for slow clusters."""

RETRY_SECONDS: Final = (0.2, 10.0)
"""The pause before the store is asked again after its server has gone: the first one, and the longest one."""

TEND_SECONDS: Final = 0.02
"""The interval in which local clusters are tended while the loop pauses."""


def run_campaigns(
    store: Store,
    settings: Settings,
    *,
    cycle_seconds: float = 5.0,
    until_idle: bool = False,
    until_stuck: bool = False,
    cycles: int | None = None,
    on_cycle: Callable[[Cycle], None] = lambda cycle: None,
    on_trouble: Callable[[str], None] = lambda trouble: None,
) -> None:
    """Run the campaigns of a store on its clusters.

    It may end at any moment, also by a signal. The jobs on the clusters go on, and the next run continues.

    Args:
        store: the store of the campaigns.
        settings: the settings of the grid.
        cycle_seconds: the minimum number of seconds from one cycle to the next.
        until_idle: whether to return when all campaigns and jobs have ended.
        until_stuck: whether to return when each campaign has ended or waits for a person.
        cycles: the number of cycles to run; None: no limit.
        on_cycle: called with each cycle.
        on_trouble: called with the reason when the server of the store cannot be reached.

    Raises:
        StoreError: the store cannot be used, or another loop runs on it. If the server goes away after the first cycle,
            the loop waits for it.
        KeyboardInterrupt: the process got SIGINT. In the main thread, the cycle ends first.
        SystemExit: the process got SIGTERM; the status is 143. In the main thread, the cycle ends first.
    """
    done = 0
    pause = RETRY_SECONDS[0]

    def over(cycle: Cycle) -> bool:
        idle = cycle.idle and (until_idle or until_stuck)
        return idle or (until_stuck and cycle.stuck) or done == cycles

    with Interrupts() as interrupts, _loop(store, settings) as loop:
        while True:
            try:
                with store.only_loop():
                    while True:
                        began = time.monotonic()
                        cycle = loop.cycle()
                        done += 1
                        pause = RETRY_SECONDS[0]
                        on_cycle(cycle)
                        if over(cycle):
                            return
                        interrupts.check()
                        _tend(loop, interrupts, began + cycle_seconds)
            except StoreAway as error:
                if not done:
                    raise
                on_trouble(str(error))
                _tend(loop, interrupts, time.monotonic() + pause)
                pause = min(2 * pause, RETRY_SECONDS[1])


def _tend(loop: Loop, interrupts: Interrupts, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, TEND_SECONDS))
        interrupts.check()
        loop.tend()


class _Reached:
    """A resource manager that is opened at its first use, and again at the next one if that fails."""

    def __init__(self, where: Where, mark: str) -> None:
        self.name = where.name
        self._where = where
        self._mark = mark
        self._manager: ResourceManager | None = None

    def look(self) -> Observation:
        return self._opened().look()

    def submit(self, requests: Sequence[Request]) -> None:
        self._opened().submit(requests)

    def kill(self, jobs: Iterable[int]) -> None:
        self._opened().kill(jobs)

    def forget(self, jobs: Iterable[int]) -> None:
        self._opened().forget(jobs)

    def tend(self) -> None:
        if self._manager is not None:
            self._manager.tend()

    def close(self) -> None:
        if self._manager is not None:
            self._manager.close()

    def _opened(self) -> ResourceManager:
        if self._manager is None:
            where = self._where
            self._manager = open_manager(where.name, where.batch, where.address, where.resources, self._mark)
        return self._manager


@contextmanager
def _loop(store: Store, settings: Settings) -> Iterator[Loop]:
    """The loop on a store, with the resource managers of all its clusters."""
    managers: list[ResourceManager] = [_Reached(where, store.mark) for where in store.clusters()]
    loop = Loop(store, managers, settings, time.time, PATIENCE_SECONDS)
    try:
        yield loop
    finally:
        loop.close()
        for manager in managers:
            try:
                manager.close()
            except ClusterError:  # it is gone already
                continue
