"""An embedded Batsim: the same protocol, event for event, and the same results, without SimGrid.

`simulate` runs a whole simulation of a scheduler in this process; `Simulator` is the same one message at a time, for
whoever moves the messages otherwise, and can be copied and pickled between any two turns.

The data take this way through it: `inputs` (platform, workloads, external events) make the `machine` (hosts, links,
what they do) and the actors of `batsim`, who wait for one another in a `queue`, and for the `progress` of what runs;
all that takes time, and shares hosts and links, is one of the `actions`. What the result files hold goes to the
observers of `results`. Decision components that are no Python objects are reached through `peers`, a `Recorder`
writes down what is said (`recording`), as others may who are told of it (`watching`), `copying` makes copies of a
simulation, and `simulating` plays one from its inputs to its results.
"""

from typing import TYPE_CHECKING, Any

from batprotocol.simulator.batsim.simulator import Simulator
from batprotocol.simulator.inputs import *
from batprotocol.simulator.inputs import __all__ as _inputs
from batprotocol.simulator.recording import Recorder
from batprotocol.simulator.results import *
from batprotocol.simulator.results import __all__ as _results
from batprotocol.simulator.simulating import DecisionComponent, Player, simulate
from batprotocol.simulator.watching import Watcher, watched

if TYPE_CHECKING:
    from batprotocol.simulator.peers import connect, load_library

__all__ = [
    "DecisionComponent",
    "Player",
    "Recorder",
    "Simulator",
    "Watcher",
    "connect",
    "load_library",
    "simulate",
    "watched",
    *_inputs,
    *_results,
]


def __getattr__(name: str) -> Any:
    """What needs ZeroMQ, or loads libraries, is imported when it is wanted: most simulations do without."""
    if name not in ("connect", "load_library"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from batprotocol.simulator import peers

    globals()[name] = found = getattr(peers, name)
    return found
