"""Old names of modules: they are found for one version more, with a `DeprecationWarning`.

The package starts this finder. Python asks it last, so it costs nothing where a module has its present name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, cast

__all__ = ["MOVED", "find_old_names"]

MOVED: Final = {
    "advice": "conversation.advice",
    "campaigns.entities.controller": "campaigns.entities.regulation",
    "campaigns.entities.forecasting": "campaigns.entities.prediction",
    "campaigns.entities.metascheduler": "campaigns.entities.scheduling",
    "campaigns.entities.nikita": "campaigns.entities.failures",
    "campaigns.entities.predictor": "campaigns.entities.prediction",
    "campaigns.entities.regulators": "campaigns.entities.regulation",
    "campaigns.entities.runner": "campaigns.entities.regulation",
    "campaigns.entities.scheduler": "campaigns.entities.scheduling",
    "campaigns.entities.taps": "campaigns.entities.regulation",
    "campaigns.entities.updator": "campaigns.entities.failures",
    "campaigns.running": "campaigns.loop",
    "campaigns.simulation.workload": "campaigns.simulation.plan",
    "campaigns.text.answers": "campaigns.text",
    "campaigns.text.gridevents": "campaigns.text",
    "campaigns.text.gridstat": "campaigns.text",
    "campaigns.text.gridstat2": "campaigns.gridstat2",
    "capture": "recordings",
    "capture.exporting": "recordings.exports",
    "capture.tapping": "recordings.copies",
    "capture.timeline": "recordings.timeline",
    "capture.traffic": "recordings.traffic",
    "engines": "_util.engines",
    "history": "sites.logs",
    "history.anonymous": "sites.logs.imports",
    "history.checking": "sites.logs.checking",
    "history.columns": "sites.logs.columns",
    "history.formats": "sites.logs.formats",
    "history.host_events": "sites.logs.windows",
    "history.opening": "sites.logs.formats",
    "history.platforms": "sites.logs.platforms",
    "history.surveys": "sites.logs.surveys",
    "history.tables": "sites.logs.tables",
    "history.windows": "sites.logs.windows",
    "history.workloads": "sites.logs.workloads",
    "hosts": "model.free_hosts",
    "hosts.hosts": "model.free_hosts",
    "mcp": "cli.mcp_server",
    "mcp.server": "cli.mcp_server.server",
    "outages": "workloads.host_events",
    "outages.keys": "workloads.host_events.events",
    "policies.orders.fair_share": "policies.fair_share",
    "policies.places": "policies.allocations",
    "power": "workloads.electricity",
    "recording": "edc.recording",
    "reflection": "wire.reflection",
    "requests": "workloads.requests",
    "requests.keys": "workloads.requests.vocabulary",
    "rules": "_util.rules",
    "simulator.batsim.state": "simulator.batsim",
    "simulator.batsim.state.rules": "simulator.batsim.rules",
    "simulator.inputs": "workloads",
    "simulator.inputs.changes": "workloads.changes",
    "simulator.inputs.names": "workloads.names",
    "simulator.inputs.outages": "workloads.host_events",
    "simulator.inputs.platform_xml": "workloads.platform_files",
    "simulator.inputs.power_traces": "workloads.electricity.tables",
    "simulator.inputs.watts": "workloads.described",
    "simulator.inputs.workload_json": "workloads.workload_files",
    "simulator.peers": "simulator.components",
    "simulator.results": "results",
    "simulator.results.catalogue": "results.catalogue",
    "simulator.results.metrics": "results.metrics",
    "slurm": "sites.slurm",
    "slurm.accounting": "sites.slurm.accounting",
    "slurm.client": "sites.slurm.client",
    "slurm.configuration": "sites.slurm.configuration",
    "testing.strategies.fast": "fast.strategies",
}
"""The present place of each documented module of version 0.2 that has another one; both below `batprotocol`."""

_INNER: Final = {
    "_util.distributions": "distributions",
    "_util.tables": "left_out",
    "campaigns.jdl": "campaigns.jdl.admission campaigns.jdl.campaigns",
    "campaigns.model": "campaigns.model.campaigns campaigns.model.clusters campaigns.model.decisions"
    " campaigns.model.events campaigns.model.forecasts campaigns.model.grid campaigns.model.jobs campaigns.model.rates"
    " campaigns.model.record campaigns.model.settings campaigns.model.words",
    "fast": "fast.messages",
    "fast.values": "fast.values.agent fast.values.base fast.values.others fast.values.results fast.values.tasks",
    "model": "model.doubles model.events.from_batsim model.events.from_edc model.placements model.progress"
    " model.triggers",
    "recordings": "capture.captures capture.entries capture.jobs capture.knowledge",
    "recordings.statistics": "capture.statistics",
    "recordings.timeline": "capture.timeline.values",
    "results": "simulator.results.electricity simulator.results.failures simulator.results.observing"
    " simulator.results.own simulator.results.result simulator.results.workflows",
    "sites.logs": "history.jobs",
    "sites.logs.platforms": "history.platforms.hosts",
    "sites.slurm.accounting": "slurm.accounting.values",
    "sites.slurm.configuration": "slurm.configuration.values",
    "studies": "studies.store.rows",
    "studies.comparing": "studies.comparing.ratios",
    "workloads": "simulator.inputs.events simulator.inputs.hosts simulator.inputs.info simulator.inputs.platform"
    " simulator.inputs.workflows simulator.inputs.workload",
    "workloads.columns": "simulator.inputs.columns",
    "workloads.electricity": "power.accounts power.events power.hosts power.tables power.trace power.units",
    "workloads.host_events": "outages.events simulator.inputs.outages.failures simulator.inputs.outages.laws",
    "workloads.network": "simulator.inputs.network simulator.inputs.zones",
    "workloads.requests": "requests.allocated requests.amounts requests.attempts requests.dependencies"
    " requests.features requests.offer requests.recordings requests.request requests.waiting",
}
"""The inner modules of version 0.2 that pickles of its values name, by the module that has these values now."""

_OLD: Final = MOVED | {old: new for new, names in _INNER.items() for old in names.split()}

_RENAMED: Final = {("workloads.network", "Member"): "ZoneMember"}
"""Classes that have another name besides, by the module that has them now."""

_UNDER_WAY: Final = (
    "conversation.holding",
    "conversation.power",
    "gym.environments.",
    "gym.worlds",
    "simulator.batsim.actors",
    "simulator.batsim.server.",
    "simulator.batsim.state.",
    "simulator.inputs.traces",
    "simulator.machine.",
    "simulator.queue",
)
"""The beginnings of the modules of version 0.2 that a simulation under way was made of."""

_PACKAGE: Final = f"{__name__.split('.')[0]}."


class _OldName:
    """Makes a module that has the names of another one."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module: the other one keeps its own name."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look up its names in the other one."""
        new = import_module(self._new)

        def find(name: str) -> Any:
            return getattr(new, _RENAMED.get((self._new.removeprefix(_PACKAGE), name), name))

        names = getattr(new, "__all__", [name for name in vars(new) if not name.startswith("_")])
        module.__dict__.update(__getattr__=find, __all__=names, __doc__=new.__doc__)


class _Finder:
    """Finds modules by their old names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module that an old name means, with a warning at the line that imports it."""
        if not fullname.startswith(_PACKAGE):
            return None
        old = fullname.removeprefix(_PACKAGE)
        new = _OLD.get(old)
        if new is None:
            if old.startswith(_UNDER_WAY):
                raise ModuleNotFoundError(
                    f"No module named {fullname!r}: if a pickle has it, it is a simulation under way, which only the"
                    " version of batprotocol that wrote it can read",
                    name=fullname,
                )
            return None
        new = _PACKAGE + new
        warnings.warn(f"{fullname} is deprecated: use {new} instead", DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, cast(Any, _OldName(new)), is_package=True)  # importlib.abc takes long to import


def find_old_names() -> None:
    """Let Python find the modules of MOVED by their old names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
