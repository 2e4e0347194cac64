"""The log of a question as files that a study can name: a workload, and the machine that the log is from."""

from __future__ import annotations

import os
from typing import NamedTuple

from batprotocol._util.files import whole
from batprotocol.sites.logs.imports import Import
from batprotocol.sites.logs.opening import STANDARD_INPUT, is_logged, read_log

__all__ = ["ReadyLog", "ready_log"]


class ReadyLog(NamedTuple):
    """A log that a study can name.

    Attributes:
        workload: the name of the workload.
        platform: the file of the platform, or "".
        left_out: what was left out, as sentences.
    """

    workload: str
    platform: str
    left_out: tuple[str, ...] = ()


def ready_log(log: str, *, platform: str = "", folder: str = "") -> ReadyLog:
    """A log that a study can name. Workloads are taken as they are, and logs of resource managers are imported.

    Args:
        log: the name of a workload, or the file of a log; `-` is a log on standard input.
        platform: a platform file, or "". Without one, the machine of an imported log is the smallest that it fits on.
        folder: the folder for the workload and the platform of an imported log.

    Raises:
        InputError: the log cannot be read.
        OSError: a file cannot be read or written.
    """
    if log != STANDARD_INPUT and not is_logged(log):
        return ReadyLog(log, platform)
    stem = os.path.join(folder, "log" if log == STANDARD_INPUT else os.path.basename(log).partition(".")[0])
    workload = f"{stem}.workload.json"
    with read_log(log) as jobs:
        made = Import(jobs)
        with whole(workload) as file:
            made.write(file, "workload")
        if not platform:
            platform = f"{stem}.machine.xml"
            with whole(platform) as file:
                file.write(made.platform_text(platform).encode())
        notes = [*jobs.left_out, *made.left_out]
    rows = [f"{each.count:,} rows were left out: {each.reason}" for each in notes if each.is_row]
    values = [f"{each.count:,} jobs were taken without a value: {each.reason}" for each in notes if not each.is_row]
    return ReadyLog(workload, platform, (*rows, *values))
