"""The outcomes of runs: their results, or the reasons why they failed."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Mapping
from typing import Final

import msgspec

from batprotocol.edc.moments import moment_of
from batprotocol.edc.running import LoadError
from batprotocol.errors import InputError, RuleViolation

__all__ = ["DONE", "FAILED", "KINDS", "RECORDING", "TRACEBACK", "Outcome", "TimeOver", "failed", "is_full"]

DONE: Final = "done"
FAILED: Final = "failed"

RECORDING: Final = "recording.tar.xz"
"""The file with the recording of a failed run, in its folder."""
TRACEBACK: Final = "traceback.txt"
"""The file with its traceback."""

KINDS: Final[Mapping[str, str]] = {
    "exception": "the scheduler raised an exception",
    "rule": "the scheduler broke a rule of the protocol, and Batsim would abort",
    "deadlock": "the simulation ended before all jobs had ended",
    "stopped": "the scheduler stopped it before all jobs had ended",
    "time": "it took longer than the timeout",
    "memory": "it took more memory than the study allows",
    "died": "its process died twice",
    "scheduler": "the scheduler cannot be loaded on the machine of the run",
    "input": "a workload or a platform cannot be used",
    "batsim": "Batsim failed",
    "disk": "its results could not be written",
}
"""The kinds of failures, and their meanings."""


class TimeOver(BaseException):
    """A run takes too long. `except Exception` in a scheduler must not catch it."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run.

    Args:
        state: `done` or `failed`.
        kind: the kind of its failure, one of `KINDS`; "" if it did not fail.
        error: a sentence on its failure, or "".
        traceback: its traceback, or "".
        measured: its metrics by their names, by the keys of its measures.
        hosts: the number of computation hosts.
        files: the contents of its files, by their names.
        seconds: the real time that it took.
        place: the machine on which it ran.
    """

    state: str
    kind: str = ""
    error: str = ""
    traceback: str = ""
    measured: Mapping[str, Mapping[str, float]] = {}
    hosts: int = 0
    files: Mapping[str, bytes] = {}
    seconds: float = 0.0
    place: str = ""


def failed(error: BaseException, seconds: float) -> Outcome:
    """The outcome of a run that raised an exception.

    Args:
        error: the exception.
        seconds: its timeout.
    """
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    kind, sentence = _described(error, seconds)
    moment = moment_of(error)
    if moment is not None:
        sentence = f"{sentence}, {moment}"
    return Outcome(state=FAILED, kind=kind, error=" ".join(sentence.split()), traceback=text)


def _described(error: BaseException, seconds: float) -> tuple[str, str]:
    if isinstance(error, TimeOver):
        return "time", f"it took more than {seconds:g} s: raise `timeout`"
    if isinstance(error, MemoryError):
        return "memory", "it took more memory than the study allows: raise `memory`"
    if isinstance(error, RuleViolation):
        deadlock = any(violation.severity == "deadlock" for violation in error.violations)
        return "deadlock" if deadlock else "rule", str(error)
    if isinstance(error, InputError):
        return "input", str(error)
    if isinstance(error, LoadError):
        return "scheduler", str(error)
    if is_full(error):
        return "disk", str(error)
    return "exception", f"{type(error).__name__}: {error}"


def is_full(error: BaseException) -> bool:
    """Whether the disk is full or read-only, so that the run is not to blame."""
    kinds = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
    return isinstance(error, OSError) and error.errno in kinds
