"""Hypothesis strategies for every event and value of the protocol, awkward on purpose.

They generate everything that the wire can carry, not only values that Batsim accepts: they know the ranges of the
schema and nothing of the conversation's rules. Empty and huge vectors, every union member, unknown enum numbers,
non-ASCII names, extreme numbers, and absent fields beside default ones all come up often.

    from hypothesis import given
    from batprotocol.model import Message
    from batprotocol.testing import strategies as bat

    @given(bat.messages("b2e"))
    def test_round_trip(message):
        assert Message.from_binary(message.to_binary()) == message

A strategy has the name of its type in the plural: `job_submitted_events()` for `JobSubmittedEvent`, `jobs()` for `Job`,
`profiles()` for the union `Profile`; `enums(TimeUnit)` serves all enums. `EVENT_STRATEGIES` and `VALUE_STRATEGIES` find
it by type. The strategies of values that hold doubles take `allow_nan`, False by default: a scalar NaN makes a value
unequal to itself, and JSON does not keep the payload of any NaN. Infinities are always generated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batprotocol import model
from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

try:
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise PackageMissing(
        f"batprotocol.testing.strategies needs the package hypothesis: {installing('test', 'hypothesis', 'pytest')}"
    ) from error

from batprotocol.testing.strategies._events import (
    EVENT_STRATEGIES,
    all_static_external_events_have_been_injected_events,
    all_static_jobs_have_been_submitted_events,
    call_me_later_events,
    change_hosts_pstate_events,
    conversations,
    create_probe_events,
    edc_hello_events,
    events,
    execute_job_events,
    external_event_occurred_events,
    external_events,
    finish_registration_events,
    force_simulation_stop_events,
    generic_external_events,
    hosts_pstate_changed_events,
    hosts_turned_on_off_events,
    job_completed_events,
    job_submitted_events,
    jobs_killed_events,
    kill_jobs_events,
    messages,
    probe_data_emitted_events,
    register_job_events,
    register_profile_events,
    reject_job_events,
    requested_call_events,
    reset_probe_events,
    simulation_begins_events,
    simulation_ends_events,
    simulation_error_events,
    stop_call_me_later_events,
    stop_probe_events,
    trigger_probe_events,
    turn_on_off_hosts_events,
)
from batprotocol.testing.strategies._platform import (
    allocation_placements,
    custom_executor_to_host_mappings,
    edc_requested_simulation_features,
    executor_placements,
    external_event_list_and_filenames,
    host_properties,
    host_sets,
    hosts,
    jobs,
    profile_allocation_placements,
    storage_hosts,
    workload_and_filenames,
)
from batprotocol.testing.strategies._probes import (
    aggregated_probe_data,
    arithmetic_means,
    exponential_moving_averages,
    host_resources,
    link_resources,
    no_filterings,
    no_probe_data_accumulations,
    no_resets,
    no_resources_aggregations,
    no_temporal_aggregations,
    probe_accumulation_resets,
    probe_data,
    probe_data_accumulation_strategies,
    probe_data_accumulations,
    probe_emission_filtering_policies,
    quantile_functions,
    reset_modes,
    resources,
    resources_aggregation_functions,
    sliding_window_operations,
    sums,
    temporal_aggregation_functions,
    threshold_filtering_functions,
    vectorial_probe_data,
)
from batprotocol.testing.strategies._profiles import (
    DEEPEST_KILL_PROGRESS,
    delay_profiles,
    finite_period_numbers,
    fork_join_composition_profiles,
    infinites,
    job_and_progresses,
    kill_progress_atomic_profiles,
    kill_progress_fork_join_profiles,
    kill_progress_sequential_profiles,
    kill_progresses,
    one_shots,
    parallel_task_data_staging_between_storages_profiles,
    parallel_task_homogeneous_profiles,
    parallel_task_merge_composition_profiles,
    parallel_task_on_storage_homogeneous_profiles,
    parallel_task_profiles,
    periodic_modes,
    periodics,
    profile_and_ids,
    profiles,
    sequential_composition_profiles,
    temporal_triggers,
    trace_replay_profiles,
)
from batprotocol.testing.strategies._values import (
    STRATEGIES,
    doubles,
    enums,
    float64s,
    int32s,
    job_ids,
    profile_ids,
    texts,
    uint32s,
    uint64s,
)

__all__ = [
    "DEEPEST_KILL_PROGRESS",
    "EVENT_STRATEGIES",
    "VALUE_STRATEGIES",
    "aggregated_probe_data",
    "all_static_external_events_have_been_injected_events",
    "all_static_jobs_have_been_submitted_events",
    "allocation_placements",
    "arithmetic_means",
    "call_me_later_events",
    "change_hosts_pstate_events",
    "conversations",
    "create_probe_events",
    "custom_executor_to_host_mappings",
    "delay_profiles",
    "doubles",
    "edc_hello_events",
    "edc_requested_simulation_features",
    "enums",
    "events",
    "execute_job_events",
    "executor_placements",
    "exponential_moving_averages",
    "external_event_list_and_filenames",
    "external_event_occurred_events",
    "external_events",
    "finish_registration_events",
    "finite_period_numbers",
    "float64s",
    "force_simulation_stop_events",
    "fork_join_composition_profiles",
    "generic_external_events",
    "host_properties",
    "host_resources",
    "host_sets",
    "hosts",
    "hosts_pstate_changed_events",
    "hosts_turned_on_off_events",
    "infinites",
    "int32s",
    "job_and_progresses",
    "job_completed_events",
    "job_ids",
    "job_submitted_events",
    "jobs",
    "jobs_killed_events",
    "kill_jobs_events",
    "kill_progress_atomic_profiles",
    "kill_progress_fork_join_profiles",
    "kill_progress_sequential_profiles",
    "kill_progresses",
    "link_resources",
    "messages",
    "no_filterings",
    "no_probe_data_accumulations",
    "no_resets",
    "no_resources_aggregations",
    "no_temporal_aggregations",
    "one_shots",
    "parallel_task_data_staging_between_storages_profiles",
    "parallel_task_homogeneous_profiles",
    "parallel_task_merge_composition_profiles",
    "parallel_task_on_storage_homogeneous_profiles",
    "parallel_task_profiles",
    "periodic_modes",
    "periodics",
    "probe_accumulation_resets",
    "probe_data",
    "probe_data_accumulation_strategies",
    "probe_data_accumulations",
    "probe_data_emitted_events",
    "probe_emission_filtering_policies",
    "profile_allocation_placements",
    "profile_and_ids",
    "profile_ids",
    "profiles",
    "quantile_functions",
    "register_job_events",
    "register_profile_events",
    "reject_job_events",
    "requested_call_events",
    "reset_modes",
    "reset_probe_events",
    "resources",
    "resources_aggregation_functions",
    "sequential_composition_profiles",
    "simulation_begins_events",
    "simulation_ends_events",
    "simulation_error_events",
    "sliding_window_operations",
    "stop_call_me_later_events",
    "stop_probe_events",
    "storage_hosts",
    "sums",
    "temporal_aggregation_functions",
    "temporal_triggers",
    "texts",
    "threshold_filtering_functions",
    "trace_replay_profiles",
    "trigger_probe_events",
    "turn_on_off_hosts_events",
    "uint32s",
    "uint64s",
    "vectorial_probe_data",
    "workload_and_filenames",
]

VALUE_STRATEGIES: dict[type[model.Value], Callable[..., SearchStrategy[Any]]] = {
    kind: strategy for kind, strategy in STRATEGIES.items() if kind not in EVENT_STRATEGIES
}
"""The strategy of each value type that is not an event, messages included. Those that hold doubles take `allow_nan`."""
