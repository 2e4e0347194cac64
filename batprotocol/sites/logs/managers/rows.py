"""Rows of logs in any format: values that a row may lack, times in order, ids that come again, attempts of a job."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob
from batprotocol.sites.slurm.texts import MOST_DIGITS, job_id, task_numbers

__all__ = [
    "LogRow",
    "RefusedRow",
    "RepeatedIds",
    "UnfinishedJobs",
    "amount_of",
    "array_of",
    "merged_attempts",
    "moment_of",
    "number_of",
    "tasks_of",
    "text_of",
]


_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)
_LARGEST: Final = 2**53
_LATEST: Final = 220_000_000_000.0
"""No time of a log is later, in seconds since 1970: that is the year 8941."""

Value = TypeVar("Value")


class RefusedRow(Exception):
    """A row that is left out, with the reason."""


def number_of(value: Any) -> float | None:
    """A number, also as a text; None if there is none.

    >>> number_of("12.5"), number_of(3), number_of(None), number_of("")
    (12.5, 3.0, None, None)

    Raises:
        ValueError: the value is no number, or too large to be exact.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None:
            raise ValueError(value)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError(value)
    return float(value)


def amount_of(value: Any) -> int | None:
    """A whole number >= 1; None if there is none, or if it is 0 or -1, which mean that there is none.

    Raises:
        ValueError: the value is no whole number, or less than -1.
    """
    number = number_of(value)
    if number is None or number in (0, -1):
        return None
    if number < 0 or not number.is_integer():
        raise ValueError(value)
    return int(number)


def moment_of(value: Any) -> float | None:
    """A time in seconds since 1970; None if there is none, or if it is 0 or -1, which mean that there is none.

    Raises:
        ValueError: the value is no such time.
    """
    number = number_of(value)
    if number is None or number in (0, -1):
        return None
    if not 0 < number <= _LATEST:
        raise ValueError(value)
    return number


