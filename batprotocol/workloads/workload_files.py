"""Batsim's workload files: JSON in, a `Workload` out, and back. The jobs are read one by one.

They are stored in columns, or stay in the file and are read when they are needed (`lazy`). Profiles of Batsim 1 to 4
are read, too. `read_traces` reads the usage traces that profiles name.
"""

from __future__ import annotations

import json
import logging
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    HomogeneousParallelTaskGenerationStrategy,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.workloads._json_stream import JsonStream
from batprotocol.workloads.columns import DuplicateId, FileRows, JobColumns, JobFile, JobTable, StoredJob
from batprotocol.workloads.workload import Usage, Workload, WorkloadProfile, local_name

__all__ = [
    "MOST",
    "OLDER_TYPES",
    "TraceReader",
    "compact_json",
    "extra_data_of",
    "is_older",
    "modern",
    "modernized",
    "profile_of",
    "read_traces",
    "read_workload_json",
    "take",
    "workload_json",
]


# Profiles of Batsim 1 to 4, and of versions before them, as profiles of Batsim 5

_SPREAD: Final = "DefinedAmountsSpreadUniformly"

Fields = Mapping[str, Any]


def _as(kind: str, **more: str) -> Callable[[Fields], dict[str, Any]]:
    return lambda given: {**given, "type": kind, **more}


def _composed(given: Fields) -> dict[str, Any]:
    found = {**given, "type": "SequentialCompositionProfile"}
    if "nb" in found:  # the name of `repeat` until Batsim 1
        times = found.pop("nb")
        found.setdefault("repeat", times)
    return found


def _smpi(given: Fields) -> dict[str, Any]:
    found = {**given, "type": "TraceReplayProfile", "trace_type": "SMPI"}
    if "trace" in found:
        found["filename"] = found.pop("trace")
    return found


def _usage(given: Fields) -> dict[str, Any]:
    return {**_smpi(given), "trace_type": "FractionalComputation"}


def _storage(given: Fields) -> dict[str, Any]:
    found = {**given, "type": "ParallelTaskOnStorageHomogeneousProfile"}
    if "size" in found:  # until Batsim 2, there was one amount
        amount = found.pop("size")
        found.setdefault("bytes_to_write", amount)
    return found


def _gone(given: Fields) -> dict[str, Any]:
    kind = shown(given.get("type"))
    raise InputError(f"{kind} is not supported: in Batsim 5, jobs do not exchange messages with schedulers", "type")


OLDER_TYPES: Final[Mapping[str, Callable[[Fields], dict[str, Any]]]] = {
    "delay": _as("DelayProfile"),
    "msg_par": _as("ParallelTaskProfile"),
    "parallel": _as("ParallelTaskProfile"),
    "msg_par_hg": _as("ParallelTaskHomogeneousProfile"),
    "parallel_homogeneous": _as("ParallelTaskHomogeneousProfile"),
    "msg_par_hg_tot": _as("ParallelTaskHomogeneousProfile", generation_strategy=_SPREAD),
    "parallel_homogeneous_total": _as("ParallelTaskHomogeneousProfile", generation_strategy=_SPREAD),
    "composed": _composed,
    "smpi": _smpi,
    "usage_trace": _usage,
    "msg_par_hg_pfs": _storage,
    "msg_par_hg_pfs0": _storage,
    "parallel_homogeneous_pfs": _storage,
    "data_staging": _as("ParallelTaskDataStagingBetweenStoragesProfile"),
    "send": _gone,
    "recv": _gone,
}
"""The current type for each older type."""


def is_older(given: object) -> bool:
    """Whether Batsim 1 to 4 know this profile, and Batsim 5 does not."""
    kind = given.get("type") if isinstance(given, dict) else None
    return isinstance(kind, str) and kind in OLDER_TYPES


