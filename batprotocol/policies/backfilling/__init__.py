"""Which of the jobs that wait start now: `base` says what a kind of backfilling is; the other modules have one each."""

from __future__ import annotations

from batprotocol.policies.backfilling.base import Backfilling, Greedy, NoBackfilling
from batprotocol.policies.backfilling.easy import EASY, Shadow
from batprotocol.policies.backfilling.reservations import Conservative, Reservations

__all__ = ["EASY", "Backfilling", "Conservative", "Greedy", "NoBackfilling", "Reservations", "Shadow"]
