"""The platform of a simulation: its hosts with their speeds, cores, roles and watts, and the routes between them.

`made_platform` selects the master, the computation hosts and the storage hosts from described hosts, and numbers them,
as Batsim does from properties and its own options. These values never change while a simulation runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.electricity.hosts import (
    SleepPState,
    Watts,
    computation_pstates,
    declared,
    read_sleep_pstates,
    read_watts,
    read_watts_off,
)
from batprotocol.workloads.network import NO_ROUTE, ClusterZone, Link, Route, ZoneMember, find_route
from batprotocol.workloads.simgrid import TCP_GAMMA, TIMING, WORK_AMOUNT, PlatformConfiguration
from batprotocol.workloads.workload import Workload

__all__ = [
    "DEFAULT_MASTER",
    "HOST_LIMIT",
    "DescribedHost",
    "Platform",
    "PlatformHost",
    "Role",
    "SleepPState",
    "Watts",
    "made_platform",
    "natural_order",
    "platform_for",
]


# Hosts


class Role(Enum):
    """The purpose of a host."""

    MASTER = "master"
    """Batsim itself runs here. There is exactly one master. It has no id and executes no jobs."""
    COMPUTE = "compute_node"
    """Executes jobs."""
    STORAGE = "storage"
    """Sends and receives the bytes of storage profiles."""


class PlatformHost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A host of a platform.

    Args:
        id: its number in the protocol: computation hosts first, then storage hosts; -1 for the master.
        name: its name, unique in the platform.
        speeds: flops per second of one core in each power state, at least one power state.
        pstate: the power state in which it starts.
        cores: the number of cores, at least 1.
        role: its purpose.
        properties: (key, value) pairs in the order of the file, without those of the zone.
        zone_properties: the properties that it inherits from the enclosing zones.
        watts: the power that it draws in each power state, or None if the platform does not declare it.
        watts_off: the power that it would draw if it were cut off, in watts, or None. Batsim never uses it.
        sleep_pstates: its sleep states. All power states that are not part of a sleep state are computation states.
    """

    id: int
    name: str
    speeds: tuple[float, ...]
    pstate: int = 0
    cores: int = 1
    role: Role = Role.COMPUTE
    properties: tuple[tuple[str, str], ...] = ()
    zone_properties: tuple[tuple[str, str], ...] = ()
    watts: tuple[Watts, ...] | None = None
    watts_off: float | None = None
    sleep_pstates: tuple[SleepPState, ...] = ()

    @property
    def computation_pstates(self) -> frozenset[int]:
        """The power states in which the host can execute jobs."""
        return computation_pstates(len(self.speeds), self.sleep_pstates)

    def sleep_state(self, pstate: int) -> SleepPState | None:
        """The sleep state with this number, or None if the host does not sleep in this power state."""
        return next((state for state in self.sleep_pstates if state.sleep == pstate), None)


_CACHED_ROUTES = 1 << 16  # a route is found again in microseconds; memory stays bounded on thousands of hosts


