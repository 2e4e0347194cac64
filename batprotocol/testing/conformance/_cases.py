"""Inputs to test decision components with: platforms, workloads and external events, small and full of coincidences.

A `Case` is the input of one simulation. The cases come in `STAGES`. Each stage has something that decision components
get wrong, the common mistakes first; the last stage combines everything. Each stage begins with its smallest case.
hypothesis shrinks a finding as far as it can, so the first numbers and names in each list are the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from batprotocol.model import (
    DelayProfile,
    Doubles,
    HomogeneousParallelTaskGenerationStrategy,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
)
from batprotocol.simulator import ExternalEventList, Platform, StaticJob, Workload, WorkloadProfile
from batprotocol.testing import simulations
from batprotocol.workloads.network import ClusterZone, Link
from batprotocol.workloads.platform import PlatformHost, Role, SleepPState, Watts

T = TypeVar("T")

_COMPUTES: Final = "C"
_STORES: Final = "S"
_SPEED: Final = 1e8
_SLEEP: Final = SleepPState(1, 2, 3)
_SPEEDS: Final = (_SPEED, 1.0, 0.5, 0.25)
_WATTS: Final = (Watts(50.0, 90.0, 150.0), Watts(9.0, 9.0, 9.0), Watts(70.0, 70.0, 70.0), Watts(110.0, 110.0, 110.0))
_QUICK: Final = 5e-6
_SLOW: Final = (0.25, 1.0)
"""Seconds that a message takes on its way: decisions act later, and much happens in between."""

_TIMES: Final = (0.0, 0.0, 1.0, 5.0, 10.0, 2.0, 7.5, 20.0, 60.0, 100.0)
_DELAYS: Final = (1.0, 5.0, 10.0, 2.5, 30.0, 100.0)
_LONG: Final = (100.0, 700.0, 5000.0)


class Case(NamedTuple):
    """The inputs of one simulation.

    Args:
        platform: the hosts.
        workloads: the jobs.
        events: lists of external events.
        energy: whether energy is measured.
    """

    platform: Platform
    workloads: tuple[Workload, ...] = ()
    events: tuple[ExternalEventList, ...] = ()
    energy: bool = False

    def __repr__(self) -> str:
        return "; ".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The inputs in words, for people."""
        computing, storing = self.platform.computation_hosts, self.platform.storage_hosts
        ids = " ".join(str(host.id) for host in computing)
        yield f"{len(computing)} computation hosts ({ids})" if len(computing) != 1 else f"1 computation host ({ids})"
        if storing:
            yield f"storage hosts: {', '.join(f'{host.id} is {host.name!r}' for host in storing)}"
        cost = max((self.platform.message_cost(host) for host in computing), default=0.0)
        if cost >= min(_SLOW):
            yield f"messages take {cost:.3g} s and more"
        if any(host.sleep_pstates for host in computing):
            yield f"hosts can sleep{', and energy is measured' if self.energy else ''}"
        for workload in self.workloads:
            for submission in workload:
                job, profile = submission.job, workload.profiles[submission.job.profile_id]
                hosts = f"{job.resource_request} host{'s' if job.resource_request != 1 else ''}"
                walltime = "no walltime" if job.walltime is None else f"walltime {job.walltime:g}"
                code = f", returns {profile.return_code}" if profile.return_code else ""
                yield f"job {submission.id!r} at {submission.time:g}: {hosts}, {walltime}, {profile.profile}{code}"
        for events in self.events:
            for event in events.events:
                yield f"external event at {event.timestamp:g}: {event.data!r}"

    def smaller(self, jobs: frozenset[str]) -> Iterator[Case]:
        """Cases with less in them, the smallest first.

        Args:
            jobs: the ids of jobs that should stay.
        """
        yield self._replace(workloads=self._only(jobs), events=())
        yield self._replace(workloads=self._only(jobs))
        for events in self.events[:1]:
            yield self._replace(events=self.events[1:])
            yield self._replace(events=(*self.events[1:], msgspec.structs.replace(events, events=events.events[:1])))
        every = [submission.id for workload in self.workloads for submission in workload]
        size = len(every)
        while size > 1:
            size = (size + 1) // 2
            for start in range(0, len(every), size):
                yield self._replace(workloads=self._only(frozenset(every[:start] + every[start + size :])))

    def _only(self, jobs: frozenset[str]) -> tuple[Workload, ...]:
        """The workloads with these jobs only; those at the end that have none are left out."""
        made = []
        for workload in self.workloads:
            kept = [
                StaticJob(
                    each.id.partition("!")[2],
                    each.time,
                    each.job.resource_request,
                    each.job.profile_id,
                    each.job.walltime,
                    each.job.extra_data,
                )
                for each in workload
                if each.id in jobs
            ]
            profiles = {name.partition("!")[2]: profile for name, profile in workload.profiles.items()}
            made.append(Workload(kept, profiles, name=workload.name))
        while made and not len(made[-1]):
            made.pop()
        return tuple(made)


