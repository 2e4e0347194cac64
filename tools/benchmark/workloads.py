"""The six messages that are measured: their shapes and sizes are those of Batsim 5's own traffic.

They hold no state and are the same in every run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from batprotocol import model

__all__ = ["WORKLOADS", "Workload"]


@dataclass(frozen=True, eq=False)
class Workload:
    """A message, and what to call it in a table."""

    name: str
    message: model.Message

    @property
    def events(self) -> int:
        return len(self.message.events)


def _execute_job() -> model.Message:
    allocation = model.AllocationPlacement("0-3 17")
    return model.Message(421.5, (model.ExecuteJobEvent(timestamp=421.5, job_id="w0!1234", allocation=allocation),))


def _submission(number: int, now: float) -> model.JobSubmittedEvent:
    job = model.Job(
        resource_request=1 + number % 64,
        walltime=None if number % 5 == 0 else 3600.0 + number,
        extra_data="",  # what Batsim sends when a job has none
        profile_id=f"w0!delay{number % 20}",
    )
    return model.JobSubmittedEvent(timestamp=now, job_id=f"w0!{number}", job=job, submission_time=now - 0.25)


def _completion(number: int, now: float) -> model.JobCompletedEvent:
    failed = number % 5 == 0
    return model.JobCompletedEvent(
        timestamp=now,
        job_id=f"w0!{number}",
        state=model.FinalJobState.COMPLETED_FAILED if failed else model.FinalJobState.COMPLETED_SUCCESSFULLY,
        return_code=1 if failed else 0,
    )


def _submissions_and_completions() -> model.Message:
    events: list[model.Event] = [_submission(1200 + number, 421.5) for number in range(5)]
    events += [_completion(1100 + number, 421.5) for number in range(5)]
    return model.Message(421.5, tuple(events))


def _many_submissions() -> model.Message:
    return model.Message(1000.0, tuple(_submission(number, 1.0 + number * 0.5) for number in range(1000)))


def _nested_kill_progress() -> model.Message:
    """Two killed jobs: a composition of five levels, and one that is none."""
    stages = model.KillProgressForkJoinProfile(
        "w0!stages",
        (
            model.KillProgressSequentialProfile("w0!transfer", 0, 1, model.KillProgressAtomicProfile("w0!copy", 0.75)),
            model.KillProgressAtomicProfile("w0!compute", 0.8334113393333323),
        ),
    )
    steps = model.KillProgressSequentialProfile("w0!steps", 2, 1, stages)
    progresses = (
        model.JobAndProgress("w0!1234", model.KillProgressSequentialProfile("w0!campaign", 3, 0, steps)),
        model.JobAndProgress("w0!1235", model.KillProgressAtomicProfile("w0!delay10", 0.25)),
    )
    event = model.JobsKilledEvent(timestamp=421.5, job_ids=("w0!1234", "w0!1235"), progresses=progresses)
    return model.Message(421.5, (event,))


def _host(number: int) -> model.Host:
    """A host as Batsim sends those of its example platform of 512 hosts."""
    return model.Host(
        id=number,
        name=f"a{number}",
        state=model.HostState.IDLE,
        properties=(),
        zone_properties=(),
        computation_speed=model.Doubles([1e9]),
    )


def _simulation_begins() -> model.Message:
    event = model.SimulationBeginsEvent(
        batprotocol_version="0.1.0",
        batsim_version="5.0.0-rc2",
        host_number=512,
        computation_host_number=512,
        computation_hosts=tuple(_host(number) for number in range(512)),
        storage_hosts=(),
        batsim_arguments=("batsim", "--platform", "cluster512.xml", "--workload", "workload.json", "--energy-host"),
        batsim_execution_context_json='{"socket_endpoint":"ipc://batsim.sock","export_prefix":"out/"}',
        workloads=(model.WorkloadAndFilename("w0", "/opt/batsim/workloads/workload.json"),),
        external_event_lists=(),
        profiles=(),
    )
    return model.Message(1.5e-05, (event,))


def _vectorial_probe() -> model.Message:
    watts = random.Random(10_000)
    event = model.ProbeDataEmittedEvent(
        timestamp=421.5,
        probe_id="power",
        resources=model.HostResources("0-9999"),
        metrics=model.Metrics.Power,
        data=model.VectorialProbeData(model.Doubles(watts.uniform(95.0, 190.738) for _ in range(10_000))),
    )
    return model.Message(421.5, (event,))


WORKLOADS = (
    Workload("one ExecuteJob reply", _execute_job()),
    Workload("5 submissions + 5 completions", _submissions_and_completions()),
    Workload("1000 submissions", _many_submissions()),
    Workload("nested kill progress", _nested_kill_progress()),
    Workload("SimulationBegins, 512 hosts", _simulation_begins()),
    Workload("vectorial probe, 10,000 doubles", _vectorial_probe()),
)
"""The workloads, in the order of the tables."""