def modern(given: Fields) -> dict[str, Any] | None:
    """The profile in the format of Batsim 5; None if it is in this format, or in an unknown one.

    Raises:
        InputError: Batsim 5 has no such profile.

    >>> modern({"type": "composed", "nb": 4, "seq": ["a"]})
    {'type': 'SequentialCompositionProfile', 'seq': ['a'], 'repeat': 4}
    """
    return OLDER_TYPES[given["type"]](given) if is_older(given) else None


def modernized(given: Any, name: str) -> Any:
    """A profile of a workload file. Profiles of Batsim 1 to 4 are converted to the format of Batsim 5.

    Raises:
        InputError: Batsim 5 has no such profile.
    """
    try:
        return (modern(given) if isinstance(given, dict) else None) or given
    except InputError as error:
        raise InputError(error.reason, f"profiles.{name}.{error.path}") from None


# Extra data: JSON in the form in which Batsim writes an object or array

_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(32)}
_ESCAPES.update({"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"})
_TABLE = str.maketrans(_ESCAPES)


def compact_json(value: Any) -> str:
    """The text of a JSON value.

    >>> compact_json({"a": [1, 2.5, None, True, "ü"], "b": 1e30})
    '{"a":[1,2.5,null,true,"ü"],"b":1e30}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact_json(key)}:{compact_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    if isinstance(value, str):
        return f'"{value.translate(_TABLE)}"'
    if isinstance(value, float):
        return _double(value)
    return json.dumps(value)


def _double(value: float) -> str:
    """The shortest text of the number, with an exponent only from 1e21 on and below 1e-6."""
    text = repr(value)
    sign = "-" if text.startswith("-") else ""
    digits, _, exponent = text.lstrip("-").partition("e")
    whole, _, part = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + ("" if part == "0" else part)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if len(digits) <= point <= 21:
        return f"{sign}{digits.ljust(point, '0')}.0"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{point - 1}"


# Profiles

MOST = 2**31 - 1
"""The largest integer of Batsim's files."""

_NONE = object()
_UNIFORM = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
_EACH = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue


def take(given: Mapping[str, Any], key: str, check: Callable[[Any], str | None], default: Any = _NONE) -> Any:
    """The value of a key. `check` returns None if the value is right, else a description of the right values."""
    if key not in given:
        if default is _NONE:
            raise InputError("the key is missing", key)
        return default
    value = given[key]
    expected = check(value)
    if expected is not None:
        raise InputError(f"expected {expected}, got {shown(value)}", key)
    return value


def is_number(value: Any) -> str | None:
    return None if type(value) in (int, float) else "a number"


def is_positive(value: Any) -> str | None:
    return None if type(value) in (int, float) and value > 0 else "a number > 0"


def is_amount(value: Any) -> str | None:
    return None if type(value) in (int, float) and value >= 0 else "a number >= 0"


def is_integer(value: Any) -> str | None:
    return None if type(value) is int and -MOST - 1 <= value <= MOST else f"an integer in [-{MOST + 1}, {MOST}]"


def is_count(value: Any) -> str | None:
    return None if type(value) is int and 0 < value <= MOST else f"an integer in [1, {MOST}]"


def is_natural(value: Any) -> str | None:
    return None if type(value) is int and 0 <= value <= MOST else f"an integer in [0, {MOST}]"


def is_string(value: Any) -> str | None:
    return None if isinstance(value, str) else "a string"


def is_amounts(value: Any) -> str | None:
    if isinstance(value, list) and value and all(is_amount(each) is None for each in value):
        return None
    return "a non-empty array of numbers >= 0"


def is_names(value: Any) -> str | None:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return None
    return "a non-empty array of names"


def extra_data_of(given: Mapping[str, Any]) -> str | None:
    """The key `extra_data`: a string as it is, an object or array as compact JSON."""
    value = given.get("extra_data", _NONE)
    if value is _NONE:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        try:
            return compact_json(value)
        except RecursionError:
            raise InputError("the value is nested too deeply", "extra_data") from None
    raise InputError(f"expected a string, an object or an array, got {shown(value)}", "extra_data")


