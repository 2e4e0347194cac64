"""attempts.csv: the runs of jobs that ended early, or that are not their only ones, or in which they take checkpoints.

The scheduler knows it, and Batsim does not. This module must not know schedulers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol._util.files import whole
from batprotocol.results.reports import expect_values, is_seconds, parse_reports, reports_text
from batprotocol.workloads.requests import Attempt
from batprotocol.workloads.requests.usage import ENDS

__all__ = ["attempts_text", "parse_attempts", "read_attempts", "write_attempts"]

_COLUMNS: Final = (
    *("job_id", "first_id", "number", "starting_time", "finish_time", "end", "next_id"),
    *("work", "checkpoints", "restart", "lost"),
)
_TIMES: Final = ("starting_time", "finish_time", "work", "checkpoints", "restart", "lost")
_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def write_attempts(path: str | os.PathLike[str], attempts: Iterable[Attempt]) -> None:
    """Write an attempts.csv, as a whole or not at all.

    Args:
        path: the file.
        attempts: the attempts, such as `Policy.attempts`.

    Raises:
        InputError: an attempt could not be read back; the error names the job, and the column.
        OSError: the file cannot be written.
    """
    text = attempts_text(attempts)
    with whole(path) as file:
        file.write(text.encode())


def attempts_text(attempts: Iterable[Attempt]) -> str:
    """The text of an attempts.csv.

    Raises:
        InputError: an attempt could not be read back; the error names the job, and the column.

    >>> lost = Attempt(
    ...     job_id="w0!1", first_id="w0!1", number=0, starting_time=0.0, finish_time=9.0, end="failure", lost=9.0
    ... )
    >>> print(attempts_text([lost]))
    job_id,first_id,number,starting_time,finish_time,end,next_id,work,checkpoints,restart,lost
    w0!1,w0!1,0,0.000000,9.000000,failure,,0.000000,0.000000,0.000000,9.000000
    <BLANKLINE>
    """
    return reports_text("attempts.csv", _COLUMNS, map(_values, attempts), _attempt)


def _values(each: Attempt) -> list[str]:
    return [
        *(each.job_id, each.first_id, str(each.number), f"{each.starting_time:f}", f"{each.finish_time:f}"),
        *(each.end, each.next_id),
        *(f"{seconds:f}" for seconds in (each.work, each.checkpoints, each.restart, each.lost)),
    ]


def read_attempts(path: str | os.PathLike[str]) -> list[Attempt]:
    """Read an attempts.csv. Times have six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not an attempts.csv; the error names the line, and the column by its name.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return parse_attempts(file, os.fspath(path))


def parse_attempts(lines: Iterable[str], name: str) -> list[Attempt]:
    """Read the text of an attempts.csv, see `read_attempts`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not an attempts.csv.
    """
    return parse_reports(lines, name, "attempts.csv", _COLUMNS, _attempt)


def _attempt(row: Mapping[str, str]) -> Attempt:
    checks = (
        ("job_id", "the name of a job", row["job_id"] != ""),
        ("first_id", "the name of a job", row["first_id"] != ""),
        ("number", "a whole number >= 0", _COUNT.fullmatch(row["number"]) is not None),
        ("end", f"one of {', '.join(ENDS)}", row["end"] in ENDS),
        *((column, "seconds", is_seconds(row[column])) for column in _TIMES),
    )
    expect_values(row, checks)
    return Attempt(
        job_id=row["job_id"],
        first_id=row["first_id"],
        number=int(row["number"]),
        end=row["end"],
        next_id=row["next_id"],
        **{column: float(row[column]) for column in _TIMES},
    )
