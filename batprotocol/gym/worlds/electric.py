"""`Electric`: the embedded Batsim simulates an episode, and measures its energy, carbon and costs.

Changes of the traces are events, so an agent that waits can decide then. This module must not know rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from batprotocol.gym.electric import KnownElectricity
from batprotocol.gym.log import Log
from batprotocol.gym.worlds.eventful import Eventful
from batprotocol.gym.worlds.simulated import Seen, equal_hosts
from batprotocol.simulator import EnergyRow, Platform
from batprotocol.workloads import with_watts
from batprotocol.workloads.electricity import JOULES_PER_KWH, Kind

__all__ = ["Electric"]

_SHORTEST = 1e-3
"""Readings that are nearer to one another, in seconds, have no watts of their own."""


class Electric(Eventful):
    """The world of this module.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        known: the traces.
        platform: the hosts with their watts; None: equal hosts with typical ones.
    """

    __slots__ = ("_counted", "_most", "_weighted", "known")

    shared: ClassVar[tuple[str, ...]] = (*Eventful.shared, "_most", "known")
    numbers: ClassVar[tuple[str, ...]] = (*Eventful.numbers, "_counted")
    changing: ClassVar[tuple[str, ...]] = (*Eventful.changing, "_weighted")

    def __init__(
        self,
        log: Log,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        *,
        known: KnownElectricity,
        platform: Platform | None = None,
    ) -> None:
        self.known = known
        hosts = with_watts(equal_hosts(log), known.watts) if platform is None else platform
        self._most = sum(max(each.max for each in host.watts) for host in hosts.hosts if host.watts is not None)
        events = [(time, event.to_data()) for time, event in known.changes(log, first, count)]
        self._counted = 0
        self._weighted = [0.0] * len(known.traces)
        super().__init__(log, first, count, ranks, tried, hosts, energy=True, events=events)

    def seen(self) -> Seen:
        return _Meter()

    # Measured

    @property
    def _points(self) -> Sequence[tuple[float, float]]:
        assert isinstance(self._seen, _Meter)
        return self._seen.points

    def electricity(self) -> npt.NDArray[np.float64]:
        points = self._points
        watts = 0.0
        if len(points) > 1 and points[-1][0] - points[-2][0] > 0:
            watts = (points[-1][1] - points[-2][1]) / (points[-1][0] - points[-2][0])
        return self.known.numbers(self.now, watts, self._most)

    def weighted(self, kind: Kind) -> float:
        if kind not in self.known.traces:
            return super().weighted(kind)
        points, begin = self._points, self.submitted[0]
        if self._counted < len(points) - 1:
            new = [point for point in points[self._counted :] if point[0] >= begin]
            for place, trace in enumerate(self.known.traces.values()):
                self._weighted[place] += trace.weighted(new) / JOULES_PER_KWH
            self._counted = len(points) - 1
        return self._weighted[list(self.known.traces).index(kind)]


class _Meter(Seen):
    """Also keeps the energy over time."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[float, float]] = [(0.0, 0.0)]

    def energy_read(self, row: EnergyRow) -> None:
        super().energy_read(row)
        if row.time - self.points[-1][0] >= _SHORTEST:
            self.points.append((row.time, float(row.energy)))
