"""Advice about a conversation that keeps the rules: free hosts, jobs without a decision, hosts that are lost.

`advise` reads a conversation that took place, and `Adviser` follows one. Advice is not a violation: a scheduler may
have a reason for its decisions. No message makes it raise an error.

The time is linear in the size of the messages, except for logarithms, however many jobs wait.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sortedcontainers import SortedDict

from batprotocol import model
from batprotocol.conversation import AnyMessage
from batprotocol.conversation.hosts import sleeps_of
from batprotocol.conversation.hostsets import HostCounts, describe, members, read_hosts
from batprotocol.errors import DecodeError, shown
from batprotocol.model import Message
from batprotocol.model.hosts import frozen_hosts
from batprotocol.wire import decode

__all__ = ["DEFAULT_SECONDS", "KINDS", "Advice", "Adviser", "advise"]

DEFAULT_SECONDS: Final = 3600.0
"""How long hosts may be free beside a waiting job that fits, by default: one hour of simulated time."""

FREE: Final = "hosts.free"
UNDECIDED: Final = "jobs.undecided"
UNUSED: Final = "hosts.unused"

KINDS: Final = {
    FREE: "A job waits although enough hosts are free",
    UNDECIDED: "The scheduler never decides on a job",
    UNUSED: "The scheduler does not use a host again although jobs wait that fit",
}
"""The kinds of advice, each with its title."""

_NAMED: Final = 3
"""One sentence names at most this number of jobs."""
_HANDSHAKE: Final = 2
"""The first messages, the initialization data and the hello, say nothing of jobs and hosts."""


class Advice(NamedTuple):
    """One piece of advice.

    Attributes:
        kind: one of `KINDS`.
        start: the simulated time at which it begins, in seconds.
        end: the simulated time at which it ends.
        jobs: the full names of the jobs that it is about, the one that waited longest first.
        hosts: the hosts that it is about, as a host set such as "0-3 8"; "" for none.
        text: the advice as one sentence.
    """

    kind: str
    start: float
    end: float
    jobs: tuple[str, ...]
    hosts: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.kind}]"


def advise(messages: Iterable[AnyMessage], seconds: float = DEFAULT_SECONDS) -> list[Advice]:
    """Give advice about a conversation that took place.

    Args:
        messages: all messages from the initialization data on, as `batprotocol.conversation.check` takes them. They may
            stop anywhere. The first message that cannot be read ends them.
        seconds: how long hosts may be free beside a waiting job that fits, in simulated seconds.
    """
    adviser = Adviser(seconds)
    for said in messages:
        adviser.feed(said)
    return adviser.finish()


class _Waiting(NamedTuple):
    """A job that waits: how many hosts it needs, and since when it waits."""

    request: int
    since: float


class _Levels:
    """Since when how many hosts are free: a stack, as a number that falls ends what was above it.

    Attributes:
        count: how many hosts are free now.
    """

    def __init__(self) -> None:
        self.count = 0
        self._from: list[int] = []
        self._since: list[float] = []

    def since(self, count: int) -> float:
        """Since when so many hosts are free, which are free now."""
        return self._since[bisect_right(self._from, count) - 1]

    def change(self, count: int, now: float) -> list[tuple[int, int, float]]:
        """The number of free hosts is another one now.

        Returns:
            What ends by that: the numbers from the first to the second one were free since the third.
        """
        ended = []
        if count > self.count:
            self._from.append(self.count + 1)
            self._since.append(now)
        while count < self.count:
            first = max(self._from[-1], count + 1)
            ended.append((first, self.count, self._since[-1]))
            if first == self._from[-1]:
                self._from.pop()
                self._since.pop()
            self.count = first - 1
        self.count = count
        return ended


class _Uses:
    """When each host was used last, for intervals of hosts that have this in common."""

    def __init__(self, beginning: tuple[float, float]) -> None:
        self._by_first: SortedDict[int, tuple[float, float]] = SortedDict({0: beginning})

    def note(self, first: int, last: int, use: tuple[float, float]) -> None:
        """These hosts were used until now."""
        by_first = self._by_first
        after = by_first.peekitem(by_first.bisect_right(last + 1) - 1)[1]
        for start in list(by_first.irange(first, last)):
            del by_first[start]
        by_first[first] = use
        by_first[last + 1] = after

    def groups(self, hosts: int) -> dict[tuple[float, float], int]:
        """These hosts by their last use."""
        found: dict[tuple[float, float], int] = {}
        firsts = list(self._by_first)
        for first, end in zip(firsts, [*firsts[1:], max(hosts.bit_length(), firsts[-1])], strict=True):
            part = hosts & ((1 << end) - (1 << first))
            if part:
                use = self._by_first[first]
                found[use] = found.get(use, 0) | part
        return found


class Adviser:
    """Follows a conversation and collects advice.

    `feed` takes the messages of the current protocol. A reader of another protocol calls `begin` first, then `advance`
    for each message of Batsim, a method for each event, and `settle` after each reply.

    Args:
        seconds: how long hosts may be free beside a waiting job that fits, in simulated seconds.

    Attributes:
        found: the advice until now; that about the end is added by `finish`.

    >>> adviser = Adviser(seconds=60)
    >>> adviser.begin(0b1111, 0.0)
    >>> adviser.submitted("w0!1", 2)
    >>> adviser.settle()
    >>> adviser.advance(100.0)
    >>> print(adviser.finish()[0])
    from 0 to the end at 100 (100 s), job 'w0!1' waited for 2 hosts although hosts 0-3 were free [hosts.free]
    """

    def __init__(self, seconds: float = DEFAULT_SECONDS) -> None:
        if not seconds >= 0:
            raise ValueError(f"expected a number of seconds >= 0, got {seconds}")
        self.seconds = seconds
        self.found: list[Advice] = []
        self.now = 0.0
        self._number = 0
        self._is_lost = False
        self._is_cut = True
        self._computing = 0
        self._off = 0
        self._asleep_in: dict[int, int] = {}  # by power state, the hosts that cannot compute in it
        self._free = 0
        self._held = HostCounts()
        self._allocations: dict[str, str] = {}
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._unreported: SortedDict[int, OrderedDict[str, float]] = SortedDict()
        self._levels = _Levels()
        self._front: tuple[str, _Waiting] | None = None  # the oldest waiting job when the last reply was complete
        self._late: list[tuple[float, str, int]] = []  # jobs that were started late in this turn
        self._fitting = 0.0
        self._executed_at = 0.0
        self._uses = _Uses((0.0, 0.0))

    # The current protocol

    def feed(self, said: AnyMessage) -> None:
        """Take the next message of either side. After a message that cannot be read, all others are ignored.

        Args:
            said: raw bytes or the value, as `batprotocol.conversation.Conversation.feed` takes it.
        """
        number, self._number = self._number, self._number + 1
        if number < _HANDSHAKE or self._is_lost:
            return
        try:
            message = decode(said) if isinstance(said, bytes | bytearray | memoryview) else said
        except DecodeError:
            message = ""
        if isinstance(message, Message):
            self.take(message, model.Direction.EDC_TO_BATSIM if number % 2 else model.Direction.BATSIM_TO_EDC)
        else:
            self._is_lost = True

    def take(self, message: Message, direction: model.Direction) -> None:
        """Take the next message.

        Args:
            message: what was sent.
            direction: who sent it.
        """
        if direction is model.Direction.BATSIM_TO_EDC:
            self.advance(message.now)
        for event in message.events:
            taker = _TAKERS.get(type(event))
            if taker is not None:
                taker(self, event)
        if direction is model.Direction.EDC_TO_BATSIM:
            self.settle()

    def _simulation_begins(self, event: model.SimulationBeginsEvent) -> None:
        computing = off = 0
        asleep_in: dict[int, int] = {}
        for host in event.computation_hosts:
            if 0 <= host.id < _MOST_HOSTS:
                bit = 1 << host.id
                computing |= bit
                for sleep, virtual in sleeps_of(host).items():
                    for pstate in {sleep, *virtual}:
                        asleep_in[pstate] = asleep_in.get(pstate, 0) | bit
                        off |= bit if pstate == host.pstate else 0
        self.begin(computing, self.now)
        self._off, self._asleep_in = off, asleep_in

    def _simulation_ends(self, event: model.SimulationEndsEvent) -> None:
        self.ends()

    def _job_submitted(self, event: model.JobSubmittedEvent | model.RegisterJobEvent) -> None:
        self.submitted(event.job_id, event.job.resource_request)

    def _execute_job(self, event: model.ExecuteJobEvent) -> None:
        self.executed(event.job_id, event.allocation.host_allocation)

    def _over(self, event: model.RejectJobEvent | model.JobCompletedEvent) -> None:
        self.over(event.job_id)

    def _switched(self, event: model.TurnOnOffHostsEvent | model.HostsTurnedOnOffEvent) -> None:
        is_asked = isinstance(event, model.TurnOnOffHostsEvent)
        self.switched(event.host_ids, self._computing if is_asked else self._asleep_in.get(event.state, 0))

    def _changed_pstate(self, event: model.ChangeHostsPStateEvent) -> None:
        self.switched(event.host_ids, self._asleep_in.get(event.pstate, 0))

    # Any protocol

    def begin(self, computing: int, now: float) -> None:
        """The simulation begins.

        Args:
            computing: the computation hosts, as the bits of an int.
            now: the simulated time in seconds.
        """
        self.now = now
        self._computing = computing
        self._uses = _Uses((now, self._fitting))

    def advance(self, now: float) -> None:
        """Batsim sends a message at this simulated time."""
        if not now > self.now:
            return
        if self._oldest_fits():
            self._fitting += now - self.now
        self.now = now

    def submitted(self, job_id: str, request: int) -> None:
        """A job waits from now on, and needs this number of hosts; 0 if nobody knows it."""
        if job_id in self._waiting or job_id in self._allocations:
            return
        self._waiting[job_id] = _Waiting(request, self.now)
        if request > 0:
            self._unreported.setdefault(request, OrderedDict())[job_id] = self.now

    def executed(self, job_id: str, hosts: str) -> None:
        """A job gets these hosts."""
        if job_id in self._allocations:
            return
        self.over(job_id)
        self._allocations[job_id] = hosts
        self._executed_at = self.now
        self._held.add(self._hosts(hosts))

    def over(self, job_id: str) -> None:
        """A job has ended, or was rejected or killed before it began."""
        hosts = self._allocations.pop(job_id, None)
        if hosts is not None:
            self._held.remove(self._hosts(hosts))
            self._used(hosts)
        job = self._waiting.pop(job_id, None)
        if job is None:
            return
        if self._no_longer_reported(job_id, job.request) and job.request <= self._levels.count:
            since = max(self._levels.since(job.request), job.since)
            if self.now - since > self.seconds:
                self._late.append((since, job_id, job.request))

    def switched(self, hosts: str, off: int) -> None:
        """Hosts are in another power state now; those of `off`, as the bits of an int, cannot compute in it."""
        mask = self._hosts(hosts)
        self._off = (self._off & ~mask) | (mask & off)
        self._used(hosts)

    def ends(self) -> None:
        """Batsim ends the simulation. Without this, the recording just stops, and jobs may wait at its end."""
        self._is_cut = False

    def settle(self) -> None:
        """The reply is complete: what is free now is free until Batsim's next message."""
        self._settle(self._computing & ~self._held.some & ~self._off)

    def finish(self) -> list[Advice]:
        """The conversation is over: all advice, in the order of the times at which it ends."""
        free, waiting, fits = self._free, list(self._waiting.items()), self._fitting
        self._settle(0, at_the_end=True)
        undecided = [job_id for job_id, job in waiting if self.now - job.since > self.seconds or not self._is_cut]
        if undecided:
            since = dict(waiting)[undecided[0]].since
            self.found.append(self._undecided(undecided, since))
        for (start, before), hosts in self._uses.groups(free).items():
            if fits - before > self.seconds and start < self._executed_at:  # else it stopped to use any host
                self.found.append(self._unused(hosts, start, fits - before))
        return self.found

    # How advice is found

    def _hosts(self, text: str) -> int:
        hosts = read_hosts(text)
        known = hosts.last < self._computing.bit_length()
        return hosts.mask & self._computing if known else 0

    def _used(self, text: str) -> None:
        for first, last in read_hosts(text).intervals:
            if last < self._computing.bit_length():
                self._uses.note(first, last, (self.now, self._fitting))

    def _oldest(self) -> tuple[str, _Waiting] | None:
        return next(iter(self._waiting.items()), None)

    def _oldest_fits(self) -> bool:
        return self._front is not None and 0 < self._front[1].request <= self._levels.count

    def _no_longer_reported(self, job_id: str, request: int) -> bool:
        """Whether nothing was reported of a job; it will not be from now on."""
        jobs = self._unreported.get(request)
        if jobs is None or jobs.pop(job_id, None) is None:
            return False
        if not jobs:
            del self._unreported[request]
        return True

    def _settle(self, free: int, at_the_end: bool = False) -> None:
        late, self._late = self._late, []
        before = self._free
        for first, last, since in self._levels.change(free.bit_count(), self.now):
            if self.now - since > self.seconds:
                late += self._late_ones(first, last, since)
        self._free = free
        if late:
            late.sort()
            self.found.append(self._free_beside(late, before, at_the_end))
        self._front = self._oldest()

    def _late_ones(self, first: int, last: int, since: float) -> list[tuple[float, str, int]]:
        """The jobs that need so many hosts and have waited too long beside them. Each is reported once.

        One that has not is looked at once: the next time that as many hosts were free so long, it has.
        """
        found = []
        for request in list(self._unreported.irange(first, last)):
            jobs = self._unreported[request]
            while jobs:
                job_id, submitted = next(iter(jobs.items()))
                start = max(since, submitted)
                if not self.now - start > self.seconds:
                    break
                del jobs[job_id]
                found.append((start, job_id, request))
            if not jobs:
                del self._unreported[request]
        return found

    # Sentences

    def _until(self, at_the_end: bool) -> str:
        return f"the end at {_number(self.now)}" if at_the_end else _number(self.now)

    def _free_beside(self, late: Sequence[tuple[float, str, int]], free: int, at_the_end: bool) -> Advice:
        start, job_id, request = late[0]
        others = f", and so did {_count(len(late) - 1, 'other job')} that fit" if len(late) > 1 else ""
        text = (
            f"from {_number(start)} to {self._until(at_the_end)} ({_number(self.now - start)} s), job {shown(job_id)} "
            f"waited for {_count(request, 'host')} although {describe(free)} {_were(free)} free{others}"
        )
        front = self._front
        if front is not None and front[1].request > free.bit_count():
            text += f"; job {shown(front[0])}, submitted before, waited for {_count(front[1].request, 'host')}"
        return Advice(FREE, start, self.now, tuple(each for _, each, _ in late), _set(free), text)

    def _undecided(self, jobs: Sequence[str], since: float) -> Advice:
        named = ", ".join(map(shown, jobs[:_NAMED]))
        more = f" and {_count(len(jobs) - _NAMED, 'other')}" if len(jobs) > _NAMED else ""
        text = (
            f"until the end at {_number(self.now)}, the scheduler never executed, rejected or killed "
            f"{'job' if len(jobs) == 1 else 'jobs'} {named}{more}, submitted at {_number(since)}"
            f"{' and later' if len(jobs) > 1 else ''}"
        )
        return Advice(UNDECIDED, since, self.now, tuple(jobs), "", text)

    def _unused(self, hosts: int, start: float, fitting: float) -> Advice:
        text = (
            f"from {_number(start)} to {self._until(True)}, the scheduler did not use {describe(hosts)} although the "
            f"oldest waiting job fit in the free hosts for {_number(fitting)} s of that time"
        )
        return Advice(UNUSED, start, self.now, (), _set(hosts), text)


_MOST_HOSTS: Final = 2**20
_TAKERS: Final[dict[type, Callable[[Adviser, Any], None]]] = {
    model.SimulationBeginsEvent: Adviser._simulation_begins,
    model.SimulationEndsEvent: Adviser._simulation_ends,
    model.JobSubmittedEvent: Adviser._job_submitted,
    model.RegisterJobEvent: Adviser._job_submitted,
    model.ExecuteJobEvent: Adviser._execute_job,
    model.RejectJobEvent: Adviser._over,
    model.JobCompletedEvent: Adviser._over,
    model.TurnOnOffHostsEvent: Adviser._switched,
    model.HostsTurnedOnOffEvent: Adviser._switched,
    model.ChangeHostsPStateEvent: Adviser._changed_pstate,
}


def _number(value: float) -> str:
    """A time without zeros at its end."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _were(hosts: int) -> str:
    return "was" if hosts.bit_count() == 1 else "were"


def _set(hosts: int) -> str:
    return frozen_hosts(members(hosts)).text
