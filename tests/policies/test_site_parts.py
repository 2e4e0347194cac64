"""The parts of a site, each against a naive one: the timeline, allocations, and the jobs that give way."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from support import rows_of

from batprotocol.model import (
    DelayProfile,
    Host,
    HostProperty,
    Job,
    KillProgress,
    KillProgressAtomicProfile,
    ParallelTaskHomogeneousProfile,
    Profile,
)
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies.allocations import RANKINGS, Chooser, best_fit
from batprotocol.policies.availability import WHOLE, Amount, Pool
from batprotocol.policies.jobs import JobKind, SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.site.futures import HostTimeline
from batprotocol.policies.site.reruns import Preemptions, Reruns, remaining
from batprotocol.policies.site.rules import SiteRules, mapping_of
from batprotocol.workloads.requests import Request, read_offer, read_request
from batprotocol.workloads.requests.notation import matches
from batprotocol.workloads.requests.offers import needs_of

WITHOUT_ENGINE = True
HORIZON = 24
SECONDS = range(HORIZON + 1)
CAPACITY = {0: (4, 3), 2: (4, 3), 3: (2, 3)}
"""The capacity of three hosts, in two dimensions."""


class NaiveTimeline:
    """The free amounts of each host in each second; the last one holds from then on."""

    def __init__(self) -> None:
        self.free = {host: [list(amount) for _ in range(HORIZON + 1)] for host, amount in CAPACITY.items()}

    def change(self, hosts: list[int], begin: int, end: float, by: Amount) -> None:
        for host in hosts:
            for free in self.free[host][begin : HORIZON + 1 if end == math.inf else int(end)]:
                free[:] = [there + more for there, more in zip(free, by, strict=True)]

    def lasting(self, host: int, amount: Amount, now: int) -> float:
        for time in range(now, HORIZON + 1):
            if any(wanted > there for wanted, there in zip(amount, self.free[host][time], strict=True)):
                return time - now
        return math.inf


@pytest.mark.parametrize("seed", range(40))
def test_the_timeline_is_that_of_a_naive_one(seed: int) -> None:
    random = Random(seed)
    timeline, naive, now = HostTimeline(CAPACITY, 0.0), NaiveTimeline(), 0
    taken: list[tuple[list[int], int, float, Amount]] = []
    for _ in range(25):
        action = random.choice(["take", "take", "give_back", "advance", "earliest", "earliest", "look"])
        some = random.sample(sorted(CAPACITY), random.randint(1, 3))
        amount: Amount = (random.randint(0, 3), random.randint(0, 3))
        begin = max(random.randint(0, HORIZON), now)
        if action == "take":
            end = random.choice([math.inf, *map(float, range(begin, HORIZON + 1))])
            timeline.take(some, begin, end, amount)
            naive.change(some, begin, end, tuple(-each for each in amount))
            if end > begin:
                taken.append((some, begin, end, amount))
        elif action == "give_back" and taken:
            some, begin, end, amount = taken.pop(random.randrange(len(taken)))
            timeline.give_back(some, begin, end, amount)
            naive.change(some, begin, end, amount)
        elif action == "advance":
            now = max(now, min(begin, now + 4))
            timeline.advance(now)
        elif action == "earliest":
            count, seconds, needs_two = random.randint(1, 3), random.randint(1, 12), random.random() < 0.3
            before = random.choice([math.inf, math.inf, *range(begin, HORIZON + 1)])
            room = [[host for host in sorted(some) if naive.lasting(host, amount, time) >= seconds] for time in SECONDS]
            expected: tuple[float, list[int]] = next(
                (
                    (time, room[time])
                    for time in range(begin, HORIZON + 1)
                    if len(room[time]) >= count and time <= before and (2 in room[time] or not needs_two)
                ),
                (math.inf, []),
            )
            choose = (lambda found, _: found if 2 in found else None) if needs_two else None
            assert timeline.earliest(some, count, amount, seconds, begin, choose, before) == expected
            one = some[0]
            opens = any(one in hosts for time, hosts in enumerate(room) if begin <= time < before)
            assert timeline.opens(one, amount, seconds, begin, before) == opens
        else:
            for host in CAPACITY:
                assert timeline.lasting(host, amount, begin) == naive.lasting(host, amount, begin)
                last = random.randint(begin + 1, HORIZON + 1)
                least = tuple(map(min, zip(*naive.free[host][begin:last], strict=True)))
                assert timeline.least(host, begin, last) == least
    timeline.advance(HORIZON)
    for some, begin, end, amount in taken:
        timeline.give_back(some, max(begin, HORIZON), end, amount)
    for host, amount in CAPACITY.items():  # nothing is left of it
        assert timeline.least(host, HORIZON, math.inf) == amount
    assert list(timeline.moments()) == [(host, HORIZON, amount) for host, amount in CAPACITY.items()]


def test_the_first_time_stands_for_all_before_it() -> None:
    timeline = HostTimeline({0: (2,)}, 10.0)
    timeline.take([0], 20.0, 30.0, (1,))
    timeline.take([0], 2.0, 15.0, (1,))
    assert timeline.least(0, 0.0, 12.0) == timeline.least(0, 12.0, 40.0) == (1,)
    assert timeline.lasting(0, (2,), 10.0) == 0.0
    assert timeline.earliest([0], 1, (2,), 5.0, 0.0) == (15.0, [0])
    assert timeline.earliest([0], 1, (2,), 6.0, 0.0) == (30.0, [0])
    assert timeline.earliest([0], 1, (1,), 100.0, 0.0) == (10.0, [0])
    timeline.give_back([0], 2.0, 8.0, (1,))  # that is over
    assert timeline.least(0, 0.0, 12.0) == (1,)
    assert timeline.opens(0, (2,), 5.0, 0.0, 15.5)
    assert not timeline.opens(0, (2,), 5.0, 0.0, 15.0)
    timeline.take([0], 25.0, 25.0, (2,))  # for no time
    assert timeline.least(0, 20.0, 30.0) == (1,)


FEATURES = {0: "a", 1: "a,b", 2: "b", 3: "", 5: "a", 6: "b", 7: "a,b"}


def offered(number: int, **properties: str) -> Host:
    given_ = [HostProperty(key, value) for key, value in properties.items()]
    return Host(id=number, name=f"n{number}", core_count=8, properties=given_, computation_speed=[1.0])


OFFERS = {
    number: read_offer(offered(number, features=features, weight=str(1 + number % 3)))
    for number, features in FEATURES.items()
}
CONSTRAINTS = [
    None,
    "a*1",
    "b*2",
    "a*2&b*2",
    "[a*2&b*3]",
    "a*3&b*2&(!a)*1",
    "a*3&b*3&(a|b)*4",
    "[a|b]",
    "[b|a]",
    "[(a&b)|b]",
    "[(!a)|b]",
]


@pytest.mark.parametrize("ranking", [*RANKINGS, "best-fit"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_hosts_are_chosen_as_by_trying_all(ranking: str, constraint: str | None) -> None:
    random = Random(f"{ranking} {constraint}")
    for number in range(30):
        hosts = sorted(random.sample(sorted(FEATURES), random.randint(0, 7)))
        cores = [random.randint(0, 4) for _ in range(8)]
        choose_one(ranking, constraint, hosts, random.randint(1, 4), cores, number % 3 == 0, number % 4 == 0)


def choose_one(
    ranking: str, constraint: str | None, hosts: list[int], count: int, cores: list[int], contiguous: bool, first: bool
) -> None:
    """Choose once, and compare."""
    request = read_request(json.dumps({"constraint": constraint, "contiguous": contiguous}))
    free = {host: (1, cores[host], 1) for host in FEATURES}
    prefers = (lambda host: -cores[host] // 2) if first else None
    chosen = Chooser(ranking, OFFERS).choose(hosts, count, request, free, prefers)
    parsed = request.constraint

    def suffices(group: tuple[int, ...]) -> bool:
        if contiguous and group[-1] - group[0] != count - 1:
            return False
        return suits(group, request)

    possible = [group for group in itertools.combinations(hosts, count) if suffices(group)]
    if chosen is None:
        assert not possible
        return
    assert tuple(chosen) in possible
    if parsed is not None and parsed.same:  # the first alternative that does
        each = next(
            each for each in parsed.same if any(all(matches(each, OFFERS[h].features) for h in g) for g in possible)
        )
        assert all(matches(each, OFFERS[host].features) for host in chosen)
        return
    if parsed is not None or contiguous:
        return
    if ranking == "best-fit":
        ranked = best_fit(hosts, count)
    else:
        key = {
            "pack": lambda host: (cores[host], host),
            "spread": lambda host: (-cores[host], host),
            "weight": lambda host: (OFFERS[host].weight, cores[host], host),
            "numbers": lambda host: host,
        }[ranking]
        ranked = sorted(hosts, key=key)
    if prefers is not None:
        ranked.sort(key=prefers)
    assert chosen == sorted(ranked[:count])


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_hosts_that_a_job_names_are_chosen_as_by_trying_all(constraint: str | None, contiguous: bool) -> None:
    """There are hosts for it whenever a set with those that it names is enough, and they are such a set."""
    random = Random(f"named {constraint} {contiguous}")
    for _ in range(40):
        hosts = sorted(random.sample(sorted(FEATURES), random.randint(2, len(FEATURES))))
        named, count = set(random.sample(sorted(FEATURES), random.randint(1, 2))), random.randint(1, 4)
        texts = ",".join(f"n{each}" for each in sorted(named))
        data = {"constraint": constraint, "contiguous": contiguous, "nodelist": texts}
        request = read_request(json.dumps(data))
        free = dict.fromkeys(FEATURES, (1, 1, 1))
        chosen = Chooser("numbers", OFFERS).choose(hosts, count, request, free)
        possible = [
            group
            for group in itertools.combinations(hosts, count)
            if named.issubset(group) and (not contiguous or group[-1] - group[0] == count - 1) and suits(group, request)
        ]
        assert (chosen is None) == (not possible)
        assert chosen is None or tuple(chosen) in possible


def suits(group: Sequence[int], request: Request) -> bool:
    """Whether hosts satisfy the constraint of a request together."""
    parsed, has = request.constraint, [OFFERS[host].features for host in group]
    if parsed is None:
        return True
    same = not parsed.same or any(all(matches(each, features) for features in has) for each in parsed.same)
    return same and all(sum(matches(each, of) for of in has) >= number for number, each in parsed.counts)


@pytest.mark.parametrize("count", range(1, 9))
def test_best_fit_takes_the_smallest_interval_that_suffices(count: int) -> None:
    random = Random(count)
    for _ in range(20):
        is_best_fit(random.sample(range(20), random.randint(1, 18)), count)


def is_best_fit(hosts: list[int], count: int) -> None:
    """Rank hosts, and look at the first ones."""
    ordered = best_fit(hosts, count)
    assert sorted(ordered) == sorted(hosts)
    lengths = rows_of(hosts)
    enough = [length for length in lengths.values() if length >= count]
    begin = ordered[0]
    assert lengths[begin] == (min(enough) if enough else max(lengths.values()))
    if enough:
        assert ordered[:count] == list(range(begin, begin + count))


def test_contiguous_hosts_are_of_the_shortest_interval_that_does() -> None:
    request = read_request('{"contiguous": true}')
    free = dict.fromkeys(FEATURES, (1, 1, 1))
    chooser = Chooser("spread", OFFERS)
    assert chooser.choose([0, 1, 2, 5, 6], 2, request, free) == [5, 6]
    assert chooser.choose([0, 1, 2, 5, 6], 3, request, free) == [0, 1, 2]
    assert chooser.choose([0, 1, 2, 5, 6], 4, request, free) is None
    with pytest.raises(ValueError, match="there is no allocation 'tight'; there are best-fit, pack, spread"):
        Chooser("tight", OFFERS)


def site_pool() -> Pool:
    hosts = [
        offered(0, memory="4G", gres="gpu:a100:2,gpu:2,fpga:1"),
        offered(1, memory="4G", gres="gpu:v100:4"),
        offered(2, cores="2"),
    ]
    return Pool([read_offer(host) for host in hosts])


@pytest.mark.parametrize(
    ("data", "is_whole", "expected"),
    [
        ({}, True, (WHOLE, 0, 0, 0, 0, 0, 0)),
        ({"cores": 3}, False, (1, 3, 0, 0, 0, 0, 0)),
        ({"memory": "2G"}, False, (1, 1, 2 << 30, 0, 0, 0, 0)),
        ({"gres": {"gpu": 1, "gpu:a100": 2, "fpga": 1}}, False, (1, 1, 0, 1, 3, 2, 0)),
        ({"gres": {"gpu:v100": 3}}, False, (1, 1, 0, 0, 3, 0, 3)),
    ],
)
def test_the_amount_of_a_job(data: dict[str, Any], is_whole: bool, expected: Amount) -> None:
    pool = site_pool()
    assert pool.kinds == (("fpga", None), ("gpu", None), ("gpu", "a100"), ("gpu", "v100"))
    assert pool.capacity[0] == (WHOLE, 8, 4 << 30, 1, 4, 2, 0)
    assert pool.capacity[1] == (WHOLE, 8, 4 << 30, 0, 4, 0, 4)
    assert pool.capacity[2][1:] == (2, 1 << 62, 0, 0, 0, 0)
    amount = pool.amount(needs_of(read_request(json.dumps(data)), 1), is_whole)
    assert amount == expected
    pool.take([0, 2], amount)
    assert pool.free[1] == pool.capacity[1]
    assert pool.free[0] == tuple(there - taken for there, taken in zip(pool.capacity[0], amount, strict=True))
    pool.give_back([0, 2], amount)
    assert pool.free == pool.capacity


def waiting(name: str, size: int = 1, profile: Profile | None = None, **data: Any) -> SiteJob:
    job = Job(resource_request=size, profile_id="w0!p", walltime=100.0)
    made = SiteJob(name, job, 0, 0.0, read_request(json.dumps(data) if data else None))
    made.profile = profile
    return made


WORK = ParallelTaskHomogeneousProfile(8.0, 4.0)


@pytest.mark.parametrize(
    ("profile", "progress", "expected"),
    [
        (DelayProfile(10.0), KillProgressAtomicProfile("w0!p", 0.25), DelayProfile(7.5)),
        (WORK, KillProgressAtomicProfile("w0!p", 0.75), ParallelTaskHomogeneousProfile(2.0, 1.0)),
        (DelayProfile(10.0), KillProgressAtomicProfile("w0!p", 0.0), None),
        (DelayProfile(10.0), KillProgressAtomicProfile("w0!p", 1.0), None),
        (DelayProfile(10.0), None, None),
    ],
)
def test_the_work_that_remains(profile: Profile, progress: KillProgress | None, expected: Profile | None) -> None:
    assert remaining(profile, progress) == expected
    lives, job = Reruns(None, 1e9, lambda: None), waiting("w0!a!7", profile=profile)
    assert lives.current("w0!a!7") == "w0!a!7"
    for number in (1, 2):
        run = lives.next(job, progress, is_saved=True)
        assert run.id == lives.current("w0!a!7") == f"again!w0-a-7~{number}"
        assert run.profiles == ([] if expected is None else [(run.id, expected)])
        assert run.profile == (expected or profile)
        assert run.job.profile_id == ("w0!p" if expected is None else run.id)
        assert (run.job.resource_request, run.number) == (1, number)


@pytest.mark.parametrize(
    ("tasks", "hosts", "expected"), [(4, 2, [0, 0, 1, 1]), (5, 2, [0, 0, 0, 1, 1]), (2, 2, [0, 1])]
)
def test_tasks_fill_one_host_after_the_other(tasks: int, hosts: int, expected: list[int]) -> None:
    numbers = list(range(10, 10 + hosts))
    assert mapping_of(waiting("1", hosts, WORK, tasks=tasks), numbers) == expected
    assert mapping_of(waiting("1", hosts, WORK), numbers) is None
    assert mapping_of(waiting("1", hosts, DelayProfile(1.0), tasks=tasks), numbers) is None


def test_the_array_of_a_task_belongs_to_its_workload() -> None:
    assert waiting("w0!x", array="12_3").array == "w0!12"
    assert waiting("w0!x").array == ""


TABLES = {
    "partitions": {
        "low": {"tier": 1, "preempt": "requeue", "grace": 5},
        "safe": {"tier": 1},
        "high": {"tier": 2, "preempt": "cancel", "grace": 7},
    },
    "qos": {"urgent": {"preempts": ["cheap"]}, "cheap": {"preempt": "checkpoint", "grace": 9}},
}


class Machine:
    """Hosts with four cores each, and jobs that run on them."""

    def __init__(self, hosts: int, order: str = "least") -> None:
        machine = [offered(number, cores="4") for number in range(hosts)]
        offers = [read_offer(host) for host in machine]
        self.rules = SiteRules.of({**TABLES, "order_of_victims": order, "partitions": TABLES["partitions"]})
        self.pool = Pool(offers)
        self.preempting = Preemptions(self.rules, self.pool, Chooser("numbers", {offer.id: offer for offer in offers}))
        self.running: list[SiteRunning] = []

    def entry(self, size: int, cores: int, partition: str, **data: Any) -> SiteEntry:
        job = waiting(f"w0!{len(self.running)}", size, cores=cores, **data)
        amount = self.pool.amount(needs_of(job.request, size), False)
        kind = JobKind(amount, frozenset(self.pool.capacity), self.pool.free)
        tier = self.rules.partitions[partition].tier
        entry = SiteEntry(job, partition, tier, kind, len(self.running))
        entry.cores = size * cores
        return entry

    def run(self, hosts: list[int], cores: int, partition: str, started: float = 0.0, **data: Any) -> SiteRunning:
        entry = self.entry(len(hosts), cores, partition, **data)
        self.pool.take(hosts, entry.kind.amount)
        frozen = Hosts(hosts).take(len(hosts))
        self.running.append(SiteRunning(entry, hosts, frozen, started, len(self.running)))
        return self.running[-1]

    def find(
        self, entry: SiteEntry, now: float = 100.0, heads: list[SiteEntry] | None = None
    ) -> tuple[list[str], list[int]] | None:
        way = self.preempting.find(entry, self.running, now, heads or [])
        return None if way is None else ([job.waited.id for job in way.victims], way.hosts)


@pytest.mark.parametrize(
    ("partition", "qos", "mode", "grace", "to_tier", "to_urgent"),
    [
        ("low", None, "requeue", 5.0, True, False),
        ("safe", None, "off", 0.0, False, False),
        ("high", None, "cancel", 7.0, False, False),
        ("low", "cheap", "checkpoint", 9.0, True, True),
        ("safe", "cheap", "checkpoint", 9.0, False, True),
        ("low", "urgent", "requeue", 5.0, True, False),
    ],
)
def test_who_gives_way_to_whom(
    partition: str, qos: str | None, mode: str, grace: float, to_tier: bool, to_urgent: bool
) -> None:
    machine = Machine(1)
    job = machine.run([0], 4, partition, qos=qos)
    assert machine.preempting.terms(job) == (mode, grace, 0.0)
    assert (machine.find(machine.entry(1, 2, "high")) is not None) == to_tier
    assert (machine.find(machine.entry(1, 2, "low", qos="urgent")) is not None) == to_urgent
    assert machine.find(machine.entry(1, 2, "low")) is None
    job.is_giving_way = True
    assert machine.find(machine.entry(1, 2, "high")) is None


@pytest.mark.parametrize(("order", "expected"), [("least", ["w0!1"]), ("youngest", ["w0!2"]), ("priority", ["w0!0"])])
def test_the_order_of_those_that_give_way(order: str, expected: list[str]) -> None:
    machine = Machine(1, order)
    machine.run([0], 1, "low", 10.0, priority=1)  # 90 s on a core
    machine.run([0], 1, "low", 15.0, priority=2)  # 85 s on a core
    machine.run([0], 2, "low", 20.0, priority=3)  # 80 s on two cores
    assert machine.find(machine.entry(1, 1, "high")) == (expected, [0])


def test_work_that_is_kept_is_no_loss() -> None:
    machine = Machine(1)
    machine.run([0], 2, "low", 50.0)
    machine.run([0], 2, "low", 0.0, qos="cheap")
    assert machine.find(machine.entry(1, 1, "high")) == (["w0!1"], [0])


def test_of_equal_losses_that_of_the_job_that_started_last_comes_first() -> None:
    machine = Machine(1)
    for started in (10.0, 30.0, 20.0):
        machine.run([0], 1, "low", started, qos="cheap")
    assert machine.find(machine.entry(1, 2, "high")) == (["w0!1"], [0])
    assert machine.find(machine.entry(1, 3, "high")) == (["w0!1", "w0!2"], [0])


def test_as_few_jobs_as_possible_give_way() -> None:
    machine = Machine(3)
    machine.run([0], 1, "low", 90.0)
    machine.run([0], 3, "low", 80.0)
    machine.run([1], 2, "low", 0.0)
    machine.run([1], 2, "low", 0.0)
    machine.run([2], 4, "safe")
    # On host 0, the first job alone would not be enough, and is not needed beside the second one.
    assert machine.find(machine.entry(1, 3, "high")) == (["w0!1"], [0])
    assert machine.find(machine.entry(1, 2, "high")) == (["w0!1"], [0])
    assert machine.find(machine.entry(1, 1, "high")) == (["w0!0"], [0])
    assert machine.find(machine.entry(2, 2, "high")) == (["w0!1", "w0!2"], [0, 1])
    assert machine.find(machine.entry(2, 4, "high")) == (["w0!0", "w0!1", "w0!2", "w0!3"], [0, 1])
    assert machine.find(machine.entry(3, 1, "high")) is None
    # Hosts that are being freed for somebody are left alone; those of a later reservation are not.
    head = machine.entry(1, 4, "high")
    head.reserved, head.start = [0], 100.0
    assert machine.find(machine.entry(1, 1, "high"), heads=[head]) == (["w0!2"], [1])
    head.start = 101.0
    assert machine.find(machine.entry(1, 1, "high"), heads=[head]) == (["w0!0"], [0])
