"""The reports of a simulation: one value for each row of Batsim's result files, and the observers that take them.

The simulator calls the methods of an `Observer` while it runs, in the order of Batsim's files. An observer must not
change the simulation. `Statistics` adds up the totals, in bounded memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, cast

import msgspec

from batprotocol.model import FinalJobState
from batprotocol.results.arithmetic import SHORTEST, JobTotals, Times, difference, times
from batprotocol.workloads.requests.usage import RERUN_WORKLOAD

__all__ = [
    "TAU",
    "EnergyPoints",
    "EnergyRow",
    "JobRow",
    "JobRows",
    "MachineStatesRow",
    "Observer",
    "Observers",
    "PStateRow",
    "Precise",
    "Statistics",
    "Totals",
    "bounded_slowdown",
    "per_processor_bounded_slowdown",
]


TAU: Final = 10.0
"""The minimum run time of a job for bounded slowdowns, by default, in seconds."""


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
            in seconds: Batsim computes with eleven bits more than a double has. It is seldom 0: a job of 10 s that
            starts at 0.1 s ends at the double 10.1, which is 3.6e-16 s less than 10 s later.
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
        return _counted(self.allocated_resources)


@lru_cache(maxsize=1024)  # each row is counted several times, and many jobs have the same hosts
def _counted(hosts: str) -> int:
    """The number of hosts in a text."""
    count = 0
    for part in hosts.split():
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
        self._of_jobs = [_job_method(each) for each in self._listening_to("job_ended")]
        self._of_states = [each.machine_states for each in self._listening_to("machine_states")]

    def _listening_to(self, method: str) -> Iterable[Observer]:
        """The observers that override this method. The others need not be called for each job."""
        nothing = getattr(Observer, method)
        return (each for each in self.observers if getattr(type(each), method) is not nothing)

    def job_ended(self, row: JobRow) -> None:
        found = row.times
        for tell, takes_times in self._of_jobs:
            if takes_times:
                tell(row, found)
            else:
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


class _Timed(Protocol):
    """An observer that takes the times of a job with its row."""

    def job_timed(self, row: JobRow, found: Times | None) -> None:
        """The same as `job_ended`, for a row whose times are known."""


def _job_method(observer: Observer) -> tuple[Callable[..., None], bool]:
    """The method that takes the rows of jobs, and whether it also takes their times, which are computed once for all.

    A class that overrides `job_ended` alone gets that called.
    """
    for kind in type(observer).__mro__:
        if "job_timed" in vars(kind):
            return cast("_Timed", observer).job_timed, True
        if "job_ended" in vars(kind):
            break
    return observer.job_ended, False


# Energy: Batsim adds joules with 64 bits instead of 53, and writes all digits


_DECIMALS = 6


class Precise(float):
    """A double and a remainder: it computes as the double, and is formatted with the digits of both.

    >>> number = Precise(59279596686.32415, 5e-6)
    >>> f"{number:f}", f"{float(number):f}", number == 59279596686.32415
    ('59279596686.324155', '59279596686.324150', True)
    """

    __slots__ = ("rest",)

    def __new__(cls, value: float, rest: float = 0.0) -> Precise:
        made = super().__new__(cls, value)
        made.rest = rest
        return made

    rest: float

    def __format__(self, specification: str) -> str:
        if specification != "f":
            return super().__format__(specification)
        digits = round((Fraction(float(self)) + Fraction(self.rest)) * 10**_DECIMALS)
        whole, behind = divmod(abs(digits), 10**_DECIMALS)
        return f"{'-' if digits < 0 else ''}{whole}.{behind:0{_DECIMALS}}"

    def __reduce__(self) -> Any:
        return Precise, (float(self), self.rest)


class JobRows(Observer):
    """Keeps the rows of all jobs in memory."""

    def __init__(self) -> None:
        self.rows: list[JobRow] = []

    def job_ended(self, row: JobRow) -> None:
        self.rows.append(row)


class EnergyPoints(Observer):
    """Keeps the energy of all hosts over time in memory: times, and the joules since time 0."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def energy_read(self, row: EnergyRow) -> None:
        self.points.append((row.time, float(row.energy)))


# Slowdowns


def bounded_slowdown(turnaround: float, runtime: float, tau: float = TAU) -> float:
    """`max(1, turnaround / max(runtime, tau))`, all in seconds.

    >>> bounded_slowdown(100.0, 1.0), bounded_slowdown(5.0, 1.0)
    (10.0, 1.0)
    """
    return max(1.0, turnaround / max(runtime, tau))


