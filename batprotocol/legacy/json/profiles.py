"""Conversion between profiles of the older workload files and values of the current protocol, in both directions.

Batsim 3.0 renamed the types of parallel tasks (`msg_par_hg` became `parallel_homogeneous`). This module reads both, and
writes the names of the version. It must not know messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

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

__all__ = ["described", "profile_of"]

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