class Platform:
    """Hosts and their network. It never changes: copies and branches of a simulation share it.

    Args:
        hosts: the computation hosts, then the storage hosts; `hosts[i].id == i`.
        master: the host that Batsim itself runs on.
        members: the place of each host in the network, by its name.
        tcp_gamma: the maximum number of bytes under way (SimGrid's `network/TCP-gamma`): with a latency of t seconds, a
            transfer gets at most `tcp_gamma / (2 * t)` bytes per second. 0: no limit.
        timing: a sleep or a latency ends when less than this remains, in seconds (`precision/timing`).
        work_amount: a host or a link is used up when less than this remains while it is shared, in flops or bytes per
            second (`precision/work-amount`). A task ends when less than the product of both remains of 1.
        concurrency_limit: the maximum number of executors on a host at the same time, and of tasks on a link; others
            wait (`maxmin/concurrency-limit`). 0: no limit. As in SimGrid, less than 1 flop or byte does not count.
        filename: the file that it was read from, or "".

    >>> platform = Platform.homogeneous(32, speed=1e9)
    >>> len(platform.hosts), platform.hosts[3].name, platform.hosts[3].speeds
    (32, 'host3', (1000000000.0,))
    """

    def __init__(
        self,
        hosts: Iterable[PlatformHost],
        master: PlatformHost,
        members: Mapping[str, ZoneMember],
        *,
        tcp_gamma: float = TCP_GAMMA,
        timing: float = TIMING,
        work_amount: float = WORK_AMOUNT,
        concurrency_limit: int = 0,
        filename: str = "",
    ) -> None:
        self.hosts: tuple[PlatformHost, ...] = tuple(hosts)
        self.master = master
        self.tcp_gamma = tcp_gamma
        self.timing = timing
        self.work_amount = work_amount
        self.concurrency_limit = concurrency_limit
        self.filename = filename
        self._members = dict(members)
        self._routes: dict[tuple[str, str], Route] = {}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of version 0.2.0 have no settings of SimGrid.
        vars(self).update({"timing": TIMING, "work_amount": WORK_AMOUNT, "concurrency_limit": 0, **state})

    def zones(self, host: PlatformHost) -> tuple[str, ...]:
        """The names of the zones that a host is in, the outermost first."""
        member = self._members.get(host.name)
        return () if member is None or member.zone is None else tuple(zone.name for zone in member.zone.path())

    @classmethod
    def homogeneous(
        cls,
        count: int,
        *,
        speed: float = 1e9,
        cores: int = 1,
        bandwidth: float = 1e9,
        latency: float = 5e-6,
        watts: Watts | tuple[Watts, ...] | None = None,
        speeds: tuple[float, ...] | None = None,
        sleep_pstates: tuple[SleepPState, ...] = (),
        properties: Mapping[str, str] | None = None,
    ) -> Platform:
        """A cluster of equal hosts, `host0` to `host{count-1}`, and a master, each on a link of its own.

        Args:
            count: the number of computation hosts, >= 0.
            speed: flops per second of a core, > 0.
            cores: the number of cores of each host, >= 1.
            bandwidth: bytes per second of each host's link (full duplex), > 0. It may be infinite with a latency of 0.
                Then there is no network, and messages and transfers take no time.
            latency: the latency of each host's link, in seconds, >= 0.
            watts: the power that a host draws (in each power state); None: energy cannot be measured.
            speeds: flops per second in each power state, instead of `speed`.
            sleep_pstates: the power states in which hosts sleep and switch.
            properties: the properties of each host, beside those that declare its watts and sleep states.

        Raises:
            InputError: one of these is out of its range.
        """
        if count < 0 or cores < 1:
            raise InputError(f"expected 0 hosts or more with at least one core, got {count} with {cores}")
        states = (speed,) if speeds is None else tuple(speeds)
        if not states or not all(0 < flops < inf for flops in states):
            raise InputError(f"expected a speed > 0 flops per second for computation hosts, got {shown(states)}")
        if not bandwidth > 0 or not 0 <= latency < inf or (bandwidth == inf and latency > 0):
            text = "expected a bandwidth > 0 (infinite only if the latency is 0) and a latency >= 0 for links"
            raise InputError(f"{text}, got {bandwidth} and {latency}")
        draws = None if watts is None else (watts,) * len(states) if isinstance(watts, Watts) else tuple(watts)
        if draws is not None and len(draws) != len(states):
            raise InputError(f"there are watts for {len(draws)} power states, but speeds for {len(states)}")
        zone = ClusterZone("cluster")
        members = {}
        for name in ("master_host", *(f"host{number}" for number in range(count))):
            member = members[name] = zone.add(name)
            if bandwidth < inf:
                zone.up[member] = (Link(f"{name}_UP", bandwidth, latency),)
                zone.down[member] = (Link(f"{name}_DOWN", bandwidth, latency),)
        hosts = [
            PlatformHost(
                id=number,
                name=f"host{number}",
                speeds=states,
                cores=cores,
                watts=draws,
                sleep_pstates=sleep_pstates,
                properties=tuple((declared(draws, sleep_pstates) | dict(properties or {})).items()),
            )
            for number in range(count)
        ]
        return cls(hosts, PlatformHost(id=-1, name="master_host", speeds=states, role=Role.MASTER), members)

    def replaced(self, hosts: Iterable[PlatformHost]) -> Platform:
        """The platform with other hosts at the same places of the network: they have the same names and numbers."""
        changed = Platform.__new__(Platform)
        changed.__dict__.update(self.__getstate__())
        changed.hosts = tuple(hosts)
        assert [host.name for host in changed.hosts] == [host.name for host in self.hosts]
        return changed

    @property
    def core_count(self) -> int:
        """The number of cores of all computation hosts."""
        return sum(host.cores for host in self.computation_hosts)

    @property
    def computation_hosts(self) -> tuple[PlatformHost, ...]:
        """The hosts that execute jobs. They are first in `hosts`."""
        return tuple(host for host in self.hosts if host.role is Role.COMPUTE)

    @property
    def storage_hosts(self) -> tuple[PlatformHost, ...]:
        """The hosts that store the bytes of storage profiles. They are last in `hosts`."""
        return tuple(host for host in self.hosts if host.role is Role.STORAGE)

    def host(self, name: str) -> PlatformHost | None:
        """The host of this name, the master included, or None."""
        if name == self.master.name:
            return self.master
        return next((host for host in self.hosts if host.name == name), None)

    def route(self, source: PlatformHost, target: PlatformHost) -> Route:
        """The route of bytes from a host to another one or to itself; `NO_ROUTE` if there is none."""
        key = (source.name, target.name)
        found = self._routes.get(key)
        if found is None:
            if len(self._routes) >= _CACHED_ROUTES:
                self._routes.clear()
            found = find_route(self._members[source.name], self._members[target.name]) or NO_ROUTE
            self._routes[key] = found
        return found

    def message_cost(self, host: PlatformHost) -> float:
        """The seconds that a message from this host to the master takes: latencies + 1 byte / smallest bandwidth."""
        return self.route(host, self.master).message_cost

    def __copy__(self) -> Platform:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Platform:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_routes": {}}

    def __repr__(self) -> str:
        return f"<Platform of {len(self.hosts)} hosts{f' from {self.filename}' if self.filename else ''}>"


