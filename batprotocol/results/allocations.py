"""allocations.csv: what each started job took of its hosts, where jobs share hosts by cores, memory and GPUs.

The scheduler knows these amounts, and Batsim does not. This module must not know schedulers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol._util.files import whole
from batprotocol.results.reports import expect_values, is_seconds, parse_reports, reports_text
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.notation import Gres

__all__ = ["allocations_text", "parse_allocations", "read_allocations", "write_allocations"]

_COLUMNS: Final = (
    *("job_id", "first_id", "starting_time", "partition"),
    *("hosts", "cores", "memory", "gres", "whole", "held", "memory_share", "gpu_share"),
)
_NEWER: Final = (3, 2)
"""The numbers of columns at the end that older files do not have."""
_HOSTS: Final = re.compile(r"[0-9]{1,10}(?:-[0-9]{1,10})?(?: [0-9]{1,10}(?:-[0-9]{1,10})?)*", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,30}", re.ASCII)
_AMOUNT: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e-?[0-9]{1,2})?", re.ASCII)
_GRES: Final = re.compile(r"([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?:([0-9]{1,30})", re.ASCII)


def write_allocations(path: str | os.PathLike[str], allocations: Iterable[Allocated]) -> None:
    """Write an allocations.csv, as a whole or not at all.

    Args:
        path: the file.
        allocations: what each started job took, in the order of their starts, such as `Policy.allocated`.

    Raises:
        InputError: an allocation could not be read back; the error names the job, and the column.
        OSError: the file cannot be written.
    """
    text = allocations_text(allocations)
    with whole(path) as file:
        file.write(text.encode())


def allocations_text(allocations: Iterable[Allocated]) -> str:
    """The text of an allocations.csv.

    Raises:
        InputError: an allocation could not be read back; the error names the job, and the column.

    >>> taken = [Allocated(job_id="w0!1", first_id="w0!1", starting_time=0.5, hosts="0-1", cores=4, held=0.25)]
    >>> print(allocations_text(taken))
    job_id,first_id,starting_time,partition,hosts,cores,memory,gres,whole,held,memory_share,gpu_share
    w0!1,w0!1,0.500000,,0-1,4,0,,0,0.25,,
    <BLANKLINE>
    """
    return reports_text("allocations.csv", _COLUMNS, map(_values, allocations), _allocated)


def _values(each: Allocated) -> list[str]:
    return [
        *(each.job_id, each.first_id, f"{each.starting_time:f}", each.partition, each.hosts),
        *(str(each.cores), str(each.memory), ",".join(map(str, each.gres)), f"{each.whole:d}"),
        *("" if value is None else f"{value:.12g}" for value in (each.held, each.memory_share, each.gpu_share)),
    ]


def read_allocations(path: str | os.PathLike[str]) -> list[Allocated]:
    """Read an allocations.csv: what each started job took of its hosts. Times have six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not an allocations.csv; the error names the line, and the column by its name.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return parse_allocations(file, os.fspath(path))


def parse_allocations(lines: Iterable[str], name: str) -> list[Allocated]:
    """Read the text of an allocations.csv, see `read_allocations`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not an allocations.csv.
    """
    return parse_reports(lines, name, "allocations.csv", _COLUMNS, _allocated, newer=_NEWER)


def _allocated(row: Mapping[str, str]) -> Allocated:
    is_whole = row["whole"] == "1"
    gres = [_GRES.fullmatch(part) for part in row["gres"].split(",") if row["gres"]]
    number = "0, as it has whole hosts" if is_whole else "a whole number >= 0"
    kinds = "nothing, as it has whole hosts" if is_whole else "generic resources such as gpu:2"
    checks = (
        ("job_id", "the name of a job", row["job_id"] != ""),
        ("first_id", "the name of a job", row["first_id"] != ""),
        ("starting_time", "seconds", is_seconds(row["starting_time"])),
        ("hosts", "a host set such as 0-3 8", _is_host_set(row["hosts"])),
        ("whole", "0 or 1", row["whole"] in ("0", "1")),
        ("cores", number, _is_number(row["cores"], is_whole)),
        ("memory", number, _is_number(row["memory"], is_whole)),
        ("gres", kinds, all(gres) and not (is_whole and gres)),
        ("held", "a number of hosts >= 0, or nothing", _is_amount(row.get("held", ""))),
        *(
            (name, "a share in [0, 1], or nothing", _is_share(row.get(name, "")))
            for name in ("memory_share", "gpu_share")
        ),
    )
    expect_values(row, checks)
    return Allocated(
        job_id=row["job_id"],
        first_id=row["first_id"],
        starting_time=float(row["starting_time"]),
        partition=row["partition"],
        hosts=row["hosts"],
        cores=int(row["cores"]),
        memory=int(row["memory"]),
        gres=tuple(Gres(each[1], each[2], int(each[3])) for each in gres if each is not None),
        whole=is_whole,
        held=_value(row.get("held")),
        memory_share=_value(row.get("memory_share")),
        gpu_share=_value(row.get("gpu_share")),
    )


def _value(text: str | None) -> float | None:
    return float(text) if text else None


def _is_number(text: str, is_whole: bool) -> bool:
    return text == "0" if is_whole else _NUMBER.fullmatch(text) is not None


def _is_amount(text: str) -> bool:
    return not text or _AMOUNT.fullmatch(text) is not None


def _is_share(text: str) -> bool:
    return not text or (_is_amount(text) and float(text) <= 1)


def _is_host_set(text: str) -> bool:
    """Whether a text is a host set in its canonical form: in ascending order, without overlaps."""
    if _HOSTS.fullmatch(text) is None:
        return False
    last = -1
    for part in text.split(" "):
        first, _, end = part.partition("-")
        if int(first) <= last or (end and int(end) <= int(first)):
            return False
        last = int(end or first)
    return True
