"""priority/basic: the first job has the highest priority, and each job one less than the job before it."""

from __future__ import annotations

from typing import Final

__all__ = ["FirstComeNumbers"]

_FIRST: Final = 4_294_901_759
"""The priority of the first job, as a real Slurm 22.05 gives it."""


class FirstComeNumbers:
    """Gives numbers to jobs. A job that is held takes none until it is released.

    >>> numbers = FirstComeNumbers()
    >>> numbers.take(), numbers.take(nice=100), numbers.take()
    (4294901759, 4294901658, 4294901757)
    """

    def __init__(self) -> None:
        self._next = _FIRST

    def take(self, nice: int = 0) -> int:
        """The priority of the next job. Its `nice` has no influence on those after it."""
        number = self._next
        self._next = max(number - 1, 1)
        return max(number - nice, 1)
