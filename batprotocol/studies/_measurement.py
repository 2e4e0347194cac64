"""Metrics of runs, when they end or later from their files, and the offered load of each workload.

The folder of a run has all the data that it needs, so nothing runs again to be measured.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import InputError, PackageMissing, StudyError
from batprotocol.results.electricity import TraceTooShort
from batprotocol.results.groups import workflow_means
from batprotocol.results.reports import KnownPower, power_beside
from batprotocol.results.times import JobTimes, MeasuredTime
from batprotocol.simulator import (
    JobRow,
    OwnMetric,
    TimedHostEvent,
    WorkflowResult,
    grouped,
    load_metric,
    measured,
)
from batprotocol.studies.comparing.rows import ResultRow, axes_of, label
from batprotocol.studies.keys import KEYS
from batprotocol.studies.rows import Rows, failures_in, groups_in, jobs_in, users_in, workflows_in
from batprotocol.studies.runs import DONE, Measure, OwnMetricFile
from batprotocol.studies.sources import StudyFiles, electricity_of, known_electricity
from batprotocol.workloads.requests import AttemptReport

FUNCTION: Final = "batprotocol.studies._measurement:measure_again"
"""The function that engines call to measure runs from their files."""
_TOTALS: Final = "schedule.json"


class Measurable(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a run that metrics are computed from.

    Args:
        rows: the jobs, with the six decimals of a jobs.csv.
        hosts: the number of computation hosts.
        users: the user of each job, by its full name; None if users are unknown.
        consumed_joules: the energy of all hosts; None if it was not measured.
        workflows: the results of the workflows that jobs name.
        attempts: the attempts of jobs, if jobs were interrupted.
        events: the events of hosts with their times.
        power: what is known for the metrics of electricity.
    """

    rows: Sequence[JobRow]
    hosts: int
    users: Mapping[str, Any] | None = None
    consumed_joules: float | None = None
    workflows: Sequence[WorkflowResult] = ()
    attempts: Sequence[AttemptReport] = ()
    events: Sequence[TimedHostEvent] = ()
    power: KnownPower = KnownPower()

    def metrics(self, measure: Measure, roots: Mapping[str, str], more: Sequence[OwnMetric] = ()) -> dict[str, float]:
        """The known metrics by their names.

        Args:
            measure: how to compute them.
            roots: the folders of the files that define metrics, and of traces, by their digests.
            more: further metrics of your own, already loaded.

        Raises:
            InputError: a metric of a file cannot be computed, or a trace cannot be read or is too short.
            OSError: a trace cannot be read.
        """
        settings: Any = dict(measure.settings)
        own = [*(load_metric(os.path.join(roots[each.files], each.target)) for each in measure.own), *more]
        found = measured(
            self.rows,
            self.hosts,
            users=self.users,
            consumed_joules=self.consumed_joules,
            energy=self.power.energy,
            attempts=self.attempts,
            events=self.events,
            electricity=electricity_of(measure, roots),
            cores=self.power.cores,
            allocations=self.power.allocations,
            own=own,
            **settings,
        )
        known = {name: value for name, value in found.flat().items() if not math.isnan(value)}
        return {**known, **self._of_workflows(settings)}

    def _of_workflows(self, settings: Mapping[str, float]) -> dict[str, float]:
        """The metrics of the workflows that arrived in the measured time."""
        if not self.workflows:
            return {}
        jobs = [job for row in self.rows if (job := JobTimes.of(row)) is not None]
        rejected = [row.submission_time for row in self.rows if row.starting_time is None]
        shares = settings.get("warm_up", 0.0), settings.get("cool_down", 0.0)
        time = MeasuredTime.between(jobs, rejected, *shares).within(settings.get("begin"), settings.get("end"))
        return workflow_means(each for each in self.workflows if time.has(each.arrival))


