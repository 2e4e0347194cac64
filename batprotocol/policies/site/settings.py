"""The kinds of backfilling as settings of one plan. This module must not know how it is made."""

from __future__ import annotations

import math
from typing import NamedTuple

from batprotocol.errors import SchedulerError
from batprotocol.policies.backfilling import EASY, Backfilling, Conservative, Greedy, NoBackfilling, Reservations
from batprotocol.policies.orders import Order

__all__ = ["Settings", "settings_of"]


class Settings(NamedTuple):
    """The differences between the kinds of backfilling.

    Attributes:
        depth: how many jobs of each partition have a reservation; infinity: all.
        backfills: whether jobs start before their turn.
        order: the order in which those are tried; None: the queue's own.
        spare: whether jobs may last beyond a reservation, on hosts that it does not need.
        moves: whether a reservation may move to other hosts at the same time, so that another job can start.
        strict: whether jobs must end before a reservation begins, and not just then.
        once: whether the time of a reservation is computed once.
    """

    depth: float = 0
    backfills: bool = False
    order: Order | None = None
    spare: bool = True
    moves: bool = False
    strict: bool = False
    once: bool = False


def settings_of(part: Backfilling) -> Settings:
    """The settings of a kind of backfilling.

    Raises:
        SchedulerError: it is not one of the library's own.
    """
    if type(part) is EASY:
        return Settings(1, True, part.order, part.spare, part.spare, part.strict, part.once)
    if type(part) is Reservations:
        return Settings(part.count, True, part.order)
    if type(part) is Conservative:
        return Settings(math.inf if part.depth is None else part.depth, True)
    if type(part) is Greedy:
        return Settings(0, True, part.order)
    if type(part) is NoBackfilling:
        return Settings()
    name = type(part).__name__
    raise SchedulerError(
        f"{name} cannot plan jobs that share hosts: use none, greedy, easy, reservations or conservative"
    )
