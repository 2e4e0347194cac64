"""Policies as members of a file: `by_name.py:easy-sjf`, for programs that take a scheduler as FILE:CLASS only.

A Slurm is `by_name.py:slurm=slurm.conf`, as its usual name has a colon.
"""

from __future__ import annotations

from batprotocol.edc import Scheduler
from batprotocol.policies.names import PolicyNameError, scheduler_named

__all__: list[str] = []


def __getattr__(name: str) -> type[Scheduler]:
    try:
        return scheduler_named(name)
    except PolicyNameError as error:
        raise AttributeError(str(error)) from None
