"""Round trips: logs in the Standard Workload Format, written as sacct's lines, are read with the same jobs."""

from __future__ import annotations

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sacct_lines import parsable, read, rows_of
from support import ROOT

from batprotocol.sites.logs import Attempt, AttemptState, LoggedJob

WITHOUT_ENGINE = True

BEGIN = 1_700_000_000.0
STATES = {1: AttemptState.COMPLETED, 5: AttemptState.CANCELLED}


def jobs_of(name: str, count: int | None) -> list[LoggedJob]:
    """The jobs of an SWF file, with what both formats hold. Their lines are those in sacct's text."""
    text = gzip.decompress((ROOT / "examples" / name).read_bytes()).decode()
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith(";")]
    return [_job([float(word) for word in words], line) for line, words in enumerate(lines[:count], 2)]


def _job(fields: list[float], line: int) -> LoggedJob:
    number, submitted, waited, ran, given, _, _, asked, limit, _, state, user, group = fields[:13]
    submitted += BEGIN
    started = submitted + max(waited, 0.0)
    return LoggedJob(
        id=f"{number:.0f}",
        attempts=(
            Attempt(
                submitted=float(int(submitted)),
                eligible=float(int(submitted)),
                started=float(int(started)),
                ended=float(int(started)) + max(int(ran), 0),
                state=STATES.get(int(state), AttemptState.FAILED),
                hosts=(f"n{number:.0f}",),
                exit_code=0,
                signal=0,
            ),
        ),
        host_count=max(int(given), int(asked), 1),
        cores=max(int(given), int(asked), 1),
        requested_hosts=int(asked) if asked > 0 else None,
        walltime=limit if limit > 0 else None,
        user=f"u{user:.0f}" if user >= 0 else None,
        group=f"g{group:.0f}" if group >= 0 else None,
        partition=f"p{fields[15]:.0f}" if fields[15] >= 0 else None,
        line=line,
    )


@pytest.mark.parametrize("name", ["theta.swf.gz", "lublin.swf.gz"])
@pytest.mark.parametrize("zone", [None, "America/Chicago"])
@pytest.mark.parametrize("count", [200, pytest.param(None, marks=pytest.mark.minutes)])
def test_jobs_of_swf_come_back(tmp_path: Path, name: str, zone: str | None, count: int | None) -> None:
    jobs = jobs_of(name, count)
    rows = [row for job in jobs for row in rows_of(job, ZoneInfo(zone or "UTC"))]
    found, left_out = read(tmp_path, parsable(rows, list(rows[0])), zone=zone)
    assert found == jobs
    assert not list(left_out)
