"""A resource manager that only writes down what it is told: its jobs end when the test says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from batprotocol.campaigns.managers import JobRequest
from batprotocol.campaigns.managers.interface import KILLED, ended
from batprotocol.campaigns.model import GridJobState, Observation, RemoteJob


class PaperCluster:
    """So many resources; jobs start in the order of their submission when it is looked at.

    Attributes:
        starts: how often each job was started.
    """

    def __init__(self, name: str, resources: int) -> None:
        self.name = name
        self.resources = resources
        self.time = 0.0
        self.starts: dict[int, int] = {}
        self._waiting: dict[int, JobRequest] = {}
        self._running: dict[int, tuple[JobRequest, float]] = {}
        self._ended: dict[int, RemoteJob] = {}

    def look(self) -> Observation:
        for job, request in list(self._waiting.items()):
            if self._free() < request.weight:
                break
            del self._waiting[job]
            self._running[job] = request, self.time
            self.starts[job] = self.starts.get(job, 0) + 1
        jobs = (
            *(RemoteJob(job=job, state=GridJobState.REMOTE_WAITING, remote_id=str(job)) for job in self._waiting),
            *(
                RemoteJob(job=job, state=GridJobState.RUNNING, remote_id=str(job), start_time=began)
                for job, (_, began) in self._running.items()
            ),
            *self._ended.values(),
        )
        return Observation(cluster=self.name, time=self.time, max=self.resources, free=self._free(), jobs=jobs)

    def submit(self, requests: Sequence[JobRequest]) -> None:
        for request in requests:
            if not any(request.job in known for known in (self._waiting, self._running, self._ended)):
                self._waiting[request.job] = request

    def kill(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            if self._waiting.pop(job, None) or self._running.pop(job, None):
                self._ended[job] = ended(job, because=KILLED, stop_time=self.time)

    def forget(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            self._ended.pop(job, None)

    def tend(self) -> None:
        """Nothing happens between two looks."""

    def close(self) -> None:
        """There is nothing to let go of."""

    def pass_time(self, seconds: float, exit_code: int = 0) -> None:
        """Time passes, and all that runs ends."""
        self.time += seconds
        for job, (_, began) in self._running.items():
            self._ended[job] = ended(
                job, exit_code=exit_code, start_time=began, stop_time=self.time, remote_id=str(job)
            )
        self._running.clear()

    def _free(self) -> int:
        return self.resources - sum(request.weight for request, _ in self._running.values())
