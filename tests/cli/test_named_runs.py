"""What names a run: each command takes what each other takes, in any pair, or says what is needed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from commands import run_here

from batprotocol.studies import Study

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

KINDS = ("results", "prefixed", "mcap", "tar", "folder", "messages", "study", "parquet")
MESSAGES = ("mcap", "tar", "folder", "messages")
PAIRS = [(one, other) for m, one in enumerate(KINDS) for n, other in enumerate(KINDS) if (m + n) % 3 == 0]
BROKEN = ("missing", "empty", "text", "cut", "binary", "bare", "index")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A run by each kind of name, and what is no run."""
    folder = tmp_path_factory.mktemp("runs")
    workload = "lublin:16?jobs=15"
    for policy in ("fcfs", "easy"):
        for name in ("run.mcap", "run.tar.xz", "run"):
            place = folder / policy / name
            place.parent.mkdir(exist_ok=True)
            run_here("simulate", policy, "-w", workload, "-o", folder / policy / "out", "--record", place)
    Study(scheduler=["fcfs", "easy"], workload=workload, name="s", folder=str(folder)).run(processes=1)
    (folder / "pre").mkdir()
    shutil.copy(folder / "easy" / "out" / "jobs.csv", folder / "pre" / "x_jobs.csv")
    shutil.copytree(folder / "fcfs" / "run", folder / "messages")
    for name in os.listdir(folder / "messages"):
        if not re.search(r"-(batsim|edc|scheduler)\.", name) and name.endswith((".csv", ".json", ".txt")):
            os.unlink(folder / "messages" / name)
    (folder / "empty").write_bytes(b"")
    (folder / "notes.txt").write_text("nothing of the kind\n")
    (folder / "cut.mcap").write_bytes((folder / "easy" / "run.mcap").read_bytes()[:500])
    (folder / "noise.csv").write_bytes(bytes(range(128, 256)) * 8)
    (folder / "bare").mkdir()
    return {
        "results": str(folder / "easy" / "out"),
        "prefixed": str(folder / "pre" / "x_jobs.csv"),
        "mcap": str(folder / "fcfs" / "run.mcap"),
        "tar": str(folder / "easy" / "run.tar.xz"),
        "folder": str(folder / "fcfs" / "run"),
        "messages": str(folder / "messages"),
        "study": f"{folder / 's.runs'}?scheduler=fcfs",
        "parquet": os.path.dirname(str(next((folder / "s.runs").rglob("jobs.parquet")))),
        "missing": str(folder / "nothing.mcap"),
        "empty": str(folder / "empty"),
        "text": str(folder / "notes.txt"),
        "cut": str(folder / "cut.mcap"),
        "binary": str(folder / "noise.csv"),
        "bare": str(folder / "bare"),
        "index": str(folder / "s.runs" / "index.sqlite"),
    }


def sentence(err: str) -> str:
    """The one line of an error, which no exception of Python's is."""
    lines = [line for line in err.splitlines() if line.startswith("batproto")]
    assert "Traceback" not in err
    assert "codec" not in err
    assert lines, err
    return lines[-1]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids="-".join)
def test_any_two_are_compared(runs: dict[str, str], one: str, other: str) -> None:
    found = run_here("compare", runs[one], runs[other])
    assert (found.status, "15 jobs" in found.out) == (0, True), found.err
    assert "mean waiting time" in found.out
    told = (one == "messages") != (other == "messages")
    assert ("count as equal" in found.err) is told
    same = run_here("compare", runs[one], runs[one])
    assert "the schedules are the same" in same.out


@pytest.mark.parametrize(("one", "other"), PAIRS, ids="-".join)
def test_conversations_are_needed_for_differences_of_messages(runs: dict[str, str], one: str, other: str) -> None:
    found = run_here("diff", runs[one], runs[other])
    if one in MESSAGES and other in MESSAGES:
        assert found.status in (0, 1), found.err
        assert found.out
        return
    assert "compare" in found.out + found.err or found.status in (0, 1)
    assert "Traceback" not in found.err


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_and_timelines_of_each(runs: dict[str, str], kind: str, tmp_path: Path) -> None:
    stats = run_here("stats", runs[kind])
    assert (stats.status, "makespan" in stats.out) == (0, True), stats.err
    page = tmp_path / "page.html"
    drawn = run_here("timeline", runs[kind], runs["results"], "-o", page)
    assert drawn.status == 0, drawn.err
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("command", ["compare", "diff", "stats", "timeline"])
def test_what_is_no_run_is_a_sentence(runs: dict[str, str], kind: str, command: str, tmp_path: Path) -> None:
    more = {"compare": [runs["results"]], "diff": [runs["mcap"]], "timeline": ["-o", str(tmp_path / "x.html")]}
    found = run_here(command, runs[kind], *more.get(command, []))
    if kind == "cut" and found.status == 0:  # what is left of it is a run
        return
    assert found.status in (1, 2), (found.out, found.err)
    assert re.match(r"batproto( \w+)*: \S", sentence(found.err))
