"""Logged jobs become the same workload in memory and in a file, and no job is lost without a reason."""

from __future__ import annotations

import io
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from logged import logs
from support import DATA

from batprotocol.simulator import described_platform, read_workload
from batprotocol.sites.logs import Attempt, AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.surveys import survey_of
from batprotocol.sites.logs.workloads import logged_workload, unit_for, write_logged_workload
from batprotocol.workloads.requests import read_request

WITHOUT_ENGINE = True


@settings(max_examples=40)
@given(logs, st.sampled_from(["last", "all"]), st.sampled_from([None, "hosts", "shares", "cores"]), st.booleans())
def test_the_file_has_the_same_workload(
    tmp_path_factory: pytest.TempPathFactory, log: list[LoggedJob], attempts: Any, unit: Any, priority: bool
) -> None:
    left_out, again = LeftOut(), LeftOut()
    made = logged_workload(log, attempts=attempts, unit=unit, priority=priority, left_out=left_out)
    path = tmp_path_factory.mktemp("logs") / "log.json"
    with path.open("wb") as file:
        count = write_logged_workload(file, iter(log), attempts=attempts, unit=unit, priority=priority, left_out=again)
    for lazy in (False, True):
        read = read_workload(path, lazy=lazy)
        assert list(read) == list(made)
        assert read.profiles == made.profiles
        assert read.resource_count == made.resource_count
    assert count == len(made)
    assert list(left_out) == list(again)


@given(logs, st.sampled_from(["last", "all"]))
def test_each_attempt_is_a_job_or_has_a_reason(log: list[LoggedJob], attempts: Any) -> None:
    left_out = LeftOut()
    made = logged_workload(log, attempts=attempts, left_out=left_out)
    assert len(made) + left_out.rows == sum(len(job.attempts) if attempts == "all" else 1 for job in log)


def test_a_job_that_ran_and_never_started_again_has_run() -> None:
    """Slurm requeues a job whose host fails; a user who deletes it while it waits does not undo that it ran."""
    ran = Attempt(submitted=0, started=10, ended=70, state=AttemptState.NODE_FAIL, hosts=("n1",))
    waits = Attempt(submitted=70, ended=90, state=AttemptState.CANCELLED)
    log = [LoggedJob(id="1", attempts=(ran, ran, waits), line=3), LoggedJob(id="2", attempts=(waits, waits), line=6)]
    left_out = LeftOut()
    [job] = logged_workload(log, left_out=left_out)
    assert (job.id.partition("!")[2], job.time) == ("1", 0.0)
    assert {(reason.reason, reason.is_row): reason.lines for reason in left_out} == {
        ("an earlier attempt of the job: it ran again", False): (3,),
        ("a later attempt of the job, which never started", False): (3,),
        ("the job never started", True): (6,),
    }


@given(logs)
def test_requests_can_be_read_and_times_are_those_of_the_log(log: list[LoggedJob]) -> None:
    made = logged_workload(log, attempts="all", unit="shares")
    origin = survey_of(log, attempts="all").first_submission
    starts = [attempt.started for job in log for attempt in job.attempts]
    for submission in made:
        read_request(submission.job.extra_data)
        assert submission.time >= 0
        recorded = json.loads(submission.job.extra_data or "")["recorded"]
        assert any(start is not None and abs(origin + recorded["start"] - start) < 1e-6 for start in starts)
    assert not made or made[0].time == 0


def job(id: str, submitted: float, started: float, ended: float, hosts: str = "", **values: Any) -> LoggedJob:
    names = tuple(hosts.split())
    attempt = Attempt(submitted=submitted, started=started, ended=ended, hosts=names, state=AttemptState.COMPLETED)
    return LoggedJob(id=id, attempts=(attempt,), **{"host_count": len(names) or 1, **values})


def data_of(made: Any) -> list[dict[str, Any]]:
    return [json.loads(submission.job.extra_data) for submission in made]


def test_hosts_have_the_numbers_of_the_platform() -> None:
    platform = described_platform("n[0-3]")
    left_out = LeftOut()
    log = [job("1", 0, 5, 9, "n3 n1 n2"), job("2", 1, 10, 11, "n0 x0"), job("3", 2, 3, 4, host_count=5)]
    made = logged_workload(log, platform=platform, left_out=left_out)
    assert [each["recorded"] for each in data_of(made)] == [{"start": 5, "hosts": "1-3"}, {"start": 10}]
    assert made.resource_count == 4
    assert {reason.reason for reason in left_out} == {
        "a host of the job is not on the platform",
        "the job had more hosts than the platform has",
    }


def test_jobs_that_had_hosts_together_ask_for_shares() -> None:
    log = [job("1", 0, 5, 9, "a", cores=2, memory=3 << 30, gres=(("gpu", 1),)), job("2", 0, 6, 8, "a b", cores=3)]
    survey = survey_of(log)
    assert unit_for(survey) == "shares"
    assert (survey.hosts["a"].cores, survey.hosts["a"].memory, survey.hosts["a"].gres) == (4, 3 << 30, (("gpu", 1),))
    assert survey.hosts["b"].cores == 2
    first, second = data_of(logged_workload(log))
    assert first == {"cores": 2, "memory": "3G", "gres": {"gpu": 1}, "recorded": {"start": 5, "hosts": "0"}}
    assert second == {"cores": 2, "recorded": {"start": 6, "hosts": "0-1"}}


