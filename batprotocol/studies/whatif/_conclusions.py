"""The difference between two runs of a log, what speaks against it, and the groups that gain or lose.

The difference is that of the whole log, so it does not depend on the windows: only its interval does. That is the
widest of those from the windows, and from two, four... of them joined, as long as at least ten are left. `arguments_of`
draws the same conclusion in other ways: from windows of half and of double the length, after a longer warm-up, and
without the windows that weigh most. A conclusion that changes is not one to buy hosts by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, starmap
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import Workload
from batprotocol.studies.comparing.intervals import (
    ANY,
    CONFIDENCE,
    FEWEST_WINDOWS,
    Estimate,
    Fit,
    difference_of_ratios,
    ratio,
)
from batprotocol.studies.comparing.tables import Cell
from batprotocol.studies.whatif._batches import Parts, RunJob, RunOfLog, metric_of
from batprotocol.studies.whatif._question import LogSpan, span_text, windows_of

MARKS: Final = 10
"""The number of signs in a strip: with more windows, several share one."""
_P95: Final = "p95_waiting_time"
_OUTLIERS: Final = 20
"""One of twenty windows is left out as an outlier, at least one."""
_EQUAL: Final = 1e-9
_WORDS: Final = {1: "above 0", -1: "below 0", 0: "may be chance", None: "too few windows"}


class Cut(NamedTuple):
    """The ends of windows that follow one another, in seconds of the log, and whether each is left out."""

    edges: Sequence[float]
    left_out: frozenset[int] = frozenset()

    @classmethod
    def of(cls, begin: float, end: float, length: float) -> Cut:
        """The windows of this length."""
        windows = windows_of((), begin, end, length)
        return cls([*(each.begin for each in windows), end])

    @property
    def windows(self) -> int:
        """The number of windows that count."""
        return len(self.edges) - 1 - len(self.left_out)


class Argument(NamedTuple):
    """The evidence for or against a conclusion.

    Attributes:
        strip: the sign of the difference in each window, or in each of ten groups of windows: `+`, `-`, `=`, or ` `
            without jobs.
        sign: the conclusion: 1 or -1 by more than chance, 0: it may be chance; None: there are too few windows.
        others: the other conclusions, by what they are drawn from.
    """

    strip: str
    sign: int | None
    others: tuple[tuple[str, int | None], ...]

    @property
    def breaking(self) -> tuple[str, ...]:
        """The cuts that lead to another conclusion."""
        return tuple(what for what, sign in self.others if sign is not None and sign != self.sign)

    @property
    def text(self) -> str:
        """One line: whether the conclusion holds, or which one breaks it."""
        if self.sign is None:
            return "no conclusion: too few windows"
        if self.sign == 0 and not set(self.strip) - {"=", " "}:
            return "equal over the whole log"
        known = [what for what, sign in self.others if sign is not None]
        if not self.breaking:
            what = "may be chance" if self.sign == 0 else "holds"
            return f"{what} under all of these" if known else f"{what}; nothing else could be tried"
        words = dict(self.others)
        return "; ".join(f"broken by {what}: {_WORDS[words[what]]}" for what in self.breaking)


def mean_of(run: RunOfLog, metric: str, cut: Cut) -> Cell:
    """A metric of a run of the log, with its interval."""
    try:
        found = _mean(run, metric, cut)
    except InputError:  # no job counts
        return Cell()
    return Cell(mean=found.value, low=found.low, high=found.high, draws=cut.windows, count=cut.windows)


def _mean(run: RunOfLog, metric: str, cut: Cut) -> Estimate:
    domain = metric_of(metric).domain
    if metric == _P95:
        every = [run.percentiles(edges) for edges in _joined(cut.edges)]
        return _widest(_of_pseudovalues(whole, without, domain) for whole, without, _ in every)
    parts = run.parts(metric, cut.edges)
    if domain[1] == 1.0:  # readings have six decimals, so a full window may seem to be fuller
        parts = [(min(over, under), under) for over, under in parts]
    return _widest(
        ratio([over for over, _ in joined], [under for _, under in joined], domain=domain)
        for joined in _joined_parts(parts)
    )


def _widest(estimates: Iterable[Estimate]) -> Estimate:
    """The estimate with the widest interval, of the same windows joined in several ways.

    Short windows do not show how long queues last: windows that follow one another are alike, and few of them do not
    show how much. Longer ones show it, and are fewer. An interval that covers all of them is on the safe side.
    """
    found = list(estimates)
    widest = max(found, key=lambda each: -1.0 if each.low is None or each.high is None else each.high - each.low)
    return widest._replace(p=max((each.p for each in found if each.p is not None), default=None))


def _joined(edges: Sequence[float]) -> Iterator[Sequence[float]]:
    """The ends of the windows, then of two, four... joined, as long as at least ten are left."""
    yield edges
    groups = (len(edges) - 1) // 2
    while groups >= MARKS:
        yield _grouped(edges, groups)
        groups //= 2


def _grouped(edges: Sequence[float], groups: int) -> Sequence[float]:
    """The ends of so few groups of windows that follow one another, of nearly the same number of windows each."""
    count = len(edges) - 1
    return [edges[place * count // groups] for place in range(groups + 1)]


def _joined_parts(parts: Parts) -> Iterator[Parts]:
    """The sums of the windows, then of two, four... joined, as long as at least ten are left."""
    for places in _joined(range(len(parts) + 1)):
        yield [
            (math.fsum(over for over, _ in parts[first:last]), math.fsum(under for _, under in parts[first:last]))
            for first, last in pairwise(map(int, places))
        ]


def difference_of(run: RunOfLog, base: RunOfLog, metric: str, cut: Cut) -> Cell:
    """A metric of a run minus that of the baseline, with its interval."""
    try:
        found = _difference(run, base, metric, cut)
    except InputError:
        return Cell()
    better = metric_of(metric).better
    is_sure = found.p is not None and found.p < 1 - CONFIDENCE
    gains = found.value < 0 if better == "less" else found.value > 0
    return Cell(
        mean=found.value,
        low=found.low,
        high=found.high,
        draws=cut.windows,
        count=cut.windows,
        best=is_sure and gains and better is not None,
        p=found.p,
    )


def _difference(run: RunOfLog, base: RunOfLog, metric: str, cut: Cut) -> Estimate:
    """The difference over the windows that are not left out."""
    if metric == _P95:
        return _widest(_difference_of_percentiles(run, base, edges) for edges in _joined(cut.edges))
    one, two = (_kept(each.parts(metric, cut.edges), cut) for each in (run, base))
    return widest_difference(one, two)


def widest_difference(one: Parts, other: Parts) -> Estimate:
    """The difference between two ratios of sums over windows, with the widest interval of these and of joined windows.

    Args:
        one: a numerator and a denominator for each window, in the order of time.
        other: the same for the second ratio.
    """
    return _widest(starmap(difference_of_ratios, zip(_joined_parts(one), _joined_parts(other), strict=True)))


def _difference_of_percentiles(run: RunOfLog, base: RunOfLog, edges: Sequence[float]) -> Estimate:
    (whole, without, own), (other, missing, others) = (each.percentiles(edges) for each in (run, base))
    apart = [one - two for one, two in zip(without, missing, strict=True)]
    signs = [one - two for one, two in zip(own, others, strict=True) if one is not None and two is not None]
    return _of_pseudovalues(whole - other, apart, ANY, signs)


def _kept(parts: Parts, cut: Cut) -> Parts:
    return [part for place, part in enumerate(parts) if place not in cut.left_out]


def _of_pseudovalues(
    whole: float, without: Sequence[float], domain: tuple[float, float], signs: Sequence[float] | None = None
) -> Estimate:
    """An estimate from those without each window: the jackknife of J. W. Tukey, 1958."""
    count = len(without)
    if math.isnan(whole):
        raise InputError("expected at least one job that ran")
    values = [count * whole - (count - 1) * each for each in without]
    if count < FEWEST_WINDOWS:
        return Estimate(whole, None, None, None, float(count))
    if max(values) - min(values) <= _EQUAL * max(1.0, abs(whole)):
        return Estimate(whole, whole, whole, 0.0 if whole else 1.0, float(count))
    fit = Fit(values, domain, True, mean=whole, signs=signs or None)
    return Estimate(whole, *fit.ends(CONFIDENCE), fit.p() if domain == ANY else None, fit.effective)


def is_within(difference: float, error: float | None) -> bool:
    """Whether a difference is not larger than the model's own error, but for rounding; then its sign is unknown."""
    return bool(error) and abs(difference) <= abs(error or 0.0) * (1 + _EQUAL)


