"""Jobs as a component sees them that counts hosts and needs no messages, and its interface, `HostPlanner`.

A job is one object from its submission to its end. A policy that gets messages makes these jobs of them, too, so this
module must not know of the simulator, which takes long to import.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.model import SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts

__all__ = ["HostPlanner", "PlannedJob", "PlannerMaker"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class PlannedJob:
    """A job, from its submission to its end.

    Args:
        id: its full name.
        time: its submission time, in seconds.
        size: the number of hosts that it requests.
        walltime: the seconds after which it is killed; None: never.
        extra_data: its extra data, or None.
        given: what it is made of, which the maker of jobs knows.

    Attributes:
        id: its full name.
        time: its submission time, in seconds.
        size: the number of hosts that it requests.
        walltime: the seconds after which it is killed; infinity: never.
        extra_data: its extra data, or None.
        given: what it is made of.
        is_over: whether it has ended.
        run: its run, for those who run it; None before.
        hosts: its hosts, once it has some. The planner sets them.
        number: how many jobs came before it. The planner sets this attribute and the following ones.
        submitted: the time of its submission, rounded.
        expected: the seconds that it is expected to run.
        started: when it started, rounded.
        place: how many jobs have started before it.
        end: its expected end.
        key: its key in the queue order, and its number.
        tried: the same in the order in which jobs are tried before their turn.
    """

    __slots__ = (
        *("end", "expected", "extra_data", "given", "hosts", "id", "is_over", "key", "number", "place", "run"),
        *("size", "started", "submitted", "time", "tried", "walltime"),
    )

    def __init__(
        self, id: str, time: float, size: int, walltime: float | None, extra_data: str | None, given: Any
    ) -> None:
        self.id = id
        self.time = time
        self.size = size
        self.walltime = inf if walltime is None else walltime
        self.extra_data = extra_data
        self.given = given
        self.is_over = False
        self.run: Any = None
        self.hosts: FrozenHosts | None = None
        self.number = 0
        self.submitted = 0.0
        self.expected = self.walltime
        self.started = 0.0
        self.place = 0
        self.end = 0.0
        self.key: Any = None
        self.tried: Any = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class HostPlanner(ABC):
    """A decision component that counts hosts, without messages: which jobs start, and where."""

    @abstractmethod
    def turn(self, now: float, jobs: list[PlannedJob]) -> list[PlannedJob]:
        """The jobs that start now, in this order. Each has its `hosts`.

        Args:
            now: the time of the message that there would be.
            jobs: the jobs that were submitted, and those that have ended, in the order of events.
        """

    def call(self) -> float:
        """When there must be a turn although nothing happens, in seconds, if the last turn asks for it; else infinity.

        Asked again, it is infinity.
        """
        return inf


PlannerMaker = Callable[[SimulationBeginsEvent], HostPlanner]
"""Makes a planner at the beginning of a simulation."""
