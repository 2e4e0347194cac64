"""Orders in which jobs rise as they wait: WFP3, UNICEP and the expansion factor.

Each grows with the waiting time at a pace of its own, so that jobs overtake one another all the time.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders.base import Alike, Order

__all__ = ["WFP3", "Aging", "ExpansionFactor", "Unicep"]

_LEAST = 0.1
"""What a walltime of 0 counts as, which only jobs that are registered can have."""
_MOST = 1e100
"""Of what is more, there is no third power."""


class Aging(Order):
    """An order by a priority that grows with the waiting time, and is smaller for longer walltimes. Derive from it.

    Attributes:
        grows_with_size: whether a job has a higher priority than a smaller one that is like it.
    """

    changes = True
    grows_with_size: ClassVar[bool] = True

    def priority(self, size: int, walltime: float, waited: float) -> float:
        """The job with the highest priority comes first.

        Args:
            size: how many hosts it asks for.
            walltime: in seconds, > 0.
            waited: how long it has waited, in seconds, >= 0.
        """
        raise NotImplementedError

    def key(self, job: WaitingJob, state: State) -> Any:
        return -self.priority(job.size, job.walltime or _LEAST, state.now - job.submitted)

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        size = alike.largest if self.grows_with_size else alike.smallest
        return -self.priority(size, alike.shortest or _LEAST, state.now - submitted)


class WFP3(Aging):
    """Most (w / r)^3 n: w the waiting time until now, r the walltime, n the hosts."""

    name = "wfp3"
    sentence = "The most (w / r)^3 n, of waiting time w, walltime r and hosts n."
    source = "Tang et al., CLUSTER 2009"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        ratio = waited / walltime
        return ratio**3 * size if ratio < _MOST else math.inf


class Unicep(Aging):
    """Most w / (log2(n) r). A job for one host counts as one for two, as the logarithm of 1 is 0."""

    name = "unicep"
    sentence = "The most w / (log2(max(n, 2)) r); also called UNICEF."
    source = "Tang et al., CLUSTER 2009"
    grows_with_size = False

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return (waited + 1e-15) / (math.log2(max(size, 2)) * walltime)


class ExpansionFactor(Aging):
    """Most (w + r) / r: by how much waiting has stretched the walltime."""

    name = "expansion"
    sentence = "The highest expansion factor, (w + r) / r."
    source = "Maui Scheduler, Job Priority Factors (XFACTOR)"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return 1.0 + waited / walltime
