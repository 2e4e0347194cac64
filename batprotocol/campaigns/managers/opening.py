"""Opens the resource manager of a cluster, by its entry in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from batprotocol.campaigns.managers.dask import DaskCluster
from batprotocol.campaigns.managers.interface import ResourceManager
from batprotocol.campaigns.managers.local import LocalProcesses
from batprotocol.campaigns.managers.psij import PsijCluster
from batprotocol.campaigns.managers.slurm import SlurmCluster, read_description
from batprotocol.errors import ClusterError, InputError

__all__ = ["MANAGERS", "open_manager", "size_of"]


def _local(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    return LocalProcesses(name, address, resources)


def _dask(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    return DaskCluster(name, address, mark)


def _slurm(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    try:
        description = read_description(address)
    except InputError as error:
        raise ClusterError(str(error), name) from None
    return SlurmCluster(name, description, mark)


def _oar(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.oar import OarCluster  # it takes a while: TLS

    return OarCluster(name, address, mark)


def _psij(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    return PsijCluster(name, address, mark)


MANAGERS: Final[Mapping[str, Callable[[str, str, int | None, str], ResourceManager]]] = {
    "local": _local,
    "dask": _dask,
    "slurm": _slurm,
    "oar": _oar,
    "psij": _psij,
}
"""The functions that open resource managers, by their names."""


def open_manager(name: str, batch: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    """Open the resource manager of a cluster.

    Args:
        name: the name of the cluster.
        batch: the kind of the resource manager: one of `MANAGERS`.
        address: its address: a folder, the address of a scheduler, or the file of its description.
        resources: how many resources to use, for `local`; None: all.
        mark: the prefix of the names of the jobs.

    Raises:
        ClusterError: it cannot be reached, or the kind is unknown.
    """
    if batch not in MANAGERS:
        raise ClusterError(f"expected a resource manager of {' or '.join(MANAGERS)}, got {batch!r}", name)
    return MANAGERS[batch](name, address, resources, mark)


def size_of(name: str, batch: str, address: str, resources: int | None, mark: str) -> int:
    """How many resources a cluster has now: it is asked, unless `resources` has the number. The arguments are the same.

    Raises:
        ClusterError: it cannot be reached, or it has no resources now.
    """
    if resources is not None:
        return resources
    manager = open_manager(name, batch, address, resources, mark)
    try:
        found = manager.look().max
    finally:
        manager.close()
    if found < 1:
        raise ClusterError("it has no resources now", name)
    return found
