"""The nodes of a PBS cluster: the output of `pbsnodes -a -F json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.pbs.resources import size_of
from batprotocol.sites.logs.platforms.hosts import SiteHost, checked
from batprotocol.workloads.requests.notation import parse_count

__all__ = ["hosts_of_pbs"]


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
