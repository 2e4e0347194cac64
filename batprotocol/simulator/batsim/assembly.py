"""The creation of a simulation: its state, and its first actors."""

from __future__ import annotations

from batprotocol.results import Observer
from batprotocol.simulator.batsim.actors.submitters import Submitter
from batprotocol.simulator.batsim.server.server import BatsimServer
from batprotocol.simulator.batsim.state.setup import Setup
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.queue.exact import EventQueue

__all__ = ["assemble"]


def assemble(setup: Setup, *, energy: bool, observer: Observer | None) -> Simulation:
    """Create a simulation that is ready to begin."""
    machine = SimulatedMachine(setup.platform, energy, setup.corrected)
    queue = EventQueue(machine)
    simulation = Simulation(setup, queue, observer)
    profiles = simulation.profiles
    for workload in setup.workloads:
        profiles.known.update(workload.profiles)
        if not setup.corrected:
            profiles.unusable.update(workload.profiles.keys() - workload.referenced_profiles)
        queue.start(Submitter(workload, are_jobs=True))
    for event_list in setup.event_lists:
        queue.start(Submitter(event_list.events, are_jobs=False))
    queue.start(BatsimServer())
    simulation.reports.pstates(range(len(machine.hosts)), None)
    return simulation
