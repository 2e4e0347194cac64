"""Under the rule set "protocol", the embedded Batsim does what the schema knows and Batsim 5.0.0-rc2 does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from conversations import execute, hello, simulated
from msgspec.structs import replace

from batprotocol.model import (
    AggregatedProbeData,
    ArithmeticMean,
    BooleanComparisonOperator,
    CallMeLaterEvent,
    CreateProbeEvent,
    CumulativeFunction,
    DelayProfile,
    Event,
    ExponentialMovingAverage,
    FinitePeriodNumber,
    ForkJoinCompositionProfile,
    HostResources,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    KillProgressForkJoinProfile,
    LinkResources,
    Message,
    Metrics,
    NoReset,
    NoResourcesAggregation,
    OneShot,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskProfile,
    Periodic,
    ProbeAccumulationReset,
    ProbeDataAccumulation,
    ProbeDataEmittedEvent,
    QuantileFunction,
    RequestedCallEvent,
    ResetProbeEvent,
    SimulationBeginsEvent,
    SimulationErrorEvent,
    SlidingWindowOperation,
    Sum,
    ThresholdFilteringFunction,
    TriggerProbeEvent,
    VectorialProbeData,
)
from batprotocol.simulator import (
    JobRows,
    Platform,
    Simulator,
    StaticJob,
    Watts,
    Workload,
    WorkloadProfile,
)
from batprotocol.simulator.batsim.probes import _over_resources

WITHOUT_ENGINE = True

PLATFORM = Platform.homogeneous(2, speed=1e9, watts=Watts(100.0, 100.0, 300.0))
EVERY_SECOND = Periodic(1, mode=FinitePeriodNumber(7))
TASK = ParallelTaskProfile([4e9])
"""Runs from 2 to 6 on host 0, which then draws 300 W."""
SECONDS = 1e-3
"""How far messages shift what happens."""


def probe(name: str = "p", when: Any = EVERY_SECOND, **options: Any) -> CreateProbeEvent:
    options.setdefault("resources", HostResources("0"))
    return CreateProbeEvent(probe_id=name, measurement_triggering_policy=when, **options)


def measured(
    *probes: CreateProbeEvent,
    on_call: Callable[[Message], Sequence[Event]] = lambda message: (),
    calls: Sequence[int] = (),
) -> list[ProbeDataEmittedEvent]:
    """What probes say of a task that runs from 2 to 6 on host 0 of two."""

    def decide(message: Message) -> list[Event]:
        events: list[Event] = []
        for event in message.events:
            if type(event) is SimulationBeginsEvent:
                events += probes
                events += [CallMeLaterEvent(call_me_later_id="c", when=OneShot(call)) for call in calls]
            elif type(event) is JobSubmittedEvent:
                events.append(execute(message, event.job_id, "0"))
            elif type(event) is RequestedCallEvent:
                events += on_call(message)
        return events

    workload = Workload([StaticJob("1", 2.0, 1, TASK)])
    simulator = Simulator(PLATFORM, [workload], energy=True, rules="protocol")
    messages = simulated(simulator, decide)
    return [event for message in messages for event in message.events if type(event) is ProbeDataEmittedEvent]


def values(data: Sequence[ProbeDataEmittedEvent]) -> list[float]:
    return [event.data.data if isinstance(event.data, AggregatedProbeData) else event.data.data[0] for event in data]


def close(*expected: float) -> Any:
    return pytest.approx(list(expected), rel=1e-3, abs=1e-1)


def test_momentary_values() -> None:
    assert values(measured(probe(metrics=Metrics.Power))) == close(100, 100, 300, 300, 300, 300, 100)
    load = measured(probe(metrics=Metrics.ComputationLoad))
    assert values(load) == close(0, 0, 1e9, 1e9, 1e9, 1e9, 0)
    normalized = measured(probe(metrics=Metrics.NormalizedComputationLoad))
    assert values(normalized) == close(0, 0, 1, 1, 1, 1, 0)
    assert [(event.nb_triggered, event.nb_emitted) for event in load] == [(n, n) for n in range(1, 8)]


def test_accumulated_values() -> None:
    def data(**options: Any) -> list[float]:
        strategy = ProbeDataAccumulation(**options)
        return values(measured(probe(data_accumulation_strategy=strategy)))

    assert data() == close(100, 200, 500, 800, 1100, 1400, 1500)
    assert data(reset_mode=ProbeAccumulationReset(0.0)) == close(100, 100, 300, 300, 300, 300, 100)
    assert data(reset_mode=ProbeAccumulationReset(7.0)) == close(100, 107, 307, 307, 307, 307, 107)
    assert data(temporal_normalization=True) == close(100, 100, 500 / 3, 200, 220, 1400 / 6, 1500 / 7)
    assert data(cumulative_function=CumulativeFunction.Maximum) == close(100, 100, 300, 300, 300, 300, 300)
    minimum = ProbeAccumulationReset(1000.0)
    assert data(cumulative_function=CumulativeFunction.Minimum, reset_mode=minimum) == close(
        100, 100, 100, 300, 300, 300, 100
    )
    assert data(cumulative_function=CumulativeFunction.Minimum, reset_mode=NoReset()) == close(*[100] * 7)


def test_values_over_resources_and_over_time() -> None:
    both = HostResources("0-1")
    assert values(measured(probe(resources=both, resources_aggregation_function=Sum()))) == close(
        200, 200, 400, 400, 400, 400, 200
    )
    median = measured(probe(resources=both, resources_aggregation_function=QuantileFunction(0.5)))
    assert values(median) == close(100, 100, 200, 200, 200, 200, 100)
    vector = measured(probe(resources=both))[2].data
    assert isinstance(vector, VectorialProbeData)
    assert list(vector.data) == close(300, 100)
    moving = measured(probe(temporal_aggregation_function=ExponentialMovingAverage()))
    assert values(moving)[:4] == close(100, 100, 200, 250)
    window = measured(probe(temporal_aggregation_function=SlidingWindowOperation()))
    assert values(window)[:4] == close(100, 100, 500 / 3, 200)


def test_a_filter_lets_through_what_compares() -> None:
    above = ThresholdFilteringFunction(200.0)
    data = measured(probe(emission_filtering_policy=above))
    assert values(data) == close(300, 300, 300, 300)
    assert [(event.nb_triggered, event.nb_emitted) for event in data] == [(3, 1), (4, 2), (5, 3), (6, 4)]
    below = ThresholdFilteringFunction(100.0, BooleanComparisonOperator.LessThanOrEqual)
    assert values(measured(probe(emission_filtering_policy=below))) == close(100, 100, 100)


def test_one_shots_and_offsets() -> None:
    assert values(measured(probe(when=OneShot(4)))) == close(300)
    shifted = measured(probe(when=Periodic(2, 1, mode=FinitePeriodNumber(3))))
    assert [round(event.timestamp) for event in shifted] == [1, 3, 5]


def test_probes_are_triggered_and_reset_by_hand() -> None:
    far = probe(when=OneShot(20), emission_filtering_policy=ThresholdFilteringFunction(1e9))

    def trigger(message: Message) -> list[Event]:
        return [
            TriggerProbeEvent(timestamp=message.now, probe_id="p", force_data_emission=force) for force in (True, False)
        ]

    data = measured(far, on_call=trigger, calls=[4])
    assert values(data) == close(300)
    assert data[0].manually_triggered
    accumulating = probe(when=OneShot(10), data_accumulation_strategy=ProbeDataAccumulation())

    def reset(message: Message) -> list[Event]:
        return [ResetProbeEvent(timestamp=message.now, probe_id="p", new_value=-1000.0)]

    assert values(measured(accumulating, on_call=reset, calls=[8])) == close(-800)


def test_links_are_observed_by_name() -> None:
    matrix = ParallelTaskProfile(None, [0.0, 4e9, 0.0, 0.0])
    names = ("host0_UP", "host1_UP")
    created = probe(metrics=Metrics.NetworkLoad, resources=LinkResources(names))

    def decide(message: Message) -> list[Event]:
        if type(message.events[0]) is SimulationBeginsEvent:
            return [created]
        return [execute(message, e.job_id, "0-1") for e in message.events if type(e) is JobSubmittedEvent]

    simulator = Simulator(PLATFORM, [Workload([StaticJob("1", 0.5, 2, matrix)])], rules="protocol")
    messages = simulated(simulator, decide)
    data = [e.data for message in messages for e in message.events if type(e) is ProbeDataEmittedEvent]
    assert [list(each.data) for each in data if isinstance(each, VectorialProbeData)] == [
        close(1e9, 0) if moment <= 4 else close(0, 0) for moment in range(1, 8)
    ]


@pytest.mark.parametrize(
    ("created", "rule"),
    [
        (probe(metrics=Metrics.NetworkLoad), "probe.senseless"),
        (probe(resources=LinkResources(("host0_UP",))), "probe.senseless"),
        (probe(metrics=Metrics.NetworkLoad, resources=LinkResources(("nowhere",))), "probe.link-unknown"),
        (
            probe(metrics=Metrics.NormalizedComputationLoad, data_accumulation_strategy=ProbeDataAccumulation()),
            "probe.senseless",
        ),
        (TriggerProbeEvent(probe_id="nobody"), "probe.unknown"),
    ],
)
def test_what_the_simulator_refuses_ends_in_an_error_event(created: Event, rule: str) -> None:
    simulator = Simulator(PLATFORM, energy=True, rules="protocol")
    message = simulator.begin(hello())
    following = simulator.turn(Message(message.now, (created,)))
    assert following is not None
    (error,) = following.events
    assert isinstance(error, SimulationErrorEvent)
    assert rule in error.error
    assert simulator.error is not None
    assert simulator.error.rule == rule
    assert simulator.turn(Message(following.now)) is None
    assert simulator.is_over


def test_a_deadlock_ends_in_an_error_event() -> None:
    simulator = Simulator(PLATFORM, [Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0))])], rules="protocol")
    messages = simulated(simulator, lambda message: [])
    assert [type(event) for event in messages[-1].events] == [SimulationErrorEvent]


def composed(**parts: Any) -> Workload:
    profiles = {
        name: part if isinstance(part, WorkloadProfile) else WorkloadProfile(part) for name, part in parts.items()
    }
    return Workload([StaticJob("1", 0.0, 1, "whole", walltime=100.0)], profiles)


def test_a_fork_join_takes_as_long_as_its_longest_part() -> None:
    workload = composed(
        short=WorkloadProfile(DelayProfile(1.0), return_code=3),
        long=DelayProfile(5.0),
        whole=ForkJoinCompositionProfile(("short", "long")),
    )
    rows = JobRows()

    def decide(message: Message) -> list[Event]:
        return [execute(message, e.job_id, "0") for e in message.events if type(e) is JobSubmittedEvent]

    messages = simulated(Simulator(PLATFORM, [workload], rules="protocol", observer=rows), decide)
    assert rows.rows[0].execution_time == pytest.approx(5.0)
    ended = [e for message in messages for e in message.events if type(e) is JobCompletedEvent]
    assert ended[0].return_code == 3


def test_a_killed_fork_join_tells_how_far_each_part_had_come() -> None:
    workload = composed(
        short=DelayProfile(1.0), long=DelayProfile(10.0), whole=ForkJoinCompositionProfile(("short", "long"))
    )

    def decide(message: Message) -> list[Event]:
        events: list[Event] = []
        for event in message.events:
            if type(event) is JobSubmittedEvent:
                events.append(execute(message, event.job_id, "0"))
                events.append(CallMeLaterEvent(timestamp=message.now, call_me_later_id="c", when=OneShot(5)))
            elif type(event) is RequestedCallEvent:
                events.append(KillJobsEvent(timestamp=message.now, job_ids=("w0!1",)))
        return events

    messages = simulated(Simulator(PLATFORM, [workload], rules="protocol"), decide)
    killed = next(e for message in messages for e in message.events if type(e) is JobsKilledEvent)
    progress = killed.progresses[0].progress
    assert isinstance(progress, KillProgressForkJoinProfile)
    assert [task.progress for task in progress.tasks_progress] == [  # type: ignore[union-attr]
        1.0,
        pytest.approx(0.5, abs=SECONDS),
    ]


def test_merged_tasks_run_as_one() -> None:
    workload = Workload(
        [StaticJob("1", 0.0, 2, "whole")],
        {
            "compute": ParallelTaskProfile([1e9, 2e9]),
            "more": ParallelTaskProfile([2e9, 0.0], [0.0, 5e8, 0.0, 0.0]),
            "whole": ParallelTaskMergeCompositionProfile(("compute", "more")),
        },
    )
    rows = JobRows()

    def decide(message: Message) -> list[Event]:
        return [execute(message, e.job_id, "0-1") for e in message.events if type(e) is JobSubmittedEvent]

    simulated(Simulator(PLATFORM, [workload], rules="protocol", observer=rows), decide)
    assert rows.rows[0].execution_time == pytest.approx(3.0, abs=SECONDS)


@pytest.mark.parametrize("numbers", [[], [3.0], [1.0, 2.0], [4.0, 1.0, 1.0], [5.0, 0.5, 2.0, 8.0, 1.0]])
def test_values_of_resources_are_aggregated_as_by_numpy(numbers: list[float]) -> None:
    def over(aggregation: Any) -> Any:
        asked = replace(probe(metrics=Metrics.Power), resources_aggregation_function=aggregation)
        return _over_resources(asked, list(numbers)).data

    assert list(over(NoResourcesAggregation())) == numbers
    assert over(Sum()) == np.sum(numbers)
    assert over(ArithmeticMean()) == (pytest.approx(np.mean(numbers)) if numbers else 0.0)
    for threshold in (0.0, 0.25, 0.3, 0.5, 0.9, 1.0):
        expected = pytest.approx(np.quantile(numbers, threshold)) if numbers else 0.0
        assert over(QuantileFunction(threshold)) == expected
