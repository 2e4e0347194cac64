"""The actor that turns one host of a request on or off."""

from __future__ import annotations

from batprotocol.simulator.batsim.state.desk import SwitchRequest
from batprotocol.simulator.batsim.state.messages import HostSwitched
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.matrices import usage_task
from batprotocol.simulator.queue.actor import SimulationActor
from batprotocol.workloads import Usage

__all__ = ["HostSwitch"]


class HostSwitch(SimulationActor):
    """The actor that turns one host on or off: it executes one flop in the virtual power state of the switch."""

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
            if machine.runs_job(host) and machine.hosts[host].sleep_state(self._request.target) is not None:
                raise simulator.refusal("hosts.turn-busy", f"host {host} is turned off, and executes a job")
            machine.set_pstate(host, self._virtual, queue.now)
            queue.execute(self, usage_task(machine, host, Usage(0.0, 1.0)))
        elif self._step == 2:
            machine.end_switch(host, self._request.target, queue.now)
            queue.post(self, simulator.server.mailbox, HostSwitched(host, self._request))
