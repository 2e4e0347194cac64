"""The folder of the jobs on the cluster, which keeps what Slurm forgets: who is in which array, begins and ends.

A batch is an array of Slurm. It has a folder of its own, written whole or not at all:

    about.json      how it is submitted
    jobs            a line for each element of the array: its index, and its jobs with their walltimes
    plan.INDEX      what an element runs, for the shell
    claims/JOB      made by the element that runs the job, or by who kills it before: whoever makes it first
    log.INDEX       the begins and ends of the jobs of an element
    log             what the loop has to say: the id of the array, jobs that were killed or forgotten

The state of each job follows from these logs and the queue of Slurm. The script of the jobs writes them.
"""

from __future__ import annotations

import io
import math
import re
import shlex
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

import msgspec

from batprotocol.campaigns.managers.interface import (
    DIRECTORY,
    KEPT_BYTES,
    KILLED,
    LOST,
    NO_DIRECTORY,
    NODES,
    REFUSED,
    TIME_OVER,
    JobRequest,
    ended,
)
from batprotocol.campaigns.model import GridJobState, GridValue, RemoteEvent, RemoteJob
from batprotocol.sites.slurm.client import CommandRunner, ReportedJob, SlurmError

_OPEN: Final = """
folder=$1
case $folder in "~/"*) folder=$HOME/${folder#"~/"} ;; esac
umask 077
mkdir -p "$folder/$2/new" "$folder/$2/output" && cd "$folder/$2" && rm -rf new/* && pwd -P
"""

_WRITE: Final = 'cd "$1/new" && rm -rf "$2" && mkdir "$2" && tar -xf - -C "$2" && mkdir "$2/claims" && mv "$2" ..'

_READ: Final = r"""
cd "$1" && find . -path ./new -prune -o -path ./output -prune -o -name claims -prune -o \
    -type f '(' -name jobs -o -name 'log*' -o -name about.json ')' -exec grep -H '' '{}' +
"""

_CLAIM: Final = r"""
cd "$1" || exit
while read -r batch job; do
    if mkdir "$batch/claims/$job"; then
        echo "killed $job" >>"$batch/log"
    elif [ -d "$batch" ]; then
        : >"$batch/claims/$job/kill"
    fi 2>/dev/null
done
exit 0
"""

_NOTE: Final = """
cd "$1" || exit
while read -r batch line; do
    [ ! -d "$batch" ] || printf '%s\\n' "$line" >>"$batch/log"
done
"""

_TAILS: Final = r"""
cd "$1/output" || exit
while read -r job; do
    for kind in stdout stderr; do
        [ -f "$job.$kind" ] && [ ! -L "$job.$kind" ] || continue # a job may have made a link
        size=$(($(wc -c <"$job.$kind")))
        kept=$((size < $2 ? size : $2))
        printf '%s %s %s %s\n' "$job" "$kind" "$size" "$kept"
        tail -c "$kept" "$job.$kind"
    done
done
"""

_REMOVE: Final = 'cd "$1" && while read -r batch; do mv "$batch" "new/$batch" && rm -rf "new/$batch"; done; exit 0'

_NAME: Final = re.compile(r"b[0-9]{1,19}")


class BatchTerms(GridValue, frozen=True, kw_only=True):
    """How a batch is submitted.

    Args:
        size: the size of the array.
        minutes: the time limit of each element.
        weight: how many resources each element has.
        constraint: the features that its nodes must have.
        comment: the comment of its jobs.
    """

    size: int
    minutes: int
    weight: int
    constraint: str = ""
    comment: str = ""


class NewBatch(NamedTuple):
    """A batch to write: its name, how it is submitted, and for each element the line of `jobs` and the plan."""

    name: str
    about: BatchTerms
    elements: list[tuple[str, str]]
    refused: Mapping[int, str]
    """The jobs that are not submitted, and why."""


class BatchLines(NamedTuple):
    """The lines of a batch.

    Attributes:
        about: how it is submitted.
        jobs: the jobs of each element with their walltimes, in their order.
        said: the lines of all logs, as words.
    """

    about: BatchTerms
    jobs: dict[int, dict[int, float]]
    said: list[list[str]]


