"""Logged jobs as a workload: in memory, or written as Batsim's JSON without being kept.

Times count from the first submission. A job comes when it was eligible in the log: a job that was held, or had a begin,
could not start before. A job that waits for other jobs comes when it was submitted, since these end when they end.

The extra data of a job have its start and hosts in the log, as `"recorded": {"start": 12.0, "hosts": "0-3"}`: the start
in seconds of the workload, the hosts by their numbers in the platform. Jobs of Slurm on several hosts that are shared
also have `cores`. Jobs that were not eligible at once also have `held`, the seconds from their submission until they
were.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import lru_cache
from math import inf
from typing import Any, BinaryIO, Final, Literal, NamedTuple

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, format_hosts
from batprotocol.simulator import Platform, Workload, WorkloadProfile
from batprotocol.sites.logs.jobs import (
    Attempts,
    AttemptState,
    LoggedJob,
    LoggedRun,
    run_id,
    runs_of,
    seconds_between,
    share_of,
)
from batprotocol.sites.logs.surveys import Keyed, Survey, in_order, survey_of
from batprotocol.workloads.columns import JobColumns, StoredJob
from batprotocol.workloads.requests import read_request
from batprotocol.workloads.requests.notation import expanded_names, folded_names, memory_text, parse_dependency

__all__ = [
    "Unit",
    "asked",
    "held_before",
    "logged_workload",
    "unit_for",
    "write_logged_workload",
]


# The request of a job


Unit = Literal["hosts", "shares", "cores"]
"""What a job asks for: whole `hosts`; `shares` of hosts, by cores, memory and generic resources; or `cores`, each of
which is a host of the platform, as in the Standard Workload Format."""

_TEXTS: Final = ("name", "user", "group", "account", "qos", "partition")
NO_FEATURES: Final = "a constraint: no host of the platform has features"
NO_RESERVATIONS: Final = "a reservation: without its hosts and times, policies reject the job"
NO_HOST: Final = "names of hosts that the platform does not have, or more of them than the job has"
GONE: Final = "a dependency on a job that the workload does not have"


def unit_for(survey: Survey, platform: Platform | None = None) -> Unit:
    """The unit that fits a log.

    Jobs that had hosts together ask for shares. If the log lacks names of hosts, and jobs had different numbers of
    cores on each host, they ask for shares of the hosts of a given platform, or else for cores.

    Args:
        survey: what `survey_of` found in the log.
        platform: a platform that describes the hosts of the log; None: there is none.
    """
    if survey.names_hosts or (survey.hosts and not survey.least_cores):
        return "shares" if survey.shares_hosts else "hosts"
    if not survey.least_cores:
        return "hosts"
    if platform is not None:
        fewest = min((host.cores for host in platform.computation_hosts), default=1)
        return "shares" if survey.least_cores < fewest else "hosts"
    return "cores" if survey.least_cores < survey.most_cores else "hosts"


def asked(
    run: LoggedRun,
    unit: Unit,
    left_out: LeftOut,
    *,
    awaited: frozenset[str] = frozenset(),
    has_features: bool = False,
    hosts: Container[str] = (),
    priority: bool = False,
    reservations: bool = False,
) -> dict[str, Any]:
    """What a run asks for beside hosts and a walltime, as the keys of the vocabulary.

    Args:
        run: the run.
        unit: what jobs ask for.
        left_out: where values are counted that the vocabulary cannot have.
        awaited: the ids of jobs and arrays that dependencies can name.
        has_features: whether hosts have features that constraints can name.
        hosts: the names of the hosts of the platform, which jobs can ask for; without any, their names are left out.
        priority: whether the priority of the log is one of the keys.
        reservations: whether the reservation of the log is one of the keys.
    """
    job = run.job
    values: dict[str, Any] = {key: getattr(job, key) for key in _TEXTS}
    if job.array is not None and job.id.startswith(f"{job.array}_"):
        values["array"] = run_id(job.id)
    if priority:
        values["priority"] = job.priority
    if job.reservation:
        values["reservation"] = job.reservation if reservations else None
        if not reservations:
            left_out.value(NO_RESERVATIONS, job.line)
    if job.constraint:
        values["constraint"] = job.constraint if has_features else None
        if not has_features:
            left_out.value(NO_FEATURES, job.line)
    if job.nodelist or job.exclude:
        values |= _named(run, unit, left_out, hosts)
    if job.dependency and run.is_first:
        values["dependency"], is_whole = _kept(job.dependency, awaited)
        if not is_whole:
            left_out.value(GONE, job.line)
    if unit == "shares":
        values |= _share(run)
    data = {}
    for key, value in values.items():
        if value is None or value == "":
            continue
        if (_fits if isinstance(value, str | int) else _fits_now)(key, value):
            data[key] = value
        else:
            left_out.value(f"a value of {key} that requests cannot have", job.line)
    return data


def held_before(run: LoggedRun, awaited: frozenset[str] = frozenset()) -> float:
    """The seconds from the submission of a run until it comes in a simulation: until it was eligible in the log.

    A job that waits for other jobs of the workload comes when it was submitted, since these end when they end.

    Args:
        run: the run.
        awaited: the ids of jobs and arrays that dependencies can name.
    """
    submitted, eligible = run.attempt.submitted, run.attempt.eligible
    if eligible is None or run.attempt.is_planned:
        return 0.0
    if run.job.dependency and run.is_first and _kept(run.job.dependency, awaited)[0] is not None:
        return 0.0
    return max(seconds_between(submitted, min(eligible, run.started)), 0.0)


def _share(run: LoggedRun) -> dict[str, Any]:
    """The keys for a share of each host; whole hosts if the job had them for itself."""
    if run.job.exclusive:
        return {"exclusive": True}
    share = share_of(run)
    return {
        "cores": share.cores,
        "memory": None if share.memory is None else memory_text(share.memory),
        "gres": dict(share.gres) or None,
    }


def _named(run: LoggedRun, unit: Unit, left_out: LeftOut, hosts: Container[str]) -> dict[str, Any]:
    """The hosts that a job must have or must not have, as far as the platform has them."""
    job, values = run.job, dict[str, Any]()
    for key, text in (("nodelist", job.nodelist), ("exclude", job.exclude)):
        if not text:
            continue
        try:
            names = expanded_names(text)
        except InputError:
            left_out.value(f"a value of {key} that requests cannot have", job.line)
            continue
        known = [name for name in names if name in hosts]
        # A host that the platform does not have cannot be chosen, so it need not be excluded.
        if unit == "cores" or (key == "nodelist" and not len(names) == len(known) <= run.host_count):
            left_out.value(NO_HOST, job.line)
        elif known:
            values[key] = folded_names(known)
    return values


def _fits_now(key: str, value: Any) -> bool:
    try:
        read_request(msgspec.json.encode({key: value}).decode())
    except InputError:
        return False
    return True


_fits: Final[Callable[[str, Any], bool]] = lru_cache(1 << 14)(_fits_now)


def _kept(dependency: str, awaited: frozenset[str]) -> tuple[str | None, bool]:
    """A dependency without the jobs that the workload does not have, and whether it has all.

    Such jobs ended before the log begins, or never ran.
    """
    try:
        found = parse_dependency(dependency)
    except InputError:
        return dependency, True  # it is counted with other values that cannot be read
    kept = [
        each._replace(job=run_id(each.job)) if each.job else each
        for each in found.conditions
        if not each.job or run_id(each.job) in awaited
    ]
    is_whole = len(kept) == len(found.conditions)
    if not kept or not (is_whole or found.needs_all):
        return None, is_whole
    return ("," if found.needs_all else "?").join(map(str, kept)), is_whole


AGAIN: Final = "the same run is in the log before"
_MOST_RESOURCES: Final = 2**31 - 1
"""The most hosts, or cores that are hosts, that Batsim can number."""
TOO_LARGE: Final = "the job had more hosts than the platform has"
LONGER: Final = "the job ran longer than its time limit, at which a simulation ends it"
NOT_ON_PLATFORM: Final = "a host of the job is not on the platform"

_FAILED: Final = frozenset(
    [AttemptState.BOOT_FAIL, AttemptState.FAILED, AttemptState.NODE_FAIL, AttemptState.OUT_OF_MEMORY]
)


class _Profile(NamedTuple):
    """The profile of a run: its runtime, and the code that it returns."""

    runtime: float
    return_code: int

    @property
    def name(self) -> str:
        """Its name in the workload."""
        seconds = int(self.runtime) if self.runtime.is_integer() else self.runtime
        return f"delay{seconds}-ret{self.return_code}" if self.return_code else f"delay{seconds}"


def logged_workload(
    jobs: Iterable[LoggedJob],
    *,
    platform: Platform | None = None,
    survey: Survey | None = None,
    unit: Unit | None = None,
    attempts: Attempts = "last",
    priority: bool = False,
    reservations: bool = False,
    left_out: LeftOut | None = None,
    name: str = "w0",
    filename: str = "",
) -> Workload:
    """The workload of logged jobs: those that started and ended.

    A job becomes a `DelayProfile` of the seconds that it ran without suspensions. A job that failed returns its exit
    code, or 1. Jobs that never started, or that run at the end of the log, are left out and counted.

    Args:
        jobs: the jobs. They are read twice, and kept in memory if they are an iterator.
        platform: the platform that the workload is for: its host names give the hosts of `recorded` their numbers, and
            its features and its size decide what of a job is kept. By default, the hosts of the survey, in its order.
        survey: what `survey_of` found in the same jobs with the same `attempts`; by default, it is made.
        unit: what a job asks for, see `Unit`; by default, `unit_for` decides.
        attempts: whether each start of a job is a job of the workload, or only the last one.
        priority: whether jobs have the priority of the log, in place of one that the policy computes.
        reservations: whether jobs name the reservation that they ran in. Policies reject them without a site that has
            it.
        left_out: where jobs and values are counted that are left out.
        name: the workload's name.
        filename: the file that the jobs are from.

    >>> from batprotocol.sites.logs import Attempt, LoggedJob
    >>> job = LoggedJob(id="7", user="ada", attempts=(Attempt(submitted=100.0, started=160.0, ended=220.0),))
    >>> [submission] = logged_workload([job])
    >>> submission.time, submission.job.profile_id, submission.job.extra_data
    (0.0, 'w0!delay60', '{"user":"ada","recorded":{"start":60.0}}')

    Raises:
        OSError: a temporary file cannot be written.
    """
    conversion = _Conversion(jobs, platform, survey, unit, attempts, priority, reservations, left_out, name)
    columns = JobColumns()
    for record in conversion.records():
        columns.append(*record)
    return Workload.of_columns(
        name, filename, conversion.named_profiles(), columns, resource_count=conversion.resource_count
    )


def write_logged_workload(
    file: BinaryIO,
    jobs: Iterable[LoggedJob],
    *,
    platform: Platform | None = None,
    survey: Survey | None = None,
    unit: Unit | None = None,
    attempts: Attempts = "last",
    priority: bool = False,
    reservations: bool = False,
    left_out: LeftOut | None = None,
) -> int:
    """Write the workload of logged jobs as Batsim's JSON, sorted, without keeping the jobs in memory.

    `read_workload` reads the same workload from it as `logged_workload` makes, also with `lazy=True`. The other
    arguments are those of `logged_workload`.

    Args:
        file: the file.

    Returns:
        the number of jobs.

    Raises:
        OSError: the file or a temporary file cannot be written.
    """
    conversion = _Conversion(jobs, platform, survey, unit, attempts, priority, reservations, left_out, "w0")
    encode = msgspec.json.encode
    file.write(b'{\n  "nb_res": %d,\n  "jobs": [' % conversion.resource_count)
    count = 0
    for count, (_, _, text) in enumerate(in_order(_keyed(conversion.records())), 1):
        file.write(b",\n    " if count > 1 else b"\n    ")
        file.write(text)
    file.write(b'\n  ],\n  "profiles": {')
    for number, (given, profile) in enumerate(conversion.profiles.items()):
        value: dict[str, Any] = {"type": "DelayProfile", "delay": profile.runtime}
        if profile.return_code:
            value["ret"] = profile.return_code
        file.write(b"%s\n    %s: %s" % (b"," if number else b"", encode(given), encode(value)))
    file.write(b"\n  }\n}\n")
    return count


def _keyed(records: Iterable[StoredJob]) -> Iterator[Keyed]:
    """The jobs as JSON, with the keys by which workloads are sorted."""
    encode = msgspec.json.encode
    for id, time, resources, profile, walltime, extra_data in records:
        given: dict[str, Any] = {"id": id, "subtime": time, "res": resources, "profile": profile}
        if walltime is not None:
            given["walltime"] = walltime
        given["extra_data"] = extra_data
        yield time, id.encode(), encode(given)


class _Conversion:
    """A conversion, with all that it needs to know of the whole log before the first job."""

    def __init__(
        self,
        jobs: Iterable[LoggedJob],
        platform: Platform | None,
        survey: Survey | None,
        unit: Unit | None,
        attempts: Attempts,
        priority: bool,
        reservations: bool,
        left_out: LeftOut | None,
        name: str,
    ) -> None:
        if survey is None:
            jobs = list(jobs) if iter(jobs) is jobs else jobs
            survey = survey_of(jobs, attempts=attempts)
        self.jobs, self.survey, self.attempts = jobs, survey, attempts
        self.priority, self.reservations = priority, reservations
        self.left_out = LeftOut() if left_out is None else left_out
        self.unit = unit or unit_for(survey, platform)
        names = survey.hosts if platform is None else [host.name for host in platform.computation_hosts]
        self.numbers = {name: number for number, name in enumerate(names)}
        self.host_count = None if platform is None else len(self.numbers)
        self.has_features = platform is not None and any(
            key == "features" for host in platform.hosts for key, _ in host.properties
        )
        self.profiles: dict[str, _Profile] = {}
        self.name = name

    @property
    def resource_count(self) -> int:
        """The number of hosts that the workload is made for."""
        if self.host_count is not None:
            return self.host_count
        return max(self.survey.peak_cores if self.unit == "cores" else self.survey.peak_hosts, 1)

    def named_profiles(self) -> dict[str, WorkloadProfile]:
        """The profiles of the workload by their names."""
        return {
            given: WorkloadProfile(DelayProfile(profile.runtime), return_code=profile.return_code)
            for given, profile in self.profiles.items()
        }

    def records(self) -> Iterator[StoredJob]:
        """The jobs of the workload, in the order of the log."""
        twice = self.survey.twice
        seen: dict[str, list[tuple[float, float | None]]] = {}
        for run in runs_of(self.jobs, self.left_out, self.attempts):
            id = run.id
            if twice and hash(id) in twice:
                # Logs that overlap have the same run; a resource manager that counts from 1 again has the same id.
                times = run.attempt.submitted, run.attempt.started
                before = seen.setdefault(id, [])
                if times in before:
                    self.left_out.row(AGAIN, run.job.line)
                    continue
                before.append(times)
                id = id if len(before) == 1 else f"{id}~~{len(before)}"
            record = self._record(id, run)
            if record is not None:
                yield record

    def _record(self, id: str, run: LoggedRun) -> StoredJob | None:
        job, attempt = run.job, run.attempt
        cores = job.cores or job.requested_cores
        resources = cores if self.unit == "cores" and cores else run.host_count
        if resources > (_MOST_RESOURCES if self.host_count is None else self.host_count):
            self.left_out.row(TOO_LARGE, job.line)
            return None
        code = (attempt.exit_code or 1) if attempt.state in _FAILED else 0
        profile = _Profile(run.runtime, code)
        name = profile.name
        self.profiles.setdefault(name, profile)
        walltime = job.walltime if job.walltime is not None and 0 < job.walltime < inf else None
        if walltime is not None and walltime < run.runtime:
            self.left_out.value(LONGER, job.line)
        origin = self.survey.first_submission
        data = asked(
            run,
            self.unit,
            self.left_out,
            awaited=self.survey.awaited,
            has_features=self.has_features,
            hosts=self.numbers,
            priority=self.priority,
            reservations=self.reservations,
        )
        if not attempt.is_planned:
            data["recorded"] = self._recorded(run, origin)
        held = held_before(run, self.survey.awaited)
        if held:
            data["recorded"]["held"] = held
        text = msgspec.json.encode(data).decode()
        return StoredJob(id, seconds_between(origin, attempt.submitted + held), resources, name, walltime, text)

    def _recorded(self, run: LoggedRun, origin: float) -> dict[str, Any]:
        recorded: dict[str, Any] = {"start": seconds_between(origin, run.started)}
        if run.attempt.hosts and self.unit != "cores":
            try:
                recorded["hosts"] = format_hosts([self.numbers[host] for host in run.attempt.hosts])
            except KeyError:
                self.left_out.value(NOT_ON_PLATFORM, run.job.line)
            if run.job.packed and run.job.cores and self.unit == "shares" and not run.job.exclusive:
                recorded["cores"] = run.job.cores
        return recorded
