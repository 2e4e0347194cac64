"""The frame of a policy: a `Driver` gets events, a `JobPlanner` chooses, and `Actions` carry out the decisions.

There are three drivers: of whole hosts, of a site, and of a log. The first two have a plan each. The plan of whole
hosts counts free hosts: one availability profile suffices for all of them, and a user can write a `Backfilling`. The
plan of a site has the amounts of each host, and an entry of the queue for each partition of a job. Both share this
module, the jobs, the orders, and what is known of availability. Slurm's controller has its own literal loops: its
package says what it shares.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, RuleViolation, shown
from batprotocol.model import (
    ExternalEventOccurredEvent,
    FinalJobState,
    GenericExternalEvent,
    Host,
    HostsTurnedOnOffEvent,
    Job,
    JobSubmittedEvent,
    KillProgress,
    OneShot,
    Profile,
    TimeUnit,
)
from batprotocol.workloads.host_events import HostEvent, HostStates, Window, read_host_event
from batprotocol.workloads.requests import Allocated, AttemptReport, read_request
from batprotocol.workloads.requests.vocabulary import HOST_KEYS, JOB_KEYS, RequestKey

if TYPE_CHECKING:
    from batprotocol.policies.allocations import Allocation
    from batprotocol.policies.backfilling import Backfilling, Walltimes
    from batprotocol.policies.energy import Switching, Wait
    from batprotocol.policies.failures import Failures
    from batprotocol.policies.orders import Order

logger = logging.getLogger("batprotocol.policies")

LATEST: Final = 2.0**50
"""Policies ask for no call after this many seconds."""


@dataclass(frozen=True)
class PolicyParts:
    """The parts of a policy, as its drivers take them. `Policy` describes them."""

    order: Order
    backfilling: Backfilling
    allocation: Allocation
    walltimes: Walltimes
    failures: Failures | None = None
    starts: Wait | None = None
    risk: bool = False
    each: bool = False
    keeps: bool = False

    @property
    def interrupts(self) -> bool:
        """Whether jobs that run are interrupted to wait for a better time."""
        return self.starts is not None and self.starts.interruptible


class Actions(Protocol):
    """How decisions are carried out."""

    def execute(self, job_id: str, hosts: Iterable[int], mapping: list[int] | None = None) -> str | None:
        """Execute a job; if that is not possible, it is rejected. Returns why, or None."""

    def reject(self, job_id: str, why: object) -> None:
        """Reject a job, with a reason."""

    def kill(self, job_ids: list[str]) -> None:
        """Kill jobs."""

    def withdraw(self, job_id: str) -> None:
        """Reject a job that is registered under another name."""

    def register(self, job_id: str, job: Job, profiles: Iterable[tuple[str, Profile]]) -> None:
        """Register new profiles, and a job."""

    def switch(self, hosts: Iterable[int], on: bool) -> None:
        """Switch hosts on or off."""

    def change_pstate(self, pstate: int, hosts: list[int]) -> None:
        """Change the power state of hosts that are on."""

    def finish(self) -> None:
        """No more jobs are registered."""

    def call_at(self, time: float) -> None:
        """Ask for a call at a time, so that the policy decides then even if nothing happens; infinity: none."""


class Replies:
    """Actions that are events of a scheduler's reply.

    Args:
        scheduler: the scheduler.
        switching: which hosts sleep, and in which power states; None: none do.
        name: the begin of the ids of calls.
        nearly: a call has come if its time is less than this away, in seconds: times are rounded, also those of Batsim.
    """

    def __init__(
        self, scheduler: Scheduler, switching: Switching | None, *, name: str = "policy", nearly: float = 1e-6
    ) -> None:
        self._scheduler, self._switching, self._name, self._nearly = scheduler, switching, name, nearly
        self._call, self._calls = math.inf, 0

    def execute(self, job_id: str, hosts: Iterable[int], mapping: list[int] | None = None) -> str | None:
        reply = self._scheduler.reply
        try:
            if mapping is None:
                reply.add_execute_job(job_id, hosts)
            else:
                reply.add_execute_job(job_id, hosts, mapping)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            self.reject(job_id, violation)
            return str(violation)
        return None

    def reject(self, job_id: str, why: object) -> None:
        logger.warning("%s is rejected: %s", shown(job_id), why)
        self._scheduler.reply.add_reject_job(job_id)

    def kill(self, job_ids: list[str]) -> None:
        if job_ids:
            self._scheduler.reply.add_kill_jobs(job_ids)

    def withdraw(self, job_id: str) -> None:
        self._scheduler.reply.add_reject_job(job_id)

    def register(self, job_id: str, job: Job, profiles: Iterable[tuple[str, Profile]]) -> None:
        reply = self._scheduler.reply
        for profile_id, profile in profiles:
            reply.add_register_profile(profile_id, profile)
        reply.add_register_job(job_id, job)

    def switch(self, hosts: Iterable[int], on: bool) -> None:
        assert self._switching is not None, "no host sleeps"
        self._switching.switch(hosts, on, self._scheduler.reply)

    def change_pstate(self, pstate: int, hosts: list[int]) -> None:
        self._scheduler.reply.add_change_hosts_pstate(hosts, pstate)

    def finish(self) -> None:
        self._scheduler.reply.add_finish_registration()

    def call_at(self, time: float) -> None:
        if time < min(self._call, LATEST):
            self._call = time
            self._calls += 1
            once = OneShot(math.ceil(time * 1000), TimeUnit.Millisecond)
            self._scheduler.reply.add_call_me_later(f"{self._name}-{self._calls}", once)

    def has_called(self, now: float) -> bool:
        """Whether the call that was asked for has come; then, another one can be asked for."""
        if self._call > now + self._nearly:
            return False
        self._call = math.inf
        return True


def too_large(size: int, most: int) -> str:
    """Why a job is rejected that asks for none of the sizes that it can have."""
    return f"it requests {size} hosts, and can have 1 to {most}"


class Driver(ABC):
    """Gets the events of a simulation, and decides. Events that a driver does not care about do nothing."""

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its hosts, in the order of starts; empty until jobs share hosts."""
        return ()

    @property
    def attempts(self) -> Sequence[AttemptReport]:
        """The runs of jobs that ended early, are not the only one of their job, or have checkpoints; by their ends."""
        return ()

    @abstractmethod
    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        """A job is submitted: so many came before it."""

    @abstractmethod
    def ended(self, job_id: str, state: FinalJobState) -> None:
        """A job has ended."""

    def killed(self, job_id: str, progress: KillProgress) -> None:  # noqa: B027
        """A job was killed after some progress."""

    def switched(self, event: HostsTurnedOnOffEvent) -> None:  # noqa: B027
        """Hosts were switched on or off."""

    def happened(self, event: HostEvent | Window) -> None:  # noqa: B027
        """Something has happened to hosts, or they are promised."""

    def no_more(self) -> None:  # noqa: B027
        """All jobs of the workloads are submitted."""

    def no_more_events(self) -> None:  # noqa: B027
        """All external events that were known in the beginning have occurred."""

    @abstractmethod
    def decide(self) -> None:
        """Start what can start now."""


