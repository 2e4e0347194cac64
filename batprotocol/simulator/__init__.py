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

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from batprotocol._util.deprecation import old_names
from batprotocol.results import __all__ as _results
from batprotocol.workloads import __all__ as _inputs

if TYPE_CHECKING:
    from batprotocol.errors import InputError
    from batprotocol.results import *
    from batprotocol.simulator.batsim.simulator import Simulator
    from batprotocol.simulator.peers import connect, load_library
    from batprotocol.simulator.recording import Recorder
    from batprotocol.simulator.simulating import DecisionComponent, Player, simulate
    from batprotocol.simulator.watching import Watcher, watched
    from batprotocol.workloads import *

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

# Whoever needs one of these modules does not wait for the others.
_MODULES = {
    "batsim.simulator": ("Simulator",),
    "peers": ("connect", "load_library"),
    "recording": ("Recorder",),
    "simulating": ("DecisionComponent", "Player", "simulate"),
    "watching": ("Watcher", "watched"),
}
_OTHERS = {
    **dict.fromkeys(_inputs, "batprotocol.workloads"),
    **dict.fromkeys(_results, "batprotocol.results"),
    "InputError": "batprotocol.errors",
}
_own = old_names(
    __name__,
    {"scaled_load": "scaled_arrivals"},
    late={name: module for module, names in _MODULES.items() for name in names},
)


def __getattr__(name: str) -> Any:
    if name not in _OTHERS:
        return _own(name)
    found = globals()[name] = getattr(import_module(_OTHERS[name]), name)
    return found
