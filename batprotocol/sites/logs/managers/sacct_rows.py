"""A row of Slurm's accounting becomes a job with one attempt. All of Slurm's formats are brought to such rows.

A value that cannot be read is counted and passed over. A row without its id or its times is left out. Texts that come
again are not read again, as logs have them very often.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import CLOCKS_DIFFER, Clock
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob
from batprotocol.sites.logs.managers.rows import array_of, tasks_of
from batprotocol.sites.logs.managers.sacct_columns import NEEDED, SubmitOptions, submission_of
from batprotocol.sites.slurm import texts as amounts
from batprotocol.sites.slurm.texts import MOST_DIGITS, SHORT_STATES, amount, elapsed, job_id, tres
from batprotocol.workloads.requests.notation import expanded_names, parse_memory

__all__ = [
    "LEFT_OUT",
    "NEVER_STARTED",
    "NOTHING",
    "NO_HOSTS",
    "NO_LIMITS",
    "OF_PARTITION",
    "STATES",
    "TWICE",
    "WENT_ON",
    "HostNames",
    "SacctAmounts",
    "SacctResources",
    "SacctRows",
    "amounts_of",
    "asked_memory_of",
    "codes_of",
    "count_of",
    "memory_of",
    "minutes_of",
    "resources_of",
    "seconds_of",
    "settled",
    "state_of",
    "walltime_of",
]


NOTHING: Final = amounts.NOTHING | {"Unknown", "unknown", "UNKNOWN", "NONE", "0"}
"""The words for a time, or another value, that the log does not have."""

OF_PARTITION: Final = "Partition_Limit"
"""The word for the time limit of a job that did not ask for one, before it starts."""
NO_LIMITS: Final = amounts.UNLIMITED | {OF_PARTITION}
"""The words for no time limit, or one that is not known."""

_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_TOLERANCE: Final = 1.0  # seconds between an elapsed time and the difference of two times, which are whole seconds


def settled(
    choices: Sequence[tuple[float | None, ...]],
    taken: float | None,
    waited: float | None,
    not_before: float | None,
    no_end_before: float | None = None,
) -> tuple[tuple[float | None, ...], bool]:
    """The moments of a job among those that its texts can stand for: the ones that agree best with the rest.

    Of several that agree as well, it takes the earliest time that the log is sorted by, as the next row may be
    from before a later one; then those with the fewest changes of clocks between them, and then the first.

    Args:
        choices: the moments of its submission, eligibility, start and end.
        taken: seconds from its start to its end; None: not known.
        waited: seconds from its eligibility to its start; None: not known.
        not_before: when the job before it in the log was submitted, if the log is sorted by submission.
        no_end_before: when the job before it in the log ended, if the log is sorted by ends.

    Returns:
        the moments, and whether no others agree as well.
    """

    def faults(moments: tuple[float | None, ...]) -> int:
        submitted, eligible, started, ended = moments
        known = [each for each in moments if each is not None]
        count = 4 * sum(one > two for one, two in itertools.pairwise(known))
        if taken is not None and started is not None and ended is not None:
            count += 8 * (abs(ended - started - taken) > _TOLERANCE)
        if waited is not None and started is not None and eligible is not None:
            count += 2 * (abs(started - eligible - waited) > _TOLERANCE)
        if not_before is not None and submitted is not None:
            count += submitted < not_before
        if no_end_before is not None and ended is not None:
            count += 2 * (ended < no_end_before)
        return count

    set_back = min((choice[1] for choice in choices if len(choice) > 1 and choice[1] is not None), default=None)

    def changes(moments: tuple[float | None, ...]) -> int:
        """How often clocks are set back between them."""
        later = [each >= set_back for each in moments if each is not None and set_back is not None]
        return sum(one != two for one, two in itertools.pairwise(later))

    def ordered_by(moments: tuple[float | None, ...]) -> float:
        """The time that the log is sorted by; 0: the log is not sorted, or the job does not have that time."""
        submitted, _, _, ended = moments
        return (not_before is not None and submitted) or (no_end_before is not None and ended) or 0.0

    ranked = sorted(
        (faults(moments), ordered_by(moments), changes(moments), place, moments)
        for place, moments in enumerate(itertools.product(*choices))
    )
    return ranked[0][-1], len(ranked) == 1 or ranked[0][0] < ranked[1][0]


@lru_cache(8192)
def minutes_of(text: str) -> float:
    """A span of time of whole minutes, in seconds.

    Raises:
        ValueError: the text is no number.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text) * 60.0


