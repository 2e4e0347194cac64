"""Random workloads: Lublin and Feitelson's model of the jobs of a parallel machine.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003. Sizes are 1, powers of 2 or others, of a two-stage uniform
distribution of their logarithm; run times are hyper-gamma distributed in their logarithm, and larger jobs are longer;
arrivals follow a gamma distribution in their logarithm, and the hours of the day.

Estimates follow D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", JSSPP 2005: for nine of
ten jobs, users choose one of about twenty round values, and the largest value most often. No estimate is shorter than
the run time of its job.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

from batprotocol._util.deprecation import old_arguments
from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.columns import JobColumns
from batprotocol.workloads.workload import Workload, WorkloadProfile

__all__ = ["lublin_workload"]

_MOST_JOBS: Final = 10_000_000
_BUCKETS: Final = 48
_BUCKET: Final = 1800.0  # seconds: half an hour

_SERIAL: Final = 0.244
_POWER_OF_2: Final = 0.576
_LOWEST: Final = 0.8
_BELOW_HIGHEST: Final = 2.5
_IN_LOWER: Final = 0.86
"""The two-stage uniform distribution of log2 of a size: from, from its end to its middle, how often below that."""
_SHORT: Final = (4.2, 0.94)
_LONG: Final = (312.0, 0.03)
_SLOPE: Final = -0.0054
_INTERCEPT: Final = 0.78
"""How often a run time is short, by the size of the job."""
_LONGEST_RUN: Final = 12.0  # as a logarithm, as those above
_ARRIVAL: Final = (10.2303 * 1.0225, 0.4871)
_LONGEST_GAP: Final = 13.0
_DAY: Final = (8.1737, 3.9631)
_DAWN: Final = 10  # half hours from midnight on, until which it is still the day before

_HEAD: Final = 0.9  # of all estimates are popular ones
_MOST_POPULAR: Final = 0.2  # is the largest one
_SHORTER: Final = (5, 10, 15, 20, 30, 40, 45, 50, 60, 90, 120, 180)
_LONGER: Final = (240, 300, 360, 480, 600, 720, 900, 1080, 1440, 2160, 2880)
_POPULAR: Final = tuple(60.0 * minutes for minutes in (*_SHORTER, *_LONGER))
_ROUND: Final = 300.0
_KEPT_JOBS: Final = 1_000
"""The jobs of the largest workload whose draw is kept for a while."""


class _Drawn(NamedTuple):
    """A job: its submission time in seconds, the number of hosts that it requests, and its run time in seconds."""

    time: float
    hosts: int
    runtime: float


@old_arguments(load="offered_load")
def lublin_workload(
    hosts: int,
    jobs: int,
    *,
    seed: int = 0,
    offered_load: float | None = None,
    estimates: bool = True,
    name: str = "w0",
) -> Workload:
    """A workload of Lublin and Feitelson's model. The same arguments give the same jobs, on every machine.

    Args:
        hosts: the number of hosts of the machine, >= 4; a job requests 1 to all of them.
        jobs: the number of jobs, >= 1.
        seed: the seed of the random numbers.
        offered_load: the offered load between the first and the last submission: submission times are scaled to it, and
            rounded to seconds; None: the load of the model.
        estimates: whether walltimes are drawn from a model of users' estimates; else they are the run times.
        name: the workload's name.

    Raises:
        InputError: an argument is out of its range.

    >>> workload = lublin_workload(256, 1000, seed=1, offered_load=0.7)
    >>> len(workload), workload.resource_count
    (1000, 256)
    """
    if not 4 <= hosts < 2**31 or not 1 <= jobs <= _MOST_JOBS:
        raise InputError(f"expected 4 hosts or more and 1 to {_MOST_JOBS} jobs, got {shown((hosts, jobs))}")
    if offered_load is not None and not 0 < offered_load < math.inf:
        raise InputError(f"expected an offered load > 0, got {shown(offered_load)}")
    drawn, limits = (_small if jobs <= _KEPT_JOBS else _jobs)(hosts, jobs, seed, estimates)
    factor = 1.0
    span = drawn[-1].time - drawn[0].time
    if offered_load is not None and span > 0:
        factor = sum(job.hosts * job.runtime for job in drawn) / (hosts * span * offered_load)
    columns = JobColumns()
    profiles: dict[str, WorkloadProfile] = {}
    for number, (job, limit) in enumerate(zip(drawn, limits, strict=True), 1):
        profile = f"delay{job.runtime:.0f}"
        if profile not in profiles:
            profiles[profile] = WorkloadProfile(DelayProfile(job.runtime))
        columns.append(str(number), round((job.time - drawn[0].time) * factor), job.hosts, profile, limit, None)
    return Workload.of_columns(name, "", profiles, columns, resource_count=hosts)


def _jobs(hosts: int, count: int, seed: int, estimates: bool) -> tuple[tuple[_Drawn, ...], tuple[float, ...]]:
    """The jobs at the load of the model, and their walltimes."""
    chance = random.Random(seed)
    drawn = tuple(_drawn(chance, hosts, count))
    runtimes = [job.runtime for job in drawn]
    return drawn, tuple(_estimates(chance, runtimes) if estimates else runtimes)


_small: Final = lru_cache(maxsize=32, typed=True)(_jobs)
"""A study draws the same few jobs for each of its loads."""


def _drawn(chance: random.Random, hosts: int, count: int) -> Iterator[_Drawn]:
    arrivals = _arrivals(chance)
    highest = math.log2(hosts)
    for _ in range(count):
        time = next(arrivals)
        size = min(_size(chance, highest), hosts)
        yield _Drawn(time, size, _runtime(chance, size))


def _size(chance: random.Random, highest: float) -> int:
    kind = chance.random()
    if kind <= _SERIAL:
        return 1
    middle = max(highest - _BELOW_HIGHEST, _LOWEST)
    lower = chance.random() <= _IN_LOWER
    exponent = chance.uniform(_LOWEST, middle) if lower else chance.uniform(middle, highest)
    if kind <= _SERIAL + _POWER_OF_2:
        exponent = math.floor(exponent + 0.5)
    return int(2.0**exponent + 0.5)


def _runtime(chance: random.Random, size: int) -> float:
    is_short = chance.random() <= min(max(_SLOPE * size + _INTERCEPT, 0.0), 1.0)
    logarithm = _gamma(chance, *(_SHORT if is_short else _LONG), _LONGEST_RUN)
    return float(max(math.floor(math.exp(logarithm)), 1))


def _gamma(chance: random.Random, shape: float, scale: float, most: float) -> float:
    while True:
        drawn = chance.gammavariate(shape, scale)
        if drawn <= most:
            return drawn


def _arrivals(chance: random.Random) -> Iterator[float]:
    """Submission times: the half hours of a gap have different weights."""
    weights = _day()
    time = points = spent = 0.0
    bucket = 0
    while True:
        points += math.exp(_gamma(chance, *_ARRIVAL, _LONGEST_GAP)) / _BUCKET
        passed = 0.0
        while points > weights[bucket]:
            points -= weights[bucket]
            bucket = (bucket + 1) % _BUCKETS
            passed += _BUCKET
        part = points / weights[bucket]
        time += passed + _BUCKET * (part - spent)
        spent = part
        yield time


@cache
def _day() -> tuple[float, ...]:
    """The weight of each half hour of the day; the mean is 1.

    The model numbers them from 1 on, and its day begins at dawn: those before follow the last one.
    """
    shape, scale = _DAY
    weights = []
    for bucket in range(_BUCKETS):
        place = bucket + 1 + (_BUCKETS if bucket < _DAWN else 0)
        end, begin = (place + 0.5) / scale, (place - 0.5) / scale
        weights.append(_gamma_below(end, shape) - _gamma_below(begin, shape))
    mean = sum(weights) / _BUCKETS
    return tuple(weight / mean for weight in weights)


def _gamma_below(value: float, shape: float) -> float:
    """The share of a gamma distribution of scale 1 below a value > 0, by its series."""
    term = total = 1.0 / shape
    place = shape
    while term > 1e-16 * total:
        place += 1.0
        term *= value / place
        total += term
    return total * math.exp(shape * math.log(value) - value - math.lgamma(shape))


def _estimates(chance: random.Random, runtimes: list[float]) -> list[float]:
    """Users' estimates of the run times, which are never shorter than the run times."""
    longest = max(runtimes)
    largest = next((value for value in _POPULAR if value >= longest), math.ceil(longest / 3600.0) * 3600.0)
    popular = [value for value in _POPULAR if value < largest][-19:]
    order = chance.sample(popular, len(popular))
    cumulated: list[float] = []
    total = 0.0
    for rank in range(len(order)):
        total += 1.0 / (rank + 2)  # the second most popular value is taken twice as often as the fifth
        cumulated.append(total)
    drawn = []
    for _ in runtimes:
        kind = chance.random()
        if kind < _MOST_POPULAR or not order:
            drawn.append(largest)
        elif kind < _HEAD:
            drawn.append(order[bisect_left(cumulated, chance.random() * total)])
        else:
            drawn.append(_ROUND * chance.randint(1, int(largest // _ROUND)))
    # The longest jobs choose first, by chance, among the estimates that are large enough for them.
    drawn.sort()
    found = [0.0] * len(runtimes)
    feasible: list[float] = []
    for place in sorted(range(len(runtimes)), key=lambda place: -runtimes[place]):
        while drawn and drawn[-1] >= runtimes[place]:
            feasible.append(drawn.pop())
        if not feasible:
            found[place] = largest
            drawn.pop(0)
            continue
        chosen = chance.randrange(len(feasible))
        feasible[chosen], feasible[-1] = feasible[-1], feasible[chosen]
        found[place] = feasible.pop()
    return found