def text_of(value: Any) -> str | None:
    """A text; None if it is empty, or no text. A number becomes a text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) <= 2**64 else None
    return value if isinstance(value, str) and value else None


class LogRow:
    """Reads the values of one row, and counts those that cannot be read.

    Args:
        left_out: where it counts them.
        line: the line of the row.
    """

    def __init__(self, left_out: LeftOut, line: int) -> None:
        self.line = line
        self._left_out = left_out

    def note(self, reason: str) -> None:
        """A value of the row is left out."""
        self._left_out.value(reason, self.line)

    def read(self, name: str, reader: Callable[[Any], Value], value: Any) -> Value | None:
        """A value; None if it cannot be read, which is counted by its name."""
        try:
            return reader(value)
        except ValueError:
            self.note(f"the value of {name} cannot be read")
            return None

    def needed(self, name: str, reader: Callable[[Any], Value], value: Any) -> Value:
        """A value without which the row is left out, if it cannot be read.

        Raises:
            Refused: it cannot be read.
        """
        try:
            return reader(value)
        except ValueError:
            raise RefusedRow(f"the value of {name} cannot be read") from None

    def attempt(
        self,
        submitted: float | None,
        started: float | None,
        ended: float | None,
        state: AttemptState,
        *,
        eligible: float | None = None,
        hosts: tuple[str, ...] = (),
        suspended: float = 0.0,
        exit_code: int | None = None,
        signal: int | None = None,
    ) -> Attempt:
        """An attempt with these times, in seconds since 1970.

        Raises:
            Refused: it has no submission, or ends before it starts.
        """
        if submitted is None:
            raise RefusedRow("the job has no time of submission")
        if started is not None and started < submitted:
            self.note("the job starts before it is submitted; its start is taken for both")
            submitted = started
        if ended is not None and ended < (submitted if started is None else started):
            raise RefusedRow("the job ends before it starts, or before it is submitted")
        return Attempt(
            submitted=submitted,
            eligible=eligible,
            started=started,
            ended=ended,
            state=state,
            hosts=hosts if started is not None else (),
            suspended=suspended,
            exit_code=exit_code,
            signal=signal,
        )


# Ids: `123`, `123_4` (a task of an array), `123+1` (a component), and those that come again


_GROUP: Final = re.compile(r"([0-9]{1,10})_\[([0-9,:-]+)(?:%[0-9]{1,9})?\]", re.ASCII)
_MASK: Final = re.compile(r"([0-9]{1,10})_\[0x([0-9A-Fa-f]{1,25000})(?:%[0-9]{1,9})?\]", re.ASCII)
_MOST_REPEATED: Final = 500_000
_PAGE: Final = 13  # 2**13 ids in a page
_TASK_BITS: Final = 5


def array_of(text: str) -> str | None:
    """The array of a task.

    >>> array_of("3_0"), array_of("17+1")
    ('3', None)
    """
    array, line, _ = text.partition("_")
    return array if line else None


def tasks_of(text: str) -> list[str] | None:
    """The ids of the tasks of a group that waits; None if the text is not such a group, or stands for too many.

    The JSON of sacct has the tasks as a mask of bits, with the bit of task 0 last.

    >>> tasks_of("3_[1-4:2,9%2]"), tasks_of("3_[0x20A]")
    (['3_1', '3_3', '3_9'], ['3_1', '3_3', '3_9'])
    """
    mask = _MASK.fullmatch(text)
    if mask is not None:
        bits = f"{int(mask[2], 16):b}"[::-1]
        return [f"{mask[1]}_{number}" for number, bit in enumerate(bits) if bit == "1"] or None
    group = _GROUP.fullmatch(text)
    try:
        return [f"{group[1]}_{number}" for number in task_numbers(group[2])] if group else None
    except InputError:
        return None


def _again_in_python(lines: bytes, delimiter: str, column: int, pages: dict[int, bytearray]) -> list[str]:
    """The ids in a column of whole lines; those in C leave out those that come first, and set their bits."""
    most = column + 1
    divided = (line.split(delimiter, most) for line in lines.decode(errors="replace").split("\n"))
    return [pieces[column] for pieces in divided if len(pieces) > most]


_again: Callable[[bytes, str, int, dict[int, bytearray]], list[str]] = _again_in_python
with suppress(ImportError):  # it was not compiled
    from batprotocol.sites.logs.managers._sacct import again as _again


class RepeatedIds:
    """The ids that come in more than one row. It takes a bit for each id, so that a log of any size fits in memory.

    Attributes:
        rows: the ids that come again, with the number of their rows.
    """

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._pages: dict[int, bytearray] = {}
        self._tasks: dict[int, int] = {}

    def add_column(self, lines: bytes, delimiter: str, column: int) -> None:
        """Add the ids in a column of whole lines. A line counts if its column has an end.

        Args:
            lines: the lines.
            delimiter: what is between their values.
            column: the place of the ids.

        Raises:
            InputError: too many jobs have several rows.
        """
        again = _again if len(delimiter) == 1 and delimiter.isascii() else _again_in_python
        for each in again(lines, delimiter, column, self._pages):
            self.add(each)

    def add(self, text: str) -> None:
        """A row has this id. A text that is not an id is passed over.

        Raises:
            InputError: too many jobs have several rows.
        """
        if text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS:
            number = int(text)
            page = self._pages.get(number >> _PAGE)
            if page is None:
                page = self._pages[number >> _PAGE] = bytearray(1 << _PAGE - 3)
            byte, bit = number >> 3 & (1 << _PAGE - 3) - 1, 1 << (number & 7)
            if not page[byte] & bit:
                page[byte] |= bit
                return
        else:
            found = job_id(text)
            if found is None:
                return
            number, kind, index = found
            place = (number << 30 | index >> _TASK_BITS) << 1 | (kind == "+")
            bits, bit = self._tasks.get(place, 0), 1 << (index & (1 << _TASK_BITS) - 1)
            if not bits & bit:
                self._tasks[place] = bits | bit
                return
        if text not in self.rows and len(self.rows) >= _MOST_REPEATED:
            raise InputError(
                f"more than {_MOST_REPEATED:,} jobs have several rows; use sacct without --duplicates, "
                "or import months one by one"
            )
        self.rows[text] = self.rows.get(text, 1) + 1


# Rows of one job: one that was requeued has a row for each time that it waited and ran


_ENDED: Final = frozenset(
    (
        AttemptState.COMPLETED,
        AttemptState.FAILED,
        AttemptState.CANCELLED,
        AttemptState.TIMEOUT,
        AttemptState.OUT_OF_MEMORY,
        AttemptState.DEADLINE,
    )
)
"""The states of jobs that ended without an interruption."""
_KNOWN_AFTER: Final = 3600.0
"""Seconds after such an end in which a job can still run again: twelve times Slurm's MinJobAge."""
_AGAIN_AFTER: Final = 30 * 86400.0
"""The same after another end. The log may have the end of a job long before it waits again, if a node was lost."""


class UnfinishedJobs:
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
        return merged_attempts(waiting, self._left_out)

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs of which rows were expected that did not come."""
        while self._jobs:
            yield from merged_attempts(self._jobs.pop(next(iter(self._jobs))), self._left_out)


def merged_attempts(jobs: Sequence[LoggedJob], left_out: LeftOut) -> list[LoggedJob]:
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
