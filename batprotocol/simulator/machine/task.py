"""A parallel task: work that loads hosts and links, and goes on as fast as they let it."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

__all__ = ["Task"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Task:
    """Work of 1, of which the machine decides how much of it is done in a second.

    Attributes:
        number: its name in the tables of the machine.
        weights: for each resource that it uses, what one executor or the transfers need of it for the whole work: flops
            of each executor on a host, bytes over a link.
        flops: the most that an executor computes, by host.
        hosts: all hosts that it touches, each once.
        network_bound: the greatest rate that the latencies of its transfers allow.
        latency: seconds to wait before it begins.
        remains: what was still to do at `since`.
        rate: work per second now.
        is_cancelled: whether it was stopped for its owner to go on.
        growth: by how much its rate was raised last while it was shared out.
        owner: the actor that waits for its end, or None.
        alarm: the queue's own business.
    """

    __slots__ = (
        "alarm",
        "flops",
        "growth",
        "hosts",
        "is_cancelled",
        "latency",
        "network_bound",
        "number",
        "owner",
        "rate",
        "remains",
        "since",
        "weights",
    )

    def __init__(
        self,
        number: int,
        weights: dict[int, list[float]],
        flops: dict[int, float],
        hosts: tuple[int, ...],
        network_bound: float,
        latency: float,
    ) -> None:
        self.number = number
        self.weights = weights
        self.flops = flops
        self.hosts = hosts
        self.network_bound = network_bound
        self.latency = latency
        self.remains = 1.0 if weights else 0.0
        self.rate = 0.0
        self.growth = 0.0
        self.is_cancelled = False
        self.since = 0.0
        self.owner: Any = None
        self.alarm: Any = None

    def when_due(self, queue: Any) -> None:
        """It has come to its end."""
        queue.end(self)
