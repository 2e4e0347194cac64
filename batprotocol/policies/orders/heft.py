"""The order of HEFT: the job with the longest path to the end of its workflow first.

The path leads through the jobs that wait for one another. Its length is the sum of the requested times of its jobs.
"""

from __future__ import annotations

import math
from typing import Any, Final

from batprotocol.errors import InputError
from batprotocol.model import Job
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders.base import Order
from batprotocol.workloads.requests import longest_paths, read_request
from batprotocol.workloads.requests.notation import full_id

__all__ = ["HEFT"]

_UNKNOWN: Final = 1e9
"""The walltime of jobs without one, in seconds: longer than all others, so that the number of such jobs decides."""
_KINDS: Final = frozenset({"afterok", "afterany", "afternotok", "aftercorr"})
"""The conditions by which a job waits for the end of another one."""


class HEFT(Order):
    """The highest upward rank first: the walltime of the job, plus the highest rank of the jobs that wait for its end.

    This is the first phase of HEFT, for equal hosts and without the time of transfers. In place of its second phase,
    the policy's allocation decides on hosts. A job for which no other job waits has its own walltime as its rank. A job
    without a walltime counts 1e9 s.

    The rank is computed when the job is ready, from all jobs that were submitted until then. So it is computed once for
    each job of a workflow whose jobs are submitted together.
    """

    name = "heft"
    sentence = "The longest path of walltimes through the jobs that wait for this one (upward rank)."
    source = "Topcuoglu, Hariri and Wu, TPDS 13(3), 2002"

    def __init__(self) -> None:
        self.begin(State())

    def begin(self, state: State) -> None:
        self._lengths: dict[str, float] = {}
        self._ranks: dict[str, float] = {}  # if a job has one, all jobs that wait for it have one
        self._before: dict[str, list[str]] = {}  # the names that each job waits for: of jobs, or of arrays
        self._after: dict[str, list[str]] = {}  # by such a name, the jobs that wait for it
        self._arrays: dict[str, list[str]] = {}
        self._array_of: dict[str, str] = {}

    def submitted(self, job_id: str, job: Job, state: State) -> None:
        if job_id in self._lengths:
            return
        self._lengths[job_id] = _length(math.inf if job.walltime is None else job.walltime)
        try:
            request = read_request(job.extra_data)
        except InputError:  # the policy rejects the job
            return
        if request.array is not None:
            array = self._array_of[job_id] = full_id(request.array.array, job_id)
            self._arrays.setdefault(array, []).append(job_id)
        if request.dependency is not None:
            names = {full_id(each.job, job_id) for each in request.dependency.conditions if each.kind in _KINDS}
            self._before[job_id] = sorted(names)
            for name in names:
                self._after.setdefault(name, []).append(job_id)
            self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        """A job has come that waits for others: the ranks of the jobs before it may be higher now."""
        waiting = list(self._before[job_id])
        while waiting:
            for job in self._members(waiting.pop()):
                if self._ranks.pop(job, None) is not None:
                    waiting += self._before.get(job, ())

    def _members(self, name: str) -> list[str]:
        return [name] if name in self._lengths else self._arrays.get(name, [])

    def _named(self, job_id: str) -> list[str]:
        """The jobs that wait for a job."""
        array = self._array_of.get(job_id)
        found = self._after.get(job_id, []) + (self._after.get(array, []) if array is not None else [])
        return [each for each in found if each in self._lengths]

    def rank(self, job_id: str) -> float:
        """The upward rank of a job that was submitted, in seconds."""
        known = self._ranks.get(job_id)
        if known is not None:
            return known
        lengths: dict[str, float] = {}
        following: dict[str, list[str]] = {}
        waiting = [job_id]
        while waiting:
            job = waiting.pop()
            if job in lengths:
                continue
            if job in self._ranks:
                lengths[job] = self._ranks[job]
            else:
                lengths[job] = self._lengths[job]
                following[job] = self._named(job)
                waiting += following[job]
        try:
            found = longest_paths(lengths, following)
        except InputError:  # jobs that wait for themselves, which are rejected
            return self._lengths[job_id]
        self._ranks.update(found)
        return found[job_id]

    def key(self, job: WaitingJob, state: State) -> Any:
        return -(self.rank(job.id) if job.id in self._lengths else _length(job.walltime)), job.submitted

    def ended(self, job: RunningJob, state: State) -> None:
        job_id = job.waited.id
        for known in (self._lengths, self._ranks, self._before, self._after):
            known.pop(job_id, None)


def _length(walltime: float) -> float:
    return min(walltime, _UNKNOWN)
