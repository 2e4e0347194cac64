"""What a conversation keeps of jobs that have ended: next to nothing, and all that the rules need."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batprotocol
from batprotocol import MessageBuilder, model
from batprotocol.conversation import Conversation, JobRecord, JobState
from batprotocol.conversation.known_jobs import Jobs, JobsById
from batprotocol.model import FinalJobState

WITHOUT_ENGINE = True

DONE = FinalJobState.COMPLETED_SUCCESSFULLY


def begun() -> Conversation:
    """A conversation in which the simulation has begun, on one host."""
    conversation, builder = Conversation(), MessageBuilder()
    builder.add_edc_hello("me", "1")
    conversation.begin()
    conversation.hello(builder.finish_message())
    builder.clear()
    speed = model.Doubles([1e9])
    builder.add_simulation_begins(
        batsim_version="5.0.0-rc2",
        computation_hosts=[model.Host(id=0, name="host0", computation_speed=speed)],
        workloads=[model.WorkloadAndFilename("w0", "workload.json")],
    )
    assert not conversation.receive(builder.finish_message())
    assert not conversation.close_reply(model.Message(0.0))
    return conversation


def submitted(conversation: Conversation, now: float, job_id: str, *events: model.Event) -> None:
    job = model.Job(resource_request=1, profile_id="w0!delay")
    new = model.JobSubmittedEvent(timestamp=now, job_id=job_id, job=job, submission_time=now)
    assert not conversation.receive(model.Message(now, (*events, new)))


def completed(now: float, job_id: str) -> model.Event:
    return model.JobCompletedEvent(timestamp=now, job_id=job_id, state=DONE)


def executes(conversation: Conversation, now: float, job_id: str) -> Iterator[str]:
    """Execute a job; the rules that this breaks."""
    allocation = model.AllocationPlacement("0")
    violations = conversation.offer(model.ExecuteJobEvent(timestamp=now, job_id=job_id, allocation=allocation))
    conversation.close_reply(model.Message(now))
    return (violation.rule for violation in violations)


def one_after_the_other(conversation: Conversation, first: int, jobs: int) -> None:
    """Each job ends when the next one is submitted, or every third is rejected."""
    last: list[model.Event] = []
    for number in range(first, first + jobs):
        now, job_id = float(number + 1), f"w0!{number}"
        submitted(conversation, now, job_id, *last)
        if number % 3:
            assert not list(executes(conversation, now, job_id))
            last = [completed(now + 1.0, job_id)]
        else:
            assert not conversation.offer(model.RejectJobEvent(timestamp=now, job_id=job_id))
            conversation.close_reply(model.Message(now))
            last = []
    conversation.receive(model.Message(now + 1.0, tuple(last)))
    conversation.close_reply(model.Message(now + 1.0))


def test_a_job_that_has_ended_takes_few_bytes() -> None:
    conversation, first, jobs = begun(), 1_000, 5_000
    one_after_the_other(conversation, 0, first)
    gc.collect()
    tracemalloc.start()
    try:
        one_after_the_other(conversation, first, jobs)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(conversation.jobs) == first + jobs
    assert kept < 30 * jobs  # a hundred are allowed, a dict of ids takes that much


@pytest.mark.parametrize(
    "name",
    [
        lambda number: f"w0!{'' if number % 3 else 'j'}{number}",
        lambda number: f"w0!{10 * number}",
        lambda number: f"w0!{number:x}",
        lambda number: f"w{number}!{32 * number % 4096}",
        lambda number: f"{number}!{64 * number}",
        lambda number: f"w0!{number:08}",
    ],
    ids=["two-kinds", "sparse", "hexadecimal", "workloads", "far-workloads", "zeros"],
)
def test_so_do_ids_of_all_kinds(name: Callable[[int], str]) -> None:
    jobs, count, others = Jobs(), 6_000, 8_000
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(count):
            jobs.live[name(number)] = JobRecord(JobState.COMPLETED, None, "w0!p", final=DONE)
            jobs.settle(name(number))
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 40 * count + 100_000  # what is reserved for more of them; a dict of ids takes twice as much
    assert all(jobs.get(name(number)) for number in range(count))
    assert not any(jobs.get(name(number)) for number in range(count, others))


def test_rules_know_the_jobs_that_have_ended() -> None:
    conversation = begun()
    one_after_the_other(conversation, 0, 500)
    now = 600.0
    job = model.Job(resource_request=1, profile_id="w0!delay")
    again = model.JobSubmittedEvent(timestamp=now, job_id="w0!100", job=job, submission_time=now)
    found = conversation.receive(model.Message(now, (again, completed(now, "w0!100"), completed(now, "w0!nobody"))))
    rules = ["job.submitted-twice", "job.completed-not-running", "job.completed-not-running"]
    assert [violation.rule for violation in found] == rules
    assert "ends, but it is over, and Batsim has forgotten it" in found[1].text
    for job_id, state in (("w0!100", "over"), ("w0!99", "rejected")):
        kill = model.KillJobsEvent(timestamp=now, job_ids=(job_id,))
        reject = model.RejectJobEvent(timestamp=now, job_id=job_id)
        for event, rule in ((kill, "job.kill-state"), (reject, "job.reject-state")):
            (violation,) = conversation.offer(event)
            assert violation.rule == rule
            assert f"it is {state}, and" in violation.text
    assert list(executes(conversation, now, "w0!100")) == ["job.execute-state"]


def test_all_is_known_of_a_job_until_batsim_speaks_again() -> None:
    conversation = begun()
    submitted(conversation, 1.0, "w0!1")
    assert not list(executes(conversation, 1.0, "w0!1"))
    submitted(conversation, 2.0, "w0!2", completed(2.0, "w0!1"))
    ended = JobRecord(JobState.COMPLETED, None, "w0!delay", since=1.0, final=DONE)
    assert conversation.jobs["w0!1"] == ended
    assert not list(executes(conversation, 2.0, "w0!2"))
    submitted(conversation, 3.0, "w0!3")
    assert conversation.jobs["w0!1"] == JobRecord(JobState.COMPLETED, None, "", final=DONE)
    assert conversation.jobs["w0!2"].since == 2.0
    assert list(conversation.jobs) == ["w0!1", "w0!2", "w0!3"]


def test_a_job_is_kept_while_its_kill_or_its_acknowledgement_is_due() -> None:
    jobs = Jobs()
    jobs.live["w0!1"] = JobRecord(JobState.COMPLETED, None, "w0!p", final=DONE, kill_due=True)
    jobs.live["w0!2"] = JobRecord(JobState.COMPLETED, None, "w0!p", final=DONE, acknowledgement_due=True)
    for job_id in ("w0!1", "w0!2", "w0!3"):
        jobs.settle(job_id)
    assert [job.profile_id for job in JobsById(jobs).values()] == ["w0!p", "w0!p"]


@given(
    st.dictionaries(
        st.text(st.characters()) | st.from_regex(r"w[01]!(j|0)?[0-9]{1,11}|[a-z0-9]{2}![0-9]", fullmatch=True),
        st.sampled_from([*FinalJobState, 200]),
    ),
    st.integers(0, 200),
    st.lists(st.text(st.characters()), max_size=5),
)
def test_jobs_are_like_a_dict(known: dict[str, FinalJobState], more: int, others: list[str]) -> None:
    """Of any ids, also such that UTF-8 cannot tell, and with states that nobody knows."""
    known |= {f"w0!{number}": DONE for number in range(more)}
    jobs = Jobs()
    for job_id, final in known.items():
        rejected = final is FinalJobState.REJECTED
        state = JobState.REJECTED if rejected else JobState.COMPLETED
        jobs.live[job_id] = JobRecord(state, None, "w0!p", final=final)
        jobs.settle(job_id)
        jobs.settle(job_id)
    for each in (jobs, copy.deepcopy(jobs), pickle.loads(pickle.dumps(jobs))):
        assert sorted(each.live) == sorted(each.settled)
        by_id = JobsById(each)
        assert repr(by_id) == f"<Jobs: 0 active, {len(known)} ended>"
        assert len(by_id) == len(known)
        assert {job_id: record.final for job_id, record in by_id.items()} == known
        for job_id in others:
            assert (job_id in by_id) == (job_id in known)
            assert (by_id.get(job_id) is None) == (job_id not in known)
        assert "" not in by_id or "" in known
        assert 7 not in by_id


@pytest.mark.slow
def test_they_are_found_by_another_process() -> None:
    """Where Python hashes in another way."""
    jobs = Jobs()
    for number in range(1_000):
        jobs.live[f"w0!{number}"] = JobRecord(JobState.COMPLETED, None, "w0!p", final=DONE)
        jobs.settle(f"w0!{number}")
    program = (
        "import pickle, sys; jobs = pickle.load(sys.stdin.buffer); "
        "print(sum(jobs.get(f'w0!{n}') is not None for n in range(2000)))"
    )
    place = Path(batprotocol.__file__).parent.parent  # and not the source tree, if another one is installed
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(place),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(jobs),
            capture_output=True,
            check=True,
            env=environment,
            cwd=place,
        )
        assert done.stdout.split() == [b"1000"]


def test_what_is_not_there() -> None:
    with pytest.raises(KeyError, match="w0!1"):
        JobsById(Jobs())["w0!1"]
    assert JobsById(Jobs()).get("w0!1", 5) == 5
