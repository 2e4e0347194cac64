"""Check a study before its first run: refuse runs that cannot run, and collect advice on its numbers.

Each file and platform is read once. It must not know where runs are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping

from batprotocol.errors import InputError, StudyError
from batprotocol.simulator.inputs import advice_on
from batprotocol.studies.files import Files
from batprotocol.studies.inputs import Inputs
from batprotocol.studies.runs import Run

__all__ = ["checked"]


def checked(runs: Iterable[Run], files: Mapping[str, Files]) -> tuple[str, ...]:
    """Check the inputs of these runs, and return advice on them as sentences.

    Args:
        runs: the runs.
        files: the files that they read, by their digests.

    Raises:
        StudyError: a workload or a platform cannot be used.
        OSError: a file cannot be read.
    """
    notes: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(folder)
        workloads: dict[object, None] = {}
        platforms: dict[object, None] = {}
        for run in runs:
            task = run.task
            key = task.workload, task.workload_files, *(word for word in task.changes if word != "seed")
            if key not in workloads:
                workloads[key] = None
                for note in _of_workload(run, inputs, files):
                    notes[note] = None
            machine = task.platform_files, task.master, task.mmax, tuple(task.roles.items()), task.energy
            if task.platform_files and machine not in platforms:
                platforms[machine] = None
                _expect(run, "platform", inputs, files)
    return tuple(notes)


def _of_workload(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> Iterable[str]:
    _expect(run, "workload", inputs, files)
    workload = inputs.workload(run.task, files).workload
    label = str(run.axes.get("workload", run.task.workload))
    return [f"{label}: {each}" for each in advice_on(workload)]


def _expect(run: Run, what: str, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check that an input of a run can be used.

    Raises:
        StudyError: it cannot be used.
    """
    try:
        inputs.workload(run.task, files) if what == "workload" else inputs.platform(run.task, files)
    except InputError as error:
        raise StudyError(f"{run}: {error}", what) from None
