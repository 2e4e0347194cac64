"""The parts of a plan under a cap: the watts of jobs, the slower power states, and the hosts that are switched off.

This module must not know how a plan is made.
"""

from __future__ import annotations

from typing import NamedTuple

from batprotocol.policies.site.budget import Budget
from batprotocol.policies.site.idling import Idling
from batprotocol.policies.site.pacing import Pacing

__all__ = ["Power"]


class Power(NamedTuple):
    """The watts that jobs and idle hosts may draw.

    Attributes:
        budget: what jobs draw, and what is allowed.
        pacing: the slower power states in which jobs may run; None: they wait.
        idling: the hosts that are switched off, so that others may run; None: none are.
    """

    budget: Budget
    pacing: Pacing | None = None
    idling: Idling | None = None
