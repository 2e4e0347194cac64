"""Reads the resources of a job in OAR's notation, `/nodes=1/cpu=2` or `resource_id=2`, and walltimes, `1:30:00`."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from batprotocol.campaigns.model import Record
from batprotocol.errors import InputError, shown

__all__ = ["Level", "Resources", "read_resources", "seconds_of"]

_LEVEL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) *= *(0*[1-9][0-9]{0,8}|ALL|BEST|BESTHALF)")
_WALLTIME = re.compile(r"([0-9]{1,7})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")


class Level(Record, frozen=True):
    """One level of the hierarchy: a number of resources in each resource of the level above.

    Args:
        name: the name of the level: `nodes`, `cpu`, `core`, `resource_id`.
        count: the number of resources; None: all.
    """

    name: str
    count: int | None


class Resources(Record, frozen=True):
    """The resources that a job requests.

    Args:
        levels: from the outermost to the innermost.
    """

    levels: tuple[Level, ...]

    @property
    def weight(self) -> int:
        """The number of resources of the innermost level.

        >>> read_resources("/nodes=2/cpu=4").weight
        8
        """
        return math.prod(1 if level.count is None else level.count for level in self.levels)

    def __str__(self) -> str:
        return "".join(f"/{level.name}={'ALL' if level.count is None else level.count}" for level in self.levels)


@lru_cache(1024)
def read_resources(text: str) -> Resources:
    """Read a request for resources. The leading slash may be missing.

    Raises:
        InputError: it is not a hierarchy of names and numbers.

    >>> read_resources("resource_id=2")
    Resources(levels=(Level(name='resource_id', count=2),))
    """
    levels = []
    for part in text.strip().removeprefix("/").split("/"):
        found = _LEVEL.fullmatch(part.strip())
        if found is None:
            raise InputError(f"expected a hierarchy such as /nodes=1/cpu=2, found {shown(text)}", "resources")
        levels.append(Level(found[1], int(found[2]) if found[2].isdigit() else None))
    return Resources(tuple(levels))


def seconds_of(walltime: str) -> float:
    """The seconds of a walltime, `hours:minutes:seconds`. Missing parts are 0: `2` is two hours, as in OAR.

    Raises:
        InputError: it is not such a time.

    >>> seconds_of("01:00:00"), seconds_of("1:30"), seconds_of("2")
    (3600.0, 5400.0, 7200.0)
    """
    found = _WALLTIME.fullmatch(walltime.strip())
    if found is None:
        raise InputError(f"expected hours:minutes:seconds, found {shown(walltime)}", "walltime")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds
