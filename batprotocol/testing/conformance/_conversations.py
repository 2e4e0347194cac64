"""Whole conversations: simulations whose decision component makes any decision that the protocol allows.

`cases` varies the input of Batsim; this module varies the requests to it: features on and off, kills that race with
completions, calls, probes, power states, registered jobs, a stop in the middle.
"""

from __future__ import annotations

from random import Random
from typing import Final

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from batprotocol.conversation import DEFAULT_RULE_SET, AnyMessage, Conversation, HostPower, JobState, Registration
from batprotocol.errors import RuleViolation
from batprotocol.model import (
    AllocationPlacement,
    CallMeLaterEvent,
    CreateProbeEvent,
    DelayProfile,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ExecuteJobEvent,
    FinishRegistrationEvent,
    FinitePeriodNumber,
    ForceSimulationStopEvent,
    HostResources,
    Job,
    KillJobsEvent,
    Message,
    OneShot,
    Periodic,
    ProbeDataAccumulation,
    ProfileAndId,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    SimulationEndsEvent,
    StopCallMeLaterEvent,
    Sum,
    TimeUnit,
    TurnOnOffHostsEvent,
)
from batprotocol.simulator import Simulator
from batprotocol.testing.conformance._cases import Case, cases
from batprotocol.workloads.requests import asks_for_a_part

_RESTLESS_TURNS: Final = 40
"""After so many turns, it only does what leads to the end."""
_WORKLOAD: Final = "mine"


def conversations(*, rules: str = DEFAULT_RULE_SET) -> SearchStrategy[list[AnyMessage]]:
    """Conversations that break no rule, from the initialization data to the reply to SimulationEndsEvent, as values.

    Args:
        rules: the rule set that they follow.
    """
    return _conversations(cases(rules), rules)


@st.composite
def _conversations(draw: DrawFn, inputs: SearchStrategy[Case], rules: str) -> list[AnyMessage]:
    case = draw(inputs)
    component = _Improviser(draw(st.randoms(use_true_random=True)), rules, case.energy)
    init = draw(st.sampled_from(("", "{}", "é")))
    simulator = Simulator(
        case.platform,
        case.workloads,
        external_events=case.events,
        energy=case.energy,
        rules=rules,
        init=init,
    )
    hello = component.hello(init)
    said: list[AnyMessage] = [init, hello]
    message: Message | None = simulator.begin(hello)
    try:
        while message is not None:
            reply = component.answer(message)
            said += [message, reply]
            message = simulator.turn(reply)
    except RuleViolation as violation:
        # Some rules only the simulator knows, as it knows all profiles.
        assume(violation.rule.startswith(("profile.", "job.")))
        assume(False)
    return said


