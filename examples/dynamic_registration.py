"""A load generator: it registers jobs while the simulation runs, in addition to those of the workload.

The initialization data may set the number of jobs, the number of jobs at the same time, and the seconds of each job:

    batproto run examples/dynamic_registration.py:LoadGenerator --init '{"jobs": 100, "width": 4, "delay": 30}' -- \\
        batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} {init}

Batsim has no option for registration: the decision component requests it in its hello.
"""

from __future__ import annotations

import json

from fcfs import FCFS

from batprotocol import (
    DelayProfile,
    EDCRequestedSimulationFeatures,
    Job,
    JobCompletedEvent,
    SimulationBeginsEvent,
)

WORKLOAD = "generated"
"""The workload of registered jobs and profiles. It contains nothing else, so all names are free."""


class LoadGenerator(FCFS):
    """When one of its jobs ends, it registers the next one. After the last job, it finishes the registration."""

    features = EDCRequestedSimulationFeatures(
        dynamic_registration=True,
        profile_reuse=True,  # else Batsim drops the profile when the first job with it has ended
        acknowledge_dynamic_jobs=True,  # registered jobs come back as JobSubmittedEvent, like all others
        forward_profiles_on_job_submission=True,  # as FCFS does
    )

    def __init__(self) -> None:
        super().__init__()
        self.jobs = 10
        self.width = 2
        self.delay = 30.0
        self.registered = 0

    def on_init(self, text: str) -> None:
        try:
            wanted = json.loads(text or "{}")
        except ValueError:
            return  # meant for another component
        if isinstance(wanted, dict):
            self.jobs = int(wanted.get("jobs", self.jobs))
            self.width = int(wanted.get("width", self.width))
            self.delay = float(wanted.get("delay", self.delay))

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        super().on_simulation_begins(event)
        self.reply.add_register_profile(f"{WORKLOAD}!sleep", DelayProfile(self.delay))
        for _ in range(min(self.width, self.jobs)):
            self.register()
        if self.jobs == 0:
            self.reply.add_finish_registration()

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        super().on_job_completed(event)
        if event.job_id.startswith(f"{WORKLOAD}!") and self.registered < self.jobs:
            self.register()

    def register(self) -> None:
        """Register one more job. After the last one, the simulation may end."""
        self.registered += 1
        job = Job(resource_request=1, walltime=2 * self.delay, profile_id=f"{WORKLOAD}!sleep")
        self.reply.add_register_job(f"{WORKLOAD}!{self.registered}", job)
        if self.registered == self.jobs:
            self.reply.add_finish_registration()
