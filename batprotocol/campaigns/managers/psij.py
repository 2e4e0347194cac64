"""A cluster that PSI/J submits jobs to: PBS, LSF, Cobalt, and others that `psij-python` has a batch executor for.

PSI/J only submits, lists and cancels. It reports a job that it does not find as completed, and it gives an exit code
once. So the state of each job is in a folder that the nodes share, and PSI/J runs as a process for each request.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from batprotocol._util import children
from batprotocol._util.files import reason_of
from batprotocol._util.requirements import installing
from batprotocol._util.web import BROKEN
from batprotocol.campaigns.managers.interface import (
    DIRECTORY,
    KILLED,
    LOST,
    NO_DIRECTORY,
    NODES,
    REFUSED,
    TIME_OVER,
    JobRequest,
    append_line,
    content_of,
    description_in,
    end_of_output,
    ended,
    write_file,
)
from batprotocol.campaigns.model import GridJobState, Observation, RemoteJob
from batprotocol.errors import ClusterError, InputError, printable, shown

__all__ = ["PsijCluster", "PsijDescription", "read_description"]


# The file that describes a cluster, in TOML.


_WORD: Final = re.compile(r"[\w.,@+:/-]{0,200}", re.A)

Whole = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]


class PsijDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster for PSI/J.

    Args:
        executor: the executor of PSI/J: `pbs`, `pbs_classic`, `lsf`, `cobalt` or `slurm`.
        folder: a folder for the files of the jobs, which this machine and all nodes share; made if it is missing.
        slots: how many resources to use at most. PSI/J does not report which are idle.
        cores: how many cores a resource has.
        queue: the queue of the jobs; empty: the default one.
        account: the account of the jobs.
        python: an interpreter that has `psij-python`; empty: that of the loop.
        timeout: how many seconds a command of the batch system may take.
    """

    executor: Literal["pbs", "pbs_classic", "lsf", "cobalt", "slurm"]
    folder: str
    slots: Whole
    cores: Whole = 1
    queue: str = ""
    account: str = ""
    python: str = ""
    timeout: Annotated[float, msgspec.Meta(ge=1, le=600)] = 60.0


def read_description(path: str | os.PathLike[str]) -> PsijDescription:
    """Read the description of a cluster with `type = "psij"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    return description_in(path, "psij", PsijDescription, _finished, {})


def _finished(found: PsijDescription, beside: str) -> PsijDescription:
    for key in ("queue", "account"):
        word = getattr(found, key)
        if _WORD.fullmatch(word) is None or word.startswith("-"):
            raise InputError(f"expected a name, got {shown(word)}", key)
    if not found.folder or not found.folder.isprintable():
        raise InputError(f"expected the path of a folder, got {shown(found.folder)}", "folder")
    python = os.path.expanduser(found.python)
    return msgspec.structs.replace(
        found,
        folder=os.path.abspath(os.path.join(beside, os.path.expanduser(found.folder))),
        python=os.path.join(beside, python) if "/" in python else python or sys.executable,
    )


# Runs PSI/J as a process for each request, so that it ends in time, whatever it waits for.


MOST_BYTES: Final = 8 << 20
"""How many bytes of answers are read."""

HELPER: Final = str(Path(__file__).with_name("_psij_helper.py"))

Answer = dict[str, str]


class Psij:
    """PSI/J's executor of a cluster.

    Args:
        description: the description of the cluster.
        cluster: the name of the cluster, for messages.
    """

    def __init__(self, description: PsijDescription, cluster: str = "") -> None:
        self._description = description
        self._cluster = cluster

    def submit(self, jobs: Sequence[Mapping[str, Any]]) -> tuple[list[str], str]:
        """Submit scripts; return the batch system's numbers of the first ones, and why the next one has none, or ""."""
        given = self._description
        more = {"queue": given.queue, "account": given.account}
        answers, trouble = self._ask({"submit": [{**job, **more} for job in jobs]})
        natives = [each["native"] for each in answers if "native" in each]
        return natives, trouble if trouble or len(natives) == len(jobs) else self._failed("it writes no answer")

    def states(self, natives: Iterable[str]) -> Answer:
        """The states of the jobs that the batch system lists, by its numbers."""
        answers, trouble = self._ask({"states": list(natives)})
        if trouble or not answers:
            raise ClusterError(trouble or self._failed("it writes no answer"), self._cluster)
        return answers[0]

    def cancel(self, natives: Iterable[str]) -> None:
        """Cancel jobs. Those that are not there any more are skipped."""
        _, trouble = self._ask({"cancel": list(natives)})
        if trouble:
            raise ClusterError(trouble, self._cluster)

    def _ask(self, request: Mapping[str, Any]) -> tuple[list[Answer], str]:
        """The answers to a request, and why there are no more, or ""."""
        given = self._description
        text = msgspec.json.encode({"executor": given.executor, **request})
        try:
            done = children.run([given.python, "-I", HELPER], text, timeout=given.timeout, environment=dict(os.environ))
        except children.NotStarted as error:
            return [], str(error)
        trouble = ""
        if done.trouble == "late":
            trouble = f"PSI/J does not answer within {given.timeout:g} s"
        elif done.trouble == "long":
            trouble = self._failed(f"it writes more than {MOST_BYTES >> 20} MiB")
        elif done.status:
            trouble = self._failed(children.last_line(done.errors))
        answers: list[Answer] = []
        for line in io.BytesIO(done.output):
            if not line.endswith(b"\n"):  # it is a half
                break
            try:
                answers.append(msgspec.json.decode(line, type=Answer))
            except BROKEN:
                return answers, self._failed("it writes no JSON")
            if set(answers[-1]) == {"error"}:
                return answers[:-1], self._failed(answers[-1]["error"])
        return answers, trouble

    def _failed(self, reason: str) -> str:
        line = printable(" ".join(reason.split()))[:300]
        if "No module named 'psij'" in line:
            return f"{self._description.python} has no PSI/J: {installing('psij')}"
        return f"PSI/J with {self._description.executor} fails: {line}"


