"""The ids of jobs that run again after they gave way: `w0!7` runs again as `again!w0-7~1`, then as `again!w0-7~2`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["RERUN_WORKLOAD", "rerun_id", "submitted_id"]

RERUN_WORKLOAD: Final = "again"
"""The name of the workload of jobs that run again."""

_RERUN = re.compile(rf"{RERUN_WORKLOAD}!(.+)~([0-9]{{1,9}})", re.ASCII | re.DOTALL)


def rerun_id(first: str, number: int) -> str:
    """The id of a later run of a job.

    Args:
        first: its id when it was submitted.
        number: how often it has run before, >= 1.

    >>> rerun_id("w0!7", 1)
    'again!w0-7~1'
    """
    return f"{RERUN_WORKLOAD}!{first.replace('!', '-')}~{number}"


def submitted_id(job_id: str) -> tuple[str, int] | None:
    """The first id of a job that runs again, with `-` for `!`, and how often it ran before; None: it is a first run.

    >>> submitted_id("again!w0-7~1"), submitted_id("w0!7")
    (('w0-7', 1), None)
    """
    found = _RERUN.fullmatch(job_id)
    return None if found is None else (found[1], int(found[2]))