class BatchFolder:
    """The folder of the jobs of one store of campaigns. All methods raise `SlurmError`.

    Args:
        runner: runs commands where the folder is.
        path: the folder on the cluster.
        mark: the name of the folder in it.
        timeout: how many seconds a command may take.
    """

    def __init__(self, runner: CommandRunner, path: str, mark: str, timeout: float) -> None:
        self._runner = runner
        self._timeout = timeout
        self.path = self._sh(_OPEN, path, mark).strip()
        if not self.path.startswith("/"):
            raise SlurmError(f"expected the path of the folder {path!r}, got {self.path[:60]!r}")

    def batch(self, name: str) -> str:
        """The path of a batch."""
        return f"{self.path}/{name}"

    def write(self, batch: NewBatch, prologue: str) -> None:
        """Write a batch and the user's prologue for it, all or nothing."""
        lines = "".join(line for line, _ in batch.elements)
        said = "".join(f"refused {job} {' '.join(why.split())}\n" for job, why in batch.refused.items())
        files = {
            "about.json": msgspec.json.encode(batch.about).decode(),
            "jobs": lines,
            "log": said,
            "prologue": prologue,
        }
        files |= {f"plan.{index}": plan for index, (_, plan) in enumerate(batch.elements)}
        self._sh(_WRITE, self.path, batch.name, given=_archive(files))

    def read(self) -> dict[str, BatchLines]:
        """All batches."""
        found: dict[str, dict[str, list[str]]] = {}
        for line in self._sh(_READ, self.path).split("\n"):
            path, _, text = line.partition(":")
            _, _, path = path.partition("/")
            batch, _, file = path.partition("/")
            if _NAME.fullmatch(batch) and file:
                found.setdefault(batch, {}).setdefault(file, []).append(text)
        return {name: lines for name, files in found.items() if (lines := _lines(files)) is not None}

    def claim(self, jobs: Iterable[tuple[str, int]]) -> None:
        """Claim jobs by batch and number, so that they never begin; or mark those that have begun."""
        self._sh(_CLAIM, self.path, given="".join(f"{batch} {job}\n" for batch, job in jobs).encode())

    def note(self, lines: Iterable[tuple[str, str]]) -> None:
        """Add lines to the logs of batches."""
        given = "".join(f"{batch} {line}\n" for batch, line in lines)
        if given:
            self._sh(_NOTE, self.path, given=given.encode())

    def tails(self, jobs: Iterable[int]) -> dict[int, dict[str, tuple[bytes, bool]]]:
        """The ends of the outputs of jobs, and whether they are whole, by `stdout` and `stderr`."""
        given = "".join(f"{job}\n" for job in jobs)
        printed = self._raw(_TAILS, self.path, str(KEPT_BYTES), given=given.encode()) if given else b""
        found: dict[int, dict[str, tuple[bytes, bool]]] = {}
        while printed:
            line, _, printed = printed.partition(b"\n")
            try:
                job, kind, size, kept = line.decode().split()
                found.setdefault(int(job), {})[kind] = printed[: int(kept)], int(size) <= KEPT_BYTES
                printed = printed[int(kept) :]
            except ValueError:
                break
        return found

    def remove(self, batches: Iterable[str]) -> None:
        """Remove batches."""
        given = "".join(f"{batch}\n" for batch in batches)
        if given:
            self._sh(_REMOVE, self.path, given=given.encode())

    def _sh(self, script: str, *words: str, given: bytes = b"") -> str:
        return self._raw(script, *words, given=given).decode("utf-8", "replace")

    def _raw(self, script: str, *words: str, given: bytes = b"") -> bytes:
        return self._runner.run(["sh", "-c", script, "sh", *words], given, timeout=self._timeout)


