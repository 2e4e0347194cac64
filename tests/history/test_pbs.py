"""The accounting of PBS: records become jobs, and any line is a record or is counted."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from commands import run_here

from batprotocol.history import JobState, LeftOut, LoggedJob
from batprotocol.history.opening import format_of, read_log
from batprotocol.history.pbs import read_pbs
from batprotocol.history.pbs.records import held_hosts, seconds_of_span, vnode_resources

WITHOUT_ENGINE = True

BASE = 1795473199  # 2026-11-23 22:33:19 UTC


def record(kind: str, id: str, seconds: int, **values: object) -> str:
    """A record that was written so many seconds after the first one."""
    minutes, rest = divmod(19 + seconds, 60)
    text = " ".join(f"{key.replace('__', '.')}={value}" for key, value in values.items())
    return f"11/23/2026 22:{33 + minutes:02}:{rest:02};{kind};{id};{text}"


ASKED = {
    "Resource_List__nodect": 2,
    "Resource_List__ncpus": 8,
    "Resource_List__walltime": "00:02:00",
    "Resource_List__mem": "4gb",
}
WHO = {"user": "ada", "group": "lab", "account": '"my lab"', "jobname": "run", "queue": "batch"}
PRO = {**WHO, "ctime": BASE, "qtime": BASE, "etime": BASE + 1}
LOG = [
    record("Q", "1.head", 0, **PRO, **ASKED),
    record("S", "1.head", 10, **PRO, start=BASE + 10, exec_host="n1/0*4+n2/0*4", **ASKED),
    record("Q", "2.head", 12, queue="batch"),  # of Torque
    record("L", "license", 12, floating="license"),
    record("Q", "3[].head", 13, **PRO),
    record(
        "E",
        "1.head",
        70,
        **PRO,
        start=BASE + 10,
        end=BASE + 70,
        Exit_status=0,
        exec_host="n1/0*4+n2/0*4",
        exec_vnode="(n1:ncpus=4:mem=2097152kb:ngpus=1)+(n2:ncpus=4:mem=2gb)",
        Resource_List__place="scatter:excl",
        **ASKED,
    ),
    record(
        "S",
        "2.head",
        20,
        user="bob",
        queue="batch",
        ctime=BASE + 12,
        qtime=BASE + 12,
        start=BASE + 20,
        exec_host="n3/1+n3/0",
    ),
    record("R", "2.head", 40),
    record(
        "S",
        "2.head",
        60,
        user="bob",
        queue="batch",
        ctime=BASE + 12,
        qtime=BASE + 12,
        start=BASE + 60,
        exec_host="n4/0",
    ),
    record(
        "E",
        "2.head",
        99,
        user="bob",
        queue="batch",
        qtime=BASE + 12,
        start=BASE + 60,
        end=BASE + 90,
        exec_host="n4/0",
        Exit_status=271,
        Resource_List__walltime="00:00:30",
    ),
    record("E", "3[7].head", 95, **PRO, start=BASE + 80, end=BASE + 95, exec_host="n1/0-1,3", Exit_status=2),
    record("Q", "4.head", 96, queue="batch"),
    record("D", "4.head", 97, requestor="bob@head"),
    record("D", "0.head", 98, requestor="bob@head"),
    record("Q", "5.head", 98, **PRO, **ASKED),
    record("S", "6.head", 99, **PRO, start=BASE + 99, exec_host="n2/0"),
    "no record",
]


def read(path: Path, lines: list[str]) -> tuple[dict[str, LoggedJob], dict[str, int]]:
    path.write_text("\n".join(lines) + "\n")
    left_out = LeftOut()
    jobs = list(read_pbs(path, left_out))
    assert len({job.id for job in jobs}) == len(jobs)
    return {job.id: job for job in jobs}, {reason.reason: reason.count for reason in left_out}


def test_records_become_jobs(tmp_path: Path) -> None:
    jobs, reasons = read(tmp_path / "log", LOG)
    assert list(jobs) == ["1", "2", "3_7", "4", "5", "6"]
    first = jobs["1"]
    assert (first.first.submitted, first.first.eligible, first.first.started) == (BASE, BASE + 1, BASE + 10)
    assert (first.first.ended, first.first.state, first.first.hosts) == (BASE + 70, JobState.COMPLETED, ("n1", "n2"))
    assert (first.cores, first.memory, first.gres, first.exclusive) == (8, 4 << 30, (("gpu", 1),), True)
    assert (first.requested_hosts, first.requested_cores, first.requested_memory) == (2, 8, 4 << 30)
    assert (first.user, first.account, first.partition, first.walltime) == ("ada", "my lab", "batch", 120.0)
    second = jobs["2"]
    assert [(each.submitted, each.started, each.ended, each.state, each.hosts) for each in second.attempts] == [
        (BASE + 12, BASE + 20, BASE + 40, JobState.REQUEUED, ("n3",)),
        (BASE + 40, BASE + 60, BASE + 90, JobState.TIMEOUT, ("n4",)),
    ]
    assert (second.last.signal, second.cores, second.host_count) == (15, 1, 1)
    task = jobs["3_7"]
    assert (task.array, task.cores, task.first.state, task.first.exit_code) == ("3", 3, JobState.FAILED, 2)
    assert (jobs["4"].first.submitted, jobs["4"].first.started, jobs["4"].first.ended) == (BASE + 96, None, BASE + 97)
    assert [jobs[name].first.state for name in "456"] == [JobState.CANCELLED, JobState.PENDING, JobState.RUNNING]
    assert reasons == {
        "a record that is not about the submission, start or end of a job": 1,
        "an array: its tasks have records of their own": 1,
        "the submission of the job is not in the log": 1,
        "the line is not a record of PBS's accounting": 1,
    }


def test_times_of_records_have_a_zone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("\n".join(LOG[-6:-3]))
    (job,) = read_pbs(path, LeftOut(), zone="Europe/Paris")
    assert job.first.submitted == BASE + 96 - 3600


def test_the_command_imports_and_checks_it(tmp_path: Path) -> None:
    path = tmp_path / "20261123"
    path.write_text("\n".join(LOG))
    assert format_of(path) == "pbs"
    with read_log(path) as log:
        assert len(list(log)) == 6
    done = run_here("import", path, "--check", "--policies", "easy")
    assert done.status == 0
    assert "3 of 3 jobs start as in the log" in done.out


@pytest.mark.parametrize("seed", range(6))
def test_changed_lines_are_records_or_counted(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    lines = []
    for _ in range(300):
        line = list(random.choice(LOG))
        for _ in range(random.randint(0, 4)):
            place = random.randrange(len(line))
            line[place : place + random.choice([0, 1, 1, 9])] = random.choice(
                ["", ";", "=", '"', "+", "*", "-", "9" * 30, "é", "/"]
            )
        lines.append("".join(line).replace("\n", ""))
    path = tmp_path / "log"
    path.write_text("\n".join(lines))
    left_out = LeftOut()
    for job in read_pbs(path, left_out):
        assert job.attempts
        assert job.host_count >= 1
        assert job.cores is None or job.cores >= 0


@pytest.mark.parametrize(
    "text", ["", "/0", "n1/", "n1/a", "n1/0*x", "n1/0*99999999", f"n1/{'9' * 40}", "n1/1-", "+", "n1/0*-4"]
)
def test_hosts_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^|."):
        held_hosts(text)


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4:5", "-1", "1:", "1.5"])
def test_spans_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^|."):
        seconds_of_span(text)
    with pytest.raises(ValueError, match=r"^|."):
        vnode_resources(f"(n1:ncpus={text.replace(':', '')}y)")
    assert seconds_of_span("2:00:00:01") == 2 * 86_400 + 1