# Roles, the master, and the numbers of hosts

HOST_LIMIT = 100_000
"""The default maximum number of hosts of a platform: so many take a second and 200 MB."""

DEFAULT_MASTER = "master_host"
"""The host that is the master by default: an option or a role may name another one."""

_USUAL = PlatformConfiguration()

_RUNS = re.compile(rb"[0-9]+|[^0-9]")


class DescribedHost(NamedTuple):
    """A host as a file describes it, before roles are given and hosts are numbered."""

    name: str
    speeds: tuple[float, ...]
    cores: int
    pstate: int
    properties: Mapping[str, str]
    member: ZoneMember
    line: int | None = None


def natural_order(name: str) -> tuple[tuple[tuple[int, int], ...], bytes]:
    """The sort key of hosts: their names, in which digits in a row count as one number, and capitals come first.

    >>> sorted(["n10", "n2", "N3", "n02", "n1"], key=natural_order)
    ['N3', 'n1', 'n02', 'n2', 'n10']
    """
    data = name.encode()
    runs = _RUNS.findall(data)
    # A number stands where its digits would: no other character lies between "0" and "9".
    return tuple((48, int(run[:4000])) if run.isdigit() else (run[0], 0) for run in runs), data


def platform_for(
    workloads: Sequence[Workload], *, hosts: int | None = None, mmax: int | None = None, host_limit: int = HOST_LIMIT
) -> Platform:
    """A platform of equal hosts for workloads, as many as they are made for.

    It has no network, because jobs that are delays, as in logs, do not need one. Messages take no time. So events of
    the same time are reported at the same time, as in simulators without messages.

    Args:
        workloads: at least one workload.
        hosts: the number of hosts; None: the number that the workloads are made for.
        mmax: the number of hosts to keep, Batsim's option `--mmax`.
        host_limit: the maximum number of hosts: a short file can be made for more hosts than fit into memory.

    Raises:
        InputError: a workload is made for more hosts than `host_limit`.
    """
    largest = max(workloads, key=lambda workload: workload.resource_count)
    size = largest.resource_count if hosts is None else hosts
    size = size if mmax is None else min(size, mmax)
    if size > host_limit:
        text = f"it is made for {size} hosts, more than {host_limit}; raise the limit (--host-limit, host_limit)"
        raise InputError(text, file=largest.filename)
    profiles = (each.profile for workload in workloads for each in workload.profiles.values())
    return _equal_hosts(size, all(isinstance(profile, DelayProfile) for profile in profiles))


@lru_cache(maxsize=4)  # a study has many workloads for one machine; a platform never changes, and knows its routes
def _equal_hosts(size: int, only_delays: bool) -> Platform:
    return Platform.homogeneous(size, bandwidth=math.inf, latency=0.0) if only_delays else Platform.homogeneous(size)