class Stage(NamedTuple):
    """Some of the cases.

    Args:
        name: a description of the cases, for people.
        examples: the number of cases to try; the last stage gets the rest.
        cases: the strategy of the cases, for a rule set.
        after_kills: whether the cases are only for decision components that kill jobs; see `kills_that_race`.
    """

    name: str
    examples: int
    cases: Callable[[str], SearchStrategy[Case]]
    after_kills: bool = False


# Draws: strategies are made once, as hypothesis looks through each new one before it draws from it

_BOOLEANS: Final = st.booleans()


@cache
def _integers(least: int, most: int) -> SearchStrategy[int]:
    return st.integers(least, most)


def _one_of(draw: DrawFn, options: Sequence[T]) -> T:
    """One of these; the first is the simplest."""
    return options[draw(_integers(0, len(options) - 1))]


# Platforms


def _platform(roles: Sequence[str], *, latency: float = _QUICK, sleeping: bool = False, cores: int = 1) -> Platform:
    """A cluster whose hosts compute or store. Ids count computation hosts from 0, then storages, as in Batsim."""
    roles = sorted(roles, key=(_COMPUTES, _STORES).index)
    zone = ClusterZone("cluster")
    computing, storing = roles.count(_COMPUTES), roles.count(_STORES)
    names = [*(f"host{number}" for number in range(computing)), *(f"storage{number}" for number in range(storing))]
    members = {}
    for name in ("master_host", *names):
        member = members[name] = zone.add(name)
        zone.up[member] = (Link(f"{name}_UP", 1e9, latency),)
        zone.down[member] = (Link(f"{name}_DOWN", 1e9, latency),)
    hosts = [
        PlatformHost(
            id=number,
            name=name,
            speeds=_SPEEDS if sleeping else (_SPEED,),
            cores=cores,
            role=Role.COMPUTE if role == _COMPUTES else Role.STORAGE,
            watts=_WATTS if sleeping else None,
            sleep_pstates=(_SLEEP,) if sleeping and role == _COMPUTES else (),
            properties=(("sleep_pstates", "1:2:3"),) if sleeping and role == _COMPUTES else (),
        )
        for number, (role, name) in enumerate(zip(roles, names, strict=True))
    ]
    return Platform(hosts, PlatformHost(id=-1, name="master_host", speeds=(_SPEED,), role=Role.MASTER), members)


@cache
def _same_hosts(fewest: int = 1, most: int = 4, **options: float) -> SearchStrategy[Platform]:
    return st.integers(fewest, most).map(lambda count: _platform(_COMPUTES * count, **options))  # type: ignore[arg-type]


@st.composite
def _mixed_hosts(draw: DrawFn, latency: float = _QUICK) -> Platform:
    """There are more hosts than computation hosts: storage hosts have the last ids."""
    roles = draw(st.lists(st.sampled_from((_COMPUTES, _STORES)), max_size=4))
    return _platform([_COMPUTES, *roles, _STORES], latency=latency)


def _storages(platform: Platform) -> list[str]:
    return [host.name for host in platform.storage_hosts]


# Workloads


def _jobs(
    draw: DrawFn,
    platform: Platform,
    *,
    name: str = "w0",
    fewest: int = 0,
    most: int = 6,
    times: Sequence[float] = _TIMES,
    delays: Sequence[float] = _DELAYS,
    too_large: bool = False,
    plain: bool = False,
    all_hosts_last: bool = False,
) -> Workload:
    """A workload whose jobs end in all ways, and often want all hosts: one that is not given back is missed soon.

    Args:
        platform: where they are to run.
        name: the workload's name.
        fewest: how many jobs there are at least.
        most: how many there are at most.
        times: when they are submitted.
        delays: how long they take.
        too_large: whether one asks for more hosts than there are.
        plain: whether all succeed, and are delays.
        all_hosts_last: whether the last job wants all hosts.
    """
    width = max(1, len(platform.computation_hosts))
    count = draw(_integers(fewest, most))
    sizes = [1, width, *range(2, width)]
    jobs, profiles = [], {}
    for number in range(count):
        size = _one_of(draw, sizes)
        delay = _one_of(draw, delays)
        walltime = _one_of(draw, (None, 2 * delay, delay / 2, delay))
        code = 0
        profile: Profile = DelayProfile(delay)
        if not plain:
            code = _one_of(draw, (0, 0, 1, 7))
            profile = _profile(draw, delay, size, _storages(platform))
        profiles[f"p{number}"] = WorkloadProfile(profile, code)
        extra = None if plain else _one_of(draw, (None, None, None, "", "{}", "not JSON"))
        jobs.append(StaticJob(f"{number}", _one_of(draw, times), size, f"p{number}", walltime, extra))
    if too_large:
        profiles["large"] = WorkloadProfile(DelayProfile(1.0))
        jobs.append(StaticJob("large", _one_of(draw, times), width + _one_of(draw, (1, 100)), "large"))
    if all_hosts_last:
        profiles["last"] = WorkloadProfile(DelayProfile(1.0))
        last = max((job.submission_time for job in jobs), default=0.0)
        jobs.append(StaticJob("last", last + _one_of(draw, (1.0, 50.0)), width, "last", 10.0))
    return Workload(jobs, profiles, name=name)


