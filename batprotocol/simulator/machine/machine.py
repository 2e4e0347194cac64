"""The hosts while a simulation runs: power states, the state of each and its durations, and consumed energy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.conversation.automaton import HostPower
from batprotocol.conversation.state import PowerRecord
from batprotocol.model import HostState
from batprotocol.results import MachineStatesRow, PStateRow
from batprotocol.results.arithmetic import difference, plus
from batprotocol.simulator.actions.actions import actions_for
from batprotocol.simulator.actions.demand import Demands, PythonDemand
from batprotocol.workloads import Platform, PlatformHost, Watts
from batprotocol.workloads.electricity.hosts import SleepPState

__all__ = ["ParallelTask", "SimulatedMachine", "intervals"]


# Parallel tasks


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ParallelTask:
    """Work of 1, whose rate the machine computes.

    Attributes:
        demand: its total use of hosts and links.
        hosts: all hosts that it uses, without duplicates.
        remains: the remaining part before it began, or when it was stopped.
        is_cancelled: whether it was stopped so that its owner continues.
        number: the number of its action while it is under way, else 0.
        owner: the actor that waits for its end, or None.
    """

    __slots__ = ("demand", "hosts", "is_cancelled", "number", "owner", "remains")

    def __init__(self, demand: PythonDemand, hosts: tuple[int, ...]) -> None:
        self.demand = demand
        self.hosts = hosts
        self.remains = 0.0 if demand.is_empty else 1.0
        self.is_cancelled = False
        self.number = 0
        self.owner: Any = None


_FEW_HOSTS: Final = 64
"""With more hosts, links are only searched on the routes to and from the master and the first host."""

_SLEEPING: Final = int(HostState.SLEEPING)
_IDLE: Final = int(HostState.IDLE)
_COMPUTING: Final = int(HostState.COMPUTING)
_SWITCHING_ON: Final = int(HostState.SWITCHING_ON)
_SWITCHING_OFF: Final = int(HostState.SWITCHING_OFF)
_STATES: Final = {
    HostPower.ON: _IDLE,
    HostPower.SWITCHING_OFF: _SWITCHING_OFF,
    HostPower.ASLEEP: _SLEEPING,
    HostPower.SWITCHING_ON: _SWITCHING_ON,
}
"""The state of a host without a job."""


@lru_cache(maxsize=256)
def sleeps_of(pstates: tuple[SleepPState, ...]) -> dict[int, tuple[int, int]]:
    """Sleep states, each with the virtual states for switching off and on. Of equal ones, the first counts."""
    return {each.sleep: (each.switching_off, each.switching_on) for each in reversed(pstates)}


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SimulatedMachine:
    """The state of all hosts and links.

    Args:
        platform: the hosts and the network.
        has_energy: whether energy is measured.
        corrected: whether hosts that ran a job become idle again, and energy is read whenever a load changes.

    Attributes:
        hosts: the hosts by number.
        power: their power states, and whether they are on, asleep or switching, as in a conversation.
        states: the states of hosts, as numbers of `HostState`.
        actions: the actions on the hosts and links.
        demands: the stored demands of messages and tasks.
        meters: the probes that measure over time; each has a method `advance(machine, now)`.
        energy: joules since time 0 of each host, at its last reading.
        shares_hosts: whether a host had several jobs at the same time, or at one moment.
    """

    __slots__ = (
        "_charged",
        "_links",
        "_read_at",
        "_running",
        "_since",
        "_spent",
        "actions",
        "corrected",
        "counts",
        "demands",
        "energy",
        "has_energy",
        "hosts",
        "meters",
        "platform",
        "power",
        "shares_hosts",
        "states",
    )

    def __init__(self, platform: Platform, has_energy: bool, corrected: bool) -> None:
        hosts = platform.hosts
        self.platform = platform
        self.has_energy = has_energy
        self.corrected = corrected
        self.hosts: tuple[PlatformHost, ...] = hosts
        self.power = [PowerRecord(host.pstate, sleeps_of(host.sleep_pstates), HostPower.ON, -1) for host in hosts]
        self.states = [_IDLE] * len(hosts)
        self.counts = [0] * len(HostState)
        # Batsim does not count storages then, though it does when their state changes.
        self.counts[_IDLE] = len(platform.computation_hosts) if not corrected else len(hosts)
        self.energy = [0.0] * len(hosts)
        # The power states that energy is charged for: Batsim's is 0 until a host's energy is read for the first time.
        self._charged = [host.pstate for host in hosts] if corrected else [0] * len(hosts)
        self._since = [0.0] * len(hosts)
        self._spent = [[(0.0, 0.0)] * len(hosts) for _ in HostState]
        self._read_at = [0.0] * len(hosts)
        self._running = [0] * len(hosts)
        self.shares_hosts = False
        self.meters: list[Any] = []
        self._links: dict[str, int] = {}
        self.demands = Demands()
        speeds = [host.speeds[host.pstate] for host in hosts]
        capacities = [host.cores * speed for host, speed in zip(hosts, speeds, strict=True)]
        self.actions = actions_for(
            capacities, speeds, corrected, platform.timing, platform.work_amount, platform.concurrency_limit
        )

    # Network

    def path(self, source: int, target: int) -> tuple[float, list[int]]:
        """The latency of the route from a host to another or to itself, and its links as resources; -1 is the master.

        It is not cached: callers that need a route often should store it.
        """
        platform = self.platform
        route = platform.route(
            self.hosts[source] if source >= 0 else platform.master,
            self.hosts[target] if target >= 0 else platform.master,
        )
        numbers = []
        for link in route.links:
            number = self._links.get(link.name)
            if number is None:
                number = self._links[link.name] = self.actions.add_link(link.bandwidth, link.fatpipe)
            numbers.append(number)
        return route.latency, numbers

    def link(self, name: str) -> int | None:
        """The resource of the link with this name, or None if no route uses it."""
        if name not in self._links:
            ends = range(-1, len(self.hosts))
            others = ends if len(self.hosts) <= _FEW_HOSTS else range(-1, 1)
            for source in ends:
                for target in others:
                    step()
                    self.path(source, target)
                    self.path(target, source)
        return self._links.get(name)

    # Measures

    def watch(self, now: float) -> None:
        """Notify the meters before a change, so that they can measure up to now."""
        for meter in self.meters:
            meter.advance(self, now)

    # Energy

    def read(self, host: int, now: float) -> None:
        """Bring the energy of a host up to date, at its current load."""
        if host >= 0 and self.has_energy and self._read_at[host] < now:
            self.energy[host] += self.watts(host) * (now - self._read_at[host])
            self._read_at[host] = now
            self._charged[host] = self.power[host].pstate

    def is_read(self, host: int, now: float) -> bool:
        """Whether the energy of a host is up to date."""
        return self._read_at[host] >= now

    def read_all(self, hosts: Iterable[int], now: float) -> int:
        """Bring the energy of hosts up to date, and return the number of hosts that were not up to date."""
        count = 0
        for host in hosts if self.has_energy else ():
            step()
            if self._read_at[host] < now:
                self.read(host, now)
                count += 1
        return count

    def read_task(self, task: ParallelTask, now: float) -> None:
        """Bring the energy of the hosts of a task up to date."""
        for host in task.hosts:
            self.read(host, now)

    def watts(self, host: int) -> float:
        """The power that a host draws now."""
        described = self.hosts[host]
        pstate = self._charged[host]
        watts = self._watts(host, pstate)
        speed = described.speeds[pstate]
        load = 1.0 if speed <= 0 else min(1.0, self.actions.load(host) / speed / described.cores)
        return watts.epsilon + load * (watts.max - watts.epsilon) if load > 0 else watts.idle

    def _watts(self, host: int, pstate: int) -> Watts:
        watts = self.hosts[host].watts
        assert watts is not None, "energy is only measured where all hosts have wattages"
        return watts[pstate]

    def least_watts(self) -> float:
        """The sum of all hosts' epsilon watts."""
        return sum([self._watts(host, self.power[host].pstate).epsilon for host in range(len(self.hosts))])

    # States

    def row(self, now: float) -> MachineStatesRow:
        """The number of hosts in each state."""
        counts = self.counts
        return MachineStatesRow(
            now,
            counts[_SLEEPING],
            counts[_SWITCHING_ON],
            counts[_SWITCHING_OFF],
            counts[_IDLE],
            counts[_COMPUTING],
        )

    def spent(self, state: int) -> float:
        """The host-seconds in a state, up to the last change of each host."""
        sum = 0.0, 0.0
        for spent in self._spent[state]:
            sum = plus(sum, spent)
        return sum[0]

    def put_spent(self, state: int, spent: list[tuple[float, float]]) -> None:
        """Set the host-seconds of each host in a state, each as a double and its remainder."""
        self._spent[state] = spent

    def begin_job(self, hosts: Iterable[int], now: float) -> None:
        """Start a job on these hosts."""
        for host in hosts:
            step()
            self._running[host] += 1
            if self._running[host] > 1:
                self.shares_hosts = True
            self._become(host, _COMPUTING, now)

    def end_job(self, hosts: Iterable[int], now: float) -> None:
        """End a job on these hosts."""
        for host in hosts:
            step()
            self._running[host] -= 1
            if self.corrected and self._running[host] == 0 and self.states[host] == _COMPUTING:
                self._become(host, _IDLE, now)

    def runs_job(self, host: int) -> bool:
        """Whether a job runs on this host."""
        return self._running[host] > 0

    def _become(self, host: int, state: int, now: float) -> None:
        states, since = self.states, self._since
        before = states[host]
        spent = self._spent[before]
        spent[host] = plus(spent[host], difference((now, 0.0), (since[host], 0.0)))
        since[host] = now
        if before != state:
            counts = self.counts
            counts[before] -= 1
            counts[state] += 1
            states[host] = state

    # Power states

    def set_pstate(self, host: int, pstate: int, now: float) -> None:
        """Change the power state of a host at once."""
        self.read(host, now)
        if self.meters:
            self.watch(now)
        described = self.hosts[host]
        self.power[host].change(pstate)
        self._charged[host] = pstate
        self.actions.change(host, described.speeds[pstate], described.cores * described.speeds[pstate])

    def begin_switch(self, host: int, target: int, now: float) -> int:
        """Begin to switch a host to a power state, and return the virtual power state of the switch."""
        power = self.power[host]
        virtual = power.begin(target)
        self._become(host, _STATES[power.power], now)
        return virtual

    def end_switch(self, host: int, target: int, now: float) -> None:
        """End the switch of a host to a power state."""
        power = self.power[host]
        power.end(target)
        self.set_pstate(host, target, now)
        self._become(host, _STATES[power.power], now)

    def pstate_rows(self, hosts: Iterable[int], pstate: int | None, now: float) -> list[PStateRow]:
        """Rows with the power states of hosts.

        Args:
            hosts: the hosts in ascending order.
            pstate: the power state in the rows of all hosts; None: the power state of each host.
            now: the time.
        """
        found: dict[int, list[int]] = {}
        for host in hosts:
            step()
            found.setdefault(self.power[host].pstate if pstate is None else pstate, []).append(host)
        return [PStateRow(now, intervals(members), number) for number, members in sorted(found.items())]


def intervals(hosts: Iterable[int]) -> str:
    """Ascending hosts as text: `0-3 8`."""
    parts: list[list[int]] = []
    for host in hosts:
        step()
        if parts and parts[-1][1] == host - 1:
            parts[-1][1] = host
        else:
            parts.append([host, host])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
