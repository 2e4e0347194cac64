"""The ids of jobs that run again after they gave way: `w0!7` runs again as `again!w0-7~1`, then as `again!w0-7~2`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["WORKLOAD", "former_life", "life_id"]

WORKLOAD: Final = "again"
"""The name of the workload of jobs that run again."""

_LIFE = re.compile(rf"{WORKLOAD}!(.+)~([0-9]{{1,9}})", re.ASCII | re.DOTALL)


def life_id(first: str, number: int) -> str:
    """The id of a later life of a job.

    Args:
        first: its id when it was submitted.
        number: how often it has run before, >= 1.

    >>> life_id("w0!7", 1)
    'again!w0-7~1'
    """
    return f"{WORKLOAD}!{first.replace('!', '-')}~{number}"


def former_life(job_id: str) -> tuple[str, int] | None:
    """The first id of a job that runs again, with `-` for `!`, and how often it ran before; None: it is a first life.

    >>> former_life("again!w0-7~1"), former_life("w0!7")
    (('w0-7', 1), None)
    """
    found = _LIFE.fullmatch(job_id)
    return None if found is None else (found[1], int(found[2]))
