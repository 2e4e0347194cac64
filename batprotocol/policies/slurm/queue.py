"""The jobs of a Slurm: what they ask for, which ones wait for nodes, and which ones cannot start yet.

A job that could start if there were nodes is in the queue, with an entry for each of its partitions, in the order of
the loops. The others are ineligible: they are held, before their begin, or wait for other jobs.

The components of a heterogeneous job are jobs of their own, which a `HetJob` ties: they start together, or not at all.

Requests have the vocabulary of `batprotocol.workloads.requests`. The few options of sbatch that it does not have stand
in the key `slurm` of the extra data, an object with the keys of `SLURM_KEYS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from enum import Enum
from heapq import heappop
from itertools import count
from typing import Any, Final, TypeAlias

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.model import FinalJobState, Job, JobSubmittedEvent
from batprotocol.policies.jobs import DependentJobs, QueuedJob, QueueEntry, SortedEntries
from batprotocol.policies.slurm.cluster import (
    ClusterPartition,
    ConfiguredCluster,
    JobSize,
    NodeSharing,
    bits_of,
    members,
)
from batprotocol.sites.slurm.texts import span
from batprotocol.workloads.requests import Request
from batprotocol.workloads.requests.notation import Dependency, Expression, matches
from batprotocol.workloads.requests.request import ArrayTask, read_slurm_options

__all__ = [
    "HetJob",
    "IneligibleJobs",
    "JobStage",
    "NodeShare",
    "RankedEntry",
    "SlurmEntry",
    "SlurmJob",
    "SlurmQueue",
    "hetjob_of",
    "job_of",
    "limit_memory",
    "named_by_number",
    "number_of",
]


class JobStage(Enum):
    """How far a job has come."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETING = "completing"
    """It was killed, and has not ended yet."""
    DONE = "done"


class NodeShare:
    """The nodes of a job, with the CPUs that it has of each.

    Attributes:
        nodes: the set of nodes.
        cpus: the CPUs that it has of each node.
        gres: what it has of generic resources on each node: the numbers of each kind.
        memory: the MiB that it has on each node.
        cores: the cores that it has of each node, as sets, if jobs share cores; empty otherwise.
        partition: the partition whose rows it is in, if jobs share cores.
        sharing: how it shares its nodes.
    """

    __slots__ = ("cores", "cpus", "gres", "memory", "nodes", "partition", "sharing")

    def __init__(
        self,
        nodes: int,
        cpus: dict[int, int],
        gres: dict[int, tuple[int, ...]] | None = None,
        memory: dict[int, int] | None = None,
    ) -> None:
        self.nodes, self.cpus, self.gres, self.memory = nodes, cpus, gres or {}, memory or {}
        self.cores: dict[int, int] = {}
        self.partition, self.sharing = "", NodeSharing.NODES


