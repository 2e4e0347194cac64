"""PBS's accounting records: jobs that were written come back, and records of several versions are read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manager_lines import jobs_of, pbs_job, pbs_text
from msgspec.structs import replace
from sacct_lines import read, reasons

from batprotocol.errors import InputError
from batprotocol.history import JobState
from batprotocol.history.opening import format_of

WITHOUT_ENGINE = True

PRO = (
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
        found, left_out = read(Path(folder), text, "pbs", zone)
    assert sorted((replace(job, line=0) for job in found), key=lambda job: job.id) == sorted(
        jobs, key=lambda job: job.id
    )
    assert {reason.reason for reason in left_out} <= {"a record of licenses"}


def test_pbs_pro(tmp_path: Path) -> None:
    (job,), left_out = read(tmp_path, PRO, "pbs")
    assert (job.host_count, job.cores, job.memory, job.gres) == (2, 3, 11 * 2**30, (("gpu", 1),))
    assert (job.requested_hosts, job.requested_cores, job.requested_memory) == (2, 3, 20 * 2**30)
    assert (job.account, job.exclusive, job.walltime, job.requested_gres) == ("S1 b", True, 3600.0, ())
    attempt = job.last
    assert (attempt.started, attempt.ended, attempt.hosts) == (1770865936.0, 1770865941.0, ("c65", "c70"))
    assert (attempt.state, attempt.exit_code, attempt.signal) == (JobState.COMPLETED, 0, None)
    assert not list(left_out)


def test_torque(tmp_path: Path) -> None:
    (job,), _ = read(tmp_path, TORQUE, "pbs")
    assert (job.cores, job.requested_cores, job.requested_hosts) == (4, 4, 2)
    assert (job.last.hosts, job.requested_gres) == (("a.site", "b.site"), (("gpu", 2),))
    assert (job.last.signal, job.last.exit_code, job.last.state) == (15, 0, JobState.FAILED)
    short = TORQUE.replace("walltime=3600", "walltime=106")
    (job,), _ = read(tmp_path, short, "pbs")
    assert job.last.state is JobState.TIMEOUT


def test_the_content_shows_the_format(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(TORQUE)
    assert format_of(path) == "pbs"
    path.write_text("no record\n")
    with pytest.raises(InputError, match="expected a record of PBS"):
        read(tmp_path, "no record\n", "pbs")


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
        "nothing\n\n" + PRO + PRO
    )
    found, left_out = read(tmp_path, text, "pbs")
    assert [job.id for job in found] == ["281"]
    assert reasons(left_out) == {
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
    found, left_out = read(tmp_path, text, "pbs")
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
    found, _ = read(tmp_path, text, "pbs", "Europe/Paris")
    begin = found[0].first.submitted
    assert [job.first.submitted - begin for job in found] == [0, 31 * 60, 51 * 60, 71 * 60]
