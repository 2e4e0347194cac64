"""The decisions of the built-in policies: keys by the published formulas, and schedules that are known.

`python tests/policies/test_schedules.py > tests/data/policies/schedules.txt` keeps the schedules of today, after a
change that is meant to change them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from replay import begins
from support import DATA

from batprotocol.errors import HostsError
from batprotocol.model import DelayProfile, Host, HostProperty, Job
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies import (
    F1,
    F2,
    F3,
    F4,
    FCFS,
    LAF,
    LCFS,
    LJF,
    PARTS,
    SAF,
    SJF,
    WFP3,
    ExpansionFactor,
    Largest,
    Multifactor,
    Order,
    Policy,
    RunningJob,
    Smallest,
    State,
    Unicep,
    WaitingJob,
    named,
)
from batprotocol.simulator import EXAMPLE_PLATFORM, Platform, Result, StaticJob, Workload, simulate

WITHOUT_ENGINE = True

KNOWN = DATA / "policies" / "schedules.txt"
ORDERS = [name for name, part in PARTS.items() if part.kind == "order"]
HOSTS = [
    name
    for name, part in PARTS.items()
    if part.kind not in ("order", "backfilling", "walltimes", "starts", "power", "settings", "replay")
]
NAMES = [
    *(f"{order}+easy" for order in ORDERS),
    *(f"{order}+conservative" for order in ("saf", "wfp3", "multifactor", "lcfs")),
    *(f"easy+{hosts}" for hosts in HOSTS),
    *(f"conservative+{hosts}" for hosts in ("contiguous", "best-contiguous", "shared=3")),
    *("none", "greedy", "greedy=saf", "greedy=laf+ljf", "easy=sjf", "easy=laf,no-spare", "easy=sjf,strict"),
    *("easy=once", "easy=strict,no-spare,once+laf", "reservations=1", "reservations=4", "reservations=3,sjf+saf"),
    *("conservative=0", "conservative=5", "conservative=20+sjf", "predicted+easy", "predicted=3+conservative+saf"),
    *(
        "recorded",
        "predicted+reservations",
        "each+easy",
        "keep+easy+saf",
        "keep+wfp3+conservative",
        "resolution=1+easy",
    ),
    *("resolution=0+conservative", "off=0+easy", "off=600+easy+best-contiguous", "off=120+conservative"),
    *("off=60+greedy+last", "off=300+shared=2+easy", "multifactor=1,5000,0+easy", "multifactor=0,0,1+easy"),
    "multifactor=2000,-500,1000+conservative",
    *("wait=daily:300,slack=1h+easy", "wait=daily:300?step=10min,slack=20min,queue+sjf+conservative"),
]
"""Policies whose schedules are known: each part, and what goes together in a way of its own."""


def workload(seed: int, jobs: int, hosts: int) -> Workload:
    """Jobs that crowd at some times, with equal sizes, walltimes and submissions among them."""
    random = Random(seed)
    made = []
    for number in range(jobs):
        run = random.choice([30.0, 60.0, float(random.randint(1, 4000)), random.expovariate(1 / 600)])
        walltime = random.choice([None, run * 1.5, run + 1, 0.8 * run + 1, 3600.0, 3600.0, 4.0 * run])
        size = random.choice([1, 1, 2, 4, random.randint(1, hosts), random.randint(1, hosts // 4)])
        at = float(random.randint(0, jobs * 8)) if random.random() < 0.7 else float(600 * random.randint(0, jobs // 60))
        user = f'{{"user":{random.randint(1, 4)}}}' if random.random() < 0.8 else None
        made.append(StaticJob(str(number), at, size, DelayProfile(round(run, 2)), walltime=walltime, extra_data=user))
    return Workload(made, {})


def simulated(name: str) -> list[Result]:
    """Two simulations: on the example platform, whose hosts sleep, and on one of 64 equal hosts."""
    return [
        simulate(EXAMPLE_PLATFORM, workload(1, 110, 32), named(name)()),
        simulate(Platform.homogeneous(64), workload(2, 80, 64), named(name)()),
    ]


def digest(results: list[Result]) -> str:
    rows = [
        (row.job_id, row.final_state, row.starting_time, str(row.allocated_resources))
        for result in results
        for row in sorted(result.jobs, key=lambda row: int(row.job_id))
    ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def known() -> dict[str, str]:
    return dict(line.split(" ") for line in KNOWN.read_text().splitlines())


def test_each_part_has_a_schedule() -> None:
    assert list(known()) == NAMES
    words = {word.partition("=")[0] for name in NAMES for word in name.split("+")}
    assert [
        part
        for part in PARTS
        if part not in words and part not in ("fcfs", "first", "requested", "site", "risk", "cap")
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_schedules_are_those_that_are_known(name: str) -> None:
    results = simulated(name)
    assert all(result.is_complete for result in results)
    assert digest(results) == known()[name]


@pytest.mark.parametrize("name", ["conservative=0", "conservative=1"])
def test_jobs_behind_one_without_a_walltime_start_when_it_has_ended(name: str) -> None:
    """They have no time to start, so its end must start them, also where another job ends as expected."""
    jobs = [
        StaticJob("endless", 0.0, 4, DelayProfile(100.0)),
        StaticJob("late", 1.0, 3, DelayProfile(50.0), walltime=50.0),
        *(StaticJob(str(number), 2.0, 4, DelayProfile(10.0), walltime=10.0) for number in range(4)),
    ]
    result = simulate(Platform.homogeneous(4), Workload(jobs, {}), named(name)())
    assert result.is_complete
    assert {row.job_id for row in result.jobs if row.starting_time is not None} == {job.id for job in jobs}


R, N, S = 7200.0, 6, 1234.5
"""A walltime, hosts, and a submission."""


@pytest.mark.parametrize(
    ("order", "key"),
    [
        (FCFS(), S),
        (LCFS(), (-S, 0)),
        (SJF(), (R, S)),
        (LJF(), -R),
        (SAF(), R * N),
        (LAF(), -R * N),
        (Smallest(), N),
        (Largest(), -N),
        (F1(), math.log10(R) * N + 870 * math.log10(S)),
        (F2(), math.sqrt(R) * N + 25600 * math.log10(S)),
        (F3(), R * N + 6860000 * math.log10(S)),
        (F4(), R * math.sqrt(N) + 530000 * math.log10(S)),
        (WFP3(), -((1000 / R) ** 3) * N),
        (Unicep(), -1000 / (math.log2(N) * R)),
        (ExpansionFactor(), -(1000 + R) / R),
        (Multifactor(), -(1000 * 1000 / 604800 + 1000 * N / 40 + 1000)),
        (Multifactor(age=7, size=-3, share=2, oldest=500), -(7 - 3 * N / 40 + 2)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_keys_are_those_of_the_formulas(order: Order, key: object) -> None:
    state = State()
    state.size, state.now = 40, S + 1000
    order.begin(state)
    job = WaitingJob("w0!1", Job(resource_request=N, walltime=R, profile_id="p"), 0, S)
    assert order.key(job, state) == pytest.approx(key, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_fair_share_is_that_of_its_formula(seed: int) -> None:
    """Against a sum over all jobs that have ended, each halved once for each half-life since its end."""
    random = Random(seed)
    shares: dict[str | int, float] = {1: 3.0, 2: 0.5}
    half_life = random.choice([10.0, 1000.0])
    order = Multifactor(age=0, size=0, share=1, half_life=half_life, shares=shares)
    state, ended = State(), list[tuple[int | None, float, float]]()
    order.begin(state)
    for number in range(40):
        state.now += random.choice([0.0, 1.0, 30.0, 400.0, 5000.0])
        user, lasted, size = random.choice([None, 1, 2, 3]), random.uniform(1, 50), random.randint(1, 9)
        text = None if user is None else f'{{"user":{user}}}'
        job = WaitingJob(f"w0!{number}", Job(resource_request=size, profile_id="p", extra_data=text), number, 0.0)
        order.ended(RunningJob(job, Hosts(range(size)).take(size), state.now - lasted), state)
        ended.append((user, lasted * size, state.now))
        used = {each: 0.0 for each, _, _ in ended}
        for each, worth, end in ended:
            used[each] += worth * 2.0 ** ((end - state.now) / half_life)
        of = {each: 1.0 if each is None else shares.get(each, 1.0) for each in used}
        known = used[user] / sum(used.values()) / (of[user] / sum(of.values()))
        assert order.key(job, state) == pytest.approx(-(2.0**-known), rel=1e-9)
        stranger = WaitingJob("w0!x", Job(resource_request=1, profile_id="p", extra_data='{"user":9}'), 0, 0.0)
        assert order.key(stranger, state) == -1.0


@pytest.mark.parametrize(
    "wrong",
    [
        *({"oldest": 0.0}, {"half_life": 0.0}, {"age": -1.0}, {"share": -1.0}, {"size": math.inf}, {"age": math.inf}),
        *({"shares": {1: 0.0}}, {"shares": {1: 1.0, 2: -1.0}}, {"shares": {1: math.inf}}),
    ],
)
def test_weights_and_shares_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected shares > 0, got|expected oldest > 0, half_life > 0, age >= 0"):
        Multifactor(**wrong)
    Multifactor(size=-1.0, age=0.0, share=0.0, shares={1: 2.0, "x": 1e-9})


def test_times_and_walltimes_of_zero_count_as_a_tenth() -> None:
    state = State()
    first = WaitingJob("w0!1", Job(resource_request=2, walltime=0.0, profile_id="p"), 0, 0.0)
    assert F1().key(first, state) == pytest.approx(-2 - 870)
    assert F3().key(first, state) == pytest.approx(-6860000)


def hosts_of(name: str, count: int, taken: list[int], speeds: list[float] | None = None) -> list[int]:
    """The hosts that a policy takes for a job, of ten hosts of which some are taken."""
    part = named(name)().allocation
    described = [
        Host(
            id=number,
            name=f"{'ab'[number // 5]}{number}",
            pstate=0,
            computation_speed=[speeds[number] if speeds else 1e9],
            zone_properties=[HostProperty("zone", "ab"[number // 5])],
        )
        for number in range(10)
    ]
    part.begin(begins(computation_hosts=described).events[0])
    free = Hosts(set(range(10)) - set(taken))
    return list(part.take(count, free, Hosts()))


@pytest.mark.parametrize(
    ("name", "count", "taken", "expected"),
    [
        ("first", 3, [0, 2], [1, 3, 4]),
        ("last", 3, [9, 7], [5, 6, 8]),
        ("contiguous", 3, [2, 9], [3, 4, 5]),
        ("contiguous", 2, [2, 9], [0, 1]),
        ("best-contiguous", 2, [2, 5, 9], [0, 1]),
        ("best-contiguous", 3, [2, 9], [3, 4, 5]),
        ("zones", 3, [0, 1], [2, 3, 4]),
        ("zones", 4, [0, 1, 5], [6, 7, 8, 9]),
        ("zones", 6, [0, 5, 6], [1, 2, 3, 4, 7, 8]),
        ("fastest", 3, [9], [6, 7, 8]),
        ("slowest", 3, [0], [1, 2, 3]),
    ],
)
def test_hosts_are_taken_as_described(name: str, count: int, taken: list[int], expected: list[int]) -> None:
    speeds = [float(number + 1) for number in range(10)]
    assert hosts_of(name, count, taken, speeds) == expected


def rows_in(hosts: Iterable[int]) -> list[list[int]]:
    """The rows of hosts with consecutive numbers."""
    rows: list[list[int]] = []
    for host in sorted(hosts):
        if not rows or rows[-1][-1] != host - 1:
            rows.append([])
        rows[-1].append(host)
    return rows


def by_groups(groups: Iterable[Sequence[int]], count: int) -> list[int]:
    """The first hosts of some groups, one after the other."""
    return list(itertools.chain.from_iterable(groups))[:count]


def smallest_that_does(groups: Iterable[list[int]], count: int) -> list[int]:
    return min((group for group in groups if len(group) >= count), key=len, default=[])


def best_fit_of(free: list[int], count: int) -> list[int]:
    found: list[int] = []
    rows = rows_in(free)
    while len(found) < count:
        missing = count - len(found)
        row = smallest_that_does(rows, missing) or max(rows, key=len)
        rows.remove(row)
        found += row[:missing]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_hosts_are_taken_as_by_looking_at_each(seed: int) -> None:
    """Each allocation against one that sorts all free hosts, or goes through all rows of them."""
    random = Random(seed)
    count_of_hosts = random.randint(1, 12)
    speeds = [float(random.randint(1, 3)) for _ in range(count_of_hosts)]
    pstates = [random.randint(0, 2) for _ in range(count_of_hosts)]
    weights = [random.randint(1, 3) for _ in range(count_of_hosts)]
    zones = [random.choice("abc") for _ in range(count_of_hosts)]
    described = [
        Host(
            id=number,
            name=f"{zones[number]}{number}",
            pstate=pstates[number],
            computation_speed=[9.0 + number] * pstates[number] + [speeds[number]],
            zone_properties=[HostProperty("zone", zones[number])] if seed % 2 else None,
            properties=[HostProperty("weight", str(weights[number]))] if weights[number] > 1 else None,
        )
        for number in range(count_of_hosts)
    ]
    free = sorted(random.sample(range(count_of_hosts), random.randint(1, count_of_hosts)))
    asleep = sorted(random.sample(free, random.randint(0, len(free))))
    count = random.randint(1, len(free))
    by_zone = [[host for host in free if zones[host] == zone] for zone in dict.fromkeys(zones)]
    expected = {
        "first": free[:count],
        "pack": free[:count],
        "spread": free[:count],
        "last": free[-count:],
        "fastest": sorted(free, key=lambda host: (-speeds[host], host))[:count],
        "slowest": sorted(free, key=lambda host: (speeds[host], host))[:count],
        "weight": sorted(free, key=lambda host: (weights[host], host))[:count],
        "awake": sorted(free, key=lambda host: (host in asleep, host))[:count],
        "best-fit": best_fit_of(free, count),
        "contiguous": next((row for row in rows_in(free) if len(row) >= count), [])[:count],
        "best-contiguous": smallest_that_does(rows_in(free), count)[:count],
        "zones": smallest_that_does(by_zone, count)[:count] or by_groups(sorted(by_zone, key=len, reverse=True), count),
    }
    assert expected.keys() == {name for name in HOSTS if PARTS[name].kind == "allocation"} - {"shared"}
    for name, hosts in expected.items():
        part, left = named(name)().allocation, Hosts(free)
        part.begin(begins(computation_hosts=described).events[0])
        longest = max(map(len, rows_in(free))) if "contiguous" in name else len(free)
        assert (part.room(left), part.vacant(left)) == (longest, len(free)), name
        if not hosts:
            with pytest.raises(HostsError):
                part.take(count, left, Hosts(asleep))
            continue
        taken = part.take(count, left, Hosts(asleep))
        assert list(taken) == sorted(hosts), name
        assert list(left) == sorted(set(free) - set(hosts))
        assert list(part.give_back(taken, left)) == sorted(hosts)
        assert list(left) == free


@pytest.mark.parametrize("seed", range(40))
def test_hosts_are_shared_as_by_counting_the_jobs_of_each(seed: int) -> None:
    random = Random(seed)
    size, share = random.randint(1, 7), random.randint(1, 4)
    part, free = named(f"shared={share}")().allocation, Hosts(range(size))
    part.begin(
        begins(
            computation_hosts=[Host(id=each, name=f"h{each}", computation_speed=[1.0]) for each in range(size)]
        ).events[0]
    )
    jobs, running = dict.fromkeys(range(size), 0), []
    for _ in range(40):
        open_ = [host for host in jobs if jobs[host] < share]
        assert list(free) == open_
        assert part.vacant(free) == sum(share - each for each in jobs.values())
        assert part.room(free) == len(open_)
        if running and (random.random() < 0.4 or not open_):
            hosts = running.pop(random.randrange(len(running)))
            for host in hosts:
                jobs[host] -= 1
            assert list(part.give_back(hosts, free)) == [host for host in hosts if not jobs[host]]
        elif open_:
            count = random.randint(1, len(open_))
            expected = sorted(sorted(open_, key=lambda host: (jobs[host], host))[:count])
            hosts = part.take(count, free, Hosts())
            assert list(hosts) == expected
            running.append(hosts)
            for host in expected:
                jobs[host] += 1


def test_the_slowest_of_equal_hosts_are_the_first() -> None:
    assert hosts_of("slowest", 2, [0]) == hosts_of("fastest", 2, [0]) == [1, 2]


def test_the_clock_is_rounded_to_the_resolution() -> None:
    state = Policy(resolution=0.5).state
    assert [state.rounded(time) for time in (0.24, 0.26, 1.75, 1e300)] == [0.0, 0.5, 2.0, 1e300]
    assert State(resolution=0.001).rounded(1.2344999) == 1.234
    assert State(resolution=10.0).rounded(26.0) == 30.0
    assert State(resolution=0.3).rounded(1000.0) == pytest.approx(999.9)  # a second is no whole number of steps
    assert State(resolution=0.7).rounded(1000.0) == pytest.approx(1000.3)
    assert State().rounded(1.23456789) == 1.23456789


if __name__ == "__main__":
    for each in NAMES:
        print(each, digest(simulated(each)))
