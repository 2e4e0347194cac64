"""The answer to a what-if question: each alternative compared with today's policy, simulated.

Today's policy is simulated, too, since a simulation is never the machine itself: the copy and the alternatives
have the same past and the same errors. The difference between the copy and what really happened is the model's own
error. The sign of a difference that is smaller than this error is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import METRICS
from batprotocol.studies.comparing import CONFIDENCE, Cell, Table
from batprotocol.studies.comparing.captions import load_note
from batprotocol.studies.comparing.formats import Entry, Grid
from batprotocol.studies.comparing.rows import joined, label
from batprotocol.studies.comparing.series import FEWEST_WINDOWS
from batprotocol.studies.comparing.tables import UNKNOWABLE
from batprotocol.studies.store import Row
from batprotocol.studies.whatif.batches import FROM_SUBMISSION, RunOfLog, facts_of, metric_of
from batprotocol.studies.whatif.conclusions import Argument, Cut, arguments_of, difference_of, is_within, mean_of
from batprotocol.studies.whatif.groups import Change, changes_of, membership_of, sums_of
from batprotocol.studies.whatif.plan import ARRIVALS, Plan
from batprotocol.studies.whatif.windows import span_text

__all__ = ["SHOWN", "Answer", "answer_of", "title_of"]

SHOWN: Final = (
    "mean_waiting_time",
    "p95_waiting_time",
    FROM_SUBMISSION.name,
    "mean_bounded_slowdown",
    "utilisation",
    "memory_utilisation",
    "gpu_utilisation",
    "consumed_joules",
)
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
        means: each metric over the whole log, for each alternative.
        errors: the model's own error: the simulated copy of today's policy minus what really happened; None if the log
            has no starts.
        differences: the differences to the simulated copy of today's policy, over the whole log.
        arguments: what speaks for and against each difference, by the alternative and the metric.
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
    errors: Table | None
    differences: Table
    arguments: Mapping[str, Mapping[str, Argument]]
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

    def error_sentence(self) -> str:
        """The model's own error, as a sentence."""
        today = self.titles[self.plan.baseline]
        named = " (nobody said that this is today's policy: --today names it)" if self.plan.is_assumed else ""
        if self.errors is None:
            return (
                f"The model's own error is unknown: the log has no starts of jobs. All is compared with {today}{named}."
            )
        grid = self.errors.grid()
        parts = [
            f"{head} {entry.text}" for head, entry in zip(grid.header[1:], grid.rows[1][1:], strict=True) if entry.text
        ]
        said = f"The model's own error ({today}, simulated, minus what really happened): {'; '.join(parts)}{named}"
        return f"{said if said.endswith('.') else f'{said}.'}{self._nearer()}"

    def _nearer(self) -> str:
        """A sentence on the policy whose waiting times are nearer to what really happened, or ""."""
        waits = {name: row[0].mean for name, row in zip(self.means.rows, self.means.cells, strict=True)}
        happened, base = waits.get(self.plan.recorded), waits.get(self.plan.baseline)
        if happened is None or base is None:
            return ""
        apart = len(self.plan.axes) - 1
        today, *others = self.plan.baseline.rsplit(", ", apart)
        best, least = "", abs(base - happened) / 2
        for name, wait in waits.items():
            policy, *values = name.rsplit(", ", apart)
            is_other = name != self.plan.recorded and policy != today and values == others
            if is_other and wait is not None and abs(wait - happened) < least:
                best, least = policy, abs(wait - happened)
        return f" {best} is nearer to what really happened: try --today {best}." if best else ""

    def arguments_grid(self) -> Grid:
        """The signs of each difference over time, and whether other windows lead to the same conclusion."""
        rows = [
            [
                Entry(f"{name}: {metric_of(metric).label}"),
                Entry(f"{found.strip}|"),
                Entry(self.conclusion(name, metric)),
            ]
            for name, each in self.arguments.items()
            for metric, found in each.items()
        ]
        return Grid(["", "over time|", "conclusion"], rows, self.tried())

    def conclusion(self, name: str, metric: str) -> str:
        """Whether a conclusion on an alternative holds, in one line."""
        cell = self.differences.cells[self.differences.rows.index(name)][self.metrics.index(metric)]
        if cell.is_unknowable:
            return f"{UNKNOWABLE}: the model's own error is not smaller"
        return self.arguments[name][metric].text

    def tried(self) -> str:
        """The other ways in which each conclusion was drawn, as a sentence."""
        found = next((each for of in self.arguments.values() for each in of.values()), None)
        if found is None:
            return ""
        ways = [what for what, _ in found.others]
        return (
            "+ and -: the sign of the difference in each part of the log, =: equal; "
            f"other ways: {', '.join(ways[:-1])}, or {ways[-1]}"
        )


