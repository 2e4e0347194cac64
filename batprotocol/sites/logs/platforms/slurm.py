"""The nodes of a Slurm cluster: the output of `scontrol show node`, as text (also with `-o`) or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.platforms.hosts import SiteHost, checked
from batprotocol.sites.slurm.texts import NOTHING, gres, json_number, keyed
from batprotocol.workloads.requests.notation import parse_count

__all__ = ["host_of_text", "hosts_of_json", "hosts_of_text"]

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
            yield _host(node)
        except InputError as error:
            raise InputError(error.reason, f"nodes[{place}].{error.path}".rstrip(".")) from None


def _host(node: Any) -> SiteHost:
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