def per_processor_bounded_slowdown(turnaround: float, runtime: float, hosts: int, tau: float = TAU) -> float:
    """`max(1, turnaround / (hosts * max(runtime, tau)))`, in seconds."""
    return max(1.0, turnaround / (max(hosts, 1) * max(runtime, tau)))


# Totals


class Statistics(Observer):
    """The totals over the rows of jobs.

    Attributes:
        counts: the number of jobs in each `FinalJobState`.
        waiting, slowdown, bounded_slowdown, turnaround: total and maximum over the jobs that ran, in seconds (slowdowns
            have no unit).
        computing: hosts in use over time; a host with two jobs counts twice.
        queue: waiting jobs over time.
        runs_again: whether some job ran again, so that several rows are one job; they are added up as they are.
        totals: the totals of the machine at the end, or None.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(FinalJobState, 0)
        self._jobs = jobs = JobTotals(TAU)
        self.waiting = jobs.waiting
        self.slowdown = jobs.slowdown
        self.turnaround = jobs.turnaround
        self.bounded_slowdown = jobs.bounded_slowdown
        self.computing = jobs.computing
        self.queue = jobs.queue
        self.runs_again = False
        self.totals: Totals | None = None

    def job_ended(self, row: JobRow) -> None:
        self.job_timed(row, row.times)

    def job_timed(self, row: JobRow, found: Times | None) -> None:
        """The same for a row whose times are known: `row.times`."""
        if row.workload_name == RERUN_WORKLOAD:
            self.runs_again = True
        self.counts[row.final_state] += 1
        start, runtime = row.starting_time, row.shown_execution_time
        if start is not None and runtime is not None and found is not None:
            self._jobs.add(row.submission_time, start, runtime, found, row.host_count)

    def ended(self, totals: Totals) -> None:
        self.totals = totals

    @property
    def first_submission(self) -> float:
        """The earliest submission of a job that ran, in seconds, or infinite."""
        return self._jobs.first_submission

    @property
    def last_submission(self) -> float:
        """The latest submission of a job that ran, in seconds, or minus infinite."""
        return self._jobs.last_submission

    @property
    def last_finish(self) -> float:
        """The last end of a job, in seconds, or 0."""
        return self._jobs.finish[0]

    @property
    def work(self) -> float:
        """Host-seconds of all jobs."""
        return self._jobs.work

    @property
    def job_count(self) -> int:
        """The number of jobs that ended or were rejected."""
        return sum(self.counts.values())

    @property
    def finished_count(self) -> int:
        """The number of jobs that ran."""
        return self.job_count - self.counts[FinalJobState.REJECTED]

    @property
    def waiting_at_end(self) -> int:
        """The number of jobs that still waited when the last one was submitted."""
        return self._jobs.waiting_at_end()

    @property
    def makespan(self) -> float:
        """Seconds from time 0, or from the first submission if it is earlier, to the last end of a job."""
        return difference(self._jobs.finish, (min(0.0, self.first_submission), 0.0))[0]

    def schedule(self) -> dict[str, str | int | float]:
        """The keys and values of Batsim's schedule.json. Its means are over all jobs, including rejected jobs."""
        count, finished = self.job_count, self.finished_count
        success = self.counts[FinalJobState.COMPLETED_SUCCESSFULLY]
        totals = self.totals or Totals(nb_computing_machines=0)
        return {
            "batsim_version": "5.0.0-rc2",
            "consumed_joules": totals.consumed_joules,
            "makespan": self.makespan,
            "max_slowdown": self.slowdown.maximum,
            "max_turnaround_time": self.turnaround.maximum,
            "max_waiting_time": self.waiting.maximum,
            "mean_slowdown": self.slowdown.mean(count),
            "mean_turnaround_time": self.turnaround.mean(count),
            "mean_waiting_time": self.waiting.mean(count),
            "nb_computing_machines": totals.nb_computing_machines,
            "nb_grouped_switches": totals.nb_grouped_switches,
            "nb_jobs": count,
            "nb_jobs_finished": finished,
            "nb_jobs_killed": finished - success,
            "nb_jobs_rejected": count - finished,
            "nb_jobs_success": success,
            "nb_machine_switches": totals.nb_machine_switches,
            "success_rate": success / count if count else math.nan,
            "time_computing": totals.time_computing,
            "time_idle": totals.time_idle,
            "time_sleeping": totals.time_sleeping,
            "time_switching_off": totals.time_switching_off,
            "time_switching_on": totals.time_switching_on,
            "time_unavailable": 0.0,
        }
