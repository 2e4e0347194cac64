"""The situations of tests/data/slurm, as Slurm has them and as our policies do: one description, two sides.

`simulated` converts a situation to our vocabulary and simulates it. `Allowed` reads what Slurm would allow from the
lines of slurm.conf and the arguments of sbatch; it shares nothing with `batprotocol.workloads.requests`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support import ROOT

from batprotocol.model import DelayProfile, FinalJobState, parse_hosts
from batprotocol.policies import named
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.workload import WorkloadProfile

sys.path.append(str(ROOT / "tools"))
from real_slurm import Asked, Situation, expanded

__all__ = ["Allowed", "Run", "of_recording", "simulated"]


class Run(NamedTuple):
    """A run of a job: start and end in seconds since the first submission, nodes, and how it ended."""

    start: float
    end: float
    nodes: frozenset[str]
    state: str


STATES = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "TIMEOUT": "timeout",
    "PREEMPTED": "preempted",
    "REQUEUED": "preempted",
}
OURS = {
    FinalJobState.COMPLETED_SUCCESSFULLY: "completed",
    FinalJobState.COMPLETED_FAILED: "failed",
    FinalJobState.COMPLETED_WALLTIME_REACHED: "timeout",
    FinalJobState.COMPLETED_KILLED: "preempted",
}
Runs = dict[str, list[Run]]
"""The runs of each job. A job that was refused or cancelled has none."""


def of_recording(recording: Mapping[str, Any]) -> Runs:
    """The runs of a recording."""
    runs: Runs = {name: [] for name in recording["refused"]}
    for name, rows in recording["runs"].items():
        runs[name] = [
            Run(start, end, frozenset(expanded(nodes)), STATES[state])
            for start, end, nodes, state in rows
            if state in STATES
        ]
    return runs


# What the arguments of sbatch mean


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("-N", "--nodes", type=int, default=1)
    parser.add_argument("-n", "--ntasks", type=int)
    parser.add_argument("-c", "--cpus-per-task", type=int)
    parser.add_argument("--ntasks-per-node", type=int, default=1)
    parser.add_argument("-t", "--time", type=int)
    parser.add_argument("-p", "--partition")
    parser.add_argument("-C", "--constraint")
    parser.add_argument("-d", "--dependency")
    parser.add_argument("-J", "--job-name")
    parser.add_argument("-a", "--array")
    parser.add_argument("-b", "--begin")
    for text in ("--gres", "--mem", "--deadline", "--reservation"):
        parser.add_argument(text)
    parser.add_argument("--nice", type=int)
    for switch in ("--exclusive", "--contiguous", "--no-requeue"):
        parser.add_argument(switch, action="store_true")
    return parser


def _tasks(given: argparse.Namespace) -> int:
    return int(given.ntasks or given.nodes * given.ntasks_per_node)


PARSER = _parser()
SAME = ("partition", "constraint", "gres", "begin", "deadline", "reservation", "nice")
"""The options whose values are those of our keys."""


def request_of(job: Asked, *, shares: bool) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The options of sbatch, and the same as the extra data of a job.

    Args:
        job: the job.
        shares: whether jobs share nodes at all, which `select/linear` does not let them.
    """
    given = PARSER.parse_args(job.arguments)
    data: dict[str, Any] = {key: getattr(given, key) for key in SAME if getattr(given, key) is not None}
    tasks = _tasks(given)
    if given.exclusive:
        data["exclusive"] = True
    if shares and (given.mem or given.gres):  # these count for each node, so cores must, too
        data["cores"] = math.ceil(tasks / given.nodes) * (given.cpus_per_task or 1)
    elif shares:
        data |= {"tasks": tasks, "cores": given.cpus_per_task or 1, "per": "task"}
    if given.mem:
        data["memory"] = given.mem
    if given.contiguous:
        data["contiguous"] = True
    if given.dependency:
        data["dependency"] = re.sub(r"\{(\w+)\}", r"\1", given.dependency)
    if given.no_requeue:
        data["requeue"] = False
    data["name"] = given.job_name or job.name
    return given, data


def tasks_of(array: str) -> tuple[list[int], str]:
    """The numbers of the tasks, and the limit as our key has it."""
    numbers, percent, limit = array.partition("%")
    first, _, last = numbers.partition("-")
    return list(range(int(first), int(last or first) + 1)), percent + limit


# Our side

HOST_KEYS = {"CPUs": "cores", "RealMemory": "memory", "Gres": "gres", "Feature": "features", "Weight": "weight"}


