"""An embedded Batsim: the same protocol, event for event, and the same results, without SimGrid.

`simulate` runs a whole simulation of a scheduler in this process. `Simulator` does the same one message at a time. Use
it to exchange messages in another way, and to copy or pickle a simulation between any two turns.

The modules have these roles: `inputs` reads platform, workloads and external events. From them, the simulator creates
the `machine` (hosts and links with their states) and the actors of `batsim`. Actors wait for one another in a `queue`,
and for the `progress` of jobs. `actions` has everything that takes time and shares hosts and links. The rows of result
files go to the observers of `results`. `peers` connects to decision components that are not Python objects. A
`Recorder` (`recording`) records messages, and other watchers can follow them (`watching`). `copying` copies a
simulation, and `simulating` runs a simulation from its inputs to its results.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError
from batprotocol.results import *
from batprotocol.results import __all__ as _results
from batprotocol.simulator.batsim.simulator import Simulator
from batprotocol.simulator.recording import Recorder
from batprotocol.simulator.simulating import DecisionComponent, Player, simulate
from batprotocol.simulator.watching import Watcher, watched
from batprotocol.workloads import *
from batprotocol.workloads import __all__ as _inputs

if TYPE_CHECKING:
    from batprotocol.simulator.peers import connect, load_library

__all__ = [
    "DecisionComponent",
    "InputError",
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


# They need ZeroMQ, or load libraries: most simulations do not need them.
__getattr__ = old_names(
    __name__, {"scaled_load": "scaled_arrivals"}, late={"connect": "peers", "load_library": "peers"}
)
