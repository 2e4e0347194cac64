"""The reports of a simulation: one value for each row of Batsim's result files, and the observers that take them.

The simulator calls the methods of an `Observer` while it runs, in the order of Batsim's files. An observer must not
change the simulation. Rows must not know of files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from batprotocol.model import FinalJobState
from batprotocol.results.extended import SHORTEST, Times, times

__all__ = ["EnergyRow", "JobRow", "MachineStatesRow", "Observer", "Observers", "PStateRow", "Totals"]


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job that has ended or was rejected: a row of jobs.csv.

    Args:
        job_id: its name inside the workload.
        workload_name: its workload.
        profile: the full name of its profile.
        submission_time: its submission time, in seconds.
        requested_number_of_resources: the number of hosts that it requested.
        requested_time: its walltime in seconds, or None.
        final_state: its final state.
        starting_time: the time when its execution began, in seconds; None if it was rejected.
        execution_time: its run time, in seconds; None if it was rejected. In files and in the properties below, 0
            counts as 1e-5, as in Batsim.
        allocated_resources: its hosts (`0-3 8`); "" if it was rejected.
        consumed_energy: the energy that its hosts consumed while it ran, in joules; -1 where energy is not measured;
            None if it was rejected.
        execution_time_rest: the difference between the time from its start to its end and the double `execution_time`,
            in seconds: Batsim computes with eleven bits more than a double has.
    """

    job_id: str
    workload_name: str
    profile: str
    submission_time: float
    requested_number_of_resources: int
    requested_time: float | None
    final_state: FinalJobState
    starting_time: float | None = None
    execution_time: float | None = None
    allocated_resources: str = ""
    consumed_energy: float | None = None
    execution_time_rest: float = 0.0

    @property
    def success(self) -> bool:
        """Whether it was executed, within its walltime, and returned 0."""
        return self.final_state is FinalJobState.COMPLETED_SUCCESSFULLY

    @property
    def shown_execution_time(self) -> float | None:
        """Its execution time, 1e-5 instead of 0."""
        return SHORTEST if self.execution_time == 0 else self.execution_time

    @property
    def times(self) -> Times | None:
        """Its end, waiting time, turnaround time and stretch: each as a double and its remainder to 64 bits."""
        start, runtime = self.starting_time, self.execution_time
        if start is None or runtime is None:
            return None
        return times(self.submission_time, start, runtime, self.execution_time_rest)

    @property
    def finish_time(self) -> float | None:
        """The time when its execution ended, in seconds."""
        found = self.times
        return None if found is None else found[0][0]

    @property
    def waiting_time(self) -> float | None:
        """Seconds from its submission to its start."""
        found = self.times
        return None if found is None else found[1][0]

    @property
    def turnaround_time(self) -> float | None:
        """Seconds from its submission to its end."""
        found = self.times
        return None if found is None else found[2][0]

    @property
    def stretch(self) -> float | None:
        """Its turnaround time / its execution time: its slowdown."""
        found = self.times
        return None if found is None else found[3][0]

    @property
    def host_count(self) -> int:
        """The number of its hosts; 0 if it was rejected."""
        count = 0
        for part in self.allocated_resources.split():
            first, _, last = part.partition("-")
            count += int(last) - int(first) + 1 if last else 1
        return count


class MachineStatesRow(NamedTuple):
    """The number of hosts in each state, at each start and end of a job, and each request and end of a switch."""

    time: float
    nb_sleeping: int
    nb_switching_on: int
    nb_switching_off: int
    nb_idle: int
    nb_computing: int


class PStateRow(NamedTuple):
    """A change of power state. `new_pstate` is -1 while hosts switch on and -2 while they switch off."""

    time: float
    machine_id: str
    new_pstate: int


class EnergyRow(NamedTuple):
    """A reading of the energy that all hosts consumed.

    Args:
        time: the time, in seconds.
        energy: the energy of all hosts since the first reading, in joules.
        event_type: `s` at the start of a job, `e` at its end, `p` at a change of power state or a switch.
        wattmin: the sum of all hosts' epsilon watts in their current power states.
        epower: mean watts since the row before, or None where no time has passed.
    """

    time: float
    energy: float
    event_type: str
    wattmin: float
    epower: float | None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of the machine in Batsim's schedule.json.

    Args:
        consumed_joules: the joules from the first submission to the last end of a job; 0 where energy is not measured.
        nb_computing_machines: the number of hosts, including storages.
        nb_machine_switches: the number of hosts in all requests to switch on or off.
        nb_grouped_switches: the number of requests to switch.
        time_sleeping: host-seconds asleep, and similarly for the other states.
        simulation_time: the last time of the simulation, in seconds.
        shares_hosts: whether a host had several jobs at the same time, or at one moment.
        complete: whether the simulation reached its end. Otherwise (deadlock, error) there is no schedule.json.
    """

    consumed_joules: float = 0.0
    nb_computing_machines: int
    nb_machine_switches: int = 0
    nb_grouped_switches: int = 0
    time_sleeping: float = 0.0
    time_switching_on: float = 0.0
    time_switching_off: float = 0.0
    time_idle: float = 0.0
    time_computing: float = 0.0
    simulation_time: float = 0.0
    shares_hosts: bool = False
    complete: bool = True


class Observer:
    """The base class of observers of a simulation. Each method does nothing by default."""

    def job_ended(self, row: JobRow) -> None:
        """A completion, rejection or kill was handled."""

    def machine_states(self, row: MachineStatesRow) -> None:
        """Hosts may have changed their states."""

    def pstates_changed(self, row: PStateRow) -> None:
        """Power states at the start, a change of them, or a switch."""

    def energy_read(self, row: EnergyRow) -> None:
        """The energy of all hosts was read."""

    def ended(self, totals: Totals) -> None:
        """The simulation is over; nothing follows."""


class Observers(Observer):
    """Several observers as one. It calls each observer that overrides a method, in their order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self.observers = tuple(observers)
        self._of_jobs = [each.job_ended for each in self._listening_to("job_ended")]
        self._of_states = [each.machine_states for each in self._listening_to("machine_states")]

    def _listening_to(self, method: str) -> Iterable[Observer]:
        """The observers that override this method. The others need not be called for each job."""
        nothing = getattr(Observer, method)
        return (each for each in self.observers if getattr(type(each), method) is not nothing)

    def job_ended(self, row: JobRow) -> None:
        for tell in self._of_jobs:
            tell(row)

    def machine_states(self, row: MachineStatesRow) -> None:
        for tell in self._of_states:
            tell(row)

    def pstates_changed(self, row: PStateRow) -> None:
        for observer in self.observers:
            observer.pstates_changed(row)

    def energy_read(self, row: EnergyRow) -> None:
        for observer in self.observers:
            observer.energy_read(row)

    def ended(self, totals: Totals) -> None:
        for observer in self.observers:
            observer.ended(totals)
