"""Resource managers, which run the jobs of campaigns on clusters.

`interface` defines them, and has what several of them need for files. `local` runs processes on this machine. `dask`
uses the workers of a Dask scheduler. `slurm` submits jobs to a partition of Slurm, `oar` asks OAR's REST API, and
`psij` submits to other batch systems. `types` describes all types, and opens the resource manager of a cluster.
Simulated clusters are in `campaigns.simulation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.campaigns.managers.dask import DaskCluster
    from batprotocol.campaigns.managers.interface import JobRequest, ResourceManager
    from batprotocol.campaigns.managers.local import LocalProcesses
    from batprotocol.campaigns.managers.slurm import SlurmCluster
    from batprotocol.campaigns.managers.types import MANAGERS, open_manager

__all__ = ["MANAGERS", "DaskCluster", "JobRequest", "LocalProcesses", "ResourceManager", "SlurmCluster", "open_manager"]

# Whoever needs one resource manager does not wait for the others.
_MODULES = {
    "dask": ("DaskCluster",),
    "interface": ("JobRequest", "ResourceManager"),
    "local": ("LocalProcesses",),
    "slurm": ("SlurmCluster",),
    "types": ("MANAGERS", "open_manager"),
}
__getattr__ = old_names(
    __name__,
    {"Request": "JobRequest"},
    late={name: module for module, names in _MODULES.items() for name in names},
)
