"""Observations: numbers in [0,1] of the first jobs of the queue, of the running jobs, and of the machine.

Each operation here rounds once (there are no logarithms, no powers), so observations are equal on all machines. A time
of t seconds becomes t / (t + 3600): now is 0, an hour is 0.5, and never is 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym._world import HostLayout, World
from batprotocol.gym.log import LogArrays, order_of
from batprotocol.gym.machines import Machine
from batprotocol.policies import Order

__all__ = ["FEATURES", "MACHINE", "RUNNING", "Feature", "Lasting", "Sight", "default_features"]

_HOUR: Final = 3600.0
_MOST_TIMES: Final = 16
"""The maximum number of columns of times that a world writes itself."""
RUNNING: Final = 2
"""The number of values of a running job: the time until its walltime ends, and its fraction of all hosts."""
MACHINE: Final = 3
"""The number of values of the machine: the fraction of free hosts; n / (n + max_queue) for the n jobs of the queue that
are not observed; and the fraction of the episode's jobs that were submitted."""

_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Row: TypeAlias = "npt.NDArray[np.float32]"


class Feature(NamedTuple):
    """A feature of each waiting job. It has one of the functions below.

    `lasting`, `waited` and `until` take the hosts and the walltimes of all jobs of an episode, and the number of hosts.

    Args:
        sentence: a sentence that describes it.
        lasting: computes a value that never changes while a job waits.
        waited: computes the unit of the waiting time.
        until: computes the unit of the time until the job can start.
        changing: takes the world and the numbers of the observed jobs, and computes a value that changes.
    """

    sentence: str
    lasting: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    waited: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    until: Callable[[_Floats, _Floats, int], _Floats | float] | None = None
    changing: Callable[[World, npt.NDArray[np.int64]], npt.NDArray[np.generic]] | None = None


FEATURES: Final = {
    "waiting": Feature("The waiting time until now.", waited=lambda sizes, walltimes, hosts: _HOUR),
    "expansion": Feature("w / (w + r), of waiting time w and walltime r.", waited=lambda sizes, times, hosts: times),
    "start": Feature(
        "The time until it can start at the latest, if it is the next one.", until=lambda sizes, times, hosts: _HOUR
    ),
    "fits": Feature(
        "1: it fits now; 0: it does not.",
        changing=lambda world, numbers: world.fit(numbers),
    ),
    "present": Feature("1: there is a job; 0, in all columns: there is none.", lasting=lambda sizes, times, hosts: 1.0),
    "requested": Feature("Its walltime; 1: none.", lasting=lambda sizes, times, hosts: times / (times + _HOUR)),
    "processors": Feature("The requested fraction of all hosts.", lasting=lambda sizes, times, hosts: sizes / hosts),
    "area": Feature(
        "Walltime times hosts, as a time on all hosts.",
        lasting=lambda sizes, times, hosts: times * sizes / (times * sizes + _HOUR * hosts),
    ),
}
"""The features of a waiting job, by name. The name of a queue order (`f4`) is a feature, too: the place of the job in
that order among the observed jobs, from 0 for the first one to less than 1."""

_OWN: Final = frozenset(FEATURES.values())
"""The features of this module, whose values depend on the job only, not on the episode."""
_OLD_FEATURES: Final = {"there": "present"}


def default_features(machine: Machine | None) -> tuple[str, ...]:
    """All features but orders; with hosts that jobs share, also their resources and partitions."""
    return tuple(FEATURES) if machine is None else (*FEATURES, *_shared_features(machine))


def _shared_features(machine: Machine) -> dict[str, Feature]:
    """The features of jobs that share hosts: what they take of each host, and their partitions."""
    found = {}
    for place, name in enumerate(machine.resources[1:]):
        found[name] = Feature(
            f"The {name} that it takes of each host, as a fraction of the largest host.",
            changing=partial(_of_table, "asked", place),
        )
    for place, name in enumerate(machine.partitions):
        found[f"partition:{name}"] = Feature(
            f"1: it can run in the partition {name}.", changing=partial(_of_table, "partitions", place)
        )
    return found


def _of_table(table: str, column: int, world: World, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.generic]:
    found: npt.NDArray[np.generic] = getattr(world, table)[numbers, column]
    return found


def _feature(name: str, machine: Machine | None) -> Feature:
    """The feature of this name, also by its old name."""
    if machine is not None:
        found = _shared_features(machine).get(name)
        if found is not None:
            return found
    if name in _OLD_FEATURES:
        new = _OLD_FEATURES[name]
        warnings.warn(f"the feature {name} is deprecated: use {new} instead", DeprecationWarning, stacklevel=4)
        return FEATURES[new]
    return FEATURES[name] if name in FEATURES else _place_in(name, machine)