def strip_of(run: RunOfLog, base: RunOfLog, metric: str, cut: Cut) -> str:
    """The sign of the difference in each window, or in each of ten groups of windows that follow one another."""
    edges = _grouped(cut.edges, min(len(cut.edges) - 1, MARKS))
    if metric == _P95:
        pairs = zip(run.percentiles(edges)[2], base.percentiles(edges)[2], strict=True)
    else:
        pairs = zip(
            *([a / b if b else None for a, b in each.parts(metric, edges)] for each in (run, base)), strict=True
        )
    return "".join(_mark(one, two) for one, two in pairs)


def _mark(one: float | None, two: float | None) -> str:
    if one is None or two is None:
        return " "
    return "=" if abs(one - two) <= _EQUAL * max(abs(one), abs(two)) else "+" if one > two else "-"


def arguments_of(
    run: RunOfLog, base: RunOfLog, metric: str, span: LogSpan, length: float, difference: Cell | None = None
) -> Argument:
    """The signs of a difference over time, and the conclusions from other windows.

    Args:
        run: the run of the alternative.
        base: the run of the baseline.
        metric: the metric.
        span: the part of the log that counts.
        length: the length of the windows in seconds.
        difference: that of these windows, if it is known.
    """
    cut = Cut.of(span.begin, span.end, length)

    def sign(other: Cut) -> int | None:
        return _sign(difference_of(run, base, metric, other), other)

    return Argument(
        strip_of(run, base, metric, cut),
        sign(cut) if difference is None else _sign(difference, cut),
        tuple((what, sign(other)) for what, other in _others(run, base, metric, span, length)),
    )