def _archive(files: Mapping[str, str]) -> bytes:
    """The files as the bytes of a tar archive."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in files.items():
            data = text.encode("utf-8", "surrogateescape")
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o600
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _lines(files: Mapping[str, list[str]]) -> BatchLines | None:
    """The lines of a batch, or None if the batch is incomplete, as it is being removed."""
    try:
        about = msgspec.json.decode(files["about.json"][0], type=BatchTerms)
        jobs = dict(map(_element, files["jobs"]))
    except (KeyError, IndexError, ValueError, msgspec.DecodeError):
        return None
    return BatchLines(about, jobs, [*_words(files)])


def _element(line: str) -> tuple[int, dict[int, float]]:
    index, *jobs = line.split()
    pairs = (job.partition(":") for job in jobs)
    return int(index), {int(job): float(walltime) for job, _, walltime in pairs}


def _words(files: Mapping[str, list[str]]) -> Iterator[list[str]]:
    for name, lines in files.items():
        if name.startswith("log"):
            yield from (words for line in lines if len(words := line.split(" ", 3)) > 1)


# The state of each job, by the logs of its batch and the queue of Slurm.


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

    def __init__(self, lines: BatchLines) -> None:
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
    judge = _Judge(batch, now, missing, kills, new)
    return [
        judge.job(index, number, _row(rows_of(rows, index)))
        for index, jobs in batch.jobs.items()
        for number in jobs
        if number not in batch.forgotten
    ]


def rows_of(rows: Mapping[int | None, Sequence[ReportedJob]], index: int) -> list[ReportedJob]:
    """The jobs of Slurm for an element. Tasks of an array that wait or were cancelled may have one row in common."""
    if index in rows:
        return [*rows[index]]
    return [row._replace(id=f"{row.id}_{index}", task=index) for row in rows.get(None, ())]


def _row(rows: Iterable[ReportedJob]) -> ReportedJob | None:
    """The job of Slurm for an element: one that runs before one that waits, and these before those that have ended."""
    return min(rows, key=lambda row: (row.has_ended, row.waits), default=None)


class _Judge(NamedTuple):
    """A batch, and what is known beside its logs: see `judged`."""

    batch: BatchState
    now: float
    missing: Callable[[int], bool]
    kills: frozenset[int]
    new: Set[str]

    def job(self, index: int, number: int, row: ReportedJob | None) -> RemoteJob:
        """The state of a job of an element, which has this job in Slurm."""
        known, walltime = self.batch.known.get(number, _Known()), self.batch.jobs[index][number]
        to_kill = number in self.kills
        id = row.id if row is not None else f"{self.batch.id}_{index}" if self.batch.id else None
        node = known.node or (row.node if row is not None and row.node else None)

        def over(exit_code: int | None, because: RemoteEvent | None = None, errors: str = "") -> RemoteJob:
            return ended(
                number,
                exit_code=exit_code,
                because=because,
                start_time=known.began,
                stop_time=self.now if known.over is None else known.over,
                remote_id=id,
                node=node,
                errors=errors,
            )

        def going(state: GridJobState) -> RemoteJob:
            return RemoteJob(job=number, state=state, remote_id=id, start_time=known.began, node=node)

        if known.how in SIGNALLED and row is not None and row.state in _BY_STATE:
            return over(None, KILLED if to_kill else _BY_STATE[row.state])
        if known.how:
            return over(*_end(known, walltime))
        if known.refused is not None:
            return over(None, RemoteEvent(REFUSED.type, known.refused))
        if known.killed:
            return over(None, KILLED)
        if row is None and not self.batch.id:
            return going(GridJobState.REMOTE_WAITING)  # it is submitted again
        if row is not None and not row.has_ended:
            if not row.waits:
                return going(GridJobState.RUNNING)
            return going(GridJobState.SUBMITTED if row.id in self.new else GridJobState.REMOTE_WAITING)
        if row is not None and row.state not in ("COMPLETED", "FAILED"):
            if to_kill:
                return over(None, KILLED)
            if row.state == "OUT_OF_MEMORY" and known.began is not None:
                return over(OUT_OF_MEMORY, errors="Slurm has killed it, as it took too much memory.")
            if row.state == "TIMEOUT" and known.began is not None and self.now - known.began >= walltime:
                return over(None, TIME_OVER)
            return over(None, _BY_STATE.get(row.state, LOST))
        if not self.missing(index):
            return going(GridJobState.RUNNING)
        # A job that is COMPLETED without records is another one: Slurm uses ids again that it lost when it was killed.
        failed = row is not None and row.state == "FAILED"
        unseen = failed and not any(each in self.batch.known for each in self.batch.jobs[index])
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


# The script of a job of Slurm: it runs tasks one after the other, and records their begins and ends.


KILL_SECONDS: Final = 5
"""How long a command has to end after SIGTERM, when its walltime is over."""

_SCRIPT: Final = r"""#!/bin/sh
# Runs tasks of campaigns. A task begins only if its claim, a folder, can be made; so it begins once.
lead() {
    failed=$1
    batch=%(batch)s output=%(output)s resources=%(resources)d whole=%(whole)s
    element=${SLURM_ARRAY_TASK_ID:-0} node=${SLURMD_NODENAME:-$(hostname)}
    log=$batch/log.$element nodes=$batch/nodes.$element
    number= task= signalled= stopped= over=
    cd "$batch" 2>/dev/null || exit 1 # the node has no such folder, or nobody wants these tasks any more

    note() { printf '%%s\n' "$*" >>"$log"; }

    now() { date +%%s.%%N; }

    kill_marked() {
        if [ -n "$task" ] && [ -e "claims/$number/kill" ]; then
            kill -KILL -- "-$task" || kill -KILL "$task"
        fi 2>/dev/null
    }

    # SIGTERM: Slurm ends the job. The task may end well until SIGKILL comes.
    trap 'signalled=1 stopped=1; [ -z "$task" ] || kill -TERM "$task" 2>/dev/null' TERM
    # SIGUSR1: one of the tasks is to be killed.
    trap 'signalled=1; kill_marked' USR1

    task() {
        number=$1 seconds=$2 command=$3
        shift 3
        [ -z "$stopped" ] || return 0
        mkdir "claims/$number" 2>/dev/null || return 0
        out=$output/$number.stdout errors=$output/$number.stderr
        note "begin $number ${over:-$(now)} $node"
        if [ "$failed" != 0 ]; then
            cp "prologue.$element" "$errors"
            note "end $number $(now) $failed"
            return 0
        fi
        if ! [ -d "$directory" ]; then
            note "end $number $(now) directory"
            return 0
        fi
        (
            trap - TERM USR1
            cd "$directory" || exit 126
            [ "$#" = 0 ] || export "$@"
            exec timeout -k %(grace)d "$seconds" $CIGRI_RUN_IN sh -c "$command"
        ) </dev/null >"$out" 2>"$errors" &
        task=$!
        [ -z "$stopped" ] || kill -TERM "$task" 2>/dev/null
        kill_marked
        wait "$task"
        status=$?
        stray=
        while [ -n "$signalled" ]; do
            signalled= stray=138 # SIGUSR1 may reach a task that is only being started
            wait "$task"
            again=$?
            [ "$again" = 127 ] || status=$again
        done
        over=$(now)
        # Slurm may be ending all processes of the job: its signal may come here last
        [ "$status" = 0 ] || [ -n "$stopped" ] || sleep 1
        kill -KILL -- "-$task" 2>/dev/null # what it has left running
        task=
        if [ -s "$out" ]; then
            [ -s "$errors" ] || rm -f "$errors"
        elif [ -s "$errors" ]; then
            rm -f "$out"
        else
            rm -f "$out" "$errors"
        fi
        word=end
        if [ "$status" != 0 ] && [ -e "claims/$number/kill" ]; then
            status=killed
        elif [ "$status" != 0 ] && [ -n "$stopped" ] || [ "$status" = "$stray" ]; then
            word=cut
        fi
        note "$word $number $over $status"
    }

    # A line for each resource, with the name of its node.
    write_nodes() {
        if [ "$resources" = 1 ]; then
            echo "$node"
            return
        fi
        hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" || echo "$node")
        counts=
        for each in $(echo "${SLURM_TASKS_PER_NODE:-$resources}" | tr , ' '); do
            times=1
            case $each in *x*) times=${each#*x} times=${times%%')'} ;; esac
            while [ "$times" -gt 0 ]; do
                counts="$counts ${each%%%%'('*}"
                times=$((times - 1))
            done
        done
        set -- $counts
        for host in $hosts; do
            count=${1:-1}
            [ -z "$whole" ] || count=1
            while [ "$count" -gt 0 ]; do
                echo "$host"
                count=$((count - 1))
            done
            shift
        done
    }

    write_nodes >"$nodes"
    . "./plan.$element"
    [ -s "$log" ] || exit 1
    exit 0
}

