"""The nodes, CPUs and GPUs of jobs that share nodes, beside those that a real Slurm 22.05.8 gave.

`tools/slurm_choices.py` recorded the answers, in `tests/data/slurm/choices.json.xz`.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from support import DATA

from batprotocol.errors import InputError
from batprotocol.model import Job, JobSubmittedEvent
from batprotocol.policies.slurm.cluster import ClusterNode, ConfiguredCluster, bits_of, cluster_of
from batprotocol.policies.slurm.consumable import Consumable
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob, job_of
from batprotocol.policies.slurm.selection import share_now
from batprotocol.studies.recorded import configuration_of_run, jobs_of
from batprotocol.workloads.requests import read_request

WITHOUT_ENGINE = True

RUNS: list[dict[str, Any]] = json.loads(lzma.decompress((DATA / "slurm" / "choices.json.xz").read_bytes()))
DIFFERING = {"gpu_defaults": 60}
"""Of so many answers, one may differ at most; 250 where nothing is said."""
BUSY = ("busy", "not available")
"""The answers to jobs that could start in another state, or in none."""


class Shares(NamedTuple):
    """The shares of nodes of a job, by the names of the nodes: CPUs, and the numbers of generic resources."""

    cpus: dict[str, int]
    gres: dict[str, tuple[int, ...]]


class Asked:
    """A cluster in the states in which a real one was asked."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.cluster: ConfiguredCluster = cluster_of(configuration_of_run(run))
        self.names = {node.name: place for place, node in enumerate(self.cluster.nodes)}
        self.selection, self.jobs = Consumable(self.cluster), dict[int, SlurmJob]()

    def job(self, number: int, row: dict[str, Any]) -> SlurmJob:
        submitted = {"id": number, "args": row["args"], "user": row["user"], "t_returned": 0.0, "run": 1}
        _, _, data = next(jobs_of({"submissions": [submitted], "starts": [], "log": []}))
        extra, size = json.dumps(data), data["slurm"].get("nodes", [1])[0]
        asked = Job(resource_request=size, extra_data=extra, profile_id="")
        event = JobSubmittedEvent(timestamp=0.0, job_id=f"w0!{number}", job=asked, submission_time=0.0)
        return job_of(self.cluster, event, read_request(extra), number)

    def answer(self, job: SlurmJob) -> Shares | None:
        """What our policy gives to a job now."""
        partition = job.partitions[0]
        if not partition.fits(job.size):
            return None
        found = share_now(self.selection, job, partition, partition.nodes & job.allowed)
        if found is None:
            return None
        name = [node.name for node in self.cluster.nodes]
        gres = {name[node]: counts for node, counts in found.gres.items() if any(counts)}
        return Shares({name[node]: cpus for node, cpus in found.cpus.items()}, gres)

    def recorded(self, row: dict[str, Any]) -> Shares | None:
        """What Slurm gave to it."""
        if "nodes" not in row:
            return None
        given = {name: (self.cluster.nodes[self.names[name]], *each) for name, each in row["nodes"].items()}
        gres = {name: counts_of(node, text) for name, (node, _, _, text) in given.items()}
        cpus = {name: len(cpus) for name, (_, cpus, _, _) in given.items()}
        return Shares(cpus, {name: counts for name, counts in gres.items() if any(counts)})

    def start(self, job: SlurmJob, row: dict[str, Any]) -> None:
        """A job starts as Slurm started it."""
        shares = self.recorded(row)
        assert shares is not None
        numbers, given = self.names, row["nodes"]
        placement = NodeShare(
            bits_of(numbers[name] for name in given),
            {numbers[name]: cpus for name, cpus in shares.cpus.items()},
            {numbers[name]: counts for name, counts in shares.gres.items()},
            {numbers[name]: memory for name, (_, memory, _) in given.items()},
        )
        placement.cores = {
            numbers[name]: bits_of(cpu // self.cluster.nodes[numbers[name]].threads for cpu in cpus)
            for name, (cpus, _, _) in given.items()
        }
        job.partition, job.placement, job.end = job.partitions[0], placement, 1e6
        placement.partition = job.partition.name
        placement.sharing = job.partition.sharing_of(job.oversubscribes)
        self.selection.take(job)
        self.jobs[row["id"]] = job


def counts_of(node: ClusterNode, text: str) -> tuple[int, ...]:
    """The numbers of each kind of generic resources in a text such as `gpu:v100:2(IDX:0-1)`."""
    found = {(name, type): int(count) for name, type, count in re.findall(r"(\w+):(?:([a-z]\w*):)?(\d+)", text)}
    return tuple(found.get((name, type), 0) for name, type, _ in node.gres)


def judged(run: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Shares | None, Shares | None]]:
    """Each question, with our answer and that of Slurm."""
    asked = Asked(run)
    for number, row in enumerate(run["asked"]):
        for each in row["ends"]:
            asked.selection.give_back(asked.jobs.pop(each))
        if "nodes" not in row and not any(text in row["said"] for text in BUSY):
            continue  # salloc refused its options
        try:
            job = asked.job(number, row)
        except InputError:  # it could never run
            yield row, None, asked.recorded(row)
            continue
        yield row, asked.answer(job), asked.recorded(row)
        if "nodes" in row:
            asked.start(job, row)


@pytest.mark.parametrize("kind", ["sharing", "features", "gpus", "units", "trees", "capped", "special", "gpu_defaults"])
def test_the_policy_gives_the_nodes_cpus_and_gpus_of_a_real_slurm(kind: str) -> None:
    answers = [(row["args"], *both) for run in RUNS if run["config"] == kind for row, *both in judged(run)]
    others = [each for each in answers if each[1] != each[2]]
    assert len(answers) > 700
    assert len(others) <= len(answers) // DIFFERING.get(kind, 250), others
