"""Amounts and names of hosts as PBS and Torque write them: sizes, spans of time, chunks, and the places of a job."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from batprotocol.sites.logs.managers.making import amount_of

__all__ = ["Amounts", "asked_of", "given_of", "size_of", "span_of"]

_SIZE: Final = re.compile(r"([0-9]{1,18})([kmgtp]?)([bw]?)", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_WORD: Final = 8
_LARGEST: Final = 2**53
_LONGEST: Final = 20_000  # characters of a text whose amounts are kept
_SPAN: Final = re.compile(r"(?:(?:(?:([0-9]{1,6}):)?([0-9]{1,6}):)?([0-9]{1,8}):)?([0-9]{1,12})", re.ASCII)
_PLACE: Final = re.compile(r"([^\s/:+=()*]{1,300})(?:/([0-9,-]{1,4000}))?(?:\*([0-9]{1,6}))?", re.ASCII)
_VNODE: Final = re.compile(r"([^\s/:+=()\[\]]{1,300})(?:\[[0-9]{1,9}\])?", re.ASCII)
_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", re.ASCII)
_LIST: Final = "Resource_List."


class Amounts(NamedTuple):
    """The amounts that a job asks for, or has.

    Attributes:
        names: the names of its hosts.
        hosts: the number of its hosts; None: not known, as are the others.
        cores: its cores.
        memory: its memory in bytes.
        gpus: its GPUs.
    """

    names: tuple[str, ...] = ()
    hosts: int | None = None
    cores: int | None = None
    memory: int | None = None
    gpus: int | None = None


@lru_cache(8192)
def size_of(text: str) -> int:
    """An amount of memory in bytes. `w` counts words of 8 bytes.

    >>> size_of("10gb"), size_of("131900072kb"), size_of("2W")
    (10737418240, 135065673728, 16)

    Raises:
        ValueError: the text is no size.
    """
    found = _SIZE.fullmatch(text)
    size = _LARGEST if found is None else int(found[1]) * _UNITS[found[2].lower()]
    if found is None or size >= _LARGEST:
        raise ValueError(text)
    return size * (_WORD if found[3].lower() == "w" else 1)


@lru_cache(8192)
def span_of(text: str) -> float | None:
    """A span of time in seconds, as `[[DD:]HH:]MM:SS` or seconds; None if it is 0 or empty.

    >>> span_of("01:00:00"), span_of("1:00:00:00"), span_of("90"), span_of("")
    (3600.0, 86400.0, 90.0, None)

    Raises:
        ValueError: the text is no span.
    """
    if not text:
        return None
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return days * 86400.0 + hours * 3600 + minutes * 60 + seconds or None


def given_of(pairs: Mapping[str, str]) -> Amounts:
    """The amounts that a job has, of `exec_vnode`, `exec_host` and Torque's `total_execution_slots`.

    Raises:
        ValueError: a value cannot be read.
    """
    names, slots = _places(pairs.get("exec_host", ""))
    chunks = pairs.get("exec_vnode", "")
    if not chunks:
        return Amounts(names, len(names) or None, amount_of(pairs.get("total_execution_slots")) or slots)
    vnodes: dict[str, None] = {}
    total = [0, 0, 0]
    for chunk in chunks.replace("(", "").replace(")", "").split("+"):
        name, _, rest = chunk.partition(":")
        vnode = _VNODE.fullmatch(name)
        if vnode is None:
            raise ValueError(chunks)
        vnodes[sys.intern(vnode[1])] = None
        for place, amount in enumerate(_resources(rest)):
            total[place] += amount or 0
    names = names or tuple(vnodes)
    cores, memory, gpus = total
    return Amounts(names, len(names), cores or None, memory or None, gpus or None)


def _places(text: str) -> tuple[tuple[str, ...], int | None]:
    """The hosts in `a/0*4+b/1` or Torque's `a/0-3,7+b/1`, with the number of their slots."""
    if not text:
        return (), None
    names: dict[str, None] = {}
    slots = 0
    for part in text.split("+"):
        found = _PLACE.fullmatch(part)
        if found is None:
            raise ValueError(text)
        names[sys.intern(found[1])] = None
        for piece in found[2].split(",") if found[2] else ("0",):
            numbers = _RANGE.fullmatch(piece)
            if numbers is None or int(numbers[2] or numbers[1]) < int(numbers[1]):
                raise ValueError(text)
            slots += (int(numbers[2] or numbers[1]) - int(numbers[1]) + 1) * int(found[3] or 1)
    return tuple(names), slots or None


def asked_of(pairs: Mapping[str, str]) -> Amounts:
    """The amounts that a job asks for: the totals in `Resource_List`, or the chunks of `select` or Torque's `nodes`.

    Raises:
        ValueError: a value cannot be read.
    """
    chunks = _chunks(pairs.get(f"{_LIST}select") or pairs.get(f"{_LIST}nodes") or "")
    memory = pairs.get(f"{_LIST}mem")
    return Amounts(
        hosts=amount_of(pairs.get(f"{_LIST}nodect")) or chunks.hosts,
        cores=amount_of(pairs.get(f"{_LIST}ncpus")) or chunks.cores or amount_of(pairs.get(f"{_LIST}procs")),
        memory=(size_of(memory) if memory else None) or chunks.memory,
        gpus=amount_of(pairs.get(f"{_LIST}ngpus")) or chunks.gpus,
    )


@lru_cache(1024)
def _chunks(text: str) -> Amounts:
    """The totals of chunks such as `2:ncpus=4:mem=1gb+1:ngpus=1`, or `2:ppn=4:gpus=1+node7:ppn=2`."""
    if not text:
        return Amounts()
    if len(text) > _LONGEST:
        raise ValueError(text)
    hosts = 0
    total = [0, 0, 0]
    for chunk in text.split("+"):
        first, _, rest = chunk.partition(":")
        is_count = first.isascii() and first.isdecimal() and len(first) <= len("999999")
        count = int(first) if is_count else 1
        hosts += count
        cores, memory, gpus = _resources(rest if is_count else chunk)
        for place, amount in enumerate((1 if cores is None else cores, memory or 0, gpus or 0)):
            total[place] += count * amount
    if max(total) > _LARGEST:
        raise ValueError(text)
    return Amounts((), hosts or None, total[0] or None, total[1] or None, total[2] or None)


@lru_cache(1024)
def _resources(text: str) -> tuple[int | None, int | None, int | None]:
    """The cores, memory and GPUs in `ncpus=4:mem=1gb:ngpus=1`. Others than these are passed over."""
    if len(text) > _LONGEST:
        raise ValueError(text)
    found: dict[str, str] = {}
    for part in text.split(":"):
        name, _, amount = part.partition("=")
        found[name] = amount
    memory = found.get("mem")
    return (
        _whole(found.get("ncpus", found.get("ppn"))),
        size_of(memory) if memory else None,
        _whole(found.get("ngpus", found.get("gpus"))),
    )


def _whole(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= len("999999999")):
        raise ValueError(text)
    return int(text)