def _profile(draw: DrawFn, delay: float, size: int, storages: Sequence[str]) -> Profile:
    """A profile that takes about so many seconds on so many hosts; a delay most of the time."""
    flops = delay * _SPEED
    each = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue
    kinds: list[Profile] = [
        DelayProfile(delay),
        DelayProfile(delay),
        ParallelTaskHomogeneousProfile(flops, 0.0, each),
        ParallelTaskProfile(Doubles([flops] * size), None),
    ]
    if storages:
        kinds.append(ParallelTaskOnStorageHomogeneousProfile(storages[0], 1e6, 1e6, each))
    return _one_of(draw, kinds)


@cache
def _lists() -> SearchStrategy[ExternalEventList]:
    pairs = st.tuples(st.sampled_from(_TIMES), st.sampled_from(("", "machine down", '{"a": 1}')))
    return st.lists(pairs, min_size=1, max_size=4).map(ExternalEventList.of)


# Stages


def _nothing(rules: str) -> SearchStrategy[Case]:
    return st.just(Case(_platform(_COMPUTES)))


@st.composite
def _one_job(draw: DrawFn, rules: str) -> Case:
    platform = draw(_same_hosts())
    return Case(platform, (_jobs(draw, platform, fewest=1, most=1, plain=True),))


@st.composite
def _together(draw: DrawFn, rules: str) -> Case:
    """Two jobs and more are submitted in one message, and end in one."""
    platform = draw(_same_hosts())
    times, delays = _one_of(draw, ((0.0,), (5.0,), (0.0, 5.0))), _one_of(draw, ((10.0,), (5.0, 10.0)))
    jobs = _jobs(draw, platform, fewest=2, most=8, times=times, delays=delays, plain=True)
    return Case(platform, (jobs,))


@st.composite
def _ends(draw: DrawFn, rules: str) -> Case:
    """Jobs succeed, fail and reach their walltimes; then all hosts must be free again."""
    platform = draw(_same_hosts())
    return Case(platform, (_jobs(draw, platform, fewest=1, all_hosts_last=draw(_BOOLEANS)),))


@st.composite
def _workloads(draw: DrawFn, rules: str) -> Case:
    """Two workloads and more, with the same names in each."""
    platform = draw(_same_hosts())
    count = draw(_integers(2, 3))
    drawn = [_jobs(draw, platform, name=f"w{number}", fewest=1, most=3, plain=True) for number in range(count)]
    return Case(platform, tuple(drawn))


@st.composite
def _storage(draw: DrawFn, rules: str) -> Case:
    """Some hosts store, and should not execute jobs."""
    platform = draw(_mixed_hosts())
    return Case(platform, (_jobs(draw, platform, fewest=1, most=5, all_hosts_last=draw(_BOOLEANS)),))


@st.composite
def _external(draw: DrawFn, rules: str) -> Case:
    platform = draw(_same_hosts())
    return Case(platform, (_jobs(draw, platform, most=3),), (draw(_lists()),))


@st.composite
def _power(draw: DrawFn, rules: str) -> Case:
    """Hosts can sleep, and are idle for a while now and then."""
    energy = draw(_BOOLEANS)
    platform = draw(_same_hosts(1, 4, sleeping=True))
    times = (0.0, 100.0, 200.0, 300.0, 500.0)
    return Case(platform, (_jobs(draw, platform, fewest=1, times=times, all_hosts_last=True),), (), energy)


