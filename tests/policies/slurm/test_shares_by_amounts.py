"""The shares of nodes under select/cons_tres, beside a table of the amounts that are free on each node."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.policies.slurm.cluster import ConfiguredCluster, bits_of, cluster_of, members
from batprotocol.policies.slurm.consumable import Consumable
from batprotocol.policies.slurm.queue import SlurmJob
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

CPUS, MEMORY, GPUS = (4, 4, 2, 8), (1000, 500, 800, 2000), (0, 2, 1, 4)
LINES = "\n".join(
    f"NodeName=n{number} CPUs={CPUS[number]} RealMemory={MEMORY[number]}"
    + (f" Gres=gpu:{GPUS[number]}" if GPUS[number] else "")
    for number in range(4)
)


def cluster(usual: str) -> ConfiguredCluster:
    conf = f"SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\nGresTypes=gpu\n{LINES}\n"
    return cluster_of(configuration_of(f"{conf}PartitionName=p Nodes=ALL {usual}\n"))


CLUSTERS = {usual: cluster(usual) for usual in ("", "DefMemPerNode=300", "DefMemPerCPU=100")}


class Asked(NamedTuple):
    """A job: nodes, tasks, CPUs a task, memory on a node and for a CPU, GPUs on a node, and whether it is alone."""

    size: int
    tasks: int
    step: int
    memory: int
    memory_per_cpu: int
    gpus: int
    is_alone: bool
    minutes: int


ASKED = st.builds(
    Asked,
    st.integers(1, 3),
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from([0, 0, 200, 700]),
    st.sampled_from([0, 0, 90, 250]),
    st.sampled_from([0, 0, 1, 2]),
    st.sampled_from([False, False, True]),
    st.integers(1, 5),
)
STEPS = st.lists(st.tuples(ASKED, st.integers(1, 15), st.integers(0, 3)), min_size=1, max_size=12)


class Free:
    """What is free on each node: the amounts of all, without those of the jobs that run."""

    def __init__(self, running: Iterable[SlurmJob]) -> None:
        self.cpus, self.memory, self.gpus, self.jobs = list(CPUS), list(MEMORY), list(GPUS), [0] * 4
        for job in running:
            assert job.placement is not None
            for node in members(job.placement.nodes):
                self.jobs[node] += 1
                self.cpus[node] -= job.placement.cpus[node]
                self.memory[node] -= job.placement.memory[node]
                self.gpus[node] -= sum(job.placement.gres.get(node, ()))

    def offer(self, node: int, asked: Asked, usual: str) -> int:
        """The CPUs that a job could have of a node."""
        memory, memory_per_cpu = demanded(asked, usual)
        cpus = self.cpus[node]
        if memory_per_cpu:
            cpus = min(cpus, self.memory[node] // memory_per_cpu)
        if (asked.is_alone and self.jobs[node]) or self.gpus[node] < asked.gpus or cpus < asked.step:
            return 0
        if not memory_per_cpu and (MEMORY[node] if memory is None else memory) > self.memory[node]:
            return 0
        return cpus // asked.step * asked.step

    def is_enough(self, asked: Asked, nodes: int, usual: str, *, surely: bool = False) -> bool:
        """Whether some of these nodes are enough, as many as are asked for; surely: whichever these are.

        Slurm does not try all sets of nodes. It finds the one node that is enough.
        """
        offers = [self.offer(node, asked, usual) for node in members(nodes)]
        chosen = list(combinations([each for each in offers if each], asked.size))
        matching = all if surely and asked.size > 1 else any
        return bool(chosen) and matching(sum(each) >= max(asked.tasks * asked.step, asked.size) for each in chosen)


def demanded(asked: Asked, usual: str) -> tuple[int | None, int]:
    """The memory on a node, None for all of it, and for each CPU."""
    if asked.memory or asked.memory_per_cpu:
        return asked.memory, asked.memory_per_cpu
    return {"": (None, 0), "DefMemPerNode=300": (300, 0), "DefMemPerCPU=100": (0, 100)}[usual]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(CLUSTERS)), STEPS)
def test_a_job_has_a_share_of_what_is_free_whenever_it_is_enough(
    usual: str, steps: list[tuple[Asked, int, int]]
) -> None:
    """Now, and when those that run have ended one after the other."""
    selection, running = Consumable(CLUSTERS[usual]), list[SlurmJob]()
    (partition,) = CLUSTERS[usual].partitions
    for number, (asked, nodes, ends) in enumerate(steps):
        if running and ends == 0:
            selection.give_back(running.pop(number % len(running)))
        job = SlurmJob(str(number), number, 0.0, (partition,), asked.minutes)
        job.min_nodes = asked.size
        job.max_nodes, job.tasks, job.cpus_per_task = asked.size, asked.tasks, asked.step
        if (
            asked.memory_per_cpu
        ):  # a job that is alone has all CPUs of a node, and memory for each of them in its account
            job.memory_per_cpu = asked.memory_per_cpu
            asked = asked._replace(memory=0, is_alone=False)
        asked = asked._replace(is_alone=asked.is_alone and usual != "DefMemPerCPU=100")
        job.memory, job.is_exclusive = asked.memory, asked.is_alone
        job.gres = (("gpu", "", asked.gpus),) if asked.gpus else ()
        free = Free(running)
        found = selection.now(job, partition, nodes)
        assert found is not None or not free.is_enough(asked, nodes, usual, surely=True)
        assert found is None or free.is_enough(asked, nodes, usual)
        soon = selection.earliest(job, partition, nodes, 0)
        lasts = sorted({0.0, *(each.end for each in running)})
        later = [(end, Free(each for each in running if each.end > end)) for end in lasts]
        if soon is not None:
            assert soon.start in [end for end, left in later if left.is_enough(asked, nodes, usual)]
            assert (soon.start == 0) == (found is not None)
        else:
            assert not any(left.is_enough(asked, nodes, usual, surely=True) for _, left in later)
        if found is None:
            continue
        memory, memory_per_cpu = demanded(asked, usual)
        assert found.nodes & ~nodes == 0
        assert set(members(found.nodes)) == set(found.cpus)
        assert asked.size <= len(found.cpus) <= job.max_nodes
        assert sum(found.cpus.values()) >= max(asked.tasks * asked.step, asked.size)
        for node, cpus in found.cpus.items():
            least = MEMORY[node] if memory is None else memory
            assert found.memory[node] == (memory_per_cpu * cpus if memory_per_cpu else least)
            assert sum(found.gres.get(node, ())) == (GPUS[node] if asked.is_alone else asked.gpus)
            assert cpus == CPUS[node] if asked.is_alone else asked.step <= cpus <= free.cpus[node]
        job.placement, job.end = found, 60.0 * asked.minutes
        selection.take(job)
        running.append(job)
        left = Free(running)
        assert min(*left.cpus, *left.memory, *left.gpus) >= 0
        assert selection.used == bits_of(node for node in range(4) if left.jobs[node])
        assert selection.open == bits_of(node for node in range(4) if left.cpus[node])
        assert selection.first_end() == min(each.end for each in running)