seconds_of = lru_cache(8192)(elapsed)


@lru_cache(8192)
def walltime_of(limit: str, minutes: str) -> float | None:
    """A time limit in seconds, of the columns `Timelimit` and `TimelimitRaw`; None if there is none.

    >>> walltime_of("", "3"), walltime_of("1-00:00:00", ""), walltime_of("UNLIMITED", "")
    (180.0, 86400.0, None)

    Raises:
        ValueError: a text is no time limit.
    """
    if limit not in NOTHING:
        return None if limit in NO_LIMITS else seconds_of(limit)
    return None if minutes in NOTHING or minutes in NO_LIMITS else minutes_of(minutes)


# Amounts


NO_HOSTS: Final = frozenset({"None assigned", "(null)", "None", "Unknown", "N/A"})
"""The words for the hosts of a job that never started."""

_MOST: Final = 1_000_000
"""The most hosts in lists that are kept, so that lists that come again need not be read again."""
_MOST_NAMES: Final = 200_000
"""The most different names of hosts that are kept."""

_CODES: Final = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?", re.ASCII)
_GRES: Final = "gres/"


@lru_cache(8192)
def count_of(text: str) -> int | None:
    """A number, or None if the text says that there is none.

    Raises:
        ValueError: the text is no number.
    """
    return None if text in NOTHING and text != "0" else amount(text)


@lru_cache(256)
def codes_of(text: str) -> tuple[int | None, int | None]:
    """An exit code and a signal, as in `0:9`.

    Raises:
        ValueError: the text is neither this nor empty.
    """
    if text in ("", "None"):
        return None, None
    found = _CODES.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found[1]), int(found[2]) if found[2] else None


class SacctResources(NamedTuple):
    """What a text of trackable resources has.

    Attributes:
        cores: cores; None if it has none. So are the others.
        memory: bytes.
        hosts: the number of hosts.
        gres: generic resources, as pairs of a name such as `gpu` or `gpu:a100`, and a number.
    """

    cores: int | None = None
    memory: int | None = None
    hosts: int | None = None
    gres: tuple[tuple[str, int], ...] = ()


@lru_cache(8192)
def resources_of(text: str) -> SacctResources:
    """Read trackable resources, such as `cpu=2,mem=1000M,node=1,gres/gpu:a100=2`. Others than these are passed over.

    Raises:
        ValueError: the text is no list of resources.
    """
    found = tres(text)
    gres = {name[len(_GRES) :]: count_of(count) or 0 for name, count in found.items() if name.startswith(_GRES)}
    return SacctResources(
        count_of(found.get("cpu", "")),
        memory_of(found.get("mem", "")),
        count_of(found.get("node", "")),
        tuple(sorted((name, count) for name, count in gres.items() if name and count)),
    )


@lru_cache(8192)
def memory_of(text: str) -> int | None:
    """Memory in bytes; None if there is none, or all of the hosts.

    Raises:
        ValueError: the text is no amount of memory.
    """
    if text in NOTHING:
        return None
    try:
        return parse_memory(text) or None
    except InputError:
        raise ValueError(text) from None


def asked_memory_of(text: str) -> int | None:
    """The memory in `4Gn` or `2000Mc`, as older versions have it: of a host, or of a core.

    Raises:
        ValueError: the text is no amount of memory.
    """
    return memory_of(text[:-1] if text[-1:] in ("n", "c") else text)


