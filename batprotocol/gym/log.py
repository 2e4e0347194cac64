"""`LogArrays`: the jobs that episodes are drawn from, in columns, in memory once for all environments of a process.

It knows workloads and queue orders.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile, Job
from batprotocol.policies import Order, PolicyNameError, State, WaitingJob, named
from batprotocol.policies.availability import per_second
from batprotocol.simulator import Workload, named_workload
from batprotocol.workloads.platform import natural_order

__all__ = ["NEVER", "LogArrays", "order_of", "parts_of"]

NEVER: Final = 1e300
"""The number of seconds that stands for no walltime. It is finite, so that computations with it are."""
_WHOLE = 1.0
_FINE = 1e-3

_named: WeakValueDictionary[tuple[str, int | None, float | None], LogArrays] = WeakValueDictionary()
_orders: dict[str, Order] = {}


class LogArrays:
    """The jobs of a workload in columns. It never changes: environments and their copies share it.

    Args:
        workload: the workload.
        hosts: the number of hosts of the machine; None: the number that the workload is made for.
        resolution: times that differ by less count as equal, in seconds, > 0; None: a second if all times are whole
            seconds, as in logs, else a millisecond.

    Attributes:
        workload: the workload.
        hosts: the number of hosts of the machine.
        resolution: the resolution of times, in seconds.
        per_second: the number of resolution steps in a second.
        is_whole: whether ends need no rounding, as all times are whole seconds.
        places: the position of each job in the workload. Jobs of one time are in the order of their ids, 9 before 10.
        submitted: the submission time of each job, in seconds.
        sizes: the number of hosts that each job requests.
        walltimes: the seconds after which each job is killed; `NEVER`: never.
        lasts: the run time of each job in seconds: its delay, or its walltime if that is less. NaN if only the
            simulator can compute it.
        is_plain: whether all jobs are delays, whose run times are known and do not depend on their hosts.
        tables: what observations have computed of all jobs, by the names of features.

    Raises:
        InputError: a job can never run: it requests no hosts, or more than there are.

    >>> from batprotocol.simulator import StaticJob
    >>> log = LogArrays(Workload([StaticJob("1", 0.0, 2, DelayProfile(30.0), walltime=60.0)]), hosts=4)
    >>> log.hosts, log.resolution, log.lasts
    (4, 1.0, array([30.]))
    """

    def __init__(self, workload: Workload, *, hosts: int | None = None, resolution: float | None = None) -> None:
        if resolution is not None and not 0 < resolution < math.inf:
            raise InputError(f"expected a resolution > 0 in seconds, got {resolution}")
        self.workload = workload
        self.hosts = workload.resource_count if hosts is None else hosts
        self._name: tuple[str, int | None, float | None] | None = None
        self._ranks: dict[Order, npt.NDArray[np.int64]] = {}
        self.tables: dict[tuple[str, ...], Any] = {}
        if self.hosts < 1:
            raise InputError(f"expected a machine of at least one host, got {self.hosts}")
        count = len(workload)
        submitted, walltimes, lasts = (np.empty(count, np.float64) for _ in range(3))
        sizes = np.empty(count, np.int64)
        delays = {name: _delay(each.profile) for name, each in workload.profiles.items()}
        names: list[str] = []
        for place, (time, name, job) in enumerate(workload):
            if not 0 < job.resource_request <= self.hosts:
                what = f"it requests {job.resource_request} hosts, and the machine has {self.hosts}"
                raise InputError(f"{what}: give more hosts, or remove it", f"job {name}", file=workload.filename)
            names.append(name)
            submitted[place], sizes[place] = time, job.resource_request
            walltimes[place] = NEVER if job.walltime is None else job.walltime
            lasts[place] = delays[job.profile_id]
        lasts = np.minimum(lasts, walltimes)
        if resolution is None:
            finite = walltimes[walltimes != NEVER]
            resolution = _WHOLE if _are_whole(submitted, finite, lasts[~np.isnan(lasts)]) else _FINE
        self.resolution = resolution
        self._clock = State(resolution=resolution)
        self.per_second = per_second(resolution)
        self.is_whole = resolution == _WHOLE and _are_whole(lasts)
        rounded = np.array([self.rounded(time) for time in submitted.tolist()], np.float64)
        order = _in_order(rounded, names)
        self.places = np.arange(count) if order is None else order
        if order is not None:
            rounded, sizes, walltimes, lasts = rounded[order], sizes[order], walltimes[order], lasts[order]
        self.submitted, self.sizes, self.walltimes, self.lasts = rounded, sizes, walltimes, lasts
        self.is_plain = not np.isnan(lasts).any()

    @classmethod
    def of(
        cls,
        workload: LogArrays | Workload | str | os.PathLike[str],
        hosts: int | None = None,
        resolution: float | None = None,
    ) -> LogArrays:
        """The log of a workload, or of the workload with this name (`named_workload`). A log in use is not read again.

        Raises:
            InputError: there is no such workload, or one of its jobs can never run.
            OSError: the file cannot be read.
        """
        if isinstance(workload, LogArrays):
            if hosts not in (None, workload.hosts) or resolution not in (None, workload.resolution):
                raise InputError("a Log has its own hosts and resolution: give a workload to choose others")
            return workload
        if isinstance(workload, Workload):
            return cls(workload, hosts=hosts, resolution=resolution)
        if not isinstance(workload, str | os.PathLike):
            raise InputError(f"expected a workload, its name or a Log, got {shown(workload)}")
        key = (os.fspath(workload), hosts, resolution)
        log = _named.get(key)
        if log is None:
            log = _named[key] = cls(named_workload(key[0]), hosts=hosts, resolution=resolution)
            log._name = key
        return log

    def __len__(self) -> int:
        return len(self.submitted)

    def rounded(self, time: float) -> float:
        """A time, rounded to the resolution as in policies."""
        return self._clock.rounded(time)

    def needed(self, first: int, count: int) -> float:
        """The seconds from a submission by which these jobs could end, one after the other on all hosts.

        Jobs whose run times are not known take no time.

        Args:
            first: the number of the first job.
            count: the number of jobs.
        """
        part = slice(first, first + count)
        times = [min(pair) for pair in zip(self.lasts[part].tolist(), self.walltimes[part].tolist(), strict=True)]
        known = [0.0 if math.isnan(time) or time == NEVER else time for time in times]
        work = math.fsum(size * time for size, time in zip(self.sizes[part].tolist(), known, strict=True)) / self.hosts
        return float(self.submitted[first + count - 1] - self.submitted[first]) + work + max(known)

    def job(self, number: int) -> tuple[str, Job]:
        """The full name of a job, and its description."""
        _, name, job = self.workload[int(self.places[number])]
        return name, job

    def waiting(self, number: int) -> WaitingJob:
        """A job as queue orders read it."""
        name, job = self.job(number)
        return WaitingJob(name, job, number, float(self.submitted[number]))

    def ranks(self, order: Order) -> npt.NDArray[np.int64]:
        """The place of each job among all jobs, in an order that does not change with time. It is computed once."""
        ranks = self._ranks.get(order)
        if ranks is None:
            state = State()
            keys = [order.key(self.waiting(number), state) for number in range(len(self))]
            ranks = np.empty(len(self), np.int64)
            ranks[sorted(range(len(self)), key=keys.__getitem__)] = np.arange(len(self))
            self._ranks[order] = ranks
        return ranks

    def __copy__(self) -> LogArrays:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LogArrays:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (LogArrays.of, self._name) if self._name else (_restored, (self.workload, self.hosts, self.resolution))

    def __repr__(self) -> str:
        return f"<Log of {len(self)} jobs for {self.hosts} hosts>"


def order_of(order: Order | str) -> Order:
    """The queue order with a name, the same object for the same name.

    Raises:
        InputError: there is no queue order of this name.
    """
    if isinstance(order, Order):
        return order
    if order not in _orders:
        try:
            _orders[order] = named(order)().order
        except (PolicyNameError, AttributeError):
            raise InputError(f"there is no queue order {shown(order)}; `batproto policies` lists all") from None
    return _orders[order]


def _restored(workload: Workload, hosts: int, resolution: float) -> LogArrays:
    return LogArrays(workload, hosts=hosts, resolution=resolution)


def _delay(profile: object) -> float:
    return profile.delay if isinstance(profile, DelayProfile) else math.nan


def _are_whole(*columns: npt.NDArray[np.float64]) -> bool:
    return all(np.array_equal(each, np.floor(each)) for each in columns)


def _in_order(times: npt.NDArray[np.float64], names: list[str]) -> npt.NDArray[np.int64] | None:
    """The order of jobs by time, and those of one time by their ids; None if they are in it."""
    if not (times[1:] == times[:-1]).any():
        return None
    order = list(range(len(names)))
    begin = 0
    values = times.tolist()
    for end in range(1, len(values) + 1):
        if end == len(values) or values[end] != values[begin]:
            if end - begin > 1:
                order[begin:end] = sorted(order[begin:end], key=lambda place: natural_order(names[place]))
            begin = end
    return np.array(order, np.int64)


def parts_of(within: Sequence[tuple[int, int]] | None, jobs: int, count: int) -> list[range]:
    """The numbers of the jobs that an episode may begin with."""
    if type(jobs) is not int or jobs < 1:
        raise InputError(f"expected jobs, the number of jobs of an episode, a whole number >= 1, got {shown(jobs)}")
    parts = []
    for part in ((0, count),) if within is None else within if isinstance(within, Sequence) else (within,):
        try:
            first, end = map(operator.index, part)
        except (TypeError, ValueError):
            raise InputError(f"expected parts of the log as (first, last + 1), got {shown(part)}") from None
        if not 0 <= first < end <= count:
            raise InputError(f"expected parts within the log's {count} jobs, got {shown(part)}")
        if end - first >= jobs:
            parts.append(range(first, end - jobs + 1))
    if not parts:
        raise InputError(
            f"an episode has {jobs} jobs, and the log, or each given part of it, has fewer: use fewer jobs"
        )
    return parts
