"""A run of a study: its task, its name, its limits, and how it ended.

The name of a run is a hash of everything that decides its result. The measures are not part of it: one result can be
measured in many ways.
"""

from __future__ import annotations

import errno
import hashlib
import json
import traceback
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from batprotocol.edc.error_notes import moment_of
from batprotocol.edc.scheduler import LoadError
from batprotocol.errors import InputError, RuleViolation, StudyError, shown

__all__ = [
    "DONE",
    "FAILED",
    "FORMAT",
    "KINDS",
    "RECORDING",
    "TRACEBACK",
    "Measure",
    "Outcome",
    "OwnMetricFile",
    "Run",
    "RunLimits",
    "Task",
    "TimeOver",
    "TraceFile",
    "failed",
    "is_full",
    "limits_of",
    "memory_of",
    "version",
]


FORMAT: Final = 2
"""The format of runs in a store. A run of another format has another name."""


_LATER: Final = ("failures", "failures_files", "drawn_failures", "watts")
"""The fields of a task that came later, with the same format."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides the result of a run, except the contents of its files.

    Args:
        scheduler: a policy, or `NAME.py:Class` of its files.
        arguments: the arguments of the class.
        source: the digest of the scheduler's files; "" for a policy without a file.
        workload: a model (`lublin:256`), or the name of the file, without its changes.
        workload_files: the digest of the workload's files; "" for a model.
        changes: the changes of the workload, as options and values of `named_workload`.
        platform: the name of its file, a number of hosts, or None: the number that the workload is made for.
        platform_files: the digest of the platform's files, or "".
        master: the host of Batsim itself, or "" for the default.
        mmax: the maximum number of hosts; 0: all hosts.
        roles: the roles of hosts, by their names.
        events: the name of the file of external events, or "".
        events_files: the digest of that file, or "".
        failures: the name of the file of failures, or "".
        failures_files: the digest of that file, or "".
        drawn_failures: the laws of failures that are drawn, see `laws_of`; empty: none are.
        init: the initialization data.
        energy: whether energy is measured.
        watts: the typical watts of hosts that declare none, as `parse_watts` reads them, or "".
        corrected: see `simulate`.
        rules: the rule set.
        batsim: the command that simulates; by default, the embedded Batsim does.
        batsim_files: the digest of the command's program, or "".
        in_process: whether that command loads the scheduler into its own process.
    """

    scheduler: str
    arguments: Mapping[str, Any] = {}
    source: str = ""
    workload: str
    workload_files: str = ""
    changes: Mapping[str, str] = {}
    platform: str | int | None = None
    platform_files: str = ""
    master: str = ""
    mmax: int = 0
    roles: Mapping[str, str] = {}
    events: str = ""
    events_files: str = ""
    failures: str = ""
    failures_files: str = ""
    drawn_failures: Mapping[str, Any] = {}
    init: str = ""
    energy: bool = False
    watts: str = ""
    corrected: bool = False
    rules: str = ""
    batsim: tuple[str, ...] = ()
    batsim_files: str = ""
    in_process: bool = False

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that the run needs on its machine."""
        files = (self.source, self.workload_files, self.platform_files, self.events_files, self.failures_files)
        return tuple(filter(None, files))

    @property
    def described(self) -> dict[str, Any]:
        """All that decides its result, as plain values. The name of a run without failures does not depend on them."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return {name: value for name, value in found.items() if value or name not in _LATER}


class RunLimits(msgspec.Struct, frozen=True):
    """The limits of a run.

    Args:
        seconds: the maximum real time.
        memory: the maximum address space of its process, in bytes; 0: no limit.
    """

    seconds: float = 3600.0
    memory: int = 0


class OwnMetricFile(msgspec.Struct, frozen=True):
    """A metric that a file of the study defines.

    Args:
        target: `NAME.py:FUNCTION` of its files.
        files: the digest of its file and of the modules that this imports from its folder.
        name: its name.
        label: its label in tables and plots.
        definition: its definition.
        unit: its unit, such as `s`, or "".
        better: whether `less` or `more` is better; None: neither is.
    """

    target: str
    files: str
    name: str
    label: str
    definition: str = ""
    unit: str = ""
    better: str | None = None