Waits = TypeVar("Waits")
Runs = TypeVar("Runs")


class JobPlanner(ABC, Generic[Waits, Runs]):
    """Chooses the jobs that start now, and where: the interface of both planners.

    Jobs wait where hosts are counted, and on a site entries do: a job in each of its partitions.
    """

    @abstractmethod
    def starting(self) -> Iterator[tuple[Waits, Iterable[int]]]:
        """The jobs or entries that start now, with their hosts. Each has started before the next one is asked for."""

    @abstractmethod
    def wakes_at(self) -> float:
        """When something can start even if nothing happens until then; infinity: never."""

    def dropped(self, waits: Waits) -> None:
        """A job or an entry waits no longer."""

    def began(self, job: Runs) -> None:
        """A job has its hosts from now on."""

    def over(self, job: Runs) -> None:
        """A job has its hosts no longer."""

    def lasts(self, job: Runs, before: float) -> None:
        """A running job is expected to end at `job.end`, and was expected to end at another time before."""


# The events of hosts that come in a simulation, read and checked one after the other.


class HostEventReader:
    """Events of hosts in their order. Bad ones are logged with the reason, and ignored.

    Args:
        hosts: the numbers of the computation hosts.
    """

    def __init__(self, hosts: Iterable[int] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._states = HostStates(max(self._hosts, default=-1) + 1)
        self._waiting: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, event: ExternalEventOccurredEvent) -> None:
        """An external event has occurred, about hosts or about something else."""
        if isinstance(event.external_event, GenericExternalEvent):
            self._waiting.append(event.external_event.data)

    def announce(self, window: Window) -> None:
        """A window is known without an event."""
        self._waiting.append(window.to_data())

    def take(self, now: float) -> Iterator[HostEvent | Window]:
        """The events of hosts until now.

        Args:
            now: the time. The timestamps of external events can be earlier than they occur.
        """
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            try:
                event = read_host_event(data)
                if event is not None:
                    self._check(event)
                    self._states.take(now, event)
                    yield event
            except InputError as error:
                logger.warning("an event of hosts is ignored: %s", error)

    def _check(self, event: HostEvent | Window) -> None:
        """Batsim numbers storage hosts, too: events of hosts are not about those."""
        if len(self._hosts) == self._states.host_count:
            return
        other = next((host for host in event.hosts if host not in self._hosts), None)
        if other is not None and other < self._states.host_count:
            raise InputError(f"expected computation hosts, got host {other}, which is none", "hosts")


