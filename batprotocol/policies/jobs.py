"""What policies see: the jobs that wait, those that run, and the machine. It must not know any policy.

Times are seconds, rounded to the policy's resolution.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import msgspec
from sortedcontainers import SortedList

from batprotocol.hosts import FrozenHosts, Hosts
from batprotocol.model import Job

__all__ = ["Ending", "RunningJob", "State", "WaitingJob", "user_of"]


_EXACT = 2.0**53
"""From here on, all numbers are whole anyway."""

Ending: TypeAlias = "tuple[float, int, int, str]"
"""When a job is expected to end, in seconds, and what makes this unique: see `RunningJob.ending`."""


class WaitingJob:
    """A job that waits.

    Attributes:
        id: its name, `w0!1`.
        job: what it asks for, as Batsim told it.
        number: how many jobs came before it.
        submitted: when it was submitted, in seconds.
        size: how many hosts it asks for, >= 1.
        walltime: seconds after which it is killed; infinity: never.
        expected: seconds that it is expected to run; the walltime, unless it is predicted.
    """

    __slots__ = ("expected", "id", "job", "number", "size", "submitted", "walltime")

    def __init__(self, id: str, job: Job, number: int, submitted: float) -> None:
        self.id = id
        self.job = job
        self.number = number
        self.submitted = submitted
        self.size = job.resource_request
        self.walltime = math.inf if job.walltime is None else job.walltime
        self.expected = self.walltime

    @property
    def user(self) -> str | int | None:
        """Who submitted it: `user` of its extra data, if these are a JSON object (as for logs); else None."""
        return user_of(self.job)

    def __repr__(self) -> str:
        return f"<{self.id}: {self.size} hosts for {self.walltime:g} s, submitted at {self.submitted:g}>"


class RunningJob:
    """A job that was started, and has not ended.

    Attributes:
        waited: it, as it was before.
        hosts: the hosts that it has.
        started: when it was started.
        place: how many jobs were started before it.
        end: when it is expected to end.
    """

    __slots__ = ("end", "hosts", "place", "started", "waited")

    def __init__(self, waited: WaitingJob, hosts: FrozenHosts, started: float, place: int = 0) -> None:
        self.waited = waited
        self.hosts = hosts
        self.started = started
        self.place = place
        self.end = started + waited.expected

    @property
    def size(self) -> int:
        """How many hosts it has."""
        return self.hosts.size

    @property
    def ending(self) -> Ending:
        """When it is expected to end, which job it is, how many hosts are free then, and its id."""
        return self.end, self.waited.number, self.hosts.size, self.waited.id


class State:
    """The machine, and who is on it.

    Attributes:
        now: the time, in seconds.
        size: how many hosts there are. Where jobs share hosts, each counts as often as jobs can have it.
        free: the hosts that a job can have. Some may be asleep.
        vacant: how many they are, each counted as often as jobs can still have it.
        room: how many hosts a job can have now: all that are free, unless they must lie in a row.
        running: the jobs that run, by id.
        endings: the `ending` of each of them, sorted.
        resolution: what is less apart counts as the same time, in seconds; 0: only what is the same.
    """

    def __init__(self, hosts: Hosts | None = None, resolution: float = 0.0) -> None:
        self.now = 0.0
        self.free = Hosts() if hosts is None else hosts
        self.size = len(self.free)
        self.room = self.vacant = self.size
        self.running: dict[str, RunningJob] = {}
        self.endings: SortedList[Ending] = SortedList()
        self.resolution = resolution

    def rounded(self, time: float) -> float:
        """A time, at the resolution."""
        resolution = self.resolution
        if not resolution or not abs(time) < _EXACT * resolution:
            return time
        # Dividing by 1000 gives the number that is nearest to so many thousandths, multiplying by 0.001 another one.
        return round(time / resolution) * resolution if resolution >= 1 else round(time / resolution) / _per(resolution)

    def move(self, job: RunningJob, end: float) -> None:
        """From now on, a running job is expected to end then."""
        self.endings.remove(job.ending)
        job.end = end
        self.endings.add(job.ending)


def _per(resolution: float) -> float:
    """How many times so long is a second."""
    return round(1 / resolution) if resolution < 0.5 else 1 / resolution


def user_of(job: Job) -> str | int | None:
    """Who submitted a job: `user` of its extra data, if these are a JSON object; None if they do not tell.

    >>> user_of(Job(resource_request=1, profile_id="p", extra_data='{"user":12}'))
    12
    """
    if not job.extra_data:
        return None
    try:
        data: Any = msgspec.json.decode(job.extra_data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    user = data.get("user") if isinstance(data, dict) else None
    return user if isinstance(user, str | int) else None