def measures_of(
    what: Measurable, measures: Iterable[Measure], roots: Mapping[str, str], *, lenient: bool = False
) -> dict[str, dict[str, float]]:
    """The metrics of each measure, by its key.

    Args:
        what: the data of a run.
        measures: the measures.
        roots: the folders of the files that they need, by their digests.
        lenient: whether a measure whose trace is too short is left out. The run need not be simulated again then.

    Raises:
        InputError: a metric cannot be computed.
    """
    found = {}
    for each in measures:
        try:
            found[each.key] = what.metrics(each, roots)
        except TraceTooShort:
            if not lenient:
                raise
    return found


def measure_again(
    argument: tuple[str, int, tuple[Measure, ...]], shared: Mapping[str, StudyFiles], scratch: str
) -> dict[str, dict[str, float]] | str:
    """Measure a run from its files.

    Args:
        argument: the folder of the run, the number of its hosts, and the measures.
        shared: the files that define metrics, by their digests.
        scratch: an empty folder.

    Returns:
        The metrics by the keys of the measures; or the reason why the run cannot be measured, as a sentence: its jobs
        are missing or cannot be read, a metric cannot be computed, or the package for Parquet is missing.
    """
    folder, hosts, measures = argument
    try:
        roots = {
            digest: files.located(os.path.join(os.path.dirname(scratch), "files")) for digest, files in shared.items()
        }
        return measures_of(_kept(folder, hosts), measures, roots)
    except StudyError as error:
        return error.reason
    except (InputError, OSError, PackageMissing) as error:
        return str(error)


def with_metrics(rows: Rows, own: Sequence[OwnMetric]) -> Rows:
    """The same rows with more metrics, computed from the files of each run, with its own warm-up and cool-down.

    Args:
        rows: the rows of a study or a store.
        own: metrics of your own, see `batprotocol.simulator.metric`.

    Raises:
        InputError: a metric cannot be computed.
        StudyError: a run has no jobs.
        OSError: its files cannot be read.
    """
    if not own:
        return rows
    about = _about(own)
    found = []
    for row in rows:
        measure = Measure(row.measure.settings, (*row.measure.own, *about), row.measure.traces)
        metrics = row.metrics
        if row.state == DONE:
            what = _kept(row.folder, row.hosts)
            metrics = {**metrics, **what.metrics(Measure(row.measure.settings), {}, own)}
        found.append(msgspec.structs.replace(row, metrics=metrics, measure=measure))
    return Rows(found)


def with_groups(rows: Rows, by: str, own: Sequence[OwnMetric] = ()) -> Rows:
    """A row for each group of jobs of each run: `by` is one more axis. The metrics are those of the group.

    They are computed from the files of each run, with its own warm-up, cool-down and tau. Metrics that files of the
    study define, and classes of jobs, are left out, and so are carbon and costs if a trace has changed since. A failed
    run has one row, without a group. `Row.jobs` still has all jobs of the run.

    Args:
        rows: the rows of a study or a store.
        by: `partition`, `qos`, `account`, `size`, `user` or `workflow`, see `batprotocol.simulator.GROUPINGS`.
        own: metrics of your own, already loaded.

    Raises:
        InputError: there is no such way to group jobs, the study has an axis of this name, or a file cannot be used.
        StudyError: a run has no jobs.
        OSError: its files cannot be read.
    """
    if by in rows.axes:
        raise InputError(f"the study has an axis {by}, and its jobs cannot be grouped by {by}, too: rename that axis")
    found = []
    for row in rows:
        measure = Measure(row.measure.settings, tuple(_about(own)), row.measure.traces)
        if row.state != DONE:
            found.append(msgspec.structs.replace(row, axes={**row.axes, by: None}, measure=measure))
            continue
        settings: Any = {name: value for name, value in row.measure.settings.items() if name not in ("wide", "long")}
        what = _kept(row.folder, row.hosts)
        groups = grouped(
            what.rows,
            what.hosts,
            by,
            groups_in(row.folder),
            users=what.users,
            attempts=what.attempts,
            electricity=known_electricity(row.measure),
            cores=what.power.cores,
            allocations=what.power.allocations,
            own=own,
            **settings,
        )
        workflows = {each.name: each for each in what.workflows} if by == "workflow" else {}
        for group, metrics in groups.items():
            more = workflow_means([workflows[group]]) if group in workflows else {}
            axes = {**row.axes, by: group}
            found.append(msgspec.structs.replace(row, axes=axes, metrics={**metrics.flat(), **more}, measure=measure))
    return Rows(found)