class SlurmJob(QueuedJob):
    """A job of a Slurm. Times are in seconds of the simulation, limits in minutes.

    Attributes:
        task: the number of its task in an array, and 0 else.
        array: the array that it is a task of; None if there is none.
        array_limit: how many tasks of the array may run at a time, 0: any number; record: the place of its record.
        het: the heterogeneous job that it is a component of, at its `offset`; None if there is none.
        user, group, account, qos: as it was submitted; quality: the quality of service that it has.
        partitions: those that it can run in.
        limit: its time limit.
        time_min: the least limit that it can do with; 0: `limit`.
        min_nodes, max_nodes: how many nodes it needs; takes_least: whether it asks for the fewest of them.
        most_nodes: how many limits let it have.
        tasks: its tasks, all nodes together; has_tasks: whether it names them; cpus_per_task: the CPUs of each.
        tasks_per_node: the tasks that each node gets; 0: any number.
        memory: MiB on each node, -1: all; memory_per_cpu: on each CPU; 0: what the partition says.
        gres: the generic resources on each node: name, type and number.
        licenses: the licences that it takes: name and number.
        leaves: the most switches that its nodes are at, 0 for any number; leaves_wait: the seconds for which it waits
            for that, since `leaves_since`; misses_leaves: whether its nodes were at too many.
        gpus: GPUs of all nodes together; 0: it does not ask for them in this way; gpus_per_task: those of each task;
            gpu_type: their type, "" for any; cpus_per_gpu, memory_per_gpu: the CPUs and MiB with each GPU, -1: none.
        fitting: the nodes that its constraint allows; allowed: those of them that its lists allow.
        alternatives: sets of nodes of which it has those of one only; empty: it may mix all.
        counts: how many of its nodes are of which set at least.
        own_cpus: the CPUs that it needs, if they do not follow from its tasks and nodes; 0: they do.
        size_cpus: the CPUs that its priority counts with.
        least_cpus: the CPUs on each node that its memory brings along (MaxMemPerCPU); 0: none.
        required: the nodes that it must have.
        is_single: whether it has one thread of each of its cores.
        is_exclusive, is_contiguous: whether its nodes are its own, or consecutive.
        spreads: whether it has as many nodes as possible; oversubscribes: whether it may share cores.
        is_of_user: whether its nodes have jobs of its user only.
        reservation: the name of its reservation; "" if none.
        nice: subtracted from its priority; fixed: the priority that an operator has set; None: it is computed.
        requeues: whether it may run again.
        priority: its priority in each partition; 0: it is held.
        begin: when it may start at the earliest.
        eligible: since when it can start, infinity so far.
        stage: how far it has come.
        started, end: when it started, and when its limit ends; left: when its nodes were clean again.
        is_suspended, is_stopped: whether it is suspended, and by an operator; ran: the seconds before `runs_since`.
        planned: when backfill will start it, 0 if unknown.
        placement: its nodes, while it runs.
        partition: the partition that it runs in.
        restarts: how often it ran before.
        outcome: the state with which it has ended by itself, while it still has its nodes; None: it has not.
        reason: the limit that keeps it waiting, in the words of Slurm; "" if it was none.
        extra: what the owner keeps with it.
    """

    __slots__ = (
        *("account", "allowed", "alternatives", "counts", "own_cpus", "array", "array_limit", "begin", "cpus_per_task"),
        *("eligible", "end", "extra", "fitting", "gpus", "gpu_type", "gpus_per_task", "cpus_per_gpu", "has_tasks"),
        *("is_of_user", "least_cpus", "memory_per_gpu", "oversubscribes", "spreads", "is_single"),
        *("gres", "is_contiguous", "is_exclusive", "limit", "max_nodes", "memory", "memory_per_cpu"),
        *("min_nodes", "nice", "partition", "partitions", "placement", "planned", "priority", "qos"),
        *("required", "requeues", "reservation", "restarts", "stage", "started", "task", "tasks"),
        *("group", "leaves", "leaves_since", "leaves_wait", "misses_leaves", "licenses", "quality", "reason"),
        *("het", "offset", "outcome", "tasks_per_node", "time_min", "user", "fixed", "gives_way", "is_held"),
        *("is_over", "killed", "left", "planned_nodes", "preempts_since", "runs_again", "takes_least"),
        *("most_nodes", "size_cpus", "waits_for_room", "is_stopped", "is_suspended", "ran", "runs_since", "record"),
    )

    def __init__(
        self, id: str, number: int, submitted: float, partitions: tuple[ClusterPartition, ...], limit: float
    ) -> None:
        super().__init__(id, number, submitted)
        self.task = self.array_limit = self.offset = 0
        self.array: str | None = None
        self.het: HetJob | None = None
        self.outcome: FinalJobState | None = None
        self.user = self.account = self.qos = self.group = self.quality = self.reason = self.gpu_type = ""
        self.licenses: tuple[tuple[str, int], ...] = ()
        self.leaves, self.leaves_wait, self.leaves_since, self.misses_leaves = 0, 0.0, math.inf, False
        self.partitions, self.limit, self.time_min, self.record = partitions, limit, 0.0, (number, 0)
        self.min_nodes = self.tasks = self.cpus_per_task = 1
        self.max_nodes, self.most_nodes, self.takes_least = math.inf, math.inf, False
        self.tasks_per_node = self.memory = self.memory_per_cpu = self.gpus = self.gpus_per_task = self.nice = (
            self.restarts
        ) = 0
        self.gres: tuple[tuple[str, str, int], ...] = ()
        self.allowed = self.fitting = -1
        self.alternatives, self.counts = tuple[int, ...](), tuple[tuple[int, int], ...]()
        self.own_cpus = self.least_cpus = self.size_cpus = self.required = self.planned_nodes = 0
        self.is_exclusive = self.is_contiguous = self.is_held = self.is_single = False
        self.has_tasks = self.spreads = self.oversubscribes = self.is_of_user = self.is_stopped = False
        self.cpus_per_gpu = self.memory_per_gpu = 0
        self.reservation, self.requeues = "", True
        self.priority: dict[str, int] = {}
        self.begin, self.eligible = submitted, math.inf
        self.stage = JobStage.PENDING
        self.started = self.end = self.planned = self.killed = self.left = self.ran = self.runs_since = 0.0
        self.fixed: int | None = None
        self.placement: NodeShare | None = None
        self.partition: ClusterPartition | None = None
        self.waits_for_room = self.is_over = self.runs_again = self.gives_way = self.is_suspended = False
        self.preempts_since = -math.inf
        self.extra: Any = None

    @property
    def own_id(self) -> str:
        """Its first id without the workload, as operators write it."""
        return self.id.rpartition("!")[2]

    @property
    def cpus(self) -> int:
        """The CPUs that it needs at least, all nodes together."""
        return self.own_cpus or max(self.tasks * self.cpus_per_task, self.min_nodes)

    @property
    def gpu_cpus(self) -> int:
        """The CPUs that it asks for with its GPUs (--cpus-per-gpu), at least."""
        gpus = self.gpus or self.gpus_per_task * self.tasks
        gpus = gpus or self.min_nodes * sum(count for name, _, count in self.gres if name == "gpu")
        return gpus * max(self.cpus_per_gpu, 0)

    @property
    def size(self) -> JobSize:
        """Its size, as partitions look at it."""
        tasks = self.tasks_per_node or (
            math.ceil(self.tasks / self.max_nodes) if self.has_tasks and self.max_nodes < math.inf else 1
        )
        nodes, memory = (self.min_nodes, self.max_nodes), (self.memory, self.memory_per_cpu)
        return JobSize(*nodes, self.limit, self.cpus, tasks * self.cpus_per_task, *memory, self.is_exclusive)

    def part(self, nodes: int) -> SlurmJob:
        """The same job with so many nodes only, and a CPU of each."""
        made = copy(self)
        made.min_nodes = made.own_cpus = nodes
        made.takes_least, made.required = True, 0
        return made

    def counted(self, nodes: int) -> SlurmJob:
        """The same job with so many nodes at least, and with all of its CPUs."""
        made = copy(self)
        made.own_cpus, made.min_nodes, made.takes_least = self.cpus, max(nodes, 1), True
        return made

    def alone(self) -> SlurmJob:
        """The same job with cores of its own."""
        made = copy(self)
        made.oversubscribes = False
        return made

    def with_nodes(self, nodes: int) -> SlurmJob:
        """The same job, which must have these nodes, too."""
        made = copy(self)
        made.required |= nodes
        made.min_nodes = max(self.min_nodes, made.required.bit_count())
        made.own_cpus = max(self.cpus, made.min_nodes)
        return made

    def is_on(self, nodes: int) -> bool:
        """Whether it has one of these nodes."""
        return self.placement is not None and bool(self.placement.nodes & nodes)

    @property
    def allocated_cpus(self) -> int:
        """The CPUs that it has, all nodes together."""
        assert self.placement is not None
        return sum(self.placement.cpus.values())

    @property
    def allocated_memory(self) -> int:
        """The MiB that it has, all nodes together."""
        assert self.placement is not None
        return sum(self.placement.memory.values())


