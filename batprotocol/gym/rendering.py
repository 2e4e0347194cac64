"""What people see: a text for a terminal, or a picture, of the jobs that run and of those that wait."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from batprotocol.gym.log import NEVER
from batprotocol.gym.worlds.world import World

__all__ = ["picture", "text"]

_HEIGHT: Final = 256
_WIDTH: Final = 512
_WIDE: Final = 40
_SHOWN: Final = 10
_WHITE, _BLACK, _GREY = (255, 255, 255), (32, 32, 32), (224, 224, 224)
_RUNNING: Final = ((31, 119, 180), (90, 160, 210))
_WAITING: Final = ((255, 127, 14), (255, 170, 90))


def text(world: World, max_queue: int) -> str:
    """The machine in a line, and the first jobs of the queue."""
    hosts, busy = world.log.hosts, world.log.hosts - world.free
    bar = "#" * round(busy / hosts * _WIDE)
    counts = f"{len(world.ends)} jobs run, {len(world.queue)} wait, {world.count - world.next} are still to come"
    lines = [f"{world.now:,.0f} s: {busy} of {hosts} hosts are busy, {counts}", f"[{bar:.<{_WIDE}}]"]
    seen = world.queue[: min(_SHOWN, max_queue)]
    if seen:
        lines.append(f"{'place':>5} {'job':>8} {'hosts':>6} {'walltime':>10} {'waited':>10}")
    for place, job in enumerate(seen):
        name = world.log.job(world.first + job)[0].partition("!")[2]
        limit = world.walltimes[job]
        asked = "-" if limit == NEVER else f"{limit:,.0f} s"
        waited = f"{world.now - world.submitted[job]:,.0f} s"
        lines.append(f"{place:>5} {name:>8} {world.sizes[job]:>6} {asked:>10} {waited:>10}")
    if len(world.queue) > len(seen):
        lines.append(f"and {len(world.queue) - len(seen)} more")
    return "\n".join(lines)


def picture(world: World, max_queue: int) -> npt.NDArray[np.uint8]:
    """On the left the jobs that run, on the right those that wait: as high as hosts, as long as walltimes, to come."""
    image = np.full((_HEIGHT, _WIDTH, 3), _WHITE, np.uint8)
    half, hosts = _WIDTH // 2, world.log.hosts
    image[:, half - 1 : half + 1] = _BLACK
    running = [(world.sizes[job], end - world.now) for end, job in zip(world.ends, world.end_jobs, strict=True)]
    waiting = [(world.sizes[job], world.walltimes[job]) for job in world.queue[:max_queue]]
    total = max(sum(size for size, _ in waiting), hosts)
    _bars(image[:, : half - 1], running, hosts, _RUNNING)
    _bars(image[:, half + 1 :], waiting, total, _WAITING)
    return image


def _bars(
    image: npt.NDArray[np.uint8], jobs: list[tuple[int, float]], total: int, colours: tuple[tuple[int, int, int], ...]
) -> None:
    """A bar for each job, from the top."""
    height, width, _ = image.shape
    top = 0.0
    for number, (size, seconds) in enumerate(jobs):
        bottom = top + size * height / total
        length = seconds / (seconds + 3600.0)
        image[round(top) : round(bottom), : 1 + round(length * (width - 1))] = colours[number % 2]
        top = bottom
    image[round(top) :] = _GREY