class SacctAmounts(NamedTuple):
    """What a job got, and what it asked for; None where the log does not have it.

    Attributes:
        hosts: the number of its hosts.
        waiting: the number of hosts that it waits for, at least 1.
        cores: its cores.
        memory: its memory in bytes.
        gres: its generic resources.
        asked_hosts: the number of hosts that it asked for.
        asked_cores: the cores that it asked for.
        asked_memory: the memory that it asked for.
        asked_gres: the generic resources that it asked for.
    """

    hosts: int | None
    waiting: int
    cores: int | None
    memory: int | None
    gres: tuple[tuple[str, int], ...]
    asked_hosts: int | None
    asked_cores: int | None
    asked_memory: int | None
    asked_gres: tuple[tuple[str, int], ...]


@lru_cache(8192)
def amounts_of(
    given: str, asked: str, hosts: str, asked_hosts: str, cores: str, asked_cores: str, asked_memory: str
) -> SacctAmounts:
    """The amounts of a job, of sacct's columns `AllocTRES`, `ReqTRES`, `NNodes`, `ReqNodes`, `AllocCPUS`, `ReqCPUS` and
    `ReqMem`. The columns of a kind of their own come before the trackable resources.

    Raises:
        ValueError: a text cannot be read.
    """
    got, wanted = resources_of(given), resources_of(asked)
    host_count, wanted_hosts = count_of(hosts) or got.hosts, count_of(asked_hosts) or wanted.hosts
    core_count, wanted_cores = count_of(cores) or got.cores, count_of(asked_cores) or wanted.cores
    memory = wanted.memory
    if memory is None and (each := asked_memory_of(asked_memory)):
        parts = {"n": host_count or wanted_hosts, "c": core_count or wanted_cores}.get(asked_memory[-1:])
        memory = each * (parts or 1)
    return SacctAmounts(
        hosts=host_count,
        waiting=wanted_hosts or host_count or 1,
        cores=core_count,
        memory=got.memory,
        gres=got.gres,
        asked_hosts=wanted_hosts,
        asked_cores=wanted_cores,
        asked_memory=memory,
        asked_gres=wanted.gres,
    )


