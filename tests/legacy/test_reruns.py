"""Jobs that run again, behind an older protocol: the simulation ends, with the same rows as without it."""

from __future__ import annotations

import logging
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_translate import FCFS, Through

from batprotocol import model
from batprotocol.legacy import json_events as e
from batprotocol.legacy.translate import Options, ToOldScheduler
from batprotocol.policies import named
from batprotocol.simulator import Platform, Result, StaticJob, Workload, simulate

WITHOUT_ENGINE = True
VERSIONS = ("1.0", "1.2", "1.4", "2.0", "3.1", "4.2")
HOSTS = 4
FINISHED = ("submission_finished", "registration_finished")


class Rerunner(FCFS):
    """First come, first served. Some runs are killed after some seconds, and the job is registered again at once.

    Args:
        limits: the seconds after which each run of a job is killed, by the id of the job; then it runs to its end.
    """

    features = model.EDCRequestedSimulationFeatures(
        dynamic_registration=True, profile_reuse=True, forward_profiles_on_job_submission=True
    )

    def __init__(self, limits: dict[str, list[int]]) -> None:
        super().__init__()
        self.limits = limits
        self.jobs: dict[str, model.Job] = {}
        self.is_last = self.is_finished = False

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        super().on_job_submitted(event)
        self.jobs[event.job_id] = event.job

    def start(self, job_id: str, job: model.Job) -> None:
        super().start(job_id, job)
        first, run = self.first_of(job_id)
        limits = self.limits.get(first, [])
        if run < len(limits):
            self.reply.add_call_me_later(job_id, model.OneShot(math.ceil(self.now) + limits[run]))

    def on_requested_call(self, event: model.RequestedCallEvent) -> None:
        if event.call_me_later_id in self.running:
            self.reply.add_kill_jobs([event.call_me_later_id])

    def on_jobs_killed(self, event: model.JobsKilledEvent) -> None:
        for job_id in event.job_ids:
            first, run = self.first_of(job_id)
            again = f"again!{first.replace('!', '-')}~{run + 1}"
            self.jobs[again] = self.queue[again] = self.jobs[job_id]
            self.reply.add_register_job(again, self.jobs[job_id])

    def first_of(self, job_id: str) -> tuple[str, int]:
        """The job as it was submitted, and how many runs came before this one."""
        if not job_id.startswith("again!"):
            return job_id, 0
        first, _, run = job_id.removeprefix("again!").rpartition("~")
        return first.replace("-", "!"), int(run)

    def on_all_static_jobs_have_been_submitted(self, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> None:
        self.is_last = True

    def decide(self) -> None:
        super().decide()
        if self.is_last and not (self.is_finished or self.queue or self.running):
            self.is_finished = True
            self.reply.add_finish_registration()


def rows(result: Result) -> Counter[tuple[object, ...]]:
    """The rows of jobs.csv without the names of jobs; times to the millisecond."""
    assert result.is_complete
    return Counter(
        (
            row.job_id if row.final_state.name == "REJECTED" else "",
            row.final_state.name,
            *(-1.0 if time is None else round(time, 2) for time in (row.starting_time, row.finish_time)),
            row.allocated_resources,
        )
        for row in result.jobs
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[StaticJob], dict[str, list[int]]]:
    """Jobs with pauses between them in which nothing runs, and the runs that are killed."""
    jobs, limits, time = [], {}, 0.0
    for number in range(draw(st.integers(1, 6))):
        time += draw(st.sampled_from([0.0, 3.25, 200.5]))
        seconds, size = draw(st.integers(1, 40)), draw(st.integers(1, HOSTS))
        jobs.append(StaticJob(str(number), time, size, model.DelayProfile(seconds + 0.5)))
        limits[f"w0!{number}"] = draw(st.lists(st.integers(1, 50), max_size=3))
    return jobs, limits


@pytest.mark.parametrize("version", VERSIONS)
@given(case=cases(), acknowledge=st.booleans())
def test_simulations_with_reruns_end_alike(
    version: str, case: tuple[list[StaticJob], dict[str, list[int]]], acknowledge: bool
) -> None:
    jobs, limits = case
    options = Options(dynamic=True, acknowledge=acknowledge, forward_profiles=True)
    through = Through(Rerunner(limits), version, options)
    machine = Platform.homogeneous(HOSTS)
    expected = simulate(machine, Workload(jobs), Rerunner(limits))
    result = simulate(machine, Workload(jobs), through)
    assert rows(result) == rows(expected)
    said = [event.type for event in through.said if isinstance(event, e.Notify)]
    assert said[-1] in FINISHED
    # Registration is open and closed in turn, and Batsim is told only of changes.
    assert said[1:] == ["continue_submission", FINISHED[0]] * (len(said) // 2)


@pytest.mark.parametrize("version", ["1.4", "2.0"])
@pytest.mark.parametrize("name", ["easy+checkpoint=20,2", "fcfs+requeue"])
def test_policies_that_register_jobs_end_behind_batsims_that_do_not_report_the_last_job(
    name: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [StaticJob(str(n), n * 11.0, n % 5 + 1, model.DelayProfile(30.0 + n * 7 % 90), 250.0) for n in range(8)]
    machine = Platform.homogeneous(8)
    expected = simulate(machine, Workload(jobs), named(name)())
    through = Through(named(name)(), version, Options(dynamic=True, forward_profiles=True))
    with caplog.at_level(logging.WARNING, "batprotocol.legacy"):
        assert rows(simulate(machine, Workload(jobs), through)) == rows(expected)
    assert "ends-early" not in caplog.text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_component_that_registers_nothing_does_not_keep_batsim_waiting(version: str) -> None:
    jobs = [StaticJob(str(number), 20.0 * number, 1, model.DelayProfile(10.0)) for number in range(3)]
    through = Through(FCFS(), version, Options(dynamic=True))
    result = simulate(Platform.homogeneous(HOSTS), Workload(jobs), through)
    assert result.is_complete
    assert [event.type for event in through.said if isinstance(event, e.Notify)] == [FINISHED[version >= "3"]]


def completed(job_id: str, now: float) -> model.Message:
    state = model.FinalJobState.COMPLETED_SUCCESSFULLY
    return model.Message(now, (model.JobCompletedEvent(timestamp=now, job_id=job_id, state=state, return_code=0),))


def finished(reply: model.Message) -> bool:
    return any(isinstance(event, model.FinishRegistrationEvent) for event in reply.events)


@pytest.mark.parametrize("undone", [False, True])
def test_the_end_of_registration_can_be_undone_until_no_job_is_left(undone: bool) -> None:
    to = ToOldScheduler("4.2", Options(dynamic=True))
    job = model.Job(resource_request=1, profile_id="w0!p")
    submitted = model.JobSubmittedEvent(timestamp=0.0, job_id="w0!1", job=job, submission_time=0.0)
    last = model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=0.0)
    assert to.hear(model.Message(0.0, (submitted, last))) is not None
    assert not finished(
        to.say(e.Message(0.0, (e.Notify(0.0, "registration_finished"), e.ExecuteJob(0.0, "w0!1", "0"))))
    )
    if undone:
        to.hear(
            model.Message(
                1.0, (model.RequestedCallEvent(timestamp=1.0, call_me_later_id="x", last_periodic_call=False),)
            )
        )
        assert not finished(to.say(e.Message(1.0, (e.Notify(1.0, "continue_registration"),))))
    told = to.hear(completed("w0!1", 5.0))
    assert (told is None) is not undone  # an older Batsim sends the last JOB_COMPLETED with SIMULATION_ENDS
    reply = to.say(None if told is None else e.Message(5.0, ()))
    assert finished(reply) is not undone
    if not undone:
        ends = to.hear(model.Message(5.0, (model.SimulationEndsEvent(timestamp=5.0),)))
        assert ends is not None
        assert [type(event) for event in ends.events] == [e.JobCompleted, e.SimulationEnds]
