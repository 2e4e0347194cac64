"""The options of SchedulerParameters: their ranges, and their units as seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.sites.slurm.amounts import listed, number_of
from batprotocol.sites.slurm.configuration.parameters.missed import missed_by
from batprotocol.sites.slurm.configuration.parameters.rows import MOST_UNKNOWN, Row, Standing, named, rows_of

__all__ = ["NUMBERS", "OPTIONS", "Option", "options_of"]

_MOST: Final = 2**31 - 1


class Option(NamedTuple):
    """The numbers that an option can have.

    Attributes:
        least: the smallest.
        most: the largest.
        unit: what it counts, in seconds; 0: it is no time.
        zero_is_none: whether 0 stands for no limit.
        minus_is_never: whether -1 stands for never.
    """

    least: int
    most: int = _MOST
    unit: float = 0.0
    zero_is_none: bool = False
    minus_is_never: bool = False

    def read(self, text: str) -> int | float | None:
        """The value of its text.

        Raises:
            InputError: the text is no number of the range.
        """
        if self.minus_is_never and text == "-1":
            return math.inf
        number = number_of(text, self.least, self.most)
        if self.zero_is_none and number == 0:
            return None
        return number * self.unit if self.unit else number


_DAY: Final = 86400
NUMBERS: Final = {
    "batch_sched_delay": Option(0, unit=1.0),
    "bf_interval": Option(1, 10_800, unit=1.0, minus_is_never=True),
    "bf_job_part_count_reserve": Option(0, 100_000, zero_is_none=True),
    "bf_max_job_array_resv": Option(0, 1000),
    "bf_max_job_assoc": Option(0, zero_is_none=True),
    "bf_max_job_part": Option(0, zero_is_none=True),
    "bf_max_job_start": Option(0, 10_000, zero_is_none=True),
    "bf_max_job_test": Option(1, 1_000_000),
    "bf_max_job_user": Option(0, zero_is_none=True),
    "bf_max_job_user_part": Option(0, zero_is_none=True),
    "bf_max_time": Option(1, 3600, unit=1.0),
    "bf_min_age_reserve": Option(0, 30 * _DAY, unit=1.0),
    "bf_min_prio_reserve": Option(0, 2**63 - 1),
    "bf_node_space_size": Option(2, 2_000_000),
    "bf_resolution": Option(1, 3600, unit=1.0),
    "bf_window": Option(1, 43_200, unit=60.0),
    "bf_window_linear": Option(0, unit=1.0),
    "bf_yield_interval": Option(1, 10_000_000, unit=1e-6),
    "bf_yield_sleep": Option(1, 10_000_000, unit=1e-6),
    "default_queue_depth": Option(0),
    "max_array_tasks": Option(1),
    "max_rpc_cnt": Option(0, 1000, zero_is_none=True),
    "max_sched_time": Option(1, unit=1.0),
    "max_switch_wait": Option(0, unit=1.0),
    "partition_job_depth": Option(0, zero_is_none=True),
    "preempt_reorder_count": Option(0),
    "sched_interval": Option(1, unit=1.0, minus_is_never=True),
    "sched_max_job_start": Option(0, zero_is_none=True),
    "sched_min_interval": Option(0, unit=1e-6),
}
"""The options that are numbers, by name."""

_FLAGS: Final = (
    "allow_zero_lic",
    "assoc_limit_stop",
    "bf_licenses",
    "bf_one_resv_per_job",
    "bf_running_job_reserve",
    "defer",
    "pack_serial_at_end",
    "preempt_strict_order",
    "preempt_youngest_first",
    "reduce_completing_frag",
)
_LOAD: Final = "It is about the load of the controller."
_OF_LOAD: Final = ("bf_max_time", "bf_yield_interval", "bf_yield_sleep", "max_rpc_cnt", "max_sched_time")
_IDLE: Final = (
    "bb_array_stage_cnt",
    "build_queue_timeout",
    "correspond_after_task_cnt",
    "delay_boot",
    "disable_hetjob_steps",
    "disable_job_shrink",
    "enable_hetjob_steps",
    "enable_job_state_cache",
    "enable_user_top",
    "extra_constraints",
    "ignore_numa",
    "ignore_constraint_validation",
    "ignore_prefer_validation",
    "max_script_size",
    "max_submit_line_size",
    "no_backup_scheduling",
    "no_env_cache",
    "nohold_on_prolog_fail",
    "permit_job_expansion",
    "requeue_setup_env_fail",
    "salloc_wait_nodes",
    "sbatch_wait_nodes",
    "sched_limit_pending_rpc",
    "spec_cores_first",
    "step_retry_count",
    "step_retry_time",
)
_MISSED: Final = (
    "bf_allow_magnetic_resv",
    "bf_busy_nodes",
    "bf_hetjob_immediate",
    "bf_hetjob_prio",
    "bf_topopt_enable",
    "bf_topopt_iterations",
    "defer_batch",
    "time_min_as_soft_limit",
    "whole_hetjob",
    "whole_pack",
)
_MOVED: Final = Row(
    "kill_invalid_depend",
    Standing.MISSED,
    note="Slurm 22.05 reads it in DependencyParameters only.",
)

OPTIONS: Final[Mapping[str, Row]] = rows_of(
    [
        *(Row(name, field=name, read=option.read) for name, option in NUMBERS.items() if name not in _OF_LOAD),
        *(Row(name, Standing.IDLE, name, NUMBERS[name].read, _LOAD) for name in _OF_LOAD),
        Row("bf_continue", Standing.IDLE, "bf_continue", lambda text: True, _LOAD),
        *(Row(name, field=name, read=lambda text: True) for name in _FLAGS),
        *(Row(name, Standing.IDLE) for name in _IDLE),
        *(Row(name, Standing.MISSED) for name in _MISSED),
        _MOVED,
    ]
)
"""The options of SchedulerParameters, by name."""


def options_of(text: str) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """The fields of `Scheduler` that a SchedulerParameters sets, and the options that are not followed, with reasons.

    An option out of its range keeps its default, as in Slurm.

    >>> options_of("bf_interval=60,bf_continue,bf_busy_nodes")
    ({'bf_interval': 60.0, 'bf_continue': True}, [('bf_busy_nodes', 'is not followed')])

    Raises:
        InputError: an option is unknown, and almost one of those that are known.
    """
    fields: dict[str, object] = {}
    missing: list[tuple[str, str]] = []
    for part in listed(text):
        name, _, value = part.partition("=")
        name = name.strip()
        row = named(name, OPTIONS)
        if row is None:
            missing.append((name, "is not an option of Slurm 22.05"))
            if len(missing) > MOST_UNKNOWN:
                raise InputError(f"expected options of Slurm 22.05, got more than {MOST_UNKNOWN} others")
        elif row.standing is Standing.MISSED:
            missing.append((name, "is not followed"))
        elif row.field:
            try:
                found = row.fields_of(value.strip())
                fields.update(found)
                of_scheduler = {f"scheduler.{field}": each for field, each in found.items()}
                missing += [(each, "is not followed") for each in missed_by(row.name, of_scheduler)]
            except InputError as error:
                missing.append((name, f"keeps its default: {error.reason}"))
    return fields, missing
