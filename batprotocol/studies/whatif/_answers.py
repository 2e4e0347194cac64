"""The answer to a what-if question: each alternative compared with today's policy, simulated.

Today's policy is simulated, too, since a simulation is never the machine itself: the copy and the alternatives
have the same past and the same errors. The difference between the copy and what really happened is the model's own
error. The sign of a difference that is smaller than this error is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from batprotocol._util.grids import Grid, GridEntry
from batprotocol.errors import InputError
from batprotocol.simulator import METRICS
from batprotocol.studies.comparing import CONFIDENCE, Cell, StudyTable
from batprotocol.studies.comparing.intervals import FEWEST_WINDOWS
from batprotocol.studies.comparing.rows import joined, label
from batprotocol.studies.comparing.tables import UNKNOWABLE, load_note
from batprotocol.studies.rows import Row
from batprotocol.studies.whatif._batches import FROM_SUBMISSION, RunOfLog, facts_of, metric_of
from batprotocol.studies.whatif._conclusions import (
    Argument,
    Change,
    Cut,
    arguments_of,
    changes_of,
    difference_of,
    is_within,
    mean_of,
    membership_of,
    sums_of,
)
from batprotocol.studies.whatif._plan import ARRIVALS, RECORDED, WhatIfPlan
from batprotocol.studies.whatif._question import many_of, span_text

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


class WhatIfAnswer(msgspec.Struct, frozen=True, kw_only=True):
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

    plan: WhatIfPlan
    metrics: tuple[str, ...]
    means: StudyTable
    errors: StudyTable | None
    differences: StudyTable
    arguments: Mapping[str, Mapping[str, Argument]]
    loads: StudyTable
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
                GridEntry(f"{name}: {metric_of(metric).label}"),
                GridEntry(f"{found.strip}|"),
                GridEntry(self.conclusion(name, metric)),
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


def answer_of(plan: WhatIfPlan, rows: Iterable[Row]) -> WhatIfAnswer:
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
    return WhatIfAnswer(
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


def title_of(plan: WhatIfPlan, name: str) -> str:
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
    plan: WhatIfPlan,
    rows: Sequence[Row],
    metrics: Sequence[str],
    cells: Mapping[str, Sequence[Cell]],
    baseline: str | None = None,
    notes: tuple[str, ...] = (),
) -> StudyTable:
    """A table of values of the whole log."""
    windows = len(plan.windows)
    return StudyTable(
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


def _notes(plan: WhatIfPlan) -> tuple[str, ...]:
    if len(plan.windows) >= FEWEST_WINDOWS:
        return ()
    shorter = next(
        (text for text, seconds in (("1w", 604_800), ("1d", 86_400), ("6h", 21_600), ("1h", 3600))
         if plan.span.end - plan.span.begin >= FEWEST_WINDOWS * seconds),
        "10m",
    )  # fmt: skip
    return (f"no interval can be given for fewer than {FEWEST_WINDOWS} windows: use --windows {shorter}",)


def _loads(
    plan: WhatIfPlan, rows: Sequence[Row], runs: Mapping[str, RunOfLog], names: Sequence[str], cut: Cut
) -> StudyTable:
    """The offered load of each window on the machine as it is, for each factor of arrivals."""
    found: dict[str, RunOfLog] = {}
    for name, row in zip(names, rows, strict=True):
        is_own = label(row.axes.get("platform", plan.hosts)) == label(plan.hosts) or len(plan.machines) == 1
        if name in runs and is_own:
            found.setdefault(label(row.axes.get(ARRIVALS, 1)), runs[name])
    columns = tuple(found) if ARRIVALS in plan.axes else ()
    parts = [run.loads(cut.edges) for run in found.values()]
    return StudyTable(
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


# The assumptions on which the answer to a question rests, in sentences.


def assumptions_of(answer: WhatIfAnswer) -> list[str]:
    """The assumptions, and the limits of the numbers, as sentences."""
    plan = answer.plan
    return [
        *_of_windows(plan),
        *_of_machine(answer),
        *_of_jobs(plan),
        *_of_runs(answer),
        *_of_intervals(plan),
    ]


def _of_windows(plan: WhatIfPlan) -> Iterator[str]:
    span, windows = plan.span, plan.windows
    counted = sum(each.jobs for each in windows)
    yield (
        "The whole log is simulated once for each alternative, and then cut into "
        f"{many_of(len(windows), 'window')} of {span_text(plan.length)} (batch means). So each window begins with the "
        "running jobs, the queue and the usage that the alternative itself left, and a backlog is carried along. The "
        "numbers are those of the whole log. They do not depend on the windows; intervals do."
    )
    yield (
        f"{counted:,} of {many_of(len(plan.workload), 'job')} count. The first {span_text(span.begin - span.first)} of "
        "the log are a warm-up, whose jobs are simulated and do not count."
        if span.begin > span.first
        else f"{counted:,} of {many_of(len(plan.workload), 'job')} count, without a warm-up."
    )
    yield (
        "The log does not say which jobs ran and waited when it began. In the simulation, the machine is empty then, "
        "for today's policy and for all others. A queue that is older than the log, and needs longer than the warm-up, "
        "is not in the numbers."
    )
    if plan.outside:
        yield f"{many_of(plan.outside, 'job')} of the log {_are(plan.outside)} in the warm-up or the cool-down."


def _of_machine(answer: WhatIfAnswer) -> Iterator[str]:
    plan = answer.plan
    if plan.platform:
        yield f"The machine is the platform {plan.platform}, with {many_of(plan.hosts, 'host')}."
    else:
        yield f"The machine has {many_of(plan.hosts, 'equal host')}, without a network, partitions and failures."
    if plan.files:
        yield "Machines with other numbers of hosts have hosts of the same kinds, in the same shares."
    for each in plan.remarks:
        yield f"{each[:1].upper()}{each[1:]}."
    if plan.has_watts:
        yield "Energy is that of all hosts in the time of each window, by the watts of the platform."
    else:
        yield "Energy is not measured: the platform has no watts."
    sizes = [plan.workload.record(place).resources for place in range(len(plan.workload))]
    for count in plan.machines.values():
        larger = sum(size > count for size in sizes)
        if larger:
            many = f"{many_of(larger, 'job')} of the log {_are(larger)}"
            yield f"{many} larger than {count:,} hosts, and not simulated there."
    for name, count in answer.not_simulated.items():
        yield f"With {answer.titles[name]}, {many_of(count, 'job')} that would count did not run."


def _of_jobs(plan: WhatIfPlan) -> Iterator[str]:
    yield (
        "A job waits from the moment at which it could have started: when the log says that it was eligible, and after "
        "the jobs that it waits for. A simulation does not know it before that, unless it waits for other jobs."
    )
    yield (
        "Each job runs for as long as in the log, with any policy and on any machine, and users submit the same jobs "
        "at the same times, however long they wait."
    )
    if plan.partial:
        yield (
            f"{many_of(plan.partial, 'job')} {_asks(plan.partial)} for parts of hosts. Utilisation and offered load "
            "count the share of the cores of hosts that jobs take."
        )
    if ARRIVALS in plan.axes:
        yield (
            "Arrivals × 1.1 means that the times between submissions are divided by 1.1: jobs come in 1/1.1 of the "
            "time. It is a factor, not the offered load."
        )
    sentences = {
        "asked": "With asked estimates, policies expect a job to run for the time that its user asked for.",
        "exact": "With exact estimates, policies know how long each job runs.",
        "predicted": "With predicted estimates, policies expect the mean of the last two jobs of the same user, at "
        "most the time that was asked for (Tsafrir, Etsion and Feitelson, TPDS 18, 2007).",
    }
    yield from (sentences[each] for each in plan.keys["estimates"])
    for note in plan.notes:
        yield f"About the log: {note}."


def _of_runs(answer: WhatIfAnswer) -> Iterator[str]:
    plan = answer.plan
    today = answer.titles[plan.baseline]
    if plan.has_starts:
        why = (
            "nobody said what the machine has, so this is an assumption (--today names another one)"
            if plan.is_assumed
            else "today's policy"
        )
        yield f"The baseline is {today}, simulated: {why}. It has the same past as the alternatives."
        yield (
            f"The policy {RECORDED} is the log itself: jobs start when and where the log says that they did, unless "
            "hosts that the log gives to a job are still busy. The model's own error is the baseline minus this. If a "
            "difference is not larger, its sign is unknown."
        )
    else:
        what = "the first policy" if plan.is_assumed else "today's policy"
        yield f"The log has no starts of jobs, so the baseline is {what}: {today}. The model's own error is unknown."
    if answer.failed:
        yield f"{answer.failed:,} of {many_of(answer.runs, 'run')} failed and are missing, with their pairs."


def _of_intervals(plan: WhatIfPlan) -> Iterator[str]:
    if len(plan.windows) < FEWEST_WINDOWS:
        yield (
            f"No interval can be given: that takes at least {FEWEST_WINDOWS} windows, and there "
            f"{_are(len(plan.windows))} {len(plan.windows)}. Differences may be chance."
        )
        return
    yield (
        "A mean is over all jobs that count, so windows with more jobs count more. Its interval is that of a ratio of "
        "sums over windows (Cochran, Sampling techniques, 1977), and differences are compared in pairs by window."
    )
    yield (
        "Intervals are for 95 of 100 cases if windows are long enough to forget the one before. Each is the widest of "
        "those from the windows, and from two, four... of them joined, as long as ten are left. On generated logs of "
        "six weeks with a load of 0.7 to 1.05, they contained the mean of other logs in 80 to 91 of 100 cases. "
        "Windows that follow one another may be alike, "
        "so they count as fewer independent ones, by the autocorrelation of neighbours (Bayley and Hammersley, 1946). "
        "Intervals reach farther to the side on which windows are farther off the mean (Zou and Donner, 2008)."
    )
    yield "Intervals are not corrected for the number of comparisons: of 20, one leaves out 0 by chance alone."


def _asks(count: int) -> str:
    return "asks" if count == 1 else "ask"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
