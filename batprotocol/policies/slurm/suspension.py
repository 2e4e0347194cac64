"""Jobs that are suspended and go on: by preemption, in turns (GANG), and by operators.

A suspended job keeps its nodes, its memory, its start and its id, and its limit moves by the time for which it was
suspended. Slurm's gang scheduler decides who runs: each partition has a list of its jobs, and a row of those that may
run at the same time. Jobs of higher tiers cast shadows on the rows of lower ones, so that the jobs there are suspended.
Once in each time slice (SchedulerTimeSlice), jobs that wait for their turn and those that run change places. This
module is as literal as Slurm's, and knows neither Batsim nor the clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.cluster import FOREVER, ClusterNode, GangUnit, members
from batprotocol.policies.slurm.loops import StartOutcome
from batprotocol.policies.slurm.queue import JobStage, NodeShare, SlurmJob
from batprotocol.policies.slurm.rules import grace_end, may_preempt
from batprotocol.policies.slurm.state import ControllerState, Endings

__all__ = ["GangActions", "GangScheduler", "Suspensions"]


class GangActions(Protocol):
    """What the gang scheduler has others do with running jobs."""

    def suspend(self, job: SlurmJob) -> None:
        """Suspend a job, unless it is suspended."""

    def resume(self, job: SlurmJob) -> None:
        """Have a suspended job go on."""

    def displace(self, job: SlurmJob) -> None:
        """A job gives way to one of a higher tier: it is suspended, cancelled or requeued, as its terms say."""


class _Place(Enum):
    """Where a job is in the list of its partition."""

    ACTIVE = "active"
    """It has its turn."""
    FILLER = "filler"
    """It runs beside those that have their turn."""
    WAITING = "waiting"


class _Member:
    """A job in the list of its partition.

    Attributes:
        job: the job.
        share: its nodes and cores.
        place: where it is.
        runs: whether the gang scheduler lets it run.
    """

    __slots__ = ("job", "place", "runs", "share")

    def __init__(self, job: SlurmJob) -> None:
        assert job.placement is not None
        self.job, self.share, self.place, self.runs = job, job.placement, _Place.WAITING, True


class _Row:
    """What the jobs that may run at the same time have."""

    def __init__(self, nodes: Sequence[ClusterNode], unit: GangUnit) -> None:
        self._nodes, self._unit = nodes, unit
        self.clear()

    def clear(self) -> None:
        self.count, self._used = 0, 0
        self._cpus: dict[int, int] = {}
        self._cores: dict[int, int] = {}

    def add(self, share: NodeShare) -> None:
        self.count += 1
        self._used |= share.nodes
        for node, cpus in share.cpus.items():
            self._cpus[node] = min(self._cpus.get(node, 0) + cpus, self._nodes[node].cpus)
        for node, cores in share.cores.items():
            self._cores[node] = self._cores.get(node, 0) | cores

    def fits(self, share: NodeShare) -> bool:
        if not self.count:
            return True
        if self._unit is GangUnit.CORES:
            return not any(cores & self._cores.get(node, 0) for node, cores in share.cores.items())
        both = share.nodes & self._used
        if not both or self._unit is GangUnit.NODES:
            return not both
        return all(
            self._cpus.get(node, 0) + share.cpus.get(node, 0) <= self._nodes[node].cpus for node in members(share.nodes)
        )


class _Partition:
    """The jobs of a partition, and the jobs of higher tiers that run.

    Attributes:
        tier: its tier.
        jobs: its jobs: the next turn is that of the first ones.
        shadows: the running jobs of higher tiers.
        row: what those that may run have.
    """

    def __init__(self, tier: int, row: _Row) -> None:
        self.tier, self.row = tier, row
        self.jobs: list[_Member] = []
        self.shadows: list[_Member] = []

    def begin(self) -> None:
        """Begin a new row: with the shadows."""
        self.row.clear()
        for each in self.shadows:
            self.row.add(each.share)


class GangScheduler:
    """Decides which of the jobs that have started run at the moment.

    Args:
        nodes: the nodes of the cluster.
        unit: what two jobs cannot have at the same time.
        actions: what it has others do.
    """

    def __init__(self, nodes: Sequence[ClusterNode], unit: GangUnit, actions: GangActions) -> None:
        self._nodes, self._unit, self._actions = nodes, unit, actions
        self._partitions: dict[str, _Partition] = {}
        self._late: list[SlurmJob] = []

    @property
    def takes_turns(self) -> bool:
        """Whether the end of a time slice may change something: some jobs do not fit beside the others."""
        return any(each.row.count < len(each.jobs) + len(each.shadows) for each in self._partitions.values())

    def started(self, job: SlurmJob) -> None:
        """A job has started. It is suspended at once if it does not fit beside those that run."""
        partition = self._partition_of(job)
        found = next((each for each in partition.jobs if each.job is job), None)
        if found is not None:
            self._remove(found, partition)
            self._update(partition, adds=False)
        member = _Member(job)
        partition.jobs.append(member)
        if not job.is_suspended and partition.row.fits(member.share):
            partition.row.add(member.share)
            member.place = _Place.FILLER
            self._cast(member, partition)
            self._update_all()
        else:
            self._stop(member, partition)
        self._displace()

    def ended(self, job: SlurmJob) -> None:
        """A job has left its nodes, or is not one of the gang any more: others may go on."""
        partition = self._partition_of(job)
        found = next((each for each in partition.jobs if each.job is job), None)
        if found is not None:
            self._remove(found, partition)
        self._update_all()
        self._displace()

    def turn(self) -> None:
        """A time slice is over: those that had their turn go to the end of the list of their partition."""
        for partition in self._in_order():
            if partition.row.count < len(partition.jobs) + len(partition.shadows):
                self._cycle(partition)
        self._displace()

    def _partition_of(self, job: SlurmJob) -> _Partition:
        assert job.partition is not None
        found = self._partitions.get(job.partition.name)
        if found is None:
            found = self._partitions[job.partition.name] = _Partition(job.partition.tier, _Row(self._nodes, self._unit))
            for partition in self._partitions.values():  # it has the shadows that there are
                if partition.tier > found.tier:
                    found.shadows += [each for each in partition.jobs if each.place is not _Place.WAITING]
            found.begin()
        return found

    def _in_order(self) -> list[_Partition]:
        """The partitions, those of higher tiers first: their jobs cast shadows on the others."""
        return sorted(self._partitions.values(), key=lambda each: -each.tier)

    def _cast(self, member: _Member, partition: _Partition) -> None:
        for other in self._partitions.values():
            if other.tier < partition.tier and member not in other.shadows:
                other.shadows.append(member)

    def _clear(self, member: _Member) -> None:
        for partition in self._partitions.values():
            if member in partition.shadows:
                partition.shadows.remove(member)

    def _remove(self, member: _Member, partition: _Partition) -> None:
        self._clear(member)
        partition.jobs.remove(member)

    def _stop(self, member: _Member, partition: _Partition) -> None:
        """A job runs no longer: it is suspended, or gives way in another way to the jobs that cast the shadows."""
        if partition.shadows:
            self._late.append(member.job)
        else:
            self._actions.suspend(member.job)
        member.runs = False
        self._clear(member)

    def _displace(self) -> None:
        late, self._late = self._late, []
        for job in late:
            self._actions.displace(job)

    def _update_all(self) -> None:
        """Suspend the jobs that shadows have reached, and resume those that fit, in each partition."""
        for partition in self._in_order():
            self._update(partition)

    def _update(self, partition: _Partition, *, adds: bool = True) -> None:
        partition.begin()
        for place in (_Place.ACTIVE, _Place.FILLER):
            for member in [each for each in partition.jobs if each.place is place]:
                if partition.row.fits(member.share):
                    partition.row.add(member.share)
                    self._cast(member, partition)
                    continue
                if member.runs:
                    self._stop(member, partition)
                member.place = _Place.WAITING
        if not adds:
            return
        for member in partition.jobs:
            if member.place is _Place.WAITING and not member.job.is_stopped and partition.row.fits(member.share):
                partition.row.add(member.share)
                self._cast(member, partition)
                member.place = _Place.FILLER
                if not member.runs:
                    self._actions.resume(member.job)
                    member.runs = True

    def _cycle(self, partition: _Partition) -> None:
        had = [each for each in partition.jobs if each.place is _Place.ACTIVE]
        partition.jobs = [each for each in partition.jobs if each.place is not _Place.ACTIVE] + had
        for member in partition.jobs:
            member.place = _Place.WAITING
        partition.begin()
        for member in partition.jobs:
            if not member.job.is_stopped and partition.row.fits(member.share):
                partition.row.add(member.share)
                member.place = _Place.ACTIVE
        for member in partition.jobs:
            if member.place is _Place.WAITING and member.runs:
                self._stop(member, partition)
        for member in partition.jobs:
            if member.place is _Place.ACTIVE and not member.runs:
                self._actions.resume(member.job)
                member.runs = True
                self._cast(member, partition)


class Suspensions:
    """The jobs that are suspended, and those that do it.

    Args:
        state: the state of the controller.
        endings: the endings of jobs.

    Attributes:
        gang: the gang scheduler; None: jobs take no turns.
    """

    def __init__(self, state: ControllerState, endings: Endings) -> None:
        self._state, self._endings = state, endings
        cluster = state.cluster
        self.gang = None if cluster.gang is None else GangScheduler(cluster.nodes, cluster.gang, self)
        if self.gang is not None:
            endings.left = self.gang.ended

    def next_turn(self) -> float:
        """When a time slice is over and jobs change places; infinity: none wait for their turn."""
        if self.gang is None or not self.gang.takes_turns:
            return math.inf
        return self._state.clock.turn(self._state.now)

    def turn(self) -> None:
        """A time slice is over."""
        self._state.clock.ran_turn(self._state.now)
        if self.gang is not None:
            self.gang.turn()

    def started(self, job: SlurmJob) -> None:
        """A job has started, and may be suspended at once."""
        if self.gang is not None and job.stage is JobStage.RUNNING:
            self.gang.started(job)

    def make_way(self, job: SlurmJob, victims: list[SlurmJob]) -> str:
        """Have jobs give way to a job; returns a `StartOutcome`: it starts at once, if all of them are suspended."""
        state, terms = self._state, self._state.rules.preemption.terms
        leaving = [each for each in victims if terms(each).mode != PreemptMode.SUSPEND]
        if leaving and not may_preempt(job, state.second, state.cluster.preempt_wait):
            return StartOutcome.BUSY
        for victim in victims:
            if victim not in leaving:
                victim.gives_way |= state.cluster.select.is_linear  # then its limit does not move
                continue
            end = grace_end(victim, state.second, terms(victim).grace)
            if end <= state.second:
                self._endings.give_way(victim)
            elif not victim.gives_way:
                victim.gives_way = True
                self._endings.move_limit(victim, end)
        return StartOutcome.PREEMPTS if leaving else StartOutcome.STARTED

    # What the gang scheduler does

    def suspend(self, job: SlurmJob) -> None:
        """Suspend a job, unless it is suspended."""
        if job.is_suspended or job.stage is not JobStage.RUNNING:
            return
        job.ran += self._state.second - job.runs_since
        job.is_suspended = True
        self._state.others += 1
        if not job.is_over:
            self._state.actions.suspend(job)

    def resume(self, job: SlurmJob) -> None:
        """Have a suspended job go on. Its limit moves, unless it has given way to others: these end by their first."""
        if not job.is_suspended or job.stage is not JobStage.RUNNING:
            return
        state = self._state
        job.is_suspended, job.runs_since = False, float(state.second)
        if not job.gives_way:
            self._endings.move_limit(job, state.second + 60 * min(job.limit, FOREVER) - job.ran)
        self._endings.note_limit(job)
        state.others += 1
        if not job.is_over:
            state.actions.resume(job)

    def displace(self, job: SlurmJob) -> None:
        """A job gives way to one of a higher tier: it is suspended, cancelled or requeued, as its terms say."""
        mode = self._state.rules.preemption.terms(job).mode
        if job.stage is JobStage.RUNNING and mode in (PreemptMode.CANCEL, PreemptMode.REQUEUE):
            self._endings.give_way(job)
        else:
            self.suspend(job)

    # Operators

    def stop(self, job: SlurmJob) -> str:
        """An operator suspends a job: others can have its cores. Returns why not, as a half sentence, or ""."""
        if job.stage is not JobStage.RUNNING or job.is_suspended:
            return "does not run"
        self.suspend(job)
        job.is_stopped = True
        self._state.selection.stop(job)
        if self.gang is not None:
            self.gang.ended(job)
        self._state.ask()
        return ""

    def go_on(self, job: SlurmJob) -> str:
        """An operator has a job go on, whether its cores are free or not. Returns why not, or ""."""
        if job.stage is not JobStage.RUNNING or not job.is_suspended:
            return "is not suspended"
        if job.is_stopped:
            self._state.selection.go_on(job)
            job.is_stopped = False
            if self.gang is not None:
                self.gang.started(job)
        self.resume(job)
        return ""
