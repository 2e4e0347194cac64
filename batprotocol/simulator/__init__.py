"""An embedded Batsim: the same protocol, event for event, and the same results, without SimGrid.

`simulate` runs a whole simulation of a scheduler in this process. `Simulator` does the same one message at a time. Use
it to exchange messages in another way, and to copy or pickle a simulation between any two turns.

The modules have these roles: from its inputs, the simulator creates the `machine` (hosts and links with their states,
and the queue of future events) and the actors of `batsim`. `actions` has everything that takes time and shares hosts
and links. The rows of result files go to observers of `batprotocol.results`. `components` connects to decision
components that are not Python objects. `simulation` runs a simulation from its inputs to its results, and watchers such
as a `SimulationRecorder` can follow its messages. `copies` copies a simulation.
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
    from batprotocol.simulator.components import connect, load_library
    from batprotocol.simulator.options import SimulationOptions
    from batprotocol.simulator.recorder import SimulationRecorder
    from batprotocol.simulator.simulation import DecisionComponent, Player, Watcher, simulate, watched
    from batprotocol.workloads import *

__all__ = [
    "DecisionComponent",
    "InputError",
    "Player",
    "SimulationRecorder",
    "SimulationOptions",
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
    "components": ("connect", "load_library"),
    "options": ("SimulationOptions",),
    "recorder": ("SimulationRecorder",),
    "simulation": ("DecisionComponent", "Player", "Watcher", "simulate", "watched"),
}
_OTHERS = {
    **dict.fromkeys(_inputs, "batprotocol.workloads"),
    **dict.fromkeys(_results, "batprotocol.results"),
    "InputError": "batprotocol.errors",
}
_own = old_names(
    __name__,
    {"Host": "PlatformHost", "Recorder": "SimulationRecorder", "scaled_load": "scaled_arrivals"},
    late={name: module for module, names in _MODULES.items() for name in names},
)


def __getattr__(name: str) -> Any:
    if name not in _OTHERS:
        return _own(name)
    found = globals()[name] = getattr(import_module(_OTHERS[name]), name)
    return found
