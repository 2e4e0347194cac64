"""The metrics of a run whose hosts failed, or whose jobs ran several times: lost work, availability, and others.

This module must not know how schedulers react to failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from batprotocol.results.away import TimedHostEvent, host_downtime
from batprotocol.results.times import JobTimes, RunRows, WholeJob, overlap, whole_jobs
from batprotocol.workloads.requests import Attempt

__all__ = ["FailureMetrics", "JoinedRun", "joined_run"]


_OWN_ENDS: Final = ("completed", "walltime")
"""The ends of attempts that were not interrupted."""


class FailureMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of failures and interruptions. All but the last two are about the machine in the measured time.

    Jobs are interrupted by a host that fails, by a window, or because they give way to another job. The host-seconds of
    all jobs are useful work, lost work, and checkpoints.

    Args:
        goodput: host-seconds of useful work / host-seconds of the hosts that were neither down nor in a closed window.
            All hosts count where the events of hosts are not known.
        lost_work: host-seconds of work that interruptions destroyed.
        repeated_work: host-seconds of lost work that jobs did again.
        checkpoint_overhead: host-seconds of checkpoints and restarts / host-seconds of all jobs.
        availability: host-seconds of the hosts that were not away / (hosts * measured time). Hosts that are down,
            drained, or in a closed window are away. None where the events of hosts are not known.
        full_availability: the share of the measured time in which no host was away; None as above.
        nb_interruptions: the number of interruptions of jobs.
        mean_time_to_interrupt: seconds that jobs ran / interruptions; NaN without interruptions.
        nb_given_up: the number of jobs that were interrupted, and did not run again.
    """

    goodput: float
    lost_work: float
    repeated_work: float
    checkpoint_overhead: float
    availability: float | None = None
    full_availability: float | None = None
    nb_interruptions: int
    mean_time_to_interrupt: float
    nb_given_up: int


class _AttemptEnd(NamedTuple):
    """The end of an attempt: whether it was interrupted, and its seconds of lost work and of checkpoints."""

    interrupted: bool = False
    lost: float = 0.0
    checkpoints: float = 0.0
    runs_again: bool = False


class JoinedRun(NamedTuple):
    """The jobs of a run, with all their attempts.

    Attributes:
        whole: the jobs.
        jobs: the data of those that ran.
        rejected: the submission times of those that did not.
        attempt_ends: the ends of the attempts, by their names; the others were not interrupted.
        events: the events of hosts.
    """

    whole: Sequence[WholeJob]
    jobs: list[JobTimes]
    rejected: list[float]
    attempt_ends: Mapping[str, _AttemptEnd]
    events: Sequence[TimedHostEvent]

    def attempts_of(self, jobs: Iterable[JobTimes]) -> list[JobTimes]:
        """The times that these jobs ran."""
        names = {job.name for job in jobs}
        return [attempt for job in self.whole if job.name in names for attempt in job.attempts]

    def metrics(
        self, running: Sequence[JobTimes], counted: Iterable[JobTimes], begin: float, end: float, hosts: int
    ) -> FailureMetrics:
        """The metrics of failures.

        Args:
            running: all times that jobs ran.
            counted: the jobs that count.
            begin: the beginning of the measured time, in seconds.
            end: its end.
            hosts: the number of hosts.
        """
        capacity = hosts * (end - begin)
        ran, lost, repeated, checkpoints, seconds = self._sums(running, begin, end)
        interrupted = sum(
            begin < job.finish <= end and self.attempt_ends.get(job.name, _AttemptEnd()).interrupted for job in running
        )
        known = [availability(self.events, hosts, begin, end)] if self.events and capacity > 0 else []
        possible = capacity - (known[0][2] if known else 0.0)
        names = {job.name for job in counted}
        return FailureMetrics(
            goodput=(ran - lost - checkpoints) / possible if possible > 0 else 0.0,
            lost_work=lost,
            repeated_work=repeated,
            checkpoint_overhead=checkpoints / ran if ran > 0 else 0.0,
            availability=known[0][0] if known else None,
            full_availability=known[0][1] if known else None,
            nb_interruptions=interrupted,
            mean_time_to_interrupt=seconds / interrupted if interrupted else math.nan,
            nb_given_up=sum(
                self.attempt_ends.get(job.attempts[-1].name, _AttemptEnd()).interrupted
                for job in self.whole
                if job.attempts and job.name in names
            ),
        )

    def useful_share(self, running: Iterable[JobTimes], begin: float, end: float) -> float:
        """The share of the host-seconds of jobs in a time that were useful work: neither lost, nor for checkpoints.

        Args:
            running: all times that these jobs ran.
            begin: the beginning of the time, in seconds.
            end: its end.
        """
        ran, lost, _, checkpoints, _ = self._sums(running, begin, end)
        return 1 - lost / ran - checkpoints / ran if ran > 0 else 1.0

    def _sums(self, running: Iterable[JobTimes], begin: float, end: float) -> Iterator[float]:
        """The sums of `_shares`."""
        return (math.fsum(values) for values in zip(*self._shares(running, begin, end), strict=True))

    def _shares(self, running: Iterable[JobTimes], begin: float, end: float) -> Iterator[tuple[float, ...]]:
        """Of each attempt in this time: host-seconds, those lost, repeated and for checkpoints, and its seconds."""
        yield 0.0, 0.0, 0.0, 0.0, 0.0
        for job in running:
            ended = self.attempt_ends.get(job.name, _AttemptEnd())
            time = job.finish - job.start
            inside = overlap(job.start, job.finish, begin, end)
            lost = overlap(job.finish - ended.lost, job.finish, begin, end) * job.hosts
            part = inside / time if time > 0 else 0.0
            checkpoints = ended.checkpoints * part * job.hosts
            yield inside * job.hosts, lost, lost if ended.runs_again else 0.0, checkpoints, inside


