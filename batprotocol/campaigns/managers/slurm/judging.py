"""The state of each job, by the logs of its batch and the queue of Slurm. It must not read either."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

from batprotocol.campaigns.managers.interface import KILLED, LOST, NO_DIRECTORY, REFUSED, TIME_OVER, ended
from batprotocol.campaigns.managers.slurm.batches import Lines
from batprotocol.campaigns.model import JobState, RemoteEvent, RemoteJob
from batprotocol.sites.slurm.client import ReportedJob

__all__ = ["BatchState", "judged", "rows_of"]

TAKEN: Final = RemoteEvent("BESTEFFORT_KILL", "Another job needed its resources.")

UNSEEN: Final = RemoteEvent("FOLDER", "It has recorded nothing: its node may not have the folder of the cluster.")

_BY_STATE: Final[dict[str, RemoteEvent]] = {
    "BOOT_FAIL": RemoteEvent("EXTERMINATE", "Its node could not boot."),
    "CANCELLED": RemoteEvent("FRAG_JOB_REQUEST", "Somebody has cancelled its job."),
    "DEADLINE": RemoteEvent("EXTERMINATE", "Slurm ended its job at a deadline."),
    "LAUNCH_FAILED": RemoteEvent("EXTERMINATE", "Its node could not launch it."),
    "NODE_FAIL": RemoteEvent("EXTERMINATE", "Its node has failed."),
    "PREEMPTED": TAKEN,
    "REVOKED": RemoteEvent("EXTERMINATE", "Slurm has revoked its job."),
}
"""Why a job has not ended well that was cut, by the state of its array's element. Each lets its task run again."""

OUT_OF_MEMORY: Final = 9
"""The status of a job that took too much memory: that of SIGKILL."""

TIMEOUT_STATUSES: Final = (124, 137, 143)
"""The statuses of `timeout` when it has killed a command, or is killed with it."""

SIGNALLED: Final = ("137", "143")
"""The statuses of a command that Slurm may have killed, with all processes of its job: by SIGKILL or SIGTERM."""

_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")


class _Known(NamedTuple):
    """The records of a job: times, the node, and how it ended, in the words of the logs."""

    began: float | None = None
    node: str | None = None
    over: float | None = None
    how: str = ""
    cut: bool = False
    killed: bool = False
    refused: str | None = None

    @property
    def is_over(self) -> bool:
        return bool(self.how) or self.killed or self.refused is not None


class BatchState:
    """The state of a batch by its logs.

    Attributes:
        id: the id of its array, or "" if no answer to its submission has been recorded.
        known: what is known of each job that has any line.
        forgotten: the jobs that were forgotten.
        marked: the jobs that were to be killed.
    """

    def __init__(self, lines: Lines) -> None:
        self.about = lines.about
        self.jobs = lines.jobs
        self.id = ""
        self.known: dict[int, _Known] = {}
        self.forgotten: set[int] = set()
        self.marked: set[int] = set()
        self.numbers = {number for element in lines.jobs.values() for number in element}
        for words in lines.said:
            if words[0] == "submitted":
                self.id = words[1]
            elif words[0] in _READERS and _NUMBER.fullmatch(words[1]):
                number = int(words[1])
                if words[0] in ("gone", "kill"):
                    (self.forgotten if words[0] == "gone" else self.marked).add(number)
                else:
                    before = self.known.get(number, _Known())
                    self.known[number] = _READERS[words[0]](before, words[2:])

    @property
    def is_done(self) -> bool:
        """Whether all of its jobs were forgotten."""
        return self.numbers <= self.forgotten

    @property
    def is_over(self) -> bool:
        """Whether none of its jobs can begin."""
        return all(map(self.is_settled, self.numbers))

    def is_settled(self, number: int) -> bool:
        """Whether a job has ended by its records, or was forgotten."""
        known = self.known.get(number)
        return number in self.forgotten or (known is not None and known.is_over)


def _begun(known: _Known, words: list[str]) -> _Known:
    return known._replace(began=_time(words), node=words[1] if len(words) > 1 else None)


def _over(known: _Known, words: list[str]) -> _Known:
    return known._replace(over=_time(words), how=words[1] if len(words) > 1 else "")


def _refused(known: _Known, words: list[str]) -> _Known:
    return known._replace(refused=" ".join(words))


_READERS: Final[Mapping[str, Callable[[_Known, list[str]], _Known]]] = {
    "begin": _begun,
    "end": _over,
    "cut": lambda known, words: known._replace(cut=True, over=known.over),
    "killed": lambda known, words: known._replace(killed=True),
    "refused": _refused,
    "gone": lambda known, words: known,
    "kill": lambda known, words: known,
}


