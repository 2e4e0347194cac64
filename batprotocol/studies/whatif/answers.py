"""The answer to a what-if question: each alternative compared with the baseline, window by window.

The numbers are those of `table`, which `batproto study table` prints, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from batprotocol.simulator import METRICS
from batprotocol.studies.comparing import Table, table
from batprotocol.studies.comparing.captions import load_note
from batprotocol.studies.comparing.rows import joined, label, select
from batprotocol.studies.store import Row
from batprotocol.studies.whatif.groups import Change, Means, changes_of, means_of, membership_of
from batprotocol.studies.whatif.plan import ARRIVALS, Plan

__all__ = ["SHOWN", "Answer", "answer_of", "title_of"]

SHOWN: Final = ("mean_waiting_time", "p95_waiting_time", "mean_bounded_slowdown", "utilisation", "consumed_joules")
"""The metrics of a report, as far as runs have them."""
_WORDS: Final = {
    "scheduler": "{}",
    ARRIVALS: "arrivals × {}",
    "platform": "{} hosts",
    "estimates": "{} estimates",
}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a what-if question.

    Attributes:
        plan: the plan of the study.
        metrics: the names of the metrics.
        means: the mean of each metric, for each alternative.
        differences: the differences to the baseline, in pairs by window.
        loads: the offered load of each window on the machine as it is, for each factor of arrivals.
        warning: a sentence on runs that are not steady, or "".
        titles: the alternatives in words, by their names in the tables.
        changes: for each alternative but the baseline, who gains and who loses.
        not_simulated: for each alternative, the number of jobs that count but did not run, if there are any.
        failed: the number of runs that failed.
        runs: the number of all runs.
    """

    plan: Plan
    metrics: tuple[str, ...]
    means: Table
    differences: Table
    loads: Table
    warning: str
    titles: Mapping[str, str]
    changes: Mapping[str, Sequence[Change]]
    not_simulated: Mapping[str, int]
    failed: int
    runs: int

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The names of the alternatives, without the baseline."""
        return tuple(name for name in self.differences.rows if name != self.plan.baseline)


def answer_of(plan: Plan, rows: Iterable[Row]) -> Answer:
    """The answer that the runs of a study give.

    Args:
        plan: the plan of the study.
        rows: its runs.

    Raises:
        InputError: no run of the baseline, or of any alternative, has ended.
        StudyError: the jobs of a run are missing.
        OSError: they cannot be read.
    """
    kept = list(rows)
    metrics = tuple(name for name in SHOWN if name in METRICS and any(name in row.metrics for row in kept))
    axes = list(plan.axes)
    means = table(kept, rows=axes, metric=list(metrics))
    differences = table(kept, rows=axes, metric=list(metrics), baseline=plan.baseline)
    own = {"scheduler": plan.question.policies[0], "platform": str(plan.hosts), "estimates": "asked"}
    of_the_machine = select(kept, {axis: [value] for axis, value in own.items()})
    loads = table(
        of_the_machine, rows="window", columns=ARRIVALS if ARRIVALS in plan.axes else None, metric="offered_load"
    )
    name, alternatives = joined(kept, axes)
    groups = membership_of(plan.workload)
    windows: dict[str, dict[str, Means]] = {}
    missing: dict[str, int] = {}
    for row, original in zip(alternatives, kept, strict=True):
        place = label(row.axes[name])
        settings = original.measure.settings
        missing[place] = missing.get(place, 0) + int(original.metrics.get("nb_rejected", 0))
        if original.metrics:
            window = str(original.axes["window"])
            means_by_group = means_of(original, settings["begin"], settings["end"], groups)
            windows.setdefault(place, {})[window] = means_by_group
    order = [each.label for each in plan.windows]
    ordered = {place: {each: found[each] for each in order if each in found} for place, found in windows.items()}
    base = ordered.get(plan.baseline, {})
    return Answer(
        plan=plan,
        metrics=metrics,
        means=means,
        differences=differences,
        loads=loads,
        warning=load_note(kept),
        titles={place: title_of(plan, place) for place in differences.rows},
        changes={
            place: changes_of(base, ordered[place])
            for place in differences.rows
            if place != plan.baseline and place in ordered and base
        },
        not_simulated={place: count for place, count in missing.items() if count},
        failed=sum(not row.metrics for row in kept),
        runs=len(kept),
    )


def title_of(plan: Plan, name: str) -> str:
    """An alternative in words: `easy, arrivals × 1.1, 70 hosts, exact estimates`."""
    values = name.rsplit(", ", len(plan.axes) - 1)
    return ", ".join(_WORDS[axis].format(value) for axis, value in zip(plan.axes, values, strict=True))
