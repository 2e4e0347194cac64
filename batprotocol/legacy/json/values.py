"""The values in the events of the JSON protocol: jobs, profiles, resources, progress, and numbers as C++ reads them.

The fields have the names of the protocol. An absent field is None. `extra` keeps the fields that no version of the
protocol knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite, isinf
from typing import Any, Final

import msgspec
from msgspec.structs import FieldInfo

from batprotocol.model import (
    DelayProfile,
    HomogeneousParallelTaskGenerationStrategy,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.model.value import Value

__all__ = [
    "Job",
    "JobProfile",
    "JobProgress",
    "Resource",
    "described",
    "fields_of",
    "integer",
    "is_int",
    "printable",
    "printed",
    "profile_of",
    "real",
    "types_of",
]


# Profiles of the older workload files as current values, and back


_TOTAL: Final = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly
_EACH: Final = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue


class _Unfit(Exception):
    """A field is missing or malformed."""


def _number(fields: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = fields.get(key, default)
    if type(value) not in (int, float) or not -1e308 < value < 1e308:
        raise _Unfit
    return float(value)


def _numbers(fields: Mapping[str, Any], key: str) -> list[float] | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise _Unfit
    for each in value:
        if type(each) not in (int, float) or not -1e308 < each < 1e308:
            raise _Unfit
    return [float(each) for each in value]


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise _Unfit
    return value


def _delay(fields: Mapping[str, Any]) -> Profile:
    return DelayProfile(_number(fields, "delay"))


def _parallel(fields: Mapping[str, Any]) -> Profile:
    return ParallelTaskProfile(_numbers(fields, "cpu"), _numbers(fields, "com"))


def _each(fields: Mapping[str, Any]) -> Profile:
    return ParallelTaskHomogeneousProfile(_number(fields, "cpu"), _number(fields, "com"), _EACH)


def _total(fields: Mapping[str, Any]) -> Profile:
    return ParallelTaskHomogeneousProfile(_number(fields, "cpu"), _number(fields, "com"), _TOTAL)


def _composed(fields: Mapping[str, Any]) -> Profile:
    names, repeat = fields.get("seq"), fields.get("repeat", fields.get("nb", 1))
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _Unfit
    if type(repeat) is not int or not 0 < repeat < 2**31:
        raise _Unfit
    return SequentialCompositionProfile(repetition_count=repeat, profile_ids=tuple(names))


def _storage(fields: Mapping[str, Any]) -> Profile:
    name = fields.get("storage", fields.get("host", "pfs"))
    if not isinstance(name, str):
        raise _Unfit
    read, written = _number(fields, "bytes_to_read", 0.0), _number(fields, "bytes_to_write", 0.0)
    if "size" in fields:  # until 2.x, there was one amount
        written = _number(fields, "size")
    return ParallelTaskOnStorageHomogeneousProfile(name, read, written)


def _staging(fields: Mapping[str, Any]) -> Profile:
    return ParallelTaskDataStagingBetweenStoragesProfile(
        _number(fields, "nb_bytes"), _text(fields, "from"), _text(fields, "to")
    )


def _smpi(fields: Mapping[str, Any]) -> Profile:
    return TraceReplayProfile(TraceType.SMPI, _text(fields, "trace"))


def _usage(fields: Mapping[str, Any]) -> Profile:
    return TraceReplayProfile(TraceType.FractionalComputation, _text(fields, "trace"))


_TYPES: Final[Mapping[str, Callable[[Mapping[str, Any]], Profile]]] = {
    "delay": _delay,
    "parallel": _parallel,
    "msg_par": _parallel,
    "parallel_homogeneous": _each,
    "msg_par_hg": _each,
    "parallel_homogeneous_total": _total,
    "msg_par_hg_tot": _total,
    "parallel_homogeneous_pfs": _storage,
    "msg_par_hg_pfs": _storage,
    "data_staging": _staging,
    "composed": _composed,
    "smpi": _smpi,
    "usage_trace": _usage,
}
"""The reader of each type. `send` and `recv`, for messages of jobs and the scheduler, have no successor."""


def profile_of(fields: Mapping[str, Any]) -> Profile | None:
    """The profile as a value of the current protocol, None if there is none.

    >>> profile_of({"type": "msg_par_hg", "cpu": 1e6, "com": 0})
    ParallelTaskHomogeneousProfile(computation_amount=1000000.0, communication_amount=0.0, \
generation_strategy=<HomogeneousParallelTaskGenerationStrategy.DefinedAmountsUsedForEachValue: 0>)
    """
    kind = fields.get("type")
    make = _TYPES.get(kind) if isinstance(kind, str) else None
    if make is None:
        return None
    try:
        return make(fields)
    except _Unfit:
        return None


def described(profile: Profile, version: object) -> dict[str, Any] | None:
    """The object in that version's workload files, None if the version has no type for this profile."""
    before = isinstance(version, tuple) and version < (3,)
    found = _described(profile, before)
    if found is None or any(isinstance(value, float) and not isfinite(value) for value in found.values()):
        return None
    return found


