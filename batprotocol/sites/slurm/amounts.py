"""The values of Slurm's parameters: times, weights of resources (TRES), flags and numbers, as texts that are read.

This module must not know the parameters. Each function raises `InputError` for a text that it cannot read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from batprotocol.errors import InputError, hint, shown

__all__ = [
    "NOTHING",
    "UNLIMITED",
    "flag",
    "gres",
    "listed",
    "minutes",
    "number_of",
    "one_of",
    "one_word",
    "real",
    "span",
    "weights",
    "whole",
    "words",
]

UNLIMITED: Final = frozenset({"UNLIMITED", "INFINITE", "-1"})
"""The words for no limit, in capital letters."""

NOTHING: Final = frozenset({"", "(null)", "N/A", "n/a", "None"})
"""The texts that Slurm writes for an absent value."""

_TIME: Final = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?", re.ASCII)
_WEIGHT: Final = re.compile(r"(-?(?:[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}))([KMGTP])?", re.ASCII | re.IGNORECASE)
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_REAL: Final = re.compile(r"-?(?:[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})", re.ASCII)
_RESOURCE: Final = re.compile(r"[A-Za-z][\w.-]{0,60}(?:/[\w.-]{1,60}(?::[\w.-]{1,60})?)?", re.ASCII)
_SOCKETS: Final = re.compile(r"\([^()]*\)")
_COUNT: Final = re.compile(r"([0-9]{1,12})([KMGTP]?)", re.ASCII | re.IGNORECASE)
_KIND: Final = re.compile(r"[A-Za-z_][\w.-]{0,100}(?::[A-Za-z_][\w.-]{0,100})?", re.ASCII)
_WORD: Final = re.compile(r"[^\s;#=,\[\]]{1,255}")
_MOST: Final = 2**53
_POWERS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_UNITS: Final = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_YES: Final = {"YES": True, "UP": True, "TRUE": True, "1": True, "NO": False, "DOWN": False, "FALSE": False, "0": False}


def span(text: str) -> float:
    """A time in seconds: minutes, `mm:ss`, `hh:mm:ss`, `d-hh`, `d-hh:mm` or `d-hh:mm:ss`; infinite if it is unlimited.

    >>> span("1-12:00:00"), span("30"), span("1:30:00"), span("UNLIMITED")
    (129600.0, 1800.0, 5400.0, inf)
    """
    if text.upper() in UNLIMITED:
        return math.inf
    found = _TIME.fullmatch(text)
    if found is None:
        raise InputError(f"expected a time such as '1-12:00:00', minutes or 'UNLIMITED', got {shown(text)}")
    days, first, second, third = found.groups()
    parts = [int(part or 0) for part in (first, second, third)]
    if days is not None:
        return int(days) * 86400.0 + parts[0] * 3600 + parts[1] * 60 + parts[2]
    if third is not None:
        return parts[0] * 3600.0 + parts[1] * 60 + parts[2]
    return parts[0] * 60.0 + parts[1]


def minutes(text: str) -> float:
    """A limit of the time of a job, in seconds: a `span` that is rounded up to a whole minute.

    >>> minutes("1:30"), minutes("90")
    (120.0, 5400.0)
    """
    seconds = span(text)
    return seconds if math.isinf(seconds) else math.ceil(seconds / 60) * 60.0


def flag(text: str) -> bool:
    """`YES` or `NO`, in any letters.

    >>> flag("yes"), flag("NO")
    (True, False)
    """
    found = _YES.get(text.upper())
    if found is None:
        raise InputError(f"expected YES or NO, got {shown(text)}")
    return found


def number_of(text: str, least: int, most: int) -> int:
    """A whole number between two others."""
    if _WHOLE.fullmatch(text) is None or not least <= int(text) <= most:
        raise InputError(f"expected a whole number from {least:,} to {most:,}, got {shown(text)}")
    return int(text)


def whole(least: int = 0, most: int = 2**32 - 3) -> Callable[[str], int]:
    """A reader of whole numbers.

    >>> whole()("12")
    12
    """
    return lambda text: number_of(text, least, most)


def real(text: str) -> float:
    """A number, with a point or without."""
    if _REAL.fullmatch(text) is None:
        raise InputError(f"expected a number, got {shown(text)}")
    return float(text)


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between them.

    >>> listed("a,b")
    ('a', 'b')
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def words(text: str) -> tuple[str, ...]:
    """Names with commas between them, which have no spaces and none of some signs.

    >>> words("ib,gpu")
    ('ib', 'gpu')
    """
    return tuple(map(one_word, listed(text)))


def one_word(text: str) -> str:
    """A name that has no spaces and none of some signs."""
    if _WORD.fullmatch(text) is None:
        raise InputError(f"expected a name that has no spaces and none of the signs ;#=, got {shown(text)}")
    return text


def gres(text: str) -> tuple[tuple[str, int], ...]:
    """The generic resources of a node, with their numbers, in the order of their names; equal ones are added.

    >>> gres("gpu:a100:4(S:0-1),fpga,bandwidth:lustre:no_consume:4K")
    (('bandwidth:lustre', 4096), ('fpga', 1), ('gpu:a100', 4))
    """
    plain = _SOCKETS.sub("", text)
    found: dict[str, int] = {}
    for part in plain.split(",") if plain not in NOTHING else ():
        kind, mark, last = part.strip().replace(":no_consume", "").rpartition(":")
        count = _COUNT.fullmatch(last) if mark else None
        name = kind if count else f"{kind}{mark}{last}"
        number = int(count[1]) << _POWERS[count[2].upper()] if count else 1
        if _KIND.fullmatch(name) is None or number > _MOST:
            raise InputError(f"expected NAME, NAME:COUNT or NAME:TYPE:COUNT such as 'gpu:a100:2', got {shown(part)}")
        found[name] = found.get(name, 0) + number
    return tuple((name, number) for name, number in sorted(found.items()) if number)


def one_of(*names: str, prefix: str = "") -> Callable[[str], str]:
    """A reader of one of some names, in any letters, with a prefix such as `sched/` or without.

    >>> one_of("backfill", "builtin", prefix="sched/")("sched/BackFill")
    'backfill'
    """

    def read(text: str) -> str:
        low = text.lower().removeprefix(prefix)
        if low not in names:
            known = [prefix + name for name in names]
            raise InputError(f"expected {' or '.join(known)}, got {shown(text)}{hint(text, known)}")
        return low

    return read


def weights(text: str) -> dict[str, float]:
    """The weights of trackable resources (TRES), by name in small letters: `cpu`, `mem`, `node`, `gres/NAME`...

    The weight of memory counts for a mebibyte. A unit after a weight divides it: `0.25G` is 0.25 for a gibibyte.

    >>> weights("CPU=1.0,Mem=0.25G,GRES/gpu=2.0")
    {'cpu': 1.0, 'mem': 0.000244140625, 'gres/gpu': 2.0}
    """
    found: dict[str, float] = {}
    for part in listed(text):
        name, _, weight = part.partition("=")
        name, value = name.strip(), _WEIGHT.fullmatch(weight.strip())
        if _RESOURCE.fullmatch(name) is None or value is None:
            raise InputError(f"expected weights of resources such as 'CPU=1.0,Mem=0.25G', got {shown(part)}")
        kind, _, rest = name.partition("/")
        found[kind.lower() + (f"/{rest}" if rest else "")] = float(value[1]) / _UNITS[(value[2] or "").upper()]
    return found
