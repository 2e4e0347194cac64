"""The nodes of a slurm.conf: its lines `NodeName=`, `NodeSet=` and `PartitionName=`, with their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.history.platforms.hosts import SiteHost, check_words, checked
from batprotocol.history.platforms.slurm import count_of, gres_of, words_of
from batprotocol.requests import expanded_names

__all__ = ["hosts_of_conf"]

_KINDS: Final = ("nodename", "nodeset", "partitionname")
_MEBI: Final = 2**20
_MOST_NAMES: Final = 1_000_000
"""The names that all lines may stand for together: a short file can stand for very many."""


def hosts_of_conf(text: str) -> list[SiteHost]:
    """The nodes of a slurm.conf, with the partitions that they belong to.

    >>> hosts_of_conf("NodeName=n[0-1] CPUs=4\\nPartitionName=p Nodes=ALL")[1].partitions
    ('p',)

    Raises:
        InputError: a line has a value that it cannot have; with the line.
    """
    hosts: dict[str, SiteHost] = {}
    names = _Names()
    partitions: list[tuple[str, str, int]] = []
    sets: dict[str, Mapping[str, str]] = {}
    defaults: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    for number, line in _lines(text):
        values = dict(words_of(line))
        kind = next((kind for kind in _KINDS if kind in values), None)
        if kind is None:
            continue
        if values[kind].upper() == "DEFAULT":
            defaults[kind] |= values
            continue
        values = {**defaults[kind], **values}
        try:
            if kind == "nodename":
                hosts |= {host.name: host for host in _hosts(values, names)}
            elif kind == "nodeset":
                sets[values[kind]] = values
            else:
                check_words("partitionname", [values[kind]])
                partitions.append((values[kind], values.get("nodes", ""), number))
        except InputError as error:
            raise InputError(error.reason, error.path, line=number) from None
    members: dict[str, list[str]] = {name: [] for name in hosts}
    for partition, nodes, number in partitions:
        try:
            for name in _members(nodes, hosts, sets, names):
                if name in members:
                    members[name].append(partition)
        except InputError as error:
            raise InputError(error.reason, f"partition {partition}", line=number) from None
    return [
        msgspec.structs.replace(host, partitions=tuple(dict.fromkeys(members[name]))) for name, host in hosts.items()
    ]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines with the numbers of their beginnings, without comments. A `\` at the end joins a line and the next."""
    joined, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin or number
        plain = line.split("#", 1)[0].rstrip()
        if plain.endswith("\\"):
            joined += plain[:-1] + " "
            continue
        yield begin, joined + plain
        joined, begin = "", 0
    if joined:
        yield begin, joined


class _Names:
    """Expands names, up to a limit for the whole file."""

    def __init__(self) -> None:
        self._left = _MOST_NAMES

    def of(self, text: str) -> list[str]:
        """The names that a text stands for."""
        found = expanded_names(text)
        self.count(len(found))
        return found

    def count(self, names: int) -> None:
        """Count names.

        Raises:
            InputError: there are too many.
        """
        self._left -= names
        if self._left < 0:
            raise InputError(f"the lines of the file stand for more than {_MOST_NAMES:,} names")


def _hosts(values: Mapping[str, str], names: _Names) -> Iterator[SiteHost]:
    cores = count_of(values, "cpus") or count_of(values, "procs")
    if not cores:
        sockets = count_of(values, "sockets") or count_of(values, "boards", 1) * count_of(values, "socketsperboard", 1)
        cores = sockets * count_of(values, "corespersocket", 1) * count_of(values, "threadspercore", 1)
    cores = max(cores - count_of(values, "corespeccount") * count_of(values, "threadspercore", 1), 1)
    memory = max(count_of(values, "realmemory") - count_of(values, "memspeclimit"), 0)
    features = values.get("features", values.get("feature", ""))
    sample = SiteHost(
        name="",
        cores=cores,
        memory=memory * _MEBI,
        gres=gres_of(values.get("gres", "")),
        features=tuple(filter(None, features.split(","))),
        weight=count_of(values, "weight", 1),
    )
    for name in names.of(values["nodename"]):
        yield checked(msgspec.structs.replace(sample, name=name))


def _members(
    nodes: str, hosts: Mapping[str, SiteHost], sets: Mapping[str, Mapping[str, str]], names: _Names
) -> Iterator[str]:
    """The names of the nodes of a partition, which may name sets of nodes."""
    for name in names.of(nodes) if nodes else ():
        if name.upper() == "ALL":
            names.count(len(hosts))
            yield from hosts
        elif name in sets:
            names.count(len(hosts))
            feature = sets[name].get("feature", "")
            yield from (host.name for host in hosts.values() if feature and feature in host.features)
            yield from names.of(sets[name]["nodes"]) if sets[name].get("nodes") else ()
        else:
            yield name
