"""Queue orders in which the priority of a job grows while it waits: WFP3, UNICEP and the expansion factor.

The priority of each job grows at its own pace, so jobs overtake one another all the time.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders.base import Alike, Order

__all__ = ["WFP3", "Aging", "ExpansionFactor", "Unicep"]

_LEAST = 0.1
"""The value in place of a walltime of 0, which only registered jobs can have."""
_MOST = 1e100
"""The third power of a larger number is not a float."""


class Aging(Order):
    """A base class of queue orders by a priority that grows with the waiting time.

    The priority must be smaller for longer walltimes.

    Attributes:
        grows_with_size: whether, of two jobs that differ only in size, the larger one has the higher priority.
    """

    changes = True
    grows_with_size: ClassVar[bool] = True

    def priority(self, size: int, walltime: float, waited: float) -> float:
        """The priority of a job. The job with the highest one comes first.

        Args:
            size: the number of hosts that it requests.
            walltime: its walltime in seconds, > 0.
            waited: its waiting time until now in seconds, >= 0.
        """
        raise NotImplementedError

    def key(self, job: WaitingJob, state: State) -> Any:
        return -self.priority(job.size, job.walltime or _LEAST, state.now - job.submitted)

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        size = alike.largest if self.grows_with_size else alike.smallest
        return -self.priority(size, alike.shortest or _LEAST, state.now - submitted)


class WFP3(Aging):
    """The most (w / r)^3 n first: w is the waiting time until now, r the walltime, n the number of hosts."""

    name = "wfp3"
    sentence = "The most (w / r)^3 n, of waiting time w, walltime r and hosts n."
    source = "Tang et al., CLUSTER 2009"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        ratio = waited / walltime
        return ratio**3 * size if ratio < _MOST else math.inf


class Unicep(Aging):
    """The most w / (log2(n) r) first. A job for one host counts as one for two, as the logarithm of 1 is 0."""

    name = "unicep"
    sentence = "The most w / (log2(max(n, 2)) r); also called UNICEF."
    source = "Tang et al., CLUSTER 2009"
    grows_with_size = False

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return (waited + 1e-15) / (math.log2(max(size, 2)) * walltime)


class ExpansionFactor(Aging):
    """The most (w + r) / r first: the factor by which waiting has stretched the walltime."""

    name = "expansion"
    sentence = "The highest expansion factor, (w + r) / r."
    source = "Maui Scheduler, Job Priority Factors (XFACTOR)"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return 1.0 + waited / walltime
