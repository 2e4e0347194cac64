"""A row of Slurm's accounting becomes a job with one attempt. All of Slurm's formats are brought to such rows.

A value that cannot be read is counted and passed over. A row without its id or its times is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import tzinfo
from operator import itemgetter
from typing import Any, Final

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import CLOCKS_DIFFER, Clock
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob
from batprotocol.sites.logs.slurm.amounts import (
    NO_HOSTS,
    HostNames,
    amounts_of,
    asked_memory_of,
    codes_of,
    count_of,
    resources_of,
)
from batprotocol.sites.logs.slurm.columns import NEEDED
from batprotocol.sites.logs.slurm.ids import array_of, tasks_of
from batprotocol.sites.logs.slurm.states import LEFT_OUT, NEVER_STARTED, STATES, WENT_ON, state_of
from batprotocol.sites.logs.slurm.submissions import Submission, submission_of
from batprotocol.sites.logs.slurm.times import (
    NO_LIMITS,
    NOTHING,
    OF_PARTITION,
    minutes_of,
    seconds_of,
    settled,
    walltime_of,
)
from batprotocol.sites.slurm.texts import MOST_DIGITS, job_id

__all__ = ["TWICE", "Rows"]

_TOLERANCE: Final = 1.0
_EQUAL: Final = "--ntasks-per-node"  # the option with which a job has as many cores of each host
_SHORT: Final = 12  # digits of a number that is read at once
_NO_SUBMISSION: Final = Submission()
_NO_SPAN: Final = NOTHING - {"0"}
_NOT_YET: Final = frozenset({"Unknown", "None", "0"})  # the ends of jobs that wait or run

_USED: Final[tuple[tuple[str, ...], ...]] = (
    ("jobid", "jobidraw"),
    ("state",),
    ("cluster",),
    ("submit",),
    ("eligible",),
    ("start",),
    ("end",),
    ("elapsedraw", "elapsed"),
    ("suspended",),
    ("nodelist",),
    ("exitcode",),
    ("alloctres",),
    ("reqtres",),
    ("nnodes", "allocnodes"),
    ("reqnodes",),
    ("alloccpus", "ncpus"),
    ("reqcpus",),
    ("reqmem",),
    ("timelimit",),
    ("timelimitraw",),
    ("priority",),
    ("submitline",),
    ("jobname",),
    ("user", "uid"),
    ("group", "gid"),
    ("account",),
    ("partition",),
    ("qos",),
    ("constraints",),
    ("reservation",),
)
"""The columns that are read, in the order in which `Rows._made` takes them; of several, the first that there is."""
_COUNTS: Final = frozenset(
    ("nnodes", "allocnodes", "alloctres", "nodelist", "ncpus", "alloccpus", "reqnodes", "reqtres")
)


class Rows:
    """Makes jobs of rows.

    Args:
        names: the names of the columns in lower case.
        left_out: where it counts what it leaves out.
        zone: the zone of times that have none.
        file: the file, for errors.
        by_end: whether rows are in the order of the ends of jobs; otherwise, they may be in that of submissions.

    Attributes:
        id: the place of the column with the ids.
        key: the place of the column with the ids that tell whether several rows are of one job.

    Raises:
        InputError: columns are missing without which rows are no jobs.
    """

    def __init__(
        self, names: Sequence[str], left_out: LeftOut, zone: tzinfo, file: str = "", *, by_end: bool = False
    ) -> None:
        self._left_out = left_out
        self._notes: list[str] = []  # the values of this row that are left out
        self._by_end, self._last_end = by_end, -math.inf
        self._clock = Clock(zone, NOTHING)
        self._host_names = HostNames()
        self._latest: float | None = 0.0  # submission so far; None: the log is not sorted
        self._cluster = ""
        columns = {name: place for place, name in reversed(list(enumerate(names))) if name}
        _check(columns, left_out, file)

        def place(*names: str) -> int:
            """The place of the first of these columns that there is; of an empty text behind the row if none is."""
            return next((columns[name] for name in names if name in columns), -1)

        self.id, self.key = place("jobid", "jobidraw"), place("jobidraw", "jobid")
        self._pick = itemgetter(*(place(*each) for each in _USED))
        self._waited = place("planned", "reserved")
        readers: dict[str, Callable[[str], object]] = {
            "elapsedraw": seconds_of,
            "elapsed": seconds_of,
            "suspended": seconds_of,
            "planned": seconds_of,
            "reserved": seconds_of,
            "nodelist": self._host_names.of,
            "exitcode": codes_of,
            "alloctres": resources_of,
            "reqtres": resources_of,
            **dict.fromkeys(
                ("nnodes", "allocnodes", "reqnodes", "alloccpus", "ncpus", "reqcpus", "priority"), count_of
            ),
            "reqmem": asked_memory_of,
            "timelimit": seconds_of,
            "timelimitraw": minutes_of,
        }
        self._readers = [(columns[name], name, reader) for name, reader in readers.items() if name in columns]

    def jobs(self, values: list[str], line: int) -> Sequence[LoggedJob]:
        """The jobs of a row: none, one, or one for each task of an array that waited together (`3_[1-4]`)."""
        job = self.job(values, line)
        if job is None:
            return ()
        if "[" not in job.id:
            return (job,)
        ids = tasks_of(job.id)
        if ids is None:
            self._left_out.row("a group of tasks of an array that cannot be read, or is too large", line)
            return ()
        return [replace(job, id=id) for id in ids]

    def job(self, values: list[str], line: int) -> LoggedJob | None:
        """The job of a row, or None if it is left out. Its id is as the row has it, also that of a group of tasks.

        Args:
            values: the texts of the row; this method changes them.
            line: the number of its line.
        """
        values.append("")
        notes = self._notes
        try:
            try:
                job = self._made(values, line)
            except ValueError:
                notes.clear()  # what is wrong besides is found again
                self._mend(values)
                job = self._made(values, line)
            for each in notes:
                self._left_out.value(each, line)
            return job
        except ValueError:
            self._left_out.row("a time cannot be read", line)
        except _Refused as refused:
            self._left_out.row(str(refused), line)
        finally:
            notes.clear()
        return None

    def _mend(self, values: list[str]) -> None:
        """Take the values away that cannot be read, and count them."""
        for place, name, reader in self._readers:
            try:
                if values[place] not in NOTHING and values[place] not in _SPECIAL.get(name, ()):
                    reader(values[place])
            except ValueError:
                self._notes.append(f"the value of {name} cannot be read")
                values[place] = ""

    def _made(self, values: list[str], line: int) -> LoggedJob:
        (
            id, state_text, cluster, submit, eligible, start, end, elapsed, suspended, nodes, exit_code, given, asked,
            node_count, asked_nodes, cores, asked_cores, asked_memory, limit, limit_minutes, priority, submit_line,
            name, user, group, account, partition, qos, features, reservation,
        ) = self._pick(values)  # fmt: skip
        is_plain = id.isdecimal() and len(id) <= MOST_DIGITS and id.isascii()
        if not is_plain and job_id(id) is None and "_[" not in id:
            raise _Refused("the JobID is not one of Slurm's")
        state = STATES.get(state_text) or self._state_of(state_text)
        if cluster and cluster != self._cluster:
            self._check_cluster(cluster)
        amounts = amounts_of(given, asked, node_count, asked_nodes, cores, asked_cores, asked_memory)
        walltime = walltime_of(limit, limit_minutes)
        if walltime is None and OF_PARTITION in (limit, limit_minutes):
            self._notes.append("the time limit is that of the partition, which the log does not have")
        code, signal = codes_of(exit_code)
        attempt = self._attempt(values, (submit, eligible, start, end), elapsed, suspended, nodes, state, code, signal)
        has_run = attempt.started is not None
        submission = submission_of(submit_line) if submit_line else _NO_SUBMISSION
        if submission.unread:
            self._notes.append("the dependency in SubmitLine cannot be read")
        return LoggedJob(
            id=id,
            attempts=(attempt,),
            host_count=(amounts.hosts or len(attempt.hosts) or amounts.asked_hosts or 1)
            if has_run
            else amounts.waiting,
            cores=amounts.cores if has_run else None,
            memory=amounts.memory,
            gres=amounts.gres,
            requested_hosts=amounts.asked_hosts,
            requested_cores=amounts.asked_cores,
            requested_memory=amounts.asked_memory,
            requested_gres=amounts.asked_gres,
            walltime=walltime,
            name=name or None,
            user=user or None,
            group=group or None,
            account=account or None,
            partition=partition or None,
            qos=qos or None,
            constraint=features or submission.constraint,
            reservation=reservation or None,
            priority=int(priority) if priority.isdecimal() and len(priority) <= _SHORT else count_of(priority),
            dependency=submission.dependency,
            array=None if is_plain else array_of(id),
            nodelist=submission.nodelist,
            exclude=submission.exclude,
            exclusive=submission.exclusive,
            packed=True if len(attempt.hosts) > 1 and _EQUAL not in submit_line else None,
            line=line,
        )

    def _state_of(self, text: str) -> JobState:
        """A state that is written in another way."""
        if text in LEFT_OUT:
            raise _Refused(LEFT_OUT[text])
        state = state_of(text)
        if state is None and text:
            self._notes.append("the value of state cannot be read")
        return state or JobState.UNKNOWN

    def _check_cluster(self, cluster: str) -> None:
        self._cluster = self._cluster or cluster
        if cluster != self._cluster:
            raise _Refused("the job is of another cluster than the first one of the log")

    def _attempt(
        self,
        values: list[str],
        texts: tuple[str, str, str, str],
        elapsed_text: str,
        suspended_text: str,
        nodes: str,
        state: JobState,
        code: int | None,
        signal: int | None,
    ) -> Attempt:
        at = self._clock.at
        submit, eligibility, start, end = texts
        submitted, started, ended = at(submit), at(start), at(end)
        eligible = submitted if eligibility == submit else at(eligibility)
        suspended = 0.0 if suspended_text in _NO_SPAN else seconds_of(suspended_text)
        if elapsed_text.isdecimal() and len(elapsed_text) <= _SHORT:
            elapsed: float | None = int(elapsed_text)
        else:
            elapsed = None if elapsed_text in _NO_SPAN else seconds_of(elapsed_text)
        hosts = () if not nodes or nodes in NO_HOSTS else self._host_names.of(nodes)
        if self._clock.doubtful:
            submitted, eligible, started, ended = self._settled(values, texts, elapsed, suspended)
        if submitted is None:
            raise _Refused("the row has no time of submission")
        if self._latest is not None:
            self._latest = submitted if submitted >= self._latest else None
        if ended is not None and ended > self._last_end:
            self._last_end = ended
        if state is JobState.UNKNOWN and end in _NOT_YET:
            state = JobState.PENDING if started is None else JobState.RUNNING
        if state in WENT_ON:
            ended = None
            if state is JobState.PENDING:
                started = None
        if nodes in NO_HOSTS or (not nodes and started == ended and state in NEVER_STARTED):
            started = None
        elif started is None and ended is not None and elapsed:
            started = ended - elapsed - suspended
        elif started is not None and ended is None and state not in WENT_ON:
            if elapsed is None:
                raise _Refused("the job has ended, but the row does not say when")
            ended = started + elapsed + suspended
        if started is not None and started < submitted:
            self._notes.append("the job starts before it is submitted; its start is taken for both")
            submitted = started
        if ended is not None:
            if ended < (submitted if started is None else started):
                raise _Refused("the job ends before it starts, or before it is submitted")
            if started is not None and elapsed is not None:
                missed = ended - started - suspended - elapsed
                if not -_TOLERANCE <= missed <= _TOLERANCE:
                    self._notes.append("Elapsed is not the time from Start to End; give the zone of the log")
        return Attempt(
            submitted=submitted,
            eligible=eligible,
            started=started,
            ended=ended,
            state=state,
            hosts=hosts if started is not None else (),
            suspended=suspended,
            exit_code=code,
            signal=signal,
        )

    def _settled(
        self, values: list[str], texts: Sequence[str], elapsed: float | None, suspended: float
    ) -> tuple[float | None, ...]:
        """The times of a row, of which one comes twice, as clocks were set back."""
        choices = [self._clock.both(text) for text in texts]
        self._clock.doubtful = False
        waited = values[self._waited]
        moments, is_certain = settled(
            choices,
            None if elapsed is None else elapsed + suspended,
            None if waited in _NO_SPAN else seconds_of(waited),
            None if self._by_end else self._latest,
            self._last_end - CLOCKS_DIFFER if self._by_end else None,
        )
        if not is_certain:
            self._notes.append(TWICE)
        return moments


TWICE: Final = "clocks were set back, and the row does not say which of two hours it means: one that agrees is taken"


class _Refused(Exception):
    """A row that is left out, with the reason."""


_SPECIAL: Final[dict[str, frozenset[str]]] = {"timelimit": NO_LIMITS, "timelimitraw": NO_LIMITS, "nodelist": NO_HOSTS}
"""Words of columns that have a meaning of their own."""


def _check(columns: dict[str, Any], left_out: LeftOut, file: str) -> None:
    """Check that there are the columns without which no row is a job."""
    missing = [name for name, keys in _NEEDED.items() if not columns.keys() & keys]
    if missing:
        names = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
        raise InputError(
            f"expected the columns JobID, Submit, Start and End, got none for {names}; use {NEEDED}", file=file
        )
    if not _COUNTS & columns.keys():
        left_out.value("the log has no number of hosts: each job has one", 1)


_NEEDED: Final = {
    "JobID": {"jobid", "jobidraw"},
    "Submit": {"submit"},
    "Start": {"start"},
    "End": {"end", "elapsed", "elapsedraw"},
}
