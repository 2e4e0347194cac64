"""What the calls of MessageBuilder make of usual arguments, and of none."""

from __future__ import annotations

import inspect
import re

from calls import (
    CALLS,
    COMPUTING,
    EVENT_TYPES,
    HALF_DONE,
    NOW,
    STORING,
    Call,
    adding,
    built,
    every_call,
    finished,
    refusal,
)

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION, MessageBuilder
from batprotocol.model import (
    AllocationPlacement,
    Event,
    FinalJobState,
    HostResources,
    KillProgress,
    KillProgressSequentialProfile,
    Message,
    Metrics,
    OneShot,
    PredefinedExecutorPlacementStrategy,
)


def test_one_method_for_each_event() -> None:
    methods = [name for name in dir(MessageBuilder) if name.startswith("add_")]
    words = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.removesuffix("Event")) for kind in EVENT_TYPES}
    snakes = {word.replace("PState", "Pstate").replace("EDCH", "EDC_H").lower() for word in words}
    assert len(methods) == len(EVENT_TYPES) >= 29
    assert {method.removeprefix("add_") for method in methods} == snakes
    assert sorted(call.method for call in CALLS) == methods
    assert [type(call.event) for call in CALLS] == sorted(
        EVENT_TYPES, key=[type(call.event) for call in CALLS].index
    )  # every type, each once


@every_call
def test_every_argument_of_every_method_is_tried_here(call: Call) -> None:
    assert list(call.arguments) == list(inspect.signature(getattr(MessageBuilder(), call.method)).parameters)


@every_call
def test_a_call_makes_the_event_at_the_current_time(call: Call) -> None:
    builder = MessageBuilder(NOW)
    call.on(builder)
    (event,) = builder.events
    assert event == stamped(call.event, NOW)
    assert builder.current_time == NOW


@every_call
def test_add_makes_the_same_of_the_event(call: Call) -> None:
    builder = MessageBuilder(NOW)
    builder.add(call.event)
    assert builder.events == (stamped(call.event, NOW),)


@every_call
def test_what_was_added_can_be_written_and_read_back(call: Call) -> None:
    builder = MessageBuilder(NOW)
    call.on(builder)
    message = builder.finish_message(20)
    assert Message.from_binary(message.to_binary()) == message
    assert Message.from_json(message.to_json()) == message


def stamped(event: Event, timestamp: float) -> Event:
    return type(event)(**{**{name: getattr(event, name) for name in event.__struct_fields__}, "timestamp": timestamp})


def test_defaults() -> None:
    hello, begins, execute, completed, probe, data, triggered = built(
        lambda b: b.add_edc_hello("fcfs", "1"),
        lambda b: b.add_simulation_begins(batsim_version="5", computation_hosts=[COMPUTING] * 3),
        lambda b: b.add_execute_job("w0!1", "0-3"),
        lambda b: b.add_job_completed("w0!1", FinalJobState.COMPLETED_SUCCESSFULLY),
        lambda b: b.add_create_probe("power", hosts=0, trigger=OneShot(1)),
        lambda b: b.add_probe_data_emitted("power", Metrics.Power, 3, hosts=0),
        lambda b: b.add_trigger_probe("power"),
    )
    assert hello == model.EDCHelloEvent(
        decision_component_name="fcfs",
        decision_component_version="1",
        decision_component_commit="",
        batprotocol_version=PROTOCOL_VERSION,
        batprotocol_commit=None,
        requested_simulation_features=model.EDCRequestedSimulationFeatures(),
    )
    assert begins == model.SimulationBeginsEvent(
        batprotocol_version=PROTOCOL_VERSION,
        batsim_version="5",
        host_number=3,
        computation_host_number=3,
        computation_hosts=(COMPUTING,) * 3,
        storage_host_number=0,
        storage_hosts=(),
        batsim_arguments=(),
        batsim_execution_context_json="{}",
        workloads=(),
        external_event_lists=(),
    )
    spread = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst
    assert execute == model.ExecuteJobEvent(job_id="w0!1", allocation=AllocationPlacement("0-3", spread))
    assert completed == model.JobCompletedEvent(job_id="w0!1", state=FinalJobState.COMPLETED_SUCCESSFULLY)
    assert triggered == model.TriggerProbeEvent(probe_id="power", force_data_emission=True)
    assert probe == model.CreateProbeEvent(
        probe_id="power", resources=HostResources("0"), measurement_triggering_policy=OneShot(1)
    )
    assert data == model.ProbeDataEmittedEvent(
        probe_id="power", resources=HostResources("0"), data=model.AggregatedProbeData(3.0)
    )


def test_the_commit_that_batsim_needs_is_written_even_where_the_event_has_none() -> None:
    bare = model.EDCHelloEvent(
        batprotocol_version="0.1.0", decision_component_name="fcfs", decision_component_version="1"
    )
    assert bare.decision_component_commit is None
    (event,) = built(adding(bare))
    assert isinstance(event, model.EDCHelloEvent)
    assert event.decision_component_commit == ""


def test_counts_of_hosts_are_counted_where_they_are_not_given() -> None:
    (event,) = built(
        lambda b: b.add_simulation_begins(
            batsim_version="5", computation_hosts=iter([COMPUTING] * 3), storage_hosts=(host for host in [STORING] * 2)
        )
    )
    assert isinstance(event, model.SimulationBeginsEvent)
    assert (event.host_number, event.computation_host_number, event.storage_host_number) == (5, 3, 2)


def nested(depth: int) -> KillProgress:
    progress: KillProgress = HALF_DONE
    for _ in range(depth):
        progress = KillProgressSequentialProfile("w0!a", 0, 0, progress)
    return progress


def test_what_is_accepted_at_the_greatest_depth_can_be_written() -> None:
    deepest = 29  # two tables each, and six more: message, envelope, event, job and progress, a wrapper, the innermost
    message = finished(lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": nested(deepest)}))
    assert Message.from_binary(message.to_binary()) == message
    error = refusal(MessageBuilder(), lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": nested(deepest + 1)}))
    assert error.path.startswith("progresses[0].wrapper.current_task_progress")
    assert "64" in error.reason