def judged(
    batch: BatchState,
    rows: Mapping[int | None, Sequence[ReportedJob]],
    *,
    now: float,
    missing: Callable[[int], bool],
    kills: frozenset[int] = frozenset(),
    new: Set[str] = frozenset(),
) -> list[RemoteJob]:
    """The jobs of a batch that were not forgotten.

    Args:
        batch: the batch.
        rows: the jobs of Slurm for each element of its array: several if it was submitted twice. With
            None: those of all elements that have none.
        now: seconds of the clock.
        missing: returns whether the records of an element have been missing for so long that they will not come.
        kills: the jobs that were to be killed.
        new: the ids of Slurm's jobs that do not wait for others as far as is known: Slurm has not looked at them.
    """
    found = []
    for index, jobs in batch.jobs.items():
        row = _row(rows_of(rows, index))
        for number, walltime in jobs.items():
            if number not in batch.forgotten:
                known = batch.known.get(number, _Known())
                found.append(_job(batch, index, number, walltime, known, row, now, missing, number in kills, new))
    return found


def rows_of(rows: Mapping[int | None, Sequence[ReportedJob]], index: int) -> list[ReportedJob]:
    """The jobs of Slurm for an element. Tasks of an array that wait or were cancelled may have one row in common."""
    if index in rows:
        return [*rows[index]]
    return [row._replace(id=f"{row.id}_{index}", task=index) for row in rows.get(None, ())]


def _row(rows: Iterable[ReportedJob]) -> ReportedJob | None:
    """The job of Slurm for an element: one that runs before one that waits, and these before those that have ended."""
    return min(rows, key=lambda row: (row.has_ended, row.waits), default=None)


def _job(
    batch: BatchState,
    index: int,
    number: int,
    walltime: float,
    known: _Known,
    row: ReportedJob | None,
    now: float,
    missing: Callable[[int], bool],
    to_kill: bool,
    new: Set[str],
) -> RemoteJob:
    id = row.id if row is not None else f"{batch.id}_{index}" if batch.id else None
    node = known.node or (row.node if row is not None and row.node else None)

    def over(exit_code: int | None, because: RemoteEvent | None = None, errors: str = "") -> RemoteJob:
        return ended(
            number,
            exit_code=exit_code,
            because=because,
            start_time=known.began,
            stop_time=now if known.over is None else known.over,
            remote_id=id,
            node=node,
            errors=errors,
        )

    def going(state: JobState) -> RemoteJob:
        return RemoteJob(job=number, state=state, remote_id=id, start_time=known.began, node=node)

    if known.how in SIGNALLED and row is not None and row.state in _BY_STATE:
        return over(None, KILLED if to_kill else _BY_STATE[row.state])
    if known.how:
        return over(*_end(known, walltime))
    if known.refused is not None:
        return over(None, RemoteEvent(REFUSED.type, known.refused))
    if known.killed:
        return over(None, KILLED)
    if row is None and not batch.id:
        return going(JobState.REMOTE_WAITING)  # it is submitted again
    if row is not None and not row.has_ended:
        if not row.waits:
            return going(JobState.RUNNING)
        return going(JobState.SUBMITTED if row.id in new else JobState.REMOTE_WAITING)
    if row is not None and row.state not in ("COMPLETED", "FAILED"):
        if to_kill:
            return over(None, KILLED)
        if row.state == "OUT_OF_MEMORY" and known.began is not None:
            return over(OUT_OF_MEMORY, errors="Slurm has killed it, as it took too much memory.")
        if row.state == "TIMEOUT" and known.began is not None and now - known.began >= walltime:
            return over(None, TIME_OVER)
        return over(None, _BY_STATE.get(row.state, LOST))
    if not missing(index):
        return going(JobState.RUNNING)
    # A job that is COMPLETED without records is another one: Slurm uses ids again that it has lost when it was killed.
    failed = row is not None and row.state == "FAILED"
    unseen = failed and not any(each in batch.known for each in batch.jobs[index])
    return over(None, KILLED if to_kill else UNSEEN if unseen else LOST)


def _end(known: _Known, walltime: float) -> tuple[int | None, RemoteEvent | None]:
    """The exit code of a job that has recorded its end, or the event that ended it."""
    special = {"killed": KILLED, "directory": NO_DIRECTORY}.get(known.how)
    if special is not None:
        return None, special
    if not _NUMBER.fullmatch(known.how):
        return None, LOST
    status = int(known.how)
    took = 0.0 if known.began is None or known.over is None else known.over - known.began
    if status in TIMEOUT_STATUSES and took >= walltime:
        return None, TIME_OVER
    if 128 < status <= 192:
        return status - 128, None
    return (status & 255) << 8, None


def _time(words: list[str]) -> float | None:
    found = _SECONDS.match(words[0]) if words else None
    return None if found is None else float(found[0])
