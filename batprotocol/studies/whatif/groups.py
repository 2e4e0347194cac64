"""Groups that gain or lose: the waiting times and slowdowns of users, sizes of jobs and partitions, by alternative.

Of each run, only the jobs that count are used. In each window, a group has the mean over its jobs; windows without such
a job say nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from batprotocol.errors import InputError
from batprotocol.simulator import JobRow, Workload, bounded_slowdown
from batprotocol.studies.comparing.intervals import interval

__all__ = ["KINDS", "Change", "Means", "Membership", "RunOfJobs", "changes_of", "means_of", "membership_of"]

KINDS: Final = {"user": "users", "size": "sizes of jobs", "partition": "partitions"}
"""The kinds of groups, and their names for readers."""
_MOST_GROUPS: Final = 10
"""The number of users, and of partitions, that are shown. The others are one group."""
_SIZES: Final = ((1, "1 host"), (8, "2 to 8 hosts"), (32, "9 to 32 hosts"), (128, "33 to 128 hosts"))
_LARGEST: Final = "more than 128 hosts"

Membership = Mapping[str, tuple[tuple[str, str], ...]]
"""The groups of each job, by its full name: pairs of a kind and a name."""
Means = Mapping[tuple[str, str], tuple[int, float, float]]
"""The number of jobs of each group, and their mean waiting time and bounded slowdown."""


class RunOfJobs(Protocol):
    """A run, as far as its jobs count."""

    def jobs(self) -> Iterable[JobRow]:
        """The rows of its jobs."""


class Change(NamedTuple):
    """The change for a group, as the mean over windows.

    Attributes:
        kind: the kind of the group, one of `KINDS`.
        name: the group.
        jobs: the number of its jobs that count.
        windows: the number of windows with such jobs.
        before: its mean waiting time in the baseline, in seconds.
        waiting: the change of its mean waiting time in seconds, and the ends of the interval, or None.
        slowdown: the same for its bounded slowdown.
    """

    kind: str
    name: str
    jobs: int
    windows: int
    before: float
    waiting: tuple[float, float | None, float | None]
    slowdown: tuple[float, float | None, float | None]

    @property
    def verdict(self) -> str:
        """`gains` or `loses` if the waiting time changes by more than chance, else ""."""
        _, low, high = self.waiting
        if low is None or high is None or low <= 0 <= high:
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


def means_of(run: RunOfJobs, begin: float, end: float, groups: Membership) -> Means:
    """The means of each group over the jobs of a run that count.

    Args:
        run: the run.
        begin: the time from which submissions count, in seconds.
        end: the time before which they count.
        groups: the groups of each job.
    """
    sums: dict[tuple[str, str], list[float]] = {}
    for row in run.jobs():
        start, finish, submission = row.starting_time, row.finish_time, row.submission_time
        if start is None or finish is None or not begin <= submission < end:
            continue
        slowdown = bounded_slowdown(finish - submission, finish - start)
        for group in groups.get(f"{row.workload_name}!{row.job_id}", ()):
            found = sums.setdefault(group, [0, 0.0, 0.0])
            found[0] += 1
            found[1] += start - submission
            found[2] += slowdown
    return {group: (int(count), wait / count, slow / count) for group, (count, wait, slow) in sums.items()}


def changes_of(base: Mapping[str, Means], other: Mapping[str, Means]) -> list[Change]:
    """The changes between two alternatives, for each group, with the groups that gain most first.

    Args:
        base: the means of the baseline, by windows in the order of time.
        other: the means of the alternative.

    Raises:
        InputError: the two have no window in common.
    """
    windows = [each for each in base if each in other]
    if not windows:
        raise InputError("the alternative and the baseline have no window in common")
    groups = dict.fromkeys(group for window in windows for group in base[window])
    found = []
    for kind, name in groups:
        group = kind, name
        pairs = [
            (base[window][group], other[window][group])
            for window in windows
            if group in base[window] and group in other[window]
        ]
        if not pairs:
            continue
        found.append(
            Change(
                kind=kind,
                name=name,
                jobs=sum(before[0] for before, _ in pairs),
                windows=len(pairs),
                before=math.fsum(before[1] for before, _ in pairs) / len(pairs),
                waiting=_change([after[1] - before[1] for before, after in pairs]),
                slowdown=_change([after[2] - before[2] for before, after in pairs]),
            )
        )
    kinds = list(KINDS)
    return sorted(found, key=lambda change: (kinds.index(change.kind), change.waiting[0], change.name))


def _change(differences: list[float]) -> tuple[float, float | None, float | None]:
    mean = math.fsum(differences) / len(differences)
    low, high = interval(differences, ordered=True) or (None, None)
    return mean, low, high
