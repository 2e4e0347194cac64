"""The selection of a reader for a file that describes the nodes of a site."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.sites.logs.platforms.hosts import SiteHost
from batprotocol.sites.logs.platforms.pbs import hosts_of_pbs
from batprotocol.sites.logs.platforms.slurm import hosts_of_json, hosts_of_text
from batprotocol.sites.logs.platforms.slurm_conf import hosts_of_conf
from batprotocol.workloads.platform import natural_order

__all__ = ["read_hosts"]

_LARGEST: Final = 1 << 28
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
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InputError(f"expected at most {_LARGEST >> 20} MiB", file=name)
    text = data.decode("utf-8-sig", "replace")
    try:
        hosts = _hosts(text, name)
    except InputError as error:
        raise InputError(error.reason, error.path, file=error.file or name, line=error.line) from None
    if not hosts:
        raise InputError("there are no nodes in it", file=name)
    return sorted({host.name: host for host in hosts}.values(), key=lambda host: natural_order(host.name))


def _hosts(text: str, name: str) -> list[SiteHost]:
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
