"""Rows of one job become its attempts. A job that was requeued has a row for each time that it waited and ran."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob

__all__ = ["Held", "merged"]

_ENDED: Final = frozenset(
    (
        JobState.COMPLETED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.TIMEOUT,
        JobState.OUT_OF_MEMORY,
        JobState.DEADLINE,
    )
)
"""The states of jobs that ended without an interruption."""
_KNOWN_AFTER: Final = 3600.0
"""Seconds after such an end in which a job can still run again: twelve times Slurm's MinJobAge."""
_AGAIN_AFTER: Final = 30 * 86400.0
"""The same after another end. The log may have the end of a job long before it waits again, if a node was lost."""


class Held:
    """Jobs whose rows have not all come.

    Args:
        rows: the ids that have several rows, with the number of their rows.
        left_out: where it counts rows that say the same again.
    """

    def __init__(self, rows: dict[str, int], left_out: LeftOut) -> None:
        self._rows = rows
        self._left_out = left_out
        self._jobs: dict[str, list[LoggedJob]] = {}
        self._come: dict[str, int] = {}

    def add(self, key: str, jobs: Sequence[LoggedJob]) -> Sequence[LoggedJob]:
        """Take the jobs of a row with this id. It returns jobs whose rows have all come, if this row is the last."""
        waiting = self._jobs.setdefault(key, [])
        waiting.extend(jobs)
        self._come[key] = come = self._come.get(key, 0) + 1
        if come < self._rows[key]:
            return ()
        del self._jobs[key], self._come[key]
        return merged(waiting, self._left_out)

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs of which rows were expected that did not come."""
        while self._jobs:
            yield from merged(self._jobs.pop(next(iter(self._jobs))), self._left_out)


def merged(jobs: Sequence[LoggedJob], left_out: LeftOut) -> list[LoggedJob]:
    """The jobs of rows with one id: one with all attempts, or several, as ids are used again some day."""
    found: list[LoggedJob] = []
    kinds: dict[tuple[str, str | None, str | None], list[LoggedJob]] = {}
    for job in jobs:
        kinds.setdefault((job.id, job.user, job.name), []).append(job)
    ids: dict[str, int] = {}
    for (id, _, _), rows in kinds.items():
        for attempts in _divided(rows):
            ids[id] = ids.get(id, 0) + 1
            job = _one(attempts, left_out)
            if ids[id] > 1:
                left_out.value(
                    "another job has the same JobID: the id of this one was extended by its number", job.line
                )
                job = replace(job, id=f"{id}~{ids[id]}")
            found.append(job)
    return found


def _divided(rows: list[LoggedJob]) -> Iterator[list[LoggedJob]]:
    """The rows of each job, of rows with one id, user and name."""
    rows.sort(key=lambda job: _order(job.first))
    begin = 0
    for place in range(1, len(rows)):
        if _is_another(rows[place - 1].last, rows[place].first):
            yield rows[begin:place]
            begin = place
    yield rows[begin:]


def _is_another(before: Attempt, attempt: Attempt) -> bool:
    """Whether an attempt is that of another job than the one before it.

    A job that runs again is submitted again at the moment when it stops: at once, or, if it was not interrupted, for as
    long as the resource manager knows it, which is some minutes (MinJobAge of Slurm). LSF keeps its first submission.
    """
    if attempt.submitted == before.submitted:
        return False
    last = before.submitted if before.started is None else before.started
    gap = attempt.submitted - (last if before.ended is None else before.ended)
    return gap > (_KNOWN_AFTER if before.state in _ENDED else _AGAIN_AFTER)


def _one(rows: list[LoggedJob], left_out: LeftOut) -> LoggedJob:
    if len(rows) == 1:
        return rows[0]
    attempts: list[Attempt] = []
    for before, job in zip([None, *rows], rows, strict=False):
        if before is not None and _is_same(before.last, job.first):
            left_out.row("the row says the same again, or less: the log has it twice", min(job.line, before.line))
            attempts.pop()
        attempts.extend(job.attempts)
    last = rows[-1]
    ran = next((job for job in reversed(rows) if job.last.started is not None), last)
    return replace(
        last,
        attempts=_submitted_again(attempts),
        line=min(job.line for job in rows),
        host_count=ran.host_count,
        cores=ran.cores,
        memory=ran.memory,
        gres=ran.gres,
    )


def _submitted_again(attempts: list[Attempt]) -> tuple[Attempt, ...]:
    """The attempts. If the log keeps the first submission, as LSF does, the next one waits from the end before it."""
    found = attempts[:1]
    for before, attempt in itertools.pairwise(attempts):
        begin = attempt.ended if attempt.started is None else attempt.started
        again = before.ended if before.submitted == attempt.submitted else None
        is_known = again is not None and attempt.submitted <= again <= (math.inf if begin is None else begin)
        found.append(replace(attempt, submitted=again) if is_known else attempt)
    return tuple(found)


def _order(attempt: Attempt) -> tuple[float, float, bool, float]:
    """Attempts in order; of two rows for one attempt, the one that was written later is the second."""
    ended = -math.inf if attempt.ended is None else attempt.ended
    moment = ended if attempt.started is None else attempt.started
    return attempt.submitted, moment, attempt.ended is not None, ended


def _is_same(one: Attempt, two: Attempt) -> bool:
    """Whether two rows are of one attempt: the first may have been written while it waited or ran."""
    if one.submitted != two.submitted:
        return False
    return one.started == two.started or (one.started is None and one.ended is None)
