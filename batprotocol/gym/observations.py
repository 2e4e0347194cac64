"""What an agent sees: numbers in [0,1] of the jobs at the head of the queue, of those that run, and of the machine.

Nothing here takes more than one rounding of each operation (no logarithms, no powers), so that observations are equal
on all machines. A time of t seconds is told as t / (t + 3600): 0 is now, an hour is 0.5, for ever is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import NEVER, order_of
from batprotocol.gym.worlds.world import Layout, World

__all__ = ["FEATURES", "MACHINE", "RUNNING", "Feature", "Lasting", "Sight"]

_HOUR: Final = 3600.0
_MOST_TIMES: Final = 16
"""So many columns of times a world writes itself."""
RUNNING: Final = 2
"""What is told of a job that runs: the time until it ends at the latest, and the part of all hosts that it has."""
MACHINE: Final = 3
"""What is told of the machine: the part of all hosts that is free, how many jobs n wait beyond those that are seen, as
n / (n + max_queue), and the part of the episode's jobs that were submitted."""

_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Row: TypeAlias = "npt.NDArray[np.float32]"


class Feature(NamedTuple):
    """What is told of each job that waits: one of what follows the sentence.

    Args:
        sentence: what it is.
        lasting: called with the hosts and the walltimes of all jobs of an episode, and the number of hosts: what never
            changes while a job waits.
        waited: what the waiting time is told in proportion to, likewise.
        until: what the time until the job can start is told in proportion to, likewise.
        changing: called with the world and the numbers of the jobs that are seen.
    """

    sentence: str
    lasting: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    waited: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    until: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    changing: Callable[[World, npt.NDArray[np.int64]], npt.NDArray[np.generic]] | None = None


FEATURES: Final = {
    "waiting": Feature("How long it has waited.", waited=lambda sizes, walltimes, hosts: _HOUR),
    "expansion": Feature("w / (w + r), of waiting time w and walltime r.", waited=lambda sizes, times, hosts: times),
    "start": Feature(
        "How long until it can start at the latest, if it is the next one.", until=lambda sizes, times, hosts: _HOUR
    ),
    "fits": Feature(
        "1: it fits now; 0: it does not.",
        changing=lambda world, numbers: np.less_equal(world.log.sizes.take(numbers + world.first), world.free),
    ),
    "there": Feature("1: there is a job; 0, in all columns: there is none.", lasting=lambda sizes, times, hosts: 1.0),
    "requested": Feature("Its walltime; 1: none.", lasting=lambda sizes, times, hosts: times / (times + _HOUR)),
    "processors": Feature("The part of all hosts that it asks for.", lasting=lambda sizes, times, hosts: sizes / hosts),
    "area": Feature(
        "Walltime times hosts, as a time on all hosts.",
        lasting=lambda sizes, times, hosts: times * sizes / (times * sizes + _HOUR * hosts),
    ),
}
"""What can be told of a job, by name. The name of an order of policies (`f4`) stands for the job's place in that order
among those that are seen, from 0 for the first one to less than 1."""


def _place_in(name: str) -> Feature:
    try:
        order = order_of(name)
    except InputError:
        known = ", ".join(FEATURES)
        raise InputError(f"there is no feature {shown(name)}: expected {known}, or orders of policies") from None
    if order.changes:
        raise InputError(f"expected features, or orders that do not change with time, got {shown(name)}")

    def places(world: World, numbers: npt.NDArray[np.int64]) -> _Floats:
        ranks = world.log.ranks(order).take(numbers + world.first)
        found = np.empty(len(ranks))
        found[ranks.argsort()] = np.arange(len(ranks))
        return found / len(ranks)

    return Feature(f"Its place in the order {name}.", changing=places)


class Lasting(NamedTuple):
    """What never changes of the jobs of an episode, a row each."""

    told: _Row
    """What is told of them, without what changes."""
    known: _Floats
    """When each was submitted, how many hosts it asks for, and what each of its times is told in proportion to."""
    sizes: npt.NDArray[np.int64]
    """How many hosts each asks for."""
    parts: _Row
    """The part of all hosts that each asks for."""


