"""`Failing`: the embedded Batsim simulates an episode in which hosts fail and are drained, and come back.

A job that has a host that fails is killed, and lost: it does not run again. This module must not know how failures are
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol import MessageBuilder
from batprotocol.gym.log import Log
from batprotocol.gym.worlds.eventful import Eventful
from batprotocol.gym.worlds.world import Times
from batprotocol.model import ExternalEventOccurredEvent, FinalJobState, GenericExternalEvent
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.host_events import HostChange, HostEvent, read_host_event

__all__ = ["Failing"]

_Self = TypeVar("_Self", bound="Failing")


class Failing(Eventful):
    """The world of this module. Run times are not known beforehand, as each job may be lost.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        events: events of hosts that fail, are drained and come back, in seconds since the first submission.

    Attributes:
        out: the hosts that are down or drained. Some of them may still have jobs that run to their ends.
        lost: the number of jobs that were lost.
    """

    __slots__ = ("_killing", "lost", "out")

    numbers: ClassVar[tuple[str, ...]] = (*Eventful.numbers, "lost")

    def __init__(
        self,
        log: Log,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        *,
        events: Sequence[tuple[float, HostEvent]],
    ) -> None:
        self.out: frozenset[int] = frozenset()
        self._killing: frozenset[int] = frozenset()
        self.lost = 0
        begin = float(log.submitted[first])
        texts = [(begin + time, event.to_data()) for time, event in events]
        super().__init__(log, first, count, ranks, tried, events=texts)

    def settle(self) -> None:
        super().settle()
        self.lasts = [math.nan] * self.count
        self.times = Times(self.times.submitted, np.full(self.count, math.nan))

    def copy(self: _Self) -> _Self:
        made = super().copy()
        made.out, made._killing = self.out, self._killing
        return made

    @property
    def away(self) -> int:
        return len(self.out)

    @property
    def knows_ends(self) -> bool:
        return False

    def occurred(self, event: ExternalEventOccurredEvent) -> None:
        if isinstance(event.external_event, GenericExternalEvent):
            change = read_host_event(event.external_event.data)
            if isinstance(change, HostEvent):
                self._change(frozenset(change.hosts), change.state)

    def _change(self, hosts: frozenset[int], state: HostChange) -> None:
        """Hosts fail, are drained, or come back."""
        busy = {host for job in self.end_jobs for host in self.allocations[job]}
        if state is HostChange.UP:
            back = frozen_hosts(hosts & self.out - busy)
            if back:
                self.hosts.give_back(back)
                self.free += len(back)
            self.out -= hosts
            return
        gone = frozen_hosts(hosts - self.out - busy)
        if gone:
            self.hosts.take_these(gone)
            self.free -= len(gone)
        self.out |= hosts
        if state is HostChange.DOWN:
            victims = [
                job for job in self.end_jobs if job not in self._killing and not hosts.isdisjoint(self.allocations[job])
            ]
            if victims:
                self._killing |= frozenset(victims)
                self._decisions.append(_Kill(tuple(map(self._name, victims))))

    def released(self, job: int, state: FinalJobState) -> None:
        hosts = frozenset(self.allocations[job])
        back = frozen_hosts(hosts - self.out)
        if back:
            self.hosts.give_back(back)
        self.free -= len(hosts & self.out)  # `ended` adds all hosts of the job
        if job in self._killing and state is FinalJobState.COMPLETED_KILLED:
            self.lost += 1


class _Kill:
    """A decision to kill jobs whose hosts have failed."""

    def __init__(self, job_ids: tuple[str, ...]) -> None:
        self.job_ids = job_ids

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_kill_jobs(self.job_ids)
