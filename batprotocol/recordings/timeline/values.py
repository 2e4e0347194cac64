"""The plain values of a timeline: jobs, messages, series over time, hosts out of service.

Messages are stored in few bytes. The series of the whole machine are computed from the jobs.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import groupby
from math import inf, isfinite, nan
from operator import itemgetter
from typing import Final, Literal, TypeAlias

import msgspec

from batprotocol.conversation.hostsets import mask_of
from batprotocol.errors import HostSetError, InputError
from batprotocol.model import FinalJobState
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.electricity import Trace
from batprotocol.workloads.host_events import HostChange, HostEvent, Window, read_host_event
from batprotocol.workloads.requests import Offer, Request

BLOCK: Final = 256
"""How many texts are compressed together. To show one of them, the page unpacks all of them."""
MOST_TEXTS: Final = 20_000
"""The number of messages whose texts are kept by default."""
_MOST_EVENTS: Final = 2**16 - 1


def deflated(data: bytes) -> bytes:
    """The data as browsers inflate them ("deflate-raw")."""
    packer = zlib.compressobj(level=6, wbits=-15)
    return packer.compress(data) + packer.flush()


class Messages:
    """The messages of a conversation, in their order.

    Args:
        most_texts: the number of messages whose texts are kept; None: all.
        hint: how to see a message whose text is not kept, with `{number}` for its number.
    """

    def __init__(self, most_texts: int | None = MOST_TEXTS, hint: str = "") -> None:
        self.most_texts = sys.maxsize if most_texts is None else most_texts
        self.hint = hint
        self.times = array("d")
        """The simulated time of each message."""
        self.senders = array("B")
        """The sender of each message: 0 is Batsim, 1 is the decision component."""
        self.kinds = array("H")
        """The most important event of each message, as a place in `kind_names`."""
        self.events = array("H")
        """The number of events of each message."""
        self.kind_names: list[str] = []
        self.blocks: list[bytes] = []
        """The texts, as deflated JSON, `BLOCK` texts each."""
        self.text_count = 0
        """The number of messages whose texts are kept."""
        self._kinds: dict[str, int] = {}
        self._texts: list[str] = []
        self._jobs: dict[str, int] = {}
        self._pairs = (array("I"), array("I"))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def wants_text(self) -> bool:
        """Whether the text of the next message is kept."""
        return len(self.times) < self.most_texts

    def add(self, time: float, sender: int, kind: str, events: int, job_ids: Iterable[str], text: str | None) -> None:
        """Add the next message.

        Args:
            time: when it was sent, in simulated seconds.
            sender: 0 for Batsim, 1 for the decision component.
            kind: the name of its most important event; "" if it has no events.
            events: how many events it has.
            job_ids: the jobs that it is about, by their full names.
            text: the text that the page shows for it; kept only if `wants_text`.
        """
        number = len(self.times)
        if text is not None and self.wants_text:
            self._texts.append(text)
            self.text_count += 1
            if len(self._texts) == BLOCK:
                self._pack()
        self.times.append(time)
        self.senders.append(sender)
        place = self._kinds.get(kind)
        if place is None:
            self._kinds[kind] = place = len(self._kinds)
            self.kind_names.append(kind)
        self.kinds.append(place)
        self.events.append(events if events < _MOST_EVENTS else _MOST_EVENTS)
        jobs, messages = self._pairs
        for job_id in dict.fromkeys(job_ids):
            jobs.append(self._jobs.setdefault(job_id, len(self._jobs)))
            messages.append(number)

    def finish(self) -> None:
        """Compress the last texts. Call it after the last message."""
        if self._texts:
            self._pack()

    def _pack(self) -> None:
        self.blocks.append(deflated(msgspec.json.encode(self._texts)))
        self._texts.clear()

    def by_job(self, job_ids: Sequence[str]) -> tuple[array[int], array[int]]:
        """The messages about each of these jobs, and where those of each begin (one place more than there are jobs)."""
        places = {job_id: place for place, job_id in enumerate(job_ids)}
        place_of = [places.get(job_id, -1) for job_id in self._jobs]
        jobs, messages = self._pairs
        begin = [0] * (len(job_ids) + 1)
        for job in jobs:
            begin[place_of[job] + 1] += 1  # messages about unknown jobs are counted in the first place
        begin[0] = 0
        for place in range(1, len(begin)):
            begin[place] += begin[place - 1]
        found, at = array("I", bytes(4 * begin[-1])), begin[:]
        for job, message in zip(jobs, messages, strict=True):
            place = place_of[job]
            if place >= 0:
                found[at[place]] = message
                at[place] += 1
        return array("I", begin), found


# The parts of a timeline: jobs, series over time, hosts out of service, messages.


MOST_HOSTS: Final = 1_000_000
"""The numbers of hosts are below this limit."""

SeriesKind: TypeAlias = Literal["queue", "hosts", "power", "carbon", "price", "probe"]
"""The subject of a series: jobs that wait, free hosts, power, carbon intensity, price, or the values of a probe."""


class TimelineJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job of a timeline. Times are in simulated seconds; None means unknown, or that it did not happen.

    Args:
        job_id: its full name, `workload!job`.
        submitted: when it was submitted.
        started: when its execution began; None if it did not begin.
        finished: when its execution ended; None if it did not end.
        hosts: its hosts, (first, last) of each interval.
        state: its final state; None if that is not known, or it has not ended.
        requested: the number of hosts that it requested.
        walltime: its walltime in seconds, or None.
        profile: the name of its profile.
        user: the user who submitted it; "" if that is not known.
        request: what it asks for beside hosts; None if that is nothing, or not known.
        share: the share of its hosts that it has, in ]0, 1[; None if it has whole hosts, or that is not known.
    """

    job_id: str
    submitted: float | None = None
    started: float | None = None
    finished: float | None = None
    hosts: tuple[tuple[int, int], ...] = ()
    state: FinalJobState | None = None
    requested: int = 0
    walltime: float | None = None
    profile: str = ""
    user: str = ""
    request: Request | None = None
    share: float | None = None

    @property
    def workload(self) -> str:
        """The name of its workload; "" if it has none."""
        workload, bang, _ = self.job_id.partition("!")
        return workload if bang else ""


