"""Platforms from a few lines: `n[0-63] cores=64 memory=256G gres=gpu:a100:4 features=ib partitions=batch,debug`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from batprotocol.errors import InputError, shown
from batprotocol.model import Host as ModelHost
from batprotocol.model import HostProperty
from batprotocol.workloads.electricity.hosts import read_watts
from batprotocol.workloads.hosts import Host, Role
from batprotocol.workloads.platform import Platform
from batprotocol.workloads.requests import expanded_names, read_offer
from batprotocol.workloads.requests.keys import HOST_KEYS
from batprotocol.workloads.units import parse_speed
from batprotocol.workloads.zones import ClusterZone

__all__ = ["described_platform", "read_described"]

_MOST: Final = 100_000
_MOST_BYTES: Final = 1 << 26


def described_platform(lines: str | Iterable[str], *, limit: int = _MOST) -> Platform:
    """A platform of hosts that a few lines describe. There is no network, so messages take no time.

    Args:
        lines: one line for each kind of hosts: names with ranges in brackets, then `KEY=VALUE`. The keys are those of
            `batprotocol.workloads.requests` (`cores`, `memory`, `gres`, `features`, `partitions`, `weight`), `speed`
            (flops per second of a core, such as `2Gf`; by default 1Gf) and any other property. A text may have several
            lines, or `;`.
        limit: the most hosts.

    >>> platform = described_platform("n[0-3] cores=8 memory=32G; g0 cores=16 gres=gpu:2 partitions=gpu")
    >>> [(host.name, host.cores) for host in platform.hosts]
    [('n0', 8), ('n1', 8), ('n2', 8), ('n3', 8), ('g0', 16)]

    Raises:
        InputError: a line cannot be read, or describes no host that there can be; with its number. Or a text has no
            line with hosts.
    """
    texts = re.split("[;\n]", lines) if isinstance(lines, str) else list(lines)
    hosts: list[Host] = []
    for number, text in enumerate(texts, 1):
        if text.split("#")[0].strip():
            try:
                hosts += _hosts_of(text.split("#")[0], len(hosts), limit - len(hosts))
            except InputError as error:
                raise InputError(error.reason, error.path, line=number) from None
    if isinstance(lines, str) and not hosts:
        raise InputError(f"expected hosts such as 'n[0-63] cores=64', got {shown(lines)}")
    names = [host.name for host in hosts]
    for name, count in Counter(["master_host", *names]).items():
        if count > 1:
            raise InputError(f"expected names that differ, got {shown(name)} twice")
    return _platform_of(hosts)


def read_described(stream: BinaryIO, *, mmax: int | None, energy: bool, host_limit: int, filename: str) -> Platform:
    """The platform of a file with such lines. `read_platform` has the meaning of the arguments.

    Raises:
        InputError: the file is not such lines, or has not what is asked for; with its name.
    """
    try:
        text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InputError(f"expected at most {_MOST_BYTES >> 20} MiB")
        made = described_platform(text.decode(), limit=host_limit)
        if energy and any(host.watts is None for host in made.hosts):
            raise InputError("to measure energy, add wattage_per_state to each line, or give typical watts")
        if mmax is not None and not 0 < mmax <= len(made.hosts):
            raise InputError(f"cannot compute on {mmax} hosts: the platform has {len(made.hosts)}")
    except UnicodeDecodeError:
        raise InputError("expected text in UTF-8", file=filename) from None
    except InputError as error:
        raise InputError(error.reason, error.path, file=filename, line=error.line) from None
    return _platform_of(made.hosts[:mmax], filename)


def _platform_of(hosts: Sequence[Host], filename: str = "") -> Platform:
    """The platform of hosts with different names."""
    names = [host.name for host in hosts]
    zone = ClusterZone("cluster")
    members = {name: zone.add(name) for name in ("master_host", *names)}
    master = Host(id=-1, name="master_host", speeds=(1e9,), role=Role.MASTER)
    return Platform(hosts, master, members, filename=filename)


def _hosts_of(text: str, first: int, limit: int) -> list[Host]:
    pattern, *words = text.split()
    names = expanded_names(pattern, max(limit, 1))
    properties: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (equals and value and key.isidentifier()):
            raise InputError(f"expected KEY=VALUE such as cores=64, got {shown(word)}", pattern)
        if key in properties:
            raise InputError(f"expected each key once, got {key} twice", pattern)
        properties[key] = value
    speed = parse_speed(properties.pop("speed", "1Gf"))
    if not speed > 0:
        raise InputError(f"expected a speed > 0, got {speed:g}", pattern)
    given = tuple(properties.items())
    sample = ModelHost(
        id=0,
        name=pattern,
        computation_speed=(speed,),
        properties=[HostProperty(key, value) for key, value in given if key in HOST_KEYS],
    )
    cores = read_offer(sample).cores
    watts = read_watts(properties, 1)
    return [
        Host(id=first + place, name=name, speeds=(speed,), cores=cores, properties=given, watts=watts)
        for place, name in enumerate(names)
    ]