def _place_in(name: str, machine: Machine | None) -> Feature:
    try:
        order = order_of(name)
    except InputError:
        known = ", ".join(default_features(machine))
        raise InputError(f"there is no feature {shown(name)}: expected {known}, or queue orders") from None
    if order.changes:
        raise InputError(f"expected features, or queue orders that do not change with time, got {shown(name)}")

    def places(world: World, numbers: npt.NDArray[np.int64]) -> _Floats:
        ranks = world.log.ranks(order).take(numbers + world.first)
        found = np.empty(len(ranks))
        found[ranks.argsort()] = np.arange(len(ranks))
        return found / len(ranks)

    return Feature(f"Its place in the order {name}.", changing=places)


class Lasting(NamedTuple):
    """The values of the jobs of an episode that never change, with a row for each job."""

    features: _Row
    """The features of the jobs. Columns that change are 0."""
    known: _Floats
    """The submission time and the requested hosts of each job, and the units of its times."""
    sizes: npt.NDArray[np.int64]
    """The requested hosts of each job."""
    parts: _Row
    """The requested fraction of all hosts of each job."""

    @property
    def told(self) -> _Row:
        """The old name of `features`."""
        warnings.warn("`Lasting.told` is deprecated: use Lasting.features instead", DeprecationWarning, stacklevel=2)
        return self.features


