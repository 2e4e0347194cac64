"""The resources of each host: how much there is, and how much is free now.

An amount is a tuple of whole numbers, one for each dimension: the host itself (a job that shares it takes one part,
other jobs take all parts), cores, memory, and for generic resources the total of each kind, then each type. This module
must not know jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add, le, sub
from typing import Final, TypeAlias

from batprotocol.workloads.requests.notation import GPU
from batprotocol.workloads.requests.offers import Needs, Offer

__all__ = ["WHOLE", "Amount", "Pool", "added", "fits", "reduced"]

Amount: TypeAlias = "tuple[int, ...]"
"""An amount of a host in each dimension: all of it, a free one, or one that a job takes."""

WHOLE: Final = 1 << 40
"""The parts of a host: a job that shares it takes one."""
_UNLIMITED: Final = 1 << 62


def fits(needed: Amount, free: Sequence[int]) -> bool:
    """Whether an amount is free in each dimension."""
    return all(map(le, needed, free))  # it is asked very often


def added(amount: Amount, more: Amount) -> Amount:
    """The sum of two amounts."""
    return tuple(map(add, amount, more))


def reduced(amount: Amount, less: Amount) -> Amount:
    """The rest of an amount without another one."""
    return tuple(map(sub, amount, less))


class Pool:
    """The free amounts of each host.

    Args:
        offers: the hosts.

    Attributes:
        hosts: the numbers of the hosts. There can be other numbers for the same hosts, see `lanes`.
        capacity: what there is on each host, by its number.
        free: what is free on each host now.
        whole: all of a host, and nothing of it in particular: what a job takes that has its hosts for itself. It is
            also taken of a host that is away, beside what its jobs take: no other job fits then.
    """

    def __init__(self, offers: Iterable[Offer]) -> None:
        offers = tuple(offers)
        kinds = {(gres.name, None) for offer in offers for gres in offer.gres}
        types = {(gres.name, gres.type) for offer in offers for gres in offer.gres if gres.type is not None}
        self.kinds: tuple[tuple[str, str | None], ...] = (*sorted(kinds), *sorted(types))
        self._places = {kind: place for place, kind in enumerate(self.kinds, 3)}
        self.capacity: dict[int, Amount] = {offer.id: self._capacity(offer) for offer in offers}
        self.free: dict[int, Amount] = dict(self.capacity)
        self.hosts = frozenset(self.capacity)
        self.whole: Amount = (WHOLE, *(0 for _ in range(2 + len(self.kinds))))
        self._memory = (
            0 if any(offer.memory is None for offer in offers) else sum(offer.memory or 0 for offer in offers)
        )
        self._gpu = self._places.get((GPU, None), 0)
        self._gpus = sum(amount[self._gpu] for amount in self.capacity.values()) if self._gpu else 0

    def _capacity(self, offer: Offer) -> Amount:
        amount = [WHOLE, offer.cores, _UNLIMITED if offer.memory is None else offer.memory, *(0 for _ in self.kinds)]
        for name, type, number in offer.gres:
            amount[self._places[name, None]] += number
            if type is not None:
                amount[self._places[name, type]] += number
        return tuple(amount)

    def amount(self, needs: Needs, is_whole: bool) -> Amount:
        """The amount that a job takes of each of its hosts.

        Args:
            needs: what it asks for.
            is_whole: whether it has its hosts for itself.
        """
        if is_whole:
            return self.whole
        amount = [1, needs.cores or 1, needs.memory, *(0 for _ in self.kinds)]
        for name, type, number in needs.gres:
            amount[self._places[name, None]] += number
            if type is not None:
                amount[self._places[name, type]] += number
        return tuple(amount)

    def shares(self, parts: Mapping[int, Amount]) -> tuple[float | None, float | None]:
        """The shares of all memory and of all GPUs that a job holds; None for what hosts do not say, or do not have.

        Args:
            parts: what it takes of each of its hosts; a job that takes no cores has its hosts for itself.
        """
        if not self._memory and not self._gpus:
            return None, None
        held = [part if part[1] else self.capacity[host] for host, part in parts.items()]
        return (
            sum(part[2] for part in held) / self._memory if self._memory else None,
            sum(part[self._gpu] for part in held) / self._gpus if self._gpus else None,
        )

    def cores(self, hosts: Iterable[int], amount: Amount) -> int:
        """The cores that a job takes of these hosts together: all that they have, if it has them for itself."""
        return sum(amount[1] or self.capacity[host][1] for host in hosts)

    def cores_of(self, hosts: Iterable[int], count: int, amount: Amount) -> tuple[int, int]:
        """The least and the most cores that a job takes of some number of these hosts together."""
        if amount[1]:
            return count * amount[1], count * amount[1]
        cores = sorted(self.capacity[host][1] for host in hosts)
        return sum(cores[:count]), sum(cores[-count:])

    def take(self, hosts: Iterable[int], amount: Amount) -> None:
        """A job has these hosts now."""
        free = self.free
        for host in hosts:
            free[host] = reduced(free[host], amount)

    def give_back(self, hosts: Iterable[int], amount: Amount) -> None:
        """A job does not have these hosts any more."""
        free = self.free
        for host in hosts:
            free[host] = added(free[host], amount)
