"""MessageBuilder: what its calls make, what they refuse, and that a refused call changes nothing."""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batprotocol import model
from batprotocol.builder import PROTOCOL_VERSION, MessageBuilder
from batprotocol.errors import BuilderError, ProtocolError
from batprotocol.model import (
    AllocationPlacement,
    CustomExecutorToHostMapping,
    DelayProfile,
    Event,
    FinalJobState,
    Host,
    HostResources,
    Infinite,
    Job,
    JobAndProgress,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    KillProgressSequentialProfile,
    LinkResources,
    Message,
    Metrics,
    OneShot,
    ParallelTaskHomogeneousProfile,
    Periodic,
    PredefinedExecutorPlacementStrategy,
    ProfileAllocationPlacement,
    ProfileAndId,
    QuantileFunction,
    StorageHost,
    format_hosts,
    parse_hosts,
)

NOW = 12.5
EVENT_TYPES = get_args(Event)
JOB = Job(resource_request=4, walltime=3600.0, extra_data="{}", profile_id="w0!delay")
PROFILE = ProfileAndId("w0!delay", DelayProfile(10.0), "of mine")
HALF_DONE = KillProgressAtomicProfile("w0!delay", 0.5)
FEATURES = model.EDCRequestedSimulationFeatures(dynamic_registration=True)
COMPUTING = Host(id=0, name="host0", computation_speed=model.Doubles([1e9, 5e8]), pstate_count=2)
STORING = Host(id=1, name="pfs", computation_speed=model.Doubles([1e9]))
MAPPING = CustomExecutorToHostMapping((0, 1, 1, 0))


class Call(NamedTuple):
    """A call of the builder that tells all arguments, and the event that it makes."""

    method: str
    arguments: dict[str, Any]
    event: Event

    def on(self, builder: MessageBuilder, **changed: Any) -> None:
        getattr(builder, self.method)(**{**self.arguments, **changed})


CALLS = [
    Call(
        "add_job_submitted",
        {"job_id": "w0!1", "job": JOB, "submission_time": 11.0, "profile": PROFILE},
        model.JobSubmittedEvent(job_id="w0!1", job=JOB, submission_time=11.0, profile=PROFILE),
    ),
    Call(
        "add_job_completed",
        {"job_id": "w0!1", "state": FinalJobState.COMPLETED_KILLED, "return_code": -1},
        model.JobCompletedEvent(job_id="w0!1", state=FinalJobState.COMPLETED_KILLED, return_code=-1),
    ),
    Call("add_reject_job", {"job_id": "w0!1"}, model.RejectJobEvent(job_id="w0!1")),
    Call(
        "add_execute_job",
        {
            "job_id": "w0!1",
            "hosts": "0-3",
            "placement": MAPPING,
            "profile_overrides": [ProfileAllocationPlacement("w0!a", "2", MAPPING)],
            "storage_placement": [StorageHost("pfs", 19)],
        },
        model.ExecuteJobEvent(
            job_id="w0!1",
            allocation=AllocationPlacement("0-3", MAPPING),
            profile_allocation_override=(ProfileAllocationPlacement("w0!a", "2", MAPPING),),
            storage_placement=(StorageHost("pfs", 19),),
        ),
    ),
    Call("add_kill_jobs", {"job_ids": ["w0!1", "w0!2"]}, model.KillJobsEvent(job_ids=("w0!1", "w0!2"))),
    Call(
        "add_jobs_killed",
        {"job_ids": ["w0!1", "w0!2"], "progresses": {"w0!2": HALF_DONE}, "profiles": [PROFILE]},
        model.JobsKilledEvent(
            job_ids=("w0!1", "w0!2"), progresses=(JobAndProgress("w0!2", HALF_DONE),), profiles=(PROFILE,)
        ),
    ),
    Call(
        "add_register_profile",
        {"profile_id": "w0!delay", "profile": DelayProfile(10.0), "extra_data": "of mine"},
        model.RegisterProfileEvent(profile=PROFILE),
    ),
    Call("add_register_job", {"job_id": "w0!1", "job": JOB}, model.RegisterJobEvent(job_id="w0!1", job=JOB)),
    Call("add_finish_registration", {}, model.FinishRegistrationEvent()),
    Call(
        "add_create_probe",
        {
            "probe_id": "power",
            "metrics": Metrics.NormalizedNetworkLoad,
            "hosts": "0-3",
            "links": None,
            "trigger": Periodic(60),
            "accumulation": model.ProbeDataAccumulation(),
            "aggregation": QuantileFunction(0.5),
            "temporal_aggregation": model.SlidingWindowOperation(),
            "emission_filter": model.ThresholdFilteringFunction(3.0),
        },
        model.CreateProbeEvent(
            probe_id="power",
            metrics=Metrics.NormalizedNetworkLoad,
            resources=HostResources("0-3"),
            data_accumulation_strategy=model.ProbeDataAccumulation(),
            measurement_triggering_policy=Periodic(60),
            resources_aggregation_function=QuantileFunction(0.5),
            temporal_aggregation_function=model.SlidingWindowOperation(),
            emission_filtering_policy=model.ThresholdFilteringFunction(3.0),
        ),
    ),
    Call("add_stop_probe", {"probe_id": "power"}, model.StopProbeEvent(probe_id="power")),
    Call(
        "add_trigger_probe",
        {"probe_id": "power", "force_data_emission": False},
        model.TriggerProbeEvent(probe_id="power", force_data_emission=False),
    ),
    Call(
        "add_reset_probe",
        {"probe_id": "power", "new_value": 2.5},
        model.ResetProbeEvent(probe_id="power", new_value=2.5),
    ),
    Call(
        "add_probe_data_emitted",
        {
            "probe_id": "load",
            "metrics": Metrics.NetworkLoad,
            "data": [50.0, 30.0],
            "hosts": None,
            "links": ["switch0", "switch1"],
            "manually_triggered": True,
            "nb_emitted": 5,
            "nb_triggered": 7,
        },
        model.ProbeDataEmittedEvent(
            probe_id="load",
            metrics=Metrics.NetworkLoad,
            data=model.VectorialProbeData(model.Doubles([50.0, 30.0])),
            resources=LinkResources(("switch0", "switch1")),
            manually_triggered=True,
            nb_emitted=5,
            nb_triggered=7,
        ),
    ),
    Call(
        "add_call_me_later",
        {"call_me_later_id": "later", "when": OneShot(42)},
        model.CallMeLaterEvent(call_me_later_id="later", when=OneShot(42)),
    ),
    Call(
        "add_requested_call",
        {"call_me_later_id": "later", "last_periodic_call": True},
        model.RequestedCallEvent(call_me_later_id="later", last_periodic_call=True),
    ),
    Call(
        "add_stop_call_me_later",
        {"call_me_later_id": "later"},
        model.StopCallMeLaterEvent(call_me_later_id="later"),
    ),
    Call(
        "add_edc_hello",
        {
            "name": "fcfs",
            "version": "1.2.0",
            "commit": "880dd60c",
            "features": FEATURES,
            "batprotocol_version": "0.2.0",
            "batprotocol_commit": "ab12",
        },
        model.EDCHelloEvent(
            decision_component_name="fcfs",
            decision_component_version="1.2.0",
            decision_component_commit="880dd60c",
            requested_simulation_features=FEATURES,
            batprotocol_version="0.2.0",
            batprotocol_commit="ab12",
        ),
    ),
    Call(
        "add_simulation_begins",
        {
            "batsim_version": "5.0.0",
            "computation_hosts": [COMPUTING],
            "storage_hosts": [STORING],
            "host_number": 7,
            "computation_host_number": 5,
            "storage_host_number": 2,
            "batsim_arguments": ["batsim", "-p", "platform.xml"],
            "batsim_execution_context_json": '{"energy": true}',
            "workloads": [model.WorkloadAndFilename("w0", "w0.json")],
            "external_event_lists": [model.ExternalEventListAndFilename("e0", "e0.txt")],
            "profiles": [PROFILE],
            "batsim_commit": "4f12a4b",
            "batprotocol_version": "0.2.0",
        },
        model.SimulationBeginsEvent(
            batsim_version="5.0.0",
            computation_hosts=(COMPUTING,),
            storage_hosts=(STORING,),
            host_number=7,
            computation_host_number=5,
            storage_host_number=2,
            batsim_arguments=("batsim", "-p", "platform.xml"),
            batsim_execution_context_json='{"energy": true}',
            workloads=(model.WorkloadAndFilename("w0", "w0.json"),),
            external_event_lists=(model.ExternalEventListAndFilename("e0", "e0.txt"),),
            profiles=(PROFILE,),
            batsim_commit="4f12a4b",
            batprotocol_version="0.2.0",
        ),
    ),
    Call("add_simulation_ends", {}, model.SimulationEndsEvent()),
    Call("add_simulation_error", {"error": "no space"}, model.SimulationErrorEvent(error="no space")),
    Call("add_all_static_jobs_have_been_submitted", {}, model.AllStaticJobsHaveBeenSubmittedEvent()),
    Call("add_all_static_external_events_have_been_injected", {}, model.AllStaticExternalEventsHaveBeenInjectedEvent()),
    Call("add_force_simulation_stop", {}, model.ForceSimulationStopEvent()),
    Call(
        "add_change_hosts_pstate",
        {"hosts": "0-3", "pstate": 2},
        model.ChangeHostsPStateEvent(host_ids="0-3", pstate=2),
    ),
    Call(
        "add_hosts_pstate_changed",
        {"hosts": "0-3", "pstate": 2},
        model.HostsPStateChangedEvent(host_ids="0-3", pstate=2),
    ),
    Call("add_turn_on_off_hosts", {"hosts": "0-3", "state": 2}, model.TurnOnOffHostsEvent(host_ids="0-3", state=2)),
    Call("add_hosts_turned_on_off", {"hosts": "0-3", "state": 2}, model.HostsTurnedOnOffEvent(host_ids="0-3", state=2)),
    Call(
        "add_external_event_occurred",
        {"id": "failure", "external_event": "node 3"},
        model.ExternalEventOccurredEvent(id="failure", external_event=model.GenericExternalEvent("node 3")),
    ),
]

