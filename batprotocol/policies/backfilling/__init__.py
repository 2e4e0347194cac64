"""Backfilling: which of the waiting jobs start now. `base` has the base class, the other modules one kind each."""

from __future__ import annotations

from batprotocol.policies.backfilling.base import Backfilling, Greedy, NoBackfilling
from batprotocol.policies.backfilling.easy import EASY, Shadow
from batprotocol.policies.backfilling.reservations import Conservative, Reservations

__all__ = ["EASY", "Backfilling", "Conservative", "Greedy", "NoBackfilling", "Reservations", "Shadow"]