class _Improviser:
    """A decision component that proposes events at random, and sends those that its conversation accepts."""

    def __init__(self, random: Random, rules: str, energy: bool) -> None:
        self._random = random
        self._energy = energy
        self._conversation = Conversation(rules, asks_for_a_part=asks_for_a_part)
        self._events: list[Event] = []
        self._now = 0.0
        self._turns = 0
        self._number = 0

    def hello(self, text: str) -> Message:
        names = EDCRequestedSimulationFeatures.__struct_fields__
        wanted = {name: self._random.random() < 0.3 for name in names}
        if not wanted["dynamic_registration"]:
            wanted["acknowledge_dynamic_jobs"] = wanted["profile_reuse"] = False
        event = EDCHelloEvent(
            batprotocol_version="0.1.0",
            decision_component_name="improviser",
            decision_component_version="1",
            decision_component_commit="",
            requested_simulation_features=EDCRequestedSimulationFeatures(**wanted),
        )
        message = Message(0.0, (event,))
        self._conversation.begin(text)
        self._conversation.hello(message)
        return message

    def answer(self, message: Message) -> Message:
        conversation = self._conversation
        conversation.receive(message)
        self._events, self._now = [], message.now
        self._turns += 1
        if not any(isinstance(event, SimulationEndsEvent) for event in message.events):
            is_restless = self._turns < _RESTLESS_TURNS
            if is_restless:
                self._play_about()
            self._decide(is_restless)
            if not is_restless:
                self._wind_down()
            elif self._chance(0.005):
                self._offer(ForceSimulationStopEvent(timestamp=self._now))
        reply = Message(self._now, tuple(self._events))
        if conversation.close_reply(reply):  # it would be stuck: then nothing is put off
            self._decide(False)
            self._wind_down()
            reply = Message(self._now, tuple(self._events))
            conversation.close_reply(reply)
        return reply

    def _offer(self, event: Event) -> bool:
        """Do this if it may be done."""
        probe = Conversation.offer(self._conversation, event)
        if any(violation.is_fatal for violation in probe):
            return False
        self._events.append(event)
        return True

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _jobs(self, *states: JobState) -> list[str]:
        return [id for id, job in self._conversation.jobs.items() if job.state in states]

    def _decide(self, may_wait: bool) -> None:
        """Execute and reject what waits, or let it wait."""
        records = self._conversation.hosts
        usable = [id for id, record in records.items() if not record.is_storage and record.power is HostPower.ON]
        busy: set[int] = set()
        for id in self._jobs(JobState.RUNNING, JobState.KILL_PENDING):
            busy.update(self._conversation.jobs[id].hosts or ())
        for id in self._jobs(JobState.SUBMITTED):
            if may_wait and self._chance(0.3):
                continue
            job = self._conversation.jobs[id].job
            assert job is not None, "only jobs that have ended are forgotten"
            size = job.resource_request
            free = [host for host in usable if host not in busy]
            if size > len(free) or self._chance(0.1):
                if size > len(usable) or not may_wait or self._chance(0.2):
                    self._offer(RejectJobEvent(job_id=id, timestamp=self._now))
                continue
            hosts = self._random.sample(free, size)
            allocation = AllocationPlacement(hosts)
            if self._offer(ExecuteJobEvent(job_id=id, allocation=allocation, timestamp=self._now)):
                busy.update(hosts)
            else:
                self._offer(RejectJobEvent(job_id=id, timestamp=self._now))

    def _play_about(self) -> None:
        """Kills, calls, probes, switches, registrations."""
        now, random = self._now, self._random
        running = self._jobs(JobState.RUNNING)
        if running and self._chance(0.3):
            killed = random.sample(running, random.randint(1, min(2, len(running))))
            self._offer(KillJobsEvent(job_ids=tuple(killed), timestamp=now))
        if self._chance(0.2):
            self._number += 1
            id = f"call{self._number}"
            when = random.choice(
                (
                    OneShot(int(now) + random.randint(0, 20)),
                    OneShot(int(now * 1000) + random.randint(1, 500), TimeUnit.Millisecond),
                    Periodic(10, mode=FinitePeriodNumber(random.randint(1, 3))),
                )
            )
            self._offer(CallMeLaterEvent(call_me_later_id=id, when=when, timestamp=now))
        periodic = [id for id, records in self._conversation.calls.items() if isinstance(records[0].when, Periodic)]
        if periodic and self._chance(0.1):
            self._offer(StopCallMeLaterEvent(call_me_later_id=periodic[0], timestamp=now))
        if self._energy and self._chance(0.1):
            self._create_probe()
        if self._chance(0.2):
            self._switch()
        if self._conversation.registration is Registration.OPEN:
            self._register()

    def _create_probe(self) -> None:
        self._number += 1
        event = CreateProbeEvent(
            probe_id=f"probe{self._number}",
            resources=HostResources("0"),
            data_accumulation_strategy=ProbeDataAccumulation(),
            measurement_triggering_policy=Periodic(10, mode=FinitePeriodNumber(2)),
            resources_aggregation_function=Sum(),
            timestamp=self._now,
        )
        self._offer(event)

    def _switch(self) -> None:
        """Turn a host off or on: to the first sleep state that it names, or to its first state."""
        for id, record in self._conversation.hosts.items():
            states = [each.value for each in record.host.properties or () if each.key == "sleep_pstates"]
            if states and states[0] and self._chance(0.5):
                off = record.power is HostPower.ON
                state = int(states[0].split(":")[0]) if off else 0
                self._offer(TurnOnOffHostsEvent(host_ids=str(id), state=state, timestamp=self._now))
                return

    def _register(self) -> None:
        if self._chance(0.3):
            self._number += 1
            profile, job = f"{_WORKLOAD}!p{self._number}", f"{_WORKLOAD}!{self._number}"
            given = ProfileAndId(profile, DelayProfile(float(self._random.randint(1, 20))))
            self._offer(RegisterProfileEvent(profile=given, timestamp=self._now))
            asked = Job(resource_request=1, profile_id=profile, walltime=self._random.choice((None, 10.0)))
            self._offer(RegisterJobEvent(job_id=job, job=asked, timestamp=self._now))
        elif self._chance(0.2):
            self._offer(FinishRegistrationEvent(timestamp=self._now))

    def _wind_down(self) -> None:
        if self._conversation.registration is Registration.OPEN:
            self._offer(FinishRegistrationEvent(timestamp=self._now))
