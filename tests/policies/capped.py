"""Random sites under a cap of watts, and an independent check of the watts.

The check knows the watts of hosts, the rows of jobs.csv and the energy that Batsim reports: nothing of the plans.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
from lives import LATE, REJECTED
from promised import Windowed, windowed_of
from test_independent import Reasons

from batprotocol.model import DelayProfile, FinalJobState, parse_hosts
from batprotocol.policies import Policy, SiteRules, named
from batprotocol.policies.caps import Cap
from batprotocol.results.observers import EnergyRow, Observer
from batprotocol.simulator import (
    ExternalEventList,
    Platform,
    Result,
    SleepPState,
    Workload,
    described_platform,
    simulate,
)
from batprotocol.workloads.electricity import Trace, Watts
from batprotocol.workloads.electricity.hosts import declared

__all__ = ["Capped", "Outcome", "cap_of", "capped_of", "check_watts", "most", "run", "watts_of"]


@dataclass
class Capped:
    """A world with windows, watts of hosts, a cap, and events of hosts."""

    windowed: Windowed
    watts: list[Watts]
    cap: Trace
    failures: list[tuple[float, str]]
    policy: str
    slower: tuple[float, ...] = ()
    """The shares of the speed of slower power states. They draw this share of the watts beyond idle."""

    after: float = math.inf
    """The seconds without a job after which hosts are switched off."""
    sleep: tuple[float, ...] = ()
    """Of hosts that sleep: the seconds to be off and on, and the watts while they sleep, leave and wake."""

    @property
    def platform(self) -> Platform:
        plain = described_platform(self.windowed.world.hosts)
        hosts = []
        for host, watts in zip(plain.hosts, self.watts, strict=True):
            states = [watts]
            for share in self.slower:
                full = watts.idle + share * (most(watts) - watts.idle)
                states.append(Watts(watts.idle, min(watts.epsilon, full), full))
            speeds = host.speeds + tuple(share * host.speeds[0] for share in self.slower)
            sleeps: tuple[SleepPState, ...] = ()
            if self.sleep:
                off, on, *draws = self.sleep
                states += [Watts(each, each, each) for each in draws]
                sleeps = (SleepPState(len(speeds), len(speeds) + 1, len(speeds) + 2),)
                speeds += (1.0, 1 / off, 1 / on)
            properties = (*host.properties, *declared(states, sleeps).items())
            changed = {"watts": tuple(states), "speeds": speeds, "properties": properties, "sleep_pstates": sleeps}
            hosts.append(msgspec.structs.replace(host, **changed))
        return plain.replaced(hosts)

    def cap_at(self, time: float) -> float:
        """The cap at a time, the first and the last values before and after all times."""
        trace = self.cap
        if trace.repeats:
            time = trace.begin + (time - trace.begin) % trace.period
        return trace.values[max(bisect_right(trace.times, time) - 1, 0)]

    def cap_around(self, time: float) -> float:
        """The cap at a time that may be a little late or early."""
        return max(self.cap_at(time - LATE), self.cap_at(time), self.cap_at(time + 1e-3))

    @property
    def idle(self) -> float:
        return sum(each.idle for each in self.watts)

    @property
    def peak(self) -> float:
        return sum(map(most, self.watts))


def most(watts: Watts) -> float:
    return max(watts.idle, watts.epsilon, watts.max)


def watts_of(random: Random, count: int) -> list[Watts]:
    """Watts of hosts, mostly equal ones."""
    kinds = []
    for _ in range(random.choice([1, 1, 2, 3])):
        idle = random.choice([50.0, 95.1, 100.0])
        full = idle + random.choice([0.0, 10.0, 100.3, 150.0])
        kinds.append(Watts(idle, random.choice([idle, (idle + full) / 2, full + 5]), full))
    return [random.choice(kinds) for _ in range(count)]


def cap_of(random: Random, watts: list[Watts]) -> Trace:
    """A cap between what idle hosts draw and what they draw at most: constant, in steps, or again and again."""
    idle, peak = sum(each.idle for each in watts), sum(map(most, watts))
    increments = sorted(most(each) - each.idle for each in watts)

    def some() -> float:
        if random.randint(0, 3) == 3:
            return idle + sum(random.sample(increments, random.randint(1, len(watts))))  # it just suffices for some
        return idle + (peak - idle) * random.choice([0.3, 0.6, 0.9, random.random()])

    count = random.choice([1, 1, 2, 4])
    times = sorted({0.0, *(float(random.randint(1, 80)) for _ in range(count - 1))})
    values = [some() for _ in times]
    if count > 1 and random.random() < 0.4:
        return Trace(times, values, times[-1] + random.randint(5, 30), "W", repeats=True)
    return Trace(times, values, math.inf, "W")


def capped_of(seed: int, count: int, policy: str | None, *, fails: bool = False, sleeps: bool = False) -> Capped:
    """A world under a cap."""
    random = Random(seed + 1)
    windowed = windowed_of(seed, count, policy, endless=seed % 5 == 0)
    if random.random() < 0.4:
        windowed.promises = []
    size = len(described_platform(windowed.world.hosts).hosts)
    watts = watts_of(random, size)
    part, failures = "", list[tuple[float, str]]()
    slower = random.choice([(), (), (), (0.6,), (0.8, 0.5)])
    if fails:
        from test_promised import failures_of

        part = random.choice(["", "+requeue", "+requeue=1,last", "+checkpoint=5,1", "+checkpoint=4,1,last"])
        failures = failures_of(random, size)
    capped = Capped(windowed, watts, cap_of(random, watts), failures, windowed.world.policy + part, slower)
    if sleeps:
        capped.sleep = (
            random.choice([1.0, 2.5]),
            random.choice([1.0, 4.0]),
            5.0,
            60.0,
            random.choice([60.0, 120.0, 200.0]),
        )
        share = random.choice([0.3, 0.6, 0.9])
        cap = capped.cap
        least = size * capped.sleep[2] + max(capped.sleep[4], *map(most, watts))
        values = [max(share * value, least) for value in cap.values]
        if random.random() < 0.3:  # hosts sleep for other reasons than the cap
            capped.after = random.choice([0.0, 3.0])
            least = sum(max(each.idle, *capped.sleep[3:]) for each in watts)
            values = [max(value, least + share * (value - capped.idle)) for value in cap.values]
        capped.cap = Trace(cap.times, values, cap.end, "W", repeats=cap.repeats)
    return capped


class Rows(Observer):
    """The energy that Batsim reports."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def energy_read(self, row: EnergyRow) -> None:
        self.points.append((row.time, row.energy))


