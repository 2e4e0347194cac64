"""The platform of a site: as its resource manager describes its nodes, or the smallest one that its log fits on.

The content of a file shows whether it is the output of `scontrol show node` (also `--json`), slurm.conf, or the output
of `pbsnodes -F json`. Hosts are written as the lines of `described_platform`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.managers.pbs import size_of
from batprotocol.sites.logs.surveys import Survey
from batprotocol.sites.logs.workloads import Unit
from batprotocol.sites.slurm.configuration import NodeLine, machine_of
from batprotocol.sites.slurm.texts import NOTHING, gres, json_number, keyed
from batprotocol.workloads.platform import natural_order
from batprotocol.workloads.requests import folded_names
from batprotocol.workloads.requests.notation import memory_text, parse_count

__all__ = [
    "MOST_HOSTS",
    "SiteHost",
    "check_words",
    "checked",
    "host_of_text",
    "hosts_of_conf",
    "hosts_of_json",
    "hosts_of_pbs",
    "hosts_of_text",
    "is_name",
    "is_word",
    "platform_lines",
    "read_hosts",
    "smallest_hosts",
]


_NAME: Final = re.compile(r"[^\s\[\],;#=]{1,255}")
_WORD: Final = re.compile(r"[^\s;#=,]{1,255}")
_LARGEST: Final = 2**53
MOST_HOSTS: Final = 1_000_000
"""The most hosts of a machine."""
_MOST_IN_A_LINE: Final = 5_000


class SiteHost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A host of a site.

    Attributes:
        name: its name.
        cores: the cores that jobs can have, at least 1.
        memory: the memory that jobs can have, in bytes; 0 if it is not known.
        gres: its generic resources, such as `(("gpu:a100", 4),)`.
        features: the features that constraints can name.
        partitions: the partitions that it belongs to; empty: all.
        weight: hosts with a smaller weight are allocated first.
    """

    name: str
    cores: int = 1
    memory: int = 0
    gres: tuple[tuple[str, int], ...] = ()
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    weight: int = 1


