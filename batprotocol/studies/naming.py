"""The files that a study names beside its inputs: metrics, usage traces, and the program that simulates."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Any

from batprotocol._util.files import naming
from batprotocol.errors import InputError, StudyError, shown
from batprotocol.simulator import load_metric
from batprotocol.studies.files import Files
from batprotocol.studies.runs import OwnMetricFile
from batprotocol.studies.sources import imported_from_beside

__all__ = ["digest_of_program", "own_metrics", "traces_of"]


def own_metrics(given: Any, folder: str) -> tuple[tuple[OwnMetricFile, ...], list[Files]]:
    """The metrics that files define, and these files.

    Raises:
        StudyError: one of them is not a metric.
        OSError: a file cannot be read.
    """
    found: dict[str, OwnMetricFile] = {}
    files = []
    for number, each in enumerate(given if isinstance(given, list | tuple) else [given]):
        place = f"metrics[{number}]" if isinstance(given, list | tuple) and len(given) > 1 else "metrics"
        target = getattr(each, "target", each)
        if not isinstance(target, str) or ":" not in target:
            raise StudyError(f"expected FILE.py:FUNCTION, or a metric that a file defines, got {shown(each)}", place)
        try:
            metric = load_metric(target, folder)
        except InputError as error:
            raise StudyError(str(error), place) from None
        if metric.name in found:
            raise StudyError(f"{shown(metric.name)} is named twice: remove one of them", place)
        path, _, name = metric.target.rpartition(":")
        beside, own = os.path.split(os.path.abspath(path))
        files.append(Files.read(beside, imported_from_beside(path)))
        about = (metric.name, metric.label, metric.definition, metric.unit, metric.better)
        found[metric.name] = OwnMetricFile(f"{own}:{name}", files[-1].digest, *about)
    return tuple(found.values()), files


def traces_of(path: str) -> list[str]:
    """The files of usage traces that a workload names, relative to its folder."""
    with naming(path), open(path, "rb") as file:
        if b"TraceReplayProfile" not in file.read():
            return []
    from batprotocol.model import TraceReplayProfile
    from batprotocol.workloads import read_workload

    folder = os.path.dirname(os.path.abspath(path))
    found: dict[str, None] = {}
    for profile in read_workload(path, compositions=True).profiles.values():
        if isinstance(profile.profile, TraceReplayProfile):
            name = profile.profile.filename
            found[name] = None
            beside = os.path.dirname(name)
            with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                lines = (line.strip() for line in file)
                found.update((os.path.join(beside, line), None) for line in lines if line and not line.startswith("#"))
    return list(found)


def digest_of_program(batsim: Sequence[str]) -> str:
    """The digest of the program that simulates."""
    if not batsim:
        return ""
    path = shutil.which(batsim[0])
    if path is None:
        raise StudyError(f"there is no program {shown(batsim[0])}", "batsim")
    return Files.read(os.path.dirname(path), [os.path.basename(path)]).digest
