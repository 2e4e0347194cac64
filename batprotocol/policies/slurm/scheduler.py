"""`SlurmScheduler`: Slurm's controller as a scheduler for Batsim."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, SchedulerError, shown
from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    DelayProfile,
    EDCRequestedSimulationFeatures,
    ExternalEventOccurredEvent,
    FinalJobState,
    Host,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillProgress,
    KillProgressAtomicProfile,
    Profile,
    SimulationBeginsEvent,
)
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.driver import Replies, UnknownKeys
from batprotocol.policies.jobs import Allocating, RunHistory, natural_key
from batprotocol.policies.site.reruns import remaining
from batprotocol.policies.slurm.clock import USUAL, Phases
from batprotocol.policies.slurm.cluster import ConfiguredCluster, bits_of, cluster_of, members
from batprotocol.policies.slurm.commands import obey, read_command
from batprotocol.policies.slurm.controller import Controller
from batprotocol.policies.slurm.priorities import BasicOrder, MultifactorOrder, MultifactorPriorities
from batprotocol.policies.slurm.queue import SlurmJob, hetjob_of, job_of
from batprotocol.policies.slurm.reservations import Licenses, NodeReservation
from batprotocol.policies.slurm.rules import SlurmRules, account_limits_of, preemption_of
from batprotocol.policies.slurm.state import JobPriorities
from batprotocol.sites.slurm.accounting import Accounting
from batprotocol.sites.slurm.configuration import PartitionLine, SlurmConfiguration, SwitchLine
from batprotocol.workloads.host_events import HostEvent, Window, read_host_event
from batprotocol.workloads.host_events.events import HostChange
from batprotocol.workloads.requests import Allocated, read_request
from batprotocol.workloads.requests.notation import GPU, Gres

__all__ = [
    "LIKE",
    "SlurmScheduler",
    "Started",
    "allocated_by",
    "with_added_hosts",
]


# Added hosts: a question about a larger machine has a platform with more hosts, and the slurm.conf of the machine as it
# is. Each added host has the name of a node as its property `like`: it has the same hardware, and is in the same
# partitions and at the same switch.


Part = TypeVar("Part", PartitionLine, SwitchLine)

LIKE: Final = "like"
"""The property of an added host: the name of the node that it is like."""


def with_added_hosts(configuration: SlurmConfiguration, hosts: Iterable[Host]) -> SlurmConfiguration:
    """The configuration with a node for each added host.

    >>> from batprotocol.model import HostProperty
    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> made = configuration_of("NodeName=n[0-1] CPUs=4\\nPartitionName=p Nodes=n1")
    >>> like = (HostProperty("like", "n1"),)
    >>> added = Host(id=2, name="added2", properties=like, computation_speed=(1e9,))
    >>> more = with_added_hosts(made, [added])
    >>> [(node.name, node.cpus) for node in more.nodes], more.partitions[0].nodes
    ([('n0', 4), ('n1', 4), ('added2', 4)], ('n1', 'added2'))
    """
    nodes = {node.name: node for node in configuration.nodes}
    added: dict[str, list[str]] = {}
    for host in hosts:
        like = next((each.value for each in host.properties or () if each.key == LIKE), None)
        if like is not None and like in nodes and host.name not in nodes:
            added.setdefault(like, []).append(host.name)
    if not added:
        return configuration
    more = [msgspec.structs.replace(nodes[like], name=name) for like, names in added.items() for name in names]
    return msgspec.structs.replace(
        configuration,
        nodes=(*configuration.nodes, *more),
        partitions=tuple(_with(each, added) for each in configuration.partitions),
        switches=tuple(_with(each, added) for each in configuration.switches),
    )


def _with(part: Part, added: dict[str, list[str]]) -> Part:
    """The part with the added nodes that are like its own."""
    own: tuple[str, ...] = part.nodes
    more: list[str] = [name for node in own for name in added.get(node, ())]
    return msgspec.structs.replace(part, nodes=(*own, *more)) if more else part


_MEBIBYTE = 2**20
_BRIEF: Final = 0.05
"""The seconds that a job whose time is over runs when it goes on."""


def allocated_by(job: SlurmJob, job_id: str, hosts: str, time: float, cluster: ConfiguredCluster) -> Allocated:
    """The amounts that a started job takes of each of its nodes.

    Args:
        job: the job, with its partition and its placement.
        job_id: its name in this life.
        hosts: its host set.
        time: when it starts, in seconds.
        cluster: the cluster.
    """
    placement, partition = job.placement, job.partition
    assert placement is not None
    assert partition is not None
    whole = cluster.select.is_linear or job.is_exclusive or partition.is_exclusive
    is_alone = whole and partition.rows == 1
    is_given_out = is_alone or not cluster.select.is_linear  # it does not divide nodes among the jobs that share them
    memory, gpus = (cluster.memory, cluster.gpus) if is_given_out else (0, 0)
    cpus = placement.cpus
    gres: dict[tuple[str, str], int] = {}
    for node, counts in placement.gres.items():
        for (name, type, _), count in zip(cluster.nodes[node].gres, counts, strict=False):
            gres[name, type] = max(gres.get((name, type), 0), count)
    return Allocated(
        job_id=job_id,
        first_id=job.id,
        starting_time=time,
        partition=partition.name,
        hosts=hosts,
        cores=0 if whole else max(cpus.values(), default=1),
        memory=0 if whole else max(placement.memory.values(), default=0) * _MEBIBYTE,
        gres=() if whole else tuple(Gres(name, type or None, count) for (name, type), count in gres.items() if count),
        whole=whole,
        memory_share=_memory(job, cluster, is_alone=is_alone) / memory if memory else None,
        gpu_share=_gpus(job, cluster, is_alone=is_alone) / gpus if gpus else None,
        held=len(cpus) if whole else math.fsum(n / cluster.nodes[node].cpus for node, n in cpus.items()),
    )


def _memory(job: SlurmJob, cluster: ConfiguredCluster, *, is_alone: bool) -> int:
    """The MiB that a job holds: all of its nodes, if no other job can have them."""
    assert job.placement is not None
    if is_alone:
        return sum(cluster.nodes[node].memory for node in job.placement.cpus)
    return sum(job.placement.memory.values())


def _gpus(job: SlurmJob, cluster: ConfiguredCluster, *, is_alone: bool) -> int:
    """The GPUs that a job holds: all of its nodes, if no other job can have them."""
    assert job.placement is not None
    if is_alone:
        return sum(cluster.nodes[node].gpus for node in job.placement.cpus)
    return sum(
        count
        for node, counts in job.placement.gres.items()
        for (name, _, _), count in zip(cluster.nodes[node].gres, counts, strict=False)
        if name == GPU
    )


logger = logging.getLogger("batprotocol.policies")


class Started(NamedTuple):
    """A start of a job.

    Attributes:
        job_id: the job, under the id by which it was submitted.
        time: when it started, in seconds.
        partition: the partition that it runs in.
        nodes: the numbers of its nodes.
        by: `main` or `backfill`, the loop that started it.
        run_id: the id of the run. If the job is suspended, each part after that has an id of its own.
    """

    job_id: str
    time: float
    partition: str
    nodes: tuple[int, ...]
    by: str
    run_id: str = ""


class SuspendedRun(msgspec.Struct, gc=False, eq=False):
    """A run that is stopped, and of which a part is left.

    Args:
        job: the job.
        since: when it was suspended, in seconds.
        profile: its profile, and what is left of it once it has been stopped.
        profile_id: the id of its profile, if it is not begun yet.
        is_stopped: whether Batsim has stopped it.
        goes_on: whether it goes on as soon as it has been stopped.
        is_killed: whether it is over then.
    """

    job: SlurmJob
    since: float
    profile: Profile | None = None
    profile_id: str = ""
    is_stopped: bool = False
    goes_on: bool = False
    is_killed: bool = False


class SlurmScheduler(Allocating, Scheduler):
    """Slurm's scheduler: what its slurm.conf says, a Slurm does with these jobs.

    Args:
        configuration: the slurm.conf.
        accounting: users, accounts and qualities of service, as sacctmgr prints them.
        phases: what is left to chance in a real Slurm: when its loops run.
        is_quick: whether it takes short cuts, which change no decision.
        time_goes_on: whether the time of suspended jobs goes on, as that of a script that sleeps: those of recordings
            do. Else a suspended job does its work later.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> from batprotocol.simulator import EXAMPLE_WORKLOAD, Platform, simulate
    >>> conf = configuration_of("NodeName=n[0-31]\\nPartitionName=p Nodes=ALL Default=YES")
    >>> simulate(Platform.homogeneous(32), EXAMPLE_WORKLOAD, SlurmScheduler(conf)).is_complete
    True
    """

    version = "1.0"
    features = EDCRequestedSimulationFeatures(
        dynamic_registration=True, profile_reuse=True, forward_profiles_on_jobs_killed=True
    )
    shares_hosts = True

    def __init__(
        self,
        configuration: SlurmConfiguration,
        phases: Phases = USUAL,
        *,
        accounting: Accounting | None = None,
        is_quick: bool = True,
        time_goes_on: bool = False,
    ) -> None:
        self._time_goes_on = time_goes_on
        self.configuration, self.accounting = configuration, accounting or Accounting()
        self.phases, self._is_quick = phases, is_quick
        self.starts: list[Started] = []
        """The starts of jobs, in order."""
        self._allocated: list[Allocated] = []
        self._controller: Controller | None = None

    @property
    def controller(self) -> Controller:
        """The controller, once the simulation has begun."""
        if self._controller is None:
            raise SchedulerError("the simulation has not begun: there is no controller yet")
        return self._controller

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its nodes, in the order of starts: the largest, if they differ."""
        return self._allocated

    # Batsim's events

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        whole = with_added_hosts(self.configuration, event.computation_hosts)
        self._hosts, names = _hosts_of([node.name for node in whole.nodes], event.computation_hosts)
        nodes = tuple(node for node in whole.nodes if node.name in names)
        configuration = msgspec.structs.replace(whole, nodes=nodes)
        cluster = cluster_of(configuration)
        self._nodes = {host: node for node, host in enumerate(self._hosts)}
        rules = SlurmRules(
            account_limits_of(configuration, self.accounting),
            Licenses(configuration.licenses),
            configuration.jobs.enforce_limits,
            preemption_of(
                configuration.preemption,
                self.accounting.qos,
                youngest_first=configuration.scheduler.preempt_youngest_first,
            ),
        )
        priorities = self._priorities(configuration)
        self._controller = Controller(cluster, priorities, self, self.phases, rules=rules, is_quick=self._is_quick)
        self._histories: dict[str, RunHistory] = {}
        self._firsts: dict[str, SlurmJob] = {}
        self._suspended: dict[str, SuspendedRun] = {}  # by the ids of the jobs
        self._last: set[str] = set()  # runs that end now in any case
        self._begin_again: set[str] = set()  # jobs that lose their work when they are suspended
        self._stopping: dict[str, SuspendedRun] = {}  # by the ids of the runs that Batsim is about to stop
        self._number = 0
        self._replies = Replies(self, None, name="slurm", nearly=1e-9)
        self._all_submitted = not event.workloads
        self._all_injected = not event.external_event_lists
        self._is_finished = False
        self._arrivals: list[JobSubmittedEvent] = []
        self._unknown_keys = UnknownKeys()

    def _priorities(self, configuration: SlurmConfiguration) -> JobPriorities:
        if configuration.priority.plugin == "basic":
            return BasicOrder()
        phases = self.phases
        times = {"since": phases.priorities, "epoch": phases.epoch}
        found = MultifactorPriorities(configuration, self.accounting, **times, calculations=phases.calculations)
        return MultifactorOrder(found, cluster_of(configuration).nodes)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self._arrivals.append(event)

    def on_all_static_jobs_have_been_submitted(self, event: AllStaticJobsHaveBeenSubmittedEvent) -> None:
        self._all_submitted = True

    def on_all_static_external_events_have_been_injected(
        self, event: AllStaticExternalEventsHaveBeenInjectedEvent
    ) -> None:
        self._all_injected = True

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        job = self._firsts.pop(event.job_id, None)
        run = self._stopping.get(event.job_id)
        if job is not None:
            self.controller.ended(job, event.state, self.now)
        elif run is not None and event.state != FinalJobState.COMPLETED_KILLED:  # it ended as it was to be stopped
            del self._stopping[event.job_id]
            is_mine = self._suspended.get(run.job.id) is run
            if is_mine:
                del self._suspended[run.job.id]
            if is_mine or run.is_killed:
                self.controller.ended(run.job, event.state, self.now)

    def on_jobs_killed(self, event: JobsKilledEvent) -> None:
        profiles = {each.id: each.profile for each in event.profiles or ()}
        for each in event.progresses:
            run = self._stopping.pop(each.job_id, None)
            if run is not None and run.is_killed:
                self.controller.ended(run.job, FinalJobState.COMPLETED_KILLED, self.now)
            if run is None or self._suspended.get(run.job.id) is not run:
                continue
            run.is_stopped = True
            self._keep_rest(run, each.progress, profiles.get(each.progress.profile_id))
            if run.goes_on:
                self.resume(run.job)

    def on_external_event_occurred(self, event: ExternalEventOccurredEvent) -> None:
        self._submit()
        data = event.external_event.data
        try:
            found = read_host_event(data)
            command = read_command(data) if found is None else None
        except InputError as error:
            logger.warning("the external event %s has no effect: %s", shown(event.id), error)
            return
        if isinstance(found, HostEvent):
            self._change(found)
        elif isinstance(found, Window):
            nodes = self._nodes_of(found.hosts)
            name, who = found.name or event.id, (found.users, found.accounts)
            made = NodeReservation.of(name, nodes, found.begin, found.end, *who, found.flags)
            self.controller.reserve(made, self.now)
        elif command is not None:
            try:
                for note in obey(self.controller, command, self.now):
                    logger.warning("the external event %s, %s: %s", shown(event.id), shown(" ".join(command)), note)
            except InputError as error:
                logger.warning("the external event %s has no effect: %s", shown(event.id), error)

    def _change(self, event: HostEvent) -> None:
        nodes, controller = self._nodes_of(event.hosts), self.controller
        changes: dict[HostChange, Callable[[int, float], None]] = {
            HostChange.DOWN: controller.fail,
            HostChange.DRAIN: controller.withdraw,
            HostChange.UP: controller.give_back,
        }
        changes[event.state](nodes, self.now)

    def _nodes_of(self, hosts: Any) -> int:
        return bits_of(self._nodes[host] for host in hosts if host in self._nodes)

    def decide(self) -> None:
        self._submit()
        controller = self.controller
        self._replies.has_called(self.now)
        if self._all_submitted and not self._is_finished:
            controller.no_more()
        controller.settle(self.now)
        if self._all_submitted and self._all_injected and controller.jobs and controller.is_stuck():
            for job_id in self._suspended:
                logger.warning(
                    "%s is suspended, and nobody has it go on: it is killed, as all else is over", shown(job_id)
                )
            controller.give_up(self.now)
        time = controller.next_time()
        if not self._is_finished and self._all_submitted and not controller.jobs:
            self._is_finished = True
            self._replies.finish()
        elif controller.jobs:
            self._replies.call_at(time)

    def _submit(self) -> None:
        arrivals = self._arrivals
        if len(arrivals) > 1:
            arrivals.sort(key=lambda event: (event.submission_time, natural_key(event.job_id)))
        for event in arrivals:
            self._number += 1
            if event.job.extra_data:
                self._unknown_keys.report(event.job_id, event.job.extra_data)
            try:
                request = read_request(event.job.extra_data)
                job = job_of(self.controller.cluster, event, request, self._number, self.controller.hetjobs)
                self._histories[job.id] = RunHistory(event.job_id, event.job)
                self.controller.submit(job, request, self.now)
            except InputError as error:
                self._replies.reject(event.job_id, error)
                het = hetjob_of(event, self.controller.hetjobs)
                if het is not None:
                    self.controller.refuse_hetjob(het, self.now)
        arrivals.clear()

    # The controller's actions

    def execute(self, job: SlurmJob) -> bool:
        """Execute a job on its placement; returns whether that is possible."""
        job_id = self._histories[job.id].id
        assert job.placement is not None
        assert job.partition is not None
        nodes = members(job.placement.nodes)
        hosts = frozen_hosts(self._hosts[node] for node in nodes)
        if self._replies.execute(job_id, hosts) is not None:
            return False
        self._firsts[job_id] = job
        by = "backfill" if self.controller.is_backfilling else "main"
        cluster = self.controller.cluster
        self._allocated.append(allocated_by(job, job_id, hosts.text, self.controller.time, cluster))
        self.starts.append(Started(job.id, self.controller.time, job.partition.name, tuple(nodes), by, job_id))
        return True

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill jobs. Of those that are suspended, nothing is left."""
        running, over = [], self._over()
        for job in jobs:
            run = self._suspended.pop(job.id, None)
            job_id = self._histories[job.id].id
            if run is None and job_id not in over:
                running.append(job_id)
            elif run is not None and run.goes_on:  # Batsim is about to stop it, and then it is over
                run.is_killed = True
        self._replies.kill(running)

    def _over(self) -> set[str]:
        """The jobs whose ends this message reports, also those that the controller does not know yet."""
        return {each.job_id for each in self.message.events if isinstance(each, JobCompletedEvent)}

    def suspend(self, job: SlurmJob) -> None:
        """Stop a running job: Batsim kills it, and says what is left of it."""
        job_id = self._histories[job.id].id
        before = self._suspended.get(job.id)
        if before is not None:  # it was to go on as soon as Batsim had stopped it
            before.goes_on = False
            return
        if job_id in self._over() or job_id in self._last:
            return
        self._suspended[job.id] = self._stopping[job_id] = SuspendedRun(job, self.now)
        self._firsts.pop(job_id, None)
        self._replies.kill([job_id])

    def _keep_rest(self, run: SuspendedRun, progress: KillProgress, profile: Profile | None) -> None:
        """Note what is left of a run that has been stopped."""
        done = progress.progress if isinstance(progress, KillProgressAtomicProfile) else math.nan
        run.profile_id = progress.profile_id
        if done == 0:  # all of it is left
            run.profile = profile if self._time_goes_on else None
            return
        run.profile = None if profile is None else remaining(profile, progress)
        if done >= 1:
            run.profile = DelayProfile(_BRIEF)
        elif run.profile is None and run.job.id not in self._begin_again:
            self._begin_again.add(run.job.id)
            logger.warning(
                "%s is suspended, and what is left of its %s cannot be made: it begins again each time that it goes on",
                shown(run.job.id),
                "profile" if profile is None else type(profile).__name__,
            )

    def resume(self, job: SlurmJob) -> None:
        """Let a suspended job go on: what is left of it is a run of its own, on the same hosts."""
        run = self._suspended.get(job.id)
        if run is None:  # it is over, and the controller hears of it next
            return
        if not run.is_stopped:
            run.goes_on = True
            return
        del self._suspended[job.id]
        history = self._histories[job.id]
        history.runs += 1
        job_id, walltime, rest = history.rename(), history.job.walltime, run.profile
        if self._time_goes_on and isinstance(rest, DelayProfile):
            rest = DelayProfile(max(rest.delay - (self.now - run.since), _BRIEF))
            if rest.delay == _BRIEF:  # its time is over, so that it ends even if it is suspended again
                self._last.add(job_id)
        if walltime is not None:
            walltime = max(walltime - job.ran, _BRIEF)
        profile_id = run.profile_id if rest is None else job_id
        left = msgspec.structs.replace(history.job, profile_id=profile_id, walltime=walltime)
        self._replies.register(job_id, left, () if rest is None else [(job_id, rest)])
        assert job.placement is not None
        hosts = frozen_hosts(self._hosts[node] for node in members(job.placement.nodes))
        if self._replies.execute(job_id, hosts) is None:
            self._firsts[job_id] = job
            cluster = self.controller.cluster
            self._allocated.append(allocated_by(job, job_id, hosts.text, self.controller.time, cluster))

    def again(self, job: SlurmJob) -> None:
        """Register a job once more, under another id."""
        history = self._histories[job.id]
        history.runs += 1
        self._replies.register(history.rename(), history.job, ())

    def reject(self, job: SlurmJob, why: str) -> None:
        """A job never runs."""
        self._replies.reject(self._histories[job.id].id, why)


def _hosts_of(names: list[str], hosts: tuple[Host, ...]) -> tuple[list[int], frozenset[str]]:
    """The hosts of the nodes of these names, and the names of the nodes that have one: by name, or else by number."""
    by_name = {host.name: host.id for host in hosts}
    known = [name for name in names if name in by_name]
    if known:
        found, used = [by_name[name] for name in known], known
    else:
        found, used = [host.id for host in hosts][: len(names)], names[: len(hosts)]
    if len(used) < len(names) or len(found) < len(hosts):
        logger.warning(
            "slurm.conf has %d nodes, and the platform %d hosts: %d are used; give hosts the names of nodes",
            len(names),
            len(hosts),
            len(used),
        )
    return found, frozenset(used)
