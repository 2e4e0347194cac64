"""Lets the loop run: cycle after cycle with pauses, until it is told to stop or there is nothing left to do.

Clusters that cannot be reached when it begins are tried again each cycle. It must not know who looks on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from batprotocol.campaigns.loop import Cycle, Loop
from batprotocol.campaigns.managers import Request, ResourceManager, open_manager
from batprotocol.campaigns.model import Observation, Settings
from batprotocol.campaigns.store import Store, Where
from batprotocol.errors import ClusterError
from batprotocol.signals import Interrupts

__all__ = ["run_campaigns"]

TEND_SECONDS: Final = 0.02
"""How often local clusters are tended while the loop pauses."""


def run_campaigns(
    store: Store,
    settings: Settings,
    *,
    cycle_seconds: float = 5.0,
    until_idle: bool = False,
    cycles: int | None = None,
    on_cycle: Callable[[Cycle], None] = lambda cycle: None,
) -> None:
    """Let the campaigns of a store run on its clusters.

    It may end at any moment, by a signal too: the next run goes on where it was, and what runs on clusters goes on.

    Args:
        store: where all is kept.
        settings: how the grid is run.
        cycle_seconds: how many seconds are between two cycles, at least.
        until_idle: whether to return when all campaigns and jobs have ended.
        cycles: after how many cycles to return; None: never.
        on_cycle: told of each cycle.

    Raises:
        StoreError: the store cannot be used, or another loop runs on it.
        KeyboardInterrupt: SIGINT came. SystemExit(143): SIGTERM came. In the main thread, both wait for the cycle
            to end.
    """
    with Interrupts() as interrupts, store.only_loop(), _managers(store) as managers:
        loop = Loop(store, managers, settings, time.time)
        done = 0
        while cycles is None or done < cycles:
            began = time.monotonic()
            cycle = loop.cycle()
            done += 1
            on_cycle(cycle)
            if until_idle and cycle.idle:
                return
            interrupts.check()
            while (left := began + cycle_seconds - time.monotonic()) > 0 and done != cycles:
                time.sleep(min(left, TEND_SECONDS))
                interrupts.check()
                loop.tend()


class _Reached:
    """A resource manager that is opened when it is asked, and again when that has failed."""

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
def _managers(store: Store) -> Iterator[list[ResourceManager]]:
    """The resource managers of all clusters of a store."""
    managers: list[ResourceManager] = [_Reached(where, store.mark) for where in store.clusters()]
    try:
        yield managers
    finally:
        for manager in managers:
            try:
                manager.close()
            except ClusterError:  # it is gone already
                continue
