"""Random sites whose hosts are promised for a time, and an independent check that windows are kept.

The meanings are those of `docs/reference/host-events.md`, written a second time: the check looks at the events, at the
rows of jobs.csv, and at what jobs asked for.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import msgspec
from independent import LATE, Check
from lives import KILLED, Job, Run
from worlds import PARTS, World, world_of

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import ExternalEventList, StaticJob, described_platform
from batprotocol.workloads.host_events import HostStates, read_host_event

__all__ = ["Promise", "WindowCheck", "Windowed", "windowed_of"]

FOREVER = 2.0**52


@dataclass
class Promise:
    """A window, and when it is announced."""

    announced: float
    hosts: list[int]
    begin: float
    end: float
    name: str = ""
    users: list[Any] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)

    @property
    def is_closed(self) -> bool:
        return not (self.users or self.accounts)

    @property
    def data(self) -> str:
        window = {"begin": self.begin, "end": self.end}
        given = {key: getattr(self, key) for key in ("name", "users", "accounts") if getattr(self, key)}
        return json.dumps({"hosts": ",".join(map(str, self.hosts)), "window": window | given})

    def is_for(self, asks: dict[str, Any]) -> bool:
        """Whether a job that asks for this may run in it."""
        if self.is_closed or (self.users and str(asks.get("user")) not in map(str, self.users)):
            return False
        if self.accounts and asks.get("account") not in self.accounts:
            return False
        return asks.get("reservation") == self.name if self.name else "reservation" not in asks


@dataclass
class Windowed:
    """A world with windows."""

    world: World
    promises: list[Promise]
    risk: bool

    @property
    def events(self) -> list[ExternalEventList]:
        return [ExternalEventList.of([(each.announced, each.data) for each in self.promises], corrected=True)]


def promises_of(random: Random, host_count: int, most: int, *, endless: bool = True) -> list[Promise]:
    """Windows that do not overlap, in the order of their announcements."""
    found = []
    for _ in range(random.randint(1, most)):
        hosts = sorted(random.sample(range(host_count), random.randint(1, host_count)))
        begin = random.choice([random.randint(0, 20), random.randint(0, 90)])
        announced = random.choice([0, max(begin - random.choice([0, 1, 5, 20]), 0), begin])
        promise = Promise(float(announced), hosts, float(begin), float(begin + random.choice([2, 5, 10, 30])))
        if random.random() < 0.5:
            promise.users = random.sample([1, 2], random.randint(1, 2))
            if random.randint(0, 4) == 4:
                promise.accounts = [random.choice(["top", "low"])]
        if random.random() < 0.6:
            promise.name = random.choice("rs")
        if endless and random.randint(0, 12) == 12:
            promise.end = FOREVER
        if random.randint(0, 2) == 2:  # every so often
            step = promise.end - promise.begin + random.choice([0, 5, 20, 60])
            if promise.end < FOREVER:
                found += [
                    replace(promise, begin=promise.begin + turn * step, end=promise.end + turn * step)
                    for turn in range(1, random.randint(2, 4))
                ]
        found.append(promise)
    states, kept = HostStates(host_count), []
    for promise in sorted(found, key=lambda each: each.announced):
        window = read_host_event(promise.data)
        assert window is not None
        try:
            states.take(promise.announced, window)
        except InputError:
            continue
        kept.append(promise)
    return kept


def windowed_of(seed: int, count: int, policy: str | None, most: int = 4, **kinds: Any) -> Windowed:
    """A world with windows by chance, in which some jobs ask for reservations. One in two has no rules."""
    random = Random(seed)
    world = world_of(seed, count, policy) if random.random() < 0.5 else plain_of(random, count, policy)
    promises = promises_of(random, len(described_platform(world.hosts).hosts), most, **kinds)
    jobs = []
    for job in world.jobs:
        asks = json.loads(job.extra_data or "{}")
        asks.pop("reservation", None)
        if random.random() < 0.6:
            asks["user"] = random.choice([1, 2])
        if random.randint(0, 4) == 4:
            asks["reservation"] = random.choice("rrrsst")
        jobs.append(msgspec.structs.replace(job, extra_data=json.dumps(asks) if asks else None))
    world.jobs = jobs
    return Windowed(world, promises, random.randint(0, 7) == 7)


def plain_of(random: Random, count: int, policy: str | None) -> World:
    """Equal hosts without rules. In some worlds, all jobs have their hosts for themselves."""
    size = random.randint(2, 6)
    shares = random.random() < 0.5
    jobs = []
    for number in range(count):
        run = float(random.randint(1, 20))
        walltime = random.choice([None, run, run, run + 3, run + 10])
        asks = {"cores": random.randint(1, 4)} if shares and random.randint(0, 2) else {}
        data = json.dumps(asks) if asks else None
        at = float(random.randint(0, 40))
        jobs.append(StaticJob(str(number), at, random.randint(1, size), DelayProfile(run), walltime, extra_data=data))
    if policy is None:
        policy = "+".join(random.choice(PARTS[key]) for key in ("order", "backfilling", "allocation"))
    hosts = f"n[0-{size - 1}] cores=4"
    return World(hosts, {}, sorted(jobs, key=lambda job: (job.submission_time, int(job.id))), policy)


class WindowCheck(Check):
    """The check of a result with windows."""

    promises: list[Promise]
    risk = False
    is_predicted = False

    def all(self) -> None:
        super().all()
        self.windows()

    def limit(self, run: Run) -> float:
        return self.time_limit(run)

    def within(self, run: Run) -> Promise | None:
        """The reservation in which a job runs."""
        asks = self.jobs[run.first].asks
        for each in self.promises:
            if each.is_for(asks) and each.begin - 1e-3 <= run.start < each.end and set(run.hosts) <= set(each.hosts):
                return self.lasting(each)
        return None

    def lasting(self, promise: Promise) -> Promise:
        """A window with those that go on with it."""
        for each in self.promises:
            if each.begin == promise.end and replace(each, begin=0, end=0, announced=0) == replace(
                promise, begin=0, end=0, announced=0
            ):
                return self.lasting(replace(promise, end=each.end))
        return promise

    def windows(self) -> None:
        for run in self.runs:
            job, own = self.jobs[run.first], self.within(run)
            if "reservation" in job.asks:
                assert own is not None, f"{job.id} starts at {run.start} without its reservation"
            if own is not None:
                assert run.end <= own.end + LATE, f"{job.id} runs beyond its reservation"
                if not (self.risk or self.is_predicted or self.limit(run) == math.inf):
                    assert run.start + self.limit(run) <= own.end + LATE, f"{job.id} starts too late to be ready"
            for each in self.promises:
                if (own and own.begin <= each.begin and each.end <= own.end) or not set(run.hosts) & set(each.hosts):
                    continue
                text = f"{job.id} runs from {run.start} to {run.end} on {run.hosts}, in {each}"
                assert not each.begin <= run.start < each.end - 1e-3, text
                if run.start >= each.end - 1e-3:
                    continue
                if each.is_closed:
                    assert run.end <= each.begin + LATE, text
                is_known = each.announced < run.start - LATE
                if is_known and not (self.risk or self.is_predicted or own):
                    assert run.start + self.limit(run) <= each.begin + LATE, f"{text}: it was known"

    def is_met(self, run: Run) -> bool:
        """Whether a window has killed a job."""
        own = self.within(run)
        if own is not None and abs(run.end - own.end) <= LATE:
            return True
        return any(
            each.is_closed and set(run.hosts) & set(each.hosts) and abs(run.end - each.begin) <= LATE
            for each in self.promises
        )

    @property
    def runs(self) -> list[Run]:
        found = super().runs
        return [run for run in found if not self.is_window_kill(run)] if self._is_about_preemption else found

    _is_about_preemption = False

    def is_window_kill(self, run: Run) -> bool:
        return run.row.final_state is KILLED and self.is_met(run)

    def preemption(self) -> None:
        for run in self.runs:
            if self.is_window_kill(run):
                assert run is self.jobs[run.first].runs[-1], f"{run.first} was killed by a window, and runs again"
        self._is_about_preemption = True
        super().preemption()
        self._is_about_preemption = False

    def may_be_late(self, job: Job) -> bool:
        return super().may_be_late(job) or any(each.end >= FOREVER for each in self.promises)

    def _can_never_run(self, job: Job) -> bool:
        name = job.asks.get("reservation")
        if name is None:
            return super()._can_never_run(job)
        rest = {key: value for key, value in job.asks.items() if key != "reservation"}
        whole = job.asks
        job.asks = rest
        never = super()._can_never_run(job)
        job.asks = whole
        return never or not any(each.is_for(job.asks) for each in self.promises)

    def _may_be_refused(self, job: Job, reason: str) -> bool:
        name = job.asks.get("reservation")
        if "reservation" in reason and not reason.startswith("it waits for"):
            return name is not None
        if reason.startswith("the window"):
            return name is not None
        if reason.endswith("too few will ever be free again"):
            gone = {host for each in self.promises if each.end >= FOREVER for host in each.hosts}
            return bool(gone)
        return super()._may_be_refused(job, reason)