def answer_of(plan: Plan, rows: Iterable[Row]) -> Answer:
    """The answer that the runs of a study give.

    Args:
        plan: the plan of the study.
        rows: its runs.

    Raises:
        InputError: the run of the baseline, or each other run, has failed.
        StudyError: the jobs of a run are missing.
        OSError: they cannot be read.
    """
    kept = list(rows)
    axis, alternatives = joined(kept, plan.axes)
    names = [label(row.axes[axis]) for row in alternatives]
    facts = facts_of(plan.workload)
    runs = {
        name: RunOfLog(row, float(row.axes.get(ARRIVALS, 1)), facts)
        for name, row in zip(names, kept, strict=True)
        if row.metrics
    }
    base = runs.get(plan.baseline)
    if base is None or len(runs) < 2:
        raise InputError("the run of the baseline, or each other run, has failed: batproto study table has the reasons")
    metrics = [name for name in SHOWN if name in METRICS and any(name in row.metrics for row in kept)]
    if any(each.held or each.begin or each.dependency for each in facts.values()):
        metrics.insert(min(2, len(metrics)), FROM_SUBMISSION.name)
    order = [name for name in dict.fromkeys(names) if name != plan.recorded]
    order.sort(key=lambda name: name != plan.baseline)
    cut = Cut.of(plan.span.begin, plan.span.end, plan.length)
    known = runs.get(plan.recorded)
    errors = [difference_of(base, known, each, cut) for each in metrics] if known is not None else None
    found = {
        name: {each: difference_of(runs[name], base, each, cut) for each in metrics}
        for name in order
        if name in runs and name != plan.baseline
    }
    differences = {
        name: [_judged(of[each], place, errors) for place, each in enumerate(metrics)] for name, of in found.items()
    }
    own = {name: [mean_of(run, each, cut) for each in metrics] for name, run in runs.items()}
    groups = membership_of(plan.workload)
    sums = {name: sums_of(run.windows(cut.edges), groups) for name, run in runs.items()}
    return Answer(
        plan=plan,
        metrics=tuple(metrics),
        means=_table(plan, kept, metrics, {name: own[name] for name in [plan.recorded, *order] if name in own}),
        errors=None
        if errors is None
        else _table(plan, kept, metrics, {plan.recorded: own[plan.recorded], plan.baseline: errors}, plan.recorded),
        differences=_table(
            plan, kept, metrics, {plan.baseline: own[plan.baseline], **differences}, plan.baseline, _notes(plan)
        ),
        arguments={
            name: {
                each: arguments_of(runs[name], base, each, plan.span, plan.length, difference)
                for each, difference in of.items()
            }
            for name, of in found.items()
        },
        loads=_loads(plan, kept, runs, names, cut),
        warning=load_note(kept),
        titles={name: title_of(plan, name) for name in dict.fromkeys(names)},
        changes={name: changes_of(sums[plan.baseline], sums[name], sums.get(plan.recorded)) for name in differences},
        not_simulated={
            name: int(count)
            for name, row in zip(names, kept, strict=True)
            if (count := row.metrics.get("nb_rejected", 0))
        },
        failed=sum(not row.metrics for row in kept),
        runs=len(kept),
    )


def title_of(plan: Plan, name: str) -> str:
    """An alternative in words: `easy, arrivals × 1.1, 70 hosts, exact estimates`."""
    values = name.rsplit(", ", len(plan.axes) - 1)
    return ", ".join(_WORDS[axis].format(value) for axis, value in zip(plan.axes, values, strict=True))


def _judged(cell: Cell, place: int, errors: Sequence[Cell] | None) -> Cell:
    """The difference. Its sign is unknown if the model's own error is as large or larger."""
    error = None if errors is None else errors[place].mean
    if cell.mean is None or not is_within(cell.mean, error):
        return cell
    return msgspec.structs.replace(cell, best=False, is_unknowable=True)


def _table(
    plan: Plan,
    rows: Sequence[Row],
    metrics: Sequence[str],
    cells: Mapping[str, Sequence[Cell]],
    baseline: str | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """A table of values of the whole log."""
    windows = len(plan.windows)
    return Table(
        metrics=tuple(map(metric_of, metrics)),
        row_axis=", ".join(plan.axes),
        column_axis=None,
        rows=tuple(cells),
        columns=tuple(metric_of(each).label_with_unit for each in metrics),
        cells=tuple(
            tuple(msgspec.structs.replace(cell, is_baseline=name == baseline) for cell in each)
            for name, each in cells.items()
        ),
        baseline=baseline,
        confidence=CONFIDENCE,
        over={"window": windows},
        draws=("window",),
        comparisons=sum(cell.p is not None for each in cells.values() for cell in each),
        head=", ".join(plan.axes),
        sentence=f"{windows:,} window{'s' * (windows != 1)} of {span_text(plan.length)}, of one log that is simulated "
        "as a whole",
        notes=notes,
    )


def _notes(plan: Plan) -> tuple[str, ...]:
    if len(plan.windows) >= FEWEST_WINDOWS:
        return ()
    shorter = next(
        (text for text, seconds in (("1w", 604_800), ("1d", 86_400), ("6h", 21_600), ("1h", 3600))
         if plan.span.end - plan.span.begin >= FEWEST_WINDOWS * seconds),
        "10m",
    )  # fmt: skip
    return (f"no interval can be given for fewer than {FEWEST_WINDOWS} windows: use --windows {shorter}",)


def _loads(plan: Plan, rows: Sequence[Row], runs: Mapping[str, RunOfLog], names: Sequence[str], cut: Cut) -> Table:
    """The offered load of each window on the machine as it is, for each factor of arrivals."""
    found: dict[str, RunOfLog] = {}
    for name, row in zip(names, rows, strict=True):
        is_own = label(row.axes.get("platform", plan.hosts)) == label(plan.hosts) or len(plan.machines) == 1
        if name in runs and is_own:
            found.setdefault(label(row.axes.get(ARRIVALS, 1)), runs[name])
    columns = tuple(found) if ARRIVALS in plan.axes else ()
    parts = [run.loads(cut.edges) for run in found.values()]
    return Table(
        metrics=(METRICS["offered_load"],) * max(len(columns), 1),
        row_axis="window",
        column_axis=ARRIVALS if columns else None,
        rows=tuple(each.label for each in plan.windows),
        columns=columns or (METRICS["offered_load"].label_with_unit,),
        cells=tuple(
            tuple(Cell(mean=over / under if under else math.nan, draws=3, count=3) for over, under in window)
            for window in zip(*parts, strict=True)
        ),
        baseline=None,
        confidence=CONFIDENCE,
        over={},
    )
