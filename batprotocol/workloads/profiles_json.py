"""Profiles of Batsim's workload files: functions take an object, and return a `WorkloadProfile`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

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
from batprotocol.workloads.compact_json import compact_json
from batprotocol.workloads.older_profiles import modern
from batprotocol.workloads.workload import WorkloadProfile

__all__ = ["MOST", "extra_data_of", "profile_of", "take"]

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
