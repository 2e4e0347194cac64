"""`SimulatedWorld`: the embedded Batsim simulates the episode: any profiles, named hosts, and energy.

The events of one time come in the order of policies: submissions by their numbers, then ends in the order of the jobs'
starts. Decisions are sent when time goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from batprotocol import MessageBuilder
from batprotocol.gym._world import Times, World
from batprotocol.gym.log import LogArrays
from batprotocol.gym.machines import KnownElectricity
from batprotocol.model import (
    Event,
    ExternalEventOccurredEvent,
    FinalJobState,
    GenericExternalEvent,
    HostsTurnedOnOffEvent,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    parse_hosts,
)
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.simulator import EnergyRow, ExternalEventList, JobRow, Observer, Platform, Simulator, Workload
from batprotocol.simulator.copies import copied
from batprotocol.workloads import with_watts
from batprotocol.workloads.columns import JobColumns
from batprotocol.workloads.electricity import JOULES_PER_KWH, Kind
from batprotocol.workloads.host_events import HostChange, HostEvent, read_host_event

OTHER: Final = -(1 << 62)
"""The result of `advance` for an event that is neither a submission nor an end: hosts have switched on or off."""

_Self = TypeVar("_Self", bound="SimulatedWorld")


class SimulatedWorld(World):
    """The world of this module.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        platform: the hosts; None: equal hosts, without a network if all jobs are delays.
        energy: whether energy is measured.
        events: external events.

    Attributes:
        hosts: the hosts that are on and that no job has, `free` of them.
        asleep: the hosts that are off.
        switching: the number of hosts that are switching on or off.
        allocations: the hosts of each job that has started.
    """

    __slots__ = (
        *("_decisions", "_events", "_ids", "_names", "_seen", "_simulator", "_time", "allocations", "asleep", "hosts"),
        "switching",
    )

    shared: ClassVar[tuple[str, ...]] = (*World.shared, "_ids", "_names")
    numbers: ClassVar[tuple[str, ...]] = (*World.numbers, "_time", "switching")
    changing: ClassVar[tuple[str, ...]] = (*World.changing, "_decisions", "_events", "lasts")
    awake: ClassVar[int] = 0
    """The power state in which hosts are on."""

    def __init__(
        self,
        log: LogArrays,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        platform: Platform | None = None,
        energy: bool = False,
        events: Sequence[ExternalEventList] = (),
    ) -> None:
        super().__init__(log, first, count, ranks, tried)
        self.hosts = Hosts(range(log.hosts))
        self.asleep = Hosts(range(log.hosts))
        self.asleep.take(log.hosts)
        self.switching = 0
        self.allocations: dict[int, FrozenHosts] = {}
        self._decisions: list[Decision] = []
        self._events: list[Event] = []
        self._seen = self.seen()
        workload = _part_of(log, first, count)
        self._ids = tuple(named(log, first + job) for job in range(count))
        self._names = {id: job for job, id in enumerate(self._ids)}
        self._simulator = Simulator(
            equal_hosts(log) if platform is None else platform,
            [workload],
            external_events=events,
            energy=energy,
            observer=self._seen,
        )
        builder = MessageBuilder()
        builder.add_edc_hello("batprotocol.gym", "1")
        self._take(self._simulator.begin(builder.finish_message()))
        self.advance()

    def seen(self) -> Seen:
        """The observer of this simulation."""
        return Seen()

    def copy(self: _Self) -> _Self:
        made = super().copy()
        made._simulator, made._seen = copied([self._simulator, self._seen])
        made.hosts, made.asleep = self.hosts.copy(), self.asleep.copy()
        made.allocations = self.allocations.copy()
        return made

    def advance(self) -> int | None:
        while True:
            while self._events:
                happened = self._take_event(self._events.pop(0))
                if happened is not None:
                    return happened
            if self._simulator.is_over:
                return None
            message = self._simulator.turn(self._reply())
            if message is not None:
                self._take(message)

    def begin(self, job: int) -> None:
        hosts = self.allocations.get(job)
        if hosts is None:
            hosts = self.allocations[job] = self.hosts.take(self.sizes[job])
        else:
            self.hosts.take_these(hosts)
        self._decisions.append(Execute(self._name(job), hosts))
        if not math.isnan(self.lasts[job]):
            self.outcomes.append(job)

    def released(self, job: int, state: FinalJobState) -> None:
        """A job that has ended gives back its hosts."""
        self.hosts.give_back(self.allocations[job])

    def hosts_of(self, job: int) -> FrozenHosts | None:
        return self.allocations.get(job)

    def sleeping(self) -> FrozenHosts:
        return self.asleep.copy().take(len(self.asleep)) if self.asleep else super().sleeping()

    def start_on(self, job: int, hosts: Iterable[int]) -> None:
        """Start a job that has left the queue on these hosts, which are free."""
        self.allocations[job] = Hosts(hosts).take(self.sizes[job])
        self.start(job)

    def switch(self, hosts: FrozenHosts, pstate: int) -> None:
        """Let hosts switch to a power state: free hosts off, or hosts that are off on."""
        turn_off = bool(self.hosts & hosts)
        (self.hosts if turn_off else self.asleep).take_these(hosts)
        if turn_off:
            self.free -= len(hosts)
        self.switching += len(hosts)
        self._decisions.append(_Switch(hosts, pstate))

    # Energy

    def joules(self) -> float:
        """The energy of all hosts until the last measurement, in joules. Starts, ends and switches measure it."""
        return self._seen.joules

    # Messages

    def _reply(self) -> Message:
        builder = MessageBuilder(self._time)
        for decision in self._decisions:
            decision.add_to(builder)
        self._decisions = []
        return builder.finish_message()

    def _take(self, message: Message) -> None:
        self._time = message.now
        self.now = max(self.now, self.log.rounded(message.now))
        self._events = sorted(message.events, key=self._turn_of)

    def _turn_of(self, event: Event) -> tuple[int, int]:
        if isinstance(event, JobSubmittedEvent):
            return 0, self._names[event.job_id]
        if isinstance(event, JobCompletedEvent):
            return 1, self.started.index(self._names[event.job_id])
        return 2, 0

    def _take_event(self, event: Event) -> int | None:
        if isinstance(event, JobSubmittedEvent):
            return self.arrived()
        if isinstance(event, JobCompletedEvent):
            job = self._names[event.job_id]
            if math.isnan(self.lasts[job]):
                self.lasts[job] = max(0.0, self.now - self.starts[job])
                self.outcomes.append(job)
            self.released(job, event.state)
            return self.ended(job)
        if isinstance(event, HostsTurnedOnOffEvent):
            hosts = parse_hosts(event.host_ids)
            self.switching -= len(hosts)
            if event.state == self.awake:
                self.hosts.give_back(hosts)
                self.free += len(hosts)
            else:
                self.asleep.give_back(hosts)
            return OTHER
        return None

    def _name(self, job: int) -> str:
        return self._ids[job]

    # Results

    def rows(self) -> list[JobRow]:
        return list(self._seen.rows)


def named(log: LogArrays, number: int) -> str:
    """The name that a job of a log has in all simulations."""
    return f"w0!{log.job(number)[0].partition('!')[2]}"


class Decision(Protocol):
    """A decision of the next message."""

    def add_to(self, builder: MessageBuilder) -> None:
        """Add its event to a message."""


class Execute(NamedTuple):
    """A decision to execute a job.

    Attributes:
        job_id: the job.
        hosts: its hosts.
        mapping: the host of each task, as an index into the hosts; None: each host has one.
    """

    job_id: str
    hosts: FrozenHosts
    mapping: tuple[int, ...] | None = None

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_execute_job(self.job_id, self.hosts, *(() if self.mapping is None else (self.mapping,)))


class _Switch(NamedTuple):
    """A decision to switch hosts to a power state."""

    hosts: FrozenHosts
    pstate: int

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_turn_on_off_hosts(self.hosts, self.pstate)


class Seen(Observer):
    """Keeps the rows of jobs, and the last measurement of energy."""

    def __init__(self) -> None:
        self.rows: list[JobRow] = []
        self.joules = 0.0

    def job_ended(self, row: JobRow) -> None:
        self.rows.append(row)

    def energy_read(self, row: EnergyRow) -> None:
        self.joules = float(row.energy)


def equal_hosts(log: LogArrays) -> Platform:
    """Equal hosts. If all jobs are delays, messages take no time."""
    if log.is_plain:
        return Platform.homogeneous(log.hosts, bandwidth=math.inf, latency=0.0)
    return Platform.homogeneous(log.hosts)


def _part_of(log: LogArrays, first: int, count: int) -> Workload:
    """The workload of some jobs of a log, with the profiles that they use."""
    whole, cut = log.workload, len(log.workload.name) + 1
    jobs = JobColumns()
    for place in log.places[first : first + count].tolist():
        time, id, job = whole[place]
        jobs.append(id[cut:], time, job.resource_request, job.profile_id[cut:], job.walltime, job.extra_data)
    wanted, profiles = [f"{whole.name}!{name}" for name in jobs.profiles], {}
    while wanted:
        name = wanted.pop()
        if name not in profiles:
            profiles[name] = whole.profiles[name]
            wanted += getattr(profiles[name].profile, "profile_ids", ())
    local = Workload.of_columns(whole.name, whole.filename, {}, JobColumns())
    local.profiles = profiles
    return local.with_jobs(jobs)


# Episodes with external events, such as failures or changes of a price


class EventfulWorld(SimulatedWorld):
    """The base class of worlds with external events.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        platform: see `SimulatedWorld`.
        energy: see `SimulatedWorld`.
        events: the events: their times in seconds, and their data.
    """

    __slots__ = ("_pending",)

    numbers: ClassVar[tuple[str, ...]] = (*SimulatedWorld.numbers, "_pending")

    def __init__(
        self,
        log: LogArrays,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        platform: Platform | None = None,
        energy: bool = False,
        *,
        events: Sequence[tuple[float, str]],
    ) -> None:
        self._pending = len(events)
        lists = [ExternalEventList.of(events, corrected=True)]
        super().__init__(log, first, count, ranks, tried, platform, energy, lists)

    def occurred(self, event: ExternalEventOccurredEvent) -> None:
        """Act on an event that has come."""

    @property
    def goes_on(self) -> bool:
        return super().goes_on or self._pending > 0

    def finish(self) -> None:
        # Events may come long after the last job has ended.
        while len(self.finished) < self.count and self.advance() is not None:
            pass

    def _turn_of(self, event: Event) -> tuple[int, int]:
        return (-1, 0) if isinstance(event, ExternalEventOccurredEvent) else super()._turn_of(event)

    def _take_event(self, event: Event) -> int | None:
        if isinstance(event, ExternalEventOccurredEvent):
            self._pending -= 1
            self.occurred(event)
            return OTHER
        return super()._take_event(event)


# Episodes in which hosts fail and are drained, and come back


_FailingSelf = TypeVar("_FailingSelf", bound="FailingWorld")


class FailingWorld(EventfulWorld):
    """The world of this module. Run times are not known beforehand, as each job may be lost.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        events: events of hosts that fail, are drained and come back, in seconds since the first submission.

    Attributes:
        out: the hosts that are down or drained. Some of them may still have jobs that run to their ends.
        lost: the number of jobs that were lost.
    """

    __slots__ = ("_killing", "lost", "out")

    numbers: ClassVar[tuple[str, ...]] = (*EventfulWorld.numbers, "lost")

    def __init__(
        self,
        log: LogArrays,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        *,
        events: Sequence[tuple[float, HostEvent]],
    ) -> None:
        self.out: frozenset[int] = frozenset()
        self._killing: frozenset[int] = frozenset()
        self.lost = 0
        begin = float(log.submitted[first])
        texts = [(begin + time, event.to_data()) for time, event in events]
        super().__init__(log, first, count, ranks, tried, events=texts)

    def settle(self) -> None:
        super().settle()
        self.lasts = [math.nan] * self.count
        self.times = Times(self.times.submitted, np.full(self.count, math.nan))

    def copy(self: _FailingSelf) -> _FailingSelf:
        made = super().copy()
        made.out, made._killing = self.out, self._killing
        return made

    @property
    def away(self) -> int:
        return len(self.out)

    @property
    def knows_ends(self) -> bool:
        return False

    def occurred(self, event: ExternalEventOccurredEvent) -> None:
        if isinstance(event.external_event, GenericExternalEvent):
            change = read_host_event(event.external_event.data)
            if isinstance(change, HostEvent):
                self._change(frozenset(change.hosts), change.state)

    def _change(self, hosts: frozenset[int], state: HostChange) -> None:
        """Hosts fail, are drained, or come back."""
        busy = {host for job in self.end_jobs for host in self.allocations[job]}
        if state is HostChange.UP:
            back = frozen_hosts(hosts & self.out - busy)
            if back:
                self.hosts.give_back(back)
                self.free += len(back)
            self.out -= hosts
            return
        gone = frozen_hosts(hosts - self.out - busy)
        if gone:
            self.hosts.take_these(gone)
            self.free -= len(gone)
        self.out |= hosts
        if state is HostChange.DOWN:
            victims = [
                job for job in self.end_jobs if job not in self._killing and not hosts.isdisjoint(self.allocations[job])
            ]
            if victims:
                self._killing |= frozenset(victims)
                self._decisions.append(_Kill(tuple(map(self._name, victims))))

    def released(self, job: int, state: FinalJobState) -> None:
        hosts = frozenset(self.allocations[job])
        back = frozen_hosts(hosts - self.out)
        if back:
            self.hosts.give_back(back)
        self.free -= len(hosts & self.out)  # `ended` adds all hosts of the job
        if job in self._killing and state is FinalJobState.COMPLETED_KILLED:
            self.lost += 1


class _Kill:
    """A decision to kill jobs whose hosts have failed."""

    def __init__(self, job_ids: tuple[str, ...]) -> None:
        self.job_ids = job_ids

    def add_to(self, builder: MessageBuilder) -> None:
        builder.add_kill_jobs(self.job_ids)


# Episodes whose energy, carbon and costs are measured


_SHORTEST = 1e-3
"""Readings that are nearer to one another, in seconds, have no watts of their own."""


class ElectricWorld(EventfulWorld):
    """The world of this module.

    Args:
        log: see `World`.
        first: see `World`.
        count: see `World`.
        ranks: see `World`.
        tried: see `World`.
        known: the traces.
        platform: the hosts with their watts; None: equal hosts with typical ones.
    """

    __slots__ = ("_counted", "_most", "_weighted", "known")

    shared: ClassVar[tuple[str, ...]] = (*EventfulWorld.shared, "_most", "known")
    numbers: ClassVar[tuple[str, ...]] = (*EventfulWorld.numbers, "_counted")
    changing: ClassVar[tuple[str, ...]] = (*EventfulWorld.changing, "_weighted")

    def __init__(
        self,
        log: LogArrays,
        first: int,
        count: int,
        ranks: npt.NDArray[np.int64] | None = None,
        tried: npt.NDArray[np.int64] | None = None,
        *,
        known: KnownElectricity,
        platform: Platform | None = None,
    ) -> None:
        self.known = known
        hosts = with_watts(equal_hosts(log), known.watts) if platform is None else platform
        self._most = sum(max(each.max for each in host.watts) for host in hosts.hosts if host.watts is not None)
        events = [(time, event.to_data()) for time, event in known.changes(log, first, count)]
        self._counted = 0
        self._weighted = [0.0] * len(known.traces)
        super().__init__(log, first, count, ranks, tried, hosts, energy=True, events=events)

    def seen(self) -> Seen:
        return _Meter()

    # Measured

    @property
    def _points(self) -> Sequence[tuple[float, float]]:
        assert isinstance(self._seen, _Meter)
        return self._seen.points

    def electricity(self) -> npt.NDArray[np.float64]:
        points = self._points
        watts = 0.0
        if len(points) > 1 and points[-1][0] - points[-2][0] > 0:
            watts = (points[-1][1] - points[-2][1]) / (points[-1][0] - points[-2][0])
        return self.known.numbers(self.now, watts, self._most)

    def weighted(self, kind: Kind) -> float:
        if kind not in self.known.traces:
            return super().weighted(kind)
        points, begin = self._points, self.submitted[0]
        if self._counted < len(points) - 1:
            new = [point for point in points[self._counted :] if point[0] >= begin]
            for place, trace in enumerate(self.known.traces.values()):
                self._weighted[place] += trace.weighted(new) / JOULES_PER_KWH
            self._counted = len(points) - 1
        return self._weighted[list(self.known.traces).index(kind)]


class _Meter(Seen):
    """Also keeps the energy over time."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[float, float]] = [(0.0, 0.0)]

    def energy_read(self, row: EnergyRow) -> None:
        super().energy_read(row)
        if row.time - self.points[-1][0] >= _SHORTEST:
            self.points.append((row.time, float(row.energy)))