# The files of the jobs, in a folder that the nodes share: what is to run, who may run it, and how it went.


UNFINISHED: Final = ".unfinished"
NUMBERS: Final = "${SLURM_JOB_ID:-${PBS_JOBID:-${LSB_JOBID:-${COBALT_JOBID:-}}}}"
"""The batch system's number of the job, in the environment of the job."""


class JobFolder:
    """The folder of a job.

    Args:
        path: the folder.
        request: the job.
    """

    def __init__(self, path: Path, request: JobRequest) -> None:
        self.path = path
        self.request = request
        self.native = _line(path / "native")
        self.began: float | None = None
        self.node: str | None = None
        self.over: tuple[float, str] | None = None  # when, and its status or why it has none

    def write(self) -> None:
        """Write the files of the job, all of them or none."""
        unfinished = self.path.with_name(f"{self.path.name}{UNFINISHED}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        (unfinished / "request.json").write_bytes(msgspec.json.encode(self.request))
        (unfinished / "run.sh").write_bytes(self._script().encode("utf-8", "surrogatepass"))
        unfinished.rename(self.path)

    def remove(self) -> None:
        """Remove the folder. A copy that waits finds no script, and does nothing."""
        gone = self.path.with_name(f"{self.path.name}{UNFINISHED}")
        with suppress(OSError):
            self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def set_native(self, native: str) -> None:
        """Write down the batch system's number of the job."""
        self.native = native
        write_file(self.path / "native", f"{native}\n".encode())

    def claim(self) -> bool:
        """Prevent that the job begins; return whether it had not begun."""
        try:
            (self.path / "claim").mkdir()
        except FileExistsError:
            return False
        return True

    @property
    def is_claimed(self) -> bool:
        """Whether the job has begun, or never will."""
        return (self.path / "claim").is_dir()

    @property
    def is_doomed(self) -> bool:
        """Whether it is to be killed."""
        return (self.path / "kill").exists()

    def doom(self) -> None:
        """Record that it is to be killed."""
        write_file(self.path / "kill", b"")

    def end(self, why: str) -> None:
        """Record an end that the job did not record."""
        append_line(self.path / "log", f"end {time.time():.0f} {why}")
        self.read()

    def read(self) -> None:
        """Read the log."""
        with suppress(OSError):
            for line in content_of(self.path / "log").decode("utf-8", "replace").splitlines():
                word, at, *rest = [*line.split(" "), "", ""]
                with suppress(ValueError):
                    if word == "begin":
                        self.began, self.node = float(at), rest[0] or None
                        self.native = rest[1] or self.native  # that of the copy that runs
                    elif word == "end" and self.over is None:
                        self.over = float(at), rest[0]

    def ended(self) -> RemoteJob:
        """The job, when it has ended."""
        assert self.over is not None
        at, why = self.over
        blamed = {"directory": NO_DIRECTORY, "killed": KILLED, "late": TIME_OVER}.get(why)
        status = int(why) if why.isdecimal() and len(why) < 4 else None
        if status not in (None, 0) and self.is_doomed:
            status, blamed = None, KILLED
        return ended(
            self.request.job,
            exit_code=None if status is None else status << 8,
            because=blamed or (LOST if status is None else None),
            start_time=self.began,
            stop_time=at,
            remote_id=self.native or None,
            node=self.node,
            output="" if status == 0 else end_of_output(self.path / "out"),
            errors="" if status == 0 else end_of_output(self.path / "err"),
        )

    def _script(self) -> str:
        request, here = self.request, shlex.quote(str(self.path))
        home, rest = _home(request.directory)
        known = {DIRECTORY: '"$PWD"', NODES: '"${PSIJ_NODEFILE:-}"'}
        exports = [
            f"export {name}={known.get(value) or shlex.quote(value)}" for name, value in request.environment.items()
        ]
        return "\n".join(
            (
                f"here={here}",
                'mkdir "$here/claim" 2>/dev/null || exit 0',
                f'cd {home}{shlex.quote(rest)} || {{ echo "end $(date +%s) directory" >>"$here/log"; exit 0; }}',
                f'echo "begin $(date +%s) $(hostname) {NUMBERS}" >>"$here/log"',
                *exports,
                f'sh -c {shlex.quote(request.command)} </dev/null >"$here/out" 2>"$here/err"',
                'echo "end $(date +%s) $?" >>"$here/log"',
                "",
            )
        )


def folders(place: Path) -> Iterator[JobFolder]:
    """The folders of all jobs. Folders that were being made or removed are removed."""
    for path in place.iterdir():
        if path.suffix == UNFINISHED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            yield JobFolder(path, msgspec.json.decode(content_of(path / "request.json"), type=JobRequest))


def _home(directory: str) -> tuple[str, str]:
    """The words of the shell for the home directory if a path begins with it, and the rest of the path."""
    for home in ("$HOME", "~"):
        if directory == home or directory.startswith(f"{home}/"):
            return '"$HOME"', directory[len(home) :]
    return "", directory


def _line(path: Path) -> str:
    try:
        return content_of(path).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


GONE_SECONDS: Final = 5.0
"""How long the end of a job may take to be seen here, after the batch system does not run it any more."""

MOST_AT_ONCE: Final = 100
"""How many jobs are submitted by one process of PSI/J."""

LIVING: Final = frozenset({"NEW", "QUEUED", "HELD", "ACTIVE"})
"""PSI/J's states of jobs that the batch system still has. A job that it does not list has none."""


# The resource manager.


class PsijCluster:
    """A cluster that PSI/J submits jobs to.

    Args:
        name: the name of the cluster.
        path: the file that describes it.
        mark: the name of the folder of the jobs, unique to the store.

    Raises:
        ClusterError: the description or the folder cannot be used.
    """

    def __init__(self, name: str, path: str, mark: str = "cigri") -> None:
        self.name = name
        try:
            self._description = read_description(path)
        except InputError as error:
            raise ClusterError(str(error), name) from None
        self._psij = Psij(self._description, name)
        self._mark = mark
        self._place = Path(self._description.folder) / mark
        self._gone: dict[int, tuple[float, int]] = {}
        self._ended: dict[int, RemoteJob] = {}
        self._refused: dict[int, RemoteJob] = {}
        with self._files():
            self._place.mkdir(parents=True, exist_ok=True)
            self._jobs = {each.request.job: each for each in folders(self._place)}

    def look(self) -> Observation:
        with self._files():
            self._look()
        going = [job for number, job in self._jobs.items() if number not in self._ended]
        used = sum(job.request.weight for job in going)
        jobs = (*self._ended.values(), *self._refused.values(), *map(_going_on, going))
        slots = self._description.slots
        return Observation(cluster=self.name, time=time.time(), max=slots, free=max(0, slots - used), jobs=jobs)

    def submit(self, requests: Sequence[JobRequest]) -> None:
        new = [each for each in requests if each.job not in self._jobs and each.job not in self._refused]
        with self._files():
            for each in {each.job: each for each in new}.values():
                if each.weight > self._description.slots or "\0" in each.command:
                    self._refused[each.job] = ended(each.job, because=REFUSED, stop_time=time.time())
                    continue
                job = JobFolder(self._place / str(each.job), each)
                job.write()
                self._jobs[each.job] = job
            self._send()

    def kill(self, jobs: Iterable[int]) -> None:
        doomed = [self._jobs[each] for each in jobs if each in self._jobs and each not in self._ended]
        with self._files():
            for job in doomed:
                job.doom()
            for job in doomed:
                if job.claim():
                    job.end("killed")
                job.read()
        natives = [job.native for job in doomed if job.native]
        if natives:
            self._psij.cancel(natives)

    def forget(self, jobs: Iterable[int]) -> None:
        forgotten = [each for each in jobs if each in self._jobs or each in self._refused]
        self.kill([each for each in forgotten if each not in self._ended])
        with self._files():
            for each in forgotten:
                for record in (self._ended, self._refused, self._gone):
                    record.pop(each, None)
                job = self._jobs.pop(each, None)
                if job is not None:
                    job.remove()

    def tend(self) -> None:
        """Do nothing: the batch system starts jobs."""

    def close(self) -> None:
        """Do nothing: jobs go on."""

    def _look(self) -> None:
        going = [job for number, job in self._jobs.items() if number not in self._ended]
        natives = [job.native for job in going if job.native]
        states = self._psij.states(natives) if natives else {}
        now = time.time()
        for job in going:  # after the states: a job that is over has written its end
            number = job.request.job
            job.read()
            if job.over is None and job.native and states.get(job.native) not in LIVING:
                self._judge(job, now)
            else:
                self._gone.pop(number, None)
            if job.over is not None:
                self._ended[number] = job.ended()
        self._send()

    def _judge(self, job: JobFolder, now: float) -> None:
        """The batch system does not run a job any more, and the job has not written its end."""
        since, looks = self._gone.get(job.request.job, (now, 0))
        self._gone[job.request.job] = since, looks + 1
        if looks == 0 or now - since < GONE_SECONDS:
            return
        if not job.claim():  # it had begun
            job.read()
        if job.over is None:
            late = job.began is not None and now - job.began >= job.request.walltime
            job.end("killed" if job.is_doomed else "late" if late else "lost")

    def _send(self) -> None:
        """Submit the jobs without a number that have not begun. A copy that was submitted before does no harm."""
        for number, job in self._jobs.items():
            if not job.native and number not in self._ended and job.is_claimed:
                job.read()
        waiting = [job for job in self._jobs.values() if not job.native and job.over is None and not job.is_claimed]
        for first in range(0, len(waiting), MOST_AT_ONCE):
            together = waiting[first : first + MOST_AT_ONCE]
            natives, trouble = self._psij.submit([self._asked(job) for job in together])
            for job, native in zip(together, natives, strict=False):
                job.set_native(native)
            if trouble:
                raise ClusterError(trouble, self.name)

    def _asked(self, job: JobFolder) -> dict[str, object]:
        return {
            "script": str(job.path / "run.sh"),
            "name": f"{self._mark}.{job.request.job}",
            "seconds": max(60, round(job.request.walltime)),
            "cores": job.request.weight * self._description.cores,
        }

    @contextmanager
    def _files(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ClusterError(f"{error.filename or self._place}: {reason_of(error)}", self.name) from None


def _going_on(job: JobFolder) -> RemoteJob:
    began = job.began
    state = GridJobState.REMOTE_WAITING if job.native else GridJobState.SUBMITTED
    return RemoteJob(
        job=job.request.job,
        state=state if began is None else GridJobState.RUNNING,
        remote_id=job.native or None,
        start_time=began,
        node=job.node,
    )
