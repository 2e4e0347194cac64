"""Batsim's workload files: JSON in, a `Workload` out. The jobs are read one by one.

They are stored in columns, or stay in the file and are read when they are needed (`lazy`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import TraceReplayProfile, TraceType
from batprotocol.workloads.columns import DuplicateId, JobColumns, JobTable, StoredJob
from batprotocol.workloads.job_file import FileRows, JobFile
from batprotocol.workloads.json_stream import JsonStream
from batprotocol.workloads.older_profiles import is_older
from batprotocol.workloads.profiles_json import (
    extra_data_of,
    is_count,
    is_natural,
    is_number,
    is_positive,
    is_string,
    profile_of,
    take,
)
from batprotocol.workloads.traces import read_traces
from batprotocol.workloads.workload import Workload, WorkloadProfile, local_name

__all__ = ["read_workload_json"]


def read_workload_json(
    path: str | os.PathLike[str],
    *,
    name: str = "w0",
    compositions: bool = False,
    corrected: bool = False,
    lazy: bool = False,
) -> Workload:
    """Read a file in Batsim's format.

    Args:
        path: the file.
        name: the workload's name.
        compositions: whether fork-join and merge profiles are accepted, which Batsim refuses.
        corrected: whether usage traces keep a last line without a newline, and numbers of more than fifteen digits
            their last bits. Batsim loses both.
        lazy: whether jobs stay in the file, and are read again when they are needed; they must be sorted for this.

    Raises:
        InputError: the file is not a workload; the error names file and place (`jobs[17].res`), line and column.
        OSError: the file cannot be read.
    """
    filename = os.path.abspath(path)
    with open(path, "rb") as stream:
        jobs = JobFile(_JsonRows(filename, name, corrected)) if lazy else JobColumns()
        reader = _WorkloadReader(JsonStream(stream, filename, corrected=corrected), name, compositions, jobs)
        try:
            reader.read()
        except DuplicateId as error:
            raise InputError(error.reason, error.path, file=filename) from None
    if not reader.seen >= {"nb_res", "jobs", "profiles"}:
        missing = ", ".join(sorted({"nb_res", "jobs", "profiles"} - reader.seen))
        raise InputError(f"expected the keys nb_res, jobs and profiles; add {missing}", file=filename)
    try:
        profiles = _with_traces(reader.profiles, os.path.dirname(filename), corrected)
        made = Workload.of_columns(name, filename, profiles, reader.jobs, resource_count=reader.resource_count)
        made.is_older = reader.is_older
        _refuse_smpi(made)
    except InputError as error:
        if error.file:
            raise
        raise InputError(error.reason, error.path, file=filename) from None
    return made


class _WorkloadReader:
    def __init__(self, json: JsonStream, name: str, compositions: bool, jobs: JobTable) -> None:
        self.json = json
        self.name = name
        self.compositions = compositions
        self.jobs = jobs
        self.profiles: dict[str, WorkloadProfile] = {}
        self.resource_count = 0
        self.is_older = False
        self.seen: set[str] = set()

    def read(self) -> None:
        json = self.json
        if json.peek() != "{":
            raise json.error("expected an object with the keys nb_res, jobs and profiles")
        for key in json.members():
            known = key not in self.seen
            if key == "jobs" and known:
                self._jobs()
            elif key == "profiles" and known:
                self._profiles()
            else:
                value = json.value(key)
                if key == "nb_res" and known:
                    expected = is_count(value)
                    if expected is not None:
                        raise json.error(f"expected {expected}, got {shown(value)}", "nb_res")
                    self.resource_count = value
            self.seen.add(key)
        json.end()

    def _jobs(self) -> None:
        if self.json.peek() != "[":
            raise self.json.error(f"expected an array, got {shown(self.json.value('jobs'))}", "jobs")
        for number in self.json.items("jobs"):
            place = f"jobs[{number}]"
            if isinstance(self.jobs, JobFile) and self.jobs.wants_place:
                self.jobs.begin_block(self.json.offset)
            given = self.json.value(place)
            try:
                self.jobs.append(*_job(given, self.name))
            except InputError as error:
                raise self.json.error(error.reason, f"{place}.{error.path}" if error.path else place) from None
            self.jobs.check_ids_on_the_way()

    def _profiles(self) -> None:
        if self.json.peek() != "{":
            raise self.json.error(f"expected an object, got {shown(self.json.value('profiles'))}", "profiles")
        for key in self.json.members("profiles"):
            place = f"profiles.{key}"
            given = self.json.value(place)
            self.is_older = self.is_older or is_older(given)
            try:
                self.profiles[local_name(key, self.name)] = profile_of(given, compositions=self.compositions)
            except InputError as error:
                raise self.json.error(error.reason, f"{place}.{error.path}" if error.path else place) from None


class _JsonRows(FileRows):
    """A reader that reads jobs from a file again."""

    def __init__(self, filename: str, name: str, corrected: bool) -> None:
        super().__init__(filename)
        self.name = name
        self.corrected = corrected

    def read(self, place: int) -> Iterator[StoredJob]:
        with open(self.filename, "rb") as stream:
            stream.seek(place)
            json = JsonStream(stream, self.filename, corrected=self.corrected)
            for _ in json.items("jobs", inside=True):
                yield _job(json.value("jobs"), self.name)


def _job(given: Any, workload: str) -> StoredJob:
    """The job of an object of a workload."""
    if not isinstance(given, dict):
        raise InputError(f"expected an object, got {shown(given)}")
    id = take(given, "id", _is_id)
    time = take(given, "subtime", is_number)
    resources = take(given, "res", is_natural)
    profile = take(given, "profile", is_string)
    walltime = take(given, "walltime", is_positive, None)
    return StoredJob(
        _local("id", str(id), workload),
        float(time),
        resources,
        _local("profile", profile, workload),
        None if walltime is None else float(walltime),
        extra_data_of(given),
    )


def _local(key: str, given: str, workload: str) -> str:
    try:
        return local_name(given, workload)
    except InputError as error:
        raise InputError(error.reason, key) from None


def _is_id(value: Any) -> str | None:
    return None if isinstance(value, str) or type(value) is int else "a string or an integer"


def _with_traces(profiles: Mapping[str, WorkloadProfile], folder: str, corrected: bool) -> dict[str, WorkloadProfile]:
    """The profiles. Those that replay usage traces get their traces."""
    found = dict(profiles)
    for name, given in profiles.items():
        profile = given.profile
        if isinstance(profile, TraceReplayProfile) and profile.trace_type is TraceType.FractionalComputation:
            try:
                traces = read_traces(os.path.join(folder, profile.filename), corrected=corrected)
            except OSError as error:
                reason = f"the file {shown(profile.filename)} cannot be read: {error.strerror}"
                raise InputError(reason, f"profiles.{name}.filename") from None
            found[name] = msgspec.structs.replace(given, traces=traces)
    return found


def _refuse_smpi(workload: Workload) -> None:
    for name in sorted(workload.referenced_profiles):
        profile = workload.profiles[name].profile
        if isinstance(profile, TraceReplayProfile) and profile.trace_type is TraceType.SMPI:
            local = name.partition("!")[2]
            raise InputError(
                "replays of SMPI traces are not supported: they need SimGrid's own model of MPI",
                f"profiles.{local}.trace_type",
            )
