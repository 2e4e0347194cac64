"""A parallel task: work that loads hosts and links, and goes on as fast as they let it."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.simulator.actions.demand import PythonDemand

__all__ = ["Task"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Task:
    """Work of 1, of which the machine decides how much of it is done in a second.

    Attributes:
        demand: what it takes of hosts and links in all.
        hosts: all hosts that it touches, each once.
        remains: what was still to do before it began, or when it was stopped.
        is_cancelled: whether it was stopped for its owner to go on.
        number: that of its action while it is under way, else 0.
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