CIGRI_RUN_IN=
"""

_PROLOGUE: Final = r"""
# The prologue of the user. If it fails, each task ends with its status and its output.
fail() {
    trap - EXIT
    lead "$1"
}
trap 'failed=$?; [ "$failed" != 0 ] || failed=1; fail "$failed"' EXIT
. %(prologue)s >%(batch)s/prologue.$SLURM_ARRAY_TASK_ID 2>&1 </dev/null || fail $?
trap - EXIT
"""


def script_of(batch: str, output: str, resources: int, *, whole_nodes: bool, prologue: str) -> str:
    """The script of the jobs of a batch.

    Args:
        batch: the folder of the batch.
        output: the folder for the output of tasks.
        resources: how many resources each job has.
        whole_nodes: whether a resource is a node.
        prologue: the file with the user's lines for the shell, or "".
    """
    values = {
        "batch": shlex.quote(batch),
        "output": shlex.quote(output),
        "resources": resources,
        "whole": "yes" if whole_nodes else "",
        "grace": KILL_SECONDS,
        "prologue": shlex.quote(prologue),
    }
    before = f"[ -d {values['batch']} ] || exit 1\n{_PROLOGUE % values}" if prologue else ""
    return f"{_SCRIPT % values}{before}lead 0\n"


def plan_of(requests: Iterable[JobRequest]) -> str:
    """The plan of a job, which the script reads: the directory, and a line for each task.

    A shell reads all texts in it as they are, except for `~` and `$HOME` in the directory.
    """
    found = list(requests)
    return "".join([f"directory={_directory(found[0].directory)}\n", *map(_line, found)])


def _line(request: JobRequest) -> str:
    variables = [f"{shlex.quote(f'{name}=')}{_value(value)}" for name, value in request.environment.items()]
    seconds = max(1, math.ceil(request.walltime))  # some systems take whole seconds only
    return f"task {' '.join([str(request.job), str(seconds), shlex.quote(request.command), *variables])}\n"


def _value(value: str) -> str:
    return {DIRECTORY: '"$directory"', NODES: '"$nodes"'}.get(value) or shlex.quote(value)


def _directory(directory: str) -> str:
    if directory == "~" or directory.startswith("~/"):
        directory = f"$HOME{directory[1:]}"
    before, home, after = directory.partition("$HOME")
    return f'{shlex.quote(before) if before else ""}"$HOME"{shlex.quote(after)}' if home else shlex.quote(directory)