def intervals_of(hosts: str, whose: str) -> tuple[tuple[int, int], ...]:
    """The intervals of a host set (`0-3 8`).

    Raises:
        InputError: it is not a host set, or it contains a number that is too large.
    """
    try:
        intervals = frozen_hosts(hosts).intervals
    except HostSetError as error:
        raise InputError(str(error), whose) from None
    if intervals and intervals[-1][1] >= MOST_HOSTS:
        raise InputError(f"the numbers of hosts are below {MOST_HOSTS:,}, got {intervals[-1][1]}", whose)
    return intervals


class Series(msgspec.Struct, frozen=True):
    """A value over time.

    Args:
        name: its name.
        kind: its subject.
        times: the times of the values in simulated seconds, ascending.
        values: the value from each of these times on.
        unit: the unit of the values, such as `W`; "" for counts.
        lane: the lane in which it is drawn; several series can share one. By default, the name of the series.
        is_step: whether a value holds until the next one; otherwise, it is measured at its time only.
        most: the greatest possible value, such as the number of hosts; 0 if that is not known.
    """

    name: str
    kind: SeriesKind
    times: Sequence[float]
    values: Sequence[float]
    unit: str = ""
    lane: str = ""
    is_step: bool = True
    most: float = 0.0


OFF_DUTY: Final = ("off", "switching", "down", "drained", "closed", "reserved")
"""Why hosts are off duty. Hosts that are reserved are so only for other jobs than those of the window."""


class OffDuty(msgspec.Struct, frozen=True, gc=False):
    """Hosts that were off, switching, away or reserved for a while.

    Args:
        first: the first host.
        last: the last host.
        start: when it began, in simulated seconds.
        end: when it ended, in simulated seconds.
        is_switching: whether they were switching on or off; otherwise, they were off.
        reason: why they were away: `down`, `drained`, `closed` (in a window without jobs) or `reserved` (in a window of
            some users); "": they were off or switching.
    """

    first: int
    last: int
    start: float
    end: float
    is_switching: bool = False
    reason: str = ""

    @property
    def kind(self) -> str:
        """Why they were off duty: one of `OFF_DUTY`."""
        return self.reason or OFF_DUTY[self.is_switching]