class HetJob:
    """A heterogeneous job: jobs that start together, each on nodes of its own.

    Its script runs in the first component, the leader. When the leader ends, so do the others.

    Args:
        id: its id, which is that of its leader as operators write it, with the workload.
        size: how many components it has.

    Attributes:
        components: those that were submitted, by their offsets.
        is_refused: whether a component was refused, so that none runs.
    """

    __slots__ = ("components", "id", "is_refused", "size")

    def __init__(self, id: str, size: int) -> None:
        self.id, self.size = id, size
        self.components: dict[int, SlurmJob] = {}
        self.is_refused = False

    @property
    def own_id(self) -> str:
        """Its id without the workload."""
        return self.id.rpartition("!")[2]

    @property
    def is_complete(self) -> bool:
        """Whether all of its components were submitted."""
        return len(self.components) == self.size

    @property
    def leader(self) -> SlurmJob | None:
        """The component that has its script; None: it was not submitted yet."""
        return self.components.get(0)

    def jobs(self) -> list[SlurmJob]:
        """The components that were submitted, in the order of their offsets."""
        return [self.components[offset] for offset in sorted(self.components)]


Key: TypeAlias = tuple[bool, int, int, int, int, int, int]
"""The key of an entry: the entry with the smallest one comes first."""


class SlurmEntry(QueueEntry[SlurmJob, ClusterPartition]):
    """An entry of the queue of a Slurm.

    Attributes:
        place: the place of the partition among those of the job.
        row: the entry as the plan in C has it; None: not yet.
    """

    __slots__ = ("place", "row")

    def __init__(self, job: SlurmJob, partition: ClusterPartition, place: int, number: int) -> None:
        super().__init__(job, partition, partition.tier, number)
        self.place = place
        self.row: object = None


