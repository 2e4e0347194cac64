"""The machine of an environment: hosts that jobs share, hosts that fail, and the electricity of hosts.

A `Machine` knows what hosts offer, in which units observations have it, and the dependencies within a log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import LogArrays
from batprotocol.model import Host, HostProperty
from batprotocol.policies import Allocation, PolicyNameError, SiteRules, named, read_site
from batprotocol.policies.availability import WHOLE, Amount, Pool
from batprotocol.policies.site.rules import partitions_of
from batprotocol.simulator import Platform, described_platform, host_events_of, read_platform
from batprotocol.workloads import parse_watts
from batprotocol.workloads.electricity import CARBON, PRICE, Kind, PowerEvent, Trace
from batprotocol.workloads.electricity.tables import trace_named
from batprotocol.workloads.electricity.trace import power_events
from batprotocol.workloads.host_events import FailureModel, HostEvent, drawn_failures, read_host_events
from batprotocol.workloads.requests import OfferedHosts as Offers
from batprotocol.workloads.requests import Request, check_requests, read_request

__all__ = [
    "SUMS",
    "Electric",
    "EpisodeFailures",
    "GivenFailures",
    "KnownElectricity",
    "Machine",
    "platform_of",
]


_HOSTS: Final = 0
_MEMORY: Final = 2
_UNLIMITED: Final = float(1 << 61)
"""Amounts from here on are not limited."""

_Floats = npt.NDArray[np.float64]


def platform_of(platform: Platform | str | os.PathLike[str] | None, hosts: int | str | None) -> Platform | None:
    """The platform of an environment's options; None: as many equal hosts as `hosts` says.

    Args:
        platform: a platform, or its file.
        hosts: the number of hosts, or their description as `described_platform` takes it.

    Raises:
        InputError: both describe hosts, or a file or description cannot be read.
    """
    described = described_platform(hosts) if isinstance(hosts, str) else None
    if platform is None:
        return described
    if described is not None:
        raise InputError("platform and a description of hosts exclude one another: use one of them")
    if isinstance(platform, str | os.PathLike):
        platform = read_platform(os.fspath(platform))
    if not isinstance(platform, Platform):
        raise InputError(f"expected a platform or its file, got {shown(platform)}")
    if hosts not in (None, len(platform.computation_hosts)):
        raise InputError(f"expected the {len(platform.computation_hosts)} hosts of the platform, got {shown(hosts)}")
    return platform


class Machine:
    """The hosts that jobs share, and the rules of their site.

    Args:
        platform: the platform.
        site: the rules, or their file; None: there are none.
        allocation: which of the hosts with space a job gets: the name of an allocation of policies.
        log: the jobs.

    Attributes:
        platform: the platform.
        rules: the rules.
        hosts: the hosts, as a scheduler sees them.
        ranking: the allocation's order of preference.
        contiguous: whether the hosts of a job must have consecutive numbers.
        resources: the names of the resources: `hosts`, `cores`, `memory`, and `gres:NAME` for each generic resource.
        partitions: the names of the partitions, sorted.

    Raises:
        InputError: a property of a host, a rule, or what a job asks for cannot be used.
    """

    def __init__(
        self, platform: Platform, site: SiteRules | str | os.PathLike[str] | None, allocation: str, log: LogArrays
    ) -> None:
        self.platform, self.log = platform, log
        self.rules = site if isinstance(site, SiteRules) else SiteRules() if site is None else read_site(site)
        if self.rules.reservations:
            raise InputError("expected a site without reservations, which environments do not support", "reservations")
        kind = _allocation(allocation)
        self.ranking, self.contiguous = kind.ranking or "numbers", kind.contiguous
        self.hosts = tuple(
            Host(
                id=host.id,
                name=host.name,
                core_count=host.cores,
                properties=tuple(HostProperty(key, value) for key, value in host.properties),
                computation_speed=host.speeds,
            )
            for host in platform.computation_hosts
        )
        offers = Offers(self.hosts)
        pool = Pool(offers.offers)
        names = [":".join(part for part in ("gres", *kind) if part) for kind in pool.kinds]
        self.resources: tuple[str, ...] = ("hosts", "cores", "memory", *names)
        members = partitions_of(self.hosts, offers, self.rules)
        self.partitions: tuple[str, ...] = tuple(sorted(members))
        self._ids = tuple(pool.capacity)
        capacity = np.array([pool.capacity[host] for host in self._ids], np.float64)
        self._is_limited = capacity < _UNLIMITED
        limited = np.where(self._is_limited, capacity, 0.0)
        self._largest: _Floats = limited.max(0)
        # Memory that is not limited counts like the largest memory that is.
        self._capacity: _Floats = np.where(self._is_limited, capacity, self._largest.clip(1.0))
        everywhere = [set(self._ids), *(members[name] for name in self.partitions)]
        self._members: _Floats = np.array([[host in group for host in self._ids] for group in everywhere], np.float64)
        self._totals: _Floats = self._members @ self._capacity
        check_requests((id, text, log.workload.filename) for id, text in log.workload.extra_data())
        self._numbers: dict[str, list[int]] | None = None
        self._places: dict[frozenset[int], npt.NDArray[np.int64]] = {}

    def shares(self, free: Mapping[int, Amount]) -> _Floats:
        """The free share of each resource, of all hosts and then of each partition: a row for each. 0: there is none.

        Args:
            free: the free amounts of each host. A host is free if no job has it.
        """
        amounts = np.array([free[host] for host in self._ids], np.float64)
        there = np.where(self._is_limited, amounts, self._capacity)
        there[amounts[:, _HOSTS] <= 0] = 0.0  # one job has all of it
        there[:, _HOSTS] = np.where(amounts[:, _HOSTS] == WHOLE, WHOLE, 0.0)
        return np.divide(self._members @ there, self._totals, where=self._totals > 0, out=np.zeros_like(self._totals))

    def asked(self, amount: Amount) -> list[float]:
        """The share of each resource but `hosts` that a job takes of each host, as a fraction of the largest host.

        Args:
            amount: the amount that the job takes of each host.
        """
        if amount[_HOSTS] == WHOLE:
            return [float(each > 0 or place == _MEMORY) for place, each in enumerate(self._largest.tolist())][1:]
        pairs = zip(amount[1:], self._largest[1:].tolist(), strict=True)
        return [min(wanted / there, 1.0) if there else 0.0 for wanted, there in pairs]

    def places(self, hosts: frozenset[int]) -> npt.NDArray[np.int64]:
        """The places of some hosts among all hosts."""
        found = self._places.get(hosts)
        if found is None:
            found = self._places[hosts] = np.array([place for place, host in enumerate(self._ids) if host in hosts])
        return found

    def before(self, first: int, count: int) -> Iterator[tuple[int, Request]]:
        """The jobs before an episode that its jobs depend on, with what they asked for except for dependencies.

        Args:
            first: the number of the episode's first job in the log.
            count: the number of its jobs.
        """
        found: set[int] = set()
        for number in range(first, first + count):
            dependency = read_request(self.log.job(number)[1].extra_data).dependency
            for condition in () if dependency is None else dependency.conditions:
                if condition.job:
                    named = self._named(condition.job.rpartition("!")[2])
                    found.update(number for number in named if number < first)
        for number in sorted(found):
            request = read_request(self.log.job(number)[1].extra_data)
            yield number, msgspec.structs.replace(request, dependency=None)

    def _named(self, name: str) -> list[int]:
        """The numbers of the jobs that a name stands for: a job, or the tasks of an array."""
        if self._numbers is None:
            self._numbers = {}
            for number in range(len(self.log)):
                id, job = self.log.job(number)
                array = read_request(job.extra_data).array
                for each in (id.partition("!")[2], array.array if array is not None else ""):
                    if each:
                        self._numbers.setdefault(each, []).append(number)
        return self._numbers.get(name, [])


def _allocation(name: str) -> Allocation:
    try:
        found = named(f"fcfs+{name}")().allocation
    except PolicyNameError:
        raise InputError(f"there is no allocation {shown(name)}; `batproto policies` lists all") from None
    if found.ranking is None or name not in (found.name, ""):
        raise InputError(f"expected an allocation for jobs that share hosts, such as pack or spread, got {shown(name)}")
    return found


# The failures of hosts: drawn anew for each episode, or the same events in all


GivenFailures: TypeAlias = "FailureModel | Sequence[FailureModel] | str | os.PathLike[str]"

_LONGER: Final = 4.0
"""Failures are drawn for this many times the time that the jobs of an episode need without failures."""


class EpisodeFailures:
    """The failures of hosts in episodes.

    Args:
        given: the laws of failures, which are drawn for each episode; or a file of events of hosts, whose times are
            seconds since the first submission of an episode.
        log: the jobs, and the number of hosts.

    Raises:
        InputError: the events cannot be read, are not those of hosts that fail, are drained and come back, or a host
            does not come back.
        OSError: the file cannot be read.
    """

    def __init__(self, given: GivenFailures, log: LogArrays) -> None:
        self._log = log
        self._models: list[FailureModel] = []
        self._events: list[tuple[float, HostEvent]] = []
        if isinstance(given, str | os.PathLike):
            self._events = _events_of(given, log.hosts)
            return
        self._models = [given] if isinstance(given, FailureModel) else list(given)
        if not self._models or not all(isinstance(each, FailureModel) for each in self._models):
            raise InputError(f"expected failures as a FailureModel, several, or a file of events, got {shown(given)}")

    @property
    def are_drawn(self) -> bool:
        """Whether they are other ones in each episode."""
        return bool(self._models)

    def events(self, first: int, count: int, seed: int) -> list[tuple[float, HostEvent]]:
        """The events of an episode, with their times since its first submission in seconds.

        Args:
            first: the number of its first job in the log.
            count: the number of its jobs.
            seed: the seed of failures that are drawn.
        """
        if not self._models:
            return self._events
        until = _LONGER * self._log.needed(first, count)
        return list(drawn_failures(self._log.hosts, self._models, until=until, seed=seed))


def _events_of(path: str | os.PathLike[str], hosts: int) -> list[tuple[float, HostEvent]]:
    found: list[tuple[float, HostEvent]] = []
    away: set[int] = set()
    for time, event in host_events_of(read_host_events([path], hosts)):
        if not isinstance(event, HostEvent):
            raise InputError(
                "environments know no windows: use events of hosts that fail, are drained and come back",
                "window",
                file=os.fspath(path),
            )
        found.append((time, event))
        away = away - set(event.hosts) if event.state.value == "up" else away | set(event.hosts)
    if away:
        raise InputError(f"host {min(away)} does not come back: add its event", "state", file=os.fspath(path))
    return found


# The electricity: the watts of hosts, the carbon intensity and the price, and what agents see of them


SUMS: Final[dict[Kind, str]] = {CARBON: "carbon_grams", PRICE: "cost"}
"""The names of the sums in `info`."""

_HOUR: Final = 3600.0
"""Changes are events for this many times the time that the jobs of an episode need."""
GivenTrace: TypeAlias = "Trace | str | None"


class Electric(msgspec.Struct, frozen=True, kw_only=True):
    """The electricity of an environment.

    Args:
        carbon: the carbon intensity, a trace that repeats, or its name (`gb.csv?repeat=yes`, `daily:300`); None: none.
        price: the price, as `carbon`.
        watts: the watts of hosts, as `parse_watts` reads them. `Power` has a platform of its own.
        forecast: the number of hours to come whose mean values agents see, >= 0.
    """

    carbon: GivenTrace = None
    price: GivenTrace = None
    watts: str = "idle=95,busy=190"
    forecast: int = 24


class KnownElectricity:
    """The traces of an environment, and the numbers that agents see.

    Args:
        given: the description.

    Raises:
        InputError: a trace cannot be used, or does not repeat.
        OSError: a file cannot be read.
    """

    def __init__(self, given: Electric) -> None:
        if type(given.forecast) is not int or given.forecast < 0:
            raise InputError(f"expected a forecast of hours >= 0, got {shown(given.forecast)}")
        self.given = given
        self.traces: dict[Kind, Trace] = {}
        for kind, trace in ((CARBON, given.carbon), (PRICE, given.price)):
            if trace is not None:
                self.traces[kind] = _trace(trace, kind)
        self._ranges = {kind: (min(each.values), max(each.values)) for kind, each in self.traces.items()}
        self.watts = parse_watts(given.watts)
        """The watts of hosts, for environments without a platform of their own."""

    def __deepcopy__(self, memo: object) -> KnownElectricity:
        return self  # it never changes

    def __reduce__(self) -> tuple[type[KnownElectricity], tuple[Electric]]:
        return KnownElectricity, (self.given,)

    @property
    def size(self) -> int:
        """The number of numbers that agents see."""
        return 1 + len(self.traces) * (1 + self.given.forecast)

    def numbers(self, now: float, watts: float, most: float) -> npt.NDArray[np.float64]:
        """The numbers that agents see, in [0, 1]: the watts; then for each trace its value, and those to come.

        Args:
            now: the time, in seconds.
            watts: the watts that the machine draws.
            most: the most that it can draw.
        """
        found = [watts / most if most > 0 else 0.0]
        for kind, trace in self.traces.items():
            least, largest = self._ranges[kind]
            values = [trace.at(now)]
            values += [trace.mean(now + hour * _HOUR, now + (hour + 1) * _HOUR) for hour in range(self.given.forecast)]
            found += [(value - least) / (largest - least) if largest > least else 0.0 for value in values]
        seen: npt.NDArray[np.float64] = np.clip(np.array(found), 0.0, 1.0)
        return seen

    def changes(self, log: LogArrays, first: int, count: int) -> Iterator[tuple[float, PowerEvent]]:
        """The changes of traces in an episode, with their times, after its first submission."""
        begin = float(log.submitted[first])
        until = begin + _LONGER * log.needed(first, count)
        for kind, trace in self.traces.items():
            yield from ((time, event) for time, event in power_events(trace, kind, until) if time > begin)


def _trace(given: Trace | str, kind: Kind) -> Trace:
    trace = trace_named(given, kind) if isinstance(given, str) else given
    if not trace.repeats:
        raise InputError(
            f"expected a {kind} that repeats, as episodes may last long: add repeat=yes, got {shown(given)}"
        )
    return trace