class TimelineData:
    """All data that are drawn for one run.

    Args:
        name: the name of the run.
        jobs: its jobs, in any order.
        hosts: the number of computation hosts; by default, that of the hosts up to the last one that a job had.
        host_names: their names, by their numbers.
        offers: what hosts offer: cores, GPUs, partitions. Hosts that are not among them count as one core.
        series: more series to draw. Those of the jobs that wait and of the free hosts are computed from the jobs,
            unless a series of kind `queue` or `hosts` replaces them.
        off_duty: hosts that were off, switching, away or reserved.
        messages: the messages of the run.
        end: when the run ended, in simulated seconds; by default, the last time that is known.

    Raises:
        InputError: a time is not a finite number, or there is nothing to draw.
    """

    def __init__(
        self,
        name: str,
        jobs: Iterable[TimelineJob],
        *,
        hosts: int | None = None,
        host_names: Sequence[str] = (),
        offers: Iterable[Offer] = (),
        series: Iterable[Series] = (),
        off_duty: Iterable[OffDuty] = (),
        messages: Messages | None = None,
        end: float | None = None,
    ) -> None:
        self.name = name
        """The name of the run."""
        self.jobs = sorted(jobs, key=lambda job: (inf if job.started is None else job.started, job.submitted or 0.0))
        """The jobs by their start; those that did not start come last."""
        self.host_names = tuple(host_names)
        self.offers = {offer.id: offer for offer in offers}
        self.messages = messages
        self.given = list(series)
        seen = max((job.hosts[-1][1] + 1 for job in self.jobs if job.hosts), default=0)
        self.host_count = max(seen, hosts or 0)
        """The number of computation hosts."""
        self.off_duty = [
            _within(each, self.host_count) for each in off_duty if not each.reason or each.first < self.host_count
        ]
        self.start, self.end = self._span(end)
        """The start and the end of the run, in simulated seconds."""

    def _span(self, end: float | None) -> tuple[float, float]:
        first, last = inf, -inf
        for job in self.jobs:
            for time in (job.submitted, job.started, job.finished):
                if time is not None:
                    if not isfinite(time):
                        raise InputError(f"the times of a job are finite numbers, got {time}", job.job_id)
                    first, last = min(first, time), max(last, time)
        edges = [each.times[place] for each in self.given if each.times for place in (0, -1)]
        if self.messages is not None and self.messages.times:
            edges += [min(self.messages.times), max(self.messages.times)]
        edges += [] if end is None else [end]
        edges = [time for time in edges if isfinite(time)]
        if first == inf and not edges:
            raise InputError("there is nothing to draw: neither jobs nor messages")
        return min(first, *edges, 0.0), max(last, *edges, 0.0)


def _within(off: OffDuty, host_count: int) -> OffDuty:
    """The hosts that exist: an event may name others."""
    return off if off.last < host_count or not off.reason else msgspec.structs.replace(off, last=host_count - 1)


def or_nan(values: Iterable[float | None]) -> array[float]:
    """These values, NaN in place of None."""
    return array("d", [nan if value is None else value for value in values])


# When hosts were off or switching: from the changes at each moment to the times of groups of hosts.


class DutyState(Enum):
    """The state of a host: its power, or why it is away."""

    ON = "on"
    OFF = "off"
    SWITCHING_ON = "switching on"
    SWITCHING_OFF = "switching off"
    DOWN = "down"
    DRAINED = "drained"


_SWITCHING = (DutyState.SWITCHING_ON, DutyState.SWITCHING_OFF)
_AWAY = (DutyState.DOWN, DutyState.DRAINED)


class Switches:
    """Follows hosts that are switched on and off. All are on at first.

    >>> switches = Switches()
    >>> switches.change(1.0, [(0, 3)], DutyState.OFF)
    >>> switches.change(5.0, [(1, 1)], DutyState.ON)
    >>> [(each.first, each.last, each.end) for each in switches.finish(9.0)]
    [(1, 1, 5.0), (0, 0, 9.0), (2, 3, 9.0)]
    """

    def __init__(self) -> None:
        self._since: dict[int, tuple[float, DutyState]] = {}
        self._found: list[OffDuty] = []

    def power(self, host: int) -> DutyState:
        """The power state of a host now."""
        return self._since[host][1] if host in self._since else DutyState.ON

    def change(self, time: float, intervals: Iterable[tuple[int, int]], power: DutyState) -> None:
        """From this time on, these hosts have this power state."""
        hosts = [host for first, last in intervals for host in range(first, last + 1)]
        self._end(time, hosts)
        if power is not DutyState.ON:
            self._since.update(dict.fromkeys(hosts, (time, power)))

    def finish(self, time: float) -> list[OffDuty]:
        """All times at which hosts were not on, until the end of the run."""
        self._end(time, sorted(self._since))
        return self._found

    def _end(self, time: float, hosts: Iterable[int]) -> None:
        """End the states of these hosts. Neighbouring hosts with the same state and time become one entry."""
        run: list[tuple[int, float, DutyState]] = []
        for host in hosts:
            did = self._since.pop(host, None)
            if run and (did is None or (run[-1][0] + 1, *did) != (host, *run[-1][1:])):
                self._add(run, time)
            if did is not None:
                run.append((host, *did))
        self._add(run, time)

    def _add(self, run: list[tuple[int, float, DutyState]], end: float) -> None:
        if run and end > run[0][1]:
            state = run[0][2]
            reason = state.value if state in _AWAY else ""
            self._found.append(OffDuty(run[0][0], run[-1][0], run[0][1], end, state in _SWITCHING, reason))
        run.clear()


