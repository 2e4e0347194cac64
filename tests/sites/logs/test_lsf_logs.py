"""LSF's lsb.acct: jobs that were written come back, and records of several versions are read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import jobs_of, lsf_job, lsf_text
from msgspec.structs import replace
from sacct_lines import read, reasons

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState
from batprotocol.sites.logs.formats import format_of

WITHOUT_ENGINE = True

USAGE = "0 0 0 -1 0 0 5 0 0 0 0 -1 0 0 0 13 8 -1"
OLD = (
    '"JOB_FINISH" "5.1" 1089407406 699 283 33554482 1 1089290023 0 0 1089406862 "ada" "8nm" "" "" "" "login" "prog" ""'
    f' "/log" "/err" "1089290023.699" 0 1 "b79" 64 3.3 "" "run 362 7 8" 277.21 {USAGE} "" "default" 0 1 "" "" 0 310424'
    ' 339112 "" "" ""\n'
)
NEW = (
    '"JOB_FINISH" "9.11" 1389683139 404 22025 33882739 32 1389642318 0 0 1389642771 "ada" "regular" "span[ptile=16]"'
    ' "" "" "login" "/scratch" "" "%J.out" "%J.err" "1389642318.404" 0 2 "16*h1-ib" "16*h4-ib" 64 60.0 "abc"'
    f' "#!/bin/tcsh;#BSUB -R ""span[ptile=16]""; date" 5793844.23 {USAGE} "" "project" 0 128 "" "" 0 10725376 0 ""'
    ' "" "" "" 0 "" 0 "" -1 "/project/ada" "" "" "" -1 "" "" 6160 "" 1389642771 "" "" 0 2 h1-ib 1306 0 1287486 242 0'
    ' h4-ib 1291 0 643768 66 0 43200 0 8688640 "select[(type == local)] span[ptile=16] " "" -1 "" -1 0 "" 0 0 ""'
    ' 40368 "/scratch" 1 "18338" 1 ""\n'
)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10**6), max_size=6))
def test_jobs_come_back(seeds: list[int]) -> None:
    jobs = jobs_of(lsf_job, seeds)
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), lsf_text(jobs) or '"JOB_RESIZE" "10.1"\n', "lsf")
    assert sorted((replace(job, line=0) for job in found), key=lambda job: job.id) == sorted(
        jobs, key=lambda job: job.id
    )
    assert left_out.rows == (not seeds)


def test_records_of_versions(tmp_path: Path) -> None:
    (old, new), left_out = read(tmp_path, OLD + NEW, "lsf")
    assert (old.id, old.user, old.partition, old.account, old.cores, old.walltime) == (
        *("699", "ada", "8nm", "default"),
        1,
        None,
    )
    assert (new.host_count, new.cores, new.requested_cores, new.walltime, new.exclusive) == (2, 32, 32, 43200.0, True)
    assert (new.last.hosts, new.last.suspended, new.last.state) == (("h1-ib", "h4-ib"), 0.0, AttemptState.COMPLETED)
    assert (new.last.started, new.last.ended) == (1389642771.0, 1389683139.0)
    assert reasons(left_out) == {
        "the record does not have all fields up to runTime: the run limit may be missing": (1, (1,))
    }


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(OLD)
    assert format_of(path) == "lsf"
    text = NEW + (
        '"JOB_RESIZE" "9.11" 1389683139 404\n"EVENT_ADRSV_FINISH" "9.11" 1389683139\nnothing\n'
        '"JOB_FINISH" "9.11" 1389683139 404\n"JOB_FINISH" "9.11\n'
    )
    text += NEW.replace(" 404 ", " 405 ").replace("1389642771", "1489642771")
    text += NEW.replace(" 404 ", " 0 ")
    text += NEW.replace(" 404 ", " 406 ").replace('"" "" "login"', '"done(x)" "" "login"')
    text += NEW.replace(" 404 ", " 407 ").replace(" 64 60.0", " 65 60.0")
    text += NEW.replace(" 404 ", " 408 ").replace(' 2 "16*h1', ' 3 "16*h1')
    found, left_out = read(tmp_path, text, "lsf")
    assert [job.id for job in found] == ["404", "406", "407"]
    assert reasons(left_out) == {
        "a record of a job that changed its size: only its record JOB_FINISH is read": (1, (2,)),
        "a record of a reservation": (1, (3,)),
        "the line is not a record of lsb.acct": (1, (4,)),
        "the record ends before idx": (1, (5,)),
        "the record cannot be divided into fields": (1, (6,)),
        "the job ends before it starts, or before it is submitted": (1, (7,)),
        "the id is not one of LSF's jobs": (1, (8,)),
        "a dependency that is not made of done, ended, exit and started, with the ids of jobs": (1, (9,)),
        "the value of jStatus cannot be read": (1, (10,)),
        "command is not at its place in the record": (1, (11,)),
    }
    with pytest.raises(InputError, match="expected a record of lsb"):
        read(tmp_path, "no record", "lsf")


DIGITS = 10
"""The most digits that the id of a job has."""


@pytest.mark.parametrize(
    ("id", "task", "told"),
    [
        (1, 0, "1"),
        (1, 1, "1_1"),
        (10**DIGITS - 1, 0, "9" * DIGITS),
        (7, 10**9 - 1, "7_999999999"),
        (0, 0, None),
        (0, 1, None),
        (-1, 0, None),
        (10**DIGITS, 0, None),
        (10**DIGITS, 1, None),
        (7, 10**9, None),
        (7, -1, None),
    ],
)
def test_the_ids_of_jobs_and_tasks_have_their_limits(id: int, task: int, told: str | None, tmp_path: Path) -> None:
    before, after = '"project" 0 128 "" "" ', " 10725376 "
    assert f"{before}0{after}" in NEW
    text = NEW.replace(" 404 ", f" {id} ", 1).replace(f"{before}0{after}", f"{before}{task}{after}")
    found, left_out = read(tmp_path, text, "lsf")
    if told is None:
        assert not found
        assert reasons(left_out) == {"the id is not one of LSF's jobs": (1, (1,))}
    else:
        assert [(job.id, job.array) for job in found] == [(told, str(id) if task else None)]