every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.method)


def built(*calls: Callable[[MessageBuilder], object]) -> tuple[Event, ...]:
    return finished(*calls).events


def finished(*calls: Callable[[MessageBuilder], object]) -> Message:
    builder = MessageBuilder()
    for call in calls:
        call(builder)
    return builder.finish_message()


def adding(event: Event) -> Callable[[MessageBuilder], None]:
    return lambda builder: builder.add(event)


def state(builder: MessageBuilder) -> tuple[Any, ...]:
    return builder.events, builder.current_time, builder.is_finished, len(builder)


def refusal(builder: MessageBuilder, call: Callable[[MessageBuilder], object]) -> BuilderError:
    """The error of a call that must be refused and must change nothing, not even for what comes after it."""
    before = state(builder)
    with pytest.raises(BuilderError) as caught:
        call(builder)
    assert state(builder) == before
    return caught.value


# What the calls make


def test_one_method_for_each_event() -> None:
    methods = [name for name in vars(MessageBuilder) if name.startswith("add_")]
    words = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.removesuffix("Event")) for kind in EVENT_TYPES}
    snakes = {word.replace("PState", "Pstate").replace("EDCH", "EDC_H").lower() for word in words}
    assert len(methods) == len(EVENT_TYPES) == 29
    assert {method.removeprefix("add_") for method in methods} == snakes
    assert [call.method for call in CALLS] == methods
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
    hello, begins, execute, completed, probe, data = built(
        lambda b: b.add_edc_hello("fcfs", "1"),
        lambda b: b.add_simulation_begins(batsim_version="5", computation_hosts=[COMPUTING] * 3),
        lambda b: b.add_execute_job("w0!1", "0-3"),
        lambda b: b.add_job_completed("w0!1", FinalJobState.COMPLETED_SUCCESSFULLY),
        lambda b: b.add_create_probe("power", hosts=0, trigger=OneShot(1)),
        lambda b: b.add_probe_data_emitted("power", Metrics.Power, 3, hosts=0),
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


# What arguments may look like

PLACEMENTS = [
    ([0, 1, 1, 0], MAPPING),
    (iter((0, 1, 1, 0)), MAPPING),
    (numpy.array([0, 1, 1, 0]), MAPPING),
    (MAPPING, MAPPING),
    (
        PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst,
        PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst,
    ),
]


@pytest.mark.parametrize(("placement", "expected"), PLACEMENTS)
def test_placements(placement: Any, expected: Any) -> None:
    given = copy.copy(placement)  # an iterator serves only once, and the test runs with each engine
    (event,) = built(lambda b: b.add_execute_job("w0!1", "0-1", placement=given))
    assert isinstance(event, model.ExecuteJobEvent)
    assert repr(event.allocation.executor_placement) == repr(expected)  # no numpy integers either


@pytest.mark.parametrize(
    ("overrides", "storages"),
    [
        (
            [ProfileAllocationPlacement("w0!a", "0,1"), ProfileAllocationPlacement("w0!b", "3", MAPPING)],
            [StorageHost("pfs", 19), StorageHost("bb", 20)],
        ),
        ({"w0!a": [1, 0], "w0!b": AllocationPlacement("3", MAPPING)}, {"pfs": 19, "bb": numpy.uint8(20)}),
    ],
)
def test_overrides_and_storages_as_values_or_as_mappings(overrides: Any, storages: Any) -> None:
    (event,) = built(
        lambda b: b.add_execute_job("w0!1", "0-3", profile_overrides=overrides, storage_placement=storages)
    )
    assert isinstance(event, model.ExecuteJobEvent)
    expected = (ProfileAllocationPlacement("w0!a", "0-1"), ProfileAllocationPlacement("w0!b", "3", MAPPING))
    assert event.profile_allocation_override == expected
    assert repr(event.storage_placement) == repr((StorageHost("pfs", 19), StorageHost("bb", 20)))


def test_absent_and_empty_are_not_the_same() -> None:
    absent, empty, mappings = built(
        lambda b: b.add_execute_job("w0!1", "0"),
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides=[], storage_placement=[]),
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={}, storage_placement={}),
    )
    assert isinstance(absent, model.ExecuteJobEvent)
    assert isinstance(empty, model.ExecuteJobEvent)
    assert (absent.profile_allocation_override, absent.storage_placement) == (None, None)
    assert (empty.profile_allocation_override, empty.storage_placement) == ((), ())
    assert mappings == empty


