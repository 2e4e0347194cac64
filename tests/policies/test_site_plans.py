"""What plans of a site remember is what is computed anew; and plans that somebody else makes are those of a policy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from random import Random

import pytest

from batprotocol.model import DelayProfile, FinalJobState, Host, Job, SimulationBeginsEvent
from batprotocol.policies import EASY, FCFS, Greedy, NoBackfilling, Policy, SiteRules
from batprotocol.policies.availability import Amount, fits
from batprotocol.policies.backfilling import Backfilling, settings_of
from batprotocol.policies.jobs import EntryShapes, JobKind, KindFilter, Ranked, SiteEntry, SiteJob, State
from batprotocol.policies.site.futures import HostTimeline, KindSpace
from batprotocol.policies.site.plan import Candidates
from batprotocol.policies.site.reservations import stays
from batprotocol.policies.site.state import SizedEntries
from batprotocol.policies.site.steering import Steered
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.requests.request import NOTHING

WITHOUT_ENGINE = True
CAPACITY: dict[int, Amount] = dict.fromkeys(range(6), (4, 3))


def entry_of(number: int, size: int, expected: float, kind: JobKind) -> SiteEntry:
    job = SiteJob(str(number), Job(resource_request=size, walltime=expected, profile_id="w0!d"), number, 0.0, NOTHING)
    job.expected = expected
    entry = SiteEntry(job, "", 1, kind, number)
    kind.entries[number] = entry
    return entry


def changes(random: Random, timeline: HostTimeline, now: int) -> Iterator[None]:
    """Random changes of a timeline, none of which takes more than there is."""
    taken: list[tuple[list[int], int, int, Amount]] = []
    while True:
        if taken and random.random() < 0.5:
            timeline.give_back(*taken.pop(random.randrange(len(taken))))
        else:
            begin = now + random.choice([0, 0, random.randint(0, 20)])
            end, amount = begin + random.randint(1, 15), (random.randint(0, 3), random.randint(0, 2))
            some = [
                host for host in CAPACITY if fits(amount, timeline.least(host, begin, end)) and random.random() < 0.6
            ]
            timeline.take(some, begin, end, amount)
            taken.append((some, begin, end, amount))
        yield


@pytest.mark.parametrize("seed", range(5))
def test_a_sieve_passes_what_fits(seed: int) -> None:
    random, kind_filter = Random(seed), KindFilter()
    wanted: list[Amount] = []
    for _ in range(40):
        amount = tuple(random.randint(0, 5) for _ in range(3))
        assert kind_filter.add(amount) == 1 << len(wanted)
        wanted.append(amount)
        free = tuple(random.randint(-1, 6) for _ in range(3))
        assert kind_filter.passing(free) == sum(1 << place for place, each in enumerate(wanted) if fits(each, free))


@pytest.mark.parametrize("seed", range(20))
def test_gaps_are_those_of_the_timeline(seed: int) -> None:
    random, timeline, kind_filter, now = Random(seed), HostTimeline(CAPACITY), KindFilter(), 0
    heads: dict[int, SiteEntry] = {}
    gaps = KindSpace(timeline, heads, kind_filter)
    kinds: list[JobKind] = []
    change = changes(random, timeline, 25)
    for _ in range(20):
        next(change)
    for _ in range(60):
        if len(kinds) < 8:
            amount = (random.randint(0, 4), random.randint(0, 3))
            kinds.append(JobKind(amount, frozenset(CAPACITY), CAPACITY, None, kind_filter.add(amount)))
        if random.random() < 0.5:
            next(change)
        kind = random.choice(kinds)
        if random.random() < 0.5:
            kind.turn(random.choice(list(CAPACITY)))
        now = min(now + random.choice([0, 0, 1, 3]), 45)
        timeline.advance(now)
        lasting = sorted((timeline.lasting(host, kind.amount, now) for host in kind.fitting), reverse=True)
        assert [end - now for end in gaps.ends(kind, now)] == lasting


def test_a_reservation_stays_where_it_would_be_made_anew() -> None:
    stayed = moved = 0
    for seed in range(400):
        random, timeline, now = Random(seed), HostTimeline(CAPACITY), 0
        change = changes(random, timeline, 0)
        for _ in range(random.randint(3, 12)):
            next(change)
        kind = JobKind((random.randint(1, 3), random.randint(0, 3)), frozenset(random.sample(range(6), 5)), CAPACITY)
        entry = entry_of(1, random.randint(1, 4), float(random.randint(1, 12)), kind)
        asked = kind.hosts, entry.job.size, kind.amount, entry.expected
        entry.start, found = timeline.earliest(*asked, now)
        entry.reserved, entry.could = found[: entry.job.size], dict.fromkeys(found, (0, 0))
        own = entry.reserved, entry.start, entry.start + entry.expected, kind.amount
        timeline.take(*own)
        since = timeline.changes
        for _ in range(6):
            next(change)
            now += random.choice([0, 0, 1])
            timeline.advance(now)
            if entry.start <= now or min(min(timeline.least(host, *own[1:3])) for host in entry.reserved) < 0:
                break
            does_stay = stays(entry, timeline, since, now, entry.expected)
            timeline.give_back(*own)
            start, found = timeline.earliest(*asked, now)
            timeline.take(*own)
            timeline.undone(2)
            if not does_stay:
                moved += (start, found[: entry.job.size]) != (entry.start, entry.reserved)
                break
            assert (start, found[: entry.job.size], set(found)) == (entry.start, entry.reserved, set(entry.could))
            stayed, since = stayed + 1, timeline.changes
    assert stayed > 50
    assert moved > 20


def test_a_timeline_knows_only_its_last_changes() -> None:
    timeline = HostTimeline(CAPACITY)
    for _ in range(5000):
        timeline.take([0], 0.0, 1.0, (0, 0))
    assert timeline.since(0) is None
    last = timeline.changes - 1
    assert timeline.since(last) == [((0,), 0.0, 1.0, False)]
    timeline.restart(CAPACITY, 0.0)
    assert timeline.since(last) is None


def test_a_line_comes_again_behind_the_entry_that_started() -> None:
    kind = JobKind((1, 1), frozenset(CAPACITY), CAPACITY)
    ranked = [(place, place, entry_of(place, 1, math.inf, kind)) for place in range(6)]
    line = Candidates(kind, lambda kind: ranked.copy())
    entries = iter(line)
    assert [next(entries) for _ in range(4)] == ranked[:4]
    line.resume(ranked[1])
    assert list(line) == ranked[2:]
    line.put_back(ranked[5])
    assert list(line) == [ranked[5]]


@pytest.mark.parametrize("seed", range(20))
def test_entries_are_found_by_their_shapes(seed: int) -> None:
    random = Random(seed)
    kind = JobKind((1, 1), frozenset(CAPACITY), CAPACITY)
    shapes, entries = EntryShapes(), dict[int, SiteEntry]()
    for number in range(60):
        expected = random.choice([math.inf, 5.0, random.uniform(1, 20)])
        entry = entries[number] = entry_of(number, random.randint(1, 8), expected, kind)
        entry.expected = expected
        shapes.add(entry)
        if random.random() < 0.4:
            shapes.remove(entries.pop(random.choice(list(entries))))
        if random.random() < 0.1:
            for entry in entries.values():
                entry.expected /= 2
            shapes.renew()
        lasts = sorted(random.choice([0.0, 5.0, math.inf, random.uniform(1, 20)]) for _ in range(8))[::-1]
        most, movable = random.randint(0, 8), random.choice([0, 0, 3])
        found = shapes.among(most, min(movable, most), lambda size, lasts=lasts: lasts[size - 1])
        fits = {
            entry.number
            for entry in entries.values()
            if entry.job.size <= most and (entry.job.size <= movable or entry.expected <= lasts[entry.job.size - 1])
        }
        assert {entry.number for entry in found} == fits


# A site whose jobs somebody else starts


@pytest.mark.parametrize("seed", range(20))
def test_candidates_that_are_found_one_by_one_are_those_of_all(seed: int) -> None:
    random = Random(seed)
    ranking = SizedEntries()
    kind = JobKind((1, 1), frozenset(CAPACITY), CAPACITY, ranking)
    for number in range(random.choice([3, 40, 200])):
        entry = entry_of(number, random.randint(1, 9), round(random.uniform(0, 30), random.choice([0, 3])), kind)
        kind.shapes.add(entry)
        ranking.add(entry, random.choice([entry.job.expected, -entry.job.expected, random.randint(0, 5)]))
    slack = random.choice([0.0, 0.5])
    most, movable = random.randint(1, 9), random.choice([0, 0, 1, 3])
    ends = sorted((random.choice([math.inf, random.uniform(0, 30), 7.0]) for _ in range(9)), reverse=True)

    def may(entry: SiteEntry) -> bool:
        size = entry.job.size
        return size <= most and (size <= movable or ends[size - 1] >= entry.expected - slack)

    def every(kind: JobKind) -> list[Ranked]:
        return [ranked for ranked in ranking if may(ranked[2])]

    def first(kind: JobKind, after: Ranked | None) -> Ranked | None:
        return ranking.first(kind.shapes, after, most, movable, lambda size: ends[size - 1], slack)

    for after in [None, *random.sample([*ranking], min(len([*ranking]), 20))]:
        behind = [each for each in every(kind) if after is None or each > after]
        assert first(kind, after) == (behind[0] if behind else None)
    one_by_one, at_once = Candidates(kind, every, first), Candidates(kind, every)
    for _ in range(60):
        found = [next((each for each in line if may(each[2])), None) for line in (one_by_one, at_once)]
        last = found[0]
        assert last == found[1]
        if last is None:
            break
        which = random.random()
        if which < 0.3:
            most, movable = most - (random.random() < 0.1), max(movable - 1, 0)
            ends = [end - random.choice([0.0, 1.0]) for end in ends]
            for line in (one_by_one, at_once):
                line.put_back(last)
                line.started()
            found = [next((each for each in line if may(each[2])), None) for line in (one_by_one, at_once)]
            assert found[0] == found[1]
        elif which < 0.4:
            one_by_one.resume(last)
            at_once.resume(last)
        elif which < 0.5:
            most, movable = most + 1, movable + 1
            most = min(most, 9)
            one_by_one.resume(last)
            at_once.resume(last)


class Seen(Policy):
    """A policy that keeps the hosts of the machine."""

    hosts: tuple[Host, ...] = ()

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.hosts = tuple(event.computation_hosts)
        super().on_simulation_begins(event)


def started_by_hand(jobs: list[StaticJob], hosts: tuple[Host, ...], backfilling: Backfilling) -> dict[str, float]:
    """When jobs start that are started in their order, and besides these all that `start_others` starts."""
    state, started = State(), {}
    state.size = len(hosts)
    site = Steered(hosts, SiteRules.of({}), state, FCFS())
    coming, ends = sorted(jobs, key=lambda job: job.submission_time), list[tuple[float, str]]()
    lasts = {job.id: job.profile.delay for job in jobs if isinstance(job.profile, DelayProfile)}
    while coming or ends:
        state.now = min([each.submission_time for each in coming[:1]] + [time for time, _ in sorted(ends)[:1]])
        for end in [end for end in ends if end[0] == state.now]:
            ends.remove(end)
            assert site.ended(end[1], FinalJobState.COMPLETED_SUCCESSFULLY) is not None
        while coming and coming[0].submission_time == state.now:
            job = coming.pop(0)
            data = job.extra_data
            asked = Job(
                resource_request=job.resource_request, walltime=job.walltime, profile_id="w0!d", extra_data=data
            )
            site.submitted(job.id, asked, len(jobs) - len(coming), state.now, job.profile)
        site.passed()
        while site.queue.jobs:
            first = next(iter(site.queue.jobs))
            begun = [site.start_job(first)] if site.has_space(first) else []
            if not begun and not isinstance(backfilling, NoBackfilling):
                settings = settings_of(backfilling)
                possible = site.overtaking(first, settings)
                begun = list(site.start_others(first, settings))
                names = [each.waited.id for each in begun]
                assert set(names) <= possible.keys()
                assert bool(names) is bool(possible)
                assert not names or names[0] == next(iter(possible))
            for each in begun:
                started[each.waited.id] = state.now
                ends.append((state.now + lasts[each.waited.id], each.waited.id))
            free = site.free
            assert all(min(amount) >= 0 for amount in free.values())
            assert site.unused == len(hosts) - len(
                set().union(*(running.hosts for running in state.running.values()), frozenset())
            )
            if first in site.queue.jobs:
                break
    return started


@pytest.mark.parametrize("backfilling", [Greedy(), EASY(), NoBackfilling()], ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("seed", range(8))
def test_an_agent_that_starts_jobs_in_their_order_is_a_policy(seed: int, backfilling: Backfilling) -> None:
    random = Random(seed)
    jobs = []
    for number in range(25):
        asks = {"cores": random.randint(1, 4), "memory": f"{random.randint(1, 6)}G"} if random.random() < 0.8 else {}
        runs = random.uniform(1, 40)
        data = json.dumps(asks) if asks else None
        at, size = random.uniform(0, 100), random.randint(1, 3)
        jobs.append(StaticJob(str(number), at, size, DelayProfile(runs), runs * random.uniform(1.01, 3), data))
    policy = Seen(backfilling=backfilling, site=SiteRules.of({}))
    result = simulate(described_platform("n[0-2] cores=4 memory=8G"), Workload(jobs), policy, corrected=True)
    expected = {row.job_id: row.starting_time for row in result.jobs}
    assert started_by_hand(jobs, policy.hosts, backfilling) == pytest.approx(expected, abs=0.05)