# Keys of jobs and hosts that have no effect, as the vocabulary of requests does not have them: each is logged once.


_MOST: Final = 100
"""Keys that are logged in one simulation: there may be a key for each job."""
_LONGEST: Final = 50
_ALIKE: Final = 0.8
_OTHERS: Final = frozenset({"slurm"})
"""Keys that not the vocabulary has, but one of the policies."""


class UnknownKeys:
    """The keys without effect that were logged in a simulation."""

    def __init__(self) -> None:
        self._seen: set[str] = set(_OTHERS)

    def report(self, job_id: str, extra_data: str) -> None:
        """Log each key of a job that has no effect, unless it was logged before.

        Args:
            job_id: the job.
            extra_data: its extra data.
        """
        try:
            unknown = read_request(extra_data).unknown
        except InputError:
            return  # the job is rejected with the reason
        for key in unknown:
            if key in self._seen or len(self._seen) >= _MOST:
                continue
            self._seen.add(key)
            meant = _meant_by(key, for_jobs=True)
            if meant is None:
                logger.info("%s: the key %s has no effect", shown(job_id), shown(key))
            else:
                logger.warning("%s: the key %s has no effect; did you mean %r?", shown(job_id), shown(key), meant)

    @staticmethod
    def report_hosts(hosts: Iterable[Host]) -> None:
        """Log each property that may be misspelt. Other properties are those of platforms.

        Args:
            hosts: the hosts.
        """
        names = {each.key: host.name for host in hosts for each in host.properties or ()}
        for key in sorted(names.keys() - HOST_KEYS.keys())[:_MOST]:
            meant = _meant_by(key, for_jobs=False)
            if meant is not None:
                logger.warning(
                    "host %s: the property %s has no effect; did you mean %r?", shown(names[key]), shown(key), meant
                )


@lru_cache(_MOST)
def _meant_by(key: str, *, for_jobs: bool) -> str | None:
    """The key of the vocabulary that a key may be meant for; None if it is like none."""
    from difflib import get_close_matches  # few simulations need it

    if len(key) > _LONGEST:
        return None
    known = _words_of(JOB_KEYS if for_jobs else HOST_KEYS)
    near = get_close_matches(key.lower().replace("-", "_"), list(known), 1, _ALIKE)
    return known[near[0]] if near else None


def _words_of(keys: Mapping[str, RequestKey]) -> dict[str, str]:
    """The keys by their names, and by the names that Slurm has for them."""
    known = {name: name for name in keys}
    for name, key in keys.items():
        for word in key.slurm.split(", "):
            known.setdefault(word.removeprefix("--").partition("=")[0].replace("-", "_").lower(), name)
    return known
