"""`Machine`: the hosts of an environment whose jobs share them by cores, memory and GPUs, and the rules of its site.

It knows what hosts offer, in which units observations have it, and the dependencies within a log. It must not know
episodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import Log
from batprotocol.model import Host, HostProperty
from batprotocol.policies import Allocation, PolicyNameError, SiteRules, named, read_site
from batprotocol.policies.availability import WHOLE, Amount, Pool
from batprotocol.policies.site.rules import partitions_of
from batprotocol.simulator import Platform, described_platform, read_platform
from batprotocol.workloads.requests import Request, check_requests, read_request
from batprotocol.workloads.requests import Site as Offers

__all__ = ["Machine", "platform_of"]

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
        self, platform: Platform, site: SiteRules | str | os.PathLike[str] | None, allocation: str, log: Log
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
