"""What a simulation is made of, and what never changes while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from batprotocol.model import EDCRequestedSimulationFeatures
from batprotocol.simulator.inputs import ExternalEventList, Platform, Workload

__all__ = ["Setup"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Setup:
    """What a simulation is made of.

    Args:
        platform: hosts and network.
        workloads: what is submitted.
        event_lists: what happens besides.
        arguments: what the decision component is told of the command line.
        features: what it has asked for.
        corrected: whether what is sensible is done where what Batsim does looks unintended.
        is_batsim: whether only what that Batsim knows is known.
        at_once: whether the decision component is told as soon as it has replied, as by Batsims before 3.
        says_nothing: "" or how the server hears of a reply without decisions, as in text: "waiting", as of a decision,
            or "leaving", so that it is over at once.
    """

    __slots__ = (
        "_host_names",
        "_static_ids",
        "arguments",
        "at_once",
        "corrected",
        "event_lists",
        "features",
        "is_batsim",
        "platform",
        "says_nothing",
        "workloads",
    )

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload],
        event_lists: Sequence[ExternalEventList],
        arguments: tuple[str, ...],
        features: EDCRequestedSimulationFeatures,
        corrected: bool,
        is_batsim: bool,
        at_once: bool = False,
        says_nothing: str = "",
    ) -> None:
        self.platform = platform
        self.workloads = workloads
        self.event_lists = event_lists
        self.arguments = arguments
        self.features = features
        self.corrected = corrected
        self.is_batsim = is_batsim
        self.at_once = at_once
        self.says_nothing = says_nothing
        self._static_ids: frozenset[str] | None = None
        self._host_names: dict[str, int] | None = None

    def has_workload(self, name: str) -> bool:
        """Whether a workload has this name."""
        return any(workload.name == name for workload in self.workloads)

    def has_static_job(self, job_id: str) -> bool:
        """Whether a job of this name is in a workload, submitted or not."""
        if self._static_ids is None:
            self._static_ids = frozenset(each.id for workload in self.workloads for each in workload)
        return job_id in self._static_ids

    def host_named(self, name: str) -> int | None:
        """The number of a host, or None if there is none of this name."""
        if self._host_names is None:
            self._host_names = {host.name: host.id for host in self.platform.hosts}
        return self._host_names.get(name)