# When hosts were down, drained or promised, from events of hosts in the order of their times.


_POWER: Final = {
    HostChange.DOWN: DutyState.DOWN,
    HostChange.DRAIN: DutyState.DRAINED,
    HostChange.UP: DutyState.ON,
}


class Absences:
    """Follows hosts that fail, come back, are drained or are promised. All are up at first.

    >>> absences = Absences()
    >>> absences.read(5.0, '{"hosts": "0-1", "state": "down"}')
    >>> absences.read(9.0, '{"hosts": "0-1", "state": "up"}')
    >>> absences.finish(20.0)
    [OffDuty(first=0, last=1, start=5.0, end=9.0, is_switching=False, reason='down')]
    """

    def __init__(self) -> None:
        self._switches = Switches()
        self._windows: list[Window] = []

    def read(self, time: float, data: str) -> None:
        """The data of an external event at this time. Data about something else, and bad data, have no effect."""
        try:
            event = read_host_event(data)
        except InputError:
            return
        if event is not None:
            self.take(time, event)

    def take(self, time: float, event: HostEvent | Window) -> None:
        """An event of hosts happens at this time."""
        if event.hosts.intervals[-1][1] >= MOST_HOSTS:
            return
        if isinstance(event, Window):
            self._windows.append(event)
        else:
            self._switches.change(time, event.hosts.intervals, _POWER[event.state])

    def finish(self, end: float) -> list[OffDuty]:
        """All times at which hosts were away or reserved, until the end of the run. Windows come first."""
        windows = [
            OffDuty(first, last, each.begin, min(each.end, end), reason="closed" if each.is_closed else "reserved")
            for each in self._windows
            if each.begin < end
            for first, last in each.hosts.intervals
        ]
        return windows + self._switches.finish(end)


def absences_of(events: Iterable[tuple[float, HostEvent | Window]], end: float) -> list[OffDuty]:
    """All times at which hosts were away or reserved.

    Args:
        events: the events with their times, by their times.
        end: the end of the run, in seconds.
    """
    absences = Absences()
    for time, event in events:
        absences.take(time, event)
    return absences.finish(end)


# The carbon intensity, the price and the cap of a run as series over its time.


_SERIES: Final[tuple[tuple[str, SeriesKind], ...]] = (("carbon", "carbon"), ("price", "price"), ("cap", "power"))
"""Name and kind; series of the same kind share a lane."""
_MOST: Final = 100_000
"""The maximum number of values of a series: a trace that changes more often is drawn with values in between."""


def add_electricity(
    data: TimelineData, *, carbon: Trace | None = None, price: Trace | None = None, cap: Trace | float | None = None
) -> None:
    """Add the series of these traces to a run, from its start to its end, or to the end of the trace.

    Args:
        data: the run.
        carbon: the carbon intensity; None: none.
        price: the price; None: none.
        cap: the watts that are allowed, always or over time; it is drawn with the power; None: none.
    """
    for (name, kind), trace in zip(_SERIES, (carbon, price, cap), strict=True):
        if isinstance(trace, Trace):
            times, values = _steps(trace, data.start, data.end)
            data.given.append(Series(name, kind, times, values, unit=trace.unit, lane=kind))
        elif trace is not None:
            data.given.append(Series(name, kind, array("d", [data.start]), array("d", [trace]), unit="W", lane=kind))


