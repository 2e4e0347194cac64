"""A parallel task: work that uses hosts and links, and advances at the rate that they allow."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.simulator.actions.demand import PythonDemand

__all__ = ["ParallelTask"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ParallelTask:
    """Work of 1, whose rate the machine computes.

    Attributes:
        demand: its total use of hosts and links.
        hosts: all hosts that it uses, without duplicates.
        remains: the remaining part before it began, or when it was stopped.
        is_cancelled: whether it was stopped so that its owner continues.
        number: the number of its action while it is under way, else 0.
        owner: the actor that waits for its end, or None.
    """

    __slots__ = ("demand", "hosts", "is_cancelled", "number", "owner", "remains")

    def __init__(self, demand: PythonDemand, hosts: tuple[int, ...]) -> None:
        self.demand = demand
        self.hosts = hosts
        self.remains = 0.0 if demand.is_empty else 1.0
        self.is_cancelled = False
        self.number = 0
        self.owner: Any = None