def test_progresses_as_values() -> None:
    values, mapping = built(
        lambda b: b.add_jobs_killed(["w0!1"], [JobAndProgress("w0!1", HALF_DONE)]),
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": HALF_DONE}),
    )
    assert values == mapping
    assert isinstance(values, model.JobsKilledEvent)
    assert values.progresses[0].progress == HALF_DONE


@pytest.mark.parametrize("number", [3, 3.0, numpy.float32(3), numpy.int64(3), True + 2])
def test_a_number_is_aggregated_probe_data(number: Any) -> None:
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, number, hosts=0))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert repr(event.data) == "AggregatedProbeData(data=3.0)"


@pytest.mark.parametrize("numbers", [[3, 4], (3.0, 4.0), iter([3, 4]), numpy.array([3.0, 4.0]), model.Doubles([3, 4])])
def test_numbers_are_vectorial_probe_data(numbers: Any) -> None:
    given = copy.copy(numbers)  # an iterator serves only once, and the test runs with each engine
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, given, hosts="0-1"))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert event.data == model.VectorialProbeData(model.Doubles([3.0, 4.0]))


@pytest.mark.parametrize("data", [model.AggregatedProbeData(3.0), model.VectorialProbeData(model.Doubles([3.0]))])
def test_probe_data_may_be_a_value(data: Any) -> None:
    (event,) = built(lambda b: b.add_probe_data_emitted("power", Metrics.Power, data, hosts="0"))
    assert isinstance(event, model.ProbeDataEmittedEvent)
    assert event.data == data


def test_an_external_event_may_be_a_value() -> None:
    value, text = built(
        lambda b: b.add_external_event_occurred("failure", model.GenericExternalEvent("node 3")),
        lambda b: b.add_external_event_occurred("failure", "node 3"),
    )
    assert value == text


def test_numbers_are_written_as_what_the_wire_gives_back() -> None:
    job = Job(resource_request=numpy.int32(2), walltime=Decimal(600), profile_id="w0!a")  # type: ignore[arg-type]  # numbers of other libraries are welcome
    submitted, register, reset, completed = built(
        lambda b: b.add_job_submitted("w0!1", job, 3),
        lambda b: b.add_register_profile("w0!a", ParallelTaskHomogeneousProfile(2**60 + 1, 8)),
        lambda b: b.add_reset_probe("power", 1),
        lambda b: b.add_job_completed("w0!1", 2, -1),  # type: ignore[arg-type]  # an enum's number is welcome
    )
    assert isinstance(submitted, model.JobSubmittedEvent)
    assert isinstance(completed, model.JobCompletedEvent)
    assert repr(submitted.job) == repr(Job(resource_request=2, walltime=600.0, profile_id="w0!a"))
    assert repr(submitted.submission_time) == "3.0"
    assert "computation_amount=1.152921504606847e+18, communication_amount=8.0" in repr(register)
    assert "new_value=1.0" in repr(reset)
    assert completed.state is FinalJobState.COMPLETED_WALLTIME_REACHED


EMPTY_TEXTS_ARE_FINE: list[Callable[[MessageBuilder], None]] = [
    lambda b: b.add_edc_hello("", "", "", batprotocol_version="", batprotocol_commit=""),
    lambda b: b.add_simulation_error(""),
    lambda b: b.add_external_event_occurred("failure", ""),
    lambda b: b.add_register_profile("w0!a", model.TraceReplayProfile(model.TraceType.SMPI, ""), extra_data=""),
    lambda b: b.add_simulation_begins(batsim_version="", computation_hosts=(), batsim_execution_context_json=""),
    lambda b: b.add_job_submitted("w0!1", Job(resource_request=0, extra_data="", profile_id=""), 0),
]


@pytest.mark.parametrize("call", EMPTY_TEXTS_ARE_FINE)
def test_empty_texts_that_name_nothing_are_fine(call: Callable[[MessageBuilder], None]) -> None:
    assert len(built(call)) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324])
def test_amounts_and_probe_values_may_be_any_double(value: float) -> None:
    (event,) = built(lambda b: b.add_reset_probe("power", value))
    assert isinstance(event, model.ResetProbeEvent)
    assert repr(event.new_value) == repr(value)


# Host sets

