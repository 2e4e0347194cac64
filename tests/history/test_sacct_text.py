"""The output of sacct, read as jobs: the samples of a real Slurm, and what users' texts and options make of lines."""

from __future__ import annotations

from pathlib import Path

from batprotocol.history import JobState, LeftOut, LoggedJob
from batprotocol.history.slurm import read_sacct

WITHOUT_ENGINE = True

HEADER = "JobID|JobName|User|Submit|Start|End|State|NNodes|NodeList"
ROW = "7|a|u|2026-11-23T22:33:19|2026-11-23T22:33:20|2026-11-23T22:33:30|COMPLETED|2|n[0-1]"


def read(folder: Path, *lines: str) -> tuple[list[LoggedJob], LeftOut]:
    path = folder / "log.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    left_out = LeftOut()
    return list(read_sacct(path, left_out)), left_out


def test_a_row_is_a_job(tmp_path: Path) -> None:
    (job,), left_out = read(tmp_path, HEADER, ROW)
    assert not list(left_out)
    assert (job.id, job.name, job.user, job.host_count, job.line) == ("7", "a", "u", 2, 2)
    attempt = job.first
    assert (attempt.submitted, attempt.started, attempt.ended) == (1795473199.0, 1795473200.0, 1795473210.0)
    assert attempt.hosts == ("n0", "n1")
    assert attempt.state is JobState.COMPLETED