def is_name(name: str) -> bool:
    """Whether a platform can have a host of this name.

    >>> is_name("n1"), is_name("n[1]"), is_name("")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def is_word(text: str) -> bool:
    """Whether a platform can have a feature or a partition of this name.

    >>> is_word("ib"), is_word("a b"), is_word("")
    (True, False, False)
    """
    return _WORD.fullmatch(text) is not None


def check_words(place: str, words: Iterable[str]) -> None:
    """Check the names of features or partitions.

    Raises:
        InputError: a platform cannot have one of them; `path` is the given place.
    """
    for word in words:
        if not is_word(word):
            raise InputError(f"expected a name that has no spaces and none of the signs ;#=, got {shown(word)}", place)


def checked(host: SiteHost) -> SiteHost:
    """A host whose name and values a platform can have.

    Raises:
        InputError: a value is none that a platform can have; `path` is the value.
    """
    if not is_name(host.name):
        raise InputError(f"expected the name of a host, got {shown(host.name)}", "name")
    check_words("features", host.features)
    check_words("partitions", host.partitions)
    for place, amount in (("cores", host.cores), ("memory", host.memory), ("weight", host.weight), *host.gres):
        if amount > _LARGEST:
            raise InputError(f"expected at most {_LARGEST:,}, got {shown(amount)}", place)
    return host


def platform_lines(hosts: Iterable[SiteHost]) -> list[str]:
    """The lines of `described_platform` for hosts, in their order. Equal hosts one after another share a line.

    >>> platform_lines([SiteHost(name=f"n{number}", cores=8, memory=2**30) for number in range(4)])
    ['n[0-3] cores=8 memory=1G']

    Raises:
        InputError: a name cannot be the name of a host.
    """
    return list(_lines(hosts))


def _lines(hosts: Iterable[SiteHost]) -> Iterator[str]:
    for offer, equal in groupby(hosts, key=_offer):
        names = [host.name for host in equal]
        for name in names:
            if not is_name(name):
                raise InputError(f"expected the name of a host, got {shown(name)}")
        for place in range(0, len(names), _MOST_IN_A_LINE):
            yield folded_names(names[place : place + _MOST_IN_A_LINE]) + offer


def _offer(host: SiteHost) -> str:
    """The offer of a host, as the words behind its name."""
    words = [
        f"cores={host.cores}",
        f"memory={memory_text(host.memory)}" if host.memory else "",
        f"gres={','.join(f'{name}:{count}' for name, count in host.gres)}" if host.gres else "",
        f"features={','.join(host.features)}" if host.features else "",
        f"partitions={','.join(host.partitions)}" if host.partitions else "",
        f"weight={host.weight}" if host.weight != 1 else "",
    ]
    return "".join(f" {word}" for word in words if word)


# PBS: `pbsnodes -a -F json`


def hosts_of_pbs(nodes: Mapping[str, Any]) -> Iterator[SiteHost]:
    """The nodes of the output of `pbsnodes -F json`: its object `nodes`.

    Raises:
        InputError: a node has a value that it cannot have; with its place.
    """
    for name, node in nodes.items():
        offer = node.get("resources_available") if isinstance(node, dict) else None
        if not isinstance(offer, dict):
            raise InputError(f"expected a node with resources_available, got {shown(node)}", f"nodes.{name}")
        try:
            queue = node.get("queue")
            host = SiteHost(
                name=name,
                cores=max(_count(offer, "ncpus"), 1),
                memory=_memory(offer.get("mem", 0)),
                gres=(("gpu", gpus),) if (gpus := _count(offer, "ngpus")) else (),
                partitions=(queue,) if isinstance(queue, str) and queue else (),
            )
            yield checked(host)
        except InputError as error:
            raise InputError(error.reason, f"nodes.{name}.resources_available.{error.path}") from None


def _count(offer: Mapping[str, Any], key: str) -> int:
    try:
        return parse_count(offer.get(key, 0))
    except InputError as error:
        raise InputError(error.reason, key) from None


def _memory(value: Any) -> int:
    """An amount of memory in bytes, as PBS writes it: `131900072kb`."""
    try:
        return size_of(str(value)) if not isinstance(value, bool) else size_of("")
    except ValueError:
        raise InputError(f"expected memory such as '64gb', got {shown(value)}", "mem") from None


# Slurm: `scontrol show node`, as text (also with `-o`) or as JSON


_MEBI: Final = 2**20


def hosts_of_text(text: str) -> Iterator[SiteHost]:
    """The nodes of the output of `scontrol show node`.

    >>> list(hosts_of_text("NodeName=n0 CPUTot=8 RealMemory=1024 Gres=gpu:2 Partitions=a,b Weight=1"))[0].partitions
    ('a', 'b')

    Raises:
        InputError: a node has a value that it cannot have; with the line.
    """
    values: dict[str, str] = {}
    begin = 1
    for number, line in enumerate(text.splitlines(), 1):
        for name, value in keyed(line):
            key = name.lower()
            if key == "nodename":
                if values:
                    yield host_of_text(values, begin)
                values, begin = {}, number
            values[key] = value
    if "nodename" in values:
        yield host_of_text(values, begin)


def host_of_text(values: Mapping[str, str], line: int) -> SiteHost:
    """A node, by its keys in small letters."""
    name = values.get("nodename", "")
    try:
        cores = _count_of(values, "cpuefctv") or _count_of(values, "cputot") or 1
        memory = max(_count_of(values, "realmemory") - _count_of(values, "memspeclimit"), 0)
        features = values.get("activefeatures", values.get("availablefeatures", ""))
        return checked(
            SiteHost(
                name=name,
                cores=cores,
                memory=memory * _MEBI,
                gres=_gres_of(values.get("gres", "")),
                features=_names(features),
                partitions=_names(values.get("partitions", "")),
                weight=_count_of(values, "weight", 1),
            )
        )
    except InputError as error:
        raise InputError(error.reason, f"node {name}: {error.path}", line=line) from None


def _count_of(values: Mapping[str, str], key: str, default: int = 0) -> int:
    """A whole number, or the default if there is none."""
    text = values.get(key, "")
    if text in NOTHING:
        return default
    try:
        return parse_count(text)
    except InputError as error:
        raise InputError(error.reason, key) from None


def _names(text: str) -> tuple[str, ...]:
    return () if text in NOTHING else tuple(filter(None, (each.strip() for each in text.split(","))))


def _gres_of(text: str) -> tuple[tuple[str, int], ...]:
    """Generic resources as a node has them, `gpu:a100:4(S:0-1),fpga:1`."""
    try:
        return gres(text)
    except InputError as error:
        raise InputError(error.reason, "gres") from None


def hosts_of_json(nodes: list[Any]) -> Iterator[SiteHost]:
    """The nodes of the output of `scontrol show node --json`: its list `nodes`.

    Raises:
        InputError: a node has a value that it cannot have; with its place.
    """
    for place, node in enumerate(nodes):
        try:
            yield _host_of_json(node)
        except InputError as error:
            raise InputError(error.reason, f"nodes[{place}].{error.path}".rstrip(".")) from None


def _host_of_json(node: Any) -> SiteHost:
    name = node.get("name") if isinstance(node, dict) else None
    if not isinstance(name, str):
        raise InputError(f"expected a node with a name, got {shown(node)}")
    cores = _number(node, "effective_cpus") or _number(node, "cpus") or 1
    memory = max(_number(node, "real_memory") - _number(node, "specialized_memory"), 0)
    gres = node.get("gres")
    features = _listed(node, "active_features") or _listed(node, "features")
    return checked(
        SiteHost(
            name=name,
            cores=cores,
            memory=memory * _MEBI,
            gres=_gres_of(gres) if isinstance(gres, str) else (),
            features=features,
            partitions=_listed(node, "partitions"),
            weight=_number(node, "weight", 1),
        )
    )


def _number(node: Mapping[str, Any], key: str, default: int = 0) -> int:
    """A whole number, which newer versions write as `{"set": true, "number": 3}`."""
    value = json_number(node.get(key))
    if value is None or value == math.inf:
        return default
    try:
        return parse_count(value)
    except InputError as error:
        raise InputError(error.reason, key) from None


def _listed(node: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Names, as a list or with commas between them."""
    value = node.get(key)
    if isinstance(value, str):
        return _names(value)
    return tuple(each for each in value if isinstance(each, str) and each) if isinstance(value, list) else ()