def _described(profile: Profile, before: bool) -> dict[str, Any] | None:
    if isinstance(profile, DelayProfile):
        return {"type": "delay", "delay": profile.delay}
    if isinstance(profile, ParallelTaskHomogeneousProfile):
        kind = "msg_par_hg" if before else "parallel_homogeneous"
        if profile.generation_strategy == _TOTAL:
            kind += "_tot" if before else "_total"
        return {"type": kind, "cpu": profile.computation_amount, "com": profile.communication_amount}
    if isinstance(profile, ParallelTaskProfile):
        given = {"cpu": profile.computation_vector, "com": profile.communication_matrix}
        vectors = {key: list(value) for key, value in given.items() if value is not None}
        return {"type": "msg_par" if before else "parallel", **vectors}
    if isinstance(profile, SequentialCompositionProfile):
        names = [name.rpartition("!")[2] for name in profile.profile_ids]
        return {"type": "composed", "repeat": profile.repetition_count, "seq": names}
    if isinstance(profile, TraceReplayProfile):
        kind = "smpi" if profile.trace_type == TraceType.SMPI else "usage_trace"
        return None if before and kind == "usage_trace" else {"type": kind, "trace": profile.filename}
    if isinstance(profile, ParallelTaskOnStorageHomogeneousProfile):
        if before or profile.generation_strategy != _EACH:
            return None
        return {
            "type": "parallel_homogeneous_pfs",
            "bytes_to_read": profile.bytes_to_read,
            "bytes_to_write": profile.bytes_to_write,
            "storage": profile.storage_name,
        }
    if isinstance(profile, ParallelTaskDataStagingBetweenStoragesProfile) and not before:
        return {
            "type": "data_staging",
            "nb_bytes": profile.bytes_to_transfer,
            "from": profile.emitter_storage_name,
            "to": profile.receiver_storage_name,
        }
    return None


@cache
def fields_of(value: type[Value]) -> tuple[FieldInfo, ...]:
    """The fields of a class of values. To resolve their types takes longer than to read a message."""
    return msgspec.structs.fields(value)


@cache
def types_of(value: type[Value]) -> Mapping[str, Any]:
    """The type of each field of a class of values."""
    return {field.name: field.type for field in fields_of(value)}


_NESTED: Final[dict[str, Any]] = {
    "tag": False,
    "forbid_unknown_fields": True,
    "omit_defaults": True,
    "rename": {"extra": "\uf8ffextra"},
}
"""These values are read and written directly. Workload files use the name `extra`, too, so this field has no name on
the wire: the careful reader puts unknown fields into it."""


class Job(Value, frozen=True, **_NESTED):
    """A job, as in the workload file.

    Args:
        id: `workload!job`. For a dynamic job, Batsim 1.x requires the number alone, as an integer or a string.
        profile: the name of its profile, in its own workload.
        res: how many resources it requests.
        subtime: the time of its submission, in simulated seconds.
        walltime: seconds after which Batsim kills it; None or -1: never.
        extra: its other fields in the workload file.

    >>> Job("w0!1", "delay10", 4).walltime is None
    True
    """

    id: str | int | None = None
    profile: str | None = None
    res: int | None = None
    subtime: float | None = None
    walltime: float | None = None
    extra: Mapping[str, Any] = {}


class Resource(Value, frozen=True, **_NESTED):
    """A host of the platform.

    Args:
        id: its number; the hosts of the parallel file systems of Batsim 1 and 2 have -2 and -3.
        name: its name in the platform file.
        state: "idle", "computing", "sleeping", "switching_on", "switching_off", "unavailable".
        properties: its properties in the platform file.
        zone_properties: the properties of its zone; None before 4.0.
        extra: its other fields.
    """

    id: int
    name: str
    state: str | None = None
    properties: Mapping[str, Any] | None = None
    zone_properties: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = {}


