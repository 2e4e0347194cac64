"""Resource managers, which run the jobs of campaigns on clusters.

`interface` defines them, and has what several of them need for files. `local` runs processes on this machine. `dask`
uses the workers of a Dask scheduler. `slurm` submits jobs to a partition of Slurm, `oar` asks OAR's REST API, and
`psij` submits to other batch systems. `types` describes all types, and opens the resource manager of a cluster.
Simulated clusters are in `simulation`.
"""

from batprotocol.campaigns.managers.dask import DaskCluster
from batprotocol.campaigns.managers.interface import Request, ResourceManager
from batprotocol.campaigns.managers.local import LocalProcesses
from batprotocol.campaigns.managers.slurm import SlurmCluster
from batprotocol.campaigns.managers.types import MANAGERS, open_manager

__all__ = ["MANAGERS", "DaskCluster", "LocalProcesses", "Request", "ResourceManager", "SlurmCluster", "open_manager"]
