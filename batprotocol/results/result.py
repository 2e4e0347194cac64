"""`Result`: the results of a simulation that has ended.

Modules that compute metrics are imported when somebody asks for metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from batprotocol.model import FinalJobState
from batprotocol.results.observers import TAU, JobRow, Statistics, Totals
from batprotocol.results.text import (
    duration,
    facts_of_failures,
    facts_of_power,
    facts_of_resources,
    facts_of_times,
    percent,
    ratio,
    unsteady_sentence,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from batprotocol.results.catalogue import OwnMetric
    from batprotocol.results.electricity import Electricity
    from batprotocol.results.metrics import Metrics
    from batprotocol.results.text import Summary
    from batprotocol.results.times import SharedUse, TimedHostEvent
    from batprotocol.workloads.events import ExternalEventList
    from batprotocol.workloads.host_events import Window
    from batprotocol.workloads.requests import Allocated, AttemptReport
    from batprotocol.workloads.workload import Workload

__all__ = ["Result"]

_WORDS = (
    (FinalJobState.COMPLETED_SUCCESSFULLY, "succeeded"),
    (FinalJobState.COMPLETED_FAILED, "failed"),
    (FinalJobState.COMPLETED_WALLTIME_REACHED, "reached their walltime"),
    (FinalJobState.COMPLETED_KILLED, "killed"),
    (FinalJobState.REJECTED, "rejected"),
)


class Result:
    """The results of a simulation. `print(result)` prints a few lines, and `result.summary()` has charts, too.

    Means are over the jobs that ran; `schedule()` has Batsim's own means, which count rejected jobs as 0.

    Args:
        statistics: the totals over all jobs.
        hosts: the number of computation hosts of the platform.
        energy: whether energy was measured.
        rows: the rows of the jobs, or the prefix of the result files with these rows.
        points: the energy over time, if the rows are given; otherwise it is in the result files.
        events: the external events of the simulation, of which those of hosts matter.
        was_stopped: whether the decision component stopped it before all jobs had ended.
        cores: the number of cores of all computation hosts, for metrics of core hours; None if it is unknown.
    """

    def __init__(
        self,
        statistics: Statistics,
        *,
        hosts: int,
        energy: bool = False,
        rows: Iterable[JobRow] | str = (),
        points: Iterable[tuple[float, float]] = (),
        events: Iterable[ExternalEventList] = (),
        was_stopped: bool = False,
        cores: int | None = None,
    ) -> None:
        self._statistics = statistics
        self._rows = rows
        self._points = points
        self._events = tuple(events)
        self._known: tuple[Sequence[Allocated], SharedUse | None] | None = None
        self.attempts: Sequence[AttemptReport] = ()
        """The attempts of jobs as the scheduler reports them: set it to `Policy.attempts` before you ask for metrics.

        Without it, attempts are joined by the names of jobs, see `measured`."""
        self.allocations: Sequence[Allocated] = ()
        """The amounts that jobs took of shared hosts: set it to `Policy.allocated` before you ask for utilisation.

        Without it, a host that several jobs share is in use as a whole."""
        self.windows: Sequence[Window] = ()
        """The reservations of the site: set it to `Policy.windows` before you ask for metrics.

        Without it, hosts that a site has closed count as available."""
        self._electricity: Electricity | None = None
        self.typical_watts = ""
        """The typical watts of hosts that declare none, as `parse_watts` reads them; "" if all declare their watts."""
        self.cores = cores
        """The number of cores of all computation hosts; None if it is unknown."""
        self.host_count = hosts
        """The number of computation hosts of the platform."""
        self.measured_energy = energy
        """Whether energy was measured."""
        self.was_stopped = was_stopped
        """Whether the decision component stopped it (ForceSimulationStopEvent) before all jobs had ended."""

    @property
    def electricity(self) -> Electricity:
        """The carbon intensity and the price of the energy, and the cap: set it before you ask for metrics."""
        if self._electricity is None:
            from batprotocol.results.electricity import Electricity

            self._electricity = Electricity()
        return self._electricity

    @electricity.setter
    def electricity(self, electricity: Electricity) -> None:
        self._electricity = electricity

    @property
    def jobs(self) -> Iterator[JobRow]:
        """The rows of jobs.csv, in their order. If they were written to files, they are read from these files."""
        if not isinstance(self._rows, str):
            return iter(self._rows)
        from batprotocol.results.files import read_jobs

        return read_jobs(f"{self._rows}jobs.csv")

    @property
    def energy_over_time(self) -> list[tuple[float, float]] | None:
        """The times of readings, in seconds, and the joules of all hosts since time 0; None if it was not measured.

        If they were written to files, they are read from these files.
        """
        if not self.measured_energy:
            return None
        if not isinstance(self._rows, str):
            return list(self._points)
        from batprotocol.results.files import read_energy

        return read_energy(f"{self._rows}consumed_energy.csv")

    @property
    def host_events(self) -> list[TimedHostEvent]:
        """The events of hosts, with their times: failures, repairs, windows, and the reservations of a site."""
        if not self._events and not self.windows:
            return []
        from batprotocol.results.times import host_events_of

        return [*((0.0, window) for window in self.windows), *host_events_of(self._events)]

    @property
    def totals(self) -> Totals | None:
        """The totals of the whole machine, or None if the simulation never ended."""
        return self._statistics.totals

    @property
    def is_complete(self) -> bool:
        """Whether the simulation reached its end. Otherwise there was a deadlock, or it was stopped before."""
        return self.totals is not None and self.totals.complete and not self.was_stopped

    @property
    def counts(self) -> dict[FinalJobState, int]:
        """The number of jobs in each final state."""
        return dict(self._statistics.counts)

    @property
    def nb_jobs(self) -> int:
        """The number of jobs that ended or were rejected."""
        return self._statistics.job_count

    @property
    def nb_jobs_finished(self) -> int:
        """The number of jobs that ran."""
        return self._statistics.finished_count

    @property
    def makespan(self) -> float:
        """Seconds from time 0, or from the first submission if it is earlier, to the last end of a job."""
        return self._statistics.makespan

    @property
    def mean_waiting_time(self) -> float:
        """Seconds from submission to start, the mean over the jobs that ran; NaN if none did."""
        return self._statistics.waiting.mean(self.nb_jobs_finished)

    @property
    def max_waiting_time(self) -> float:
        """The longest waiting time, in seconds."""
        return self._statistics.waiting.maximum

    @property
    def mean_turnaround_time(self) -> float:
        """Seconds from submission to end, the mean over the jobs that ran; NaN if none did."""
        return self._statistics.turnaround.mean(self.nb_jobs_finished)

    @property
    def max_turnaround_time(self) -> float:
        """The longest turnaround time, in seconds."""
        return self._statistics.turnaround.maximum

    @property
    def mean_slowdown(self) -> float:
        """Turnaround time / execution time, the mean over the jobs that ran; NaN if none did."""
        return self._statistics.slowdown.mean(self.nb_jobs_finished)

    @property
    def max_slowdown(self) -> float:
        """The largest slowdown."""
        return self._statistics.slowdown.maximum

    @property
    def mean_bounded_slowdown(self) -> float:
        """`max(1, turnaround / max(execution time, 10 s))`, the mean over the jobs that ran; NaN if none did."""
        return self._statistics.bounded_slowdown.mean(self.nb_jobs_finished)

    @property
    def max_bounded_slowdown(self) -> float:
        """The largest bounded slowdown."""
        return self._statistics.bounded_slowdown.maximum

    def metrics(
        self,
        *,
        tau: float = TAU,
        users: Mapping[str, object] | None = None,
        wide: int | None = None,
        long: float | None = None,
        warm_up: float = 0.0,
        cool_down: float = 0.0,
        own: Iterable[OwnMetric | Callable[..., Any] | str] = (),
    ) -> Metrics:
        """The metrics of the field, of all jobs that ran. It iterates over `jobs` once.

        Args:
            tau: the bound of bounded slowdowns, in seconds.
            users: the user of each job, by its full name, for fairness, such as `workload.users()`.
            wide: with `long`: also measure classes of wide jobs, on more hosts than this, and of narrow jobs.
            long: with `wide`: also measure classes of long jobs, which ran for more seconds than this, and of short
                jobs.
            warm_up: the share of the time of submissions that is left out at its beginning, in [0, 1), see `measured`.
            cool_down: the share that is left out at its end.
            own: your own metrics, also as functions, or by their names: `FILE.py:NAME`.

        Raises:
            InputError: an argument is out of its range, a trace of the electricity is too short, or one of your own
                metrics cannot be measured.
        """
        from batprotocol.results.metrics import measured

        return measured(
            self.jobs,
            self.host_count,
            tau=tau,
            users=users,
            consumed_joules=self.consumed_joules,
            energy=self.energy_over_time,
            wide=wide,
            long=long,
            warm_up=warm_up,
            cool_down=cool_down,
            attempts=self.attempts,
            events=self.host_events,
            electricity=self.electricity,
            cores=self.cores,
            allocations=self.allocations,
            own=own,
        )

    def grouped(
        self,
        by: str,
        workloads: Workload | Iterable[Workload],
        allocations: Iterable[Allocated] = (),
        *,
        tau: float = TAU,
        warm_up: float = 0.0,
        cool_down: float = 0.0,
        own: Iterable[OwnMetric | Callable[..., Any] | str] = (),
    ) -> dict[str, Metrics]:
        """The metrics of each group of jobs, by the names of the groups; `-` has the jobs without a group.

        Args:
            by: `partition`, `qos`, `account`, `size`, `user` or `workflow`, see `GROUPINGS`.
            workloads: the workloads that were simulated, in the same order.
            allocations: the amounts that jobs took of their hosts, such as `Policy.allocated`: partitions are then
                those in which jobs ran, and jobs that ran again after a preemption are in the groups of the first run.
            tau: the bound of bounded slowdowns, in seconds.
            warm_up: see `metrics`.
            cool_down: see `metrics`.
            own: your own metrics.

        Raises:
            InputError: an argument is out of its range, a trace of the electricity is too short, or one of your own
                metrics cannot be measured.

        >>> from batprotocol.model import DelayProfile
        >>> from batprotocol.policies import named
        >>> from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
        >>> nap = DelayProfile(60.0)
        >>> jobs = [StaticJob(f"{n}", 0.0, 1, nap, extra_data='{"qos": "low"}') for n in range(3)]
        >>> workload = Workload([*jobs, StaticJob("other", 0.0, 1, nap)])
        >>> result = simulate(described_platform("n[0-1]"), workload, named("fcfs")())
        >>> {name: round(found.waiting.mean) for name, found in result.grouped("qos", workload).items()}
        {'low': 20, '-': 60}
        """
        from batprotocol.results.groups import grouped, job_groups
        from batprotocol.workloads.workload import Workload

        given = [workloads] if isinstance(workloads, Workload) else list(workloads)
        allocations = list(allocations)
        groups = job_groups(given, allocations)
        return grouped(
            self.jobs,
            self.host_count,
            by,
            groups,
            tau=tau,
            users=groups["user"] or None,
            warm_up=warm_up,
            cool_down=cool_down,
            attempts=self.attempts,
            electricity=self.electricity,
            cores=self.cores,
            allocations=allocations or self.allocations,
            own=own,
        )

    @property
    def utilisation(self) -> float:
        """Host-seconds of all jobs / (hosts x the time from the first submission to the last end); 0 if nothing ran.

        Where jobs share hosts, it is by cores, or by hosts with jobs, as `Metrics.utilisation`.
        """
        if not self.nb_jobs_finished:
            return 0.0
        capacity = self.host_count * (self._statistics.last_finish - self._statistics.first_submission)
        shared = self._shared
        return (self._statistics.work if shared is None else shared.area) / capacity if capacity > 0 else 0.0

    @property
    def offered_load(self) -> float | None:
        """Host-seconds of all jobs / (hosts x the time from the first to the last submission); None if that is 0.

        A job that shares hosts has the share of their cores that it takes; if that is not known, all of its hosts.
        """
        span = self._statistics.last_submission - self._statistics.first_submission
        shared = self._shared
        work = self._statistics.work if shared is None else shared.work
        return work / (self.host_count * span) if span > 0 and self.host_count else None

    @property
    def waiting_at_end(self) -> int:
        """The number of jobs that still waited when the last one was submitted."""
        return self._statistics.waiting_at_end

    @property
    def consumed_joules(self) -> float | None:
        """The energy of all hosts from the first submission to the last end of a job; None if it was not measured.

        Batsim reports a negative number if no job ran. That is None, too.
        """
        joules = self.totals.consumed_joules if self.totals is not None and self.measured_energy else -1.0
        return joules if joules >= 0 else None

    def utilisation_over_time(self, parts: int) -> list[float]:
        """The utilisation in each of `parts` equal parts of the time up to the last end of a job."""
        shared = self._shared
        computing = self._statistics.computing if shared is None else shared.series
        means = computing.means(self._statistics.last_finish, parts)
        return [mean / self.host_count if self.host_count else 0.0 for mean in means]

    def queue_over_time(self, parts: int) -> list[float]:
        """The mean number of waiting jobs in each of `parts` equal parts of the time up to the last end of a job."""
        return self._statistics.queue.means(self._statistics.last_finish, parts)

    def schedule(self) -> dict[str, str | int | float]:
        """The keys and values of Batsim's schedule.json."""
        return self._statistics.schedule()

    def to_pandas(self) -> pandas.DataFrame:
        """The jobs as a `pandas.DataFrame`, with the columns of jobs.csv.

        Raises:
            PackageMissing: `pandas` is missing.
        """
        from batprotocol.results.files import JOB_KINDS, job_columns, pandas_frame

        return pandas_frame(job_columns(self.jobs), JOB_KINDS)

    def to_polars(self) -> polars.DataFrame:
        """The jobs as a `polars.DataFrame`, with the columns of jobs.csv.

        Raises:
            PackageMissing: `polars` is missing.
        """
        from batprotocol.results.files import JOB_KINDS, job_columns, polars_frame

        return polars_frame(job_columns(self.jobs), JOB_KINDS)

    def to_arrow(self) -> pyarrow.Table:
        """The jobs as a `pyarrow.Table`, with the columns of jobs.csv.

        Raises:
            PackageMissing: `pyarrow` is missing.
        """
        from batprotocol.results.files import JOB_KINDS, arrow_table, job_columns

        return arrow_table(job_columns(self.jobs), JOB_KINDS)

    def facts(self, window: Metrics | None = None) -> list[tuple[str, str]]:
        """The most important numbers, as names and texts.

        Args:
            window: the metrics without a warm-up and a cool-down, which replace those of the whole run; None: the whole
                run.
        """
        whole = self.metrics() if self._was_interrupted else None
        counts = self.counts
        if whole is not None:
            counts[FinalJobState.REJECTED] = whole.nb_rejected
        jobs = ", ".join(f"{counts[state]:,} {word}" for state, word in _WORDS if counts[state])
        found = [("jobs", f"{self.nb_jobs:,}" + (f" ({jobs})" if jobs else ""))]
        if whole is not None and self._statistics.runs_again:
            found = [("jobs", f"{whole.nb_jobs + whole.nb_rejected:,} in {self.nb_jobs_finished:,} attempts ({jobs})")]
        if self.nb_jobs_finished:
            found.append(("makespan", duration(self.makespan)))
            found += self._of_all(whole) if window is None else self._of_window(window)
        shown = whole if window is None else window
        failures = None if shown is None else shown.failures
        if failures is not None:
            found += facts_of_failures(failures)
        if self.measured_energy:
            measured = self.metrics() if shown is None else shown
            power = facts_of_power(measured)
            if measured.power is not None and measured.power.seconds_above_cap:  # a cap that was not kept comes first
                found = [*(each for each in power if each[0] == "cap"), *found]
                power = [each for each in power if each[0] != "cap"]
            found += power
            found += [("watts", f"typical ones: {self.typical_watts}")] if self.typical_watts else []
        if not self.is_complete:
            stopped = "the decision component stopped the simulation before all jobs had ended"
            found.append(("end", stopped if self.was_stopped else "the simulation did not reach its end"))
        load, waiting, ran = self.offered_load or 0.0, self.waiting_at_end, self.nb_jobs_finished
        if whole is not None and whole.nb_jobs:
            load, ran = whole.offered_load, whole.nb_jobs
            waiting = round(whole.waiting_at_end * ran)
        if self._shared is not None and self._shared.usage.counted == "shared hosts":
            load = 0.0  # it can be above 1 although nothing waits
        unsteady = unsteady_sentence(load, waiting, ran)
        if unsteady:
            found.append(("note", unsteady))
        if self._shared is not None:
            from batprotocol.results.times import COUNTED

            found.append(("note", COUNTED[self._shared.usage.counted]))
        return found

    @property
    def _shared(self) -> SharedUse | None:
        """The use of the machine, if jobs shared hosts; None if each had its hosts for itself."""
        if self._known is None or self._known[0] is not self.allocations:
            is_shared = self.totals is None or self.totals.shares_hosts
            self._known = self.allocations, self._shared_use() if is_shared else None
        return self._known[1]

    def _shared_use(self) -> SharedUse | None:
        from batprotocol.results.times import SharedUse

        return SharedUse.of(self.jobs, self.allocations)

    @property
    def _was_interrupted(self) -> bool:
        """Whether jobs ran again, or hosts were away."""
        return self._statistics.runs_again or bool(self.attempts) or bool(self.host_events)

    def _of_all(self, whole: Metrics | None) -> list[tuple[str, str]]:
        """The numbers of all jobs that ran."""
        times = [
            ("waiting time", duration, self.mean_waiting_time, self.max_waiting_time),
            ("slowdown", ratio, self.mean_slowdown, self.max_slowdown),
            ("bounded slowdown", ratio, self.mean_bounded_slowdown, self.max_bounded_slowdown),
            ("turnaround time", duration, self.mean_turnaround_time, self.max_turnaround_time),
        ]
        found = [(name, f"{write(mean)} mean, {write(most)} at most") for name, write, mean, most in times]
        if whole is not None and self._statistics.runs_again:
            found = facts_of_times(whole)
        found.append(("utilisation", f"{self.utilisation:.1%} of {self.host_count:,} hosts"))
        span = self._statistics.last_finish - self._statistics.first_submission
        if self.allocations:
            from batprotocol.results.times import use_of_resources

            found += facts_of_resources(use_of_resources(lambda: self.jobs, self.allocations, span))
        load = self.offered_load if whole is None else whole.offered_load
        if load is not None and load == load:  # it is not NaN
            found.append(("offered load", percent(load)))
        return found

    def _of_window(self, window: Metrics) -> list[tuple[str, str]]:
        """The numbers of the jobs that were submitted in the measured time, and of the machine in that time."""
        found = [("measured", f"{window.nb_jobs:,} jobs that were submitted in {duration(window.measured_time)}")]
        found += facts_of_times(window)
        found.append(("utilisation", f"{window.utilisation:.1%} of {self.host_count:,} hosts"))
        found += facts_of_resources({"memory": window.memory_utilisation, "gpu": window.gpu_utilisation})
        if window.offered_load == window.offered_load:  # it is not NaN
            found.append(("offered load", percent(window.offered_load)))
        return found

    def summary(self, window: Metrics | None = None) -> Summary:
        """The output for a terminal: the numbers, and utilisation and queue over time, for `rich.print`.

        Args:
            window: see `facts`.
        """
        from batprotocol.results.text import Summary  # it imports rich, which is slow

        end = self.makespan if self.nb_jobs_finished else None
        return Summary(self.facts(window), end, self.utilisation_over_time, self.queue_over_time)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.facts())

    def _repr_html_(self) -> str:
        left = 'style="text-align: left"'
        rows = (
            f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(value)}</td></tr>" for name, value in self.facts()
        )
        return f"<table><tbody>{''.join(rows)}</tbody></table>"

    def __repr__(self) -> str:
        return f"<Result of {self.nb_jobs} jobs, makespan {self.makespan:g} s>"
