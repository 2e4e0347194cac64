"""Which of a platform's hosts do what, in which order: roles, the master, ids, what properties say of power.

Batsim decides that from properties and from its own options when it has read a platform.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.simulator.inputs.configuration import Configuration
from batprotocol.simulator.inputs.hosts import Host, Role, SleepPState, Watts
from batprotocol.simulator.inputs.platform import Platform
from batprotocol.simulator.inputs.workload import Workload
from batprotocol.simulator.inputs.zones import Member

__all__ = ["DEFAULT_MASTER", "HOST_LIMIT", "DescribedHost", "made_platform", "natural_order", "platform_for"]

HOST_LIMIT = 100_000
"""How many hosts the platform of a simulation has at most, unless told otherwise: they take a second and 200 MB."""

DEFAULT_MASTER = "master_host"
"""The host that is the master unless an option names another one or a host has the role."""

_USUAL = Configuration()

_RUNS = re.compile(rb"[0-9]+|[^0-9]")
_WATTS = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?", re.ASCII)
_PSTATE = re.compile(r"[0-9]{1,6}", re.ASCII)


class DescribedHost(NamedTuple):
    """A host as a file describes it, before roles are given and hosts are numbered."""

    name: str
    speeds: tuple[float, ...]
    cores: int
    pstate: int
    properties: Mapping[str, str]
    member: Member
    line: int | None = None


def natural_order(name: str) -> tuple[tuple[tuple[int, int], ...], bytes]:
    """What hosts are sorted by: names, but digits in a row count as one number; capitals come first.

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
    """As many equal hosts as workloads are made for.

    Where all jobs are delays, as those of logs are, there is no need of a network: messages take no time, so that what
    happens at one time is told at one time, as in simulators that have no messages.

    Args:
        workloads: at least one.
        hosts: how many there are, whatever the workloads are made for; None: as these say.
        mmax: how many hosts to keep, Batsim's option `--mmax`.
        host_limit: how many hosts there may be: a short file can be made for more than memory holds.

    Raises:
        InputError: a workload is made for more hosts than that.
    """
    largest = max(workloads, key=lambda workload: workload.resource_count)
    size = largest.resource_count if hosts is None else hosts
    size = size if mmax is None else min(size, mmax)
    if size > host_limit:
        text = f"it is made for {size} hosts, and the limit is {host_limit} (--host-limit, host_limit)"
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
    configuration: Configuration = _USUAL,
    filename: str = "",
) -> Platform:
    """The platform of these hosts.

    Args:
        described: the hosts.
        roles: (host, role) pairs beside the hosts' own property `role`.
        master: the host that becomes the master, if there is one of this name.
        mmax: how many computation hosts to keep, the first ones; None: all.
        energy: whether energy will be measured, for which every host needs the property `wattage_per_state`.
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
            f"exactly one host is the master, by its property role or by its name {shown(master)}; found {found}",
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
        raise InputError(
            f"{shown(named)} is no role; a host has one of {', '.join(role.value for role in Role)}", "role"
        )
    role = Role(named)
    sleep_pstates = _sleep_pstates(properties.get("sleep_pstates"), len(host.speeds))
    watts: tuple[Watts, ...] | None = None
    watts_off: float | None = None
    try:
        watts = _watts(_either(properties, "wattage_per_state", "watt_per_state"), len(host.speeds))
        off = _either(properties, "wattage_off", "watt_off")
        watts_off = None if off is None else _watt_number(off)
    except InputError:
        if energy:  # otherwise nobody looks at it, and a platform made for another purpose serves as well
            raise
    if energy and watts is None and role is not Role.MASTER:
        raise InputError("energy cannot be measured without the property wattage_per_state", "wattage_per_state")
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
        raise InputError("a host has at least one core", "core")
    if role is Role.COMPUTE:
        for pstate in sorted(made.computation_pstates):
            if not made.speeds[pstate] > 0:
                raise InputError(f"a computation host computes: the speed of power state {pstate} must be > 0", "speed")
    return made


def _either(properties: dict[str, str], name: str, older: str) -> str | None:
    """A property, which SimGrid called otherwise until 2021."""
    return properties.get(name, properties.get(older))


def _zone_properties(member: Member) -> dict[str, str]:
    properties: dict[str, str] = {}
    for zone in member.zone.path() if member.zone is not None else ():
        properties.update(zone.properties)
    return properties


def _watt_number(text: str) -> float:
    if not _WATTS.fullmatch(text.strip()) or not float(text) < math.inf:
        raise InputError(f"expected a number of watts, got {shown(text)}", "wattage_off")
    return float(text)


def _watts(text: str | None, pstates: int) -> tuple[Watts, ...] | None:
    """The property `wattage_per_state`: for each power state `idle:max` or `idle:epsilon:max`."""
    if text is None:
        return None
    states = []
    for part in text.split(","):
        numbers = [number.strip() for number in part.split(":")]
        if len(numbers) not in (2, 3) or not all(_WATTS.fullmatch(number) for number in numbers):
            raise InputError(f"expected idle:max or idle:epsilon:max, got {shown(part)}", "wattage_per_state")
        watts = [float(number) for number in numbers]
        if not max(watts) < math.inf:
            raise InputError(f"expected finite numbers of watts, got {shown(part)}", "wattage_per_state")
        states.append(Watts(watts[0], watts[-2], watts[-1]))
    if len(states) != pstates:
        raise InputError(f"it tells of {len(states)} power states, but there are {pstates}", "wattage_per_state")
    return tuple(states)


def _sleep_pstates(text: str | None, pstates: int) -> tuple[SleepPState, ...]:
    """The property `sleep_pstates`: a list of `sleep:off:on`."""
    if text is None:
        return ()
    found: list[SleepPState] = []
    for part in text.split(","):
        numbers = [number.strip() for number in part.split(":")]
        if len(numbers) != 3 or not all(map(_PSTATE.fullmatch, numbers)):
            raise InputError(f"expected sleep:off:on, three power states, got {shown(part)}", "sleep_pstates")
        state = SleepPState(*map(int, numbers))
        missing = [number for number in map(int, numbers) if number >= pstates]
        if missing:
            raise InputError(f"there is no power state {missing[0]}; there are {pstates}", "sleep_pstates")
        found.append(state)
    sleeping = [state.sleep for state in found]
    virtual = {number for state in found for number in (state.switching_off, state.switching_on)}
    for number in sleeping:
        if sleeping.count(number) > 1 or number in virtual:
            raise InputError(f"power state {number} is a sleep state twice, or a virtual one as well", "sleep_pstates")
    return tuple(found)
