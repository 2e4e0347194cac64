"""The attempts of jobs that ended early or run again, as schedulers report them and results keep them.

It must not know schedulers, nor files.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["ENDS", "Attempt"]

ENDS: Final[dict[str, str]] = {
    "completed": "It ran to its end, successfully or not.",
    "walltime": "Its walltime, or the time limit of its partition, was over.",
    "failure": "One of its hosts failed.",
    "window": "A window began on one of its hosts, or the one that it ran in was over.",
    "preempted": "It gave way to another job.",
    "interrupted": "It waits for a better time of a trace.",
    "killed": "Another decision killed it.",
}
"""The ends of attempts, each with its meaning."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run of a job that ended early, or that is not its only one, or in which it takes checkpoints.

    A job that is submitted as `w0!7` runs again as `again!w0-7~1`. With checkpoints, it runs as `again!w0-7~0` at
    first, and `w0!7` is rejected. Each attempt has a row of its own in Batsim's `jobs.csv`, which these ids join.

    The seconds of the attempt are those of `work`, `checkpoints`, `restart` and `lost` together.

    Args:
        job_id: the attempt, by its full name.
        first_id: the name under which the job was submitted.
        number: how often the job had run before.
        starting_time: when the scheduler started it, in seconds.
        finish_time: when the scheduler saw its end, in seconds.
        end: why it ended: a key of `ENDS`.
        next_id: the next attempt; "": there is none. After an end of another kind than `completed` and `walltime`, the
            job is then lost, or given up.
        work: the seconds of work that count: all work if it has completed, or else what checkpoints kept.
        checkpoints: the seconds in which checkpoints were taken.
        restart: the seconds that it needed to start again, as for reading its last checkpoint.
        lost: the seconds of work that were lost.

    >>> ended = {"starting_time": 0.0, "finish_time": 9.0, "end": "failure", "lost": 9.0}
    >>> Attempt(job_id="w0!1", first_id="w0!1", number=0, **ended).lost
    9.0
    """

    job_id: str
    first_id: str
    number: int
    starting_time: float
    finish_time: float
    end: str
    next_id: str = ""
    work: float = 0.0
    checkpoints: float = 0.0
    restart: float = 0.0
    lost: float = 0.0
