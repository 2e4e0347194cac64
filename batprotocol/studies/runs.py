"""Runs: what is simulated once, and how it is measured.

A run is named by a hash of all that decides its results. How it is measured is no part of that: the same results are
measured in many ways.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

__all__ = ["FORMAT", "Limits", "Measure", "OwnMetricFile", "Run", "Task", "version"]

FORMAT: Final = 2
"""The format of what is kept of a run. Another format makes another run."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what comes of a run, but what its files hold.

    Args:
        scheduler: a policy, or `NAME.py:Class` of its files.
        arguments: what the class is called with.
        source: the digest of the scheduler's files; "" of a policy.
        workload: a model (`lublin:256`), or the name of the file; what is made of it is in `changes`.
        workload_files: their digest; "" of a model.
        changes: what is made of the workload: the words and values of `named_workload`.
        platform: the name of its file, a number of hosts, or None: as many as the workload is made for.
        platform_files: their digest, or "".
        master: the host of Batsim itself, or "": the usual one.
        mmax: how many hosts are used at most; 0: all.
        roles: the roles that hosts are given, by their names.
        events: the name of the file of external events, or "".
        events_files: their digest, or "".
        init: the initialization data.
        energy: whether energy is measured.
        corrected: see `simulate`.
        rules: the rule set.
        batsim: the command that simulates; none is the embedded Batsim.
        batsim_files: the digest of its program, or "".
        in_process: whether that loads the scheduler into its own process.
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
    init: str = ""
    energy: bool = False
    corrected: bool = False
    rules: str = ""
    batsim: tuple[str, ...] = ()
    batsim_files: str = ""
    in_process: bool = False

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that it needs where it runs."""
        return tuple(filter(None, (self.source, self.workload_files, self.platform_files, self.events_files)))


class Limits(msgspec.Struct, frozen=True):
    """What a run may take.

    Args:
        seconds: of real time.
        memory: bytes of addresses of its process; 0: as many as it likes.
    """

    seconds: float = 3600.0
    memory: int = 0


class OwnMetricFile(msgspec.Struct, frozen=True):
    """A metric that a file of the study defines.

    Args:
        target: `NAME.py:FUNCTION` of its files.
        files: the digest of its file and of what that imports from beside it.
        name: its name in tables.
        label: what tables and plots call it.
        definition: how it is computed.
        unit: such as `s`, or "".
        better: whether `less` or `more` is better; None: neither is.
    """

    target: str
    files: str
    name: str
    label: str
    definition: str = ""
    unit: str = ""
    better: str | None = None


class Measure(msgspec.Struct, frozen=True):
    """How a run is measured.

    Args:
        settings: the arguments of `batprotocol.simulator.measured`: `warm_up`, `cool_down`, `tau`, `wide` and `long`.
        own: the metrics that files of the study define.
    """

    settings: Mapping[str, float] = {}
    own: tuple[OwnMetricFile, ...] = ()

    @property
    def key(self) -> str:
        """Its name: 16 hexadecimal digits."""
        own = [(each.target, each.files, each.name) for each in self.own]
        return _hash([FORMAT, dict(self.settings), own])[:16]

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that it needs."""
        return tuple(each.files for each in self.own)


class Run(msgspec.Struct, frozen=True):
    """A run of a study.

    Args:
        key: its name: 32 hexadecimal digits.
        axes: where it is on the axes of the study, as it was described.
        task: what is to be done.
        measure: how its results are measured.
        drawn: what its seed draws, of `workload`, `weeks`, `estimates` and `scheduler`.
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
        key = _hash([FORMAT, version(), msgspec.to_builtins(task)])[:32]
        return cls(key, axes, task, measure or Measure(), drawn, is_model)

    @property
    def shared(self) -> tuple[str, ...]:
        """The digests of all files that are needed where it runs."""
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
