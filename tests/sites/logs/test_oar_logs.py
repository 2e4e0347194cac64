"""OAR's oarstat -J, and CiGri's tables: jobs that were written come back, and real outputs are read."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import by_id, cigri_job, cigri_text, gridstat_text, jobs_of, oar_job, oar_text
from msgspec.structs import replace
from sacct_lines import read, reasons
from support import SHARED

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState
from batprotocol.sites.logs.formats import format_of

WITHOUT_ENGINE = True

GRIDSTAT = """$ gridstat -j 1
id: 1
param: t0 d=4
grid_user: bob
campaign_id: 2
state: terminated
return_code: 0
submission_time: 2026-11-21 12:36:13+00
start_time: 2026-11-21 12:36:13+00
stop_time: 2026-11-21 12:36:18+00
runner_options: {"besteffort"=>false, "batch_id"=>1}
cluster_name: alpha
[exit status 0]
"""


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.booleans())
def test_jobs_of_oar_come_back(seeds: list[int], gantt: bool) -> None:
    jobs = jobs_of(oar_job, seeds)
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), oar_text(jobs, gantt), "oar")
        if not gantt:
            assert format_of(Path(folder) / "log") == "oar"
    assert [replace(job, line=0) for job in found] == jobs
    assert not list(left_out)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.sampled_from([None, "Asia/Kolkata"]))
def test_jobs_of_cigri_come_back(seeds: list[int], zone: str | None) -> None:
    jobs = jobs_of(cigri_job, seeds)
    with tempfile.TemporaryDirectory() as folder:
        for format, text in (("gridstat", gridstat_text), ("cigri", cigri_text)):
            found, left_out = read(Path(folder), text(jobs, *([ZoneInfo(zone)] if zone else [])), format)
            assert format_of(Path(folder) / "log") == format
            same = {} if format == "gridstat" else {"name": None, "user": None}
            expected = [replace(job, **same) for job in jobs]
            if format == "cigri":  # it has the numbers of clusters, and a job that waits may have an end
                expected = [replace(job, partition=job.partition and job.partition[-1]) for job in expected]
            assert by_id(replace(job, line=0) for job in found) == by_id(expected)
            assert not list(left_out)


def test_a_real_gridstat(tmp_path: Path) -> None:
    recorded = SHARED / "cigri" / "outputs" / "gridstat_job.txt"
    text = recorded.read_text() if recorded.is_file() else GRIDSTAT
    (job,), left_out = read(tmp_path, text, "gridstat")
    assert (job.id, job.name, job.user, job.account, job.partition) == ("1", "t0", "bob", "2", "alpha")
    assert (job.last.started, job.last.ended, job.last.state) == (1795264573.0, 1795264578.0, AttemptState.COMPLETED)
    assert not list(left_out)


def test_what_oar_leaves_out_is_counted(tmp_path: Path) -> None:
    text = """{
   "7" : {
      "state" : "Terminated",
      "submissionTime" : 100,
      "startTime" : 200
   },
   "8" : {
      "state" : "Odd",
      "submissionTime" : "100",
      "startTime" : 200,
      "stopTime" : 300,
      "dependencies" : ["x"]
   },
   "9" : {
      "state" : "Terminated
   },
   "10" : {
      "state" : "Error",
      "submissionTime" : 100,
   "11" : {
      "state" : "Error",
      "submissionTime" : -7
   },
   "12" : {
      "state" : "Error"
"""
    found, left_out = read(tmp_path, text, "oar")
    assert [(job.id, job.last.state, job.last.ended) for job in found] == [("8", AttemptState.UNKNOWN, 300.0)]
    assert reasons(left_out) == {
        "the job has ended, and the output does not have its stop time: write it with oarstat -J -f": (1, (2,)),
        "the value of state cannot be read": (1, (7,)),
        "the value of dependencies cannot be read": (1, (7,)),
        "the JSON of the job is damaged": (3, (14, 17, 24)),
        "the value of submission time cannot be read": (1, (20,)),
    }
    for text in ("{}", '{"x": {"state": "Terminated"}}', '{"7": 3}', '{"jobs": {}}'):
        with pytest.raises(InputError, match="expected the output of oarstat -J"):
            read(tmp_path, text, "oar")


def test_any_layout_of_oar(tmp_path: Path) -> None:
    """A line for each value, for each job, or none at all."""
    jobs = [oar_job(Random(seed), seed) for seed in range(1, 9)]
    for gantt in (False, True):
        text = oar_text(jobs, gantt)
        values = json.loads(text)
        expected, _ = read(tmp_path, text, "oar")
        assert len(expected) == 8
        listed = values["jobs"] if gantt else values
        rows = ",\n".join(f'  "{id}" : {json.dumps(job)}' for id, job in listed.items())
        others = oar_text([job for job in jobs if job.id != "3"], gantt)
        begin = '   "jobs": {\n' if gantt else "{\n"
        mixed = others.replace(begin, f'{begin}{"   " * (1 + gantt)}"3" : {json.dumps(listed["3"])},\n', 1)
        for other in (
            json.dumps(values),
            json.dumps(values, separators=(",", ":")),
            json.dumps(values, indent=0),
            f'{{"jobs" : {{\n{rows}\n}}}}' if gantt else f"{{\n{rows}\n}}",
            mixed,
        ):
            found, left_out = read(tmp_path, other, "oar")
            assert by_id(replace(job, line=0) for job in found) == by_id(replace(job, line=0) for job in expected)
            assert not list(left_out)
    text = '{"7": {"state": "Odd", "stopTime": 300, "submissionTime": 100}, "x": {}, "8": [1], "9": {}, "10": {"a"'
    found, left_out = read(tmp_path, text, "oar")
    assert [job.id for job in found] == ["7"]
    assert reasons(left_out) == {
        "the value of state cannot be read": (2, (1, 4)),
        "the key is not the id of a job": (2, (2, 3)),
        "the job has ended, and the output does not have its stop time: write it with oarstat -J -f": (1, (4,)),
        "the JSON of the job is damaged": (1, (5,)),
    }


def test_what_gridstat_leaves_out_is_counted(tmp_path: Path) -> None:
    text = GRIDSTAT + "id: x\nid: 4\nstate: odd\nid: 5\nstate: running\nsubmission_time: soon\n"
    found, left_out = read(tmp_path, text, "gridstat")
    assert [job.id for job in found] == ["1"]
    assert reasons(left_out) == {
        "the id is not one of CiGri's jobs": (1, (14,)),
        "the value of state cannot be read": (1, (15,)),
        "the job has no time of submission": (1, (15,)),
        "the value of submission_time cannot be read": (1, (17,)),
    }
    with pytest.raises(InputError, match="expected the output of gridstat -j"):
        read(tmp_path, "no job\n", "gridstat")
