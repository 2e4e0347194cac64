"""Reads what Slurm's completion plugin jobcomp/filetxt writes: a line `JobId=6 UserId=u1(1001) ...` for each job.

A line becomes a row of texts, named like sacct's fields.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.lines import Source, opened
from batprotocol.sites.logs.slurm.attempts import Held
from batprotocol.sites.logs.slurm.ids import Repeated
from batprotocol.sites.logs.slurm.rows import Rows
from batprotocol.sites.logs.slurm.times import NOTHING
from batprotocol.sites.slurm.texts import keyed

__all__ = ["read_jobcomp"]

_BEGIN: Final = "JobId="
_FIELDS: Final = {
    "JobId": "jobidraw",
    "UserId": "user",
    "GroupId": "group",
    "Name": "jobname",
    "JobState": "state",
    "Partition": "partition",
    "TimeLimit": "timelimitraw",
    "StartTime": "start",
    "EndTime": "end",
    "NodeList": "nodelist",
    "NodeCnt": "nnodes",
    "ProcCnt": "ncpus",
    "ReservationName": "reservation",
    "Tres": "reqtres",
    "Account": "account",
    "QOS": "qos",
    "Cluster": "cluster",
    "SubmitTime": "submit",
    "EligibleTime": "eligible",
    "ExitCode": "exitcode",
}
"""The keys that are read, with the names of sacct."""
_OTHERS: Final = frozenset(
    ("WorkDir", "Gres", "WcKey", "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "PackJobId", "PackJobOffset",
     "DerivedExitCode")
)  # fmt: skip
_KEYS: Final = _OTHERS | _FIELDS.keys()
_NAMES: Final = ("jobid", *_FIELDS.values())


def read_jobcomp(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in a file of jobcomp/filetxt, in its order. A job with several lines comes when its last line does.

    Args:
        path: the file, compressed by gzip or xz or not; a pipe is copied into a temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of the times, such as `Europe/Paris`; None: UTC.

    Raises:
        InputError: the file is none of jobcomp/filetxt.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        first = next((line for _, line in source.lines()), "")
        if not first.startswith(_BEGIN):
            raise InputError(
                f"expected a line of jobcomp/filetxt, which begins with 'JobId=', got {shown(first)}",
                file=source.name,
                line=1,
            )
        rows = Rows(_NAMES, left_out, zone_of(zone), source.name, by_end=True)
        repeated = _repeated(source)
        held = Held(repeated, left_out)
        for number, line in source.lines(left_out):
            if not line:
                continue
            if not line.startswith(_BEGIN):
                left_out.row("the line does not begin with JobId=", number)
                continue
            values = _values(_pairs(line))
            key = values[rows.key]
            if key in repeated:
                yield from held.add(key, rows.jobs(values, number))
            else:
                yield from rows.jobs(values, number)
        yield from held.rest()


def _repeated(source: Source) -> dict[str, int]:
    repeated = Repeated()
    for _, line in source.lines():
        if line.startswith(_BEGIN):
            repeated.add(line[len(_BEGIN) :].partition(" ")[0])
    return repeated.rows


def _pairs(line: str) -> dict[str, str]:
    """The keys of a line with their values, which may have spaces. The first value of a key counts."""
    seen = set[str]()

    def is_new(name: str) -> bool:
        if name not in _KEYS or name in seen:
            return False
        seen.add(name)
        return True

    return dict(keyed(line, is_new))


def _values(pairs: dict[str, str]) -> list[str]:
    """The texts of a job, in the order of `_NAMES`."""
    values = [_id(pairs), *("" if (text := pairs.get(key, "")) == "(null)" else text for key in _FIELDS)]
    for place in (_NAMES.index("user"), _NAMES.index("group")):
        values[place] = values[place].partition("(")[0] or values[place]
    state, end = _NAMES.index("state"), _NAMES.index("end")
    if values[state] == "PENDING" and values[end] not in NOTHING:  # it ended, and waits again
        values[state] = "REQUEUED"
    if values[_NAMES.index("cluster")] == "unknown":
        values[_NAMES.index("cluster")] = ""
    if not pairs.get("NodeCnt", "1").strip("0"):
        values[_NAMES.index("nodelist")] = "None assigned"
    return values


def _id(pairs: dict[str, str]) -> str:
    if "ArrayJobId" in pairs and "ArrayTaskId" in pairs:
        return f"{pairs['ArrayJobId']}_{pairs['ArrayTaskId']}"
    for job, offset in (("HetJobId", "HetJobOffset"), ("PackJobId", "PackJobOffset")):
        if job in pairs and offset in pairs:
            return f"{pairs[job]}+{pairs[offset]}"
    return pairs.get("JobId", "")
