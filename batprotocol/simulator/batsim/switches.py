"""Turning hosts on and off: a request for some hosts, and the actor that does it on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from batprotocol.simulator.batsim.messages import Switched
from batprotocol.simulator.inputs import Usage
from batprotocol.simulator.progress.matrices import usage_task
from batprotocol.simulator.queue.actor import Actor

if TYPE_CHECKING:
    from batprotocol.simulator.batsim.simulation import Simulation

__all__ = ["Switch", "SwitchRequest"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SwitchRequest:
    """Hosts that are turned on or off together.

    Attributes:
        hosts: which.
        text: the same as text.
        target: the power state to reach.
        left: how many have not reached it yet.
    """

    __slots__ = ("hosts", "left", "target", "text")

    def __init__(self, hosts: tuple[int, ...], text: str, target: int) -> None:
        self.hosts = hosts
        self.text = text
        self.target = target
        self.left = len(hosts)


class Switch(Actor):
    """Turns one host on or off: it executes one flop in the virtual power state on the way."""

    __slots__ = ("_request", "_step", "_virtual")

    def __init__(self, host: int, request: SwitchRequest, virtual: int) -> None:
        super().__init__(host)
        self._request = request
        self._virtual = virtual
        self._step = 0

    def run(self, simulator: Simulation) -> None:
        queue, machine, host = simulator.queue, simulator.machine, self.host
        self._step += 1
        if self._step == 1:
            machine.set_pstate(host, self._virtual, queue.now)
            queue.pause(self, 1)
        elif self._step == 2:
            queue.execute(self, usage_task(machine, host, Usage(0.0, 1.0)))
        elif self._step == 3:
            machine.end_switch(host, self._request.target, queue.now)
            queue.pause(self, 1)
        elif self._step == 4:
            queue.post(self, simulator.server.mailbox, Switched(host, self._request))
