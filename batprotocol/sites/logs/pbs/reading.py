"""Puts the records of PBS's jobs together. A job comes when its record E does, or at the end of the log.

Records are in the order of their times. So the jobs that wait or run are all that must be kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import Final

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import CLOCKS_DIFFER, Clock, zone_of
from batprotocol.errors import InputError, shown
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob
from batprotocol.sites.logs.lines import Source, opened
from batprotocol.sites.logs.managers.making import Refused, Row
from batprotocol.sites.logs.pbs.jobs import job_of
from batprotocol.sites.logs.pbs.records import PASSED, Record, pairs_of, record_of
from batprotocol.sites.logs.slurm.attempts import Held
from batprotocol.sites.logs.slurm.ids import Repeated
from batprotocol.sites.logs.slurm.times import NOTHING

__all__ = ["read_pbs"]

_MOST: Final = 200_000
_NO_TEXT: Final = "the log has neither the submission, the start nor the end of the job"


def read_pbs(path: str | os.PathLike[str], left_out: LeftOut, *, zone: str | None = None) -> Iterator[LoggedJob]:
    """The jobs in accounting records of PBS Pro, OpenPBS or Torque, in the order of their ends.

    Args:
        path: the file, or several days one after another, compressed by gzip or xz or not; a pipe is copied into a
            temporary file.
        left_out: where it counts what it leaves out.
        zone: the zone of the times of records, such as `Europe/Paris`; None: UTC. Only jobs without a record E need it.

    Raises:
        InputError: the file has no accounting records, or too many jobs have no end.
        OSError: the file cannot be read.
    """
    with opened(path) as source:
        first = next((line for _, line in source.lines()), "")
        if record_of(first) is None:
            raise InputError(
                f"expected a record of PBS such as '02/11/2026 20:12:21;E;7.host;user=ada', got {shown(first)}",
                file=source.name,
                line=1,
            )
        repeated = _repeated(source)
        held = Held(repeated, left_out)
        jobs = _Jobs(left_out, zone_of(zone), source.name)
        for number, line in source.lines(left_out):
            if not line.strip():
                continue
            record = record_of(line)
            if record is None:
                left_out.row("the line is not an accounting record", number)
                continue
            try:
                job = jobs.take(record, number)
            except Refused as refused:
                left_out.row(str(refused), number)
                job = None
            if record.kind == "E" and record.job in repeated:
                yield from held.add(record.job, () if job is None else _parts(job))
            elif job is not None:
                yield job
        yield from held.rest()
        yield from jobs.rest()


def _repeated(source: Source) -> dict[str, int]:
    """The jobs that end more than once, with the number of their records E."""
    repeated = Repeated()
    for _, line in source.lines():
        if ";E;" in line[:32] and (record := record_of(line)) is not None and record.kind == "E":
            repeated.add(record.job)
    return repeated.rows


def _parts(job: LoggedJob) -> list[LoggedJob]:
    return [replace(job, attempts=(attempt,)) for attempt in job.attempts]


class _Open:
    """A job that has not ended.

    Attributes:
        line: the line of its first record.
        array: the array that it is a task of.
        queued: when its first record was written.
        text: the values of the last record that has its values.
        dependency: what it waited for.
        submitted: when it began to wait again; None: it waits, or ran, for the first time.
        started: when its record S was written; None: it waits.
        deleted: when it was deleted.
        paused: when it was suspended; None: it is not.
        suspended: seconds that it was suspended for before.
        attempts: its earlier attempts.
    """

    __slots__ = (
        *("array", "attempts", "deleted", "dependency", "line", "paused", "queued", "started", "submitted"),
        *("suspended", "text"),
    )

    def __init__(self, line: int, array: str | None) -> None:
        self.line = line
        self.array = array
        self.queued: float | None = None
        self.text = ""
        self.dependency = ""
        self.submitted: float | None = None
        self.started: float | None = None
        self.deleted: float | None = None
        self.paused: float | None = None
        self.suspended = 0.0
        self.attempts: tuple[Attempt, ...] = ()


class _Jobs:
    """The jobs that have not ended."""

    def __init__(self, left_out: LeftOut, zone: tzinfo, file: str) -> None:
        self._left_out = left_out
        self._clock = Clock(zone, NOTHING)
        self._file = file
        self._open: dict[str, _Open] = {}
        self._server: str | None = None
        self._latest = 0.0

    def take(self, record: Record, line: int) -> LoggedJob | None:
        """Take a record. It returns the job, if it ends with this record.

        Raises:
            Refused: the record is left out.
        """
        if record.kind in PASSED:
            raise Refused(PASSED[record.kind])
        act = _ACTS.get(record.kind)
        if act is None:
            raise Refused("a record of a type that PBS does not have")
        if not record.job:
            raise Refused("the id is not one of PBS's jobs")
        if record.is_array:
            raise Refused("a record of a whole array: its tasks have records of their own")
        if self._server is None:
            self._server = record.server
        if record.server != self._server:
            raise Refused("the job is of another server than the first one of the log")
        moment = self._moment(record.moment)
        job = self._open.get(record.job)
        if job is None:
            job = _Open(line, record.array)
            if record.kind != "E":
                if len(self._open) >= _MOST:
                    raise InputError(
                        f"more than {_MOST:,} jobs have no end; import months one by one", file=self._file, line=line
                    )
                self._open[record.job] = job
        return act(self, job, record, moment, line)

    def _moment(self, text: str) -> float:
        """The time of a record. Of a time that comes twice, the one that is not before the last record."""
        try:
            moment = self._clock.after(text, self._latest - CLOCKS_DIFFER)
        except ValueError:
            moment = None
        if moment is None:
            raise Refused("the time of the record cannot be read")
        self._latest = max(self._latest, moment)
        return moment

    def _queue(self, job: _Open, record: Record, moment: float, line: int) -> None:
        if job.queued is None:
            job.queued = moment
        if not job.text:
            job.text = record.text
        if "depend=" in record.text:
            job.dependency = pairs_of(record.text).get("depend", "")

    def _start(self, job: _Open, record: Record, moment: float, line: int) -> None:
        if job.started is not None:
            self._left_out.value("a start without its end: the job started again", line)
        job.started, job.text = moment, record.text
        job.paused, job.suspended = None, 0.0

    def _end(self, job: _Open, record: Record, moment: float, line: int) -> LoggedJob:
        self._open.pop(record.job, None)
        row = Row(self._left_out, job.line)
        return self._made(job, record.job, record.text, row, None, moment)

    def _rerun(self, job: _Open, record: Record, moment: float, line: int) -> None:
        text = record.text if "start=" in record.text else job.text
        if "start=" not in text and job.started is None:
            self._open.pop(record.job, None)
            raise Refused("a job runs again that has not started")
        found = self._made(job, record.job, text, Row(self._left_out, line), JobState.REQUEUED, moment)
        job.attempts = found.attempts
        job.submitted, job.started, job.text = found.last.ended, None, text
        job.paused, job.suspended = None, 0.0

    def _delete(self, job: _Open, record: Record, moment: float, line: int) -> LoggedJob | None:
        if job.started is None and job.text:
            del self._open[record.job]
            return self._made(job, record.job, job.text, Row(self._left_out, job.line), JobState.CANCELLED, moment)
        job.deleted = moment
        return None

    def _suspend(self, job: _Open, record: Record, moment: float, line: int) -> None:
        if job.paused is None:
            job.paused = moment

    def _resume(self, job: _Open, record: Record, moment: float, line: int) -> None:
        if job.paused is not None:
            job.suspended += moment - job.paused
        job.paused = None

    def _made(
        self, job: _Open, id: str, text: str, row: Row, state: JobState | None, moment: float | None
    ) -> LoggedJob:
        suspended = job.suspended
        if job.paused is not None and moment is not None:
            suspended += moment - job.paused
        return job_of(
            id,
            job.array,
            pairs_of(text),
            row,
            state=state,
            waits=job.started is None and state in (JobState.PENDING, JobState.CANCELLED),
            queued=job.queued,
            submitted=job.submitted,
            started=job.started,
            ended=moment,
            suspended=max(suspended, 0.0),
            deleted=job.deleted is not None,
            dependency=job.dependency,
            before=job.attempts,
        )

    def rest(self) -> Iterator[LoggedJob]:
        """The jobs that wait or run at the end of the log."""
        while self._open:
            id = next(iter(self._open))
            job = self._open.pop(id)
            try:
                if not job.text:
                    raise Refused(_NO_TEXT)
                state, moment = JobState.PENDING, job.deleted
                if job.deleted is not None:
                    state = JobState.CANCELLED
                elif job.started is not None:
                    state = JobState.RUNNING if job.paused is None else JobState.SUSPENDED
                yield self._made(job, id, job.text, Row(self._left_out, job.line), state, moment)
            except Refused as refused:
                self._left_out.row(str(refused), job.line)


_ACTS: Final[dict[str, Callable[[_Jobs, _Open, Record, float, int], LoggedJob | None]]] = {
    "Q": _Jobs._queue,
    "S": _Jobs._start,
    "E": _Jobs._end,
    "R": _Jobs._rerun,
    "D": _Jobs._delete,
    "A": _Jobs._delete,
    "z": _Jobs._suspend,
    "r": _Jobs._resume,
}
"""The effect of the records of each type."""
