"""Amounts in Slurm's accounting: numbers, memory, trackable resources (TRES), exit codes, and names of hosts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.sites.logs.slurm.times import NOTHING
from batprotocol.sites.slurm.texts import amount, tres
from batprotocol.workloads.requests.notation import expanded_names, parse_memory

__all__ = [
    "NO_HOSTS",
    "Amounts",
    "HostNames",
    "Resources",
    "amounts_of",
    "asked_memory_of",
    "codes_of",
    "count_of",
    "memory_of",
    "resources_of",
]

NO_HOSTS: Final = frozenset({"None assigned", "(null)", "None", "Unknown", "N/A"})
"""The words for the hosts of a job that never started."""

_MOST: Final = 1_000_000
"""The most hosts in lists that are kept, so that lists that come again need not be read again."""
_MOST_NAMES: Final = 200_000
"""The most different names of hosts that are kept."""

_CODES: Final = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?", re.ASCII)
_GRES: Final = "gres/"


@lru_cache(8192)
def count_of(text: str) -> int | None:
    """A number, or None if the text says that there is none.

    Raises:
        ValueError: the text is no number.
    """
    return None if text in NOTHING and text != "0" else amount(text)


@lru_cache(256)
def codes_of(text: str) -> tuple[int | None, int | None]:
    """An exit code and a signal, as in `0:9`.

    Raises:
        ValueError: the text is neither this nor empty.
    """
    if text in ("", "None"):
        return None, None
    found = _CODES.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found[1]), int(found[2]) if found[2] else None


class Resources(NamedTuple):
    """What a text of trackable resources has.

    Attributes:
        cores: cores; None if it has none. So are the others.
        memory: bytes.
        hosts: the number of hosts.
        gres: generic resources, as pairs of a name such as `gpu` or `gpu:a100`, and a number.
    """

    cores: int | None = None
    memory: int | None = None
    hosts: int | None = None
    gres: tuple[tuple[str, int], ...] = ()


@lru_cache(8192)
def resources_of(text: str) -> Resources:
    """Read trackable resources, such as `cpu=2,mem=1000M,node=1,gres/gpu:a100=2`. Others than these are passed over.

    Raises:
        ValueError: the text is no list of resources.
    """
    found = tres(text)
    gres = {name[len(_GRES) :]: count_of(count) or 0 for name, count in found.items() if name.startswith(_GRES)}
    return Resources(
        count_of(found.get("cpu", "")),
        memory_of(found.get("mem", "")),
        count_of(found.get("node", "")),
        tuple(sorted((name, count) for name, count in gres.items() if name and count)),
    )


@lru_cache(8192)
def memory_of(text: str) -> int | None:
    """Memory in bytes; None if there is none, or all of the hosts.

    Raises:
        ValueError: the text is no amount of memory.
    """
    if text in NOTHING:
        return None
    try:
        return parse_memory(text) or None
    except InputError:
        raise ValueError(text) from None


def asked_memory_of(text: str) -> int | None:
    """The memory in `4Gn` or `2000Mc`, as older versions have it: of a host, or of a core.

    Raises:
        ValueError: the text is no amount of memory.
    """
    return memory_of(text[:-1] if text[-1:] in ("n", "c") else text)


class Amounts(NamedTuple):
    """What a job got, and what it asked for; None where the log does not have it.

    Attributes:
        hosts: the number of its hosts.
        waiting: the number of hosts that it waits for, at least 1.
        cores: its cores.
        memory: its memory in bytes.
        gres: its generic resources.
        asked_hosts: the number of hosts that it asked for.
        asked_cores: the cores that it asked for.
        asked_memory: the memory that it asked for.
        asked_gres: the generic resources that it asked for.
    """

    hosts: int | None
    waiting: int
    cores: int | None
    memory: int | None
    gres: tuple[tuple[str, int], ...]
    asked_hosts: int | None
    asked_cores: int | None
    asked_memory: int | None
    asked_gres: tuple[tuple[str, int], ...]


@lru_cache(8192)
def amounts_of(
    given: str, asked: str, hosts: str, asked_hosts: str, cores: str, asked_cores: str, asked_memory: str
) -> Amounts:
    """The amounts of a job, of sacct's columns `AllocTRES`, `ReqTRES`, `NNodes`, `ReqNodes`, `AllocCPUS`, `ReqCPUS` and
    `ReqMem`. The columns of a kind of their own come before the trackable resources.

    Raises:
        ValueError: a text cannot be read.
    """
    got, wanted = resources_of(given), resources_of(asked)
    host_count, wanted_hosts = count_of(hosts) or got.hosts, count_of(asked_hosts) or wanted.hosts
    core_count, wanted_cores = count_of(cores) or got.cores, count_of(asked_cores) or wanted.cores
    memory = wanted.memory
    if memory is None and (each := asked_memory_of(asked_memory)):
        parts = {"n": host_count or wanted_hosts, "c": core_count or wanted_cores}.get(asked_memory[-1:])
        memory = each * (parts or 1)
    return Amounts(
        hosts=host_count,
        waiting=wanted_hosts or host_count or 1,
        cores=core_count,
        memory=got.memory,
        gres=got.gres,
        asked_hosts=wanted_hosts,
        asked_cores=wanted_cores,
        asked_memory=memory,
        asked_gres=wanted.gres,
    )


class HostNames:
    """Reads names of hosts, and keeps what it has read. Equal names are one object, as logs have them very often."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, str] = {}
        self._kept = 0

    def of(self, text: str) -> tuple[str, ...]:
        """The names that a text stands for.

        Raises:
            ValueError: the text cannot be read, or stands for too many names.
        """
        found = self._lists.get(text)
        return self._new(text) if found is None else found

    def _new(self, text: str) -> tuple[str, ...]:
        try:
            names = expanded_names(text)
        except InputError:
            raise ValueError(text) from None
        same = self._names.setdefault
        found = tuple([same(name, name) for name in names])
        self._kept += len(found) + 8  # the text takes memory, too
        if self._kept > _MOST or len(self._names) > _MOST_NAMES:
            self._lists.clear()
            self._names.clear()
            self._kept = 0
        self._lists[text] = found
        return found
