"""Jobs with any names: each command has all of them, or refuses them in one sentence."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.simulator import read_jobs
from batprotocol.studies import Store, Study
from batprotocol.studies.rows import as_parquet, jobs_in, users_in

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

HARD = ["1", "a,b", '"a,b"', 'x""y', "n\nl"]
NAMES = st.text(st.sampled_from("""ab1,"'\n\r\t w0!;=\\é|[]\x85\u2028"""), max_size=8)
USER = '{"user": "a,b"}'
LISTS = st.lists(NAMES, min_size=1, max_size=5, unique=True)


def workload_of(folder: Path, ids: list[str], profile: str = 'p,"q"', gap: float = 1.0) -> Path:
    path = folder / "workload.json"
    jobs = [
        {"id": id, "subtime": number * gap, "res": 1, "walltime": 100, "profile": profile, "extra_data": USER}
        for number, id in enumerate(ids)
    ]
    profiles = {profile: {"type": "delay", "delay": 10}}
    path.write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles}))
    return path


def is_refusal(found: Any) -> bool:
    """Whether a command has refused its input in one sentence."""
    last = found.err.splitlines()[-1]
    return found.status != 0 and last.startswith("batproto: ") and "a fault of batproto" not in found.err


@settings(max_examples=12)
@given(LISTS)
@example(HARD)
@example(["w0!7", "8"])
@example(["a!b", "w0,w0", ","])
def test_simulate_and_stats(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    folder = tmp_path_factory.mktemp("names")
    path = workload_of(folder, ids)
    found = run_here("simulate", "easy", "-w", path, "--json", "-o", folder / "out", "--record", folder / "run.tar")
    if found.status != 0:
        assert is_refusal(found)
        return
    rows = list(read_jobs(folder / "out" / "jobs.csv"))
    expected = sorted(id.removeprefix("w0!") for id in ids)
    assert sorted(row.job_id for row in rows) == expected
    assert {row.profile for row in rows} == {'w0!p,"q"'}
    for source in ("out", "run.tar"):
        stats = run_here("stats", folder / source, "--json")
        assert stats.status == 0, stats.err
        assert json.loads(stats.out)["jobs"]["count"] == len(ids)


@settings(max_examples=3)
@given(LISTS)
@example(HARD)
def test_a_study(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    folder = tmp_path_factory.mktemp("names")
    study = Study(scheduler="fcfs", workload=str(workload_of(folder, ids)), platform=4)
    try:
        (row,) = study.run(folder / "store", processes=1)
    except InputError:
        return
    if row.error:
        assert (row.kind, "\n" in row.error) == ("input", False)
        return
    expected = sorted(id.removeprefix("w0!") for id in ids)
    with Store(folder / "store") as store:
        (kept,) = store.rows()
        assert sorted(job.job_id for job in kept.jobs()) == expected
        assert users_in(kept.folder) == {f"w0!{id}": "a,b" for id in expected}


def test_what_if(tmp_path: Path) -> None:
    path = workload_of(tmp_path, HARD, gap=1800.0)
    found = run_here(
        *("whatif", path, "--policies", "fcfs,easy", "--windows", "1h", "--warm-up", "0s", "--cool-down", "0s"),
        *("-o", tmp_path / "report.html", "--store", tmp_path / "store", "-j", "1", "--toml", tmp_path / "study.toml"),
    )
    assert found.status == 0, found.err
    with Store(tmp_path / "store") as store:
        rows = list(store.rows(all=True))
        assert len(rows) == 2
        for row in rows:  # the whole log, once for each policy
            assert sorted(job.job_id for job in row.jobs()) == sorted(HARD)


@pytest.mark.parametrize(("id", "refused"), [("a,b", False), ('x"y', False), ('"a,b"', True), ("n\nl", True)])
def test_a_batsim_that_writes_names_as_they_are(tmp_path: Path, id: str, refused: bool) -> None:
    """The names could not be read from its jobs.csv, so it does not start."""
    options = "-p {platform} -w {workload} -o {output} --endpoint {endpoint} --init {init}"
    study = Study(scheduler="fcfs", workload=str(workload_of(tmp_path, ["1", id], "p")), platform=4)
    batsim = f"{sys.executable} -m batprotocol simulate {options}".split()
    (row,) = study.run(tmp_path / "store", processes=1, batsim=batsim)
    assert ("would be read as other names" in row.error) == refused
    if not refused:
        assert [job.job_id for job in row.jobs()] == ["1", id]


def test_a_table_of_names_as_parquet(tmp_path: Path) -> None:
    """As the file of Batsim is read line by line, so are the names that pyarrow would divide at each comma."""
    path = tmp_path / "out"
    assert run_here("simulate", "easy", "-w", workload_of(tmp_path, HARD), "-o", path).status == 0
    data = (path / "jobs.csv").read_bytes()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "jobs.parquet").write_bytes(as_parquet(data))
    assert list(jobs_in(os.fspath(tmp_path / "run"))) == list(read_jobs(path / "jobs.csv"))
    assert re.search(rb'\na,b,w0,w0!p,"q",', data)
