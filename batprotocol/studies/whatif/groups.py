"""Groups that gain or lose: the waiting times and slowdowns of users, sizes of jobs and partitions, by alternative.

Of each run, only the jobs that count are used. The mean of a group is over its jobs of the whole log, and its interval
is that of the windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.simulator import Workload
from batprotocol.studies.whatif.batches import RunJob
from batprotocol.studies.whatif.conclusions import is_within, widest_difference

__all__ = ["KINDS", "Change", "Membership", "Sums", "changes_of", "membership_of", "sums_of"]

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


class _Extra(msgspec.Struct, gc=False):
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


def _extra(text: str | None) -> _Extra:
    try:
        return msgspec.json.decode(text or "{}", type=_Extra)
    except (msgspec.DecodeError, RecursionError):
        return _Extra()


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
            mean = _mean(before)
            real = None if recorded is None or group not in recorded else _mean(recorded[group])
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


def _mean(windows: Sequence[tuple[int, float, float]]) -> float:
    return math.fsum(wait for _, wait, _ in windows) / sum(count for count, _, _ in windows)


def _change(
    before: Sequence[tuple[int, float, float]], after: Sequence[tuple[int, float, float]], place: int
) -> tuple[float, float | None, float | None]:
    """The change of a mean over jobs; windows without a job of the group say nothing about it."""
    pairs = [(one, two) for one, two in zip(after, before, strict=True) if one[0] or two[0]]
    ones, twos = ([(each[place], each[0]) for each in side] for side in zip(*pairs, strict=True))
    found = widest_difference(ones, twos)
    return found.value, found.low, found.high
