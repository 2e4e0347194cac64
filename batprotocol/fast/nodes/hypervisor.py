"""Hypervisors in memory: the virtual machines of each host, their states, and the reasons to refuse an action.

Each action happens at once and completely, or not at all. It must not know of tasks, times, or any message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

__all__ = ["CPUMap", "Hypervisors", "Machine", "Refusal", "matching", "name_in"]

CPUMap: TypeAlias = tuple[tuple[int, ...], ...]

_OPEN: Final = "<name>"


class Refusal(Exception):
    """An impossible action; the text is for the details of the node's result. Nothing has changed."""


@dataclass(frozen=True)
class Machine:
    """A virtual machine that runs.

    Attributes:
        name: its name.
        vcpus: how many virtual CPUs it has.
        vcpu_map: for each of them, the CPUs of the host that it may run on; None for all.
        is_suspended: whether it gets no CPU time.
    """

    name: str
    vcpus: int = 1
    vcpu_map: CPUMap | None = None
    is_suspended: bool = False


def name_in(xml: str) -> str:
    """The name in libvirt's definition of a machine. Refusal if there is none.

    >>> name_in("<domain><name>vm1</name></domain>")
    'vm1'
    """
    name, end, _ = xml.partition(_OPEN)[2].partition("</name>")
    if not name or not end:
        raise Refusal("Could not find vm-name in xml.")
    return name


