"""`Eventful`: the embedded Batsim simulates an episode with external events, such as failures or changes of a price.

An event comes before a decision at the same time. An agent that waits can decide when it has come. This module must
not know what events mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from batprotocol.gym.log import Log
from batprotocol.gym.worlds.simulated import OTHER, Simulated
from batprotocol.model import Event, ExternalEventOccurredEvent
from batprotocol.simulator import ExternalEventList, Platform

__all__ = ["Eventful"]


class Eventful(Simulated):
    """The base class of worlds with external events.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        platform: see `Simulated`.
        energy: see `Simulated`.
        events: the events: their times in seconds, and their data.
    """

    __slots__ = ("_pending",)

    numbers: ClassVar[tuple[str, ...]] = (*Simulated.numbers, "_pending")

    def __init__(
        self,
        log: Log,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        platform: Platform | None = None,
        energy: bool = False,
        *,
        events: Sequence[tuple[float, str]],
    ) -> None:
        self._pending = len(events)
        lists = [ExternalEventList.of(events, corrected=True)]
        super().__init__(log, first, count, ranks, tried, platform, energy, lists)

    def occurred(self, event: ExternalEventOccurredEvent) -> None:
        """Act on an event that has come."""

    @property
    def goes_on(self) -> bool:
        return super().goes_on or self._pending > 0

    def finish(self) -> None:
        # Events may come long after the last job has ended.
        while len(self.finished) < self.count and self.advance() is not None:
            pass

    def _turn_of(self, event: Event) -> tuple[int, int]:
        return (-1, 0) if isinstance(event, ExternalEventOccurredEvent) else super()._turn_of(event)

    def _take_event(self, event: Event) -> int | None:
        if isinstance(event, ExternalEventOccurredEvent):
            self._pending -= 1
            self.occurred(event)
            return OTHER
        return super()._take_event(event)