class Sight:
    """Writes the observation of a world into a row of numbers.

    Args:
        names: the features of each job, see `FEATURES`.
        max_queue: the number of observed jobs of the queue.
        max_running: the number of observed running jobs, those that end first.
        machine: the hosts that jobs share; None: they do not.
        away: whether the machine has one more value: the fraction of hosts that are down or drained.
        electricity: the number of numbers about electricity.

    Raises:
        InputError: there is no such feature.
    """

    def __init__(
        self,
        names: Sequence[str],
        max_queue: int,
        max_running: int,
        machine: Machine | None = None,
        away: bool = False,
        electricity: int = 0,
    ) -> None:
        if type(max_queue) is not int or type(max_running) is not int or max_queue < 1 or max_running < 0:
            numbers = f"got {shown(max_queue)} and {shown(max_running)}"
            raise InputError(f"expected max_queue, a whole number >= 1, and max_running, one >= 0, {numbers}")
        if isinstance(names, str) or not names:
            raise InputError(f"expected a list of at least one feature, got {shown(names)}")
        self.names = tuple(names)
        self.features = [_feature(name, machine) for name in names]
        self.max_queue, self.max_running, self._of = max_queue, max_running, machine
        self.width = len(self.features)
        self.running = max_queue * self.width
        """The position of the running jobs in a row."""
        self.machine = self.running + max_running * RUNNING
        """The position of the machine in a row."""
        self.away = away
        """Whether the machine has one more value: the fraction of hosts that are down or drained."""
        self.resources = self.machine + MACHINE + away
        """The position of the free shares of resources in a row, where jobs share hosts."""
        self.shape = (1 + len(machine.partitions), len(machine.resources)) if machine is not None else ()
        """Their rows (all hosts, then each partition), and their columns (the resources)."""
        self.electricity = self.resources + math.prod(self.shape or (0,))
        """The position of the numbers about electricity in a row."""
        self.size = self.electricity + electricity
        """The number of numbers in a row."""
        waited = [place for place, each in enumerate(self.features) if each.waited is not None]
        until = [place for place, each in enumerate(self.features) if each.until is not None]
        self._times = waited + until  # one division for all of them
        self._waited, self._until = len(waited), len(until)
        begin, end = min(self._times, default=0), max(self._times, default=-1) + 1
        self._columns = slice(begin, end) if self._times == list(range(begin, end)) else self._times
        self._changing = [(place, each.changing) for place, each in enumerate(self.features) if each.changing]
        fits = self.names.index("fits") if self.names.count("fits") == 1 else -1
        sizes = (max_queue, max_running, self.width, self._waited, self._until, fits)
        self.layout = HostLayout(sizes, tuple(self._times)) if len(self._times) <= _MOST_TIMES else None
        """The layout for worlds that write observations themselves; None: it has too many times."""
        self._others = [(place, change) for place, change in self._changing if place != fits]
        self.is_of_log = all(each in _OWN or not (each.lasting or each.waited or each.until) for each in self.features)
        """Whether the values that never change are the same in all episodes."""

    def __deepcopy__(self, memo: object) -> Sight:
        return self  # it never changes

    def __reduce__(self) -> tuple[type[Sight], tuple[Sequence[str], int, int, Machine | None, bool, int]]:
        return Sight, (
            *(self.names, self.max_queue, self.max_running, self._of, self.away),
            self.size - self.electricity,
        )

    def lasting(self, world: World) -> Lasting:
        """Compute the values of the jobs of an episode that never change."""
        part = slice(world.first, world.first + world.count)
        if not self.is_of_log:
            return self._of_jobs(world.log, part)
        whole = self.table(world.log)
        return Lasting(whole.features[part], whole.known[part], whole.sizes[part], whole.parts[part])

    def table(self, log: LogArrays) -> Lasting:
        """The values of all jobs of a log that never change, which it keeps for all environments."""
        found: Lasting | None = log.tables.get(self.names)
        if found is None:
            found = log.tables[self.names] = self._of_jobs(log, slice(0, len(log)))
        return found

    def _of_jobs(self, log: LogArrays, part: slice) -> Lasting:
        sizes, walltimes = log.sizes[part].astype(np.float64), log.walltimes[part]
        features = np.zeros((len(sizes), self.width), np.float32)
        known = np.empty((len(sizes), 2 + len(self._times)))
        known[:, 0], known[:, 1] = log.submitted[part], sizes
        for place, feature in enumerate(self.features):
            if feature.lasting is not None:
                features[:, place] = feature.lasting(sizes, walltimes, log.hosts)
        for column, place in enumerate(self._times, start=2):
            scale = self.features[place].waited or self.features[place].until
            assert scale is not None
            known[:, column] = scale(sizes, walltimes, log.hosts)
        return Lasting(features, known, log.sizes[part], (sizes / log.hosts).astype(np.float32))

    def ranked(self) -> list[tuple[int, Order]] | None:
        """The columns that are places in orders, with these; None: others change, too, that a world does not write."""
        found = [(place, order_of(self.names[place])) for place, _ in self._others if self.names[place] not in FEATURES]
        return found if len(found) == len(self._others) and not self.shape else None

    def write(self, world: World, lasting: Lasting, row: _Row) -> None:
        """Write the present observation.

        Args:
            world: the world.
            lasting: the result of `lasting` for it.
            row: the row to write. All of its numbers are written.
        """
        waiting = world.waiting
        seen = min(waiting, self.max_queue)
        tables = (lasting.features, lasting.known, lasting.parts)
        if self.layout is not None and world.see(row, tables, self.layout):
            if self._others and seen:
                self._write_others(world, world.head(seen), row[: seen * self.width].reshape(seen, self.width))
            return
        row.fill(0.0)
        ends, jobs = world.running()
        remaining = ends - world.now
        running = len(jobs)
        if seen:
            numbers = world.head(seen)
            table = row[: seen * self.width].reshape(seen, self.width)
            lasting.features.take(numbers, 0, table, "clip")
            if self._times:
                self._write_times(world, numbers, lasting.known.take(numbers, 0), remaining, jobs, table)
            for place, change in self._changing:
                table[:, place] = change(world, numbers)
        if running and self.max_running:
            running = min(running, self.max_running)
            remaining = remaining[:running]
            table = row[self.running : self.running + running * RUNNING].reshape(running, RUNNING)
            np.divide(remaining, remaining + _HOUR, table[:, 0], casting="same_kind")
            table[:, 1] = lasting.parts.take(jobs[:running])
        beyond = waiting - seen
        machine = row[self.machine : self.resources]
        machine[0] = world.free / world.log.hosts
        machine[1] = beyond / (beyond + self.max_queue)
        machine[2] = world.next / world.count
        if self.away:
            machine[3] = world.away / world.log.hosts
        if self.shape:
            row[self.resources : self.electricity] = world.shares().ravel()
        if self.size > self.electricity:
            row[self.electricity :] = world.electricity()

    def _write_others(self, world: World, numbers: npt.NDArray[np.int64], table: _Row) -> None:
        """Write the columns that a world does not write itself."""
        for place, change in self._others:
            table[:, place] = change(world, numbers)

    def _write_times(
        self,
        world: World,
        numbers: npt.NDArray[np.int64],
        known: _Floats,
        remaining: _Floats,
        jobs: npt.NDArray[np.int64],
        table: _Row,
    ) -> None:
        """Write the columns that are times."""
        times = np.empty((len(known), len(self._times)))
        if self._waited:
            times[:, : self._waited] = world.now - known[:, :1]
        if self._until:
            times[:, self._waited :] = world.until_start(numbers, remaining, jobs)[:, None]
        table[:, self._columns] = times / (times + known[:, 2:])