HOSTED: dict[str, Callable[[Any], Callable[[MessageBuilder], None]]] = {
    "allocation.host_allocation": lambda hosts: lambda b: b.add_execute_job("w0!1", hosts),
    "profile_allocation_override[0].host_allocation": lambda hosts: (
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={"w0!a": hosts})
    ),
    "resources.host_ids": lambda hosts: lambda b: b.add_create_probe("power", hosts=hosts, trigger=OneShot(1)),
    "host_ids": lambda hosts: lambda b: b.add_turn_on_off_hosts(hosts, 1),
}
"""By the field's path, a call that takes hosts."""

hosted = pytest.mark.parametrize("path", sorted(HOSTED))


def field(call: Callable[[MessageBuilder], object], path: str) -> Any:
    """What the one event of this call has in the field at this path."""
    (found,) = built(call)
    thing: Any = found
    for step in re.findall(r"\w+", path):
        thing = thing[int(step)] if step.isdigit() else getattr(thing, step)
    return thing


@hosted
@given(hosts=st.frozensets(st.integers(0, 300), min_size=1), random=st.randoms(use_true_random=False))
def test_all_forms_of_a_host_set_become_the_canonical_string(path: str, hosts: frozenset[int], random: Any) -> None:
    shuffled = [*hosts, *random.choices(sorted(hosts), k=3)]
    random.shuffle(shuffled)
    forms = [
        shuffled,
        hosts,
        iter(shuffled),
        ProcSet(*hosts),
        numpy.array(shuffled),
        ",".join(map(str, shuffled)),
        f"  {' '.join(map(str, shuffled))}",
        str(ProcSet(*hosts)),
    ]
    texts = {field(HOSTED[path](form), path) for form in forms}
    (text,) = texts
    assert text == format_hosts(hosts)
    assert set(parse_hosts(text)) == hosts


@hosted
@pytest.mark.parametrize("hosts", [7, "7", "07", [7], ProcSet(7)])
def test_one_host(path: str, hosts: Any) -> None:
    assert field(HOSTED[path](hosts), path) == "7"


WRONG_HOSTS = [
    ("3-1", "3-1"),
    ("a", "a"),
    ("0--3", "0--3"),
    (-1, "-1"),
    ([0, -2], "-2"),
    (1.5, "1.5"),
    ([1.5], "1.5"),
    ([True], "True"),
    (True, "True"),
    (b"0", "b'0'"),
    ({"0": 1}, "{'0': 1}"),
    ("4294967296", "4294967296"),
    (2**32, "4294967296"),
    ("0-5000000000", "0-5000000000"),
    ("\ud800", "ud800"),
]


@hosted
@pytest.mark.parametrize(("hosts", "shown"), WRONG_HOSTS)
def test_wrong_host_sets_name_the_field(path: str, hosts: Any, shown: str) -> None:
    error = refusal(MessageBuilder(), HOSTED[path](hosts))
    assert error.path == path
    assert shown in error.reason


@hosted
def test_a_host_that_python_will_not_even_write(path: str) -> None:
    assert refusal(MessageBuilder(), HOSTED[path](10**5000)).path == path


@hosted
@pytest.mark.parametrize("hosts", ["", "  ", (), ProcSet()])
def test_empty_host_sets_that_batsim_cannot_take(path: str, hosts: Any) -> None:
    assert refusal(MessageBuilder(), HOSTED[path](hosts)).path == path


AMOUNTS: dict[str, Callable[[float], model.Profile]] = {
    "computation_vector[1]": lambda amount: model.ParallelTaskProfile([1.0, amount]),
    "communication_matrix[3]": lambda amount: model.ParallelTaskProfile([1.0, 1.0], [0.0, 1.0, 1.0, amount]),
    "computation_amount": lambda amount: model.ParallelTaskHomogeneousProfile(amount, 1.0),
    "communication_amount": lambda amount: model.ParallelTaskHomogeneousProfile(1.0, amount),
    "bytes_to_read": lambda amount: model.ParallelTaskOnStorageHomogeneousProfile("pfs", amount),
    "bytes_to_write": lambda amount: model.ParallelTaskOnStorageHomogeneousProfile("pfs", 0.0, amount),
    "bytes_to_transfer": lambda amount: model.ParallelTaskDataStagingBetweenStoragesProfile(amount, "a", "b"),
    "delay": lambda amount: model.DelayProfile(amount),
}
"""By the field's path, a profile with this amount."""


@pytest.mark.parametrize("path", AMOUNTS)
@pytest.mark.parametrize("amount", [math.inf, -math.inf, math.nan])
def test_amounts_are_finite(path: str, amount: float) -> None:
    error = refusal(MessageBuilder(), lambda b: b.add_register_profile("d!p", AMOUNTS[path](amount)))
    assert error.path == f"profile.profile.{path}"
    assert str(amount) in error.reason
    built(lambda b: b.add_register_profile("d!p", AMOUNTS[path](1.7e308)))  # though a sum of these is infinite


ENUMS: dict[str, Callable[[Any], Callable[[MessageBuilder], None]]] = {
    "state": lambda number: lambda b: b.add_job_completed("w0!1", number),
    "metrics": lambda number: lambda b: b.add_create_probe("p", number, hosts="0", trigger=OneShot(1)),
    "when.time_unit": lambda number: lambda b: b.add_call_me_later("c", OneShot(1, number)),
    "allocation.executor_placement": lambda number: (
        lambda b: b.add_execute_job("w0!1", "0", model.PredefinedExecutorPlacementStrategy(number))
    ),
    "profile_allocation_override[0].executor_placement": lambda number: (
        lambda b: b.add_execute_job(
            "w0!1",
            "0",
            profile_overrides={
                "w0!p": model.AllocationPlacement("0", model.PredefinedExecutorPlacementStrategy(number))
            },
        )
    ),
    "profile.profile.trace_type": lambda number: (
        lambda b: b.add_register_profile("d!p", model.TraceReplayProfile(number, "traces.txt"))
    ),
    "profile.profile.generation_strategy": lambda number: (
        lambda b: b.add_register_profile("d!p", model.ParallelTaskHomogeneousProfile(1.0, 1.0, number))
    ),
}
"""By the field's path, a call that takes a number of an enum."""


@pytest.mark.parametrize("path", ENUMS)
@given(number=st.integers(-128, 127))
def test_numbers_of_enums_are_those_of_the_schema(path: str, number: int) -> None:
    if number in (0, 1):
        built(ENUMS[path](number))
    elif number < 0 or number > 4:
        error = refusal(MessageBuilder(), ENUMS[path](number))
        assert error.path == path
        assert f"got {number}" in error.reason