# Slurm: slurm.conf


def hosts_of_conf(text: str, *, file: str = "slurm.conf", folder: str | None = None) -> list[SiteHost]:
    """The nodes of a slurm.conf, with the partitions that they belong to.

    Args:
        text: the text of the file.
        file: the name of the file, for errors.
        folder: the folder of the file, where included files are; None: it may include none.

    >>> hosts_of_conf("NodeName=n[0-1] CPUs=4\\nPartitionName=p Nodes=ALL")[1].partitions
    ('p',)

    Raises:
        InputError: a line of nodes or partitions has a value that it cannot have; with file and line. Other parameters
            may have any value.
    """
    nodes, found = machine_of(text, file=file, folder=folder)
    partitions: dict[str, list[str]] = {node.name: [] for node in nodes}
    for partition in found:
        for name in partition.nodes:
            partitions[name].append(partition.name)
    return [msgspec.structs.replace(_host_of_conf(node), partitions=tuple(partitions[node.name])) for node in nodes]


def _host_of_conf(node: NodeLine) -> SiteHost:
    """A node as a host. The smallest memory, which Slurm assumes of nodes without one, is not known here."""
    memory = max(node.memory - node.memory_reserved, 0) if node.memory > 1 else 0
    return checked(
        SiteHost(
            name=node.name,
            cores=max(node.cpus - node.cores_reserved * node.threads_per_core, 1),
            memory=memory * _MEBI,
            gres=node.gres,
            features=node.features,
            weight=node.weight,
        )
    )


# The smallest machine that the jobs of a log fit on, as they ran


_RESOURCE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?")