class TraceFile(msgspec.Struct, frozen=True):
    """The carbon intensity, the price or the cap that runs are measured with.

    Args:
        kind: `carbon`, `price` or `cap`.
        text: its name, such as `gb.csv?repeat=yes`, `daily:300` or `4kW`.
        files: the digest of its file; "" if it has none.
        root: the folder of its file, on the machine on which the study was described; "" if it has none.
        unit: the unit of its values.
    """

    kind: str
    text: str
    files: str = ""
    root: str = ""
    unit: str = ""


class Measure(msgspec.Struct, frozen=True):
    """A way to measure runs.

    Args:
        settings: the arguments of `batprotocol.simulator.measured`: `warm_up`, `cool_down`, `begin`,
            `end`, `tau`, `wide` and `long`.
        own: the metrics that files of the study define.
        traces: what is known about the electricity.
    """

    settings: Mapping[str, float] = {}
    own: tuple[OwnMetricFile, ...] = ()
    traces: tuple[TraceFile, ...] = ()

    @property
    def key(self) -> str:
        """Its name: 16 hexadecimal digits."""
        own = [(each.target, each.files, each.name) for each in self.own]
        traces = [(each.kind, each.text, each.files) for each in self.traces]
        return _hash([FORMAT, dict(self.settings), own, *([traces] if traces else [])])[:16]

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that it needs."""
        return (*(each.files for each in self.own), *(each.files for each in self.traces if each.files))

    @property
    def currency(self) -> str:
        """The currency of costs; "" if there is no price."""
        return next((each.unit.partition("/")[0] for each in self.traces if each.kind == "price"), "")


class Run(msgspec.Struct, frozen=True):
    """A run of a study.

    Args:
        key: its name: 32 hexadecimal digits.
        axes: its value on each axis of the study, as the study describes it.
        task: everything that decides its result.
        measure: how its result is measured.
        drawn: the parts that its seed draws, of `workload`, `weeks`, `estimates`, `scheduler` and `failures`.
        is_model: whether its workload is drawn from a model, and not read from a file.
    """

    key: str
    axes: Mapping[str, Any]
    task: Task
    measure: Measure = Measure()
    drawn: tuple[str, ...] = ()
    is_model: bool = False

    @classmethod
    def of(
        cls,
        axes: Mapping[str, Any],
        task: Task,
        measure: Measure | None = None,
        drawn: tuple[str, ...] = (),
        is_model: bool = False,
    ) -> Run:
        """The run of a task."""
        key = _hash([FORMAT, version(), task.described])[:32]
        return cls(key, axes, task, measure or Measure(), drawn, is_model)

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that the run and its measure need on their machine."""
        return (*self.task.shared, *self.measure.shared)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.axes.items())


def _hash(described: Any) -> str:
    text = json.dumps(described, sort_keys=True, ensure_ascii=False, allow_nan=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_VERSION: list[str] = []


def version() -> str:
    """The version of this library."""
    if not _VERSION:
        from importlib import metadata

        try:
            _VERSION.append(metadata.version("batprotocol"))
        except metadata.PackageNotFoundError:
            _VERSION.append("")
    return _VERSION[0]


# The limits of runs, as studies describe them.


_UNITS: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def limits_of(keys: Mapping[str, Any]) -> RunLimits:
    """The limits of each run, by the keys `timeout` and `memory` of a study.

    Raises:
        StudyError: one of them is not valid.
    """
    usual = RunLimits()
    seconds, memory = keys.get("timeout", usual.seconds), keys.get("memory", usual.memory)
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise StudyError(f"expected a number of seconds > 0, got {shown(seconds)}", "timeout")
    return RunLimits(float(seconds), memory_of(memory))


def memory_of(given: Any) -> int:
    """The number of bytes in a text such as `2GB`, or a number as it is.

    Raises:
        StudyError: it is not a number of bytes.

    >>> memory_of("1.5GB"), memory_of(4096)
    (1500000000, 4096)
    """
    text = str(given).strip().removesuffix("B")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        found = float(text.removesuffix(unit)) * _UNITS[unit]
    except ValueError:
        found = -1.0
    if isinstance(given, bool) or not 0 <= found < 2**62:
        raise StudyError(f'expected bytes, such as 4096 or "2GB", got {shown(given)}', "memory")
    return int(found)


# The outcomes of runs: their results, or the reasons why they failed.


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
