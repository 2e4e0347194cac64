"""Resource managers: what runs the jobs of campaigns on a cluster.

`interface` says what one is, `local` runs processes on this machine, `dask` (with `dask_remote`, which travels there)
uses whatever Dask runs on, `opening` opens one or the other, and `asking` asks all side by side. Simulated clusters are
in `simulation`.
"""

from batprotocol.campaigns.managers.dask import DaskCluster
from batprotocol.campaigns.managers.interface import Request, ResourceManager
from batprotocol.campaigns.managers.local import LocalProcesses
from batprotocol.campaigns.managers.opening import MANAGERS, open_manager

__all__ = ["MANAGERS", "DaskCluster", "LocalProcesses", "Request", "ResourceManager", "open_manager"]
