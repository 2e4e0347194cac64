"""Simulations in which nothing, or next to nothing, happens: each of their parts is there nevertheless."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from batprotocol.edc import Scheduler
from batprotocol.model import DelayProfile, JobSubmittedEvent, OneShot, ParallelTaskProfile, SimulationBeginsEvent
from batprotocol.simulator import ExternalEventList, Platform, Result, StaticJob, Watts, Workload, simulate
from batprotocol.studies.comparing.schedules import read_schedule

WITHOUT_ENGINE = True

PLATFORM = Platform.homogeneous(2, watts=Watts(10.0, 20.0, 100.0))
NOTHING = Workload([])
WORKLOADS = {"none": [], "empty": [NOTHING], "two empty": [NOTHING, Workload([], name="w1")]}
LISTS = {"none": [], "empty": [ExternalEventList.of([])], "one": [ExternalEventList.of([(3.0, "")])]}
JOB = Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))])


class Rejects(Scheduler):
    """Executes no job, and asks for nothing."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_reject_job(event.job_id)


class Calls(Rejects):
    """Has a call come, that time goes on."""

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.reply.add_call_me_later("later", OneShot(7))


class Executes(Scheduler):
    """Executes each job at once."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, "0")


def read(result: Result, folder: Path) -> dict[str, object]:
    """schedule.json, after all that a result tells was asked for once."""
    assert all((str(result), repr(result), result._repr_html_(), result.facts()))
    assert len(result.utilisation_over_time(3)) == len(result.queue_over_time(3)) == 3
    assert result.metrics().nb_jobs == result.nb_jobs_finished == 0
    assert len(list(result.jobs)) == result.nb_jobs
    text = (folder / "schedule.json").read_text()
    schedule: dict[str, object] = json.loads(text.replace("-nan", "null"))
    return schedule


@pytest.mark.parametrize("scheduler", [Rejects, Calls])
@pytest.mark.parametrize(
    ("workloads", "lists", "energy", "corrected"), list(product(WORKLOADS, LISTS, (False, True), (False, True)))
)
def test_nothing_is_submitted(
    tmp_path: Path, workloads: str, lists: str, energy: bool, corrected: bool, scheduler: type[Scheduler]
) -> None:
    result = simulate(
        PLATFORM,
        WORKLOADS[workloads],
        scheduler(),
        external_events=LISTS[lists],
        energy=energy,
        corrected=corrected,
        output=f"{tmp_path}/",
    )
    schedule = read(result, tmp_path)
    assert (schedule["consumed_joules"], schedule["nb_jobs"], schedule["mean_slowdown"]) == (0.0, 0, None)
    assert result.consumed_joules == (0.0 if energy else None)
    for file in tmp_path.glob("*.csv"):
        assert len(file.read_text().splitlines()) == (2 if file.name == "pstate_changes.csv" else 1)


@pytest.mark.parametrize("energy", [False, True])
def test_all_is_rejected(tmp_path: Path, energy: bool) -> None:
    schedule = read(simulate(PLATFORM, JOB, Rejects(), energy=energy, output=f"{tmp_path}/"), tmp_path)
    assert (schedule["nb_jobs_rejected"], schedule["makespan"]) == (1, 0.0)


@pytest.mark.parametrize("energy", [False, True])
def test_a_job_does_nothing(tmp_path: Path, energy: bool) -> None:
    workload = Workload([StaticJob("1", 0.0, 1, ParallelTaskProfile([0.0]))])
    result = simulate(PLATFORM, workload, Executes(), energy=energy, output=f"{tmp_path}/")
    (row,) = result.jobs
    assert row.execution_time == 0.00001


def test_the_energy_is_unknown_if_no_job_ran(tmp_path: Path) -> None:
    """Batsim writes a number below zero then. It is in its file, and nowhere else."""
    jobs = Workload([StaticJob("1", 5.0, 1, DelayProfile(1.0))])
    result = simulate(PLATFORM, jobs, Rejects(), energy=True, output=f"{tmp_path}/")
    assert result.totals is not None
    assert result.totals.consumed_joules < 0
    assert (result.consumed_joules, result.metrics().consumed_joules) == (None, None)
    assert read_schedule(str(tmp_path)).consumed_joules is None
