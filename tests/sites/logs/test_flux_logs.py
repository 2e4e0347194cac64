"""Flux's flux jobs -a --json: jobs that were written come back."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import flux_job, flux_text, jobs_of
from msgspec.structs import replace
from sacct_lines import read, reasons

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState
from batprotocol.sites.logs.formats import format_of

WITHOUT_ENGINE = True


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
def test_jobs_of_flux_come_back(seeds: list[int]) -> None:
    jobs = jobs_of(flux_job, seeds)
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), flux_text(jobs), "flux")
        assert format_of(Path(folder) / "log") == "flux"
        other = json.dumps(json.loads(flux_text(jobs)), sort_keys=True, indent=1)
        assert read(Path(folder), other, format_of(Path(folder) / "log"))[0] == found
        assert format_of(Path(folder) / "log") == "flux"
    assert [replace(job, line=0) for job in found] == jobs
    assert not list(left_out)


def test_values_of_flux(tmp_path: Path) -> None:
    jobs = [
        {"t_depend": 5.5, "id": "ƒ2x", "t_submit": 5.0, "t_run": 6.0, "t_inactive": 9.0, "nodelist": "corona[08-10]"},
        {"id": 2, "t_submit": 5.0, "t_run": 4.0, "t_cleanup": 9.0, "userid": 1000, "result": "ODD", "nnodes": "x"},
        {"id": 3, "t_submit": 5.0, "t_run": 6.0, "t_cleanup": 5.5},
        {"t_submit": 5.0},
        {"id": 5, "t_submit": True},
        {"id": 6},
    ]
    found, left_out = read(tmp_path, json.dumps({"jobs": jobs}), "flux")
    assert [job.id for job in found] == ["ƒ2x", "2"]
    assert (found[0].last.hosts, found[0].last.ended) == (("corona08", "corona09", "corona10"), 9.0)
    assert (found[1].user, found[1].last.submitted, found[1].last.state) == ("1000", 4.0, AttemptState.UNKNOWN)
    assert reasons(left_out) == {
        "the job starts before it is submitted; its start is taken for both": (1, (2,)),
        "the values of result and state cannot be read": (1, (2,)),
        "the value of nnodes cannot be read": (1, (2,)),
        "the job ends before it starts, or before it is submitted": (1, (3,)),
        "the job has no id": (1, (4,)),
        "the value of t_submit cannot be read": (1, (5,)),
        "the job has no time of submission": (1, (6,)),
    }
    for text in ('{"id": 5, "state": 7}', '{"jobs": [{"id": 5}]}', '{"jobs": 5}', '{"id": {"t_submit": 5}}'):
        with pytest.raises(InputError, match="expected"):
            read(tmp_path, text, "flux")


@pytest.mark.parametrize("indent", [None, 2])
def test_the_object_of_one_job(tmp_path: Path, indent: int | None) -> None:
    """`flux jobs --json ID` prints one object; a loop over ids prints several."""
    jobs = jobs_of(flux_job, [3, 4])
    objects = [json.dumps(each, indent=indent) for each in json.loads(flux_text(jobs))["jobs"]]
    for count in (1, 2):
        found, left_out = read(tmp_path, "\n".join(objects[:count]), "flux")
        assert format_of(tmp_path / "log") == "flux"
        assert [replace(job, line=0) for job in found] == jobs[:count]
        assert not list(left_out)
    found, left_out = read(tmp_path, "\n".join(objects)[:-9], "flux")
    assert [job.id for job in found] == [jobs[0].id]
    assert reasons(left_out) == {"the JSON of the job is damaged": (1, (2,))}
