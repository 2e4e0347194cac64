"""Batsim's server: it takes one message at a time, and reports events to the decision component.

It sends a message when it has received the reply to its last message, and no actor waits to deliver a message. Batsim
did not check the second condition before version 3 (`Setup.at_once`). The functions for messages are in `occurrences`
(events of the simulation) and `decisions` (decisions of the decision component).
"""

from __future__ import annotations

from typing import Any, Final

from batprotocol.model import Message, SimulationEndsEvent
from batprotocol.simulator.batsim.actors.calls import PeriodicActor
from batprotocol.simulator.batsim.actors.submitters import Injector
from batprotocol.simulator.batsim.server.beginning import beginning
from batprotocol.simulator.batsim.server.decisions import DECISIONS
from batprotocol.simulator.batsim.server.occurrences import OCCURRENCES
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.queue.actor import SimulationActor

__all__ = ["BatsimServer"]

_HANDLERS: Final[dict[type, Any]] = {**OCCURRENCES, **DECISIONS}

_STARTING: Final = 0
_HANDLING: Final = 1
_GOING_ON: Final = 2
_LOOKING: Final = 3


class BatsimServer(SimulationActor):
    """The server of this module. Its state is in `Simulation.server`."""

    __slots__ = ("_step",)

    def __init__(self) -> None:
        super().__init__()
        self._step = _STARTING

    def run(self, simulator: Simulation) -> None:
        step, server = self._step, simulator.server
        if step == _HANDLING:
            message, self.message = self.message, None
            self._step = _GOING_ON
            _HANDLERS[type(message)](simulator, message)
        elif step == _STARTING:
            self._step = _GOING_ON
            server.todo.append(("spawn", (PeriodicActor(),)))
            if simulator.setup.at_once or not server.submitters_starting:
                server.events.append(beginning(simulator))
        todo = server.todo
        while todo:
            if self._do(simulator, *todo.popleft()):
                return
        if server.is_ending:
            self._send_end(simulator)
            return
        at_once = simulator.setup.at_once
        if server.is_ready and self._step == _GOING_ON and not at_once:
            self._step = _LOOKING
            simulator.queue.call(self)  # to find its own mailbox
            return
        if server.is_ready:
            nobody_waits = not server.mailbox.inbox and not server.submitters_starting
            if server.events and (nobody_waits or at_once):
                self._send_events(simulator)
                return
            if nobody_waits and server.is_done():
                server.end()
                self._do(simulator, *todo.popleft())
                return
        self._step = _HANDLING
        simulator.queue.receive(self, server.mailbox)

    def _do(self, simulator: Simulation, kind: str, argument: Any) -> bool:
        """Do something that may take simulated time; whether it does."""
        queue = simulator.queue
        if kind == "spawn":
            queue.spawn(self, argument)
        elif kind == "read":
            return queue.read(self, argument)
        elif kind == "do":
            function, about = argument
            if simulator.machine.has_energy:
                simulator.reports.energy("p")
            function(simulator, about)
            return False
        elif simulator.periodic_is_posting and simulator.corrected:
            queue.post_and_continue(self, simulator.periodic_mailbox, argument)
        else:
            if simulator.periodic_is_posting:  # each waits for the other to receive
                what = type(argument).__name__.removesuffix("Event")
                text = f"{what} crosses a periodic call or probe, and Batsim's actors wait for one another without end"
                simulator.warn(text, "decide it at another moment")
            queue.post(self, simulator.periodic_mailbox, argument)
        return True

    def _send_events(self, simulator: Simulation) -> None:
        """Send the events to the decision component."""
        now, server = simulator.queue.now, simulator.server
        server.stamp = now
        message = Message(now, tuple(server.events))
        server.events = []
        server.is_ready = False
        simulator.forget_ended()
        simulator.queue.spawn(self, (Injector(message),))

    def _send_end(self, simulator: Simulation) -> None:
        simulator.server.is_ready = False
        now = simulator.queue.now
        simulator.is_ending = True
        message = Message(now, (SimulationEndsEvent(timestamp=now),))
        simulator.queue.spawn(self, (Injector(message),))
