"""The jobs and the statistics of a run: messages and their sizes, the time each side took, the longest turns and jobs.

They are computed in one pass over the messages, with a few numbers in memory for each message.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol._util.deprecation import old_names
from batprotocol._util.distributions import Distribution
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.edc.recording.entries import Entry
from batprotocol.model import Direction, FinalJobState, Message
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.requests.usage import busy_hosts, share_hosts

__all__ = [
    "CapturedJob",
    "JobBook",
    "JobStatistics",
    "LongTurn",
    "RunStatistics",
    "SideStatistics",
    "canonical_hosts",
    "host_count",
    "jobs_of",
    "statistics_of",
    "statistics_of_jobs",
]


# A row for each job, from its submission to its end


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


LONGEST: Final = 5
"""The number of longest turns and jobs that are reported."""

_B2E: Final = Direction.BATSIM_TO_EDC
_NANOSECOND: Final = 1e-9


class LongTurn(msgspec.Struct, frozen=True):
    """A turn that took long.

    Args:
        number: the number of the message that ended it.
        seconds: its duration, in seconds of real time.
        time: the simulated time, in seconds. None if the message has none.
    """

    number: int
    seconds: float
    time: float | None


class SideStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of the messages of one side.

    Args:
        messages: the number of messages, with those of the handshake.
        bytes: the number of their bytes.
        sizes: the distribution of the sizes of messages, in bytes.
        events: the number of events of each type.
        seconds: the distribution of the durations of turns, in seconds of real time. None if the recording has no
            times. A turn ends with a message of this side, and begins with the message of the other side before it.
        longest: the longest turns, the longest first.
    """

    messages: int
    bytes: int
    sizes: Distribution
    events: Mapping[str, int]
    seconds: Distribution | None = None
    longest: tuple[LongTurn, ...] = ()


class JobStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of the jobs, as the messages describe them. Times are in simulated seconds.

    Args:
        count: the number of jobs.
        ended: the number of jobs in each final state, by its name.
        under_way: the number of jobs that have no end in the recording.
        waiting: the times from submission to execution, of jobs that were executed and have ended.
        running: the times from execution to end, of the same jobs.
        makespan: the time from the first submission to the last end of these jobs.
        utilisation: host-seconds that these jobs used / (hosts * makespan). A host that several jobs share counts once,
            as a whole. None if there are no such jobs, or the number of hosts is not known.
        shares_hosts: whether jobs had a host at the same time.
        longest_waiting: the jobs that waited longest, the longest first.
        longest_running: the jobs that ran longest, the longest first.
    """

    count: int
    ended: Mapping[str, int]
    under_way: int
    waiting: Distribution
    running: Distribution
    makespan: float
    utilisation: float | None
    shares_hosts: bool = False
    longest_waiting: tuple[CapturedJob, ...] = ()
    longest_running: tuple[CapturedJob, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The statistics as plain values for JSON. NaN becomes None."""
        found: dict[str, Any] = _plain(self)
        return found


class RunStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of a run.

    Args:
        batsim: the statistics of Batsim's messages.
        edc: the statistics of the decision component's messages.
        unreadable: the number of messages that cannot be read.
        hosts: the number of computation hosts. None if no message reports it.
        simulated: the last simulated time that Batsim reported, in seconds.
        seconds: the time from the first to the last message, in seconds of real time. None if the recording has no
            times.
        jobs: the statistics of the jobs.
    """

    batsim: SideStatistics
    edc: SideStatistics
    unreadable: int
    hosts: int | None
    simulated: float
    seconds: float | None
    jobs: JobStatistics

    def to_json(self) -> dict[str, Any]:
        """The statistics as plain values for JSON. NaN becomes None."""
        found: dict[str, Any] = _plain(self)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, CapturedJob):
        return value.to_json()
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


class _Longest:
    """The largest of many values, each with its object."""

    def __init__(self) -> None:
        self.kept: list[tuple[float, int, Any]] = []
        self.least = -math.inf
        """The minimum of a value to be kept. For most values, the only cost is this comparison."""
        self._count = 0

    def add(self, value: float, of: Any) -> None:
        """Keep a value, and drop the smallest one if there are too many."""
        self._count += 1
        heappush(self.kept, (value, -self._count, of))  # of equal ones, the first
        if len(self.kept) > LONGEST:
            heappop(self.kept)
        if len(self.kept) == LONGEST:
            self.least = self.kept[0][0]

    def in_order(self) -> list[tuple[float, Any]]:
        """The kept values and objects, the largest first."""
        return [(value, of) for value, _, of in sorted(self.kept, key=lambda each: each[:2], reverse=True)]


class _Side:
    """Collects the statistics of one side."""

    def __init__(self) -> None:
        self.sizes = array("Q")
        self.events: dict[type[model.Event], int] = {}
        self.seconds = array("d")
        self.longest = _Longest()

    def statistics(self) -> SideStatistics:
        turns = (LongTurn(number, seconds, time) for seconds, (number, time) in self.longest.in_order())
        return SideStatistics(
            messages=len(self.sizes),
            bytes=sum(self.sizes),
            sizes=Distribution.of(self.sizes),
            events={kind.__name__: count for kind, count in sorted(self.events.items(), key=_most)},
            seconds=Distribution.of(self.seconds) if self.seconds else None,
            longest=tuple(turns),
        )


def _most(item: tuple[type[model.Event], int]) -> tuple[int, str]:
    return -item[1], item[0].__name__


class _Jobs:
    """Collects the statistics of the jobs."""

    def __init__(self) -> None:
        self.book = JobBook()
        self.ended: dict[FinalJobState, int] = {}
        self.waiting = array("d")
        self.running = array("d")
        self.host_seconds = 0.0
        self._moments = array("d")  # the start and the end of each job
        self._hosts: list[str] = []
        self.first, self.last = math.inf, -math.inf
        self.longest_waiting = _Longest()
        self.longest_running = _Longest()

    def count(self) -> None:
        """Count the jobs that are over now."""
        self.add(self.book.over)
        self.book.over.clear()

    def add(self, jobs: Iterable[CapturedJob]) -> None:
        """Count jobs that are over."""
        for job in jobs:
            state, started, finished = job.state, job.started, job.finished
            assert state is not None, "it is over"
            self.ended[state] = self.ended.get(state, 0) + 1
            if started is None or finished is None:
                continue
            submitted = started if job.submitted is None else job.submitted
            waited, ran = started - submitted, finished - started
            self.waiting.append(waited)
            self.running.append(ran)
            held = host_count(job.hosts)
            self.host_seconds += ran * held
            if held:
                self._moments.extend((started, finished))
                self._hosts.append(sys.intern(job.hosts))
            if submitted < self.first:
                self.first = submitted
            if finished > self.last:
                self.last = finished
            if waited > self.longest_waiting.least:
                self.longest_waiting.add(waited, job)
            if ran > self.longest_running.least:
                self.longest_running.add(ran, job)

    def statistics(self, hosts: int | None) -> JobStatistics:
        makespan = max(self.last - self.first, 0.0) if self.running else 0.0
        capacity = makespan * (hosts or 0)
        stays = list(zip(self._moments[::2], self._moments[1::2], self._hosts, strict=True))
        shared = share_hosts(stays)
        used = self.host_seconds
        if shared:
            points = pairwise(busy_hosts(stays))
            used = math.fsum(busy * (after - time) for (time, busy), (after, _) in points)
        ended = {state.name: self.ended[state] for state in sorted(self.ended)}
        return JobStatistics(
            count=sum(ended.values()) + len(self.book.open),
            ended=ended,
            under_way=len(self.book.open),
            waiting=Distribution.of(self.waiting),
            running=Distribution.of(self.running),
            makespan=makespan,
            utilisation=used / capacity if capacity > 0 else None,
            shares_hosts=shared,
            longest_waiting=tuple(job for _, job in self.longest_waiting.in_order()),
            longest_running=tuple(job for _, job in self.longest_running.in_order()),
        )


def statistics_of_jobs(jobs: Iterable[CapturedJob], hosts: int | None) -> JobStatistics:
    """The statistics of jobs from any source.

    Args:
        jobs: the jobs. All of them must be over.
        hosts: the number of computation hosts, or None.
    """
    found = _Jobs()
    found.add(jobs)
    return found.statistics(hosts)


def statistics_of(run: Iterable[Entry]) -> RunStatistics:
    """The statistics of a run.

    Args:
        run: the messages, such as a `Capture`. They are read once.
    """
    batsim, edc, jobs = _Side(), _Side(), _Jobs()
    unreadable, simulated = 0, 0.0
    hosts: int | None = None
    first = last = before = None
    book, takers = jobs.book, jobs.book.takers
    for entry in run:
        direction, message, wall = entry.direction, entry.message, entry.wall
        side = batsim if direction is _B2E else edc
        side.sizes.append(len(entry.data))
        if wall is not None:
            if last is None:
                first = wall
            elif before is not direction:
                seconds = (wall - last) * _NANOSECOND
                side.seconds.append(seconds)
                if seconds > side.longest.least:
                    side.longest.add(seconds, (entry.number, None if message is None else message.now))
            last = wall
        before = direction
        if message is None:
            unreadable += entry.fault is not None
            continue
        if side is batsim:
            book.now = simulated = message.now
        counts = side.events
        for event in message.events:
            kind = type(event)
            counts[kind] = counts.get(kind, 0) + 1
            taker = takers.get(kind)
            if taker is not None:
                taker(event)
            elif isinstance(event, model.SimulationBeginsEvent):
                hosts = len(event.computation_hosts)
        if book.over:
            jobs.count()
    return RunStatistics(
        batsim=batsim.statistics(),
        edc=edc.statistics(),
        unreadable=unreadable,
        hosts=hosts,
        simulated=simulated,
        seconds=None if first is None or last is None else (last - first) * _NANOSECOND,
        jobs=jobs.statistics(hosts),
    )
