"""The multifactor order: the waiting time, the size and the fair share of users, each with a weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders.base import Alike, Order

__all__ = ["Multifactor"]

_DAY = 86400.0
_MOST_HALVINGS = 500.0


class Multifactor(Order):
    """The highest `age` A + `size` N + `share` F first. Each of the factors A, N and F is between 0 and 1.

    A is the waiting time divided by `oldest`, at most 1. N is the fraction of the hosts that the job requests. F is
    2^(-U / S): U is the user's fraction of the recent usage, S the fraction that is meant for that user.

    Args:
        age: the weight of the waiting time.
        size: the weight of the size. If it is below 0, small jobs come first.
        share: the weight of the fair share.
        oldest: the waiting time in seconds from which on the priority does not grow any more, > 0.
        half_life: usage that is this many seconds old counts half, > 0. A job counts when it has ended.
        shares: the share of each user, in any unit; 1 for each user who is not in it.

    It leaves out most of Slurm's plugin: accounts and Fair Tree, factors of partitions, qualities of service,
    associations and resources, `nice`, the usage of running jobs, and the moments of Slurm's calculations. Ages count
    from the submission, not from the moment at which the job could start. The policy `slurm` has all these.

    On a site whose rules have a section `priority`, that section takes the place of these arguments.

    A job belongs to the user in its extra data, `{"user": 12}`. All jobs without a user belong to one more user.
    """

    name = "multifactor"
    sentence = "Age, size, and fair share among users, each with a weight."
    source = "Slurm, Multifactor Priority Plugin and Classic Fairshare Algorithm; Kay and Lauder, CACM 31, 1988"
    changes = True

    def __init__(
        self,
        *,
        age: float = 1000.0,
        size: float = 1000.0,
        share: float = 1000.0,
        oldest: float = 7 * _DAY,
        half_life: float = 7 * _DAY,
        shares: Mapping[str | int, float] | None = None,
    ) -> None:
        weights = age, size, share
        if not (oldest > 0 and half_life > 0 and min(age, share) >= 0 and all(map(math.isfinite, weights))):
            raise ValueError(
                "expected oldest > 0, half_life > 0, age >= 0, share >= 0 and a size, "
                f"got {oldest}, {half_life}, {age}, {share} and {size}"
            )
        self.age, self.size, self.share = age, size, share
        self.oldest, self.half_life = oldest, half_life
        self.shares = dict(shares or {})
        if not all(math.isfinite(each) and each > 0 for each in self.shares.values()):
            raise ValueError(f"expected shares > 0, got {self.shares}")
        self.begin(State())

    def begin(self, state: State) -> None:
        self._since = 0.0
        self._used: dict[str | int | None, float] = {}  # host seconds, with their weights at `_since`
        self._total = 0.0
        self._meant = 0.0  # the sum of the shares of all known users

    def key(self, job: WaitingJob, state: State) -> Any:
        waited = state.now - job.submitted
        return -(
            self.age * min(waited / self.oldest, 1.0)
            + self.size * job.size / max(state.size, 1)
            + self.share * self._fairness(job.user)
        )

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        size = alike.largest if self.size > 0 else alike.smallest
        waited = state.now - submitted
        return -(self.age * min(waited / self.oldest, 1.0) + self.size * size / max(state.size, 1) + self.share)

    def ended(self, job: RunningJob, state: State) -> None:
        # New usage counts more, instead of a decay of all old usage.
        halvings = (state.now - self._since) / self.half_life
        if halvings > _MOST_HALVINGS:
            scale = 2.0**-halvings
            self._used = {user: used * scale for user, used in self._used.items()}
            self._total *= scale
            self._since, halvings = state.now, 0.0
        worth = (state.now - job.started) * job.size * 2.0**halvings
        user = job.waited.user
        if user not in self._used:
            self._meant += self._share_of(user)
        self._used[user] = self._used.get(user, 0.0) + worth
        self._total += worth

    def _share_of(self, user: str | int | None) -> float:
        return 1.0 if user is None else self.shares.get(user, 1.0)

    def _fairness(self, user: str | int | None) -> float:
        used = self._used.get(user)
        if not used:
            return 1.0
        return float(2.0 ** -((used / self._total) / (self._share_of(user) / self._meant)))
