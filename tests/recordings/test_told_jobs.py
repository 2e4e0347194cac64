"""Rows of jobs rebuilt from messages: Batsim's own jobs.csv says the same, but for the time that messages take."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import all_runs, jobs_csv, messages_of, some_of

from batprotocol import Message, OneShot
from batprotocol.edc import Scheduler
from batprotocol.model import Direction, FinalJobState, JobSubmittedEvent, RequestedCallEvent
from batprotocol.recordings.statistics import CapturedJob, JobBook, canonical_hosts, jobs_of
from batprotocol.simulator import JobRow, simulate
from batprotocol.testing import simulations

pytestmark = pytest.mark.once
LATENCY = 0.01
"""Seconds that messages take in these platforms at most; a job without any work ends 1e-5 seconds later in files."""
DECIMALS = 1.5e-6


@pytest.mark.parametrize("path", some_of([path for path in all_runs() if "fail" not in path.name], 4))
def test_rows_are_those_of_jobs_csv(path: Path) -> None:
    told = {job.job_id: job for job in jobs_of(messages_of(path))}
    rows = jobs_csv(path)
    if rows is None:
        return  # this one did not come to its end
    assert {name for name, job in told.items() if job.is_over} == set(rows)
    for name, row in rows.items():
        agree(told[name], row)


def agree(job: CapturedJob, row: dict[str, str]) -> None:
    assert job.state is not None
    assert job.state.name == row["final_state"]
    assert job.profile_id == row["profile"]
    assert job.resource_request == int(row["requested_number_of_resources"])
    assert (-1.0 if job.walltime is None else job.walltime) == pytest.approx(float(row["requested_time"]), abs=DECIMALS)
    assert job.hosts == row["allocated_resources"]
    assert job.submitted == pytest.approx(float(row["submission_time"]), abs=LATENCY if job.registered else DECIMALS)
    if row["starting_time"]:
        assert job.started is not None
        assert job.finished is not None
        assert -DECIMALS <= float(row["starting_time"]) - job.started <= LATENCY
        assert -1e-5 - DECIMALS <= job.finished - float(row["finish_time"]) <= LATENCY
    else:
        assert (job.started, job.rejected is not None) == (None, True)


class Everything(Scheduler):
    """Executes, rejects, waits and kills, in turns that the numbers decide."""

    choices: tuple[int, ...] = (0,)

    def __init__(self) -> None:
        self.turn = 0

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.turn += 1
        choice = self.choices[self.turn % len(self.choices)]
        if choice == 0 or event.job.resource_request > 4:
            self.reply.add_reject_job(event.job_id)
        else:
            self.reply.add_execute_job(event.job_id, range(event.job.resource_request))
            if choice == 2:
                self.reply.add_call_me_later(event.job_id, OneShot(int(self.now) + 3))

    def on_requested_call(self, event: RequestedCallEvent) -> None:
        if event.call_me_later_id in self.conversation.killable:
            self.reply.add_kill_jobs([event.call_me_later_id])


@given(simulations.workloads(hosts=4), st.lists(st.integers(0, 2), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None)
def test_rows_are_those_of_a_simulation(workload, choices) -> None:
    from batprotocol.simulator import Platform

    said: list[tuple[Direction, Message]] = []
    scheduler = type("Chosen", (Everything,), {"choices": tuple(choices)})()

    def on_turn(message: Message, reply: Message) -> None:
        said.extend([(Direction.BATSIM_TO_EDC, message), (Direction.EDC_TO_BATSIM, reply)])

    result = simulate(Platform.homogeneous(4), workload, scheduler, on_turn=on_turn)
    rows: dict[str, JobRow] = {f"{row.workload_name}!{row.job_id}": row for row in result.jobs}
    told = {job.job_id: job for job in jobs_of(said)}
    assert set(told) == set(rows)
    for name, row in rows.items():
        job = told[name]
        assert (job.state, job.hosts, job.profile_id) == (row.final_state, row.allocated_resources, row.profile)
        assert job.submitted == row.submission_time
        if row.starting_time is not None:
            assert job.started == pytest.approx(row.starting_time, abs=LATENCY)
            assert job.finished == pytest.approx(row.finish_time, abs=LATENCY)


def test_what_is_under_way_comes_last_and_is_not_over() -> None:
    submitted = JobSubmittedEvent(
        job_id="w0!1", job=Message.from_json(_JOB).events[0].job, submission_time=1.0, timestamp=1.0
    )
    (job,) = jobs_of([(Direction.BATSIM_TO_EDC, Message(1.0, (submitted,)))])
    assert (job.submitted, job.state, job.is_over, job.waited, job.ran) == (1.0, None, False, None, None)


_JOB = """{"now": 1.0, "events": [{"timestamp": 1.0, "event_type": "RegisterJobEvent", "event":
{"job_id": "w0!1", "job": {"resource_request": 1, "walltime": null, "profile_id": "p"}}}]}"""


def test_a_registered_job_has_its_profile_in_full_and_keeps_its_walltime() -> None:
    book = JobBook()
    book.take(Message(2.0), Direction.BATSIM_TO_EDC)
    book.take(Message.from_json(_JOB), Direction.EDC_TO_BATSIM)
    job = book.open["w0!1"]
    assert (job.profile_id, job.submitted, job.registered) == ("w0!p", 2.0, True)


def test_a_job_that_nobody_submitted_has_a_row_all_the_same() -> None:
    from batprotocol.model import JobCompletedEvent

    completed = JobCompletedEvent(job_id="w0!9", state=FinalJobState.COMPLETED_FAILED, return_code=3, timestamp=4.0)
    (job,) = jobs_of([(Direction.BATSIM_TO_EDC, Message(4.0, (completed,)))])
    assert (job.submitted, job.finished, job.return_code, job.host_count) == (None, 4.0, 3, 0)


@pytest.mark.parametrize(("text", "canonical"), [("0-3 4-7", "0-7"), ("8 0-2", "0-2 8"), ("h", "h"), ("", "")])
def test_host_sets_are_written_as_jobs_csv_writes_them(text: str, canonical: str) -> None:
    assert canonical_hosts(text) == canonical


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=5), st.sampled_from([" ", "  "]))
@settings(max_examples=200, deadline=None)
def test_the_canonical_form_is_that_of_the_set(intervals: list[tuple[int, int]], between: str) -> None:
    from batprotocol.conversation.hostsets import read_hosts
    from batprotocol.model import format_hosts
    from batprotocol.recordings.statistics import host_count

    text = between.join(f"{first}-{first + more}" if more or first % 2 else str(first) for first, more in intervals)
    members = {host for first, more in intervals for host in range(first, first + more + 1)}
    assert canonical_hosts(text) == format_hosts(members)
    assert host_count(text) == len(members) == read_hosts(text).size
