"""Usage traces: the share of a host's cores that a rank of a job uses, in lines `RANK m_usage USAGE FLOPS`."""

from __future__ import annotations

import logging
import math
import os
import stat
from typing import Protocol

from batprotocol.errors import InputError, shown
from batprotocol.workloads.workload import Usage

__all__ = ["TraceReader", "read_traces"]

_logger = logging.getLogger("batprotocol.simulator")

_LONGEST_LINE = 1 << 16
_MOST_RANKS = 1 << 16


class TraceReader(Protocol):
    """A function like `read_traces`."""

    def __call__(self, path: str, *, corrected: bool) -> tuple[tuple[Usage, ...], ...]:
        """Read the lines of each rank."""


def read_traces(path: str | os.PathLike[str], *, corrected: bool = False) -> tuple[tuple[Usage, ...], ...]:
    """Read the lines of each rank.

    Args:
        path: the file that lists one file per rank, relative to itself.
        corrected: whether a last line without a newline is read, too. Batsim loses it.

    Raises:
        InputError: a file is not a usage trace; the error names file and line.
        OSError: a file cannot be read.
    """
    folder = os.path.dirname(os.path.abspath(path))
    names = [name.strip() for _, name in _lines(path, corrected=True)]
    files = [name for name in names if name]
    if not files:
        raise InputError("expected a list of one file per rank, but the file is empty", file=os.fspath(path))
    if len(files) > _MOST_RANKS:
        raise InputError(f"there are more than {_MOST_RANKS} ranks", file=os.fspath(path))
    return tuple(_read_rank(os.path.join(folder, name), rank, corrected) for rank, name in enumerate(files))


def _lines(path: str | os.PathLike[str], *, corrected: bool) -> list[tuple[int, str]]:
    """The lines that are not comments, with their numbers."""
    found = []
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device could be read without end
        raise InputError("expected a file", file=os.fspath(path))
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if len(line) >= _LONGEST_LINE:
                raise InputError(f"a line has {_LONGEST_LINE} characters or more", file=os.fspath(path), line=number)
            if line.lstrip().startswith("#"):
                continue
            if line.endswith("\n") or corrected:
                found.append((number, line))
            elif line.strip():
                _logger.warning(
                    "%s, line %d: Batsim does not read a last line without a newline, so it is ignored; end the line, "
                    "or simulate with corrected=True (--corrected)",
                    os.fspath(path),
                    number,
                )
    return found


def _read_rank(path: str, rank: int, corrected: bool) -> tuple[Usage, ...]:
    found = []
    for number, line in _lines(path, corrected=corrected):
        words = line.split()
        if not words:
            continue
        if len(words) != 4 or not words[0].isdecimal() or words[1] != "m_usage":
            raise InputError(f"expected RANK m_usage USAGE FLOPS, got {shown(line.strip())}", file=path, line=number)
        if words[0].lstrip("0") != (str(rank) if rank else ""):
            continue
        try:
            usage, flops = float(words[2]), float(words[3])
        except ValueError:
            usage = flops = math.nan
        if not (0 <= usage < math.inf and 0 <= flops < math.inf):
            raise InputError(f"expected two numbers >= 0, got {shown(line.strip())}", file=path, line=number)
        found.append(Usage(usage, flops))
    return tuple(found)
