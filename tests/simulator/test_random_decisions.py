"""Whatever a decision component decides within the rules, the embedded Batsim keeps to them, and comes to an end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.conversation import Conversation
from batprotocol.edc import Scheduler
from batprotocol.errors import BuilderError, RuleViolation
from batprotocol.model import (
    DelayProfile,
    EDCRequestedSimulationFeatures,
    FinitePeriodNumber,
    Job,
    JobSubmittedEvent,
    Message,
    OneShot,
    Periodic,
    ProbeDataAccumulation,
)
from batprotocol.simulator import simulate
from batprotocol.testing import simulations

WITHOUT_ENGINE = True

WILD = 20
"""For so many turns anything is decided, then what is left is brought to an end."""


class Random(Scheduler):
    """Decides at random; what breaks a rule is not said."""

    features = EDCRequestedSimulationFeatures(
        dynamic_registration=True,
        profile_reuse=True,
        acknowledge_dynamic_jobs=True,
        forward_profiles_on_job_submission=True,
        forward_profiles_on_jobs_killed=True,
        forward_profiles_on_simulation_begins=True,
    )

    def __init__(self, seed: int, hosts: int, energy: bool) -> None:
        self.random = random.Random(seed)
        self.hosts = hosts
        self.energy = energy
        self.waiting: list[str] = []
        self.turns = 0
        self.registered = 0

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.waiting.append(event.job_id)

    def decide(self) -> None:
        self.turns += 1
        if self.turns <= WILD:
            for _ in range(self.random.randrange(5)):
                with suppress(RuleViolation, BuilderError):
                    self.random.choice(DECISIONS)(self)
            self.reply.add_call_me_later("tick", OneShot(int(self.now) + 1))
            return
        if self.turns == WILD + 1:
            self.reply.add_finish_registration()
        for job_id in self.waiting:
            self.reply.add_reject_job(job_id)
        self.waiting.clear()

    def some_hosts(self) -> list[int]:
        return sorted(self.random.sample(range(self.hosts), self.random.randint(1, self.hosts)))

    def execute(self) -> None:
        if self.waiting:
            job_id = self.random.choice(self.waiting)
            self.reply.add_execute_job(job_id, self.some_hosts())
            self.waiting.remove(job_id)

    def kill(self) -> None:
        running = [interval.data for interval in self.conversation.usage]
        if running:
            self.reply.add_kill_jobs([self.random.choice(running)])

    def register(self) -> None:
        self.registered += 1
        name = f"dynamic!{self.registered}"
        self.reply.add_register_profile(name, DelayProfile(self.random.uniform(0.1, 5.0)))
        self.reply.add_register_job(name, Job(resource_request=1, profile_id=name))

    def call(self) -> None:
        self.reply.add_call_me_later("once", OneShot(int(self.now) + self.random.randrange(4)))

    def call_periodically(self) -> None:
        self.reply.add_call_me_later(f"every{self.random.randrange(2)}", self.periodic())

    def observe(self) -> None:
        if self.energy:
            self.reply.add_create_probe(
                f"probe{self.random.randrange(2)}",
                trigger=self.periodic(),
                hosts=self.some_hosts(),
                accumulation=ProbeDataAccumulation(),
            )

    def periodic(self) -> Periodic:
        return Periodic(self.random.choice((1, 2, 4)), mode=FinitePeriodNumber(self.random.randint(1, 4)))

    def stop(self) -> None:
        self.reply.add_stop_call_me_later(f"every{self.random.randrange(2)}")
        self.reply.add_stop_probe(f"probe{self.random.randrange(2)}")

    def change(self) -> None:
        self.reply.add_change_hosts_pstate(self.some_hosts(), self.random.randrange(2))

    def switch_off(self) -> None:
        self.reply.add_turn_on_off_hosts(self.some_hosts(), 2)

    def switch_on(self) -> None:
        self.reply.add_turn_on_off_hosts(self.some_hosts(), 0)

    def think(self) -> None:
        self.reply.set_current_time(self.reply.current_time + self.random.random())


DECISIONS = (
    Random.execute,
    Random.execute,
    Random.execute,
    Random.kill,
    Random.register,
    Random.call,
    Random.call_periodically,
    Random.observe,
    Random.stop,
    Random.change,
    Random.switch_off,
    Random.switch_on,
    Random.think,
)


@pytest.fixture
def broken() -> Iterator[list[str]]:
    """The rules that the simulator itself breaks."""
    found: list[str] = []
    receive = Conversation.receive

    def noting(self: Conversation, message: Message) -> list[object]:
        violations = receive(self, message)
        found.extend(map(str, violations))
        return list(violations)

    Conversation.receive = noting  # type: ignore[method-assign, assignment]
    yield found
    Conversation.receive = receive  # type: ignore[method-assign]


@pytest.mark.slow
def test_the_simulator_keeps_to_the_rules(broken: list[str]) -> None:
    ended, examples = 0, max(5, settings().max_examples // 2)

    @settings(max_examples=examples)
    @given(st.data(), st.integers(0, 2**32), st.booleans(), st.booleans())
    def check(data: st.DataObject, seed: int, corrected: bool, energy: bool) -> None:
        nonlocal ended
        platform = data.draw(simulations.platforms(min_hosts=3, storages=("pfs",), energy=energy))
        workload = data.draw(simulations.workloads(hosts=3, storages=("pfs",)))
        scheduler = Random(seed, len(platform.computation_hosts), energy)
        with suppress(RuleViolation):  # of what only the simulator knows
            result = simulate(platform, workload, scheduler, corrected=corrected, energy=energy)
            ended += result.is_complete
        assert not broken

    check()
    assert ended >= examples // 2
