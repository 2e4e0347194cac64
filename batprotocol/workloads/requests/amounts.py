"""Amounts that jobs ask for and hosts offer: memory, generic resources such as GPUs, and moments in simulated time."""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = [
    "GPU",
    "Gres",
    "Moment",
    "memory_text",
    "parse_count",
    "parse_gres",
    "parse_licenses",
    "parse_memory",
    "parse_moment",
]

_LARGEST: Final = 2**53
"""No amount is larger, so that amounts are exact as doubles, too."""
_TEXT: Final = 10_000
"""The longest text that is read."""

_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGT]?)B?", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"K": 2**10, "": 2**20, "M": 2**20, "G": 2**30, "T": 2**40}

_GRES = re.compile(r"([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?(?::([0-9]{1,9}))?", re.ASCII)
_LICENSE = re.compile(r"[A-Za-z_][\w.@-]*", re.ASCII)
_NAME = re.compile(r"([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?", re.ASCII)

_NOW = re.compile(r"now(?:\+([0-9]{1,12})(seconds?|minutes?|hours?|days?|weeks?)?)?", re.ASCII)
_SECONDS: Final = {"": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}


GPU: Final = "gpu"
"""The name of the generic resource that GPUs are, of any type."""


class Gres(NamedTuple):
    """A number of generic resources of one kind.

    Attributes:
        name: the kind, such as `gpu`.
        type: the type, such as `a100`; None: of any type.
        amount: how many, >= 0.
    """

    name: str
    type: str | None
    amount: int

    def __str__(self) -> str:
        return ":".join(str(part) for part in self if part is not None)


class Moment(NamedTuple):
    """A moment in simulated time.

    Attributes:
        seconds: seconds since the simulation began, or since the job was submitted.
        is_relative: whether it counts from the submission of the job.
    """

    seconds: float
    is_relative: bool

    def of(self, submitted: float) -> float:
        """The moment in seconds since the simulation began, for a job that was submitted at `submitted`.

        >>> Moment(60.0, True).of(submitted=100.0)
        160.0
        """
        return submitted + self.seconds if self.is_relative else self.seconds


def parse_count(value: Any, least: int = 0) -> int:
    """A whole number of at least `least`.

    Raises:
        InputError: the value is not such a number.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(f"expected a whole number >= {least}, got {shown(value)}")
    return value


def parse_memory(value: Any) -> int:
    """An amount of memory in bytes. A number without a unit counts mebibytes, as in Slurm.

    >>> parse_memory("4G"), parse_memory(512), parse_memory("1.5K")
    (4294967296, 536870912, 1536)

    Raises:
        InputError: the value is not an amount of memory.
    """
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    found = _MEMORY.fullmatch(text) if isinstance(text, str) and len(text) <= _TEXT else None
    amount = math.ceil(float(found[1]) * _UNITS[found[2].upper()]) if found else _LARGEST + 1
    if amount > _LARGEST:
        raise InputError(f"expected memory >= 0, in MiB or with a unit K, M, G or T such as '4G', got {shown(value)}")
    return amount


def memory_text(amount: int) -> str:
    """The text of an amount of memory in bytes, in the largest unit that has a whole number of them.

    Less than a kibibyte is rounded up.

    >>> memory_text(4 * 2**30), memory_text(512 * 2**20), memory_text(100)
    ('4G', '512M', '1K')
    """
    for unit, size in (("T", 2**40), ("G", 2**30), ("M", 2**20)):
        if amount % size == 0:
            return f"{amount // size}{unit}"
    return f"{-(-amount // 1024)}K"


def parse_licenses(value: Any) -> tuple[tuple[str, int], ...]:
    """Licences: Slurm's text, or an object with a count for each name; equal names are added.

    >>> parse_licenses("matlab:2,ansys"), parse_licenses({"matlab": 1})
    ((('ansys', 1), ('matlab', 2)), (('matlab', 1),))

    Raises:
        InputError: the value names no licences in one of these forms.
    """
    pairs: list[tuple[str, Any]] = []
    if isinstance(value, str) and 0 < len(value) <= _TEXT:
        pairs = [(name, count or 1) for part in value.split(",") for name, _, count in (part.strip().partition(":"),)]
    elif isinstance(value, dict):
        pairs = list(value.items())
    found: dict[str, int] = {}
    for name, count in pairs:
        if not isinstance(name, str) or len(name) > _TEXT or _LICENSE.fullmatch(name) is None:
            raise InputError(f"expected the name of a licence such as 'matlab' or 'matlab@server', got {shown(name)}")
        found[name] = found.get(name, 0) + parse_count(count)
    if not found:
        raise InputError(f"expected licences such as 'matlab:2,ansys', got {shown(value)}")
    return tuple(sorted((name, count) for name, count in found.items() if count))


def parse_gres(value: Any) -> tuple[Gres, ...]:
    """Generic resources: Slurm's text, or an object with a count for each kind; equal kinds are added.

    >>> [str(each) for each in parse_gres("gpu:a100:2,fpga")]
    ['fpga:1', 'gpu:a100:2']
    >>> parse_gres({"gpu": 2})
    (Gres(name='gpu', type=None, amount=2),)

    Raises:
        InputError: the value names no resources in one of these forms.
    """
    found: dict[tuple[str, str | None], int] = {}
    if isinstance(value, str) and len(value) <= _TEXT:
        for part in filter(None, (part.strip() for part in value.split(","))):
            match = _GRES.fullmatch(part)
            if match is None:
                raise InputError(
                    f"expected NAME, NAME:COUNT or NAME:TYPE:COUNT such as 'gpu:a100:2', got {shown(part)}"
                )
            kind = match[1], match[2]
            found[kind] = found.get(kind, 0) + int(match[3] or 1)
    elif isinstance(value, dict):
        for name, count in value.items():
            match = _NAME.fullmatch(name) if isinstance(name, str) and len(name) <= _TEXT else None
            if match is None:
                raise InputError(f"expected a name such as 'gpu' or 'gpu:a100', got {shown(name)}")
            try:
                found[match[1], match[2]] = found.get((match[1], match[2]), 0) + parse_count(count)
            except InputError as error:
                raise InputError(error.reason, name) from None
    else:
        raise InputError(f"expected a text such as 'gpu:2' or an object such as {{'gpu': 2}}, got {shown(value)}")
    return tuple(Gres(*kind, count) for kind, count in sorted(found.items(), key=_by_kind) if count)


def _by_kind(item: tuple[tuple[str, str | None], int]) -> tuple[str, str]:
    (name, type), _ = item
    return name, type or ""


def parse_moment(value: Any) -> Moment:
    """A moment: seconds since the simulation began, or `now+60`, `now+2hours`... since the submission.

    >>> parse_moment("now+2hours"), parse_moment(3600)
    (Moment(seconds=7200.0, is_relative=True), Moment(seconds=3600.0, is_relative=False))

    Raises:
        InputError: the value is not a moment.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return Moment(float(value), False)
    found = _NOW.fullmatch(value) if isinstance(value, str) and len(value) <= _TEXT else None
    if found is None:
        raise InputError(f"expected seconds >= 0, or 'now+60', 'now+2hours' and the like, got {shown(value)}")
    return Moment(float(found[1] or 0) * _SECONDS[(found[2] or "").rstrip("s")], True)
