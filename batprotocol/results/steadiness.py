"""A check of the length of a simulation: where queues grow to the end, results depend on this length."""

from __future__ import annotations

from typing import Final

from batprotocol.workloads.changes import UNSTEADY

__all__ = ["CONSEQUENCE", "WAITING", "grows", "unsteady_sentence"]

WAITING: Final = 0.1
"""If a larger share of the jobs waits at the last submission, the queue counts as growing to the end."""
_WAITING_JOBS: Final = 10
"""The minimum number of waiting jobs: a few waiting jobs at the end of a short workload mean nothing."""
CONSEQUENCE: Final = UNSTEADY
"""The consequence of a queue that grows to the end."""


def grows(waiting: float, jobs: float) -> bool:
    """Whether a queue grows to the end of a workload.

    Args:
        waiting: the number of jobs that still waited when the last one was submitted.
        jobs: the number of all jobs.

    >>> grows(30, 200), grows(5, 20), grows(12, 400)
    (True, False, False)
    """
    return waiting >= _WAITING_JOBS and waiting > WAITING * jobs


def unsteady_sentence(offered_load: float, waiting: int, jobs: int) -> str:
    """A sentence for a simulation whose results depend on its length; "" if they do not.

    >>> unsteady_sentence(1.2, 0, 100)
    'the offered load is above 1: nothing is steady there, and results depend on the length of the workload'
    """
    reasons = ["the offered load is above 1"] if offered_load > 1 else []
    if grows(waiting, jobs):
        reasons.append(f"{waiting:,} of {jobs:,} jobs still wait when the last one is submitted")
    return f"{', and '.join(reasons)}: {CONSEQUENCE}" if reasons else ""
