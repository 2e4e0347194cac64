"""Profiles as the workload files of Batsim 1 to 4, and of those before them, describe them: in the words of today.

An object goes in, and one comes out whose `type` is today's. It must not know what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import InputError, shown

__all__ = ["OLDER_TYPES", "is_older", "modern", "modernized"]

_SPREAD: Final = "DefinedAmountsSpreadUniformly"

Fields = Mapping[str, Any]


def _as(kind: str, **more: str) -> Callable[[Fields], dict[str, Any]]:
    return lambda given: {**given, "type": kind, **more}


def _composed(given: Fields) -> dict[str, Any]:
    found = {**given, "type": "SequentialCompositionProfile"}
    if "nb" in found:  # what `repeat` was called until Batsim 1
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
    raise InputError(f"jobs do not speak with schedulers any more: there is nothing like {kind} today", "type")


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
"""What each type is today."""


def is_older(given: object) -> bool:
    """Whether this is a profile that today's Batsim does not know, and Batsim 1 to 4 did."""
    kind = given.get("type") if isinstance(given, dict) else None
    return isinstance(kind, str) and kind in OLDER_TYPES


def modern(given: Fields) -> dict[str, Any] | None:
    """The profile in the words of today, None if it is in them, or in nobody's.

    Raises:
        InputError: there is nothing like it today.

    >>> modern({"type": "composed", "nb": 4, "seq": ["a"]})
    {'type': 'SequentialCompositionProfile', 'seq': ['a'], 'repeat': 4}
    """
    return OLDER_TYPES[given["type"]](given) if is_older(given) else None


def modernized(given: Any, name: str) -> Any:
    """What a workload file says of a profile, in the words of today if it is in those of Batsim 1 to 4.

    Raises:
        InputError: there is nothing like it today.
    """
    try:
        return (modern(given) if isinstance(given, dict) else None) or given
    except InputError as error:
        raise InputError(error.reason, f"profiles.{name}.{error.path}") from None
