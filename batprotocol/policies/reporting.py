"""The reports of policies on the jobs that they have started, for the files of results.

Reports are made for programs that run schedulers and do not know policies. This module must not know how they are made.
"""

from __future__ import annotations

from collections.abc import Sequence

from batprotocol.workloads.requests import Allocated

__all__ = ["Allocating", "allocations_of"]


class Allocating:
    """A policy that knows the amounts that its jobs take of their hosts."""

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its hosts, in the order of starts."""
        raise NotImplementedError


def allocations_of(scheduler: object) -> Sequence[Allocated] | None:
    """The amounts that the jobs of a policy took of their hosts, so far; None for another scheduler."""
    return scheduler.allocated if isinstance(scheduler, Allocating) else None
