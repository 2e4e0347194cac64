"""Workloads for environments whose jobs share hosts, and a search of all sets of hosts to compare them with."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, FinalJobState, parse_hosts
from batprotocol.policies import SiteRules
from batprotocol.simulator import JobRow, StaticJob, Workload

if TYPE_CHECKING:
    from batprotocol.gym import Environment

HOSTS = "n[0-1] cores=4 memory=8G features=ib; g0 cores=4 gres=gpu:2; n2 cores=2 memory=4G"
"""The third host has GPUs, and memory without limit."""
CORES, MEMORY, GPUS = (4, 4, 4, 2), (8, 8, math.inf, 4), (0, 0, 2, 0)
IB = {0, 1}
PARTITIONS = {"batch": {0, 1, 3}, "gpu": {2}, "wide": {0, 1, 2, 3}}
RULES = SiteRules.of(
    {
        "partitions": {
            "batch": {"hosts": "n[0-2]", "default": True},
            "gpu": {"hosts": "g0"},
            "wide": {"hosts": "ALL", "max_hosts": 2},
        },
        "per_user": {"running": 2},
    }
)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "any": ("Batch", {}),
    "any, easy": ("Batch", {"backfilling": "easy", "order": "sjf", "allocation": "spread"}),
    "any, easy=once": ("Batch", {"backfilling": "easy=fcfs,no-spare,strict,once", "wait": True}),
    "any, greedy": ("Batch", {"backfilling": "greedy", "order": "wfp3"}),
    "fitting": ("Batch", {"choice": "fitting", "allocation": "pack"}),
    "fitting, wait": ("Batch", {"choice": "fitting", "wait": True, "observation": "flat"}),
    "policies": ("Policies", {"mask_in_observation": True, "allocation": "best-fit"}),
    "backfill": ("Backfill", {}),
    "backfill, no reservation": ("Backfill", {"reserve": False, "max_running": 0}),
}


class Asked(NamedTuple):
    """The amounts that a job takes of each host, and the hosts where it can run."""

    size: int
    cores: int
    memory: int
    gpus: int
    is_whole: bool
    hosts: set[int]
    user: int | None
    is_contiguous: bool


def asked_of(job: StaticJob, rules: SiteRules | None) -> Asked:
    data = json.loads(job.extra_data or "{}")
    shares = any(key in data for key in ("cores", "memory", "gres")) and not data.get("exclusive")
    hosts = set(range(4)) if rules is None else PARTITIONS[data.get("partition", "batch")]
    if "constraint" in data:
        hosts = hosts & (IB if data["constraint"] == "ib" else set(range(4)) - IB)
    cores = data.get("cores", int(shares))
    memory, gpus = int(data.get("memory", "0G")[:-1]), data.get("gres", {}).get("gpu", 0)
    rest = (data.get("user"), data.get("contiguous", False))
    return Asked(job.resource_request, cores, memory, gpus, not shares, hosts, *rest)


@st.composite
def workloads(draw: st.DrawFn, has_rules: bool) -> Workload:
    """Jobs of whole seconds that ask for anything, some for what can never be, such as the job -1."""
    jobs, now = [], 0
    for number in range(draw(st.integers(1, 12))):
        now += draw(st.sampled_from([0, 0, 1, 5, 20]))
        data: dict[str, Any] = {}
        for key, values in (
            ("cores", [1, 1, 2, 3, 4]),
            ("memory", ["1G", "4G", "8G"]),
            ("gres", [{"gpu": 1}, {"gpu": 2}]),
            ("constraint", ["ib", "!ib"]),
            ("exclusive", [True]),
            ("contiguous", [True]),
            ("begin", ["now+7", 30]),
            ("user", [1, 2]),
            ("dependency", [f"{kind}:{draw(st.integers(0, number)) - 1}" for kind in ("afterok", "afterany", "after")]),
            ("deadline", ["now+60"]),
        ):
            if draw(st.integers(0, 9)) < (7 if key == "cores" else 2):
                data[key] = draw(st.sampled_from(values))
        if has_rules and draw(st.booleans()):
            data["partition"] = draw(st.sampled_from(sorted(PARTITIONS)))
        lasts, more = draw(st.integers(1, 30)), draw(st.sampled_from([None, -1, 0, 5, 30]))
        walltime = None if more is None else float(max(lasts + more, 1))
        size = draw(st.sampled_from([1, 1, 1, 2, 3]))
        profile = DelayProfile(float(lasts))
        jobs.append(StaticJob(f"{number}", float(now), size, profile, walltime=walltime, extra_data=json.dumps(data)))
    return Workload(jobs, {})


def made(workload: Workload, kind: str = "fitting", rules: SiteRules | None = None, **more: Any) -> Any:
    import batprotocol.gym

    name, options = KINDS[kind]
    given = {"hosts": HOSTS, "site": rules, "jobs": len(workload), "max_queue": 8, "max_running": 4}
    return getattr(batprotocol.gym, name)(workload, **{**given, **options, **more})


def asked_by_name(workload: Workload, rules: SiteRules | None) -> dict[str, Asked]:
    found = {}
    for each in workload:
        job = StaticJob(each.id, 0.0, each.job.resource_request, DelayProfile(1.0), extra_data=each.job.extra_data)
        found[each.id.partition("!")[2]] = asked_of(job, rules)
    return found


def name_of(env: Environment, job: int) -> str:
    return env.log.job(env.world.first + job)[0].partition("!")[2]


def has_room(asked: Asked, taken: list[tuple[Asked, set[int]]]) -> set[int]:
    """The hosts on which a job has space beside others."""
    found = set()
    for host in asked.hosts:
        there = [other for other, hosts in taken if host in hosts]
        if there and (asked.is_whole or any(other.is_whole for other in there)):
            continue
        sums = [asked, *there]
        if (
            sum(each.cores for each in sums) <= CORES[host]
            and sum(each.memory for each in sums) <= MEMORY[host]
            and sum(each.gpus for each in sums) <= GPUS[host]
        ):
            found.add(host)
    return found


def can_start(asked: Asked, taken: list[tuple[Asked, set[int]]], rules: SiteRules | None) -> bool:
    """Whether any set of hosts is one on which a job can start."""
    if rules is not None and sum(other.user == asked.user for other, _ in taken) >= 2:
        return False
    return any(
        not asked.is_contiguous or max(hosts) - min(hosts) < asked.size
        for hosts in itertools.combinations(sorted(has_room(asked, taken)), asked.size)
    )


def running(env: Environment, asked: dict[str, Asked]) -> list[tuple[Asked, set[int]]]:
    """The running jobs with their hosts, as the decisions had them."""
    found = []
    for job in env.world.end_jobs:
        hosts = env.world.hosts_of(job)
        assert hosts is not None
        found.append((asked[name_of(env, job)], set(hosts)))
    return found


def checked(rows: list[JobRow], asked: dict[str, Asked], rules: SiteRules | None) -> None:
    """No host gives more than it has at any time, and limits and dependencies are kept."""
    for row in rows:
        at = row.starting_time
        assert at is not None
        assert len(parse_hosts(row.allocated_resources)) == asked[row.job_id].size
        there = [
            (asked[other.job_id], set(parse_hosts(other.allocated_resources)))
            for other in rows
            if other is not row
            and other.starting_time is not None
            and other.finish_time is not None
            and (other.starting_time, other.job_id) < (at, row.job_id)
            and at < other.finish_time
        ]
        assert set(parse_hosts(row.allocated_resources)) <= has_room(asked[row.job_id], there)
        assert rules is None or sum(other.user == asked[row.job_id].user for other, _ in there) < 2


def dependencies_hold(rows: list[JobRow], workload: Workload) -> None:
    by_id = {row.job_id: row for row in rows}
    for submission in workload:
        data = json.loads(submission.job.extra_data or "{}")
        row = by_id.get(submission.id.partition("!")[2])
        if row is None or row.starting_time is None:
            continue
        if data.get("begin") == 30:
            assert row.starting_time >= 29.999
        if "dependency" in data:
            kind, _, name = data["dependency"].partition(":")
            other = by_id.get(name)
            if kind == "after":
                assert other is None or (other.starting_time or 0.0) <= row.starting_time
            elif kind == "afterany":
                assert other is None or (other.finish_time or 0.0) <= row.starting_time
            else:
                assert other is not None
                assert other.final_state is FinalJobState.COMPLETED_SUCCESSFULLY
                assert (other.finish_time or 0.0) <= row.starting_time


def earliest(first: Asked, now: float, ends: list[tuple[float, tuple[Asked, set[int]]]]) -> float:
    """When a job can start at the latest, if no other one starts before."""
    for moment in sorted({now, *(end for end, _ in ends)}):
        if can_start(first, [job for end, job in ends if end > moment], None):
            return moment
    return math.inf


def at_odd_times(seed: int, count: int = 40, **more: list[Any]) -> Workload:
    """Jobs of which no two events have the same time."""
    chance = np.random.default_rng(seed)
    choices: dict[str, list[Any]] = {"memory": ["1G", "4G"], "gres": [{"gpu": 1}], "constraint": ["ib", "!ib"], **more}
    times = iter(chance.permutation(40_000)[: 3 * count].tolist())
    jobs = []
    for number in range(count):
        data: dict[str, Any] = {"cores": int(chance.integers(1, 5))} if chance.random() < 0.9 else {}
        for key, values in choices.items():
            if chance.random() < 0.3:
                data[key] = values[int(chance.integers(len(values)))]
        if chance.random() < 0.3 and number and "dependency" in more:
            data["dependency"] = f"{data.get('dependency', 'afterany')}:{int(chance.integers(number))}"
        else:
            data.pop("dependency", None)
        lasts = next(times) / 1000 + number / 1e3
        walltime = lasts + next(times) / 1000
        at, size = next(times) / 200, int(chance.integers(1, 3))
        jobs.append(
            StaticJob(str(number), at, size, DelayProfile(lasts), walltime=walltime, extra_data=json.dumps(data))
        )
    return Workload(sorted(jobs, key=lambda job: job.submission_time), {})
