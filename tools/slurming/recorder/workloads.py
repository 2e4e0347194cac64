"""Random jobs: when they come, how long they run, how long they say they would, and for whom.

The module knows neither clusters nor what jobs ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from random import Random

from slurming.recorder.plans import FIRST, Asked

__all__ = ["Shape", "arrivals", "jobs", "limit_of", "sized"]

USERS = ("u1", "u2", "u3", "u4")
LONGEST = 180
"""Seconds that a job runs at most, unless its limit is to end it."""

Shape = Callable[[Random], tuple[float, list[str]]]
"""Draws what a job asks for: the share of the cluster that it fills, and the arguments of sbatch."""


def arrivals(draw: Random, count: int, until: float) -> list[float]:
    """The seconds of submissions: some come together, others alone."""
    gaps = [0.0 if draw.random() < 0.45 else draw.expovariate(1.0) for _ in range(count - 1)]
    scale = until / max(sum(gaps), 1.0)
    times, now = [FIRST], FIRST
    for gap in gaps:
        now += gap * scale
        times.append(round(now, 1))
    return times


def limit_of(draw: Random, run: int) -> tuple[int, str]:
    """The run time of a job and its time limit as sbatch takes it. A few run longer than they may."""
    if draw.random() < 0.08:
        minutes = draw.randint(1, 3)
        return minutes * 60 + draw.randint(40, 200), str(minutes)
    seconds = max(run * draw.choice([1.05, 1.3, 2, 3, 5]) + 2, 20)
    minutes = math.ceil(seconds / 60)
    if draw.random() < 0.3:  # Slurm rounds these up to a minute
        return run, f"0:{int(seconds) // 60}:{int(seconds) % 60:02}"
    return run, str(minutes)


def sized(nodes: int) -> Shape:
    """Jobs of whole nodes, most of them small."""

    def draw_one(draw: Random) -> tuple[float, list[str]]:
        count = min(nodes, draw.choice([1, 1, 1, 2, 2, 3, 4, 4, max(1, nodes // 2), draw.randint(1, nodes)]))
        return count / nodes, ["-N", str(count)]

    return draw_one


def jobs(
    draw: Random,
    shape: Shape,
    *,
    count: tuple[int, int] = (25, 40),
    until: float = 140,
    busy: tuple[int, int] = (230, 320),
    users: Iterable[str] = USERS,
) -> list[Asked]:
    """Jobs that fill a cluster for some minutes.

    Args:
        shape: draws what each asks for.
        count: the least and the largest number of them.
        until: the second of the last submission.
        busy: how long the cluster would work on all of them without a gap, in seconds, at least and at most.
        users: whose jobs they are.
    """
    number = draw.randint(*count)
    shapes = [shape(draw) for _ in range(number)]
    raw = [draw.lognormvariate(0, 0.9) for _ in range(number)]
    scale = draw.uniform(*busy) / sum(run * share for run, (share, _) in zip(raw, shapes, strict=True))
    names = list(users)
    made = []
    for at, run, (_, args) in zip(arrivals(draw, number, until), raw, shapes, strict=True):
        seconds, limit = limit_of(draw, round(min(LONGEST, max(5, run * scale))))
        code = draw.choice([1, 2, 3]) if draw.random() < 0.08 else 0
        made.append(Asked(at, [seconds], draw.choice(names), [*args, "-t", limit], code))
    return made
