"""How a simulation is put together: its state, and the actors that are there from the beginning."""

from __future__ import annotations

from batprotocol.simulator.batsim.actors.calls import PeriodicActor
from batprotocol.simulator.batsim.actors.submitters import Submitter
from batprotocol.simulator.batsim.server.server import Server
from batprotocol.simulator.batsim.state.setup import Setup
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.machine.machine import Machine
from batprotocol.simulator.queue.base import Queue
from batprotocol.simulator.queue.exact import ExactQueue
from batprotocol.simulator.queue.fast import FastQueue
from batprotocol.simulator.results import Observer

__all__ = ["assemble"]


def assemble(setup: Setup, *, energy: bool, exact: bool, observer: Observer | None) -> Simulation:
    """A simulation that is about to begin."""
    machine = Machine(setup.platform, energy, setup.quirks)
    queue: Queue = ExactQueue(machine) if exact else FastQueue(machine)
    server, periodic = Server(), PeriodicActor()
    simulation = Simulation(setup, queue, observer, server, periodic)
    profiles = simulation.profiles
    for workload in setup.workloads:
        profiles.known.update(workload.profiles)
        if setup.quirks:
            profiles.unusable.update(workload.profiles.keys() - workload.referenced_profiles)
        queue.start(Submitter(workload, are_jobs=True))
    for event_list in setup.event_lists:
        queue.start(Submitter(event_list.events, are_jobs=False))
    queue.start(server)
    simulation.reports.pstates(range(len(machine.hosts)), None)
    return simulation