def smallest_hosts(survey: Survey, unit: Unit) -> list[SiteHost]:
    """The hosts of the smallest machine that has place for all jobs of a log, at the times at which they ran.

    If the log has the names of hosts, these are the hosts: each with the most cores, memory and generic resources that
    jobs had of it at the same time. Otherwise, the hosts `h0`, `h1`... are as many as were in use at the same time; or
    cores `c0`, `c1`... if the jobs ask for cores. A host is in the partitions of the jobs that ran on it. A name that a
    platform cannot have is left out.

    Args:
        survey: what `survey_of` found in the log.
        unit: what the jobs ask for.

    Raises:
        InputError: the machine would have more than a million hosts without names.
    """
    return list(_smallest(survey, unit))


def _smallest(survey: Survey, unit: Unit) -> Iterator[SiteHost]:
    partitions = {name: hosts for name, hosts in survey.partitions.items() if is_word(name)}
    if unit == "cores" or not survey.hosts:
        count = max(survey.peak_cores, survey.peak_hosts) if unit == "cores" else survey.peak_hosts
        cores = 1 if unit == "cores" else max(survey.most_cores, 1)
        if count > MOST_HOSTS:
            raise InputError(f"the jobs of the log need {count:,} hosts at one time, and the limit is {MOST_HOSTS:,}")
        for number in range(count):
            yield SiteHost(name=f"{'c' if unit == 'cores' else 'h'}{number}", cores=cores, partitions=tuple(partitions))
        return
    for name, peak in survey.hosts.items():
        if is_name(name):
            yield SiteHost(
                name=name,
                cores=max(peak.cores, 1),
                memory=peak.memory,
                gres=tuple((kind, count) for kind, count in peak.gres if _RESOURCE.fullmatch(kind)),
                partitions=tuple(partition for partition, hosts in partitions.items() if name in hosts),
            )


# Any of these files


_LARGEST_FILE: Final = 1 << 28
_CONF: Final = re.compile(r"(?mi)^[ \t]*(?:NodeName[ \t]*=|include[ \t]+\S)")
_ONLY_SCONTROL: Final = "CPUTot="
_EXPECTED: Final = "the output of scontrol show node, slurm.conf, or the output of pbsnodes -F json"


def read_hosts(path: str | os.PathLike[str]) -> list[SiteHost]:
    """The hosts of a site, from a file that its resource manager wrote.

    The content of the file shows what it is: the output of `scontrol show node`, also with `-o` or `--json`;
    slurm.conf; or the output of `pbsnodes -a -F json`.

    Args:
        path: the file.

    Returns:
        the hosts in the order in which Batsim numbers hosts: `n2` before `n10`.

    Raises:
        InputError: the file is none of these, or a node has a value that it cannot have; with file and place.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise InputError(f"expected at most {_LARGEST_FILE >> 20} MiB", file=name)
    text = data.decode("utf-8-sig", "replace")
    try:
        hosts = _read(text, name)
    except InputError as error:
        raise InputError(error.reason, error.path, file=error.file or name, line=error.line) from None
    if not hosts:
        raise InputError("there are no nodes in it", file=name)
    return sorted({host.name: host for host in hosts}.values(), key=lambda host: natural_order(host.name))


def _read(text: str, name: str) -> list[SiteHost]:
    if text.lstrip()[:1] in ("{", "["):
        return _of_json(text)
    if _CONF.search(text):
        if _ONLY_SCONTROL in text:
            return list(hosts_of_text(text))
        return hosts_of_conf(text, file=name, folder=os.path.dirname(name))
    raise InputError(f"expected {_EXPECTED}")


def _of_json(text: str) -> list[SiteHost]:
    try:
        given: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"the JSON cannot be read: {error}") from None
    nodes = given.get("nodes") if isinstance(given, dict) else None
    if isinstance(nodes, list):
        return list(hosts_of_json(nodes))
    if isinstance(nodes, dict):
        return list(hosts_of_pbs(nodes))
    raise InputError(f"expected {_EXPECTED}: JSON with the key nodes")
