"""Where the runs of a study execute: on this machine, on the workers of a Dask scheduler, or on workers on Slurm.

This module must not know what is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from batprotocol._util.engines import Engine, Processes

__all__ = ["SLURM_WORKERS", "engine_on"]

SLURM_WORKERS: Final = 16
"""The number of workers on Slurm if none is given."""


@contextmanager
def engine_on(
    function: str,
    *,
    count: int,
    dask: str | None = None,
    slurm: str | None = None,
    wheels: str | os.PathLike[str] | None = None,
    seconds: float = float("inf"),
    memory: int = 0,
    on_note: Callable[[str], None] = lambda note: None,
) -> Iterator[Engine]:
    """An engine. At the end, it is closed, and workers on Slurm are cancelled.

    Args:
        function: the function that it calls, `module:name`.
        count: the number of processes on this machine, or of workers on Slurm.
        dask: the address of a Dask scheduler, or None.
        slurm: the partition of workers on Slurm, "" for the default one, or None.
        wheels: the folder of the wheels that nodes of Slurm install, or None.
        seconds: the time limit of a call.
        memory: the limit of the address space of a process, in bytes; 0: no limit.
        on_note: called with a sentence if a worker on Slurm cannot work, from other threads, one at a time.

    Raises:
        StudyError: the folder has no wheel of this version of batprotocol.
        ClusterError: Dask or Slurm does not answer.
        PackageMissing: Dask is not installed.
        OSError: a wheel cannot be read.
    """
    engine: Engine
    with ExitStack() as ends:
        if slurm is not None:
            from batprotocol._util.engines.dask import DaskEngine
            from batprotocol.sites.slurm.client import LocalRunner, SlurmCommands
            from batprotocol.studies._slurm_workers import SlurmWorkers, Wheels

            found = None if wheels is None else Wheels.read(wheels)
            workers = SlurmWorkers(SlurmCommands(LocalRunner()), count, slurm, wheels=found, on_note=on_note)
            ends.callback(workers.close)
            security = workers.security
            engine = DaskEngine(function, workers.address, seconds=seconds, memory=memory, security=security)
        elif dask is not None:
            from batprotocol._util.engines.dask import DaskEngine

            engine = DaskEngine(function, dask, seconds=seconds, memory=memory)
        else:
            engine = Processes(function, count, seconds=seconds, memory=memory)
        ends.callback(engine.close)
        yield engine
