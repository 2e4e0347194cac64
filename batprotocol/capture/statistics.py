"""The numbers of a run: how much was said, how long each side took, what became of the jobs, and what took longest.

All of it is kept while the messages go by, a few numbers for each. It must not know where messages are kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from heapq import heappush, heappushpop, nlargest
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol.capture.entries import Entry
from batprotocol.capture.jobs import JobBook, ToldJob
from batprotocol.distributions import Distribution
from batprotocol.model import Direction, FinalJobState, Message

__all__ = ["JobStatistics", "LongTurn", "RunStatistics", "SideStatistics", "statistics_of"]

LONGEST: Final = 5
"""How many of the longest are told."""

_B2E, _E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM
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
    longest_waiting: tuple[ToldJob, ...] = ()
    longest_running: tuple[ToldJob, ...] = ()


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
    if isinstance(value, ToldJob):
        return value.to_json()
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


class _Side:
    """What one side says, while it says it."""

    def __init__(self) -> None:
        self.sizes = array("Q")
        self.events: dict[type[model.Event], int] = {}
        self.numbers = array("Q")
        self.seconds = array("d")
        self.times = array("d")

    def statistics(self) -> SideStatistics:
        longest = nlargest(LONGEST, range(len(self.seconds)), key=self.seconds.__getitem__)
        turns = (LongTurn(self.numbers[at], self.seconds[at], _time(self.times[at])) for at in longest)
        return SideStatistics(
            messages=len(self.sizes),
            bytes=sum(self.sizes),
            sizes=Distribution.of(self.sizes),
            events={kind.__name__: count for kind, count in sorted(self.events.items(), key=_most)},
            seconds=Distribution.of(self.seconds) if self.seconds else None,
            longest=tuple(turns),
        )


def _time(time: float) -> float | None:
    return None if time != time else time


def _most(item: tuple[type[model.Event], int]) -> tuple[int, str]:
    return -item[1], item[0].__name__


class _Jobs:
    """What becomes of the jobs, while it does."""

    def __init__(self) -> None:
        self.book = JobBook()
        self.ended = dict.fromkeys(FinalJobState, 0)
        self.waiting = array("d")
        self.running = array("d")
        self.host_seconds = array("d")
        self.first, self.last = math.inf, -math.inf
        self.longest_waiting: list[tuple[float, int, ToldJob]] = []
        self.longest_running: list[tuple[float, int, ToldJob]] = []

    def take(self, message: Message, direction: Direction) -> None:
        for job in self.book.take(message, direction):
            state = job.state
            assert state is not None, "it is over"
            self.ended[state] = self.ended.get(state, 0) + 1
            started, finished, submitted = job.started, job.finished, job.submitted
            if started is None or finished is None:
                continue
            if submitted is None:
                submitted = started
            waited, ran = started - submitted, finished - started
            self.waiting.append(waited)
            self.running.append(ran)
            self.host_seconds.append(ran * job.host_count)
            self.first = min(self.first, submitted)
            self.last = max(self.last, finished)
            _keep(self.longest_waiting, waited, job, len(self.waiting))
            _keep(self.longest_running, ran, job, len(self.waiting))

    def statistics(self, hosts: int | None) -> JobStatistics:
        makespan = max(self.last - self.first, 0.0) if self.running else 0.0
        capacity = makespan * (hosts or 0)
        ended = {state.name: count for state, count in self.ended.items() if count}
        return JobStatistics(
            count=sum(ended.values()) + len(self.book.open),
            ended=ended,
            under_way=len(self.book.open),
            waiting=Distribution.of(self.waiting),
            running=Distribution.of(self.running),
            makespan=makespan,
            utilisation=math.fsum(self.host_seconds) / capacity if capacity > 0 else None,
            longest_waiting=_kept(self.longest_waiting),
            longest_running=_kept(self.longest_running),
        )


def _keep(longest: list[tuple[float, int, ToldJob]], value: float, job: ToldJob, number: int) -> None:
    if len(longest) < LONGEST:
        heappush(longest, (value, -number, job))
    elif value > longest[0][0]:
        heappushpop(longest, (value, -number, job))


def _kept(longest: list[tuple[float, int, ToldJob]]) -> tuple[ToldJob, ...]:
    return tuple(job for _, _, job in sorted(longest, reverse=True))


def statistics_of(run: Iterable[Entry]) -> RunStatistics:
    """The numbers of a run.

    Args:
        run: what was said, such as a `Capture`. It is gone through once.
    """
    batsim, edc, jobs = _Side(), _Side(), _Jobs()
    unreadable, simulated = 0, 0.0
    hosts: int | None = None
    first = last = before = None
    for entry in run:
        direction, message, wall = entry.direction, entry.message, entry.wall
        is_batsim = direction is _B2E
        side = batsim if is_batsim else edc
        side.sizes.append(len(entry.data))
        if wall is not None:
            if first is None:
                first = wall
            if last is not None and before is not direction:
                side.seconds.append((wall - last) * _NANOSECOND)
                side.numbers.append(entry.number)
                side.times.append(math.nan if message is None else message.now)
            last = wall
        before = direction
        if message is None:
            unreadable += entry.fault is not None
            continue
        if is_batsim:
            simulated = message.now
        counts = side.events
        for event in message.events:
            kind = type(event)
            counts[kind] = counts.get(kind, 0) + 1
            if kind is model.SimulationBeginsEvent:
                hosts = len(event.computation_hosts)  # type: ignore[union-attr]
        jobs.take(message, direction)
    return RunStatistics(
        batsim=batsim.statistics(),
        edc=edc.statistics(),
        unreadable=unreadable,
        hosts=hosts,
        simulated=simulated,
        seconds=None if first is None or last is None else (last - first) * _NANOSECOND,
        jobs=jobs.statistics(hosts),
    )
