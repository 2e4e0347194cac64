"""Recorded runs of a real Slurm: the starts that its scheduler wrote into its log are the attempts of the jobs read.

The files of jobcomp/filetxt and sacct's tables of these runs are written again from the recordings, whose times count
from the begin of a run.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sacct_lines import SAMPLES, local, read
from support import SHARED

from batprotocol.sites.logs import LoggedJob
from batprotocol.workloads.requests import expanded_names

WITHOUT_ENGINE = True

BEGIN = 1_700_000_000.0
ALL = sorted((SHARED / "slurm" / "runs").glob("*/*.json.xz")) or sorted((SAMPLES / "runs").glob("*.json.xz"))
TIMES = ("StartTime", "EndTime", "SubmitTime", "EligibleTime")


@cache
def run(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def jobcomp_lines(path: Path) -> Iterator[str]:
    """The lines of jobcomp/filetxt of a run, as its recording has them."""
    for record in run(path)["jobcomp"]:
        values = {"JobId": record["JobId"], "UserId": f"{record['User']}(1000)", **record}
        del values["User"]
        for name in TIMES:
            value = values.get(name)
            values[name] = local(BEGIN + value) if isinstance(value, float) else "Unknown"
        yield " ".join(f"{name}={value}" for name, value in values.items())


def starts_of(path: Path) -> dict[str, list[tuple[float, list[str]]]]:
    """The starts that the scheduler logged: for each job their times and hosts."""
    found: dict[str, list[tuple[float, list[str]]]] = {}
    for start in run(path)["starts"]:
        id = re.sub(r"\(.*\)", "", start["job"])
        found.setdefault(id, []).append((start["t"], expanded_names(start["nodes"])))
    return found


def attempts_of(job: LoggedJob) -> list[tuple[float, list[str]]]:
    return [(each.started - BEGIN, list(each.hosts)) for each in job.attempts if each.started is not None]


@pytest.mark.parametrize("path", ALL, ids=[f"{path.parent.name}/{path.name}" for path in ALL])
def test_attempts_are_the_starts_of_the_scheduler(tmp_path: Path, path: Path) -> None:
    jobs, left_out = read(tmp_path, "\n".join(jobcomp_lines(path)), "jobcomp")
    assert left_out.rows == 0
    starts = starts_of(path)
    assert jobs
    for job in jobs:
        logged, attempts = starts.get(job.id, []), attempts_of(job)
        assert len(attempts) == len(logged), job.id
        for (began, hosts), (logged_begin, logged_hosts) in zip(attempts, logged, strict=False):
            assert sorted(hosts) == sorted(logged_hosts), job.id
            assert -1.5 <= logged_begin - began <= 1.5, job.id
