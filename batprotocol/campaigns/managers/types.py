"""The types of clusters: how they are described, and a sentence on what each can and cannot do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from batprotocol.campaigns.managers.describing import tables_in
from batprotocol.campaigns.managers.psij import read_description as read_psij
from batprotocol.campaigns.managers.slurm import read_description
from batprotocol.errors import InputError, hint, shown

__all__ = ["TYPES", "ClusterType", "type_in"]


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


def _oar(path: str) -> object:
    from batprotocol.campaigns.managers.oar.description import read_description as read

    return read(path)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "slurm": read_description,
    "oar": _oar,
    "psij": read_psij,
}
"""The types that a file describes, and who reads it."""


def type_in(path: str) -> str:
    """The type of the cluster that a file describes. The whole description is checked.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    file = os.fspath(path)
    tables = tables_in(file)
    kind = tables.get("type")
    if not isinstance(kind, str) or kind not in _READERS:
        known = ", ".join(f'"{name}"' for name in _READERS)
        got = shown(kind) if "type" in tables else "nothing"
        raise InputError(f"expected {known}, got {got}{hint(str(kind), _READERS)}", "type", file=file)
    _READERS[kind](file)
    return kind
