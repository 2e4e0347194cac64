"""Workloads: the jobs that a simulation submits, and the profiles that they use.

A `Workload` stores its jobs in columns and creates values one at a time. So a million jobs cost tens of megabytes, also
in a long simulation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import (
    ForkJoinCompositionProfile,
    Job,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
)
from batprotocol.model.value import Value
from batprotocol.workloads.columns import JobColumns, JobTable, StoredJob

__all__ = ["UNSTEADY", "StaticJob", "Submission", "Usage", "Workload", "WorkloadProfile", "local_name", "user_of"]

UNSTEADY: Final = "nothing is steady there, and results depend on the length of the workload"
"""The end of a sentence about an offered load above 1."""

MOST_RESOURCES = 2**32 - 1


class Usage(NamedTuple):
    """One line of a usage trace.

    Args:
        usage: the fraction of the host's cores that compute.
        flops: the flops that each of these cores computes.
    """

    usage: float
    flops: float


class WorkloadProfile(msgspec.Struct, frozen=True):
    """A profile of a workload, with the other data of Batsim's files.

    Args:
        profile: the profile. In a `Workload`, the names in it are full names (`w0!delay10`).
        return_code: the number that a job with this profile returns at its end (`ret`); 0 is success.
        extra_data: free text for decision components; None if absent.
        traces: for a usage trace (`TraceType.FractionalComputation`), the lines of each rank; else None.
    """

    profile: Profile
    return_code: int = 0
    extra_data: str | None = None
    traces: tuple[tuple[Usage, ...], ...] | None = None


class StaticJob(msgspec.Struct, frozen=True):
    """A job of a workload, for workloads in Python.

    Args:
        id: its name inside the workload, without the workload's name.
        submission_time: the submission time in seconds; may be negative.
        resource_request: the number of hosts that it requests, in [0, 2**32 - 1].
        profile: a profile, or the name of one of the workload's `profiles`.
        walltime: seconds after which it is killed, > 0; None: never.
        extra_data: free text for decision components; None if absent.
    """

    id: str
    submission_time: float
    resource_request: int
    profile: str | Profile
    walltime: float | None = None
    extra_data: str | None = None


class Submission(NamedTuple):
    """A job that will be submitted.

    Args:
        time: the submission time, in seconds.
        id: the job's full name, `w0!1`.
        job: the request of the job; `job.profile_id` is the full name of its profile.
    """

    time: float
    id: str
    job: Job


class Workload:
    """Jobs in the order in which Batsim submits them, by (submission time, id), and the profiles that they use.

    It never changes: copies and branches of a simulation share it. `len(workload)` is the number of jobs. `workload[i]`
    and iteration create `Submission` values when you use them.

    Args:
        jobs: the jobs, any iterable, in any order.
        profiles: the profiles to which jobs and other profiles refer, by their names inside the workload.
        name: the workload's name, the part before the `!`; a simulation names its workloads w0, w1...

    Raises:
        InputError: two jobs have the same id, a profile does not exist, or a number is out of its range.

    >>> from batprotocol.model import DelayProfile
    >>> workload = Workload([StaticJob("1", 5.0, 4, "d"), StaticJob("0", 0.0, 2, "d")], {"d": DelayProfile(10.0)})
    >>> [(submission.time, submission.id) for submission in workload]
    [(0.0, 'w0!0'), (5.0, 'w0!1')]
    >>> workload.profiles["w0!d"].profile
    DelayProfile(delay=10.0)
    """

    name: str
    """The part before the `!` of its jobs and profiles."""
    filename: str
    """The file that it was read from, or ""."""
    profiles: dict[str, WorkloadProfile]
    """The profiles by their full names. Do not change this mapping."""
    resource_count: int
    """The number of hosts that the workload is made for (`nb_res`), by default the request of its largest job."""
    skipped: int = 0
    """The number of jobs of its file that were left out because they cannot run, as in some archived logs."""
    dependent: int = 0
    """The number of jobs of its log with a preceding job or a think time (fields 17, 18), which are not followed."""
    is_older: bool = False
    """Whether its file describes profiles as Batsim 1 to 4 did."""
    declared: int | None = None
    """The number of hosts that its log declares, if its largest job requests more; else None."""

    def __init__(
        self,
        jobs: Iterable[StaticJob] = (),
        profiles: Mapping[str, Profile | WorkloadProfile] | None = None,
        *,
        name: str = "w0",
    ) -> None:
        named = {
            given: profile if isinstance(profile, WorkloadProfile) else WorkloadProfile(profile)
            for given, profile in (profiles or {}).items()
        }
        columns = JobColumns()
        anonymous: dict[Profile, str] = {}
        for number, job in enumerate(jobs):
            used = job.profile
            if not isinstance(used, str):
                known = anonymous.get(used)
                if known is None:
                    known = anonymous[used] = _free_name(named, len(anonymous))
                    named[known] = WorkloadProfile(used)
                used = known
            _check_job(f"jobs[{number}]", job)
            columns.append(
                job.id, job.submission_time, job.resource_request, local_name(used, name), job.walltime, job.extra_data
            )
        self._settle(name, "", named, columns)

    @classmethod
    def of_columns(
        cls,
        name: str,
        filename: str,
        profiles: Mapping[str, WorkloadProfile],
        columns: JobTable,
        *,
        resource_count: int | None = None,
    ) -> Workload:
        """Create the workload of these profiles, by their names inside the workload, and of these jobs, and sort it.

        Raises:
            InputError: two jobs have the same id, or the profiles do not match each other or the jobs.
        """
        made = cls.__new__(cls)
        made._settle(name, filename, profiles, columns)
        if resource_count is not None:
            made.resource_count = resource_count
        return made

    def _settle(self, name: str, filename: str, profiles: Mapping[str, WorkloadProfile], columns: JobTable) -> None:
        check_profiles(profiles, name)
        _check_uses(profiles, columns)
        columns.sort()
        self.resource_count = columns.most_resources
        self.name = name
        self.filename = filename
        self.profiles = {f"{name}!{given}": _full(profile, name) for given, profile in profiles.items()}
        self._columns = columns
        self._profile_ids = {given: f"{name}!{given}" for given in columns.profiles}

    def named(self, name: str) -> Workload:
        """The same workload under another name; the jobs are shared."""
        if name == self.name:
            return self
        other = Workload.__new__(Workload)
        other.name = name
        other.filename = self.filename
        other.resource_count = self.resource_count
        other._take_remarks(self)
        cut = len(self.name) + 1
        other.profiles = {
            f"{name}!{given[cut:]}": _full(_local(profile, self.name), name) for given, profile in self.profiles.items()
        }
        other._columns = self._columns
        other._profile_ids = {given: f"{name}!{given}" for given in self._profile_ids}
        return other

    def with_jobs(self, jobs: JobTable) -> Workload:
        """A workload of other jobs with these profiles, for a machine of the same size.

        Raises:
            InputError: two jobs have the same id, or a profile does not exist.
        """
        local = {name[len(self.name) + 1 :]: _local(profile, self.name) for name, profile in self.profiles.items()}
        made = Workload.of_columns(self.name, self.filename, local, jobs, resource_count=self.resource_count)
        made._take_remarks(self)
        return made

    def _take_remarks(self, source: Workload) -> None:
        """Take what is known of the file of a workload that this one was made of."""
        self.skipped, self.dependent = source.skipped, source.dependent
        self.is_older, self.declared = source.is_older, source.declared

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, number: int) -> Submission:
        id, time, resources, profile, walltime, extra_data = self._columns[number]
        return Submission(
            time,
            f"{self.name}!{id}",
            Job(
                resource_request=resources,
                walltime=walltime,
                extra_data=extra_data,
                profile_id=self._profile_ids[profile],
            ),
        )

    def __iter__(self) -> Iterator[Submission]:
        return map(self.__getitem__, range(len(self)))

    def record(self, number: int) -> StoredJob:
        """The job with this number. It and its profile have their names inside the workload."""
        return self._columns[number]

    @property
    def uses(self) -> Iterable[tuple[str, int]]:
        """The profiles that jobs use, by their names inside the workload, with the hosts that such jobs request."""
        return self._columns.uses

    @property
    def texts(self) -> Collection[str] | None:
        """The different texts that jobs have as extra data; None if only a pass over all jobs would find them."""
        return self._columns.texts

    @property
    def without_walltime(self) -> int:
        """The number of jobs without a walltime. Policies that use requested times expect these never to end."""
        return self._columns.without_walltime

    def extra_data(self) -> Iterator[tuple[str, str]]:
        """The full name and the extra data of each job that has some."""
        return ((f"{self.name}!{id}", text) for id, text in self._columns.extra_data())

    def users(self) -> dict[str, str | int]:
        """The user of each job, by its full name: the `user` of its extra data, if they are a JSON object."""
        found: dict[str, str | int] = {}
        known: dict[str, str | int | None] = {}
        for id, text in self.extra_data():
            if text not in known:
                known[text] = user_of(text)
            user = known[text]
            if user is not None:
                found[id] = user
        return found

    @property
    def referenced_profiles(self) -> frozenset[str]:
        """The full names of the profiles that a job or another profile of the workload uses."""
        used = set(self._profile_ids.values())
        for profile in self.profiles.values():
            used.update(_parts(profile.profile))
        return frozenset(used)

    def __copy__(self) -> Workload:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Workload:
        return self

    def __repr__(self) -> str:
        origin = f" from {self.filename}" if self.filename else ""
        return f"<Workload {self.name} of {len(self)} jobs and {len(self.profiles)} profiles{origin}>"


def user_of(extra_data: str | None) -> str | int | None:
    """The user in a job's extra data: the key `user` of a JSON object; None if there is no user.

    >>> user_of('{"user":12,"group":3}'), user_of("free text")
    (12, None)
    """
    if not extra_data or '"user"' not in extra_data:
        return None
    try:
        given = json.loads(extra_data)
    except (ValueError, RecursionError):
        return None
    user = given.get("user") if isinstance(given, dict) else None
    return user if isinstance(user, str | int) and not isinstance(user, bool) else None


def local_name(given: str, workload: str) -> str:
    """The name of a job or profile inside its workload, from its name in an input.

    Batsim's rule: a name that contains the workload's own name anywhere is a full name, and must begin with it.

    Raises:
        InputError: it contains the workload's name, but does not begin with that name and a `!`.
    """
    if workload not in given:
        return given
    if not given.startswith(f"{workload}!") or given.count("!") != 1:
        raise InputError(f"{shown(given)} contains the name of its workload, so it must be {workload}!NAME")
    return given[len(workload) + 1 :]


def check_profiles(profiles: Mapping[str, WorkloadProfile], workload: str) -> None:
    """Check that all parts of compositions exist, and that no profile is part of itself.

    Raises:
        InputError: a profile is wrong; the error names the place (`profiles.NAME`).
    """
    parts: dict[str, list[str]] = {}
    for given, profile in profiles.items():
        names = _parts(profile.profile)
        if names:
            try:
                parts[given] = [local_name(part, workload) for part in names]
            except InputError as error:
                raise InputError(error.reason, f"profiles.{given}") from None
            for part in parts[given]:
                if part not in profiles:
                    raise InputError(f"there is no profile {shown(part)}", f"profiles.{given}")
    _check_cycles(parts)


def _check_cycles(parts: Mapping[str, list[str]]) -> None:
    done: set[str] = set()
    for start in parts:
        path: dict[str, Iterator[str]] = {}
        current: str | None = start
        while current is not None:
            if current in path:
                raise InputError("the profile is a part of itself", f"profiles.{current}")
            if current not in done and current in parts:
                path[current] = iter(parts[current])
            current = None
            while path and current is None:
                last = next(reversed(path))
                current = next(path[last], None)
                if current is None:
                    path.popitem()
                    done.add(last)


def _check_uses(profiles: Mapping[str, WorkloadProfile], jobs: JobTable) -> None:
    """Check jobs against their profiles and against each other."""
    wrong: list[tuple[int, InputError]] = []
    for (given, resources), row in jobs.uses.items():
        profile = profiles.get(given)
        if profile is None:
            wrong.append((row, InputError(f"there is no profile {shown(given)}", f"jobs[{row}].profile")))
            continue
        size = _size(profile.profile)
        if size is not None and size != resources:
            reason = f"the profile {shown(given)} is for {size} executors, but the job requests {resources} resources"
            wrong.append((row, InputError(reason, f"jobs[{row}].res")))
    if wrong:
        raise min(wrong, key=lambda each: each[0])[1]
    jobs.check_ids()


def _size(profile: Profile) -> int | None:
    """The number of executors that a profile is made for; None: any number."""
    if not isinstance(profile, ParallelTaskProfile):
        return None
    if profile.computation_vector is not None:
        return len(profile.computation_vector)
    return None if profile.communication_matrix is None else math.isqrt(len(profile.communication_matrix))


def _parts(profile: Profile) -> tuple[str, ...]:
    if isinstance(
        profile, SequentialCompositionProfile | ForkJoinCompositionProfile | ParallelTaskMergeCompositionProfile
    ):
        return profile.profile_ids
    return ()


def _renamed(profile: WorkloadProfile, names: Iterable[str]) -> WorkloadProfile:
    inner = msgspec.structs.replace(profile.profile, profile_ids=tuple(names))
    return msgspec.structs.replace(profile, profile=inner)


def _full(profile: WorkloadProfile, workload: str) -> WorkloadProfile:
    parts = _parts(profile.profile)
    return _renamed(profile, (f"{workload}!{local_name(part, workload)}" for part in parts)) if parts else profile


def _local(profile: WorkloadProfile, workload: str) -> WorkloadProfile:
    parts = _parts(profile.profile)
    return _renamed(profile, (part[len(workload) + 1 :] for part in parts)) if parts else profile


def _free_name(taken: Mapping[str, object], number: int) -> str:
    name = f"profile{number}"
    while name in taken:
        name += "_"
    return name


def _check_job(place: str, job: StaticJob) -> None:
    if not isinstance(job.id, str):
        raise InputError(f"expected a string, got {shown(job.id)}", f"{place}.id")
    for name, text in (("id", job.id), ("extra_data", job.extra_data)):
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InputError(f"expected a text that UTF-8 can have, got {shown(text)}", f"{place}.{name}") from None
    if not isinstance(job.submission_time, float | int) or not math.isfinite(job.submission_time):
        raise InputError(f"expected a finite number, got {shown(job.submission_time)}", f"{place}.submission_time")
    if type(job.resource_request) is not int or not 0 <= job.resource_request <= MOST_RESOURCES:
        raise InputError(
            f"expected an integer in [0, {MOST_RESOURCES}], got {shown(job.resource_request)}",
            f"{place}.resource_request",
        )
    walltime = job.walltime
    if walltime is not None and (not isinstance(walltime, float | int) or not 0 < walltime < math.inf):
        raise InputError(f"expected a number > 0 or None, got {shown(walltime)}", f"{place}.walltime")
    if not isinstance(job.profile, Value | str):
        raise InputError(f"expected a profile or its name, got {shown(job.profile)}", f"{place}.profile")
    if job.extra_data is not None and not isinstance(job.extra_data, str):
        raise InputError(f"expected a string, got {shown(job.extra_data)}", f"{place}.extra_data")
