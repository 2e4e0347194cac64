"""The states of jobs in Slurm's accounting, by their names and short names."""

from __future__ import annotations

from typing import Final

from batprotocol.sites.logs.jobs import JobState
from batprotocol.sites.slurm.texts import SHORT_STATES

__all__ = ["LEFT_OUT", "NEVER_STARTED", "STATES", "WENT_ON", "state_of"]

_KNOWN: Final = {
    **{state.value: state for state in JobState},
    **dict.fromkeys(("COMPLETING", "CONFIGURING"), JobState.RUNNING),
}
STATES: Final[dict[str, JobState]] = {
    **_KNOWN,
    **{short: _KNOWN[state] for short, state in SHORT_STATES.items() if state in _KNOWN},
    "CANCELLED+": JobState.CANCELLED,
    "OUT_OF_ME+": JobState.OUT_OF_MEMORY,
}
"""The states by their names, in long or short form or cut. A job that is being set up or cleaned up runs."""

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