RankedEntry: TypeAlias = tuple[Key, int, SlurmEntry]


class SlurmQueue:
    """Jobs in order: those with reservations, then by tier, priority, submission and number.

    Args:
        is_fifo: whether only the records count.
        is_above: whether a job comes before another one as that one gives way to it; None: nobody does so.

    Attributes:
        changes: how often it has changed.
        components: how many of its jobs are components of heterogeneous ones.
    """

    def __init__(self, *, is_fifo: bool = False, is_above: Callable[[SlurmJob, SlurmJob], bool] | None = None) -> None:
        self._is_above, self._is_fifo = is_above, is_fifo
        self._sorted = SortedEntries[SlurmEntry]()
        self._entries: dict[int, list[SlurmEntry]] = {}
        self._seen, self._seen_at = list[RankedEntry](), -1
        self._numbers = count()
        self.changes = self.components = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, job: SlurmJob) -> bool:
        return id(job) in self._entries

    def add(self, job: SlurmJob, partitions: Iterable[ClusterPartition]) -> None:
        """A job can start in some partitions from now on."""
        entries = [SlurmEntry(job, each, place, next(self._numbers)) for place, each in enumerate(partitions)]
        self._entries[id(job)] = entries
        self.changes += 1
        self.components += job.het is not None
        for entry in entries:
            self._sorted.add(entry, self._key(entry))

    def remove(self, job: SlurmJob) -> None:
        """A job has started, or waits for something else."""
        self.changes += 1
        entries = self._entries.pop(id(job), ())
        self.components -= bool(entries) and job.het is not None
        for entry in entries:
            self._sorted.remove(entry)

    def sort(self) -> None:
        """The priorities have changed."""
        before = [number for _, number, _ in self._sorted]
        self._sorted.sort(self._key)
        self.changes += before != [number for _, number, _ in self._sorted]

    def jobs(self) -> list[SlurmJob]:
        """The jobs, in no order."""
        return [entries[0].job for entries in self._entries.values()]

    def snapshot(self) -> list[RankedEntry]:
        """The entries as they are now, with their keys and numbers."""
        if self._seen_at != self.changes:
            self._seen = list(self._sorted) if self._is_above is None else self._by_halves()
            self._seen_at = self.changes
        return self._seen

    def _by_halves(self) -> list[RankedEntry]:
        """The entries in an order that may have circles: a job may come before one that comes before it by others.

        Slurm sorts its jobs by number then, by halves, and so does this method: the result depends on the way.
        """
        is_above = self._is_above
        assert is_above is not None

        def comes_first(one: RankedEntry, other: RankedEntry) -> bool:
            if is_above(one[2].job, other[2].job):
                return True
            return not is_above(other[2].job, one[2].job) and one[0] <= other[0]

        parts = [[each] for each in sorted(self._sorted, key=lambda each: each[0][-3:])]

        def merged(first: list[RankedEntry], second: list[RankedEntry]) -> list[RankedEntry]:
            found, one, other = [], 0, 0
            while one < len(first) and other < len(second):
                if comes_first(first[one], second[other]):
                    found.append(first[one])
                    one += 1
                else:
                    found.append(second[other])
                    other += 1
            return found + first[one:] + second[other:]

        def ordered(low: int, high: int) -> list[RankedEntry]:
            if high - low < 2:
                return parts[low] if high > low else []
            middle = low + (high - low) // 2
            return merged(ordered(low, middle), ordered(middle, high))

        return ordered(0, len(parts))

    def _key(self, entry: SlurmEntry) -> Key:
        job = entry.job
        if self._is_fifo:
            return False, 0, *job.record, job.number, job.task, entry.place
        key = not job.reservation, -entry.tier, -job.priority[entry.partition.name], int(job.submitted)
        return *key, job.number, job.task, entry.place


