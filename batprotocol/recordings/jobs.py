"""Makes a row for each job from the messages, from its submission to its end.

The times are those of the messages. Batsim's own jobs.csv has the times inside the simulation. There, a job starts some
latencies after the request of the decision component, and Batsim reports its end some latencies later. It must not know
where messages are kept, nor the rules of the conversation: it takes messages as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol._util.deprecation import old_names
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.model import Direction, FinalJobState, Message
from batprotocol.model.hosts import frozen_hosts

__all__ = ["CapturedJob", "JobBook", "canonical_hosts", "host_count", "jobs_of"]

__getattr__ = old_names(__name__, {"ToldJob": "CapturedJob"})

_REJECTED: Final = FinalJobState.REJECTED


class CapturedJob(msgspec.Struct, kw_only=True, gc=False):
    """A job, as the messages of a run describe it. Times are in simulated seconds, and None if no message has them.

    Args:
        job_id: its full name, `workload!job`.
        submitted: the time of its submission, as Batsim reports it. If Batsim did not acknowledge a registered job: the
            time of its registration.
        profile_id: its profile, as the job names it.
        resource_request: the number of hosts that it requests.
        walltime: its walltime in seconds, or None.
        started: the time of its ExecuteJobEvent, or Batsim's own time if that is later.
        finished: the time of its JobCompletedEvent.
        rejected: the time of its rejection.
        kill_asked: the time of the first request to kill it.
        hosts: the hosts that it was executed on, as Batsim reads them (`0-3 8`). "" if it was not executed.
        state: its final state. None if no message reports it.
        return_code: its return code. None if no message reports its end.
        registered: whether the decision component registered it.
    """

    job_id: str
    submitted: float | None = None
    profile_id: str = ""
    resource_request: int = 0
    walltime: float | None = None
    started: float | None = None
    finished: float | None = None
    rejected: float | None = None
    kill_asked: float | None = None
    hosts: str = ""
    state: FinalJobState | None = None
    return_code: int | None = None
    registered: bool = False

    @property
    def host_count(self) -> int:
        """The number of its hosts. 0 if it was not executed."""
        return host_count(self.hosts)

    @property
    def waited(self) -> float | None:
        """The seconds from its submission to its start."""
        return None if self.started is None or self.submitted is None else self.started - self.submitted

    @property
    def ran(self) -> float | None:
        """The seconds from its start to its end."""
        return None if self.started is None or self.finished is None else self.finished - self.started

    def to_json(self) -> dict[str, Any]:
        """The job as plain values, for JSON."""
        found = msgspec.structs.asdict(self)
        found["state"] = None if self.state is None else self.state.name
        return found

    @property
    def is_over(self) -> bool:
        """Whether it has ended or was rejected."""
        return self.state is not None


_HOST: Final = r"(?:0|[1-9][0-9]{0,8})"
_WRITTEN_SO: Final = re.compile(rf"{_HOST}(?:-{_HOST})?(?: {_HOST}(?:-{_HOST})?)*", re.ASCII)
"""The syntax of host sets in the canonical form. A text with this syntax may still not be canonical."""


@lru_cache(maxsize=8192)
def _read(text: str) -> tuple[str, int]:
    """The canonical form of a host set, and its number of hosts. Most host sets are in that form already."""
    if _WRITTEN_SO.fullmatch(text):
        size, end = 0, -2
        for part in text.split(" "):
            first, hyphen, last = part.partition("-")
            low = high = int(first)
            if hyphen:
                high = int(last)
                if high == low:
                    break
            if low <= end + 1 or high < low:
                break
            size += high - low + 1
            end = high
        else:
            return text, size
    found = read_hosts(text)
    return (text, found.size) if found.fault else (frozen_hosts(found.text).text, found.size)


def canonical_hosts(text: str) -> str:
    """A host set as Batsim reads it, in the canonical form. A text that Batsim cannot read stays as it is.

    >>> canonical_hosts("8 2-3 0-2"), canonical_hosts("0,1")
    ('0-3 8', '0')
    """
    return _read(text)[0]


def host_count(hosts: str) -> int:
    """The number of hosts in a host set, as Batsim reads it. 0 if Batsim cannot read it."""
    return _read(hosts)[1]


class JobBook:
    """Follows a conversation, and keeps in memory only the rows of the jobs that are not over.

    Attributes:
        open: the jobs that are neither over nor rejected, by id, in the order of their submission.
        over: the jobs that are over. The caller empties it.
        now: the simulated time that Batsim reported last, in seconds. Decisions take effect at this time or later.
        takers: the function that handles each type of event, for callers that iterate over events themselves.

    >>> book = JobBook()
    >>> over = book.take(Message(1.0, [model.RejectJobEvent(job_id="w0!1", timestamp=1.0)]))
    >>> [(job.job_id, job.rejected) for job in over]
    [('w0!1', 1.0)]
    """

    def __init__(self) -> None:
        self.open: dict[str, CapturedJob] = {}
        self.over: list[CapturedJob] = []
        self.now = 0.0
        self.takers: Mapping[type[model.Event], Callable[[Any], None]] = {
            model.JobSubmittedEvent: self._submitted,
            model.RegisterJobEvent: self._registered,
            model.ExecuteJobEvent: self._executed,
            model.RejectJobEvent: self._rejected,
            model.KillJobsEvent: self._kill_asked,
            model.JobCompletedEvent: self._completed,
        }

    def take(self, message: Message, direction: Direction = Direction.BATSIM_TO_EDC) -> list[CapturedJob]:
        """Take the next message, and return the jobs that end with it.

        Args:
            message: the message.
            direction: its direction. Decisions take effect at Batsim's own time or later.
        """
        if direction is Direction.BATSIM_TO_EDC:
            self.now = message.now
        takers = self.takers
        for event in message.events:
            taker = takers.get(type(event))
            if taker is not None:
                taker(event)
        if not self.over:
            return []
        over, self.over = self.over, []
        return over

    def _of(self, job_id: str) -> CapturedJob:
        job = self.open.get(job_id)
        if job is None:  # the recording begins later, or there is no such job
            self.open[job_id] = job = CapturedJob(job_id=job_id)
        return job

    def _describe(self, job_id: str, job: model.Job) -> CapturedJob:
        found = self._of(job_id)
        found.profile_id = job.profile_id
        found.resource_request = job.resource_request
        walltime = job.walltime
        found.walltime = None if walltime is not None and walltime < 0 else walltime
        return found

    def _submitted(self, event: model.JobSubmittedEvent) -> None:
        job = self.open.get(event.job_id)
        if job is None or not job.registered:  # for a registered job, Batsim omits a walltime of 0
            job = self._describe(event.job_id, event.job)
        job.submitted = event.submission_time

    def _registered(self, event: model.RegisterJobEvent) -> None:
        job = self._describe(event.job_id, event.job)
        job.registered = True
        job.submitted = max(event.timestamp, self.now)
        if "!" not in job.profile_id:
            job.profile_id = f"{event.job_id.partition('!')[0]}!{job.profile_id}"

    def _executed(self, event: model.ExecuteJobEvent) -> None:
        job = self._of(event.job_id)
        if job.started is None:
            job.started = event.timestamp if event.timestamp > self.now else self.now
            job.hosts = canonical_hosts(event.allocation.host_allocation)

    def _rejected(self, event: model.RejectJobEvent) -> None:
        job = self._of(event.job_id)
        if job.started is None:
            job.rejected = max(event.timestamp, self.now)
            job.state = _REJECTED
            self._end(job)

    def _kill_asked(self, event: model.KillJobsEvent) -> None:
        for job_id in event.job_ids:
            job = self.open.get(job_id)
            if job is not None and job.kill_asked is None:
                job.kill_asked = max(event.timestamp, self.now)

    def _completed(self, event: model.JobCompletedEvent) -> None:
        job = self._of(event.job_id)
        job.finished = event.timestamp
        job.state = event.state
        job.return_code = event.return_code
        self._end(job)

    def _end(self, job: CapturedJob) -> None:
        del self.open[job.job_id]
        self.over.append(job)


def jobs_of(messages: Iterable[tuple[Direction, Message]]) -> Iterator[CapturedJob]:
    """The rows of all jobs of a conversation: first the jobs that ended, in the order of their ends, then the others.

    Args:
        messages: the messages with their directions, in their order.
    """
    book = JobBook()
    for direction, message in messages:
        yield from book.take(message, direction)
    yield from book.open.values()