def availability(events: Iterable[TimedHostEvent], hosts: int, begin: float, end: float) -> tuple[float, float, float]:
    """The share of host-seconds and of time without a host away, and the host-seconds in which no job could run."""
    away = host_downtime(events, hosts)
    area, unable = away.area(begin, end)
    return 1 - area / (hosts * (end - begin)), away.complete(begin, end) / (end - begin), unable


def joined_run(seen: RunRows, attempts: Iterable[Attempt], events: Iterable[TimedHostEvent], hosts: int) -> JoinedRun:
    """Join the attempts of each job.

    Args:
        seen: the rows of the run.
        attempts: the attempts as the scheduler reports them; empty: a killed job was interrupted if it runs again, has
            run before, or had a host that was away at its end; and all its work is lost unless it goes on from its
            progress.
        events: the events of hosts.
        hosts: the number of hosts.
    """
    records = {each.job_id: each for each in attempts}
    timed = list(events)
    whole = whole_jobs(seen, {each.job_id: each.first_id for each in records.values()})
    victims: frozenset[str] = frozenset()
    if not records and timed and seen.killed:
        killed_at = {job.name: (job.finish, seen.killed[job.name]) for job in seen.jobs if job.name in seen.killed}
        victims = host_downtime(timed, hosts, killed_at).victims
    attempt_ends: dict[str, _AttemptEnd] = {}
    for job in whole:
        last = len(job.attempts) - 1
        for number, attempt in enumerate(job.attempts):
            record, name = records.get(attempt.name), attempt.name
            again = number < last
            if record is not None:
                is_interrupted = record.end not in _OWN_ENDS
                attempt_ends[name] = _AttemptEnd(
                    is_interrupted, record.lost, record.checkpoints + record.restart, again
                )
            elif not records and name in seen.killed and (last or name in victims):
                goes_on = again and job.attempts[number + 1].name in seen.continued
                attempt_ends[name] = _AttemptEnd(True, 0.0 if goes_on else attempt.finish - attempt.start, 0.0, again)
    repeated = {name: each.lost for name, each in attempt_ends.items() if each.runs_again}
    return JoinedRun(
        whole,
        [job.times(repeated) for job in whole if job.attempts],
        [job.submission for job in whole if not job.attempts],
        attempt_ends,
        timed,
    )