def made_platform(
    described: Iterable[DescribedHost],
    *,
    roles: Sequence[tuple[str, str]] = (),
    master: str = DEFAULT_MASTER,
    mmax: int | None = None,
    energy: bool = False,
    configuration: PlatformConfiguration = _USUAL,
    filename: str = "",
) -> Platform:
    """The platform of these hosts.

    Args:
        described: the hosts.
        roles: (host, role) pairs, in addition to the hosts' property `role`.
        master: the name of the host that becomes the master, if it exists.
        mmax: the number of computation hosts to keep, from the first one on; None: all.
        energy: whether energy will be measured. Every host then needs the property `wattage_per_state`.
        configuration: the settings of the platform.
        filename: the file that they come from, for errors, or "".

    Raises:
        InputError: a property cannot be read, there is not exactly one master, a role or a host does not exist.
    """
    hosts = list(described)
    given = _given_roles(hosts, roles, master)
    masters: list[PlatformHost] = []
    computing: list[PlatformHost] = []
    storing: list[PlatformHost] = []
    for host in hosts:
        try:
            made = _made(host, given.get(host.name, ""), energy)
        except InputError as error:
            place = ".".join(part for part in (f"host {host.name}", error.path) if part)
            raise InputError(error.reason, place, file=filename, line=host.line) from None
        {Role.MASTER: masters, Role.COMPUTE: computing, Role.STORAGE: storing}[made.role].append(made)
    if len(masters) != 1:
        found = f"{len(masters)}: {', '.join(host.name for host in masters)}" if masters else "none"
        raise InputError(
            f"expected exactly one master, by its property role or by its name {shown(master)}; found {found}",
            file=filename,
        )
    computing.sort(key=lambda host: natural_order(host.name))
    storing.sort(key=lambda host: host.name.encode())
    if mmax is not None:
        if not 0 < mmax <= len(computing):
            raise InputError(f"cannot compute on {mmax} hosts: the platform has {len(computing)}", file=filename)
        del computing[mmax:]
    members = {host.name: host.member for host in hosts}
    numbered = (msgspec.structs.replace(host, id=number) for number, host in enumerate(computing + storing))
    return Platform(
        numbered,
        masters[0],
        members,
        tcp_gamma=configuration.tcp_gamma,
        timing=configuration.timing,
        work_amount=configuration.work_amount,
        concurrency_limit=configuration.concurrency_limit,
        filename=filename,
    )


def _given_roles(hosts: list[DescribedHost], roles: Sequence[tuple[str, str]], master: str) -> dict[str, str]:
    names = {host.name for host in hosts}
    given: dict[str, str] = {}
    for name, role in roles:
        if name not in names:
            raise InputError(f"there is no host {shown(name)} that could have the role {shown(role)}")
        given[name] = f"{given[name]},{role}" if name in given else role
    if master in names:
        given[master] = Role.MASTER.value
    elif master != DEFAULT_MASTER:
        raise InputError(f"there is no host {shown(master)} that could be the master")
    return given


def _made(host: DescribedHost, given: str, energy: bool) -> PlatformHost:
    properties = dict(host.properties)
    if given:
        properties["role"] = f"{properties['role']},{given}" if properties.get("role") else given
    named = properties.get("role", "") or Role.COMPUTE.value
    if named not in {role.value for role in Role}:
        raise InputError(f"{shown(named)} is not a role; use one of {', '.join(role.value for role in Role)}", "role")
    role = Role(named)
    sleep_pstates = read_sleep_pstates(properties, len(host.speeds))
    watts: tuple[Watts, ...] | None = None
    watts_off: float | None = None
    try:
        watts = read_watts(properties, len(host.speeds))
        watts_off = read_watts_off(properties)
    except InputError:
        if energy:  # otherwise it is not used, and a platform for another purpose is accepted
            raise
    if energy and watts is None and role is not Role.MASTER:
        raise InputError("to measure energy, add the property wattage_per_state", "wattage_per_state")
    made = PlatformHost(
        id=-1,
        name=host.name,
        speeds=host.speeds,
        pstate=host.pstate,
        cores=host.cores,
        role=role,
        properties=tuple(properties.items()),
        zone_properties=tuple(_zone_properties(host.member).items()),
        watts=watts,
        watts_off=watts_off,
        sleep_pstates=sleep_pstates,
    )
    if not 0 <= made.pstate < len(made.speeds):
        raise InputError(f"there is no power state {made.pstate}; there are {len(made.speeds)}", "pstate")
    if made.cores < 1:
        raise InputError("a host must have at least one core", "core")
    if role is Role.COMPUTE:
        for pstate in sorted(made.computation_pstates):
            if not made.speeds[pstate] > 0:
                raise InputError(f"a computation host computes: the speed of power state {pstate} must be > 0", "speed")
    return made


def _zone_properties(member: ZoneMember) -> dict[str, str]:
    properties: dict[str, str] = {}
    for zone in member.zone.path() if member.zone is not None else ():
        properties.update(zone.properties)
    return properties
