"""The state that policies read: the waiting jobs, the running jobs, and the machine. It must not know any policy.

Times are in seconds, rounded to the policy's resolution.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias

import msgspec
from sortedcontainers import SortedList

from batprotocol.model import Job
from batprotocol.model.free_hosts import FrozenHosts, Hosts

__all__ = ["Ending", "RunningJob", "State", "WaitingJob", "natural_key", "user_of"]


_DIGITS = re.compile("([0-9]+)")
_EXACT = 2.0**53
"""From here on, all floats are whole numbers."""

Ending: TypeAlias = "tuple[float, int, int, str]"
"""The expected end of a job, in seconds, with values that make it unique: see `RunningJob.ending`."""


class WaitingJob:
    """A job that waits.

    Attributes:
        id: its name, `w0!1`.
        job: its description in the `JobSubmittedEvent` of Batsim.
        number: the number of jobs that were submitted before it.
        submitted: the time of its submission, in seconds.
        size: the number of hosts that it requests, >= 1.
        walltime: the seconds after which Batsim kills it; infinity: never.
        expected: its expected run time in seconds: a prediction, or its walltime.
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
        """The user who submitted it: `user` of its extra data if they are a JSON object (as for logs), else None."""
        return user_of(self.job)

    def __repr__(self) -> str:
        return f"<{self.id}: {self.size} hosts for {self.walltime:g} s, submitted at {self.submitted:g}>"


class RunningJob:
    """A job that was started and has not ended.

    Attributes:
        waited: the same job before its start.
        hosts: its hosts.
        started: the time of its start.
        place: the number of jobs that were started before it.
        end: its expected end.
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
        """The number of its hosts."""
        return self.hosts.size

    @property
    def ending(self) -> Ending:
        """Its expected end, its number, the number of hosts that become free then, and its id."""
        return self.end, self.waited.number, self.hosts.size, self.waited.id


class State:
    """The machine and its running jobs.

    Attributes:
        now: the time, in seconds.
        size: the number of hosts. Where jobs share hosts, each host counts once for each job that it can take.
        free: the hosts that a job can have. Some may be asleep.
        vacant: the number of free hosts. Each counts once for each job that it can still take.
        room: the number of hosts that a job can have now: all free ones, unless a job needs hosts in a row.
        running: the running jobs, by id.
        endings: the `ending` of each running job, sorted.
        resolution: times that differ by less count as equal, in seconds; 0: only equal times do.
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
        """A time, rounded to the resolution."""
        resolution = self.resolution
        if not resolution or not abs(time) < _EXACT * resolution:
            return time
        # Dividing by 1000 gives the float that is nearest to the decimal fraction, multiplying by 0.001 another one.
        return (
            round(time / resolution) * resolution
            if resolution >= 1
            else round(time / resolution) / per_second(resolution)
        )

    def move(self, job: RunningJob, end: float) -> None:
        """Change the expected end of a running job."""
        self.endings.remove(job.ending)
        job.end = end
        self.endings.add(job.ending)


def per_second(resolution: float) -> float:
    """The number of resolution steps in a second, which need not be whole: 1000 for 0.001, and 1 / 0.3 for 0.3."""
    whole = round(1 / resolution)
    return whole if math.isclose(whole * resolution, 1.0) else 1 / resolution


def user_of(job: Job) -> str | int | None:
    """The user who submitted a job: `user` of its extra data if they are a JSON object with that key, else None.

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


def natural_key(text: str) -> list[tuple[int, int | str]]:
    """A key by which 9 comes before 10."""
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(text)]
