"""The demand of work: its total use of hosts and links. Equal work on equal hosts shares one, which never changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import inf
from typing import Any, Final, TypeAlias

from batprotocol._util.counting import step

__all__ = [
    "Demands",
    "Path",
    "PythonDemand",
    "Transfers",
    "amounts",
    "restored",
    "transfers_of",
    "usual",
]


# The default classes, for new and restored simulations; the package sets them


class _Usual:
    """The classes. Actions and their demands are always of the same kind."""

    Actions: Any = None
    Demand: Any = None


usual: Final = _Usual()


Path: TypeAlias = Callable[[int, int], tuple[float, Sequence[int]]]
"""Returns the latency of the route from a host to another or to itself, and its links as resources."""
Transfers: TypeAlias = float | memoryview | Sequence[tuple[int, int, float]] | None
"""The transfers between executors: nothing; a number of bytes from each to each other; a matrix of doubles, row by row,
in which a row has the bytes of one sender; or the indices of sender and receiver, with bytes."""


class PythonDemand:
    """The demand of work.

    Args:
        weights: for each resource its use by one executor or by the transfers: flops of each executor on a host, bytes
            over a link; all are > 0.
        flops: the largest number of flops of an executor, by host.
        network_bound: the greatest rate that the latencies of its transfers allow.
        latency: seconds to wait before it begins.
    """

    __slots__ = ("_alone", "flops", "latency", "network_bound", "weights")

    def __init__(
        self, weights: dict[int, tuple[float, ...]], flops: dict[int, float], network_bound: float, latency: float
    ) -> None:
        self.weights = weights
        self.flops = flops
        self.network_bound = network_bound
        self.latency = latency
        self._alone = (-1, 0.0)

    @property
    def executors(self) -> int:
        """The number of executors that compute."""
        return sum([len(self.weights[host]) for host in self.flops])

    @property
    def is_empty(self) -> bool:
        """Whether the work uses no resource."""
        return not self.weights

    def __copy__(self) -> PythonDemand:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonDemand:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.weights, self.flops, self.network_bound, self.latency)


def restored(
    weights: dict[int, tuple[float, ...]], flops: dict[int, float], bound: float, latency: float
) -> PythonDemand:
    """A demand of the default kind."""
    made: PythonDemand = usual.Demand(weights, flops, bound, latency)
    return made


def amounts(
    executors: Sequence[int],
    flops: Sequence[float],
    transfers: Transfers,
    under_way: float,
    path: Path,
    is_fatpipe: Callable[[int], bool],
) -> tuple[dict[int, tuple[float, ...]], dict[int, float], float, float]:
    """The parts of a demand: weights, flops, the network's bound and the latency.

    Args:
        executors: the host of each executor.
        flops: the flops of each executor.
        transfers: the transfers between executors. A single executor has none.
        under_way: the maximum number of bytes of a transfer that can be under way.
        path: returns the latency and the links of a route.
        is_fatpipe: returns whether every transfer gets the whole capacity of a link.
    """
    weights: dict[int, list[float]] = {}
    most: dict[int, float] = {}
    for host, amount in zip(executors, flops, strict=True):
        if amount > 0:
            weights.setdefault(host, []).append(amount)
            most[host] = max(most.get(host, 0.0), amount)
    latency = delayed = 0.0
    bytes_over: dict[int, float] = {}
    for source, target, amount in transfers_of(len(executors), transfers):
        step()
        if amount <= 0:
            continue
        way, links = path(executors[source], executors[target])
        latency = max(latency, way)
        delayed = max(delayed, way * amount)
        for link in links:
            before = bytes_over.get(link, 0.0)
            bytes_over[link] = max(before, amount) if is_fatpipe(link) else before + amount
    parts = {resource: tuple(each) for resource, each in weights.items()}
    parts.update((link, (amount,)) for link, amount in bytes_over.items())
    return parts, most, under_way / (2.0 * delayed) if delayed > 0 else inf, latency


def transfers_of(count: int, transfers: Transfers) -> Iterable[tuple[int, int, float]]:
    """The transfers between `count` executors: the indices of sender and receiver, and bytes."""
    if count < 2 or transfers is None:
        return ()
    if isinstance(transfers, float):
        return ((source, target, transfers) for source in range(count) for target in range(count) if source != target)
    if isinstance(transfers, memoryview):
        return ((place // count, place % count, amount) for place, amount in enumerate(transfers))
    return transfers


# Stored demands


_MOST_HOSTS: Final = 1 << 16
"""The maximum number of hosts of all stored tasks: a demand takes memory for each of its hosts."""


class Demands:
    """The stored demands of one machine and its copies. After unpickling, the store is empty.

    Attributes:
        messages: the demand of a message to the master, by host.
    """

    __slots__ = ("_hosts", "_tasks", "messages")

    def __init__(self) -> None:
        self.messages: dict[int, PythonDemand] = {}
        self._tasks: dict[tuple[int, Hashable], tuple[object, tuple[int, ...], PythonDemand]] = {}
        self._hosts = 0

    def find(self, profile: object, key: Hashable) -> tuple[tuple[int, ...], PythonDemand] | None:
        """The hosts and the demand of a profile with this key; None if they are not stored."""
        found = self._tasks.get((id(profile), key))
        return None if found is None else found[1:]

    def remember(self, profile: object, key: Hashable, hosts: tuple[int, ...], demand: PythonDemand) -> None:
        """Store the demand of a profile with this key, which is on these hosts."""
        self._hosts += len(hosts)
        if self._hosts > _MOST_HOSTS:
            self._tasks.clear()
            self._hosts = len(hosts)
        self._tasks[id(profile), key] = profile, hosts, demand  # a profile that is kept keeps its id

    def __getstate__(self) -> tuple[()]:
        """Pickle nothing, because demands are quickly computed again."""
        return ()

    def __setstate__(self, state: tuple[()]) -> None:
        Demands.__init__(self)