# Jobs that cannot start yet


_EARLY = 1e-6
"""Moments that are less than this apart count as one."""


class IneligibleJobs(DependentJobs[SlurmJob]):
    """The jobs that cannot start yet, and all that others depend on. They are looked at when a loop runs."""

    def __init__(self) -> None:
        super().__init__()
        self._look: dict[str, None] = {}

    @property
    def is_due(self) -> bool:
        """Whether a job is to be looked at, at once or later."""
        return bool(self._times or self._look)

    def add(self, job: SlurmJob) -> None:
        """A job waits, possibly once more."""
        self.jobs[job.id] = job
        self.look([job.id])

    def remove(self, job: SlurmJob) -> None:
        """A job waits no longer."""
        self.jobs.pop(job.id, None)

    def depends(self, job: SlurmJob, dependency: Dependency | None) -> None:
        """A job has another dependency, or none."""
        self.look([job.id, *self._dependencies.changed(job.id, dependency)])

    def look(self, job_ids: Iterable[str]) -> None:
        """Look at these jobs the next time."""
        for job_id in job_ids:
            self._look[job_id] = None

    def gather(self, now: float) -> Iterator[tuple[SlurmJob, str | None]]:
        """The jobs that could start by now, and those that never can, with the reason. They still wait."""
        while self._times and self._times[0][0] <= now + _EARLY:
            self._look[heappop(self._times)[2]] = None
        while self._look:
            looked, self._look = list(self._look), {}
            for job_id in looked:
                job = self.jobs.get(job_id)
                if job is None or job.is_held:
                    continue
                verdict = self._dependencies.verdict(job.id)
                since = max(verdict.since, job.begin)
                if verdict.never is not None:
                    yield job, verdict.never
                elif since > now + _EARLY:
                    if since < math.inf:
                        self.note(since, job)
                else:
                    job.eligible = math.floor(now + _EARLY) if verdict.since > job.submitted else since
                    yield job, None


# Submissions


_MEBIBYTE: Final = 2**20


