"""The accounting of PBS: records become jobs, and any line is a record or is counted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import jobs_of, pbs_job, pbs_text
from msgspec.structs import replace
from sacct_lines import read as read_text
from sacct_lines import reasons as reasons_of

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.formats import format_of, read_log
from batprotocol.sites.logs.managers.pbs import given_of, read_pbs, span_of

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
    assert (first.first.ended, first.first.state, first.first.hosts) == (
        BASE + 70,
        AttemptState.COMPLETED,
        ("n1", "n2"),
    )
    assert (first.cores, first.memory, first.gres, first.exclusive) == (8, 4 << 30, (("gpu", 1),), True)
    assert (first.requested_hosts, first.requested_cores, first.requested_memory) == (2, 8, 4 << 30)
    assert (first.user, first.account, first.partition, first.walltime) == ("ada", "my lab", "batch", 120.0)
    second = jobs["2"]
    assert [(each.submitted, each.started, each.ended, each.state, each.hosts) for each in second.attempts] == [
        (BASE + 12, BASE + 20, BASE + 40, AttemptState.REQUEUED, ("n3",)),
        (BASE + 40, BASE + 60, BASE + 90, AttemptState.TIMEOUT, ("n4",)),
    ]
    assert (second.last.signal, second.cores, second.host_count) == (15, 1, 1)
    task = jobs["3_7"]
    assert (task.array, task.cores, task.first.state, task.first.exit_code) == ("3", 3, AttemptState.FAILED, 2)
    assert (jobs["4"].first.submitted, jobs["4"].first.started, jobs["4"].first.ended) == (BASE + 96, None, BASE + 97)
    assert [jobs[name].first.state for name in "456"] == [
        AttemptState.CANCELLED,
        AttemptState.PENDING,
        AttemptState.RUNNING,
    ]
    assert reasons == {
        "a record of licenses": 1,
        "a record of a whole array: its tasks have records of their own": 1,
        "the log has neither the submission, the start nor the end of the job": 1,
        "the line is not an accounting record": 1,
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


@pytest.mark.parametrize(
    "text", ["", "/0", "n1/", "n1/a", "n1/0*x", "n1/0*99999999", f"n1/{'9' * 40}", "n1/1-", "+", "n1/0*-4"]
)
def test_hosts_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^|."):
        given_of({"exec_host": text or "+"})


@pytest.mark.parametrize("text", ["x", "1:2:3:4:5", "-1", "1:", "1.5"])
def test_spans_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^|."):
        span_of(text)
    with pytest.raises(ValueError, match=r"^|."):
        given_of({"exec_vnode": f"(n1:ncpus={text.replace(':', '')}y)"})
    assert span_of("2:00:00:01") == 2 * 86_400 + 1


PBS_PRO = (
    '02/11/2026 20:12:21;E;281.host;user=ada group=lab account="S1 b" project=_pbs_project_default jobname=run'
    " queue=htc ctime=1770865912 qtime=1770865912 etime=1770865912 start=1770865936 exec_host=c65/24+c70/17*2"
    " exec_vnode=(c65:ncpus=1:mem=10485760kb)+(c70[1]:ncpus=2:ngpus=1:mem=1gb) Resource_List.mem=20gb"
    " Resource_List.ncpus=3 Resource_List.ngpus=0 Resource_List.nodect=2 Resource_List.place=scatter:exclhost"
    " Resource_List.select=2:ncpus=1:mem=10GB:ompthreads=1 Resource_List.walltime=01:00:00 session=0 end=1770865941"
    " Exit_status=0 resources_used.cput=00:00:00 resources_used.walltime=00:00:01 eligible_time=00:00:26 run_count=1\n"
)
TORQUE = (
    "04/05/2017 13:06:53;E;45.master;user=u group=g jobname=STDIN queue=short ctime=1491390300 qtime=1491390300"
    " etime=1491390300 start=1491390307 owner=u@login exec_host=a.site/0-1+b.site/0-1 Resource_List.vmem=1gb"
    " Resource_List.nodes=2:ppn=2:gpus=1 Resource_List.neednodes=2 Resource_List.walltime=3600 session=15273"
    " total_execution_slots=4 unique_node_count=2 end=1491390413 Exit_status=271 resources_used.walltime=00:01:44\n"
)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10**6), max_size=6), st.sampled_from([None, "Europe/Paris"]))
def test_jobs_come_back(seeds: list[int], zone: str | None) -> None:
    jobs = jobs_of(pbs_job, seeds)
    text = pbs_text(jobs, ZoneInfo(zone or "UTC")) or "01/01/2026 00:00:00;L;license;x\n"
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read_text(Path(folder), text, "pbs", zone)
    assert sorted((replace(job, line=0) for job in found), key=lambda job: job.id) == sorted(
        jobs, key=lambda job: job.id
    )
    assert {reason.reason for reason in left_out} <= {"a record of licenses"}


def test_pbs_pro(tmp_path: Path) -> None:
    (job,), left_out = read_text(tmp_path, PBS_PRO, "pbs")
    assert (job.host_count, job.cores, job.memory, job.gres) == (2, 3, 11 * 2**30, (("gpu", 1),))
    assert (job.requested_hosts, job.requested_cores, job.requested_memory) == (2, 3, 20 * 2**30)
    assert (job.account, job.exclusive, job.walltime, job.requested_gres) == ("S1 b", True, 3600.0, ())
    attempt = job.last
    assert (attempt.started, attempt.ended, attempt.hosts) == (1770865936.0, 1770865941.0, ("c65", "c70"))
    assert (attempt.state, attempt.exit_code, attempt.signal) == (AttemptState.COMPLETED, 0, None)
    assert not list(left_out)


def test_torque(tmp_path: Path) -> None:
    (job,), _ = read_text(tmp_path, TORQUE, "pbs")
    assert (job.cores, job.requested_cores, job.requested_hosts) == (4, 4, 2)
    assert (job.last.hosts, job.requested_gres) == (("a.site", "b.site"), (("gpu", 2),))
    assert (job.last.signal, job.last.exit_code, job.last.state) == (15, 0, AttemptState.FAILED)
    short = TORQUE.replace("walltime=3600", "walltime=106")
    (job,), _ = read_text(tmp_path, short, "pbs")
    assert job.last.state is AttemptState.TIMEOUT


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a record of PBS"):
        read_text(tmp_path, "no record\n", "pbs")


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    text = (
        "02/11/2026 20:00:00;L;license;floating license hour:0\n"
        "02/11/2026 20:00:00;Y;R7.host;owner=u\n"
        "02/11/2026 20:00:00;Q;5[].host;queue=q array_indices=1-3\n"
        "02/11/2026 20:00:00;Q;R8.host;queue=q\n"
        "02/11/2026 20:00:01;D;9.host;requestor=u@host\n"
        "02/31/2026 20:00:01;Q;9.host;queue=q\n"
        "02/11/2026 20:00:02;R;10.host;\n"
        "02/11/2026 20:00:03;E;11.other;ctime=5 start=6 end=7\n"
        "02/11/2026 20:00:03;E;12.host;ctime=500 start=600 end=550\n"
        "02/11/2026 20:00:03;E;13.host;ctime=500 start=x end=550\n"
        "02/11/2026 20:00:03;X;13.host;\n"
        "nothing\n\n" + PBS_PRO + PBS_PRO
    )
    found, left_out = read_text(tmp_path, text, "pbs")
    assert [job.id for job in found] == ["281"]
    assert reasons_of(left_out) == {
        "a record of licenses": (1, (1,)),
        "a record of a reservation": (1, (2,)),
        "a record of a whole array: its tasks have records of their own": (1, (3,)),
        "the id is not one of PBS's jobs": (1, (4,)),
        "the log has neither the submission, the start nor the end of the job": (1, (5,)),
        "the time of the record cannot be read": (1, (6,)),
        "a job runs again that has not started": (1, (7,)),
        "the job is of another server than the first one of the log": (1, (8,)),
        "the job ends before it starts, or before it is submitted": (1, (9,)),
        "the value of start cannot be read": (1, (10,)),
        "a record of a type that PBS does not have": (1, (11,)),
        "the line is not an accounting record": (1, (12,)),
        "the row says the same again, or less: the log has it twice": (1, (14,)),
    }


def test_jobs_without_an_end(tmp_path: Path) -> None:
    text = (
        "02/11/2026 20:00:00;Q;1.host;queue=q\n"
        "02/11/2026 20:00:05;S;2.host;queue=q ctime=1770840000 start=1770840005 exec_host=a/0\n"
        "02/11/2026 20:00:09;D;2.host;requestor=u@host\n"
        "02/11/2026 20:00:05;S;3.host;queue=q ctime=1770840000 start=1770840005 exec_host=a/0\n"
        "02/11/2026 20:00:06;R;3.host;\n"
    )
    found, left_out = read_text(tmp_path, text, "pbs")
    states = {job.id: [attempt.state.value for attempt in job.attempts] for job in found}
    assert states == {"1": ["PENDING"], "2": ["CANCELLED"], "3": ["REQUEUED", "PENDING"]}
    assert found[0].first.submitted == 1770840000.0
    assert found[1].last.ended == 1770840009.0
    assert not list(left_out)


def test_a_time_that_comes_twice_is_not_before_the_last_record(tmp_path: Path) -> None:
    text = "".join(
        f"10/25/2026 {time};Q;{number}.host;queue=q\n"
        for number, time in enumerate(["01:59:00", "02:30:00", "02:50:00", "02:10:00"], 1)
    )
    found, _ = read_text(tmp_path, text, "pbs", "Europe/Paris")
    begin = found[0].first.submitted
    assert [job.first.submitted - begin for job in found] == [0, 31 * 60, 51 * 60, 71 * 60]
