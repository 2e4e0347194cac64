"""How runs end: what they came to, or why they failed."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Mapping
from typing import Final

import msgspec

from batprotocol.edc.loading import LoadError
from batprotocol.edc.moments import moment_of
from batprotocol.errors import InputError, RuleViolation

__all__ = ["DONE", "FAILED", "KINDS", "RECORDING", "TRACEBACK", "Outcome", "TimeOver", "failed", "is_full"]

DONE: Final = "done"
FAILED: Final = "failed"

RECORDING: Final = "recording.tar.xz"
"""The file of what was said in a run that failed, in its folder."""
TRACEBACK: Final = "traceback.txt"
"""The file of what Python showed then."""

KINDS: Final[Mapping[str, str]] = {
    "exception": "the scheduler raised an exception",
    "rule": "the scheduler asked for what Batsim would not survive",
    "deadlock": "the simulation did not come to its end",
    "stopped": "the scheduler stopped it before all jobs had ended",
    "time": "it took longer than it may",
    "memory": "it took more memory than it may",
    "died": "its process died, twice",
    "scheduler": "the scheduler cannot be loaded where it is to run",
    "input": "a workload or a platform cannot be used",
    "batsim": "Batsim failed",
    "disk": "what came of it could not be written",
}
"""Why runs fail, and what that means."""


class TimeOver(BaseException):
    """A run takes too long: no `except Exception` of a scheduler is to catch it."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended.

    Args:
        state: `done` or `failed`.
        kind: why it failed, one of `KINDS`; "" if it did not.
        error: the same as a sentence.
        traceback: as Python shows it, or "".
        measured: its metrics by their names, by the keys of the ways in which it was measured.
        hosts: how many computation hosts there were.
        files: what is kept of it, by their names.
        seconds: of real time that it took.
        place: where it ran.
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
    """The outcome of a run that raised this.

    Args:
        error: what it raised.
        seconds: how many it was given.
    """
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    kind, sentence = _told(error, seconds)
    moment = moment_of(error)
    if moment is not None:
        sentence = f"{sentence}, {moment}"
    return Outcome(state=FAILED, kind=kind, error=" ".join(sentence.split()), traceback=text)


def _told(error: BaseException, seconds: float) -> tuple[str, str]:
    if isinstance(error, TimeOver):
        return "time", f"it took more than {seconds:g} s"
    if isinstance(error, MemoryError):
        return "memory", "it took more memory than it may have"
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
    """Whether this is no fault of a run, but of the disk that it is written to."""
    kinds = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
    return isinstance(error, OSError) and error.errno in kinds
