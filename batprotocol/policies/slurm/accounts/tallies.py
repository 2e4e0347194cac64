"""The totals of the jobs of an association, or of a quality of service. This module must not know limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

__all__ = ["UsageTotals"]


class UsageTotals:
    """The totals of some jobs.

    Attributes:
        jobs: those that run.
        submitted: those that run or wait.
        tres: the resources of those that run, by name.
        ahead: their resources multiplied with the seconds that are left of their limits.
        spent: their resources multiplied with the seconds that they ran, also of jobs that have ended; with decay.
        wall: the seconds that they ran; with decay.
    """

    __slots__ = ("ahead", "jobs", "spent", "submitted", "tres", "wall")

    def __init__(self) -> None:
        self.jobs = self.submitted = 0
        self.tres: Counter[str] = Counter()
        self.ahead: Counter[str] = Counter()
        self.spent: dict[str, float] = {}
        self.wall = 0.0

    def start(self, tres: Mapping[str, int], seconds: int, sign: int = 1) -> None:
        """A job starts `seconds` before its limit; with the sign -1, it ends so long before it."""
        self.jobs += sign
        for name, amount in tres.items():
            self.tres[name] += sign * amount
            self.ahead[name] += sign * amount * seconds

    def run(self, tres: Mapping[str, int], seconds: float, left: int) -> None:
        """A job has run for some time; `left`: the seconds by which the rest of its limit is shorter."""
        self.wall += seconds
        for name, amount in tres.items():
            self.spent[name] = self.spent.get(name, 0.0) + amount * seconds
            self.ahead[name] -= amount * left

    def decay(self, factor: float) -> None:
        """Usage counts less."""
        self.wall *= factor
        for name in self.spent:
            self.spent[name] *= factor
