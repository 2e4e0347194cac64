"""Check a study before its first run: refuse runs that cannot run, and collect advice on its numbers.

Each file and platform is read once. It must not know where runs are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, StudyError
from batprotocol.studies.failing import made_events
from batprotocol.studies.files import Files
from batprotocol.studies.inputs import Inputs
from batprotocol.studies.powering import electricity_of
from batprotocol.studies.runs import Run
from batprotocol.studies.schedulers import is_policy
from batprotocol.workloads import advice_on
from batprotocol.workloads.requests import check_requests

__all__ = ["checked"]


def checked(runs: Iterable[Run], files: Mapping[str, Files]) -> tuple[str, ...]:
    """Check the inputs of these runs, with their events of hosts, and return advice on them as sentences.

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
        asking: dict[object, None] = {}
        events: dict[object, None] = {}
        traces: dict[object, None] = {}
        for run in runs:
            task = run.task
            key = task.workload, task.workload_files, *(word for word in task.changes if word != "seed")
            if key not in workloads:
                workloads[key] = None
                for note in _of_workload(run, inputs, files):
                    notes[note] = None
            if is_policy(task.scheduler) and key not in asking:  # other schedulers may read other keys
                asking[key] = None
                _expect_requests(run, inputs, files)
            machine = task.platform_files, task.master, task.mmax, tuple(task.roles.items()), task.energy, task.watts
            if (task.platform_files or task.watts) and machine not in platforms:
                platforms[machine] = None
                _expect(run, "platform", inputs, files)
            known = run.measure.traces, key
            if run.measure.traces and known not in traces:
                traces[known] = None
                _expect_traces(run, inputs, files)
            laws = tuple(each for each in task.drawn_failures.items() if each[0] != "seed")
            failing = task.events_files, task.failures_files, laws, is_policy(task.scheduler), task.platform, *machine
            if any(failing[:3]) and failing not in events:
                events[failing] = None
                for note in _of_events(run, inputs, files):
                    notes[note] = None
    return tuple(notes)


def _of_workload(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> Iterable[str]:
    _expect(run, "workload", inputs, files)
    workload = inputs.workload(run.task, files).workload
    label = str(run.axes.get("workload", run.task.workload))
    return [f"{label}: {each}" for each in advice_on(workload)]


def _expect_requests(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check what the jobs of a run ask for.

    Raises:
        StudyError: a value cannot be read, or jobs wait for each other in a circle.
    """
    workload = inputs.workload(run.task, files).workload
    try:
        check_requests((job_id, extra_data, "") for job_id, extra_data in workload.extra_data())
    except InputError as error:
        raise StudyError(f"{run}: {error}", "workload") from None


def _of_events(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> Iterable[str]:
    """Check the external events of a run, and the laws of its failures; sentences on what is left out of a trace."""
    task, left_out = run.task, LeftOut()
    try:
        made_events(
            task,
            inputs.platform(task, files),
            inputs.workload(task, files).workload,
            lambda digest: inputs.path(digest, files),
            left_out,
        )
    except InputError as error:
        key = "mtbf" if task.drawn_failures else "failures" if task.failures_files else "events"
        raise StudyError(f"{run}: {error}", key) from None
    for reason in left_out:
        what = "outages are left out" if reason.is_row else "values of outages are left out"
        yield f"{task.failures}: {reason.count:,} {what}: {reason.reason}"


def _expect_traces(run: Run, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check that no trace ends before the last submission. Whether it reaches to the end of the run is known then.

    Raises:
        StudyError: one does, or it cannot be used.
    """
    workload = inputs.workload(run.task, files).workload
    roots = {each.files: inputs.root(each.files, files) for each in run.measure.traces if each.files}
    last = workload[len(workload) - 1].time if len(workload) else 0.0
    try:
        electricity_of(run.measure, roots).expect_until(last)
    except InputError as error:
        raise StudyError(f"{run}: {error.reason}", error.path or "carbon") from None


def _expect(run: Run, what: str, inputs: Inputs, files: Mapping[str, Files]) -> None:
    """Check that an input of a run can be used.

    Raises:
        StudyError: it cannot be used.
    """
    try:
        inputs.workload(run.task, files) if what == "workload" else inputs.platform(run.task, files)
    except InputError as error:
        raise StudyError(f"{run}: {error}", what) from None
