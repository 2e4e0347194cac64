"""Each method of the builder, called with all its arguments, and what such calls make or are refused with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import pytest

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.errors import BuilderError
from batprotocol.model import (
    AllocationPlacement,
    CustomExecutorToHostMapping,
    DelayProfile,
    Event,
    FinalJobState,
    Host,
    HostResources,
    Job,
    JobAndProgress,
    KillProgressAtomicProfile,
    LinkResources,
    Message,
    Metrics,
    OneShot,
    Periodic,
    ProfileAllocationPlacement,
    ProfileAndId,
    QuantileFunction,
    StorageHost,
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
            "profile_overrides": [ProfileAllocationPlacement("w0!a", "2-5", MAPPING)],
            "storage_placement": [StorageHost("pfs", 19)],
        },
        model.ExecuteJobEvent(
            job_id="w0!1",
            allocation=AllocationPlacement("0-3", MAPPING),
            profile_allocation_override=(ProfileAllocationPlacement("w0!a", "2-5", MAPPING),),
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