def _steps(trace: Trace, start: float, end: float) -> tuple[array[float], array[float]]:
    """The values of a trace from their times on."""
    times, values = array("d"), array("d")
    time, shortest = start if trace.repeats else max(start, trace.begin), (end - start) / _MOST
    while time < end and (trace.repeats or time < trace.end):
        value = trace.at(time)
        if not values or values[-1] != value:
            times.append(time)
            values.append(value)
        time = max(trace.next_change(time), time + shortest)
    return times, values


def power_series(readings: Iterable[tuple[float, float]]) -> Series:
    """The power of all hosts in watts: the means between readings of the energy.

    Args:
        readings: times in ascending order, and the joules since time 0.
    """
    times, values = array("d"), array("d")
    before: tuple[float, float] = (0.0, 0.0)
    for time, joules in readings:
        if time > before[0]:
            watts = (joules - before[1]) / (time - before[0])
            if not values or values[-1] != watts:
                times.append(before[0])
                values.append(watts)
            before = time, joules
    return Series("power", "power", times, values, unit="W", lane="power")


# Series of the whole machine, computed from the jobs: how many jobs wait, and how many hosts are free.


def waiting_jobs(jobs: Iterable[TimelineJob]) -> Series:
    """How many jobs waited: submitted, and neither started nor rejected.

    >>> series = waiting_jobs([TimelineJob(job_id="w0!1", submitted=0.0, started=5.0)])
    >>> list(series.times), list(series.values)
    ([0.0, 5.0], [1.0, 0.0])
    """
    changes: list[tuple[float, int]] = []
    for job in jobs:
        leaves = job.finished if job.started is None else job.started
        if job.submitted is None or (leaves is None and job.state is FinalJobState.REJECTED):
            continue  # the time of its rejection is not known
        changes.append((job.submitted, 1))
        if leaves is not None:
            changes.append((max(leaves, job.submitted), -1))
    changes.sort(key=itemgetter(0))
    times, values = array("d"), array("d")
    waiting = 0
    for time, group in groupby(changes, itemgetter(0)):
        waiting += sum(change for _, change in group)
        if not values or values[-1] != waiting:
            times.append(time)
            values.append(waiting)
    return Series("jobs waiting", "queue", times, values, lane="jobs waiting")


def free_hosts(
    jobs: Iterable[TimelineJob],
    host_count: int,
    start: float,
    off_duty: Iterable[OffDuty] = (),
    end: float = inf,
) -> Series:
    """How many hosts were on and had no job. Hosts that several jobs share count once.

    Args:
        jobs: all jobs.
        host_count: how many hosts there are.
        start: the start of the series, in simulated seconds.
        off_duty: hosts that were off or switching.
        end: the end of the run, in simulated seconds. Hosts that are off duty until then stay off.
    """
    held: list[tuple[float, float | None, tuple[tuple[int, int], ...]]] = [
        (job.started, job.finished, job.hosts) for job in jobs if job.started is not None and job.hosts
    ]
    held += [(each.start, None if each.end >= end else each.end, ((each.first, each.last),)) for each in off_duty]
    changes: list[tuple[float, bool, int]] = []
    for number, (since, until, _) in enumerate(held):
        changes.append((since, True, number))
        if until is not None:
            changes.append((max(since, until), until <= since, number))
    changes.sort()  # at the same moment, ends come before starts: the next job gets the hosts
    busy = 0
    more: Counter[int] = Counter()  # for hosts that several jobs share: the number of jobs besides the first one
    times, values = array("d", [start]), array("d", [host_count])
    under_way = bytearray(len(held))
    for time, group in groupby(changes, itemgetter(0)):
        for _, _, number in group:
            mask = mask_of(held[number][2])
            if not under_way[number]:
                under_way[number] = 1
                more.update(_members(busy & mask))
                busy |= mask
            else:
                busy = _given_back(busy, mask, more)
        free = host_count - busy.bit_count()
        if times[-1] == time:
            values[-1] = free
        elif values[-1] != free:
            times.append(time)
            values.append(free)
    return Series("free hosts", "hosts", times, values, lane="free hosts", most=host_count)


def _given_back(busy: int, mask: int, more: Counter[int]) -> int:
    """The hosts that are still busy after a job with the hosts of the mask has ended."""
    kept = 0
    if more:
        for host in _members(mask):
            if more[host]:
                kept |= 1 << host
                more[host] -= 1
            if not more[host]:
                del more[host]
    return busy & (~mask | kept)


def _members(mask: int) -> Iterable[int]:
    """The hosts of a mask."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