def test_no_host_changes_its_power_state() -> None:
    assert refusal(MessageBuilder(), lambda b: b.add_change_hosts_pstate("", 0)).path == "host_ids"


def test_host_sets_inside_events_become_canonical_too() -> None:
    execute = model.ExecuteJobEvent(
        job_id="w0!1",
        allocation=AllocationPlacement("3,2,1"),
        profile_allocation_override=(ProfileAllocationPlacement("w0!a", "2,1"),),
    )
    probe = model.CreateProbeEvent(
        probe_id="power", resources=HostResources("1,0"), measurement_triggering_policy=OneShot(1)
    )
    data = model.ProbeDataEmittedEvent(
        probe_id="power", resources=HostResources("1 0"), data=model.AggregatedProbeData(1.0)
    )
    changes = [
        kind(host_ids="5,4-4", pstate=1) for kind in (model.ChangeHostsPStateEvent, model.HostsPStateChangedEvent)
    ]
    turns = [kind(host_ids="5,4-4", state=1) for kind in (model.TurnOnOffHostsEvent, model.HostsTurnedOnOffEvent)]
    assert field(adding(execute), "allocation.host_allocation") == "1-3"
    assert field(adding(execute), "profile_allocation_override[0].host_allocation") == "1-2"
    assert field(adding(probe), "resources.host_ids") == "0-1"
    assert field(adding(data), "resources.host_ids") == "0-1"
    for event in [*changes, *turns]:
        assert field(adding(event), "host_ids") == "4-5"
    assert execute.allocation.host_allocation == "3,2,1"  # the event that was given stays as it was


# Refused calls


class Wrong:
    """A value that no field takes."""

    def __repr__(self) -> str:
        return "<wrong>"


PATHS = {
    ("add_execute_job", "hosts"): "allocation.host_allocation",
    ("add_execute_job", "placement"): "allocation.executor_placement",
    ("add_execute_job", "profile_overrides"): "profile_allocation_override",
    ("add_register_profile", "profile_id"): "profile.id",
    ("add_register_profile", "profile"): "profile.profile",
    ("add_register_profile", "extra_data"): "profile.extra_data",
    ("add_create_probe", "hosts"): "resources.host_ids",
    ("add_create_probe", "links"): "resources",  # both are given
    ("add_create_probe", "trigger"): "measurement_triggering_policy",
    ("add_create_probe", "accumulation"): "data_accumulation_strategy",
    ("add_create_probe", "aggregation"): "resources_aggregation_function",
    ("add_create_probe", "temporal_aggregation"): "temporal_aggregation_function",
    ("add_create_probe", "emission_filter"): "emission_filtering_policy",
    ("add_probe_data_emitted", "hosts"): "resources",  # both are given
    ("add_probe_data_emitted", "links"): "resources.link_ids",
    ("add_edc_hello", "name"): "decision_component_name",
    ("add_edc_hello", "version"): "decision_component_version",
    ("add_edc_hello", "commit"): "decision_component_commit",
    ("add_edc_hello", "features"): "requested_simulation_features",
    **{(call.method, "hosts"): "host_ids" for call in CALLS if hasattr(call.event, "host_ids")},
}
"""The path of an argument's field, where it is not the argument's own name."""


def arguments() -> Iterator[tuple[Call, str]]:
    for call in CALLS:
        for argument in call.arguments:
            yield call, argument


every_argument = pytest.mark.parametrize(
    ("call", "argument"), list(arguments()), ids=lambda each: each if isinstance(each, str) else each.method
)


@every_argument
@pytest.mark.parametrize("wrong", [Wrong(), [Wrong()], {"w0!1": Wrong()}, b"bytes", 1j])
def test_a_wrong_type_anywhere_names_the_field_and_the_value(call: Call, argument: str, wrong: Any) -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!0")
    error = refusal(builder, lambda b: call.on(b, **{argument: wrong}))
    expected = PATHS.get((call.method, argument), argument)
    assert re.match(rf"{re.escape(expected)}($|\[0\]|\.)", error.path)
    assert error.path in str(error)
    assert any(text in error.reason for text in ("<wrong>", "b'bytes'", "98", "1j"))


def required() -> Iterator[tuple[Call, str]]:
    for call, argument in arguments():
        if inspect.signature(getattr(MessageBuilder(), call.method)).parameters[argument].default is inspect._empty:
            yield call, argument


@pytest.mark.parametrize(
    ("call", "argument"), list(required()), ids=lambda each: each if isinstance(each, str) else each.method
)
def test_none_for_what_is_required_names_the_field(call: Call, argument: str) -> None:
    error = refusal(MessageBuilder(NOW), lambda b: call.on(b, **{argument: None}))
    assert error.path == PATHS.get((call.method, argument), argument)
    assert "None" in error.reason


@pytest.mark.parametrize(
    ("call", "argument"), list(required()), ids=lambda each: each if isinstance(each, str) else each.method
)
def test_a_missing_argument_is_named(call: Call, argument: str) -> None:
    rest = {name: value for name, value in call.arguments.items() if name != argument}
    builder = MessageBuilder(NOW)
    with pytest.raises(TypeError, match=f"'{argument}'"):
        getattr(builder, call.method)(**rest)
    assert state(builder) == ((), NOW, False, 0)


IDS = {
    "add_execute_job": ["job_id"],
    "add_register_profile": ["profile_id"],
    "add_external_event_occurred": ["id"],
    **{
        call.method: [name for name in call.arguments if name in ("job_id", "probe_id", "call_me_later_id")]
        for call in CALLS
        if call.method != "add_execute_job" and {"job_id", "probe_id", "call_me_later_id"} & call.arguments.keys()
    },
}


@pytest.mark.parametrize("method", sorted(IDS))
def test_an_empty_id_is_refused(method: str) -> None:
    (call,) = (call for call in CALLS if call.method == method)
    (argument,) = IDS[method]
    error = refusal(MessageBuilder(), lambda b: call.on(b, **{argument: ""}))
    assert error.path == PATHS.get((method, argument), argument)
    assert error.reason == "expected an id, got ''"


def job(**changed: Any) -> Job:
    return Job(**{"resource_request": 4, "profile_id": "w0!a", **changed})