def _delay(given: Mapping[str, Any]) -> Profile:
    return DelayProfile(float(take(given, "delay", is_positive)))


def _parallel_task(given: Mapping[str, Any]) -> Profile:
    cpu = take(given, "cpu", is_amounts, None)
    com = take(given, "com", is_amounts, None)
    if cpu is None and com is None:
        raise InputError("add cpu, com or both", "cpu")
    if com is not None:
        side = math.isqrt(len(com))
        if side * side != len(com):
            raise InputError(f"expected a square matrix with n * n values, got {len(com)}", "com")
        if cpu is not None and side != len(cpu):
            raise InputError(f"com is a matrix for {side} executors, but cpu is for {len(cpu)}", "com")
    return ParallelTaskProfile(cpu, com)


def _strategy(given: Mapping[str, Any]) -> HomogeneousParallelTaskGenerationStrategy:
    # Batsim takes every word that it does not know for the usual strategy.
    return _UNIFORM if take(given, "generation_strategy", is_string, "") == _UNIFORM.name else _EACH


def _homogeneous(given: Mapping[str, Any]) -> Profile:
    return ParallelTaskHomogeneousProfile(
        float(take(given, "cpu", is_amount)), float(take(given, "com", is_amount)), _strategy(given)
    )


def _sequence(given: Mapping[str, Any]) -> Profile:
    names = tuple(take(given, "seq", is_names))
    return SequentialCompositionProfile(repetition_count=take(given, "repeat", is_count, 1), profile_ids=names)


def _fork_join(given: Mapping[str, Any]) -> Profile:
    return ForkJoinCompositionProfile(tuple(take(given, "profiles", is_names)))


def _merge(given: Mapping[str, Any]) -> Profile:
    return ParallelTaskMergeCompositionProfile(tuple(take(given, "profiles", is_names)))


def _on_storage(given: Mapping[str, Any]) -> Profile:
    storage = take(given, "storage", is_string, None)
    return ParallelTaskOnStorageHomogeneousProfile(
        take(given, "host", is_string, "pfs") if storage is None else storage,
        float(take(given, "bytes_to_read", is_amount, 0)),
        float(take(given, "bytes_to_write", is_amount, 0)),
        _strategy(given),
    )


def _staging(given: Mapping[str, Any]) -> Profile:
    return ParallelTaskDataStagingBetweenStoragesProfile(
        float(take(given, "nb_bytes", is_amount)), take(given, "from", is_string), take(given, "to", is_string)
    )


def _trace(given: Mapping[str, Any]) -> Profile:
    kind = take(given, "trace_type", is_string)
    if kind not in TraceType.__members__:
        raise InputError(f"expected one of {', '.join(TraceType.__members__)}, got {shown(kind)}", "trace_type")
    return TraceReplayProfile(TraceType[kind], take(given, "filename", is_string))


_TYPES: Mapping[str, Callable[[Mapping[str, Any]], Profile]] = {
    "DelayProfile": _delay,
    "ParallelTaskProfile": _parallel_task,
    "ParallelTaskHomogeneousProfile": _homogeneous,
    "SequentialCompositionProfile": _sequence,
    "ForkJoinCompositionProfile": _fork_join,
    "ParallelTaskMergeCompositionProfile": _merge,
    "ParallelTaskOnStorageHomogeneousProfile": _on_storage,
    "ParallelTaskDataStagingBetweenStoragesProfile": _staging,
    "TraceReplayProfile": _trace,
}
_BEYOND_BATSIM = frozenset({"ForkJoinCompositionProfile", "ParallelTaskMergeCompositionProfile"})