def test_one_after_the_other_had_the_host_alone() -> None:
    survey = survey_of([job("1", 0, 5, 9, "a", cores=2), job("2", 0, 9, 12, "a", cores=3)])
    assert (unit_for(survey), survey.hosts["a"].cores, survey.hosts["a"].jobs) == ("hosts", 3, 1)


def test_without_names_cores_are_the_hosts_of_the_workload() -> None:
    log = [job("1", 0, 5, 9, cores=2), job("2", 0, 6, 8, cores=30)]
    survey = survey_of(log)
    assert unit_for(survey) == "cores"
    assert [each.job.resource_request for each in logged_workload(log)] == [2, 30]
    assert logged_workload(log).resource_count == survey.peak_cores == 32
    assert unit_for(survey, described_platform("n[0-3] cores=32")) == "shares"


def test_failed_jobs_return_their_codes() -> None:
    attempts = [
        (AttemptState.FAILED, 3),
        (AttemptState.NODE_FAIL, 0),
        (AttemptState.TIMEOUT, 0),
        (AttemptState.COMPLETED, 0),
    ]
    log = [
        LoggedJob(id=str(number), attempts=(Attempt(submitted=0, started=0, ended=5.5, state=state, exit_code=code),))
        for number, (state, code) in enumerate(attempts)
    ]
    made = logged_workload(log)
    codes = [made.profiles[each.job.profile_id].return_code for each in made]
    assert codes == [3, 1, 0, 0]
    assert sorted(made.profiles) == ["w0!delay5.5", "w0!delay5.5-ret1", "w0!delay5.5-ret3"]
    runs = [
        Attempt(submitted=at, started=at, ended=at + 5, state=state, exit_code=code)
        for at, state, code in (
            (0, AttemptState.FAILED, 4),
            (9, AttemptState.FAILED, 7),
            (20, AttemptState.CANCELLED, 0),
        )
    ]
    made = logged_workload([LoggedJob(id="1", attempts=tuple(runs))], attempts="all")
    assert [made.profiles[each.job.profile_id].return_code for each in made] == [4, 7, 0]


def test_dependencies_name_jobs_of_the_workload() -> None:
    left_out = LeftOut()
    log = [
        job("1", 0, 1, 2),
        job("5_1", 0, 1, 2, array="5"),
        job("2", 0, 3, 4, dependency="afterok:1:77"),
        job("3", 0, 3, 4, dependency="after:5+2"),
        job("4", 0, 3, 4, dependency="afterok:1?afterok:77"),
    ]
    made = logged_workload(log, left_out=left_out)
    found = dict(zip((submission.id[3:] for submission in made), data_of(made), strict=True))
    assert found["2"]["dependency"] == "afterok:1"
    assert found["3"]["dependency"] == "after:5+2"
    assert "dependency" not in found["4"]
    assert found["5_1"]["array"] == "5_1"
    assert [reason.count for reason in left_out] == [2]


def test_names_of_hosts_are_kept_if_the_platform_has_them() -> None:
    left_out = LeftOut()
    log = [
        job("1", 0, 1, 2, hosts="n1 n2 n3", nodelist="n[2-3]", exclude="n[0,9]"),
        job("2", 0, 1, 2, hosts="n0", nodelist="n0,n7"),
        job("3", 0, 1, 2, hosts="n0", nodelist="n[0-"),
        job("4", 0, 1, 2, hosts="n0", exclude="n9"),
    ]
    made = logged_workload(log, left_out=left_out)
    found = dict(zip((submission.id[3:] for submission in made), data_of(made), strict=True))
    assert (found["1"]["nodelist"], found["1"]["exclude"]) == ("n[2-3]", "n0")
    assert not {"nodelist", "exclude"} & {*found["2"], *found["3"], *found["4"]}
    assert sorted(reason.count for reason in left_out) == [1, 1]


def test_nothing_is_written_for_an_empty_log() -> None:
    file = io.BytesIO()
    assert write_logged_workload(file, []) == 0
    assert json.loads(file.getvalue()) == {"nb_res": 1, "jobs": [], "profiles": {}}


def test_the_command_describes_a_log(tmp_path: Path) -> None:
    sacct = tmp_path / "sacct.txt"
    sacct.write_bytes(lzma.decompress((DATA / "logs" / "sacct.txt.xz").read_bytes()))
    found = json.loads(run_here("workload", "info", sacct, "--json").out)
    assert (found["jobs"], found["left_out"], found["hosts"], found["users"]) == (26, 0, 9, 4)
    assert "jobs for parts of hosts" in run_here("workload", "info", sacct).out
