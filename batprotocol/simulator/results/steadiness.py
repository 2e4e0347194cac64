"""Whether a simulation is long enough to say something: where queues grow to the end, its length decides on results."""

from __future__ import annotations

from typing import Final

__all__ = ["CONSEQUENCE", "WAITING", "grows", "unsteady_sentence"]

WAITING: Final = 0.1
"""Where a larger share of the jobs waits at the last submission, the queue counts as growing to the end."""
_WAITING_JOBS: Final = 10
"""So many jobs at least: what a few jobs do at the end of a short workload says nothing."""
CONSEQUENCE: Final = "nothing is steady there, and results depend on the length of the workload"


def grows(waiting: float, jobs: float) -> bool:
    """Whether a queue grows to the end of a workload.

    Args:
        waiting: how many jobs still waited when the last one was submitted.
        jobs: how many jobs there were.

    >>> grows(30, 200), grows(5, 20), grows(12, 400)
    (True, False, False)
    """
    return waiting >= _WAITING_JOBS and waiting > WAITING * jobs


def unsteady_sentence(offered_load: float, waiting: int, jobs: int) -> str:
    """That the results of a simulation depend on how long it is; "" if they do not.

    >>> unsteady_sentence(1.2, 0, 100)
    'the offered load is above 1: nothing is steady there, and results depend on the length of the workload'
    """
    reasons = ["the offered load is above 1"] if offered_load > 1 else []
    if grows(waiting, jobs):
        reasons.append(f"{waiting:,} of {jobs:,} jobs still wait when the last one is submitted")
    return f"{', and '.join(reasons)}: {CONSEQUENCE}" if reasons else ""
