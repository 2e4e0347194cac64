"""Runs: what is simulated once, and the name of it, which is a hash of all that decides what comes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

__all__ = ["FORMAT", "Limits", "Run", "Task", "version"]

FORMAT: Final = 1
"""Of what is kept of a run; another one is another run."""


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
        events: the name of the file of external events, or "".
        events_files: their digest, or "".
        init: the initialization data.
        energy: whether energy is measured.
        corrected: see `simulate`.
        rules: the rule set.
        metrics: what is told to `measured`.
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
    events: str = ""
    events_files: str = ""
    init: str = ""
    energy: bool = False
    corrected: bool = False
    rules: str = ""
    metrics: Mapping[str, float] = {}
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


class Run(msgspec.Struct, frozen=True):
    """A run of a study.

    Args:
        key: its name: 32 hexadecimal digits.
        axes: where it is on the axes of the study, as it was described.
        task: what is to be done.
    """

    key: str
    axes: Mapping[str, Any]
    task: Task

    @classmethod
    def of(cls, axes: Mapping[str, Any], task: Task) -> Run:
        """The run of a task."""
        described = [FORMAT, version(), msgspec.to_builtins(task)]
        text = json.dumps(described, sort_keys=True, ensure_ascii=False, allow_nan=True)
        return cls(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32], axes, task)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.axes.items())


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