def atomic(progress: Any) -> KillProgressAtomicProfile:
    return KillProgressAtomicProfile("w0!a", progress)


def nested(depth: int) -> KillProgress:
    progress: KillProgress = HALF_DONE
    for _ in range(depth):
        progress = KillProgressSequentialProfile("w0!a", 0, 0, progress)
    return progress


def begins(**changed: Any) -> Callable[[MessageBuilder], None]:
    return lambda b: b.add_simulation_begins(**{"batsim_version": "5", "computation_hosts": (), **changed})


WRONG: list[tuple[Callable[[MessageBuilder], object], str, str]] = [
    # numbers outside their field's range
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), 2**31), "return_code", "2147483648"),
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), -(2**31) - 1), "return_code", "-2147483649"),
    (lambda b: b.add_job_completed("w0!1", FinalJobState(0), 4294967296), "return_code", "4294967296"),
    (lambda b: b.add_job_completed("w0!1", 128), "state", "128"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_register_job("w0!1", job(resource_request=-1)), "job.resource_request", "-1"),
    (lambda b: b.add_register_job("w0!1", job(resource_request=2**32)), "job.resource_request", "4294967296"),
    (lambda b: b.add_job_submitted("w0!1", job(resource_request=2.0), 0), "job.resource_request", "2.0"),
    (lambda b: b.add_job_submitted("w0!1", job(resource_request=True), 0), "job.resource_request", "True"),
    (lambda b: b.add_job_submitted("w0!1", job(walltime=math.nan), 0), "job.walltime", "nan"),
    (lambda b: b.add_register_job("w0!1", job(walltime=math.inf)), "job.walltime", "inf"),
    (lambda b: b.add_register_job("w0!1", job(walltime=10**400)), "job.walltime", "1000"),
    (lambda b: b.add_register_job("w0!1", job(walltime="60")), "job.walltime", "'60'"),
    (lambda b: b.add_job_submitted("w0!1", JOB, math.nan), "submission_time", "nan"),
    (lambda b: b.add_job_submitted("w0!1", JOB, -math.inf), "submission_time", "-inf"),
    (lambda b: b.add_register_profile("w0!a", DelayProfile(math.nan)), "profile.profile.delay", "nan"),
    (
        lambda b: b.add_register_profile(
            "w0!a", model.SequentialCompositionProfile(repetition_count=-1, profile_ids=("w0!b",))
        ),
        "profile.profile.repetition_count",
        "-1",
    ),
    (lambda b: b.add_call_me_later("later", OneShot(-1)), "when.time", "-1"),
    (lambda b: b.add_call_me_later("later", OneShot(2**64)), "when.time", "18446744073709551616"),
    (lambda b: b.add_call_me_later("later", OneShot(1.5)), "when.time", "1.5"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_call_me_later("later", Periodic(1, offset=-3)), "when.offset", "-3"),
    (
        lambda b: b.add_call_me_later("later", Periodic(1, mode=model.FinitePeriodNumber(2**32))),
        "when.mode.nb_periods",
        "4294967296",
    ),
    (lambda b: b.add_call_me_later("later", Infinite()), "when", "Infinite()"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add_change_hosts_pstate("0", -1), "pstate", "-1"),
    (lambda b: b.add_hosts_pstate_changed("0", 2**32), "pstate", "4294967296"),
    (lambda b: b.add_turn_on_off_hosts("0", -7), "state", "-7"),
    (lambda b: b.add_hosts_turned_on_off("0", 2**33), "state", "8589934592"),
    (
        lambda b: b.add_probe_data_emitted("power", Metrics.Power, 1, hosts="0", nb_emitted=-1),
        "nb_emitted",
        "-1",
    ),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, True, hosts="0"), "data.data", "True"),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, ["1"], hosts="0"), "data.data", "['1']"),  # type: ignore[list-item]  # wrong on purpose
    (lambda b: b.add_execute_job("w0!1", "0", placement=[0, -1]), "allocation.executor_placement.mapping[1]", "-1"),
    (
        lambda b: b.add_execute_job("w0!1", "0", storage_placement={"pfs": -1}),
        "storage_placement[0].host_id",
        "-1",
    ),
    (lambda b: b.add_execute_job("w0!1", "0", placement="0"), "allocation.executor_placement", "'0'"),  # type: ignore[arg-type]  # wrong on purpose
    (begins(host_number=-1), "host_number", "-1"),
    (begins(storage_host_number=2**32), "storage_host_number", "4294967296"),
    (
        begins(computation_hosts=[COMPUTING, Host(id=-1, name="b", computation_speed=[1.0])]),  # type: ignore[arg-type]  # a constructor takes it
        "computation_hosts[1].id",
        "-1",
    ),
    (begins(computation_hosts=[COMPUTING, JOB]), "computation_hosts[1]", "Job("),
    # progress and quantiles outside [0,1]
    *(
        (
            lambda b, value=value: b.add_jobs_killed(["w0!1"], {"w0!1": atomic(value)}),
            "progresses[0].wrapper.progress",
            repr(value),
        )
        for value in (-1.0, -5e-324, 1.0000000000000002, math.nan, math.inf)
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressSequentialProfile("w0!s", 0, 0, atomic(2))}),
        "progresses[0].wrapper.current_task_progress.progress",
        "2.0",
    ),
    (
        lambda b: b.add_jobs_killed(
            ["w0!0", "w0!1"],
            [
                JobAndProgress("w0!0", HALF_DONE),
                JobAndProgress("w0!1", KillProgressForkJoinProfile("w0!f", (HALF_DONE, atomic(-0.5)))),
            ],
        ),
        "progresses[1].wrapper.tasks_progress[1].progress",
        "-0.5",
    ),
    *(
        (
            lambda b, value=value: b.add_create_probe(
                "power", hosts="0", trigger=OneShot(1), aggregation=QuantileFunction(value)
            ),
            "resources_aggregation_function.threshold",
            repr(value),
        )
        for value in (-0.1, 1.5, math.nan)
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressSequentialProfile("w0!s", -1, 0, HALF_DONE)}),
        "progresses[0].wrapper.current_repetition",
        "-1",
    ),
    # ids
    (lambda b: b.add_kill_jobs([]), "job_ids", "none"),
    (lambda b: b.add_kill_jobs(["w0!1", ""]), "job_ids[1]", "''"),
    (lambda b: b.add_kill_jobs("w0!1"), "job_ids", "'w0!1'"),
    (lambda b: b.add_kill_jobs([3]), "job_ids[0]", "3"),  # type: ignore[list-item]  # wrong on purpose
    (lambda b: b.add_jobs_killed([], {}), "job_ids", "none"),
    (lambda b: b.add_jobs_killed(["w0!1"], {"w0!2": HALF_DONE}), "progresses[0].job_id", "'w0!2'"),
    (lambda b: b.add_jobs_killed(["w0!1"], {"": HALF_DONE}), "progresses[0].job_id", "''"),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": KillProgressAtomicProfile("", 0.5)}),
        "progresses[0].wrapper.profile_id",
        "''",
    ),
    (
        lambda b: b.add_jobs_killed(["w0!1"], {}, [ProfileAndId("", DelayProfile(1.0))]),
        "profiles[0].id",
        "''",
    ),
    (lambda b: b.add_register_job("w0!1", job(profile_id="")), "job.profile_id", "''"),
    (
        lambda b: b.add_register_profile("w0!a", model.ForkJoinCompositionProfile(("w0!b", ""))),
        "profile.profile.profile_ids[1]",
        "''",
    ),
    (
        lambda b: b.add_execute_job("w0!1", "0", profile_overrides={"": "0"}),
        "profile_allocation_override[0].profile_id",
        "''",
    ),
    (lambda b: b.add_create_probe("power", links=[""], trigger=OneShot(1)), "resources.link_ids[0]", "''"),
    # hosts or links
    (lambda b: b.add_create_probe("power", trigger=OneShot(1)), "resources", "None"),
    (lambda b: b.add_create_probe("power", hosts="0-3", links=["a"], trigger=OneShot(1)), "resources", "'0-3'"),
    (lambda b: b.add_create_probe("power", links="pfs", trigger=OneShot(1)), "resources.link_ids", "'pfs'"),
    (lambda b: b.add_probe_data_emitted("power", Metrics.Power, 1), "resources", "None"),
    # texts that Batsim writes into its tables, or that UTF-8 cannot carry
    (lambda b: b.add_edc_hello("a,b", "1"), "decision_component_name", "'a,b'"),
    (lambda b: b.add_edc_hello("a", '1"'), "decision_component_version", "'1\"'"),
    (lambda b: b.add_edc_hello("a", "1", ","), "decision_component_commit", "','"),
    (lambda b: b.add_edc_hello("a", "1", batprotocol_version="1,2"), "batprotocol_version", "'1,2'"),
    (lambda b: b.add_edc_hello("a", "1", batprotocol_commit='"'), "batprotocol_commit", "'\"'"),
    (begins(batsim_version="5,0"), "batsim_version", "'5,0'"),
    (lambda b: b.add_simulation_error("\ud800"), "error", "ud800"),
    (lambda b: b.add_reject_job("w0!\udfff"), "job_id", "udfff"),
    # time
    (lambda b: b.set_current_time(NOW - 0.5), "now", "12.0"),
    (lambda b: b.set_current_time(math.nan), "now", "nan"),
    (lambda b: b.set_current_time(math.inf), "now", "inf"),
    (lambda b: b.set_current_time("13"), "now", "'13'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.set_current_time(True), "now", "True"),
    (lambda b: b.set_current_time(None), "now", "None"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.set_current_time(10**400), "now", "1000"),
    (lambda b: b.set_current_time(10**5000), "now", "16610 bits"),
    (lambda b: b.finish_message(NOW - 0.5), "now", "12.0"),
    (lambda b: b.finish_message(math.inf), "now", "inf"),
    (lambda b: b.finish_message("x"), "now", "'x'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.clear(math.nan), "now", "nan"),
    (lambda b: b.clear(-math.inf), "now", "-inf"),
    (lambda b: b.clear(b"0"), "now", "b'0'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=NOW - 0.5)), "timestamp", "12.0"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=-1)), "timestamp", "-1.0"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=math.nan)), "timestamp", "nan"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp=math.inf)), "timestamp", "inf"),
    (lambda b: b.add(model.RejectJobEvent(job_id="w0!1", timestamp="13")), "timestamp", "'13'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent(job_id="", timestamp=NOW + 1)), "job_id", "''"),
    # what is no event
    (lambda b: b.add("RejectJobEvent"), "event", "'RejectJobEvent'"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(None), "event", "None"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(JOB), "event", "Job("),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(model.RejectJobEvent), "event", "RejectJobEvent"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda b: b.add(Message(0.0)), "event", "Message("),  # type: ignore[arg-type]  # wrong on purpose
]


@pytest.mark.parametrize(("call", "path", "shown"), WRONG, ids=[f"{path}-{shown}" for _, path, shown in WRONG])
def test_a_wrong_call_names_the_field_and_the_value(
    call: Callable[[MessageBuilder], object], path: str, shown: str
) -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!0")
    error = refusal(builder, call)
    assert error.path == path
    assert shown in error.reason
    assert str(error) == f"{error.path}: {error.reason}"
    assert len(str(error)) < 400
    builder.add_reject_job("w0!1")  # and it goes on as if nothing had been
    assert [event.timestamp for event in builder.finish_message().events] == [NOW, NOW]


@every_call
@pytest.mark.parametrize("wrong", [Wrong(), None])
def test_add_refuses_what_the_method_refuses(call: Call, wrong: object) -> None:
    names = [name for name in call.event.__struct_fields__ if name not in ("timestamp", "host_ids")]
    hints = get_type_hints(type(call.event))
    for name in names:
        values = {other: getattr(call.event, other) for other in call.event.__struct_fields__}
        event = type(call.event)(**{**values, name: wrong})
        builder = MessageBuilder()
        if wrong is None and type(None) in get_args(hints[name]):
            builder.add(event)
            assert len(builder) == 1
        else:
            assert refusal(builder, adding(event)).path == name


@given(progress=st.floats(), depth=st.integers(0, 5))
def test_progress_is_taken_exactly_in_0_1(progress: float, depth: int) -> None:
    value: KillProgress = atomic(progress)
    for level in range(depth):
        value = (
            KillProgressSequentialProfile("w0!s", 0, 0, value)
            if level % 2
            else KillProgressForkJoinProfile("w0!f", (value,))
        )
    builder = MessageBuilder()
    if 0 <= progress <= 1:
        builder.add_jobs_killed(["w0!1"], {"w0!1": value})
        assert len(builder) == 1
    else:
        error = refusal(builder, lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": value}))
        assert error.path.endswith(".progress")
        assert repr(progress) in error.reason


@given(number=st.integers(-(2**70), 2**70))
def test_integers_are_taken_exactly_in_their_range(number: int) -> None:
    cases: list[tuple[int, int, Callable[[MessageBuilder], None]]] = [
        (0, 2**32 - 1, lambda b: b.add_change_hosts_pstate("0", number)),
        (-(2**31), 2**31 - 1, lambda b: b.add_job_completed("w0!1", FinalJobState(0), number)),
        (0, 2**64 - 1, lambda b: b.add_call_me_later("later", OneShot(number))),
    ]
    for least, most, call in cases:
        if least <= number <= most:
            assert len(built(call)) == 1
        else:
            assert str(number) in refusal(MessageBuilder(), call).reason


def test_what_is_accepted_at_the_greatest_depth_can_be_written() -> None:
    deepest = 29  # two tables each, and six more: message, envelope, event, job and progress, a wrapper, the innermost
    message = finished(lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": nested(deepest)}))
    assert Message.from_binary(message.to_binary()) == message
    error = refusal(MessageBuilder(), lambda b: b.add_jobs_killed(["w0!1"], {"w0!1": nested(deepest + 1)}))
    assert error.path.startswith("progresses[0].wrapper.current_task_progress")
    assert "64" in error.reason


def test_errors_are_protocol_errors_with_their_cause() -> None:
    with pytest.raises(ProtocolError) as caught:
        MessageBuilder().add_job_completed("w0!1", FinalJobState(0), 4294967296)
    assert str(caught.value).startswith("return_code: expected an int32")
    assert str(caught.value).endswith("got 4294967296")
    assert isinstance(caught.value.__cause__, ProtocolError)


# Time and life cycle

Step = Callable[[MessageBuilder], object]
finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats() | st.integers(-(2**70), 2**70)


@given(start=finite, steps=st.lists(st.tuples(st.sampled_from(["add_", "add", "set", "wrong", "clear"]), anything)))
def test_time_only_goes_forward_and_stamps_are_the_current_time(start: float, steps: list[tuple[str, float]]) -> None:
    builder = MessageBuilder(start)
    now, stamps = float(start), []
    for kind, value in steps:
        forward = math.isfinite(value) and value >= now
        if kind == "add_":
            builder.add_reject_job("w0!1")
            stamps.append(now)
        elif kind == "wrong":
            refusal(builder, lambda b: b.add_reject_job(""))
        elif kind == "clear" and math.isfinite(value):
            builder.clear(value)
            now, stamps = float(value), []
        elif kind == "set" and forward:
            builder.set_current_time(value)
            now = float(value)
        elif kind == "set":
            assert refusal(builder, lambda b, value=value: b.set_current_time(value)).path == "now"  # type: ignore[misc]  # a lambda's default
        elif kind == "add" and (value == 0 or forward):
            builder.add(model.RejectJobEvent(job_id="w0!1", timestamp=value))
            now = now if value == 0 else float(value)
            stamps.append(now)
        elif kind == "add":
            event = model.RejectJobEvent(job_id="w0!1", timestamp=value)
            assert refusal(builder, adding(event)).path == "timestamp"
        assert builder.current_time == now
        assert [event.timestamp for event in builder.events] == stamps
    message = builder.finish_message()
    assert message.now == now
    assert [event.timestamp for event in message.events] == stamps == sorted(stamps)
    assert all(type(event.timestamp) is float for event in message.events)


def test_the_clock_starts_where_it_is_told() -> None:
    assert MessageBuilder().current_time == 0.0
    assert MessageBuilder(-3).current_time == -3.0
    assert type(MessageBuilder(3).current_time) is float
    with pytest.raises(BuilderError, match=r"^now: .*nan"):
        MessageBuilder(math.nan)


def test_an_event_without_timestamp_is_stamped_even_when_the_clock_is_below_zero() -> None:
    builder = MessageBuilder(-5)
    builder.add(model.RejectJobEvent(job_id="w0!1"))
    builder.add(model.RejectJobEvent(job_id="w0!2", timestamp=-4))
    assert [event.timestamp for event in builder.events] == [-5.0, -4.0]
    assert builder.current_time == -4.0


def test_finish_takes_the_current_time_or_a_later_one() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    assert builder.finish_message() == Message(NOW, (model.RejectJobEvent(job_id="w0!1", timestamp=NOW),))
    builder.clear(NOW)
    assert builder.finish_message(20) == Message(20.0, ())
    assert builder.current_time == 20.0


AFTER_THE_END: list[Step] = [
    *(call.on for call in CALLS),
    lambda b: b.add(model.SimulationEndsEvent()),
    lambda b: b.set_current_time(100),
    lambda b: b.finish_message(),
    lambda b: b.finish_message(100),
]


@pytest.mark.parametrize("step", AFTER_THE_END)
def test_nothing_but_clear_goes_on_after_the_end(step: Step) -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    message = builder.finish_message()
    assert builder.is_finished
    error = refusal(builder, step)
    assert error.path == "finish_message"
    assert "12.5" in error.reason
    assert "clear()" in error.reason
    builder.clear(1)
    assert state(builder) == ((), 1.0, False, 0)
    builder.add_reject_job("w0!2")
    assert builder.finish_message() == Message(1.0, (model.RejectJobEvent(job_id="w0!2", timestamp=1.0),))
    assert len(message.events) == 1  # a message is not touched by what its builder does later


def test_a_refused_clear_or_finish_leaves_the_builder_as_it_was() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    refusal(builder, lambda b: b.finish_message(1))
    refusal(builder, lambda b: b.clear(math.nan))
    assert not builder.is_finished
    builder.finish_message()
    refusal(builder, lambda b: b.clear(math.nan))
    assert builder.is_finished


def test_a_builder_says_what_it_holds() -> None:
    builder = MessageBuilder(NOW)
    builder.add_reject_job("w0!1")
    assert len(builder) == 1
    assert repr(builder) == "<MessageBuilder: 1 events, open at 12.5>"
    builder.finish_message()
    assert repr(builder) == "<MessageBuilder: 1 events, finished at 12.5>"
