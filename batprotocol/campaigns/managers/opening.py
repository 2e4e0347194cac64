"""The resource manager of a cluster, by what the store says of where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from batprotocol.campaigns.managers.dask import DaskCluster
from batprotocol.campaigns.managers.interface import ResourceManager
from batprotocol.campaigns.managers.local import LocalProcesses
from batprotocol.errors import ClusterError

__all__ = ["MANAGERS", "open_manager"]


def _local(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    return LocalProcesses(name, address, resources)


def _dask(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    return DaskCluster(name, address, mark)


MANAGERS: Final[Mapping[str, Callable[[str, str, int | None, str], ResourceManager]]] = {"local": _local, "dask": _dask}
"""How the resource managers are opened, by what they are called: `local` processes, `dask`."""


def open_manager(name: str, batch: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    """The resource manager of a cluster.

    Args:
        name: of the cluster.
        batch: what it is: one of `MANAGERS`.
        address: where it is: a folder, the address of a scheduler.
        resources: how many resources it is to have, where that can be chosen; None: as many as there are.
        mark: what our jobs are called by.

    Raises:
        ClusterError: it cannot be reached, or there is none of this kind.
    """
    if batch not in MANAGERS:
        raise ClusterError(f"expected a resource manager of {' or '.join(MANAGERS)}, got {batch!r}", name)
    return MANAGERS[batch](name, address, resources, mark)
