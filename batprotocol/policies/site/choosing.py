"""Choosing hosts for a job among those with enough free: by preference, and by conditions on all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations, islice
from typing import Any, Final

import msgspec

from batprotocol.policies.allocations import best_fitting
from batprotocol.policies.site.pool import Amount
from batprotocol.workloads.requests import Request
from batprotocol.workloads.requests.notation import Expression, matches
from batprotocol.workloads.requests.offers import Offer

__all__ = ["RANKINGS", "Chooser"]

Rank = Callable[[Offer, Amount], Any]
"""The key of a host by what it offers and what is free: the smallest first."""

RANKINGS: Final[dict[str, Rank]] = {
    "pack": lambda offer, free: (free[1], offer.id),
    "spread": lambda offer, free: (-free[1], offer.id),
    "weight": lambda offer, free: (offer.weight, free[1], offer.id),
    "numbers": lambda offer, free: offer.id,
}
"""The orders of preference, by name. `batprotocol.policies.allocations` describes them."""

_MOST_TRIES: Final = 10_000


class Chooser:
    """Chooses hosts among those with enough free amounts.

    Args:
        ranking: a name of `RANKINGS`, or `best-fit`: the smallest interval of host numbers that suffices.
        offers: what each host offers, by its number.
    """

    def __init__(self, ranking: str, offers: Mapping[int, Offer]) -> None:
        if ranking not in RANKINGS and ranking != "best-fit":
            raise ValueError(f"there is no allocation {ranking!r}; there are best-fit, {', '.join(RANKINGS)}")
        self.ranking = ranking
        self.offers = dict(offers)
        self._numbers = {offer.name: host for host, offer in self.offers.items()}
        self.is_late: Callable[[int], bool] | None = None
        """Whether a host is not on, as others are preferred; None: that does not matter."""

    def is_by_number(self, request: Request) -> bool:
        """Whether a job gets the hosts with the smallest numbers, whatever is free on them."""
        return self.ranking == "numbers" and request.takes_any and self.is_late is None

    def choose(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None = None,
    ) -> list[int] | None:
        """Hosts for a job, sorted by number; None if those with enough free do not do.

        Args:
            hosts: the hosts with enough free for it.
            count: how many it asks for.
            request: what it asks for.
            free: what is free on each host.
            first: a key by which hosts are preferred before all else; the smallest first.
        """
        if len(hosts) < count:
            return None
        constraint = request.constraint
        if constraint is not None and constraint.same:
            for alternative in constraint.same:
                fitting = [host for host in hosts if matches(alternative, self.offers[host].features)]
                chosen = self._counted(fitting, count, request, free, first)
                if chosen is not None:
                    return chosen
            return None
        return self._counted(hosts, count, request, free, first)

    def within(
        self, hosts: Iterable[int], count: int, request: Request, capacity: Mapping[int, Amount], most: float
    ) -> list[int] | None:
        """Of the hosts that a job can have for itself, some of which any have together so many cores at most.

        The largest ones are left out, as few as is enough. If the job asks for something of all hosts together that the
        rest does not have, these are hosts for it alone. Of large machines, not all sets of hosts are tried.

        Args:
            hosts: the hosts that have what it asks for.
            count: how many it asks for.
            request: what it asks for.
            capacity: what there is on each host.
            most: the most cores.

        Returns:
            The hosts, or None if there are none.
        """
        ordered = sorted(hosts, key=lambda host: (capacity[host][1], host))
        cores = [capacity[host][1] for host in ordered]
        rest = len(ordered)
        while rest >= count and sum(cores[rest - count : rest]) > most:
            rest -= 1
        if self.choose(sorted(ordered[:rest]), count, request, capacity) is not None:
            return ordered[:rest]
        groups: Iterable[Sequence[int]] = combinations(ordered, count)
        if request.contiguous:
            groups = (run[place : place + count] for run in runs(ordered) for place in range(len(run) - count + 1))
        for group in islice(groups, _MOST_TRIES):
            if sum(capacity[host][1] for host in group) <= most:
                chosen = self.choose(sorted(group), count, request, capacity)
                if chosen is not None:
                    return chosen
        return None

    def _counted(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None,
    ) -> list[int] | None:
        if len(hosts) < count:
            return None
        if request.nodelist:
            return self._with_named(hosts, count, request, free, first)
        counts = () if request.constraint is None else request.constraint.counts
        if request.contiguous:
            return self._contiguous(hosts, count, request)
        if first is None and not counts and self.ranking == "numbers" and self.is_late is None:
            return [min(hosts)] if count == 1 else sorted(nsmallest(count, hosts))
        ranked = self._ranked(hosts, count, free)
        if self.is_late is not None:
            ranked.sort(key=self.is_late)
        if first is not None:
            ranked.sort(key=first)
        if not counts:
            return sorted(ranked[:count])
        chosen: list[int] = []
        for number, expression in counts:
            members = [host for host in ranked if matches(expression, self.offers[host].features)]
            missing = number - sum(host in members for host in chosen)
            # Those that no other condition needs first.
            members.sort(key=lambda host: sum(matches(other, self.offers[host].features) for _, other in counts))
            chosen += [host for host in members if host not in chosen][: max(missing, 0)]
        chosen += [host for host in ranked if host not in chosen][: max(count - len(chosen), 0)]
        if len(chosen) == count and self._satisfies(chosen, request):
            return sorted(chosen)
        return self._covering(ranked, count, counts)

    def _with_named(
        self,
        hosts: Sequence[int],
        count: int,
        request: Request,
        free: Mapping[int, Amount],
        first: Callable[[int], Any] | None,
    ) -> list[int] | None:
        """Hosts with those that a job must have; the others are chosen as if it did not ask for these."""
        named = {self._numbers[name] for name in request.nodelist if name in self._numbers}
        if len(named) < len(request.nodelist) or len(named) > count or not named.issubset(hosts):
            return None
        rest = msgspec.structs.replace(request, nodelist=())
        if request.contiguous:
            low, high = min(named), max(named)
            near = [host for host in hosts if high - count < host < low + count]
            fitting = (each for each in rows(near, count) if named.issubset(each) and self._satisfies(each, rest))
            return next(fitting, None)
        if request.constraint is None or not request.constraint.counts:
            if len(named) == count:
                return sorted(named)
            others = self._counted([host for host in hosts if host not in named], count - len(named), rest, free, first)
            return None if others is None else sorted([*named, *others])
        found = self._counted(hosts, count, rest, free, lambda host: (host not in named, first(host) if first else 0))
        return found if found is not None and named.issubset(found) else None

    def _covering(
        self, ranked: Sequence[int], count: int, counts: Sequence[tuple[int, Expression]]
    ) -> list[int] | None:
        """Hosts that satisfy several counts together, found by trying; None if there are none.

        Hosts that satisfy the same counts are alike, so that only their numbers are tried, the largest first. The
        number of tries is limited.
        """
        alike: dict[tuple[bool, ...], list[int]] = {}
        for host in ranked:
            features = self.offers[host].features
            alike.setdefault(tuple(matches(expression, features) for _, expression in counts), []).append(host)
        classes = sorted((key for key in alike if any(key)), key=lambda key: -sum(key))
        missing = tuple(number for number, _ in counts)
        tries: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = [(0, missing, count, ())]
        for _ in range(_MOST_TRIES):
            if not tries:
                return None
            place, missing, rest, taken = tries.pop()
            if max(missing) <= 0:
                chosen = [host for key, number in zip(classes, taken, strict=False) for host in alike[key][:number]]
                return sorted(chosen + [host for host in ranked if host not in chosen][:rest])
            if place == len(classes) or max(missing) > rest:
                continue
            key = classes[place]
            useful = max(number for number, does in zip(missing, key, strict=True) if does)
            for number in range(max(min(useful, rest, len(alike[key])), 0) + 1):  # the last one is tried first
                left = tuple(need - number * does for need, does in zip(missing, key, strict=True))
                tries.append((place + 1, left, rest - number, (*taken, number)))
        return None

    def _satisfies(self, hosts: Sequence[int], request: Request) -> bool:
        counts = () if request.constraint is None else request.constraint.counts
        return all(
            sum(matches(expression, self.offers[host].features) for host in hosts) >= number
            for number, expression in counts
        )

    def _ranked(self, hosts: Sequence[int], count: int, free: Mapping[int, Amount]) -> list[int]:
        if self.ranking == "best-fit":
            return best_fit(hosts, count)
        rank = RANKINGS[self.ranking]
        return sorted(hosts, key=lambda host: rank(self.offers[host], free[host]))

    def _contiguous(self, hosts: Sequence[int], count: int, request: Request) -> list[int] | None:
        fitting = [
            run[place : place + count]
            for run in sorted(runs(hosts), key=len)
            for place in range(max(len(run) - count + 1, 0))
        ]
        return next((each for each in fitting[:_MOST_TRIES] if self._satisfies(each, request)), None)


def runs(hosts: Sequence[int]) -> list[list[int]]:
    """Hosts in intervals of consecutive numbers.

    >>> runs([1, 2, 5])
    [[1, 2], [5]]
    """
    found: list[list[int]] = []
    for host in sorted(hosts):
        if found and found[-1][-1] == host - 1:
            found[-1].append(host)
        else:
            found.append([host])
    return found


def rows(hosts: Sequence[int], size: int) -> Iterator[list[int]]:
    """All rows of hosts with consecutive numbers of a size.

    >>> list(rows([1, 2, 3, 5], 2))
    [[1, 2], [2, 3]]
    """
    for row in runs(hosts):
        for place in range(len(row) - size + 1):
            yield row[place : place + size]


def best_fit(hosts: Sequence[int], count: int) -> list[int]:
    """Hosts by the smallest interval that suffices; if none does, from the largest one, and so on with what is missing.

    >>> best_fit([0, 1, 2, 5, 6, 9], 2)[:2], best_fit([0, 1, 2, 5, 6, 9], 4)[:4]
    ([5, 6], [0, 1, 2, 9])
    """
    return [host for run in best_fitting(runs(hosts), count) for host in run]
