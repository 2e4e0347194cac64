"""The selection of a reader for a file of jobs, and the examples of the library."""

from __future__ import annotations

import os
from typing import Final

from batprotocol.workloads.swf import read_swf
from batprotocol.workloads.workload import Workload
from batprotocol.workloads.workload_files import read_workload_json

__all__ = ["EXAMPLE_PLATFORM", "EXAMPLE_WORKLOAD", "is_log", "read_workload"]

_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples")
EXAMPLE_PLATFORM: Final = os.path.join(_EXAMPLES, "cluster.xml")
"""A platform file with 32 hosts that can be switched off, and with their watts."""
EXAMPLE_WORKLOAD: Final = os.path.join(_EXAMPLES, "jobs.json")
"""A workload file with 250 jobs that keep those hosts busy for half a day."""


def read_workload(
    path: str | os.PathLike[str],
    *,
    name: str = "w0",
    compositions: bool = False,
    corrected: bool = False,
    lazy: bool = False,
) -> Workload:
    """Read a workload: in the Standard Workload Format if its name ends with `.swf` or `.swf.gz`, else Batsim's JSON.

    Args:
        path: the file.
        name: the workload's name.
        compositions: whether fork-join and merge profiles are accepted, which Batsim refuses.
        corrected: whether usage traces are read to their ends where Batsim does not.
        lazy: whether jobs stay in the file, and are read again when they are needed, so that a workload can be larger
            than memory. Jobs must be sorted by (submission time, id), and the file must not change meanwhile.

    Raises:
        InputError: the file is not a workload; the error names the place.
        OSError: the file cannot be read.
    """
    if is_log(path):
        return read_swf(path, name=name, lazy=lazy)
    return read_workload_json(path, name=name, compositions=compositions, corrected=corrected, lazy=lazy)


def is_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file is in the Standard Workload Format, by its name."""
    return "swf" in os.fspath(path).lower().split(".")[-2:]
