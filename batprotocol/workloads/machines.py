"""Roles, the master, ids and power of the hosts of a platform.

Batsim derives them from properties and from its own options after it has read a platform.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.workloads.configuration import PlatformConfiguration
from batprotocol.workloads.electricity.hosts import Watts, read_sleep_pstates, read_watts, read_watts_off
from batprotocol.workloads.hosts import Host, Role
from batprotocol.workloads.platform import Platform
from batprotocol.workloads.workload import Workload
from batprotocol.workloads.zones import ZoneMember

__all__ = ["DEFAULT_MASTER", "HOST_LIMIT", "DescribedHost", "made_platform", "natural_order", "platform_for"]

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
    if all(isinstance(profile, DelayProfile) for profile in profiles):
        return Platform.homogeneous(size, bandwidth=math.inf, latency=0.0)
    return Platform.homogeneous(size)


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
    masters: list[Host] = []
    computing: list[Host] = []
    storing: list[Host] = []
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


def _made(host: DescribedHost, given: str, energy: bool) -> Host:
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
    made = Host(
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