@st.composite
def _races(draw: DrawFn, rules: str) -> Case:
    """Messages are slow: what is decided on has changed when the decision acts."""
    platform = draw(_same_hosts(1, 4, latency=_one_of(draw, _SLOW)))
    delays = _one_of(draw, (_DELAYS, (10.0,), _LONG))
    times = _one_of(draw, (_TIMES, (0.0, 1.0, 0.5, 2.0, 3.0)))
    return Case(platform, (_jobs(draw, platform, fewest=1, most=8, times=times, delays=delays),))


@st.composite
def _long(draw: DrawFn, rules: str) -> Case:
    """Jobs run for long, and others come meanwhile."""
    platform = draw(_same_hosts(2, 4))
    jobs = _jobs(draw, platform, fewest=1, delays=_LONG, times=(0.0, 10.0, 100.0, 1000.0), all_hosts_last=True)
    return Case(platform, (jobs,), (draw(_lists()),) if draw(_BOOLEANS) else ())


@st.composite
def _sizes(draw: DrawFn, rules: str) -> Case:
    """A job asks for more hosts than there are, and many hosts are there."""
    platform = draw(st.one_of(_same_hosts(1, 3), st.sampled_from((70, 300)).map(lambda n: _platform(_COMPUTES * n))))
    return Case(platform, (_jobs(draw, platform, too_large=True, plain=True),))


@st.composite
def kills_that_race(draw: DrawFn, rules: str, ages: tuple[float, ...] = (10.0,)) -> Case:
    """Jobs end between the message in answer to which they are killed and the kill.

    Args:
        draw: what hypothesis gives.
        rules: the rule set.
        ages: the seconds that jobs had run when they were killed in other simulations.
    """
    latency = _one_of(draw, _SLOW)
    age = _one_of(draw, ages)
    delays = [max(age - part * latency, 0.5) for part in (1.0, 0.5, 1.5, 0.1, 0.0)]
    platform = draw(_same_hosts(1, 3, latency=latency))
    return Case(platform, (_jobs(draw, platform, fewest=1, most=4, delays=delays, times=(0.0, 0.5, 1.0, 7.5)),))


@st.composite
def _all_kinds(draw: DrawFn, rules: str) -> Case:
    """Everything, and what is awkward for other reasons: names, speeds, networks, compositions."""
    if draw(_BOOLEANS):
        storages = _one_of(draw, ((), ("pfs",)))
        energy = draw(_BOOLEANS)
        platform = draw(simulations.platforms(storages=storages, energy=energy))
        hosts = len(platform.computation_hosts)
        awkward = simulations.workloads(hosts=hosts, storages=storages, compositions=rules == "protocol")
        workloads = draw(st.lists(awkward, max_size=2))
        events = draw(st.lists(simulations.external_event_lists(), max_size=2))
        return Case(platform, tuple(workloads), tuple(events), energy)
    latency = _one_of(draw, (_QUICK, _QUICK, *_SLOW))
    sleeping = draw(_BOOLEANS)
    if sleeping or draw(_BOOLEANS):
        platform = draw(_same_hosts(1, 5, latency=latency, sleeping=sleeping, cores=draw(_integers(1, 2))))
    else:
        platform = draw(_mixed_hosts(latency=latency))
    made = [
        _jobs(
            draw,
            platform,
            name=f"w{number}",
            most=8,
            delays=_one_of(draw, (_DELAYS, _LONG, (10.0,))),
            too_large=draw(_BOOLEANS),
            all_hosts_last=draw(_BOOLEANS),
        )
        for number in range(draw(_integers(0, 3)))
    ]
    return Case(platform, tuple(made), tuple(draw(st.lists(_lists(), max_size=2))), sleeping and draw(_BOOLEANS))


STAGES: Final = (
    Stage("nothing to do", 1, _nothing),
    Stage("one job", 2, _one_job),
    Stage("jobs at the same time", 5, _together),
    Stage("jobs that end in all ways", 8, _ends),
    Stage("several workloads", 4, _workloads),
    Stage("storage hosts", 4, _storage),
    Stage("external events", 3, _external),
    Stage("hosts that can sleep", 5, _power),
    Stage("jobs that are too large", 4, _sizes),
    Stage("jobs that run for long", 6, _long),
    Stage("slow messages", 8, _races),
    Stage("kills that race", 10, kills_that_race, after_kills=True),
    Stage("all of it", 0, _all_kinds),
)
"""The kinds of simulations that are tried, in this order, with how many of each: `name`, `examples`, `cases`."""


def cases(rules: str) -> SearchStrategy[Case]:
    """Cases of all stages, for a rule set."""
    return st.one_of([stage.cases(rules) for stage in STAGES])
