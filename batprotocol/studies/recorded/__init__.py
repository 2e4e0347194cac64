"""Recorded runs of a real Slurm, simulated again, and compared with their replays.

`recordings` reads and checks them, with the configuration and the accounts of the recorded Slurm. `_phases` finds in
its log when its loops ran. `_replays` simulates the same jobs and events under the policy `slurm`, makes the schedules
of both, and counts how many starts are equal.
"""

from batprotocol.studies.recorded._replays import (
    Replay,
    ReplayAgreement,
    Start,
    judged,
    recorded_schedule,
    replay,
    replayed,
    replayed_schedule,
    scheduler_of,
    starts_of,
)
from batprotocol.studies.recorded.recordings import (
    SlurmRun,
    accounting_of_run,
    configuration_of_run,
    is_recorded,
    phases_of,
    read_recording,
    read_recordings,
)

__all__ = [
    "Replay",
    "ReplayAgreement",
    "SlurmRun",
    "Start",
    "accounting_of_run",
    "configuration_of_run",
    "is_recorded",
    "judged",
    "phases_of",
    "read_recording",
    "read_recordings",
    "recorded_schedule",
    "replay",
    "replayed",
    "replayed_schedule",
    "scheduler_of",
    "starts_of",
]
