"""Why two schedules part: a cause of each kind, made on purpose, and logs against what is simulated of them."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA

from batprotocol.cli.main import main
from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.sites.logs.formats import read_log
from batprotocol.studies.comparing.pairs import KINDS, causes_of
from batprotocol.studies.comparing.schedules import Schedule, schedule_of_log

WITHOUT_ENGINE = True
SITE = DATA / "logs" / "site"
DONE, LIMIT = FinalJobState.COMPLETED_SUCCESSFULLY, FinalJobState.COMPLETED_WALLTIME_REACHED


def row(name: str, start: float, end: float, hosts: str, state: FinalJobState = DONE) -> JobRow:
    return JobRow(
        job_id=name,
        workload_name="w0",
        profile="w0!p",
        submission_time=0.0,
        requested_number_of_resources=1,
        requested_time=100.0,
        final_state=state,
        starting_time=start,
        execution_time=end - start,
        allocated_resources=hosts,
    )


def schedule(*rows: JobRow, **asked: dict[str, str]) -> Schedule:
    return Schedule(name="x", jobs=rows, hosts=4, asked={f"w0!{name}": data for name, data in asked.items()})


A = row("a", 0, 50, "0")
PAIRS = {
    "priority": (schedule(A, row("b", 60, 90, "0")), schedule(row("a", 35, 85, "0"), row("b", 0, 30, "0")), "a"),
    "follows": (
        schedule(A, row("b", 60, 90, "1")),
        schedule(row("a", 40, 90, "1"), row("b", 95, 125, "1")),
        "b",
    ),
    "node": (schedule(A), schedule(row("a", 0, 50, "2")), "a"),
    "limit": (schedule(A), schedule(row("a", 0, 100, "0", LIMIT)), "a"),
    "time": (schedule(A), schedule(row("a", 20, 70, "0")), "a"),
    "plan": (schedule(A), schedule(row("a", 200, 250, "0")), "a"),
    "reservation": (schedule(A, a={"reservation": "r"}), schedule(row("a", 200, 250, "0")), "a"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_cause(kind: str) -> None:
    one, other, job = PAIRS[kind]
    assert causes_of(one, other, tolerance=3.0)[f"w0!{job}"].kind == kind


def test_a_job_whose_host_is_longer_in_use_waits_for_its_end() -> None:
    one = schedule(A, row("b", 60, 90, "0"))
    found = causes_of(one, schedule(row("a", 0, 80, "0"), row("b", 81, 111, "0")), tolerance=3.0)
    assert found["w0!b"] == ("time", "host 0 has job a in the second run, which ends later there")
    late = row("a", 0, 80, "0", LIMIT)
    assert causes_of(one, schedule(late, row("b", 81, 111, "0")), tolerance=3.0)["w0!b"].kind == "limit"


def test_jobs_of_other_partitions_do_not_come_first() -> None:
    one = schedule(A, row("b", 60, 90, "1"), a={"partition": "p"}, b={"partition": "q"})
    other = schedule(row("a", 200, 250, "0"), row("b", 10, 40, "1"))
    assert causes_of(one, other, tolerance=3.0)["w0!a"].kind == "plan"


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    return schedule(*(_drawn(draw, name) for name in names))


def _drawn(draw: st.DrawFn, name: str) -> JobRow:
    start, length = draw(st.integers(0, 40)), draw(st.integers(1, 40))
    return row(name, start, start + length, str(draw(st.integers(0, 3))))


@settings(max_examples=60, deadline=None)
@given(schedules(), schedules())
def test_a_job_has_a_cause_if_its_start_or_host_differs(one: Schedule, other: Schedule) -> None:
    found = causes_of(one, other, tolerance=0.5)
    theirs = {job.job_id: job for job in other.jobs}
    differ = {
        f"w0!{job.job_id}"
        for job in one.jobs
        if job.job_id in theirs
        and (job.starting_time, job.allocated_resources)
        != (theirs[job.job_id].starting_time, theirs[job.job_id].allocated_resources)
    }
    assert set(found) == differ
    assert {cause.kind for cause in found.values()} <= set(KINDS)
    assert causes_of(one, one, tolerance=0.5) == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a site whose Slurm was real."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("sacct.txt", "slurm.conf"):
        (folder / name).write_bytes(lzma.decompress((SITE / f"{name}.xz").read_bytes()))
    return folder


def test_a_log_has_the_starts_and_hosts_that_it_says(site: Path) -> None:
    with read_log(site / "sacct.txt") as log:
        found = schedule_of_log(log, name="log")
        jobs = {job.id: job for job in log if job.last.started is not None}
        first = min(job.first.submitted for job in log)
    assert {row.job_id for row in found.jobs} == set(jobs)
    for row in found.jobs:
        last = jobs[row.job_id].last
        assert row.starting_time is not None
        assert last.started == pytest.approx(first + row.starting_time)
        assert len(last.hosts) == len(_numbers(row.allocated_resources))


def _numbers(text: str) -> list[int]:
    parts = (part.partition("-") for part in text.split())
    return [number for low, _, high in parts for number in range(int(low), int(high or low) + 1)]


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(each) for each in arguments])
    return int(left.value.code or 0)


def test_a_log_is_compared_with_what_slurm_does_with_its_jobs(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, conf, jobs, platform, out = (site / name for name in ("sacct.txt", "slurm.conf", "w.json", "p.xml", "out"))
    assert run("import", log, "-o", jobs, "-p", platform) == 0
    assert run("simulate", f"slurm:{conf}", "-w", jobs, "-p", platform, "-o", out) == 0
    capsys.readouterr()
    assert run("diff", log, out) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("the first difference is at ")
    causes = [line.split()[0] for line in lines if line.split()[0] in KINDS]
    assert causes
    assert run("simulate", "recorded", "-w", jobs, "-p", platform, "-o", site / "again") == 0
    capsys.readouterr()
    assert run("diff", "--tolerance", "4", log, site / "again") in (0, 1)
    assert "in hosts" not in capsys.readouterr().out


def test_hosts_and_times_of_a_log_are_those_of_its_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes without a job shift the numbers of others, and clocks are set back between the jobs."""
    log, conf, jobs, platform, out = (tmp_path / name for name in ("sacct.txt", "slurm.conf", "w.json", "p.xml", "out"))
    conf.write_text("NodeName=z0 CPUs=1\nNodeName=n[0-3] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    log.write_text(
        "JobID|User|Submit|Start|End|Elapsed|State|NNodes|NodeList|Timelimit\n"
        "1|a|2026-10-25T01:50:00|2026-10-25T01:50:01|2026-10-25T02:10:01|00:20:00|COMPLETED|1|n1|00:30:00\n"
        "2|a|2026-10-25T03:30:00|2026-10-25T03:30:01|2026-10-25T03:50:01|00:20:00|COMPLETED|1|n3|00:30:00\n"
        "3|a|2026-10-25T03:40:00|None|2026-10-25T03:50:01|00:00:00|CANCELLED|1|None assigned|00:30:00\n"
    )
    zone = ("--zone", "Europe/Paris")
    assert run("import", log, *zone, "--nodes", conf, "-o", jobs, "-p", platform) == 0
    assert run("simulate", "recorded", "-w", jobs, "-p", platform, "-o", out) == 0
    capsys.readouterr()
    assert run("diff", log, out, *zone, "--nodes", conf) == 0
    assert "1 of 3 jobs are left out: batproto import prints why" in capsys.readouterr().err
    assert run("diff", log, out, *zone) == 1
    found = capsys.readouterr()
    assert "2 in hosts" in found.out
    assert "its 2 hosts are numbered in the order of their names; if it was imported with --nodes, give" in found.err
    assert run("diff", log, out, "--nodes", conf) == 1
    found = capsys.readouterr()
    assert "1 in submitted" in found.out
    assert "numbered" not in found.err
