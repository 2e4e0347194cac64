"""Measure runs: when they end, or later from their files. Nothing runs again for that.

It must not know of studies, nor of stores: the folder of a run has all the data that it needs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, PackageMissing, StudyError
from batprotocol.simulator import JobRow, OwnMetric, load_metric, measured, read_energy
from batprotocol.studies.files import Files
from batprotocol.studies.outcomes import DONE
from batprotocol.studies.runs import Measure, OwnMetricFile
from batprotocol.studies.store.jobs import jobs_in, users_in
from batprotocol.studies.store.rows import Rows

__all__ = ["ENERGY", "FUNCTION", "Measurable", "measure_again", "measures_of", "with_metrics"]

FUNCTION: Final = "batprotocol.studies.measuring:measure_again"
"""The function that engines call to measure runs from their files."""
ENERGY: Final = "consumed_energy.csv"
_TOTALS: Final = "schedule.json"


class Measurable(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a run that metrics are computed from.

    Args:
        rows: the jobs, with the six decimals of a jobs.csv.
        hosts: the number of computation hosts.
        users: the user of each job, by its full name; None if users are unknown.
        consumed_joules: the energy of all hosts; None if it was not measured.
        energy: the energy of all hosts since time 0, in joules, over time; None if it was not measured.
    """

    rows: Sequence[JobRow]
    hosts: int
    users: Mapping[str, Any] | None = None
    consumed_joules: float | None = None
    energy: Sequence[tuple[float, float]] | None = None

    def metrics(self, measure: Measure, roots: Mapping[str, str], more: Sequence[OwnMetric] = ()) -> dict[str, float]:
        """The known metrics by their names.

        Args:
            measure: how to compute them.
            roots: the folders of the files that define metrics, by their digests.
            more: further metrics of your own, already loaded.

        Raises:
            InputError: a metric of a file cannot be computed.
        """
        settings: Any = dict(measure.settings)
        own = [*(load_metric(os.path.join(roots[each.files], each.target)) for each in measure.own), *more]
        found = measured(
            self.rows,
            self.hosts,
            users=self.users,
            consumed_joules=self.consumed_joules,
            energy=self.energy,
            own=own,
            **settings,
        )
        return {name: value for name, value in found.flat().items() if not math.isnan(value)}


def measures_of(what: Measurable, measures: Iterable[Measure], roots: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The metrics of each measure, by its key."""
    return {each.key: what.metrics(each, roots) for each in measures}


def measure_again(
    argument: tuple[str, int, tuple[Measure, ...]], shared: Mapping[str, Files], scratch: str
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
    about = [
        OwnMetricFile(each.target, "", each.name, each.label, each.definition, each.unit, each.better) for each in own
    ]
    found = []
    for row in rows:
        measure = Measure(row.measure.settings, (*row.measure.own, *about))
        metrics = row.metrics
        if row.state == DONE:
            what = _kept(row.folder, row.hosts)
            metrics = {**metrics, **what.metrics(Measure(row.measure.settings), {}, own)}
        found.append(msgspec.structs.replace(row, metrics=metrics, measure=measure))
    return Rows(found)


def _kept(folder: str, hosts: int) -> Measurable:
    """The data of a run in its folder."""
    path = os.path.join(folder, ENERGY)
    joules = None
    if os.path.isfile(path):
        with open(os.path.join(folder, _TOTALS), "rb") as file:
            joules = float(msgspec.json.decode(file.read().replace(b"-nan", b"null"))["consumed_joules"])
    return Measurable(
        rows=tuple(jobs_in(folder)),
        hosts=hosts,
        users=users_in(folder),
        consumed_joules=joules,
        energy=None if joules is None else tuple(read_energy(path)),
    )
