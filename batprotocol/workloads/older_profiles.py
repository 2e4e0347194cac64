"""Profiles of the workload files of Batsim 1 to 4, and of versions before them, in the format of Batsim 5.

A function takes an object, and returns one with a `type` of Batsim 5. This module must not know how the object is used.
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