def profile_of(given: Any, *, compositions: bool = False) -> WorkloadProfile:
    """The profile of an object of a workload file. Unknown keys are ignored, as in Batsim.

    Profiles of Batsim 1 to 4 are accepted, too, which Batsim 5 refuses.

    Args:
        given: the object.
        compositions: whether fork-join and merge profiles are accepted (key `profiles`, names). Batsim refuses them.

    Raises:
        InputError: the object is not a profile; the path of the error is the wrong key.
    """
    if not isinstance(given, dict):
        raise InputError(f"expected an object, got {shown(given)}")
    kind = take(given, "type", is_string)
    older = modern(given)
    if older is not None:
        given, kind = older, older["type"]
    make = _TYPES.get(kind)
    if make is None:
        raise InputError(f"{shown(kind)} is not a type of profile; use one of {', '.join(_TYPES)}", "type")
    if kind in _BEYOND_BATSIM and not compositions:
        raise InputError(f"Batsim does not implement {kind}; use the rules `protocol`", "type")
    return WorkloadProfile(make(given), take(given, "ret", is_integer, 0), extra_data_of(given))


# Usage traces: the share of a host's cores that a rank uses, in lines `RANK m_usage USAGE FLOPS`

_logger = logging.getLogger("batprotocol.simulator")

_LONGEST_LINE = 1 << 16
_MOST_RANKS = 1 << 16


class TraceReader(Protocol):
    """A function like `read_traces`."""

    def __call__(self, path: str, *, corrected: bool) -> tuple[tuple[Usage, ...], ...]:
        """Read the lines of each rank."""


def read_traces(path: str | os.PathLike[str], *, corrected: bool = False) -> tuple[tuple[Usage, ...], ...]:
    """Read the lines of each rank.

    Args:
        path: the file that lists one file per rank, relative to itself.
        corrected: whether a last line without a newline is read, too. Batsim loses it.

    Raises:
        InputError: a file is not a usage trace; the error names file and line.
        OSError: a file cannot be read.
    """
    folder = os.path.dirname(os.path.abspath(path))
    names = [name.strip() for _, name in _lines(path, corrected=True)]
    files = [name for name in names if name]
    if not files:
        raise InputError("expected a list of one file per rank, but the file is empty", file=os.fspath(path))
    if len(files) > _MOST_RANKS:
        raise InputError(f"there are more than {_MOST_RANKS} ranks", file=os.fspath(path))
    return tuple(_read_rank(os.path.join(folder, name), rank, corrected) for rank, name in enumerate(files))


def _lines(path: str | os.PathLike[str], *, corrected: bool) -> list[tuple[int, str]]:
    """The lines that are not comments, with their numbers."""
    found = []
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device could be read without end
        raise InputError("expected a file", file=os.fspath(path))
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if len(line) >= _LONGEST_LINE:
                raise InputError(f"a line has {_LONGEST_LINE} characters or more", file=os.fspath(path), line=number)
            if line.lstrip().startswith("#"):
                continue
            if line.endswith("\n") or corrected:
                found.append((number, line))
            elif line.strip():
                _logger.warning(
                    "%s, line %d: Batsim does not read a last line without a newline, so it is ignored; end the line, "
                    "or simulate with corrected=True (--corrected)",
                    os.fspath(path),
                    number,
                )
    return found


def _read_rank(path: str, rank: int, corrected: bool) -> tuple[Usage, ...]:
    found = []
    for number, line in _lines(path, corrected=corrected):
        words = line.split()
        if not words:
            continue
        if len(words) != 4 or not words[0].isdecimal() or words[1] != "m_usage":
            raise InputError(f"expected RANK m_usage USAGE FLOPS, got {shown(line.strip())}", file=path, line=number)
        if words[0].lstrip("0") != (str(rank) if rank else ""):
            continue
        try:
            usage, flops = float(words[2]), float(words[3])
        except ValueError:
            usage = flops = math.nan
        if not (0 <= usage < math.inf and 0 <= flops < math.inf):
            raise InputError(f"expected two numbers >= 0, got {shown(line.strip())}", file=path, line=number)
        found.append(Usage(usage, flops))
    return tuple(found)


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


# Writing


