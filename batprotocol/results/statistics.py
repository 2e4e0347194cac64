"""Totals of a simulation, computed while it runs, in bounded memory."""

from __future__ import annotations

import math
from heapq import heappop, heappush

from batprotocol.model import FinalJobState
from batprotocol.results.extended import Pair, difference, plus
from batprotocol.results.metrics import bounded_slowdown
from batprotocol.results.observing import JobRow, Observer, Totals
from batprotocol.results.series import StepSeries
from batprotocol.workloads.requests.usage import RERUN_WORKLOAD

__all__ = ["Statistics"]


class _Spread:
    """Sum and maximum of a number, with 64 bits."""

    __slots__ = ("_rest", "maximum", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self._rest = 0.0
        self.maximum = 0.0

    def add(self, value: Pair) -> None:
        self.total, self._rest = plus((self.total, self._rest), value)
        if value[0] > self.maximum:
            self.maximum = value[0]

    def mean(self, count: int) -> float:
        return self.total / count if count else math.nan  # Batsim divides the nearest double


class Statistics(Observer):
    """The totals over the rows of jobs.

    Attributes:
        counts: the number of jobs in each `FinalJobState`.
        waiting, slowdown, bounded_slowdown, turnaround: total and maximum over the jobs that ran, in seconds (slowdowns
            have no unit).
        first_submission: the earliest submission of a job that ran, in seconds, or infinite.
        last_submission: the latest submission of a job that ran, in seconds, or minus infinite.
        last_finish: the last end of a job, in seconds, or 0.
        work: host-seconds of all jobs.
        computing: hosts in use over time; a host with two jobs counts twice.
        queue: waiting jobs over time.
        runs_again: whether some job ran again, so that several rows are one job; they are added up as they are.
        totals: the totals of the machine at the end, or None.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(FinalJobState, 0)
        self.waiting = _Spread()
        self.slowdown = _Spread()
        self.turnaround = _Spread()
        self.bounded_slowdown = _Spread()
        self.first_submission = math.inf
        self.last_submission = -math.inf
        self.work = 0.0
        self._waiting: list[tuple[float, float]] = []  # by their starts, jobs that may still wait at the end
        self.last_finish = 0.0
        self._finish = (0.0, 0.0)
        self.computing = StepSeries()
        self.queue = StepSeries()
        self.runs_again = False
        self.totals: Totals | None = None

    def job_ended(self, row: JobRow) -> None:
        if row.workload_name == RERUN_WORKLOAD:
            self.runs_again = True
        self.counts[row.final_state] += 1
        submission, start = row.submission_time, row.starting_time
        runtime, times = row.shown_execution_time, row.times
        if start is None or runtime is None or times is None:
            return
        finish, waiting, turnaround, slowdown = times
        self.waiting.add(waiting)
        self.turnaround.add(turnaround)
        self.slowdown.add(slowdown)
        self.bounded_slowdown.add((bounded_slowdown(turnaround[0], runtime), 0.0))
        if submission < self.first_submission:
            self.first_submission = submission
        if submission > self.last_submission:
            self.last_submission = submission
        if finish > self._finish:
            self._finish = finish
            self.last_finish = finish[0]
        self.work += row.host_count * runtime
        heappush(self._waiting, (start, submission))
        while self._waiting and self._waiting[0][0] <= self.last_submission:
            heappop(self._waiting)
        self.queue.add(submission, start, 1)
        self.computing.add(start, finish[0], row.host_count)

    def ended(self, totals: Totals) -> None:
        self.totals = totals

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
        return sum(submission < self.last_submission for _, submission in self._waiting)

    @property
    def makespan(self) -> float:
        """Seconds from time 0, or from the first submission if it is earlier, to the last end of a job."""
        return difference(self._finish, (min(0.0, self.first_submission), 0.0))[0]

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
