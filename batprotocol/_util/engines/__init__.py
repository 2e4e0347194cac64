"""Engines, which call a function many times: in processes of this machine, or on the workers of a Dask scheduler.

A `Child` is a process that calls one function again and again, and that may be killed at any time. `Processes` has
several of them, `DaskEngine` one on each thread of Dask's workers. Both are an `Engine`, which returns how each call
ended. An engine must not know what it calls, nor why.

`interface` defines engines, `serving` is the program of a child, and `dask` connects to a Dask scheduler, also for
other packages.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol._util.engines.interface import Ended, Engine
from batprotocol._util.engines.processes import Child, Processes

if TYPE_CHECKING:
    from batprotocol._util.engines.dask import DaskEngine

__all__ = ["Child", "DaskEngine", "Ended", "Engine", "Processes"]


# It needs asyncio, which each child would import, too.
__getattr__ = old_names(__name__, {}, late={"DaskEngine": "dask"})
