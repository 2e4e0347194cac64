"""The resource manager of a cluster that PSI/J submits jobs to. This module must not know why a job is run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from batprotocol._util.files import reason_of
from batprotocol.campaigns.managers.interface import REFUSED, Request, ended
from batprotocol.campaigns.managers.psij.asking import Psij
from batprotocol.campaigns.managers.psij.description import read_description
from batprotocol.campaigns.managers.psij.folder import JobFolder, folders
from batprotocol.campaigns.model import JobState, Observation, RemoteJob
from batprotocol.errors import ClusterError, InputError

__all__ = ["PsijCluster"]

GONE_SECONDS: Final = 5.0
"""How long the end of a job may take to be seen here, after the batch system does not run it any more."""

MOST_AT_ONCE: Final = 100
"""How many jobs are submitted by one process of PSI/J."""

LIVING: Final = frozenset({"NEW", "QUEUED", "HELD", "ACTIVE"})
"""PSI/J's states of jobs that the batch system still has. A job that it does not list has none."""


class PsijCluster:
    """A cluster that PSI/J submits jobs to.

    Args:
        name: the name of the cluster.
        path: the file that describes it.
        mark: the name of the folder of the jobs, unique to the store.

    Raises:
        ClusterError: the description or the folder cannot be used.
    """

    def __init__(self, name: str, path: str, mark: str = "cigri") -> None:
        self.name = name
        try:
            self._description = read_description(path)
        except InputError as error:
            raise ClusterError(str(error), name) from None
        self._psij = Psij(self._description, name)
        self._mark = mark
        self._place = Path(self._description.folder) / mark
        self._gone: dict[int, tuple[float, int]] = {}
        self._ended: dict[int, RemoteJob] = {}
        self._refused: dict[int, RemoteJob] = {}
        with self._files():
            self._place.mkdir(parents=True, exist_ok=True)
            self._jobs = {each.request.job: each for each in folders(self._place)}

    def look(self) -> Observation:
        with self._files():
            self._look()
        going = [job for number, job in self._jobs.items() if number not in self._ended]
        used = sum(job.request.weight for job in going)
        jobs = (*self._ended.values(), *self._refused.values(), *map(_going_on, going))
        slots = self._description.slots
        return Observation(cluster=self.name, time=time.time(), max=slots, free=max(0, slots - used), jobs=jobs)

    def submit(self, requests: Sequence[Request]) -> None:
        new = [each for each in requests if each.job not in self._jobs and each.job not in self._refused]
        with self._files():
            for each in {each.job: each for each in new}.values():
                if each.weight > self._description.slots or "\0" in each.command:
                    self._refused[each.job] = ended(each.job, because=REFUSED, stop_time=time.time())
                    continue
                job = JobFolder(self._place / str(each.job), each)
                job.write()
                self._jobs[each.job] = job
            self._send()

    def kill(self, jobs: Iterable[int]) -> None:
        doomed = [self._jobs[each] for each in jobs if each in self._jobs and each not in self._ended]
        with self._files():
            for job in doomed:
                job.doom()
            for job in doomed:
                if job.claim():
                    job.end("killed")
                job.read()
        natives = [job.native for job in doomed if job.native]
        if natives:
            self._psij.cancel(natives)

    def forget(self, jobs: Iterable[int]) -> None:
        forgotten = [each for each in jobs if each in self._jobs or each in self._refused]
        self.kill([each for each in forgotten if each not in self._ended])
        with self._files():
            for each in forgotten:
                for record in (self._ended, self._refused, self._gone):
                    record.pop(each, None)
                job = self._jobs.pop(each, None)
                if job is not None:
                    job.remove()

    def tend(self) -> None:
        """Do nothing: the batch system starts jobs."""

    def close(self) -> None:
        """Do nothing: jobs go on."""

    def _look(self) -> None:
        going = [job for number, job in self._jobs.items() if number not in self._ended]
        natives = [job.native for job in going if job.native]
        states = self._psij.states(natives) if natives else {}
        now = time.time()
        for job in going:  # after the states: a job that is over has written its end
            number = job.request.job
            job.read()
            if job.over is None and job.native and states.get(job.native) not in LIVING:
                self._judge(job, now)
            else:
                self._gone.pop(number, None)
            if job.over is not None:
                self._ended[number] = job.ended()
        self._send()

    def _judge(self, job: JobFolder, now: float) -> None:
        """The batch system does not run a job any more, and the job has not written its end."""
        since, looks = self._gone.get(job.request.job, (now, 0))
        self._gone[job.request.job] = since, looks + 1
        if looks == 0 or now - since < GONE_SECONDS:
            return
        if not job.claim():  # it had begun
            job.read()
        if job.over is None:
            late = job.began is not None and now - job.began >= job.request.walltime
            job.end("killed" if job.is_doomed else "late" if late else "lost")

    def _send(self) -> None:
        """Submit the jobs without a number that have not begun. A copy that was submitted before does no harm."""
        for number, job in self._jobs.items():
            if not job.native and number not in self._ended and job.is_claimed:
                job.read()
        waiting = [job for job in self._jobs.values() if not job.native and job.over is None and not job.is_claimed]
        for first in range(0, len(waiting), MOST_AT_ONCE):
            together = waiting[first : first + MOST_AT_ONCE]
            natives, trouble = self._psij.submit([self._asked(job) for job in together])
            for job, native in zip(together, natives, strict=False):
                job.set_native(native)
            if trouble:
                raise ClusterError(trouble, self.name)

    def _asked(self, job: JobFolder) -> dict[str, object]:
        return {
            "script": str(job.path / "run.sh"),
            "name": f"{self._mark}.{job.request.job}",
            "seconds": max(60, round(job.request.walltime)),
            "cores": job.request.weight * self._description.cores,
        }

    @contextmanager
    def _files(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ClusterError(f"{error.filename or self._place}: {reason_of(error)}", self.name) from None


def _going_on(job: JobFolder) -> RemoteJob:
    began = job.began
    state = JobState.REMOTE_WAITING if job.native else JobState.SUBMITTED
    return RemoteJob(
        job=job.request.job,
        state=state if began is None else JobState.RUNNING,
        remote_id=job.native or None,
        start_time=began,
        node=job.node,
    )