def matching(regex: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these names that the whole of a regular expression matches, in time linear in both.

    >>> matching("vm[0-9]+", ["vm1", "vm22", "other"])
    ('vm1', 'vm22')
    """
    try:
        import re2  # a peer writes the expression, and must not keep a node busy for ever
    except ImportError:
        sentence = f"regular expressions of peers need the package google-re2: {installing('fast')}"
        raise PackageMissing(sentence) from None
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(regex, options)
        return tuple(name for name in names if pattern.fullmatch(name))
    except (re2.error, UnicodeError) as error:
        raise Refusal(f"regex_error: {regex!r} cannot be read as a regular expression") from error


class Hypervisors:
    """The hosts of a cluster with the machines on them. All machines can be migrated from any host to any other.

    Args:
        hosts: the names of the hosts.
        cores: how many cores each of them has.

    >>> hypervisors = Hypervisors(["node-a", "node-b"])
    >>> hypervisors.start("node-a", Machine("vm1"))
    >>> hypervisors.migrate("node-a", "vm1", "node-b")
    >>> hypervisors.names("node-a"), hypervisors.names("node-b")
    ((), ('vm1',))
    """

    def __init__(self, hosts: Iterable[str], cores: int = 16) -> None:
        self.cores = cores
        self._hosts: dict[str, dict[str, Machine]] = {host: {} for host in hosts}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of the hosts."""
        return tuple(self._hosts)

    def names(self, host: str) -> tuple[str, ...]:
        """The machines on a host, in the order in which they came there."""
        return tuple(self._hosts[host])

    def machines(self, host: str) -> Mapping[str, Machine]:
        """The machines on a host by their names."""
        return dict(self._hosts[host])

    def host_of(self, name: str) -> str | None:
        """Where a machine is; None if it is nowhere."""
        return next((host for host, machines in self._hosts.items() if name in machines), None)

    def start(self, host: str, machine: Machine) -> None:
        """Let a machine run. Refusal if one of that name runs there, or its map is not one of its virtual CPUs."""
        if not machine.name:
            raise Refusal("Domain not found: no domain with matching name ''")
        if machine.name in self._hosts[host]:
            raise Refusal(f"Requested operation is not valid: domain '{machine.name}' is already running")
        self._hosts[host][machine.name] = self._pinned(machine, machine.vcpu_map)

    def stop(self, host: str, name: str) -> None:
        """Let a machine run no longer."""
        self._machine(host, name)
        del self._hosts[host][name]

    def suspend(self, host: str, name: str) -> None:
        """Give a machine no CPU time any more. One that has none stays as it is."""
        self._change(host, name, is_suspended=True)

    def resume(self, host: str, name: str) -> None:
        """Give a machine CPU time again."""
        if not self._machine(host, name).is_suspended:
            raise Refusal(f"Requested operation is not valid: domain '{name}' is already running")
        self._change(host, name, is_suspended=False)

    def repin(self, host: str, name: str, vcpu_map: CPUMap) -> None:
        """Let the virtual CPUs of a machine run on these cores."""
        self._hosts[host][name] = self._pinned(self._machine(host, name), vcpu_map)

    def migrate(
        self,
        host: str,
        name: str,
        destination: str,
        vcpu_map: CPUMap | None = None,
        swap_with: str | None = None,
        swap_map: CPUMap | None = None,
    ) -> None:
        """Bring a machine to another host, and maybe another one from there in its place."""
        self.check_migration(host, name, destination, swap_with)
        going = self._pinned(self._machine(host, name), vcpu_map)
        coming = None if swap_with is None else self._pinned(self._machine(destination, swap_with), swap_map)
        del self._hosts[host][name]
        if coming is not None:
            del self._hosts[destination][coming.name]
            self._hosts[host][coming.name] = coming
        self._hosts[destination][name] = going

    def check_migration(self, host: str, name: str, destination: str, swap_with: str | None = None) -> None:
        """Refusal where a migration cannot be."""
        self._machine(host, name)
        if destination not in self._hosts:
            raise Refusal(f"unable to connect to server at '{destination}': no such host")
        if destination == host:
            raise Refusal(f"Attempt to migrate domain '{name}' to the same host {host}")
        if swap_with is not None:
            self._machine(destination, swap_with)
        if name in self._hosts[destination] and name != swap_with:
            raise Refusal(f"operation failed: domain '{name}' already exists on {destination}")
        if swap_with is not None and swap_with in self._hosts[host] and swap_with != name:
            raise Refusal(f"operation failed: domain '{swap_with}' already exists on {host}")

    def spread(
        self, host: str, destinations: Sequence[str], *, compact: bool, overbooking: bool
    ) -> dict[str, str | None]:
        """The destination of each machine of a host, None if no destination has enough free cores.

        Args:
            host: the host.
            destinations: the hosts that may take them.
            compact: whether one destination is filled before the next, rather than all of them evenly.
            overbooking: whether they may get more than they have cores.
        """
        used = {each: self._used(each) for each in destinations if each in self._hosts}
        found: dict[str, str | None] = {}
        for machine in self._hosts[host].values():
            limit = float("inf") if overbooking and not compact else self.cores
            fitting = [each for each in used if used[each] + machine.vcpus <= limit]
            if overbooking and not fitting:
                fitting = list(used)[-1:]
            target = (fitting[0] if compact else min(fitting, key=used.__getitem__)) if fitting else None
            found[machine.name] = target
            if target is not None:
                used[target] += machine.vcpus
        return found

    def _used(self, host: str) -> int:
        return sum(machine.vcpus for machine in self._hosts[host].values())

    def _machine(self, host: str, name: str) -> Machine:
        machine = self._hosts[host].get(name)
        if machine is None:
            raise Refusal(f"Domain not found: no domain with matching name '{name}'")
        return machine

    def _change(self, host: str, name: str, **changes: Any) -> None:
        self._hosts[host][name] = replace(self._machine(host, name), **changes)

    def _pinned(self, machine: Machine, vcpu_map: CPUMap | None) -> Machine:
        if vcpu_map is None:
            return replace(machine, vcpu_map=None)
        if len(vcpu_map) != machine.vcpus:
            raise Refusal(f"invalid argument: {len(vcpu_map)} entries in the vcpu-map for {machine.vcpus} vcpus")
        if any(not cpus or max(cpus) >= self.cores for cpus in vcpu_map):
            raise Refusal(f"invalid argument: the vcpu-map names a CPU that is not one of {self.cores}")
        return replace(machine, vcpu_map=vcpu_map)