class JobProgress(Value, frozen=True, **_NESTED):
    """The progress of a job, or of one of its tasks, when it was killed.

    Args:
        profile: the name of its profile, until 2.x.
        profile_name: the name of its profile, from 3.0 on.
        progress: the completed share, in [0,1].
        current_task_index: for a composed profile, the task that ran; -1 for replayed traces.
        current_task: the progress of that task.
        extra: its other fields.
    """

    profile: str | None = None
    profile_name: str | None = None
    progress: float | None = None
    current_task_index: int | None = None
    current_task: JobProgress | None = None
    extra: Mapping[str, Any] = {}

    @property
    def name(self) -> str | None:
        """The name of the profile, from the field that the version has for it."""
        return self.profile_name if self.profile is None else self.profile


class JobProfile:
    """A profile, as in the workload file.

    Args:
        fields: the JSON object: its `type`, and the fields of that type.

    >>> JobProfile({"type": "delay", "delay": 10}).value
    DelayProfile(delay=10.0)
    >>> JobProfile({"type": "send", "msg": {}}).value is None
    True
    """

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    @classmethod
    def of(cls, profile: Profile, version: object = (4, 2)) -> JobProfile | None:
        """A profile of the current protocol, as in that version's workload files; None if they have no such type.

        >>> JobProfile.of(profile_of({"type": "delay", "delay": 3}))
        JobProfile({'type': 'delay', 'delay': 3.0})
        """
        fields = described(profile, version)
        return None if fields is None else cls(fields)

    @property
    def type(self) -> str | None:
        """Its type: "delay", "parallel_homogeneous", "composed"..., with the name of its version."""
        kind = self.fields.get("type")
        return kind if isinstance(kind, str) else None

    @property
    def value(self) -> Profile | None:
        """The same profile in the current protocol, None for `send`, `recv` and malformed profiles."""
        return profile_of(self.fields)

    @property
    def return_code(self) -> int:
        """The return code of jobs with this profile, 0 by default."""
        code = self.fields.get("ret", 0)
        return code if type(code) is int else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobProfile) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(str(self.type))

    def __repr__(self) -> str:
        return f"JobProfile({dict(self.fields)!r})"


# Numbers as C++ reads and writes them


_MOST = 2**31
_STOI = re.compile(r"[ \t\n\r\f\v]*([+-]?[0-9]+)", re.ASCII)
_STOD = re.compile(
    r"[ \t\n\r\f\v]*(?P<sign>[+-]?)(?:(?P<hex>0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    r"|(?P<decimal>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)|(?P<word>inf|nan))",
    re.ASCII | re.IGNORECASE,
)
_SIGNIFICANT = re.compile(r"0x[0.]*[1-9a-f]|[0.]*[1-9]", re.ASCII | re.IGNORECASE)
_ROOM = 31
"""Batsim prints numbers with six decimals into 32 bytes, and aborts if a number is longer."""


def integer(text: str) -> int | None:
    """The result of C++'s `stoi` for a text: the number at its beginning, None if there is none."""
    found = _STOI.match(text)
    if found is None or len(found[1].lstrip("+-").lstrip("0")) > 10:
        return None
    number = int(found[1])
    return number if -_MOST <= number < _MOST else None


def is_int(value: object) -> bool:
    """Whether RapidJSON takes this for an integer: 32 bits with a sign, and no point."""
    return type(value) is int and -_MOST <= value < _MOST


def printable(value: float) -> bool:
    """Whether a time or an amount fits into the buffer in which Batsim prints it."""
    return len(f"{value:.6f}") < _ROOM


def printed(value: float) -> float:
    """A number of a job or a profile as Batsim reads it: Batsim prints one with a point with six decimals first."""
    return value if type(value) is int else float(f"{value:.6f}")


def real(text: str) -> float | None:
    """The result of C++'s `stod` for a text: the number at its beginning, None if there is none or it is out of range.

    >>> real("5abc"), real(" .3e1"), real("0x10"), real("1e400"), real("x")
    (5.0, 3.0, 16.0, None, None)
    """
    found = _STOD.match(text)
    if found is None:
        return None
    sign = -1.0 if found["sign"] == "-" else 1.0
    if found["word"]:
        return sign * float(found["word"])
    try:
        value = float.fromhex(found["hex"]) if found["hex"] else float(found["decimal"])
    except OverflowError:
        return None
    if isinf(value) or (value == 0 and _SIGNIFICANT.match(found["hex"] or found["decimal"])):
        return None
    return sign * value