def hosts_text(situation: Situation) -> str:
    """The nodes, for `described_platform`."""
    lines = []
    for name, keys in situation.named("nodes").items():
        words = [f"{HOST_KEYS[key]}={value}" for key, value in ({"CPUs": "4"} | keys).items()]
        lines.append(" ".join([name, *words]))
    return "\n".join(lines)


def site_text(situation: Situation) -> str:
    """The partitions, as a TOML file for `site=`."""
    conf = dict(line.split("=", 1) for line in situation.conf)
    preempts = conf.get("PreemptType") == "preempt/partition_prio"
    lines = []
    for name, keys in situation.named("partitions").items():
        lines += [f"[partitions.{name}]", f'hosts = "{keys["Nodes"]}"', f"tier = {keys.get('PriorityTier', 1)}"]
        if keys.get("Default") == "YES":
            lines.append("default = true")
        if "MaxTime" in keys:
            lines.append(f'max_time = "{keys["MaxTime"]}"')
        if keys.get("OverSubscribe") == "EXCLUSIVE":
            lines.append("exclusive = true")
        if preempts:
            lines.append(f'preempt = "{keys.get("PreemptMode", conf["PreemptMode"]).lower()}"')
    return "\n".join([*lines, ""])


def jobs_of(situation: Situation) -> tuple[list[StaticJob], dict[str, WorkloadProfile]]:
    """The jobs, those of arrays one by one, and their profiles."""
    jobs: list[StaticJob] = []
    profiles: dict[str, WorkloadProfile] = {}
    for order, job in enumerate(situation.asked()):
        given, data = request_of(job, shares="SelectType=select/linear" not in situation.conf)
        tasks, limit = tasks_of(given.array) if given.array else ([None], "")
        for number, task in enumerate(tasks):
            own = job.name if task is None else f"{job.name}_{task}"
            if task is not None:
                data["array"] = f"{job.name}_{task}{limit}"
            profiles[own] = WorkloadProfile(DelayProfile(job.run + number * job.longer), int(job.fails))
            # Slurm has jobs that are submitted at once in the order of their ids, a millisecond apart.
            at = job.at + order * 0.001
            walltime = None if given.time is None else given.time * 60.0
            jobs.append(StaticJob(own, at, given.nodes, own, walltime, json.dumps(data)))
    return jobs, profiles


def simulated(situation: Situation, policy: str = "") -> Runs:
    """The runs of a situation in the embedded Batsim.

    Args:
        situation: the situation.
        policy: the name of the policy; "" for that of the situation.
    """
    platform = described_platform(hosts_text(situation))
    jobs, profiles = jobs_of(situation)
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site.toml"
        site.write_text(site_text(situation))
        made = named(f"{policy or situation.policy}+site={site}")()
    result = simulate(platform, Workload(jobs, profiles), made)
    assert result.is_complete
    names = {host.id: host.name for host in platform.hosts}
    runs: Runs = {job.id: [] for job in jobs}
    for row in sorted(result.jobs, key=lambda row: row.starting_time or 0.0):
        if row.starting_time is not None and row.finish_time is not None:
            nodes = frozenset(names[number] for number in parse_hosts(row.allocated_resources))
            runs[_first_name(row)].append(Run(row.starting_time, row.finish_time, nodes, OURS[row.final_state]))
    return runs


def _first_name(row: JobRow) -> str:
    """The name of a job, which may run again."""
    return row.job_id if row.workload_name == "w0" else row.job_id.removeprefix("w0-").partition("~")[0]


# What Slurm would allow


