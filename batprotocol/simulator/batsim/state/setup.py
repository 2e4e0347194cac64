"""The inputs and options of a simulation, which never change while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from batprotocol.model import EDCRequestedSimulationFeatures
from batprotocol.workloads import ExternalEventList, Platform, Workload
from batprotocol.workloads.workload_files import TraceReader, read_traces

__all__ = ["Setup"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Setup:
    """The inputs and options of a simulation.

    Args:
        platform: hosts and network.
        workloads: the workloads to submit.
        event_lists: the lists of external events.
        arguments: the command-line arguments that the decision component gets.
        features: the features that the decision component has requested.
        corrected: whether behaviour of Batsim that looks unintended is corrected.
        is_batsim: whether only the features of that Batsim are supported.
        at_once: whether the decision component gets events as soon as it has replied, as with Batsim before version 3.
        traces: reads the usage trace with this name that the decision component registers, as `read_traces`.
        says_nothing: "", or the way in which the server gets a reply without decisions in the text protocol: "waiting",
            as for a decision, or "leaving", without waiting.
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
        "traces",
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
        traces: TraceReader = read_traces,
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
        self.traces = traces
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
        """The number of the host with this name, or None."""
        if self._host_names is None:
            self._host_names = {host.name: host.id for host in self.platform.hosts}
        return self._host_names.get(name)
