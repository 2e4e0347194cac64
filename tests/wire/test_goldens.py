"""The example messages of the C++ library's builder: the same calls give the same messages here, in both formats."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import GOLDENS

from batprotocol import model
from batprotocol.builder import MessageBuilder

Calls = Callable[[MessageBuilder], None]

SPREAD = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst
FILL = model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst
UNIFORMLY = model.HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
ON_FIRST = model.CustomExecutorToHostMapping((0, 0, 0, 0))
COMPUTATION = model.Doubles([1e7] * 4)
COMMUNICATION = model.Doubles([0, 8192, 8192, 0, 8192, 0, 0, 8192, 8192, 0, 0, 8192, 0, 8192, 8192, 0])


def hello(**features: bool) -> Calls:
    return lambda builder: builder.add_edc_hello(
        "cpp-unit-test",
        "0.1.0",
        "unknown",
        model.EDCRequestedSimulationFeatures(**features) if features else None,
        batprotocol_version="0.1.0+unknown-please-define-me-properly",
    )


def profile(name: str, value: model.Profile) -> Calls:
    return lambda builder: builder.add_register_profile(f"dyn!{name}", value)


def power_now(aggregation: model.ResourcesAggregationFunction) -> Calls:
    return lambda builder: builder.add_create_probe(
        "power-now", model.Metrics.Power, hosts="0-3", trigger=model.OneShot(30), aggregation=aggregation
    )


def custom_placement(builder: MessageBuilder) -> None:
    builder.add_execute_job("w0!3", "13 17", ON_FIRST, (), ())
    builder.add_execute_job("w0!4", [37, 51], placement=[0, 1, 1, 0], profile_overrides=[], storage_placement=[])


def predefined_placement(builder: MessageBuilder) -> None:
    builder.add_execute_job("w0!1", "0-4", SPREAD, profile_overrides=(), storage_placement={})
    builder.add_execute_job("w0!2", range(5), placement=FILL, profile_overrides={}, storage_placement=())


def storage_mapping(builder: MessageBuilder) -> None:
    builder.add_execute_job("w0!5", "0-3 19", profile_overrides=(), storage_placement={"pfs": 19})
    storages = [model.StorageHost("burst_buffer", 13), model.StorageHost("pfs", 19)]
    builder.add_execute_job("w0!6", "0,1,2,3,13,21", profile_overrides=(), storage_placement=storages)


def subprofile_placement(builder: MessageBuilder) -> None:
    override = [model.ProfileAllocationPlacement("w0!ptask1", "0-3", ON_FIRST)]
    builder.add_execute_job("w0!7", "0-3", profile_overrides=override, storage_placement=())
    overrides = [
        model.ProfileAllocationPlacement("w0!ptask1!0", "13", ON_FIRST),
        model.ProfileAllocationPlacement("w0!ptask1!1", "21", ON_FIRST),
    ]
    builder.add_execute_job("w0!8", "13 21", profile_overrides=overrides, storage_placement=())
    override = [model.ProfileAllocationPlacement("w0!ptask1!0", "13 21", FILL)]
    builder.add_execute_job("w0!9", "13 21", profile_overrides=override, storage_placement=())


def simulation_begins(builder: MessageBuilder) -> None:
    zone = (model.HostProperty("zone_key", "g5k"),)
    builder.add_simulation_begins(
        batprotocol_version="1.0.0",
        batsim_version="5.0.0",
        batsim_commit="",
        computation_hosts=[
            model.Host(
                id=0,
                name="host0",
                state=model.HostState.IDLE,
                properties=(model.HostProperty("a", "0"), model.HostProperty("b", "1")),
                zone_properties=zone,
                computation_speed=model.Doubles([1e9]),
            ),
            model.Host(
                id=1,
                name="host1",
                pstate_count=2,
                core_count=8,
                properties=(model.HostProperty("a", "1"), model.HostProperty("b", "3")),
                zone_properties=zone,
                computation_speed=model.Doubles([1e9, 1e8]),
            ),
        ],
        storage_hosts=[
            model.Host(
                id=2,
                name="pfs",
                state=model.HostState.IDLE,
                properties=(),
                zone_properties=(),
                computation_speed=model.Doubles([1e9]),
            )
        ],
        batsim_arguments=[
            *("batsim", "-p", "cluster_energy_128.xml", "-w", "test_energy_minimal_load0.json"),
            *("-ebatres", "--energy"),
        ],
        batsim_execution_context_json="another JSON string",
        workloads=[model.WorkloadAndFilename(f"w{i}", f"/tmp/workload{i}.json") for i in range(2)],
        profiles=[model.ProfileAndId(f"w{i}!delay0", model.DelayProfile(60.0)) for i in range(2)],
    )


ATOMIC = model.KillProgressAtomicProfile

BUILT: dict[str, Calls] = {
    "all_static_external_events_injected-simple": lambda b: b.add_all_static_external_events_have_been_injected(),
    "all_static_jobs_submitted-simple": lambda b: b.add_all_static_jobs_have_been_submitted(),
    "call_me_later-one_shot": lambda b: b.add_call_me_later("example_one_shot", model.OneShot(42)),
    "call_me_later-periodic_10s": lambda b: b.add_call_me_later("example_infinite_period", model.Periodic(10)),
    "call_me_later-periodic_500ms": lambda b: b.add_call_me_later(
        "example_infinite_period", model.Periodic(500, offset=27, time_unit=model.TimeUnit.Millisecond)
    ),
    "call_me_later-periodic_finite": lambda b: b.add_call_me_later(
        "example_finite_period", model.Periodic(20, mode=model.FinitePeriodNumber(5))
    ),
    "create_probe-accumulate_sum_no_reset": lambda b: b.add_create_probe(
        "power",
        model.Metrics.Power,
        hosts="0-3",
        trigger=model.Periodic(30, offset=5),
        accumulation=model.ProbeDataAccumulation(
            model.NoReset(), model.CumulativeFunction.Sum, temporal_normalization=True
        ),
    ),
    "create_probe-accumulate_sum_reset": lambda b: b.add_create_probe(
        "power",
        model.Metrics.Power,
        hosts=[3, 2, 1, 0],
        trigger=model.Periodic(30, offset=5),
        accumulation=model.ProbeDataAccumulation(model.ProbeAccumulationReset(0)),
    ),
    "create_probe-emission_filtering_threshold": lambda b: b.add_create_probe(
        "power",
        hosts="0-3",
        trigger=model.Periodic(30, offset=5),
        emission_filter=model.ThresholdFilteringFunction(1e6, model.BooleanComparisonOperator.GreaterThanOrEqual),
    ),
    "create_probe-one_shot": lambda b: b.add_create_probe(
        "power-now", model.Metrics.Power, hosts="0-3", trigger=model.OneShot(30)
    ),
    "create_probe-periodic": lambda b: b.add_create_probe(
        "network-load-pfs",
        model.Metrics.NetworkLoad,
        links=["pfs", "pfs_UP", "pfs_DOWN"],
        trigger=model.Periodic(30, offset=5),
    ),
    "create_probe-resource_aggregation_arithmetic_mean": power_now(model.ArithmeticMean()),
    "create_probe-resource_aggregation_max": power_now(model.QuantileFunction(1)),
    "create_probe-resource_aggregation_median": power_now(model.QuantileFunction(0.5)),
    "create_probe-resource_aggregation_min": power_now(model.QuantileFunction(0)),
    "create_probe-resource_aggregation_quantile_func": power_now(model.QuantileFunction(0.25)),
    "create_probe-resource_aggregation_sum": power_now(model.Sum()),
    "edc_hello-compute_sharing": hello(),
    "edc_hello-feature1": hello(dynamic_registration=True),
    "edc_hello-feature2": hello(dynamic_registration=True, profile_reuse=True),
    "edc_hello-feature3": hello(dynamic_registration=True, profile_reuse=True, acknowledge_dynamic_jobs=True),
    "edc_hello-feature4": hello(forward_profiles_on_job_submission=True),
    "edc_hello-feature5": hello(forward_profiles_on_jobs_killed=True),
    "edc_hello-feature6": hello(forward_profiles_on_simulation_begins=True),
    "edc_hello-feature7": hello(),
    "edc_hello-job_alloc_validation_strategy": hello(),
    "edc_hello-no_storage_sharing": hello(),
    "edc_hello-simple": hello(),
    "execute_job-custom_placement": custom_placement,
    "execute_job-predefined_placement": predefined_placement,
    "execute_job-simple": lambda b: b.add_execute_job("w0!0", "0-1", profile_overrides=(), storage_placement=()),
    "execute_job-storage_mapping": storage_mapping,
    "execute_job-subprofile_placement": subprofile_placement,
    "finish_registration-simple": lambda b: b.add_finish_registration(),
    "force_simulation_stop-simple": lambda b: b.add_force_simulation_stop(),
    "job_completed-failure": lambda b: b.add_job_completed("w0!1", model.FinalJobState.COMPLETED_FAILED, 1),
    "job_completed-killed": lambda b: b.add_job_completed("w0!2", model.FinalJobState.COMPLETED_KILLED, return_code=1),
    "job_completed-success": lambda b: b.add_job_completed("w0!0", model.FinalJobState.COMPLETED_SUCCESSFULLY),
    "job_submitted-extra_data": lambda b: b.add_job_submitted(
        "w0!1", model.Job(resource_request=16, extra_data='"application": "npb-lu"', profile_id="w0!prof"), 1
    ),
    "job_submitted-ghost": lambda b: b.add_job_submitted(
        "w0!2",
        model.Job(resource_request=0, extra_data="... (some data to do dynamic registrations)", profile_id=""),
        submission_time=2.0,
    ),
    "job_submitted-simple": lambda b: b.add_job_submitted(
        "w0!0", model.Job(resource_request=4, walltime=3600, extra_data="", profile_id="w0!prof"), 0.0
    ),
    "jobs_killed-atomic_several_jobs": lambda b: b.add_jobs_killed(
        ["w0!3", "w0!4"], {"w0!3": ATOMIC("w0!prof", 0.3), "w0!4": ATOMIC("w0!prof", 0.7)}
    ),
    "jobs_killed-atomic_simple": lambda b: b.add_jobs_killed(
        ["w0!0"], [model.JobAndProgress("w0!0", ATOMIC("w0!prof", 0.5))]
    ),
    "jobs_killed-forkjoin_recursive": lambda b: b.add_jobs_killed(
        ["w0!6"],
        {
            "w0!6": model.KillProgressForkJoinProfile(
                "w0!prof_forkjoin2",
                (model.KillProgressForkJoinProfile("w0!prof_forkjoin3", (ATOMIC("w0!prof", 0.9),)),),
            )
        },
    ),
    "jobs_killed-forkjoin_simple": lambda b: b.add_jobs_killed(
        ["w0!5"],
        {
            "w0!5": model.KillProgressForkJoinProfile(
                "w0!prof_forkjoin", (ATOMIC("w0!prof", 0.4), ATOMIC("w0!prof2", 0.8))
            )
        },
    ),
    "jobs_killed-sequential_recursive": lambda b: b.add_jobs_killed(
        ["w0!2"],
        {
            "w0!2": model.KillProgressSequentialProfile(
                "w0!prof_seq_seq",
                0,
                0,
                model.KillProgressSequentialProfile("w0!prof_seq", 1, 2, ATOMIC("w0!prof", 0.2)),
            )
        },
    ),
    "jobs_killed-sequential_simple": lambda b: b.add_jobs_killed(
        ["w0!1"], {"w0!1": model.KillProgressSequentialProfile("w0!prof_seq", 1, 2, ATOMIC("w0!prof", 0.1))}
    ),
    "kill_jobs-multiple": lambda b: b.add_kill_jobs(["w0!3", "w0!7", "dyn!0"]),
    "kill_jobs-simple": lambda b: b.add_kill_jobs(["w0!0"]),
    "probe_data_emitted-aggregated": lambda b: b.add_probe_data_emitted(
        "power-all-hosts",
        model.Metrics.Power,
        model.AggregatedProbeData(1e6),
        hosts="0-3",
        nb_emitted=1,
        nb_triggered=1,
    ),
    "probe_data_emitted-vectorial": lambda b: b.add_probe_data_emitted(
        "power-switches",
        model.Metrics.Power,
        model.VectorialProbeData(model.Doubles([50, 30])),
        links=["switch0", "switch1"],
        manually_triggered=True,
        nb_emitted=5,
        nb_triggered=7,
    ),
    "register_job-simple": lambda b: b.add_register_job(
        "dyn!0", model.Job(resource_request=8, walltime=600, extra_data="", profile_id="w0!prof")
    ),
    "register_profile-delay": profile("delay0", model.DelayProfile(10)),
    "register_profile-forkjoin": profile("forkjoin0", model.ForkJoinCompositionProfile(("w0!ptask", "dyn!ptask_hg0"))),
    "register_profile-ptask": profile("ptask0", model.ParallelTaskProfile(COMPUTATION, COMMUNICATION)),
    "register_profile-ptask_empty": profile("ptask3", model.ParallelTaskProfile()),
    "register_profile-ptask_hg": profile("ptask_hg0", model.ParallelTaskHomogeneousProfile(1e7, 8192)),
    "register_profile-ptask_hg_storage": profile(
        "ptask_hg_storage0", model.ParallelTaskOnStorageHomogeneousProfile("pfs", bytes_to_write=4e6)
    ),
    "register_profile-ptask_hg_storage_total": profile(
        "ptask_hg_storage1", model.ParallelTaskOnStorageHomogeneousProfile("pfs", 1e9, 0, UNIFORMLY)
    ),
    "register_profile-ptask_hg_total": profile("ptask_hg1", model.ParallelTaskHomogeneousProfile(1e7, 8192, UNIFORMLY)),
    "register_profile-ptask_merge": profile(
        "ptask_merge0", model.ParallelTaskMergeCompositionProfile(("w0!ptask", "dyn!ptask_hg0"))
    ),
    "register_profile-ptask_no_comm": profile("ptask1", model.ParallelTaskProfile(COMPUTATION)),
    "register_profile-ptask_no_comp": profile("ptask2", model.ParallelTaskProfile(communication_matrix=COMMUNICATION)),
    "register_profile-ptask_staging_between_storages": profile(
        "ptask_staging_storages0", model.ParallelTaskDataStagingBetweenStoragesProfile(1e6, "pfs", "burst_buffer")
    ),
    "register_profile-sequential": profile(
        "sequential0", model.SequentialCompositionProfile(repetition_count=3, profile_ids=("w0!ptask", "dyn!ptask_hg0"))
    ),
    "register_profile-trace_replay_fractional_comp": profile(
        "replay_frac_comp0",
        model.TraceReplayProfile(model.TraceType.FractionalComputation, "npb-lu/traces-fractional-comp.txt"),
    ),
    "register_profile-trace_replay_smpi": profile(
        "replay_smpi0", model.TraceReplayProfile(model.TraceType.SMPI, "npb-lu/traces-smpi.txt")
    ),
    "reject_job-simple": lambda b: b.add_reject_job("w0!0"),
    "requested_call-last": lambda b: b.add_requested_call("example_finite_periodic_last", True),
    "requested_call-simple": lambda b: b.add_requested_call("example_one_shot"),
    "reset_probe-simple": lambda b: b.add_reset_probe("power-all-hosts", 1),
    "simulation_begins-full": simulation_begins,
    "simulation_ends-simple": lambda b: b.add_simulation_ends(),
    "stop_call_me_later-simple": lambda b: b.add_stop_call_me_later("example_infinite_period"),
    "stop_probe-simple": lambda b: b.add_stop_probe("power-all-hosts"),
    "trigger_probe-force": lambda b: b.add_trigger_probe("power-all-hosts"),
    "trigger_probe-no_force": lambda b: b.add_trigger_probe("power-all-hosts", force_data_emission=False),
}
"""For each golden, the calls that build it."""


def test_every_golden_is_built_and_nothing_else() -> None:
    assert {path.stem for path in GOLDENS.glob("*.bin")} == set(BUILT)
    assert {path.stem for path in GOLDENS.glob("*.json")} == set(BUILT)
    assert len(BUILT) == 77


@pytest.mark.parametrize("name", sorted(BUILT))
def test_builder_and_both_formats_give_the_golden_message(name: str) -> None:
    builder = MessageBuilder()
    BUILT[name](builder)
    built = builder.finish_message()
    assert model.Message.from_binary((GOLDENS / f"{name}.bin").read_bytes()) == built
    assert model.Message.from_json((GOLDENS / f"{name}.json").read_bytes()) == built
    assert model.Message.from_binary(built.to_binary()) == built
    assert model.Message.from_json(built.to_json()) == built
