"""`Simulated`: the embedded Batsim simulates the episode, message by message: any profiles, named hosts, and energy.

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
from batprotocol.gym.log import Log
from batprotocol.gym.worlds.world import World
from batprotocol.model import (
    Event,
    FinalJobState,
    HostsTurnedOnOffEvent,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    parse_hosts,
)
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.simulator import EnergyRow, ExternalEventList, JobRow, Observer, Platform, Simulator, Workload
from batprotocol.simulator.copies import copied
from batprotocol.workloads.columns import JobColumns

__all__ = ["OTHER", "Decision", "Execute", "Seen", "Simulated", "equal_hosts", "named"]

OTHER: Final = -(1 << 62)
"""The result of `advance` for an event that is neither a submission nor an end: hosts have switched on or off."""

_Self = TypeVar("_Self", bound="Simulated")


class Simulated(World):
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
        log: Log,
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


def named(log: Log, number: int) -> str:
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


def equal_hosts(log: Log) -> Platform:
    """Equal hosts. If all jobs are delays, messages take no time."""
    if log.is_plain:
        return Platform.homogeneous(log.hosts, bandwidth=math.inf, latency=0.0)
    return Platform.homogeneous(log.hosts)


def _part_of(log: Log, first: int, count: int) -> Workload:
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