class Sight:
    """Writes what is seen of a world into a row of numbers.

    Args:
        names: what is told of each job, see `FEATURES`.
        max_queue: how many jobs of the queue are seen.
        max_running: how many of the running jobs are seen, those that end first.

    Raises:
        InputError: there is no such feature.
    """

    def __init__(self, names: Sequence[str], max_queue: int, max_running: int) -> None:
        if type(max_queue) is not int or type(max_running) is not int or max_queue < 1 or max_running < 0:
            numbers = f"got {shown(max_queue)} and {shown(max_running)}"
            raise InputError(f"expected max_queue, a whole number >= 1, and max_running, one >= 0, {numbers}")
        if isinstance(names, str) or not names:
            raise InputError(f"expected a list of at least one feature, got {shown(names)}")
        self.names = tuple(names)
        self.features = [FEATURES[name] if name in FEATURES else _place_in(name) for name in names]
        self.max_queue, self.max_running = max_queue, max_running
        self.width = len(self.features)
        self.running = max_queue * self.width
        """Where running jobs begin in a row."""
        self.machine = self.running + max_running * RUNNING
        """Where the machine begins in a row."""
        self.size = self.machine + MACHINE
        """How many numbers a row has."""
        waited = [place for place, each in enumerate(self.features) if each.waited is not None]
        until = [place for place, each in enumerate(self.features) if each.until is not None]
        self._times = waited + until  # one division for all of them
        self._waited, self._until = len(waited), len(until)
        begin, end = min(self._times, default=0), max(self._times, default=-1) + 1
        self._columns = slice(begin, end) if self._times == list(range(begin, end)) else self._times
        self._changing = [(place, each.changing) for place, each in enumerate(self.features) if each.changing]
        fits = self.names.index("fits") if self.names.count("fits") == 1 else -1
        sizes = (max_queue, max_running, self.width, self._waited, self._until, fits)
        self._layout = Layout(sizes, tuple(self._times)) if len(self._times) <= _MOST_TIMES else None
        self._others = [(place, change) for place, change in self._changing if place != fits]

    def __deepcopy__(self, memo: object) -> Sight:
        return self  # it never changes

    def __reduce__(self) -> tuple[type[Sight], tuple[Sequence[str], int, int]]:
        return Sight, (self.names, self.max_queue, self.max_running)

    def lasting(self, world: World) -> Lasting:
        """What never changes of the jobs of an episode: computed once."""
        log = world.log
        part = slice(world.first, world.first + world.count)
        sizes, walltimes = log.sizes[part].astype(np.float64), log.walltimes[part]
        told = np.zeros((world.count, self.width), np.float32)
        known = np.empty((world.count, 2 + len(self._times)))
        known[:, 0], known[:, 1] = log.submitted[part], sizes
        for place, feature in enumerate(self.features):
            if feature.lasting is not None:
                told[:, place] = feature.lasting(sizes, walltimes, log.hosts)
        for column, place in enumerate(self._times, start=2):
            scale = self.features[place].waited or self.features[place].until
            assert scale is not None
            known[:, column] = scale(sizes, walltimes, log.hosts)
        return Lasting(told, known, log.sizes[part], (sizes / log.hosts).astype(np.float32))

    def write(self, world: World, lasting: Lasting, row: _Row) -> None:
        """Write what is seen now.

        Args:
            world: the world.
            lasting: what `lasting` gave for it.
            row: where to; all of it is written.
        """
        waiting = world.waiting
        seen = min(waiting, self.max_queue)
        tables = (lasting.told, lasting.known, lasting.parts)
        if self._layout is not None and world.see(row, tables, self._layout):
            if self._others and seen:
                self._write_others(world, world.head(seen), row[: seen * self.width].reshape(seen, self.width))
            return
        row.fill(0.0)
        ends, jobs = world.running()
        left = ends - world.now
        running = len(jobs)
        if seen:
            numbers = world.head(seen)
            table = row[: seen * self.width].reshape(seen, self.width)
            lasting.told.take(numbers, 0, table, "clip")
            if self._times:
                self._write_times(world, lasting, lasting.known.take(numbers, 0), left, jobs, table)
            for place, change in self._changing:
                table[:, place] = change(world, numbers)
        if running and self.max_running:
            running = min(running, self.max_running)
            left = left[:running]
            table = row[self.running : self.running + running * RUNNING].reshape(running, RUNNING)
            np.divide(left, left + _HOUR, table[:, 0], casting="same_kind")
            table[:, 1] = lasting.parts.take(jobs[:running])
        beyond = waiting - seen
        row[-3] = world.free / world.log.hosts
        row[-2] = beyond / (beyond + self.max_queue)
        row[-1] = world.next / world.count

    def _write_others(self, world: World, numbers: npt.NDArray[np.int64], table: _Row) -> None:
        """Write the columns that a world does not write itself."""
        for place, change in self._others:
            table[:, place] = change(world, numbers)

    def _write_times(
        self, world: World, lasting: Lasting, known: _Floats, left: _Floats, jobs: npt.NDArray[np.int64], table: _Row
    ) -> None:
        """Write the columns that are times."""
        times = np.empty((len(known), len(self._times)))
        if self._waited:
            times[:, : self._waited] = world.now - known[:, :1]
        if self._until:
            free = np.empty(len(jobs) + 1)
            free[0] = world.free
            free[1:] = lasting.sizes.take(jobs)
            places = np.add.accumulate(free).searchsorted(known[:, 1])
            seconds = np.concatenate((_NOW, left, _NOT_AT_ALL)).take(places)
            times[:, self._waited :] = seconds[:, None]
        table[:, self._columns] = times / (times + known[:, 2:])


_NOW = np.zeros(1)
_NOT_AT_ALL = np.array([NEVER])  # as hosts are asleep