def _others(run: RunOfLog, base: RunOfLog, metric: str, span: LogSpan, length: float) -> Iterator[tuple[str, Cut]]:
    """Other ways to cut the log."""
    for factor in (0.5, 2.0):
        yield f"windows of {span_text(factor * length)}", Cut.of(span.begin, span.end, factor * length)
    longer = max(2 * (span.begin - span.first), (span.end - span.first) / 10)
    yield f"a warm-up of {span_text(longer)}", Cut.of(math.ceil(span.first + longer), span.end, length)
    cut = Cut.of(span.begin, span.end, length)
    if metric != _P95:
        yield "leaving out the windows that weigh most", cut._replace(left_out=_heaviest(run, base, metric, cut))


def _sign(difference: Cell, cut: Cut) -> int | None:
    """The conclusion from these windows; None if they are too few."""
    if difference.mean is None or cut.windows < FEWEST_WINDOWS:
        return None
    if difference.p is None or difference.p >= 1 - CONFIDENCE:
        return 0
    return 1 if difference.mean > 0 else -1


def _heaviest(run: RunOfLog, base: RunOfLog, metric: str, cut: Cut) -> frozenset[int]:
    """The windows that change the difference most: one of twenty, and at least one."""
    pairs = list(zip(run.parts(metric, cut.edges), base.parts(metric, cut.edges), strict=True))
    weights = [0.0] * len(pairs)
    for side, sign in ((0, 1), (1, -1)):
        size = math.fsum(pair[side][1] for pair in pairs) or 1.0
        mean = math.fsum(pair[side][0] for pair in pairs) / size
        for place, pair in enumerate(pairs):
            over, under = pair[side]
            weights[place] += sign * (over - mean * under) / size
    order = sorted(range(len(pairs)), key=lambda place: -abs(weights[place]))
    return frozenset(order[: max(len(pairs) // _OUTLIERS, 1)])


# Groups that gain or lose: the waiting times and slowdowns of users, sizes of jobs and partitions, by alternative.


KINDS: Final = {"user": "users", "size": "sizes of jobs", "partition": "partitions"}
"""The kinds of groups, and their names for readers."""
_MOST_GROUPS: Final = 10
"""The number of users, and of partitions, that are shown. The others are one group."""
_SIZES: Final = ((1, "1 host"), (8, "2 to 8 hosts"), (32, "9 to 32 hosts"), (128, "33 to 128 hosts"))
_LARGEST: Final = "more than 128 hosts"

Membership = Mapping[str, tuple[tuple[str, str], ...]]
"""The groups of each job, by its full name: pairs of a kind and a name."""
Sums = Mapping[tuple[str, str], Sequence[tuple[int, float, float]]]
"""For each group and each window, the number of jobs, and the sums of their waiting times and bounded slowdowns."""


class Change(NamedTuple):
    """The change for a group, as the mean over its jobs.

    Attributes:
        kind: the kind of the group, one of `KINDS`.
        name: the group.
        jobs: the number of its jobs that count.
        windows: the number of windows with such jobs.
        before: its mean waiting time in the baseline, in seconds.
        waiting: the change of its mean waiting time in seconds, and the ends of the interval, or None.
        slowdown: the same for its bounded slowdown.
        error: the model's own error of its mean waiting time, in seconds; None if it is unknown.
    """

    kind: str
    name: str
    jobs: int
    windows: int
    before: float
    waiting: tuple[float, float | None, float | None]
    slowdown: tuple[float, float | None, float | None]
    error: float | None = None

    @property
    def is_unknowable(self) -> bool:
        """Whether the change is not larger than the model's own error."""
        return is_within(self.waiting[0], self.error)

    @property
    def verdict(self) -> str:
        """`gains` or `loses` if the waiting time changes by more than chance and the model's own error, else ""."""
        _, low, high = self.waiting
        if low is None or high is None or low <= 0 <= high or self.is_unknowable:
            return ""
        return "gains" if high < 0 else "loses"


class _GroupsOfJob(msgspec.Struct, gc=False):
    user: Any = None
    partition: Any = None


def membership_of(workload: Workload) -> Membership:
    """The groups of the jobs of a log."""
    work: dict[str, dict[str, float]] = {"user": {}, "partition": {}}
    found: dict[str, tuple[str | None, str | None, int]] = {}
    for place in range(len(workload)):
        job = workload.record(place)
        extra = _extra(job.extra_data)
        names = {"user": extra.user, "partition": extra.partition}
        texts = {kind: None if name is None else str(name) for kind, name in names.items()}
        for kind, text in texts.items():
            if text is not None:
                work[kind][text] = work[kind].get(text, 0.0) + job.resources
        found[f"{workload.name}!{job.id}"] = texts["user"], texts["partition"], job.resources
    shown = {kind: _largest(each) for kind, each in work.items()}
    has = {kind for kind, each in work.items() if len(each) > 1}
    return {name: tuple(_groups(user, partition, size, shown, has)) for name, (user, partition, size) in found.items()}


def _extra(text: str | None) -> _GroupsOfJob:
    try:
        return msgspec.json.decode(text or "{}", type=_GroupsOfJob)
    except (msgspec.DecodeError, RecursionError):
        return _GroupsOfJob()


def _largest(work: Mapping[str, float]) -> frozenset[str]:
    """The groups that are shown; all if there are few."""
    if len(work) <= _MOST_GROUPS + 1:
        return frozenset(work)
    return frozenset(sorted(work, key=lambda name: (-work[name], name))[:_MOST_GROUPS])


def _groups(
    user: str | None, partition: str | None, size: int, shown: Mapping[str, frozenset[str]], has: set[str]
) -> Iterable[tuple[str, str]]:
    for kind, name in (("user", user), ("partition", partition)):
        if kind in has:
            yield kind, "unknown" if name is None else name if name in shown[kind] else f"other {KINDS[kind]}"
    yield "size", next((text for most, text in _SIZES if size <= most), _LARGEST)


def sums_of(windows: Sequence[Sequence[RunJob]], groups: Membership) -> Sums:
    """The sums of each group in each window of a run.

    Args:
        windows: the jobs of each window.
        groups: the groups of each job.
    """
    found: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for place, jobs in enumerate(windows):
        of_window: dict[tuple[str, str], list[RunJob]] = {}
        for job in jobs:
            for group in groups.get(job.name, ()):
                of_window.setdefault(group, []).append(job)
        for group, members in of_window.items():
            sums = math.fsum(job.waited for job in members), math.fsum(job.slowdown for job in members)
            found.setdefault(group, [(0, 0.0, 0.0)] * len(windows))[place] = (len(members), *sums)
    return found


def changes_of(base: Sums, other: Sums, recorded: Sums | None = None) -> list[Change]:
    """The changes between two alternatives, for each group, with the groups that gain most first.

    Args:
        base: the sums of the baseline.
        other: the sums of the alternative, over the same windows.
        recorded: those of what really happened; None if they are unknown.
    """
    found = []
    for group in base:
        if group in other:
            before, after = base[group], other[group]
            mean = _mean_wait(before)
            real = None if recorded is None or group not in recorded else _mean_wait(recorded[group])
            found.append(
                Change(
                    kind=group[0],
                    name=group[1],
                    jobs=sum(count for count, _, _ in before),
                    windows=sum(count > 0 for count, _, _ in before),
                    before=mean,
                    waiting=_change(before, after, 1),
                    slowdown=_change(before, after, 2),
                    error=None if real is None else mean - real,
                )
            )
    kinds = list(KINDS)
    return sorted(found, key=lambda change: (kinds.index(change.kind), change.waiting[0], change.name))


def _mean_wait(windows: Sequence[tuple[int, float, float]]) -> float:
    return math.fsum(wait for _, wait, _ in windows) / sum(count for count, _, _ in windows)


def _change(
    before: Sequence[tuple[int, float, float]], after: Sequence[tuple[int, float, float]], place: int
) -> tuple[float, float | None, float | None]:
    """The change of a mean over jobs; windows without a job of the group say nothing about it."""
    pairs = [(one, two) for one, two in zip(after, before, strict=True) if one[0] or two[0]]
    ones, twos = ([(each[place], each[0]) for each in side] for side in zip(*pairs, strict=True))
    found = widest_difference(ones, twos)
    return found.value, found.low, found.high
