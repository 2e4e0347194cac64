"""The jobs that cannot start yet, however many nodes are free: held, before their begin, or waiting for other jobs.

Slurm looks at them when one of its loops runs, and not before. This module must not know the loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from batprotocol.model import FinalJobState
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.workloads.requests import Dependencies, Request

__all__ = ["Waiting"]

_EARLY = 1e-6
"""Moments that are less than this apart count as one."""


class Waiting:
    """The jobs that wait, and all that others depend on."""

    def __init__(self) -> None:
        self.jobs: dict[str, SlurmJob] = {}
        """The jobs, by their ids."""
        self._dependencies = Dependencies()
        self._begins: list[tuple[float, int, str]] = []
        self._look: dict[str, None] = {}

    @property
    def is_due(self) -> bool:
        """Whether a job is to be looked at, at once or later."""
        return bool(self._begins or self._look)

    def submit(self, job: SlurmJob, request: Request, now: float) -> None:
        """A job is submitted."""
        self.note(self._dependencies.submitted(job.id, request, job.submitted))  # in whole seconds, as jobs have it
        self.add(job)

    def add(self, job: SlurmJob) -> None:
        """A job waits, possibly once more."""
        self.jobs[job.id] = job
        self.note([job.id])

    def remove(self, job: SlurmJob) -> None:
        """A job waits no longer."""
        self.jobs.pop(job.id, None)

    def started(self, job: SlurmJob, now: float) -> None:
        """A job has started."""
        self.note(self._dependencies.started(job.id, now))

    def ended(self, job: SlurmJob, state: FinalJobState, now: float) -> None:
        """A job is over."""
        self.note(self._dependencies.ended(job.id, state, now, state.name.lower()))

    def no_more(self) -> None:
        """All jobs are submitted."""
        self.note(self._dependencies.no_more())

    def note(self, job_ids: Iterable[str]) -> None:
        """Look at these jobs the next time."""
        for job_id in job_ids:
            self._look[job_id] = None

    def gather(self, now: float) -> Iterator[tuple[SlurmJob, str | None]]:
        """The jobs that could start by now, and those that never can, with the reason. They still wait."""
        while self._begins and self._begins[0][0] <= now + _EARLY:
            self._look[heappop(self._begins)[2]] = None
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
                        heappush(self._begins, (since, job.number, job.id))
                else:
                    job.eligible = math.floor(now + _EARLY) if verdict.since > job.submitted else since
                    yield job, None
