"""The types of clusters: how they are described, and a sentence on what each can and cannot do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, NamedTuple

from batprotocol.campaigns.managers.interface import ResourceManager, tables_in
from batprotocol.errors import ClusterError, InputError, hint, shown

__all__ = [
    "MANAGERS",
    "TYPES",
    "ClusterType",
    "open_manager",
    "size_of",
    "type_in",
]


class ClusterType(NamedTuple):
    """A type of clusters, for display.

    Attributes:
        given: how it is added: the options of `batproto grid clusters --add`.
        resource: what a resource is.
        job: what a job is, and who starts it.
        can: what it can do that others cannot.
        cannot: what it cannot do.
    """

    given: str
    resource: str
    job: str
    can: str
    cannot: str


TYPES: Final[Mapping[str, ClusterType]] = {
    "local": ClusterType(
        given="--local FOLDER",
        resource="one of --resources slots of this machine",
        job="a process group, or several one after the other; the loop starts them",
        can="start a job within milliseconds, and keep the complete output",
        cannot="start jobs while no loop runs, use other machines, or select resources by properties",
    ),
    "dask": ClusterType(
        given="--dask ADDRESS",
        resource="a thread of a worker",
        job="a task of Dask with priority -10",
        can="use workers that come and go",
        cannot="survive the end of the Dask scheduler, or keep the complete output",
    ),
    "slurm": ClusterType(
        given="--file FILE.toml",
        resource="a core, several cores, or a node of a partition",
        job="an element of an array, or several tasks in one; Slurm starts it and may preempt it",
        can="start jobs while no loop runs, survive the end of slurmctld and of nodes, and keep the complete output",
        cannot="start a job faster than Slurm does (about 1 s), or run without a folder that all nodes share",
    ),
    "oar": ClusterType(
        given="--file FILE.toml",
        resource="a resource of OAR, or one value of a property such as core",
        job="a best-effort job of OAR in an array with those that are alike",
        can="start jobs while no loop runs, give way to the cluster's own jobs, and find lost submissions again",
        cannot="run several tasks as one job, or start a job faster than OAR does (some seconds)",
    ),
    "psij": ClusterType(
        given="--file FILE.toml",
        resource="one of a given number of slots, each of a given number of cores",
        job="a job of PBS, LSF, Cobalt or Slurm, submitted by PSI/J",
        can="use batch systems that have no type of their own, and run a job once though its submission was lost",
        cannot="see idle resources, submit arrays, run several tasks as one job, or know why a job is gone",
    ),
}
"""The types that `batproto grid clusters --add` can add, by their names."""


_DESCRIBED: Final = ("slurm", "oar", "psij")
"""The types that a file describes. The module of each has a function `read_description`."""


def type_in(path: str) -> str:
    """The type of the cluster that a file describes. The whole description is checked.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    file = os.fspath(path)
    tables = tables_in(file)
    kind = tables.get("type")
    if not isinstance(kind, str) or kind not in _DESCRIBED:
        known = ", ".join(f'"{name}"' for name in _DESCRIBED)
        got = shown(kind) if "type" in tables else "nothing"
        raise InputError(f"expected {known}, got {got}{hint(str(kind), _DESCRIBED)}", "type", file=file)
    import_module(f"batprotocol.campaigns.managers.{kind}").read_description(file)
    return kind


# Each is imported when a cluster of its type is opened: OAR needs TLS, and Dask a large package.


def _local(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.local import LocalProcesses

    return LocalProcesses(name, address, resources)


def _dask(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.dask import DaskCluster

    return DaskCluster(name, address, mark)


def _slurm(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.slurm import SlurmCluster, read_description

    try:
        description = read_description(address)
    except InputError as error:
        raise ClusterError(str(error), name) from None
    return SlurmCluster(name, description, mark)


def _oar(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.oar import OarCluster

    return OarCluster(name, address, mark)


def _psij(name: str, address: str, resources: int | None, mark: str) -> ResourceManager:
    from batprotocol.campaigns.managers.psij import PsijCluster

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
