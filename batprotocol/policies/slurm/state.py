"""The state that the parts of a controller share: the jobs, the nodes that they can have, and the time.

This module must not know why jobs start and end.
"""

from __future__ import annotations

import math

from batprotocol.policies.slurm.clock import LoopClock, Phases
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.queue import SlurmQueue
from batprotocol.policies.slurm.reservations import NodeReservations
from batprotocol.policies.slurm.rules import SlurmRules
from batprotocol.policies.slurm.selecting import selection_of
from batprotocol.policies.slurm.sides import ControllerActions, JobPriorities
from batprotocol.policies.slurm.values import SlurmCluster
from batprotocol.policies.slurm.waiting import IneligibleJobs

__all__ = ["ControllerState"]


class ControllerState:
    """The state of a controller.

    Args:
        cluster: the cluster.
        priorities: the priorities of its jobs.
        actions: what it has others do.
        phases: what is left to chance.
        rules: licences, limits and access.
        is_quick: whether it takes short cuts, which change no decision.

    Attributes:
        jobs: the jobs that have not ended, by their first ids; running: those on nodes.
        ended: the jobs that have ended not long ago, in that order.
        now: the time, in seconds.
        available: the nodes that are neither down nor drained.
        completing: the nodes that no job can have yet, as they are not clean.
        others: how often something has changed that the queue does not show.
        idle_runs: how often all of the queue was tried in vain since something happened.
    """

    def __init__(
        self,
        cluster: SlurmCluster,
        priorities: JobPriorities,
        actions: ControllerActions,
        phases: Phases,
        rules: SlurmRules,
        *,
        is_quick: bool,
    ) -> None:
        self.cluster, self.priorities, self.actions, self.phases = cluster, priorities, actions, phases
        self.rules, self.is_quick = rules, is_quick
        self.reservations = NodeReservations(int(cluster.loops.bf_resolution), phases.epoch)
        self.selection = selection_of(cluster, phases.epoch, is_quick=is_quick)
        self.queue = SlurmQueue(is_fifo=cluster.is_fifo, is_above=rules.yields.is_above)
        self.clock = LoopClock(cluster.loops, phases, backfills=cluster.backfills)
        self.waiting = IneligibleJobs()
        self.jobs: dict[str, SlurmJob] = {}
        self.running: dict[str, SlurmJob] = {}
        self.ended: dict[str, SlurmJob] = {}
        self.now = 0.0
        self.available, self.completing = cluster.up, 0
        self.others = self.idle_runs = 0

    @property
    def second(self) -> int:
        """The time in whole seconds, as Slurm sees it."""
        return math.floor(self.now + 1e-6)

    @property
    def changes(self) -> int:
        """A number that is another one after each change that the second loop sees."""
        return self.queue.changes + self.others

    def ask(self) -> None:
        """Something has happened, so both loops have something to do."""
        self.idle_runs = 0
        self.clock.ask(self.now)
