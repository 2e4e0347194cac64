"""The states of jobs in Slurm's accounting, by their names and short names."""

from __future__ import annotations

from typing import Final

from batprotocol.sites.logs.jobs import JobState

__all__ = ["LEFT_OUT", "NEVER_STARTED", "STATES", "WENT_ON", "state_of"]

STATES: Final[dict[str, JobState]] = {
    **{state.value: state for state in JobState},
    "BF": JobState.BOOT_FAIL,
    "CA": JobState.CANCELLED,
    "CANCELLED+": JobState.CANCELLED,
    "CD": JobState.COMPLETED,
    "CF": JobState.RUNNING,
    "CG": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "CONFIGURING": JobState.RUNNING,
    "DL": JobState.DEADLINE,
    "F": JobState.FAILED,
    "NF": JobState.NODE_FAIL,
    "OOM": JobState.OUT_OF_MEMORY,
    "OUT_OF_ME+": JobState.OUT_OF_MEMORY,
    "PD": JobState.PENDING,
    "PR": JobState.PREEMPTED,
    "R": JobState.RUNNING,
    "RQ": JobState.REQUEUED,
    "S": JobState.SUSPENDED,
    "TO": JobState.TIMEOUT,
}
"""The states by their names. A job that is being set up or cleaned up runs."""

LEFT_OUT: Final = {
    "RESIZING": "a part of a job that changed its size: only its last part is read",
    "RS": "a part of a job that changed its size: only its last part is read",
    "REVOKED": "the job ran on another cluster of the federation",
    "RV": "the job ran on another cluster of the federation",
}
"""States of rows that are not jobs, with the reasons."""

NEVER_STARTED: Final = frozenset({JobState.CANCELLED, JobState.DEADLINE, JobState.PENDING, JobState.BOOT_FAIL})
"""States of jobs that may never have started, though the log has the same time for start and end."""

WENT_ON: Final = frozenset({JobState.RUNNING, JobState.PENDING, JobState.SUSPENDED})
"""States of jobs that had not ended when the log was written."""


def state_of(text: str) -> JobState | None:
    """The state that a text names, such as `CANCELLED by 1000`; None if there is no such state."""
    return STATES.get(text) or STATES.get(text.partition(" ")[0])
