"""The platform of a simulation: its hosts, and the routes between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from batprotocol.errors import InputError, shown
from batprotocol.workloads.configuration import TCP_GAMMA, TIMING, WORK_AMOUNT
from batprotocol.workloads.electricity.hosts import declared
from batprotocol.workloads.hosts import Host, Role, SleepPState, Watts
from batprotocol.workloads.network import NO_ROUTE, Link, Route
from batprotocol.workloads.zones import ClusterZone, ZoneMember, find_route

__all__ = ["Platform"]

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
        hosts: Iterable[Host],
        master: Host,
        members: Mapping[str, ZoneMember],
        *,
        tcp_gamma: float = TCP_GAMMA,
        timing: float = TIMING,
        work_amount: float = WORK_AMOUNT,
        concurrency_limit: int = 0,
        filename: str = "",
    ) -> None:
        self.hosts: tuple[Host, ...] = tuple(hosts)
        self.master = master
        self.tcp_gamma = tcp_gamma
        self.timing = timing
        self.work_amount = work_amount
        self.concurrency_limit = concurrency_limit
        self.filename = filename
        self._members = dict(members)
        self._routes: dict[tuple[str, str], Route] = {}

    def zones(self, host: Host) -> tuple[str, ...]:
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
            Host(
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
        return cls(hosts, Host(id=-1, name="master_host", speeds=states, role=Role.MASTER), members)

    def replaced(self, hosts: Iterable[Host]) -> Platform:
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
    def computation_hosts(self) -> tuple[Host, ...]:
        """The hosts that execute jobs. They are first in `hosts`."""
        return tuple(host for host in self.hosts if host.role is Role.COMPUTE)

    @property
    def storage_hosts(self) -> tuple[Host, ...]:
        """The hosts that store the bytes of storage profiles. They are last in `hosts`."""
        return tuple(host for host in self.hosts if host.role is Role.STORAGE)

    def host(self, name: str) -> Host | None:
        """The host of this name, the master included, or None."""
        if name == self.master.name:
            return self.master
        return next((host for host in self.hosts if host.name == name), None)

    def route(self, source: Host, target: Host) -> Route:
        """The route of bytes from a host to another one or to itself; `NO_ROUTE` if there is none."""
        key = (source.name, target.name)
        found = self._routes.get(key)
        if found is None:
            if len(self._routes) >= _CACHED_ROUTES:
                self._routes.clear()
            found = find_route(self._members[source.name], self._members[target.name]) or NO_ROUTE
            self._routes[key] = found
        return found

    def message_cost(self, host: Host) -> float:
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