def job_of(
    cluster: ConfiguredCluster,
    event: JobSubmittedEvent,
    request: Request,
    number: int,
    hetjobs: dict[str, HetJob] | None = None,
) -> SlurmJob:
    """A job as Slurm sees it.

    Args:
        cluster: the cluster.
        event: its submission, with its number of hosts, its walltime and its extra data.
        request: what it asks for otherwise.
        number: its number.
        hetjobs: the heterogeneous jobs by their ids, which get a new one with its first component.

    Raises:
        InputError: it can never run, with the reason.
    """
    job, job_id, submitted = event.job, event.job_id, event.submission_time
    options = read_slurm_options(job.extra_data)
    het = None if "hetjob" not in options else _component(options["hetjob"], job_id, hetjobs)
    partitions = _partitions_of(cluster, request)
    limit = options.get("time", job.walltime)
    if limit is None or limit == math.inf:
        minutes = min(partitions[0].default_time, partitions[0].max_time)
    else:
        minutes = math.ceil(limit / 60)
    submitted = float(math.floor(submitted + 1e-6))  # Slurm counts whole seconds
    made = SlurmJob(job_id, options.get("number", number), submitted, partitions, minutes)
    made.time_min = math.ceil(options.get("time_min", 0) / 60)
    made.user = "" if request.user is None else str(request.user)
    made.account, made.qos = request.account or "", request.qos or ""
    made.group = "" if request.group is None else str(request.group)
    made.licenses = request.licenses
    made.leaves, made.leaves_wait = _switches(options.get("switches", ""), cluster)
    made.leaves_since = submitted  # Slurm tests it then for the first time
    made.nice, made.reservation = request.nice, request.reservation or ""
    made.requeues = cluster.requeues if request.requeue is None else request.requeue
    made.takes_least = options.get("use_min_nodes", False)
    made.spreads = options.get("spread_job", False)
    made.oversubscribes = options.get("oversubscribe", False)
    made.is_of_user = options.get("exclusive_user", False)
    made.is_contiguous, made.is_held = request.contiguous, options.get("hold", False)
    if request.begin is not None:
        made.begin = max(submitted, request.begin.of(submitted))
    if request.array is not None:
        workload, bang, _ = job_id.rpartition("!")
        made.array, made.task = f"{workload}{bang}{request.array.array}", request.array.task
        made.array_limit = request.array.limit or 0
    made.het, made.offset = (None, 0) if het is None else het
    _sizes(made, job, request, options)
    limit_memory(made, partitions[-1 if cluster.configuration.jobs.enforce_limits == "all" else 0])
    _allow(made, cluster, request, options)
    return made


_COMPONENT: Final = re.compile(r"([^+/!]{1,100})\+([0-9]{1,3})/([0-9]{1,3})", re.ASCII)
_MOST_COMPONENTS: Final = 128
"""The components that a heterogeneous job can have, as in Slurm."""


def _component(text: object, job_id: str, hetjobs: dict[str, HetJob] | None) -> tuple[HetJob, int]:
    """The heterogeneous job that a job is a component of, and its offset."""
    found = _COMPONENT.fullmatch(text) if isinstance(text, str) else None
    offset, size = (-1, 0) if found is None else (int(found[2]), int(found[3]))
    if found is None or not (0 <= offset < size and 2 <= size <= _MOST_COMPONENTS):
        raise InputError(f"expected a component such as 17+0/2, got {shown(text)}", "slurm.hetjob")
    workload, bang, _ = job_id.rpartition("!")
    het = HetJob(f"{workload}{bang}{found[1]}", size)
    het = het if hetjobs is None else hetjobs.setdefault(het.id, het)
    if het.size != size or offset in het.components:
        what = f"of {het.size}" if het.size != size else "that was not submitted yet"
        raise InputError(f"expected a component {what}, got {shown(text)}", "slurm.hetjob")
    return het, offset


def hetjob_of(event: JobSubmittedEvent, hetjobs: Mapping[str, HetJob]) -> HetJob | None:
    """The heterogeneous job that a refused job is a component of; None if there is none."""
    try:
        text = read_slurm_options(event.job.extra_data).get("hetjob")
    except InputError:
        return None
    found = _COMPONENT.fullmatch(text) if isinstance(text, str) else None
    workload, bang, _ = event.job_id.rpartition("!")
    return None if found is None else hetjobs.get(f"{workload}{bang}{found[1]}")


def named_by_number(job: SlurmJob, request: Request) -> Request:
    """The request of a job, of which other jobs know a component by its number, and the leader by that of all.

    >>> made = SlurmJob("w0!17+1", 18, 0.0, (), 10)
    >>> made.het, made.offset = HetJob("w0!17", 2), 1
    >>> named_by_number(made, Request()).array
    ArrayTask(array='18', task=0, limit=None)
    """
    name = number_of(job)
    return msgspec.structs.replace(request, array=ArrayTask(name, 0, None)) if name else request


def number_of(job: SlurmJob) -> str:
    """The number of a component, by which operators and other jobs know it, too; "" of a job that is none."""
    if job.het is None:
        return ""
    id = job.het.own_id
    return id if not job.offset else str(int(id) + job.offset) if id.isdecimal() else ""


