"""Kills jobs that run for too long, and reads their progress.

    batproto run examples/killer.py:Killer --init '{"limit": 60}' -- \\
        batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} {init}
"""

from __future__ import annotations

import json
import logging
import math
from statistics import mean

from fcfs import FCFS

from batprotocol import (
    EDCRequestedSimulationFeatures,
    Job,
    JobsKilledEvent,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    OneShot,
    RequestedCallEvent,
    SimulationEndsEvent,
)
from batprotocol.errors import RuleViolation

logger = logging.getLogger("killer")


class Killer(FCFS):
    """Requests a call for the time when a job has run for the limit, and kills the job if it still runs then.

    Batsim aborts when it kills a job that replays a usage trace. The profile of a job shows this, so the scheduler
    requests profiles.
    """

    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    def __init__(self) -> None:
        super().__init__()
        self.limit = 60
        self.done: dict[str, float] = {}
        """The completed part of each killed job, from 0 to 1."""

    def on_init(self, text: str) -> None:
        try:
            wanted = json.loads(text or "{}")
        except ValueError:
            return  # meant for another component
        if isinstance(wanted, dict):
            self.limit = int(wanted.get("limit", self.limit))

    def start(self, job_id: str, job: Job) -> None:
        super().start(job_id, job)
        if job_id in self.running:
            self.reply.add_call_me_later(job_id, OneShot(math.ceil(self.now) + self.limit))

    def on_requested_call(self, event: RequestedCallEvent) -> None:
        job_id = event.call_me_later_id
        if job_id not in self.running:
            return  # it has ended in time; a one-shot call cannot be taken back
        try:
            self.reply.add_kill_jobs([job_id])
        except RuleViolation as violation:
            logger.warning("%s cannot be killed: %s", job_id, violation)

    def on_jobs_killed(self, event: JobsKilledEvent) -> None:
        for job in event.progresses:
            self.done[job.job_id] = fraction(job.progress)
            logger.info("%.0f s: %s was killed, %.0f%% done", self.now, job.job_id, 100 * self.done[job.job_id])
        for job_id in set(event.job_ids) - {job.job_id for job in event.progresses}:
            logger.info("%.0f s: %s had ended before it was killed", self.now, job_id)

    def on_simulation_ends(self, event: SimulationEndsEvent) -> None:
        if self.done:
            logger.info("%d jobs killed, %.0f%% done on average", len(self.done), 100 * mean(self.done.values()))


def fraction(progress: KillProgress) -> float:
    """The completed part of the current repetition of a profile. A sequence does not report its number of tasks, so
    only the running task counts. Replays of MPI traces report -1, which means unknown."""
    if isinstance(progress, KillProgressAtomicProfile):
        return max(0.0, progress.progress)
    if isinstance(progress, KillProgressForkJoinProfile):
        return mean(map(fraction, progress.tasks_progress))
    return fraction(progress.current_task_progress)
