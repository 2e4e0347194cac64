"""Hypothesis strategies for the inputs of simulations: platforms, workloads, external events.

They generate what the embedded Batsim can run, and awkward on purpose: jobs that come at the same time, walltimes that
are too short, profiles that fail, hosts that differ, ids that sort otherwise than they look.

    from hypothesis import given
    from batprotocol.testing import simulations

    @given(simulations.platforms(), simulations.workloads(hosts=4))
    def test_my_scheduler(platform, workload): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    HomogeneousParallelTaskGenerationStrategy,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
)
from batprotocol.workloads import ExternalEventList, Link, Platform, StaticJob, Workload, WorkloadProfile
from batprotocol.workloads.network import ClusterZone, FullZone, LocalRoute, Zone
from batprotocol.workloads.platform import DescribedHost, made_platform

__all__ = ["external_event_lists", "platforms", "workloads"]

_SPEEDS = (1e6, 1e8, 1e9)
_SLEEPING = {"sleep_pstates": "2:3:4"}
_SWITCHES = (1.0, 0.5, 0.25)  # flops per second: switches take 2 and 4 seconds
_WATTS = "50:90:150,50:80:120,9:9:9,70:70:70,110:110:110"


# Strategies are made once: hypothesis checks each new one, which takes longer than a draw from it.


@cache
def _times() -> SearchStrategy[float]:
    """Times in seconds that often coincide, and sums of which do, too."""
    return st.one_of(
        st.sampled_from((0.0, 1.0, 2.0, 5.0, 10.0)), st.integers(0, 40).map(float), st.floats(0, 100).map(abs)
    )


@cache
def _durations() -> SearchStrategy[float]:
    return st.one_of(st.sampled_from((1.0, 2.0, 5.0, 10.0)), st.floats(0.001, 100))


@cache
def _names(prefix: str) -> SearchStrategy[str]:
    """Names whose order as text, as numbers and as written differ."""
    numbers = st.integers(0, 120)
    return st.one_of(
        numbers.map(str),
        numbers.map(f"{prefix}{{}}".format),
        numbers.map("{:03}".format),
        st.sampled_from(("é", "a b")),
    )


@st.composite
def platforms(
    draw: DrawFn, *, min_hosts: int = 1, max_hosts: int = 6, storages: Sequence[str] = (), energy: bool = False
) -> Platform:
    """Platforms of a few hosts: equal or not, in a cluster with a backbone or without, or without any network.

    Args:
        min_hosts: the smallest number of computation hosts.
        max_hosts: the largest number of computation hosts.
        storages: the names of the storage hosts, which every platform then has.
        energy: whether every host has wattages. Then all hosts have sleep states, too; otherwise only some platforms
            do.
    """
    numbers = draw(st.lists(st.integers(0, 20), min_size=min_hosts, max_size=max_hosts, unique=True))
    zone: Zone = draw(st.sampled_from((ClusterZone, FullZone)))("zone")
    network = isinstance(zone, ClusterZone)
    backbone = (Link("backbone", draw(st.sampled_from((1e8, 1e10))), 1e-6, draw(st.booleans())),) * draw(
        st.integers(0, 1)
    )
    loopback = network and draw(st.booleans())
    same = draw(st.booleans())
    sleeping = energy or draw(st.booleans())
    described = []
    for name in ("master_host", *(f"n{number}" for number in numbers), *storages):
        member = zone.add(name)
        if isinstance(zone, ClusterZone):
            latency = draw(st.sampled_from((0.0, 1e-5, 1e-3))) if not same else 1e-5
            zone.up[member] = (Link(f"{name}_UP", 1e8, latency), *backbone)
            zone.down[member] = (*backbone, Link(f"{name}_DOWN", 1e8, latency))
            if loopback:
                zone.loopback[member] = LocalRoute((Link(f"{name}_loopback", 1e9, 1e-7, True),))
        speed = 1e8 if same else draw(st.sampled_from(_SPEEDS))
        cores = 1 if same else draw(st.integers(1, 3))
        properties: dict[str, str] = {"role": "storage"} if name in storages else {}
        speeds: tuple[float, ...] = (speed,)
        if sleeping:
            properties |= _SLEEPING
            speeds = (speed, speed / 2, *_SWITCHES)
            if energy:
                properties["wattage_per_state"] = _WATTS
        described.append(DescribedHost(name, speeds, cores, 0, properties, member))
    return made_platform(described, energy=energy)


@st.composite
def workloads(
    draw: DrawFn,
    *,
    hosts: int = 4,
    max_jobs: int = 10,
    storages: Sequence[str] = (),
    compositions: bool = False,
    name: str = "w0",
) -> Workload:
    """Workloads of a few jobs with all kinds of profiles.

    Args:
        hosts: the largest number of hosts that a job requests; at least 1.
        max_jobs: the largest number of jobs.
        storages: names of storage hosts, which profiles use.
        compositions: whether to include fork-join and merge profiles, which Batsim 5.0.0-rc2 refuses.
        name: the workload's name.
    """
    used: dict[str, WorkloadProfile] = {}
    sizes: dict[str, int] = {}
    for number in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, hosts))
        given = f"p{number}"
        profile = draw(_atoms(size, tuple(storages)))
        used[given] = WorkloadProfile(profile, draw(_return_codes()), draw(_extra_data()))
        sizes[given] = size if isinstance(profile, ParallelTaskProfile) else 0
    for number in range(draw(st.integers(0, 2))):
        size = draw(st.integers(1, hosts))
        fitting = [given for given in used if sizes[given] in (0, size)]
        if fitting:
            parts = draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=3))
            kinds = 1 + 2 * compositions
            kind = draw(st.integers(1, kinds))
            composed: Profile = SequentialCompositionProfile(
                repetition_count=draw(st.integers(1, 3)), profile_ids=tuple(parts)
            )
            if kind == 2:
                composed = ForkJoinCompositionProfile(tuple(parts))
            tasks = [part for part in parts if isinstance(used[part].profile, ParallelTaskHomogeneousProfile)]
            if kind == 3 and tasks:
                composed = ParallelTaskMergeCompositionProfile(tuple(tasks))
            used[f"s{number}"] = WorkloadProfile(composed, draw(_return_codes()))
            sizes[f"s{number}"] = size if any(sizes[part] for part in parts) else 0
    ids = draw(_ids(max_jobs))
    jobs = []
    for id in ids:
        given = draw(st.sampled_from(sorted(used)))
        jobs.append(
            StaticJob(
                id,
                draw(_times()),
                sizes[given] or draw(st.integers(1, hosts)),
                given,
                draw(_walltimes()),
                draw(_extra_data()),
            )
        )
    # Batsim crashes when it forwards a profile at the beginning that no job uses.
    waiting = [str(job.profile) for job in jobs]
    needed = set()
    while waiting:
        given = waiting.pop()
        if given not in needed:
            needed.add(given)
            waiting += getattr(used[given].profile, "profile_ids", ())
    return Workload(jobs, {given: profile for given, profile in used.items() if given in needed}, name=name)


@cache
def _ids(most: int) -> SearchStrategy[list[str]]:
    return st.lists(_names("j"), max_size=most, unique=True)


@cache
def _walltimes() -> SearchStrategy[float | None]:
    return st.none() | _durations()


@cache
def _return_codes() -> SearchStrategy[int]:
    return st.sampled_from((0, 0, 0, 1, 7))


@cache
def _extra_data() -> SearchStrategy[str | None]:
    return st.sampled_from((None, None, "", "{}", '{"é":"\\u2028"}'))


@cache
def _atoms(size: int, storages: tuple[str, ...]) -> SearchStrategy[Profile]:
    """Profiles that are not compositions, for this number of executors."""
    amounts = st.sampled_from((1e6, 1e8, 3e8))
    bytes_moved = st.sampled_from((0.0, 1e3, 1e7))
    strategies = st.sampled_from(list(HomogeneousParallelTaskGenerationStrategy))
    kinds: list[SearchStrategy[Profile]] = [
        _durations().map(DelayProfile),
        _durations().map(DelayProfile),
        st.builds(ParallelTaskHomogeneousProfile, amounts, bytes_moved, strategies),
        st.builds(
            ParallelTaskProfile,
            st.lists(amounts, min_size=size, max_size=size),
            st.none() | st.lists(bytes_moved, min_size=size * size, max_size=size * size),
        ),
    ]
    if storages:
        kinds.append(
            st.builds(
                ParallelTaskOnStorageHomogeneousProfile,
                st.sampled_from(storages),
                bytes_moved,
                bytes_moved,
                strategies,
            )
        )
    return st.one_of(kinds)


def external_event_lists(*, name: str = "ee0") -> SearchStrategy[ExternalEventList]:
    """Lists of a few external events, often at the same time."""
    events = st.lists(st.tuples(_times(), st.sampled_from(("", "down 3", '{"a":1}'))), max_size=6)
    return events.map(lambda pairs: ExternalEventList.of(pairs, name=name))
