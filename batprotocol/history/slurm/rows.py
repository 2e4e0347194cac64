"""A row of Slurm's accounting becomes a job with one attempt. All of Slurm's formats are brought to such rows.

A value that cannot be read is counted and passed over. Without its id or its times, a row is no job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Final, TypeVar

from msgspec.structs import replace

from batprotocol.errors import InputError
from batprotocol.history.jobs import Attempt, JobState, LoggedJob
from batprotocol.history.left_out import LeftOut
from batprotocol.history.slurm.amounts import (
    NO_HOSTS,
    HostNames,
    Resources,
    codes_of,
    count_of,
    memory_of,
    resources_of,
)
from batprotocol.history.slurm.columns import NEEDED
from batprotocol.history.slurm.ids import array_of, is_id, tasks_of
from batprotocol.history.slurm.states import LEFT_OUT, NEVER_STARTED, STATES, WENT_ON, state_of
from batprotocol.history.slurm.submissions import Submission, submission_of
from batprotocol.history.slurm.times import NOTHING, Clock, seconds_of, settled

__all__ = ["Rows"]

_Read = TypeVar("_Read")

_TOLERANCE: Final = 1.0
_NO_LIMIT: Final = frozenset({"UNLIMITED", "INFINITE", "-1"})
_OF_PARTITION: Final = "Partition_Limit"
_NEITHER: Final = Submission()
_NO_RESOURCES: Final = Resources()
_NO_CODES: Final[tuple[int | None, int | None]] = (None, None)
_NO_TIME: Final = frozenset({"", "00:00:00", "0"})
_NOT_READ: Final = "the value of {} cannot be read"


class _Refused(Exception):
    """A row that is left out, with the reason."""


class Rows:
    """Makes jobs of rows.

    Args:
        names: the names of the columns in lower case.
        left_out: where it counts what it leaves out.
        zone: the zone of times that have none.
        file: the file, for errors.

    Raises:
        InputError: columns are missing without which rows are no jobs.
    """

    def __init__(self, names: Sequence[str], left_out: LeftOut, zone: tzinfo, file: str = "") -> None:
        self._left_out = left_out
        self._clock = Clock(zone)
        self._at = self._clock.at
        self._hosts = HostNames().of
        self._latest: float | None = 0.0
        self._cluster: str | None = None
        self._columns = columns = {name: place for place, name in reversed(list(enumerate(names))) if name}
        missing = [each for each in ("submit", "start") if each not in columns]
        missing += [] if {"jobid", "jobidraw"} & columns.keys() else ["jobid"]
        missing += [] if {"end", "elapsed", "elapsedraw"} & columns.keys() else ["end"]
        if missing:
            raise InputError(
                f"expected the columns JobID, Submit, Start and End, but {', '.join(missing)} is missing; use {NEEDED}",
                file=file,
                line=1,
            )
        counts = {"nnodes", "allocnodes", "alloctres", "nodelist", "ncpus", "alloccpus", "reqnodes", "reqtres"}
        if not counts & columns.keys():
            left_out.value("the log has no number of hosts: each job has one", 1)

        def place(*names: str) -> int:
            """The place of the first of these columns that there is; of an empty text behind the row if none is."""
            return next((columns[name] for name in names if name in columns), len(self._names))

        self._names = tuple(names)
        self.id, self.key = place("jobid", "jobidraw"), place("jobidraw", "jobid")
        self._submit, self._eligible = place("submit"), place("eligible")
        self._start, self._end, self._state = place("start"), place("end"), place("state")
        self._elapsed, self._suspended = place("elapsedraw", "elapsed"), place("suspended")
        self._waited = place("planned", "reserved")
        self._nodes, self._allocated, self._node_count = (
            place("nodelist"),
            place("alloctres"),
            place("nnodes", "allocnodes"),
        )
        self._cpus, self._exit = place("alloccpus", "ncpus"), place("exitcode")
        self._requested, self._asked_nodes = place("reqtres"), place("reqnodes")
        self._asked_cpus, self._asked_memory = place("reqcpus"), place("reqmem")
        self._limit, self._limit_minutes = place("timelimit"), place("timelimitraw")
        self._name, self._user, self._group = place("jobname"), place("user", "uid"), place("group", "gid")
        self._account, self._partition, self._qos = place("account"), place("partition"), place("qos")
        self._features, self._reservation = place("constraints"), place("reservation")
        self._priority, self._line, self._of = place("priority"), place("submitline"), place("cluster")

    def _value(self, read: Callable[[str], _Read], text: str, name: str, otherwise: _Read, line: int) -> _Read:
        try:
            return read(text)
        except ValueError:
            self._left_out.value(_NOT_READ.format(name), line)
            return otherwise

    def job(self, values: list[str], line: int) -> LoggedJob | None:
        """The job of a row, or None if it is left out. Its id is as the row has it, also that of a group of tasks.

        Args:
            values: the texts of the row; this method adds one.
            line: the number of its line.
        """
        values.append("")
        id, state_text = values[self.id], values[self._state]
        if not id.isdecimal() and not is_id(id) and "_[" not in id:
            self._left_out.row("the JobID is not one of Slurm's", line)
            return None
        state = STATES.get(state_text) or self._state_of(state_text, line)
        if state is None or (values[self._of] and self._is_elsewhere(values[self._of], line)):
            return None
        try:
            attempt = self._attempt(values, state, line)
        except _Refused as refused:
            self._left_out.row(str(refused), line)
            return None
        value = self._value
        given = value(resources_of, values[self._allocated], "AllocTRES", _NO_RESOURCES, line)
        asked = value(resources_of, values[self._requested], "ReqTRES", _NO_RESOURCES, line)
        node_count = value(count_of, values[self._node_count], "NNodes", None, line)
        asked_nodes = value(count_of, values[self._asked_nodes], "ReqNodes", None, line) or asked.hosts
        asked_cores = value(count_of, values[self._asked_cpus], "ReqCPUS", None, line) or asked.cores
        cores: int | None = None
        if attempt.started is not None:
            host_count = node_count or given.hosts or len(attempt.hosts) or asked_nodes or 1
            cores = value(count_of, values[self._cpus], "AllocCPUS", None, line) or given.cores
        else:
            host_count = asked_nodes or node_count or 1
        memory = asked.memory
        if memory is None and values[self._asked_memory]:
            memory = self._memory(values[self._asked_memory], host_count, cores or asked_cores, line)
        submission = _NEITHER
        if values[self._line]:
            submission = submission_of(values[self._line])
            if submission.unread:
                self._left_out.value("the dependency in SubmitLine cannot be read", line)
        return LoggedJob(
            id=id,
            attempts=(attempt,),
            host_count=host_count,
            cores=cores,
            memory=given.memory,
            gres=given.gres,
            requested_hosts=asked_nodes,
            requested_cores=asked_cores,
            requested_memory=memory,
            requested_gres=asked.gres,
            walltime=self._walltime(values, line),
            name=values[self._name] or None,
            user=values[self._user] or None,
            group=values[self._group] or None,
            account=values[self._account] or None,
            partition=values[self._partition] or None,
            qos=values[self._qos] or None,
            constraint=values[self._features] or submission.constraint,
            reservation=values[self._reservation] or None,
            priority=value(count_of, values[self._priority], "Priority", None, line),
            dependency=submission.dependency,
            array=None if id.isdecimal() else array_of(id),
            exclusive=submission.exclusive,
            line=line,
        )

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

    def _state_of(self, text: str, line: int) -> JobState | None:
        """A state that is written in another way; None if the row is left out."""
        reason = LEFT_OUT.get(text)
        if reason is not None:
            self._left_out.row(reason, line)
            return None
        state = state_of(text)
        if state is None:
            if text:
                self._left_out.value(_NOT_READ.format("State"), line)
            return JobState.UNKNOWN
        return state

    def _is_elsewhere(self, cluster: str, line: int) -> bool:
        if self._cluster is None:
            self._cluster = cluster
        if cluster == self._cluster:
            return False
        self._left_out.row("the job is of another cluster than the first one of the log", line)
        return True

    def _attempt(self, values: list[str], state: JobState, line: int) -> Attempt:
        try:
            submitted, started = self._at(values[self._submit]), self._at(values[self._start])
            eligible, ended = self._at(values[self._eligible]), self._at(values[self._end])
        except ValueError:
            raise _Refused("a time cannot be read") from None
        suspended = 0.0 if (text := values[self._suspended]) in _NO_TIME else self._span(text, "Suspended", line) or 0.0
        elapsed = self._span(text, "Elapsed", line) if (text := values[self._elapsed]) else None
        if self._clock.doubtful:
            submitted, eligible, started, ended = self._settled(values, elapsed, suspended, line)
        if submitted is None:
            raise _Refused("the row has no time of submission")
        if self._latest is not None:
            self._latest = submitted if submitted >= self._latest else None
        if state in WENT_ON:
            ended = None
            if state is JobState.PENDING:
                started = None
        nodes = values[self._nodes]
        if nodes in NO_HOSTS or (not nodes and started == ended and state in NEVER_STARTED):
            nodes, started = "", None
        elif started is None and ended is not None and elapsed:
            started = ended - elapsed - suspended
        elif started is not None and ended is None and state not in WENT_ON:
            if elapsed is None:
                raise _Refused("the job has ended, but the row does not say when")
            ended = started + elapsed + suspended
        if started is not None and started < submitted:
            self._left_out.value("the job starts before it is submitted; its start is taken for both", line)
            submitted = started
        if ended is not None:
            if ended < (submitted if started is None else started):
                raise _Refused("the job ends before it starts, or before it is submitted")
            missed = 0.0 if started is None or elapsed is None else ended - started - suspended - elapsed
            if abs(missed) > _TOLERANCE:
                self._left_out.value("Elapsed is not the time from Start to End; give the zone of the log", line)
        code, signal = self._value(codes_of, values[self._exit], "ExitCode", _NO_CODES, line)
        return Attempt(
            submitted=submitted,
            eligible=eligible,
            started=started,
            ended=ended,
            state=state,
            hosts=self._value(self._hosts, nodes, "NodeList", (), line) if nodes else (),
            suspended=suspended,
            exit_code=code,
            signal=signal,
        )

    def _span(self, text: str, name: str, line: int) -> float | None:
        return None if text in NOTHING and text != "0" else self._value(seconds_of, text, name, None, line)

    def _settled(
        self, values: list[str], elapsed: float | None, suspended: float, line: int
    ) -> tuple[float | None, ...]:
        """The times of a row, of which one comes twice, as clocks were set back."""
        self._clock.doubtful = False
        columns = (self._submit, self._eligible, self._start, self._end)
        choices = [self._clock.both(values[column]) for column in columns]
        self._clock.doubtful = False
        taken = None if elapsed is None else elapsed + suspended
        return settled(choices, taken, self._span(values[self._waited], "Planned", line), self._latest)

    def _walltime(self, values: list[str], line: int) -> float | None:
        text, name, unit = values[self._limit], "Timelimit", 1.0
        if not text or text in NOTHING:
            text, name, unit = values[self._limit_minutes], "TimelimitRaw", 60.0
        if not text or text in NOTHING or text in _NO_LIMIT:
            return None
        if text == _OF_PARTITION:
            self._left_out.value("the time limit is that of the partition, which the log does not have", line)
            return None
        seconds = self._value(seconds_of, text, name, None, line)
        return None if seconds is None else seconds * unit

    def _memory(self, text: str, hosts: int, cores: int | None, line: int) -> int | None:
        """The memory that was asked for. Older versions add `n` to that of a host, and `c` to that of a core."""
        times = hosts if text.endswith("n") else (cores or 1) if text.endswith("c") else 1
        memory = self._value(memory_of, text[:-1] if text[-1] in "nc" else text, "ReqMem", None, line)
        return None if memory is None else memory * times