def workload_json(workload: Workload) -> str:
    """A workload as Batsim's JSON. `read_workload` reads the same workload from it. Traces are named, not written.

    Raises:
        InputError: a name or a profile could not be read back, such as a delay of 0, or a name with the name of the
            workload and a `!` in it.

    >>> from batprotocol.simulator import lublin_workload
    >>> print(workload_json(lublin_workload(4, 1, seed=3))[:60])
    {
      "nb_res": 4,
      "jobs": [
        {"id": "1", "subtime": 0.0,
    """
    jobs = ",\n    ".join(map(_json_text, _written_jobs(workload)))
    cut = len(workload.name) + 1
    profiles = ",\n    ".join(
        f"{_json_text(_name(name, workload.name))}: {_json_text(_profile(name[cut:], each, cut))}"
        for name, each in workload.profiles.items()
    )
    head = f'"nb_res": {max(workload.resource_count, 1)},\n  "jobs": [\n    {jobs}\n  ]'
    return f'{{\n  {head},\n  "profiles": {{\n    {profiles}\n  }}\n}}\n'


def _json_text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InputError(f"expected finite numbers, got {shown(value)}") from None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"expected texts that UTF-8 can have, got {shown(value)}") from None
    return text


def _name(full: str, workload: str) -> str:
    """A name as files have it: inside its workload, or the full name if it contains the name of the workload."""
    local = full[len(workload) + 1 :]
    if workload not in local:
        return local
    if "!" in local:
        raise InputError(f"{shown(full)} contains the name of its workload, so it must have no other !")
    return full


def _written_jobs(workload: Workload) -> Iterator[dict[str, Any]]:
    for time, id, job in workload:
        given: dict[str, Any] = {"id": _name(id, workload.name), "subtime": time, "res": job.resource_request}
        given["profile"] = _name(job.profile_id, workload.name)
        if job.walltime is not None:
            given["walltime"] = job.walltime
        if job.extra_data is not None:
            given["extra_data"] = job.extra_data
        yield given


def _profile(name: str, profile: WorkloadProfile, cut: int) -> dict[str, Any]:
    given: dict[str, Any] = {"type": type(profile.profile).__name__, **_members(profile.profile, cut)}
    if profile.return_code:
        given["ret"] = profile.return_code
    if profile.extra_data is not None:
        given["extra_data"] = profile.extra_data
    try:
        profile_of(given, compositions=True)
    except InputError as error:
        raise InputError(error.reason, f"profiles.{name}.{error.path}") from None
    return given


def _members(profile: Profile, cut: int) -> dict[str, Any]:
    """The keys of a profile of each type; the names in it are full names."""
    match profile:
        case DelayProfile(delay=delay):
            return {"delay": delay}
        case ParallelTaskProfile(computation_vector=cpu, communication_matrix=com):
            vectors = {"cpu": cpu, "com": com}
            return {key: list(vector) for key, vector in vectors.items() if vector is not None}
        case ParallelTaskHomogeneousProfile():
            amounts = {"cpu": profile.computation_amount, "com": profile.communication_amount}
            return {**amounts, "generation_strategy": profile.generation_strategy.name}
        case SequentialCompositionProfile():
            return {"repeat": profile.repetition_count, "seq": [name[cut:] for name in profile.profile_ids]}
        case ForkJoinCompositionProfile() | ParallelTaskMergeCompositionProfile():
            return {"profiles": [name[cut:] for name in profile.profile_ids]}
        case ParallelTaskOnStorageHomogeneousProfile():
            return {
                "storage": profile.storage_name,
                "bytes_to_read": profile.bytes_to_read,
                "bytes_to_write": profile.bytes_to_write,
                "generation_strategy": profile.generation_strategy.name,
            }
        case ParallelTaskDataStagingBetweenStoragesProfile():
            ends = {"from": profile.emitter_storage_name, "to": profile.receiver_storage_name}
            return {"nb_bytes": profile.bytes_to_transfer, **ends}
        case TraceReplayProfile():
            return {"trace_type": profile.trace_type.name, "filename": profile.filename}