class Allowed:
    """Judges the nodes of runs by the lines of slurm.conf and the arguments of sbatch.

    Args:
        situation: the situation.
    """

    def __init__(self, situation: Situation) -> None:
        self._is_linear = "SelectType=select/linear" in situation.conf
        self._nodes = {name: keys for pattern, keys in situation.named("nodes").items() for name in expanded(pattern)}
        self._partitions = situation.named("partitions")
        self._jobs = {job.name: PARSER.parse_args(job.arguments) for job in situation.asked()}

    def faults(self, runs: Runs) -> list[str]:
        """What Slurm would not allow, as sentences."""
        found = [
            f"{name} is on {sorted(run.nodes)}: {fault}"
            for name, each in runs.items()
            for run in each
            for fault in self._faults_of(self._job(name), run.nodes)
        ]
        return found + list(self._overloaded(runs))

    def _job(self, name: str) -> argparse.Namespace:
        return self._jobs[re.sub(r"_[0-9]+$", "", name)]

    def _faults_of(self, job: argparse.Namespace, nodes: frozenset[str]) -> Iterable[str]:
        if len(nodes) != job.nodes:
            yield f"it asks for {job.nodes} nodes"
        if not any(nodes <= members for members in self._members(job)):
            yield "they are not in a partition of the job"
        if job.constraint and not _matches(job.constraint, [self._features(node) for node in nodes]):
            yield f"they do not match {job.constraint}"
        numbers = sorted(int(node.lstrip("n")) for node in nodes)
        if job.contiguous and numbers[-1] - numbers[0] != len(numbers) - 1:
            yield "they are not neighbours"

    def _members(self, job: argparse.Namespace) -> Iterable[set[str]]:
        for name, keys in self._partitions.items():
            if name in (job.partition or "").split(",") or (not job.partition and "Default" in keys):
                yield set(self._nodes if keys["Nodes"] == "ALL" else expanded(keys["Nodes"]))

    def _features(self, node: str) -> set[str]:
        return set(self._nodes[node].get("Feature", "").split(","))

    def _overloaded(self, runs: Runs) -> Iterable[str]:
        # A second's grace: Slurm's times are rounded, and a job may start in the second in which another one ends.
        spans = [(run.start + 1, run.end, name, run) for name, each in runs.items() for run in each]
        for time in sorted({start for start, *_ in spans}):
            for node, keys in self._nodes.items():
                there = [name for start, end, name, run in spans if start <= time < end and node in run.nodes]
                room = self._room(keys)
                used = [self._takes(self._job(name), keys) for name in there]
                if len(there) > 1 and (self._is_linear or any(self._is_alone(name) for name in there)):
                    yield f"{node} is shared by {there} at {time}"
                for kind in {kind for each in used for kind in each}:
                    if sum(each.get(kind, 0) for each in used) > room.get(kind, 0):
                        yield f"{node} has too little {kind} for {there} at {time}"

    def _is_alone(self, name: str) -> bool:
        job = self._job(name)
        keys = self._partitions.get(job.partition or "", {})
        return bool(job.exclusive) or keys.get("OverSubscribe") == "EXCLUSIVE"

    @staticmethod
    def _room(keys: Mapping[str, str]) -> dict[str, int]:
        room = {"cores": int(keys.get("CPUs", "4")), "memory": int(keys.get("RealMemory", "1"))}
        for gres in filter(None, keys.get("Gres", "").split(",")):
            *kind, count = gres.split(":")
            for name in {kind[0], ":".join(kind)}:
                room[name] = room.get(name, 0) + int(count)
        return room

    @staticmethod
    def _takes(job: argparse.Namespace, keys: Mapping[str, str]) -> dict[str, int]:
        """What a job takes of each of its nodes at least, if its tasks are divided evenly."""
        taken = {"cores": math.ceil(_tasks(job) / job.nodes) * (job.cpus_per_task or 1)}
        if job.mem:
            units = {"": 1, "M": 1, "G": 1024}
            taken["memory"] = int(job.mem.rstrip("GM")) * units[job.mem.lstrip("0123456789")]
        if job.gres:
            *kind, count = job.gres.split(":")
            taken |= dict.fromkeys((kind[0], ":".join(kind)), int(count))
        return taken


def _matches(constraint: str, nodes: Sequence[set[str]]) -> bool:
    """Whether nodes with these features match a constraint: `a&b`, `a|b`, `[a|b]` or `[a*2&b*1]`."""
    if "*" in constraint:
        counts = [part.split("*") for part in constraint.strip("[]").split("&")]
        return all(sum(name in features for features in nodes) >= int(number) for name, number in counts)
    if constraint.startswith("["):
        return any(all(name in features for features in nodes) for name in constraint.strip("[]").split("|"))
    operator, together = ("&", all) if "&" in constraint else ("|", any)
    return all(together(name in features for name in constraint.split(operator)) for features in nodes)


# The order of starts


def disorder(slurms: Runs, ours: Runs, slack: float) -> list[str]:
    """The pairs of runs that start in another order in Slurm than here, as sentences.

    Args:
        slurms: the runs in Slurm.
        ours: ours.
        slack: starts count as equal that are so many seconds apart at most.
    """
    starts = {
        f"{name} (run {number})": (run.start, own.start)
        for name, each in slurms.items()
        for number, (run, own) in enumerate(zip(each, ours.get(name, []), strict=False), 1)
    }

    def order(seconds: float) -> int:
        return 0 if abs(seconds) <= slack else 1 if seconds > 0 else -1

    return [
        f"{one} and {two} start at {a[0]:g} and {b[0]:g} in Slurm, at {a[1]:g} and {b[1]:g} here"
        for (one, a), (two, b) in itertools.combinations(starts.items(), 2)
        if order(a[0] - b[0]) != order(a[1] - b[1])
    ]
