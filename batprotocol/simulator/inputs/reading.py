"""Which reader a file of jobs needs."""

from __future__ import annotations

import os

from batprotocol.simulator.inputs.swf import read_swf
from batprotocol.simulator.inputs.workload import Workload
from batprotocol.simulator.inputs.workload_json import read_workload_json

__all__ = ["read_workload"]


def read_workload(
    path: str | os.PathLike[str], *, name: str = "w0", compositions: bool = False, quirks: bool = False
) -> Workload:
    """The workload of a file: in the Standard Workload Format if it is called `.swf` or `.swf.gz`, else Batsim's JSON.

    Args:
        path: the file.
        name: the workload's name.
        compositions: whether fork-join and merge profiles are read, which Batsim refuses.
        quirks: whether files are read with Batsim's bugs.

    Raises:
        InputError: the file is no workload; with its place.
        OSError: the file cannot be read.
    """
    words = os.fspath(path).lower().split(".")
    if "swf" in words[-2:]:
        return read_swf(path, name=name).workload
    return read_workload_json(path, name=name, compositions=compositions, quirks=quirks)
