"""The numbers of a run: how much was said, how long each side took, what became of the jobs, and what took longest.

All of it is kept while the messages go by, a few numbers for each. It must not know where messages are kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol.capture.entries import Entry
from batprotocol.capture.jobs import CapturedJob, JobBook, host_count
from batprotocol.distributions import Distribution
from batprotocol.model import Direction, FinalJobState

__all__ = ["JobStatistics", "LongTurn", "RunStatistics", "SideStatistics", "statistics_of", "statistics_of_jobs"]

LONGEST: Final = 5
"""How many of the longest are told."""

_B2E: Final = Direction.BATSIM_TO_EDC
_NANOSECOND: Final = 1e-9


class LongTurn(msgspec.Struct, frozen=True):
    """A turn that took long.

    Args:
        number: of the message that ended it.
        seconds: how long it took, in seconds of real time.
        time: the simulated time, in seconds; None where the message has none.
    """

    number: int
    seconds: float
    time: float | None


class SideStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What one side said.

    Args:
        messages: how many messages, those of the handshake included.
        bytes: how many bytes they have.
        sizes: the bytes of a message.
        events: how many events of each type.
        seconds: how long a turn took, in seconds of real time; None where times were not kept. It ends with a message
            of this side, and begins with the one of the other before it.
        longest: the longest turns, the longest first.
    """

    messages: int
    bytes: int
    sizes: Distribution
    events: Mapping[str, int]
    seconds: Distribution | None = None
    longest: tuple[LongTurn, ...] = ()


class JobStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the jobs, as far as messages tell. Times are in simulated seconds.

    Args:
        count: how many there were.
        ended: how many ended in each state, by its name.
        under_way: how many never ended.
        waiting: from submission to execution, of those that were executed and have ended.
        running: from execution to the end, likewise.
        makespan: from the first submission of one of these to the last end.
        utilisation: host-seconds of these / (hosts * makespan); None where there are none, or the hosts are not known.
        longest_waiting: those that waited longest, the longest first.
        longest_running: those that ran longest.
    """

    count: int
    ended: Mapping[str, int]
    under_way: int
    waiting: Distribution
    running: Distribution
    makespan: float
    utilisation: float | None
    longest_waiting: tuple[CapturedJob, ...] = ()
    longest_running: tuple[CapturedJob, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as plain values, for JSON; what is not a number is None."""
        found: dict[str, Any] = _plain(self)
        return found


class RunStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a run.

    Args:
        batsim: what Batsim said.
        edc: what the decision component said.
        unreadable: how many messages cannot be read.
        hosts: how many computation hosts there are; None if that was not told.
        simulated: the last simulated time that Batsim told, in seconds.
        seconds: from the first message to the last, in seconds of real time; None where that was not kept.
        jobs: what became of the jobs.
    """

    batsim: SideStatistics
    edc: SideStatistics
    unreadable: int
    hosts: int | None
    simulated: float
    seconds: float | None
    jobs: JobStatistics

    def to_json(self) -> dict[str, Any]:
        """The same as plain values, for JSON; what is not a number is None."""
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
    """The largest of many, and what each of them is of."""

    def __init__(self) -> None:
        self.kept: list[tuple[float, int, Any]] = []
        self.least = -math.inf
        """What is no more than this is not kept: to compare is all that most of them cost."""
        self._count = 0

    def add(self, value: float, of: Any) -> None:
        """Keep what is more than the least."""
        self._count += 1
        heappush(self.kept, (value, -self._count, of))  # of equal ones, the first
        if len(self.kept) > LONGEST:
            heappop(self.kept)
        if len(self.kept) == LONGEST:
            self.least = self.kept[0][0]

    def in_order(self) -> list[tuple[float, Any]]:
        """The largest first."""
        return [(value, of) for value, _, of in sorted(self.kept, key=lambda each: each[:2], reverse=True)]


class _Side:
    """What one side says, while it says it."""

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
    """What becomes of the jobs, while it does."""

    def __init__(self) -> None:
        self.book = JobBook()
        self.ended: dict[FinalJobState, int] = {}
        self.waiting = array("d")
        self.running = array("d")
        self.host_seconds = 0.0
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
            self.host_seconds += ran * host_count(job.hosts)
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
        ended = {state.name: self.ended[state] for state in sorted(self.ended)}
        return JobStatistics(
            count=sum(ended.values()) + len(self.book.open),
            ended=ended,
            under_way=len(self.book.open),
            waiting=Distribution.of(self.waiting),
            running=Distribution.of(self.running),
            makespan=makespan,
            utilisation=self.host_seconds / capacity if capacity > 0 else None,
            longest_waiting=tuple(job for _, job in self.longest_waiting.in_order()),
            longest_running=tuple(job for _, job in self.longest_running.in_order()),
        )


def statistics_of_jobs(jobs: Iterable[CapturedJob], hosts: int | None) -> JobStatistics:
    """What became of these jobs, wherever that is known from.

    Args:
        jobs: the jobs, all of which are over.
        hosts: how many computation hosts there are, or None.
    """
    found = _Jobs()
    found.add(jobs)
    return found.statistics(hosts)


def statistics_of(run: Iterable[Entry]) -> RunStatistics:
    """The numbers of a run.

    Args:
        run: what was said, such as a `Capture`. It is gone through once.
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
