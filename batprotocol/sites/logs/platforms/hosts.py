"""Hosts as a site describes them, and their lines for `described_platform`.

It must not know where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.workloads.requests import folded_names
from batprotocol.workloads.requests.notation import memory_text

__all__ = ["MOST_GRES", "MOST_HOSTS", "SiteHost", "check_words", "checked", "is_name", "is_word", "platform_lines"]

_NAME: Final = re.compile(r"[^\s\[\],;#=]{1,255}")
_WORD: Final = re.compile(r"[^\s;#=,]{1,255}")
_LARGEST: Final = 2**53
MOST_GRES: Final = 999_999_999
"""The most generic resources of a kind that a host can have."""
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
    amounts = (("cores", host.cores), ("memory", host.memory), ("weight", host.weight))
    for place, amount, most in (*((*each, _LARGEST) for each in amounts), *((*each, MOST_GRES) for each in host.gres)):
        if amount > most:
            raise InputError(f"expected at most {most:,}, got {shown(amount)}", place)
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
