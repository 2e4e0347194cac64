"""Workloads that stay in their files: the same jobs, whenever they are asked for, in little memory."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import tracemalloc
from pathlib import Path

import pytest
from documents import workload_document
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.policies import Policy
from batprotocol.simulator import Result, Workload, read_workload, simulate
from batprotocol.testing import simulations
from batprotocol.workloads import EXAMPLE_PLATFORM
from batprotocol.workloads import _json_stream as json_stream
from batprotocol.workloads import columns as job_file

WITHOUT_ENGINE = True

SMALL = st.tuples(st.integers(1, 7), st.integers(1, 40))
"""How many jobs a block has, and how many bytes are read at once."""


def same_jobs(path: Path, seed: int) -> None:
    """Both ways to read a file give the same, in order, at random, and after they were pickled."""
    usual, lazy = read_workload(path), read_workload(path, lazy=True)
    assert list(lazy) == list(usual)
    assert lazy.profiles == usual.profiles
    assert (lazy.resource_count, lazy.skipped) == (usual.resource_count, usual.skipped)
    assert lazy.referenced_profiles == usual.referenced_profiles
    restored = pickle.loads(pickle.dumps(lazy)).named("w7")
    expected = list(usual.named("w7"))
    drawn = random.Random(seed)
    for place in drawn.sample(range(len(expected)), len(expected)):
        assert restored[place] == expected[place]
    assert list(restored) == expected


@given(simulations.workloads(), SMALL, st.booleans(), st.integers())
def test_json(tmp_path_factory: pytest.TempPathFactory, workload: Workload, given, ascii: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_file, "_BLOCK", given[0])
        patch.setattr(json_stream, "_CHUNK", given[1])
        document = workload_document(workload)
        document["jobs"].sort(key=lambda job: (job["subtime"], str(job["id"]).encode()))
        path = tmp_path_factory.mktemp("workload") / "jobs.json"
        path.write_text(json.dumps(document, ensure_ascii=ascii, indent=seed % 3), encoding="utf-8")
        same_jobs(path, seed)


LINES = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 50), st.integers(0, 9)), max_size=30)


@given(LINES, st.integers(1, 7), st.booleans(), st.integers())
def test_logs(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[int, int, int]], block: int, packed: bool, seed: int
) -> None:
    time, text = 0, "; MaxProcs: 9\n"
    for number, (later, run, processors) in enumerate(jobs):
        time += later
        text += f"{1000 + number} {time} -1 {run} -1 -1 -1 {processors} 60\n" + ";\n" * (number % 3)
    path = tmp_path_factory.mktemp("log") / ("log.swf.gz" if packed else "log.swf")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_file, "_BLOCK", block)
        same_jobs(path, seed)


def test_the_same_simulation(tmp_path: Path) -> None:
    text = "".join(f"{n} {n // 3} -1 {1 + n % 17} -1 -1 -1 {1 + n % 9} 60\n" for n in range(1000, 1400))
    path = tmp_path / "log.swf"
    path.write_text(text)

    def rows(lazy: bool) -> Result:
        return simulate(EXAMPLE_PLATFORM, read_workload(path, lazy=lazy), Policy())

    assert list(rows(True).jobs) == list(rows(False).jobs)


def written(path: Path, *jobs: tuple[str, float]) -> Path:
    rows = [{"id": id, "subtime": time, "res": 1, "profile": "d"} for id, time in jobs]
    profiles = {"d": {"type": "DelayProfile", "delay": 1}}
    path.write_text(json.dumps({"nb_res": 1, "jobs": rows, "profiles": profiles}))
    return path


def test_what_is_not_sorted_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "jobs.json", ("b", 1.0), ("a", 1.0))
    with pytest.raises(
        InputError, match=r"jobs\[1\]: expected jobs sorted .* job 'a' at 1\.0 comes after 'b' at 1\.0; sort the file"
    ):
        read_workload(path, lazy=True)
    assert len(read_workload(path)) == 2


def test_faults_are_found_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jobs\[2\]\.id: jobs\[0\] has the id 'a', too"):
        read_workload(written(tmp_path / "jobs.json", ("a", 1.0), ("b", 1.0), ("a", 2.0)), lazy=True)
    path = written(tmp_path / "jobs.json", ("a", 1.0))
    path.write_text(path.read_text().replace('"profile": "d"', '"profile": "x"'))
    with pytest.raises(InputError, match=r"jobs\[0\]\.profile: there is no profile 'x'"):
        read_workload(path, lazy=True)


def test_a_file_that_changes_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "jobs.json", ("a", 1.0))
    workload = read_workload(path, lazy=True)
    path.write_text(path.read_text() + " ")
    with pytest.raises(InputError, match="has changed during the simulation"):
        list(workload)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_file, "_BLOCK", 16)  # what is kept besides does not grow with the file
    path = tmp_path / "log.swf"
    count = 6_000
    path.write_text("".join(f"{10**6 + n} {n} -1 {1 + n % 50} -1 -1 -1 4 60\n" for n in range(count)))

    def kept(lazy: bool) -> float:
        tracemalloc.start()
        try:
            workload = read_workload(path, lazy=lazy)
            peak = tracemalloc.get_traced_memory()[1] if lazy else 0
            for _ in workload:
                pass
            return max(tracemalloc.get_traced_memory()[0], peak) / count
        finally:
            tracemalloc.stop()

    assert kept(lazy=True) < 0.6 * kept(lazy=False)