def _switches(text: str, cluster: ConfiguredCluster) -> tuple[int, float]:
    """The most switches, and the seconds for which a job waits for so few; 0 if it does not ask."""
    if not text:
        return 0, 0.0
    count, _, wait = text.partition("@")
    if not (count.isascii() and count.isdigit() and 0 < len(count) <= 9):
        raise InputError(f"expected switches such as 1 or 1@5, got {shown(text)}", "slurm.switches")
    most = cluster.loops.max_switch_wait
    return int(count), min(span(wait), most) if wait else most


def _partitions_of(cluster: ConfiguredCluster, request: Request) -> tuple[Any, ...]:
    known = {each.name: each for each in cluster.partitions}
    names = request.partition or tuple(filter(None, (cluster.default_partition,)))
    if not names:
        raise InputError("it names no partition, and slurm.conf has none with Default=YES: give it a partition")
    for name in names:
        if name not in known:
            raise InputError(f"there is no partition {shown(name)}{hint(name, known)}")
    return tuple(known[name] for name in names)


def _sizes(made: SlurmJob, job: Job, request: Request, options: Mapping[str, Any]) -> None:
    """The nodes, CPUs, memory and resources."""
    size = job.resource_request
    if size < 1:
        raise InputError(f"it asks for {size} hosts, and needs one at least")
    made.min_nodes, made.max_nodes = options.get("nodes", (1, math.inf) if "gpus" in options else (size, size))
    cores, is_each = request.cores or 0, request.per == "task"
    made.tasks = request.tasks or made.min_nodes
    if cores:
        made.cpus_per_task = cores if is_each or not request.tasks else max(cores * size // made.tasks, 1)
    made.tasks_per_node = options.get("tasks_per_node", math.ceil(made.tasks / size) if request.tasks else 0)
    if "tasks" in options:
        made.tasks, made.tasks_per_node = options["tasks"], options.get("tasks_per_node", 0)
        if "nodes" not in options:
            made.min_nodes, made.max_nodes = 1, math.inf
        made.min_nodes = min(made.min_nodes, made.tasks)  # as sbatch does, with a warning
    elif "tasks_per_node" in options:
        made.tasks = made.tasks_per_node * made.min_nodes
    made.has_tasks = bool(request.tasks or "tasks" in options or "tasks_per_node" in options)
    if made.has_tasks and (made.spreads or not math.isinf(made.max_nodes)):
        made.max_nodes = max(min(made.max_nodes, made.tasks), made.min_nodes)  # a node without a task is of no use
    made.cpus_per_task = options.get("cpus_per_task", made.cpus_per_task)
    made.size_cpus = made.cpus if made.has_tasks or made.min_nodes >= made.max_nodes else made.cpus_per_task
    made.is_exclusive = request.exclusive or (request.is_whole and not _asks_for_cpus(options))
    times = math.ceil(made.tasks / size) if is_each else 1
    made.memory = -1 if request.memory == 0 else math.ceil((request.memory or 0) * times / _MEBIBYTE)
    made.memory_per_cpu = options.get("memory_per_cpu", 0)
    no_gpu = -1 if "cpus_per_task" in options else 0
    made.cpus_per_gpu, made.memory_per_gpu = options.get("cpus_per_gpu", no_gpu), options.get("memory_per_gpu", 0)
    if "threads_per_core" in options:
        if options["threads_per_core"] != 1:
            found = shown(options["threads_per_core"])
            raise InputError(f"expected 1, as others are not followed, got {found}", "slurm.threads_per_core")
        made.is_single = True
    made.gres = tuple((each.name, each.type or "", each.amount * times) for each in request.gres)
    made.gpus_per_task, each_type = options.get("gpus_per_task", (0, ""))
    made.gpus, made.gpu_type = options.get("gpus", (made.gpus_per_task * made.tasks, ""))
    made.gpu_type = made.gpu_type or each_type


def limit_memory(made: SlurmJob, partition: ClusterPartition) -> None:
    """Give a job more CPUs if it asks for more memory for each CPU than a partition allows (MaxMemPerCPU)."""
    most, usual = partition.max_memory_per_cpu, made.partitions[0]
    if not most or made.memory_per_gpu:
        return
    each = made.memory_per_cpu or (0 if made.memory or usual.memory_per_node else usual.memory_per_cpu)
    if each > most:
        factor = -(-each // most)
        made.cpus_per_task *= factor
        made.memory_per_cpu = -(-each // factor)
    elif not each:
        memory = partition.first_memory if made.memory < 0 else made.memory or usual.memory_per_node
        made.least_cpus = -(-(memory or partition.first_memory) // most)


def _asks_for_cpus(options: Mapping[str, Any]) -> bool:
    return any(
        key in options for key in ("shares", "tasks", "tasks_per_node", "cpus_per_task", "memory_per_cpu", "gpus")
    )


def _allow(made: SlurmJob, cluster: ConfiguredCluster, request: Request, options: Mapping[str, Any]) -> None:
    """The nodes that the job may have, and those that it must have."""
    excluded = [*request.exclude, *options.get("exclude", ())]
    wanted = [*request.nodelist, *options.get("nodelist", ())]
    named = bool(excluded or wanted)
    numbers = {node.name: number for number, node in enumerate(cluster.nodes)} if named else {}
    allowed = (1 << len(cluster.nodes)) - 1
    if request.constraint is not None:
        fitting = _matching(cluster, request.constraint.each)
        if fitting.bit_count() < made.min_nodes:
            raise InputError(
                f"{fitting.bit_count()} nodes have {request.constraint.text!r}, and it asks for {made.min_nodes}"
            )
        allowed &= fitting
        made.alternatives = tuple(_matching(cluster, each) & fitting for each in request.constraint.same)
        made.counts = tuple((count, _matching(cluster, each) & fitting) for count, each in request.constraint.counts)
        if made.alternatives and max(each.bit_count() for each in made.alternatives) < made.min_nodes:
            raise InputError(f"too few nodes have the same of {request.constraint.text!r} for {made.min_nodes}")
        if any(nodes.bit_count() < count for count, nodes in made.counts):
            raise InputError(f"too few nodes have what {request.constraint.text!r} counts")
    made.fitting = allowed
    for name in excluded:
        allowed &= ~(1 << numbers[name]) if name in numbers else -1
    for name in wanted:
        if name not in numbers:
            raise InputError(f"there is no node {shown(name)}")
        made.required |= 1 << numbers[name]
    if made.least_cpus > 1:
        allowed &= bits_of(number for number, node in enumerate(cluster.nodes) if node.cpus >= made.least_cpus)
    made.allowed = allowed
    partitions = ", ".join(each.name for each in made.partitions)
    if all(made.required & ~(each.nodes & allowed) for each in made.partitions):
        nodes = ", ".join(sorted(wanted))
        raise InputError(f"it asks for {nodes}, and partition {partitions} does not have all of them for it")
    most = max((each.nodes & allowed).bit_count() for each in made.partitions)
    if most < made.min_nodes:
        raise InputError(f"it asks for {made.min_nodes} nodes of partition {partitions}, which has {most} that fit")
    cpus = max(_most_cpus(cluster, made, each) for each in made.partitions)
    if cpus < made.cpus:
        raise InputError(f"it asks for {made.cpus} CPUs, and the nodes that it can have at once have {cpus}")


def _matching(cluster: ConfiguredCluster, expression: Expression | None) -> int:
    """The nodes whose features match an expression."""
    return bits_of(number for number, node in enumerate(cluster.nodes) if matches(expression, node.features))


def _most_cpus(cluster: ConfiguredCluster, made: SlurmJob, partition: ClusterPartition) -> int:
    """The most CPUs that the nodes that a job may have in a partition have together."""
    nodes, count, is_whole = partition.nodes & made.allowed, made.max_nodes, made.is_exclusive or partition.is_exclusive
    most = math.inf if cluster.select.is_linear else max(partition.max_cpus, made.least_cpus)
    sizes = {node.cpus for node in cluster.nodes}
    if len(sizes) == 1 and most >= max(sizes):
        return int(min(nodes.bit_count(), count)) * sizes.pop()
    found = sorted((cluster.nodes[node].cpus for node in members(nodes)), reverse=True)
    found = [int(min(cpus, most)) for cpus in found if cpus <= most or not is_whole]
    return sum(found[: int(min(len(found), count))])