@dataclass
class Outcome:
    """What became of a world under a cap."""

    result: Result
    policy: Policy
    points: list[tuple[float, float]]
    reasons: dict[str, str]


def run(capped: Capped, *, cap: bool = True, corrected: bool = True, make: Any = Policy, look: Any = None) -> Outcome:
    """Simulate."""
    world = capped.windowed.world
    plain: Any = named(capped.policy)()
    policy = make(
        *(plain.order, plain.backfilling, plain.allocation),
        walltimes=plain.walltimes,
        site=SiteRules.of(world.tables) if world.tables else None,
        risk=capped.windowed.risk,
        failures=plain.failures,
        cap=Cap(capped.cap, slow=bool(capped.slower), off=bool(capped.sleep) and capped.after == math.inf)
        if cap
        else None,
        off_after=capped.after,
    )
    policy.look = look
    windows = [(each.announced, each.data) for each in capped.windowed.promises]
    events = ExternalEventList.of(windows + capped.failures, corrected=True)
    rows, reasons, logger = Rows(), Reasons(), logging.getLogger("batprotocol.policies")
    logger.addHandler(reasons)
    try:
        result = simulate(
            *(capped.platform, Workload(world.jobs, {}), policy),
            external_events=[events] if windows or capped.failures else [],
            energy=True,
            corrected=corrected,
            observers=[rows],
        )
    finally:
        logger.removeHandler(reasons)
    return Outcome(result, policy, rows.points, reasons.found)


def check_watts(capped: Capped, outcome: Outcome) -> None:
    """The watts never exceed the cap, all jobs end, and nothing of the cap is lost."""
    result = outcome.result
    assert result.is_complete
    ends = [(row.workload_name, row.job_id) for row in result.jobs]
    assert len(set(ends)) == len(ends)
    assert {id for name, id in ends if name == "w0"} == {job.id for job in capped.windowed.world.jobs}
    # While no job runs, one host may leave although it draws more then: others would never have its watts.
    leaving = max(capped.sleep[3] - min(each.idle for each in capped.watts), 0.0) if capped.sleep else 0.0
    for (begin, before), (end, after) in pairwise(outcome.points):
        if end - begin > 1e-4 and not (capped.sleep and begin < capped.sleep[0] + LATE):  # at first, all are on
            watts = (after - before) / (end - begin)
            allowed = max(capped.cap_around(begin), capped.cap_around(end)) + leaving
            assert watts <= allowed + 1e-3, f"{watts} W until {end}"
    site = outcome.policy.site
    assert site is None or site.is_idle
    if capped.slower or capped.sleep:  # what jobs may draw depends on their power states
        jobs = {job.id: job for job in capped.windowed.world.jobs}
        for row in result.jobs:
            job = jobs.get(row.job_id)
            if job is None or job.extra_data or row.final_state is not FinalJobState.COMPLETED_WALLTIME_REACHED:
                continue
            profile, walltime = job.profile, job.walltime or math.inf
            length = profile.delay if isinstance(profile, DelayProfile) else profile.computation_amount / 1e9
            assert length >= walltime, f"{job.id} would have ended at the usual speed"
        return
    changes: list[tuple[float, int, list[int]]] = []
    for row in result.jobs:
        if row.final_state is not REJECTED:
            hosts = list(parse_hosts(row.allocated_resources))
            changes += [(row.starting_time, 1, hosts), (row.starting_time + row.execution_time, -1, hosts)]
    changes.sort(key=lambda change: change[:2])
    busy: Counter[int] = Counter()
    drawn, last = capped.idle, max((time for time, _, _ in changes), default=0.0)
    steps = sorted(
        [*changes, *((time, 0, list[int]()) for time in steps_until(capped.cap, last))], key=lambda each: each[:2]
    )
    for place, (time, change, hosts) in enumerate(steps):
        for host in hosts:
            was = busy[host] > 0
            busy[host] += change
            drawn += (most(capped.watts[host]) - capped.watts[host].idle) * ((busy[host] > 0) - was)
        following = steps[place + 1][0] if place + 1 < len(steps) else math.inf
        if following - time > LATE:  # what ends just when the cap falls is late by microseconds
            allowed = capped.cap_at(time + LATE)
            assert drawn <= allowed + 1e-3, f"jobs may draw {drawn} W of {allowed} W at {time}"


def steps_until(cap: Trace, end: float) -> list[float]:
    """The times at which a cap changes, up to a time."""
    if not cap.repeats:
        return [time for time in cap.times if time <= end]
    turns = range(int((end - cap.begin) / cap.period) + 2)
    return [time + turn * cap.period for turn in turns for time in cap.times if time + turn * cap.period <= end]
