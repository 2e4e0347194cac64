"""Where things run: processes of this machine, or whatever a Dask scheduler runs on.

A `Child` is a process that calls one function again and again, and that may be killed at any time. `Processes` are
several of them, `DaskEngine` has one on each thread of Dask's workers; both are an `Engine`, which gives back how each
call ended. It must not know what is called, nor why.

`interface` has what they have in common, `serving` is what runs inside a child, `mortal` starts programs that do not
outlive who started them, and `dask` connects to a Dask scheduler, also for those who have their own use of it.
"""

from typing import TYPE_CHECKING, Any

from batprotocol.engines.child import Child
from batprotocol.engines.interface import Ended, Engine
from batprotocol.engines.processes import Processes

if TYPE_CHECKING:
    from batprotocol.engines.dask import DaskEngine

__all__ = ["Child", "DaskEngine", "Ended", "Engine", "Processes"]


def __getattr__(name: str) -> Any:
    """What needs asyncio is imported when it is wanted: each child would import it, too."""
    if name != "DaskEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from batprotocol.engines.dask import DaskEngine

    globals()[name] = DaskEngine
    return DaskEngine