class HostNames:
    """Reads names of hosts, and keeps what it has read. Equal names are one object, as logs have them very often."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, str] = {}
        self._kept = 0

    def of(self, text: str) -> tuple[str, ...]:
        """The names that a text stands for.

        Raises:
            ValueError: the text cannot be read, or stands for too many names.
        """
        found = self._lists.get(text)
        return self._new(text) if found is None else found

    def _new(self, text: str) -> tuple[str, ...]:
        try:
            names = expanded_names(text)
        except InputError:
            raise ValueError(text) from None
        same = self._names.setdefault
        found = tuple([same(name, name) for name in names])
        self._kept += len(found) + 8  # the text takes memory, too
        if self._kept > _MOST or len(self._names) > _MOST_NAMES:
            self._lists.clear()
            self._names.clear()
            self._kept = 0
        self._lists[text] = found
        return found


# States


_KNOWN: Final = {
    **{state.value: state for state in AttemptState},
    **dict.fromkeys(("COMPLETING", "CONFIGURING"), AttemptState.RUNNING),
}
STATES: Final[dict[str, AttemptState]] = {
    **_KNOWN,
    **{short: _KNOWN[state] for short, state in SHORT_STATES.items() if state in _KNOWN},
    "CANCELLED+": AttemptState.CANCELLED,
    "OUT_OF_ME+": AttemptState.OUT_OF_MEMORY,
}
"""The states by their names, in long or short form or cut. A job that is being set up or cleaned up runs."""

LEFT_OUT: Final = {
    "RESIZING": "a part of a job that changed its size: only its last part is read",
    "RS": "a part of a job that changed its size: only its last part is read",
    "REVOKED": "the job ran on another cluster of the federation",
    "RV": "the job ran on another cluster of the federation",
}
"""States of rows that are not jobs, with the reasons."""

NEVER_STARTED: Final = frozenset(
    {AttemptState.CANCELLED, AttemptState.DEADLINE, AttemptState.PENDING, AttemptState.BOOT_FAIL}
)
"""States of jobs that may never have started, though the log has the same time for start and end."""

WENT_ON: Final = frozenset({AttemptState.RUNNING, AttemptState.PENDING, AttemptState.SUSPENDED})
"""States of jobs that had not ended when the log was written."""


def state_of(text: str) -> AttemptState | None:
    """The state that a text names, such as `CANCELLED by 1000`; None if there is no such state."""
    return STATES.get(text) or STATES.get(text.partition(" ")[0])


# Rows


_EQUAL: Final = "--ntasks-per-node"  # the option with which a job has as many cores of each host
_SHORT: Final = 12  # digits of a number that is read at once
_NO_SUBMISSION: Final = SubmitOptions()
_NO_SPAN: Final = NOTHING - {"0"}
_NOT_YET: Final = frozenset({"Unknown", "None", "0"})  # the ends of jobs that wait or run

# The columns of sacct that are used, by names in lower case: `sacct_columns` brings the names of a log to lower case.
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
"""The columns that are read, in the order in which `SacctRows._made` takes them; of several, the first one."""
_COUNTS: Final = frozenset(
    ("nnodes", "allocnodes", "alloctres", "nodelist", "ncpus", "alloccpus", "reqnodes", "reqtres")
)


class SacctRows:
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
        places: the places of the columns in `_USED`; -1: the log does not have it.

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
        self.places = tuple(place(*each) for each in _USED)
        self._pick = itemgetter(*self.places)
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

    @property
    def seen(self) -> tuple[float | None, str]:
        """The latest submission so far, or None if rows are not in this order; and the cluster of all rows."""
        return self._latest, self._cluster

    @seen.setter
    def seen(self, seen: tuple[float | None, str]) -> None:
        self._latest, self._cluster = seen

    def readers(self) -> tuple[Callable[..., object], ...]:
        """The readers of texts of rows that are not odd, in the order of `native/sacct.c`.

        Each raises a ValueError for a text of an odd row.
        """
        return (
            _plain_state,
            codes_of,
            amounts_of,
            _plain_walltime,
            lambda text: None if text in _NO_SPAN else seconds_of(text),
            lambda text: 0.0 if text in _NO_SPAN else seconds_of(text),
            lambda text: None if text in NO_HOSTS else self._host_names.of(text) if text else (),
            count_of,
            _no_time,
            self._clock.hour,
            submission_of,
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

    def _state_of(self, text: str) -> AttemptState:
        """A state that is written in another way."""
        if text in LEFT_OUT:
            raise _Refused(LEFT_OUT[text])
        state = state_of(text)
        if state is None and text:
            self._notes.append("the value of state cannot be read")
        return state or AttemptState.UNKNOWN

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
        state: AttemptState,
        code: int | None,
        signal: int | None,
    ) -> Attempt:
        at = self._clock.at
        submit_text, eligible_text, start_text, end_text = texts
        submitted, started, ended = at(submit_text), at(start_text), at(end_text)
        eligible = submitted if eligible_text == submit_text else at(eligible_text)
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
        if state is AttemptState.UNKNOWN and end_text in _NOT_YET:
            state = AttemptState.PENDING if started is None else AttemptState.RUNNING
        if state in WENT_ON:
            ended = None
            if state is AttemptState.PENDING:
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


# Rows that are not odd, in C


def _plain_state(text: str) -> tuple[AttemptState, int]:
    """A state that needs no word about it, and its flags: 1 it went on, 2 it waits, 4 it may never have started."""
    state = state_of(text)
    if text in LEFT_OUT or state is None or state is AttemptState.UNKNOWN:
        raise ValueError(text)
    pending = state is AttemptState.PENDING
    return state, (state in WENT_ON) | pending << 1 | (state in NEVER_STARTED) << 2


def _plain_walltime(limit: str, minutes: str) -> float | None:
    """A time limit that the log has, or none."""
    if OF_PARTITION in (limit, minutes):
        raise ValueError(limit)
    return walltime_of(limit, minutes)


def _no_time(text: str) -> None:
    """The text says that there is no time."""
    if text not in NOTHING:
        raise ValueError(text)
