"""The units of all numbers, which no source has in a form that a program can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["UNITS"]

_COUNT: Final = "a count"
_HOST: Final = "the id of a host"
_MEASURED: Final = "in the unit of the probe's data"
_PSTATE: Final = "the index of a power state"
_SECONDS: Final = "simulated seconds"
_TIME_UNIT: Final = "in `time_unit`"

UNITS: Final[Mapping[tuple[str, str], str]] = {
    ("AggregatedProbeData", "data"): _MEASURED,
    ("ChangeHostsPStateEvent", "pstate"): _PSTATE,
    ("CustomExecutorToHostMapping", "mapping"): "indices into the allocated hosts",
    ("DelayProfile", "delay"): _SECONDS,
    ("EventAndTimestamp", "timestamp"): _SECONDS,
    ("FinitePeriodNumber", "nb_periods"): _COUNT,
    ("Host", "computation_speed"): "flops per second",
    ("Host", "core_count"): _COUNT,
    ("Host", "id"): _HOST,
    ("Host", "pstate"): _PSTATE,
    ("Host", "pstate_count"): _COUNT,
    ("HostsPStateChangedEvent", "pstate"): _PSTATE,
    ("HostsTurnedOnOffEvent", "state"): _PSTATE,
    ("Job", "resource_request"): "a count of hosts",
    ("Job", "walltime"): _SECONDS,
    ("JobCompletedEvent", "return_code"): "a code",
    ("JobSubmittedEvent", "submission_time"): _SECONDS,
    ("KillProgressAtomicProfile", "progress"): "a fraction",
    ("KillProgressSequentialProfile", "current_repetition"): _COUNT,
    ("KillProgressSequentialProfile", "current_task_index"): "an index",
    ("Message", "now"): _SECONDS,
    ("OneShot", "time"): _TIME_UNIT,
    ("ParallelTaskDataStagingBetweenStoragesProfile", "bytes_to_transfer"): "bytes",
    ("ParallelTaskHomogeneousProfile", "communication_amount"): "bytes",
    ("ParallelTaskHomogeneousProfile", "computation_amount"): "flops",
    ("ParallelTaskOnStorageHomogeneousProfile", "bytes_to_read"): "bytes",
    ("ParallelTaskOnStorageHomogeneousProfile", "bytes_to_write"): "bytes",
    ("ParallelTaskProfile", "communication_matrix"): "bytes",
    ("ParallelTaskProfile", "computation_vector"): "flops",
    ("Periodic", "offset"): _TIME_UNIT,
    ("Periodic", "period"): _TIME_UNIT,
    ("ProbeAccumulationReset", "new_value"): _MEASURED,
    ("ProbeDataEmittedEvent", "nb_emitted"): _COUNT,
    ("ProbeDataEmittedEvent", "nb_triggered"): _COUNT,
    ("QuantileFunction", "threshold"): "a fraction",
    ("ResetProbeEvent", "new_value"): _MEASURED,
    ("SequentialCompositionProfile", "repetition_count"): _COUNT,
    ("SimulationBeginsEvent", "computation_host_number"): "a count of hosts",
    ("SimulationBeginsEvent", "host_number"): "a count of hosts",
    ("SimulationBeginsEvent", "storage_host_number"): "a count of hosts",
    ("StorageHost", "host_id"): _HOST,
    ("ThresholdFilteringFunction", "threshold"): _MEASURED,
    ("TurnOnOffHostsEvent", "state"): _PSTATE,
    ("VectorialProbeData", "data"): _MEASURED,
}
"""The quantity of each number of the schema, by type and field. A test fails if one is missing."""