def _about(own: Sequence[OwnMetric]) -> list[OwnMetricFile]:
    """A description of metrics of your own."""
    return [
        OwnMetricFile(each.target, "", each.name, each.label, each.definition, each.unit, each.better) for each in own
    ]


def _kept(folder: str, hosts: int) -> Measurable:
    """The data of a run in its folder."""
    power = power_beside(os.path.join(folder, ""))
    joules = None
    if power.energy is not None:
        with open(os.path.join(folder, _TOTALS), "rb") as file:
            joules = float(msgspec.json.decode(file.read().replace(b"-nan", b"null"))["consumed_joules"])
    attempts, events = failures_in(folder)
    return Measurable(
        rows=tuple(jobs_in(folder)),
        hosts=hosts,
        users=users_in(folder),
        consumed_joules=joules,
        workflows=workflows_in(folder),
        attempts=attempts,
        events=events,
        power=power,
    )


# The offered load of each workload of a study, as its runs measured it.


_AXES: Final = tuple(
    name
    for name, key in KEYS.items()
    if key.kind in ("input", "change", "machine") and name not in ("scheduler", "seed", "events", "failures")
)
"""The axes that decide the offered load. Seeds draw the same workload anew."""
_PARTS: Final = ("warm_up", "cool_down", "begin", "end")


class WorkloadLoad(NamedTuple):
    """The offered load of a workload on a platform.

    Attributes:
        name: the workload, and its values on the axes of the study with several values: `workload=log.swf jobs=0-99`.
        least: the smallest offered load of its runs.
        most: the largest one, of another seed.
        left_out: the settings of the study by which a part of each run does not count, such as `warm_up`.
    """

    name: str
    least: float
    most: float
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line for readers.

        >>> str(WorkloadLoad("workload=log.swf arrival_factor=1.2", 0.941, 0.941))
        'workload=log.swf arrival_factor=1.2: offered load 0.941'
        """
        least, most = f"{self.least:.3g}", f"{self.most:.3g}"
        of = f" in the measured part of each run ({', '.join(self.left_out)})" if self.left_out else ""
        return f"{self.name}: offered load {least if least == most else f'{least} to {most}'}{of}"


def loads_of(rows: Iterable[ResultRow]) -> list[WorkloadLoad]:
    """The offered load of each workload and platform, in the order of the rows. Runs without results do not count.

    >>> from batprotocol.studies.comparing import PlainRow
    >>> rows = [PlainRow({"workload": "w", "seed": seed}, {"offered_load": 0.5 + seed / 10}) for seed in range(3)]
    >>> [str(each) for each in loads_of(rows)]
    ['workload=w: offered load 0.5 to 0.7']
    """
    found: dict[str, list[float]] = {}
    left_out: dict[str, dict[str, None]] = {}
    rows = list(rows)
    axes = axes_of(rows)
    shown = [axis for axis in _AXES if axis == "workload" or len(axes.get(axis, ())) > 1]
    for row in rows:
        load = row.metrics.get("offered_load")
        if load is not None and load == load:
            name = " ".join(f"{axis}={label(row.axes[axis])}" for axis in shown if axis in row.axes)
            found.setdefault(name or "workload", []).append(load)
            left_out.setdefault(name or "workload", {}).update(dict.fromkeys(_left_out(row)))
    return [WorkloadLoad(name, min(loads), max(loads), tuple(left_out[name])) for name, loads in found.items()]


def _left_out(row: ResultRow) -> list[str]:
    """The settings by which a part of a run does not count."""
    settings = getattr(getattr(row, "measure", None), "settings", {})
    return [name for name in _PARTS if settings.get(name)]
