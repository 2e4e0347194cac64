"""The resource manager of a cluster of Slurm.

It keeps nothing in memory that matters: the folder of the jobs and the queue of Slurm have everything. A batch whose
submission had no answer is found again in the queue by its name, and is submitted again if it is not there. If both
come to run, the claims of jobs let each begin once.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from batprotocol.campaigns.managers._slurm_jobs import (
    BatchFolder,
    BatchState,
    BatchTerms,
    NewBatch,
    judged,
    plan_of,
    rows_of,
    script_of,
)
from batprotocol.campaigns.managers.interface import JobRequest, description_in, file_content, text_of_output
from batprotocol.campaigns.model import GridJobState, GridValue, Observation, RemoteJob
from batprotocol.errors import ClusterError, InputError, shown
from batprotocol.sites.slurm.client import (
    JobBatch,
    ReportedJob,
    ReportedNode,
    SlurmClient,
    SlurmCommands,
    SlurmError,
    SlurmLimits,
    SlurmRefusal,
    SlurmRest,
    read_token,
    runner_of,
)

__all__ = [
    "SlurmCluster",
    "SlurmDescription",
    "read_description",
]


# The file that describes a cluster of Slurm, in TOML. It has no secrets, only the places where they are.


class SlurmDescription(GridValue, frozen=True, kw_only=True):
    """A cluster of Slurm, as a campaign uses it.

    Args:
        folder: a folder on the cluster for the files of its jobs, which all nodes share; made if it is missing. `~` is
            the home directory there.
        host: `ssh:HOST` to call the commands there; empty: here.
        ssh_config: a configuration of OpenSSH in place of `~/.ssh/config`.
        rest: the address of slurmrestd, `unix:/PATH`, `http://HOST:PORT` or `https://HOST:PORT`; empty: the commands.
        rest_user: the name of the user for slurmrestd; empty: the user of the loop.
        token_file: a file with the token for slurmrestd.
        token_variable: the environment variable with the token.
        partition: the partition of the jobs; empty: the default one.
        qos: the quality of service of the jobs.
        account: the account of the jobs.
        constraint: features that all nodes of the jobs must have, in Slurm's notation.
        nice: how much the priority of the jobs is lowered, from 0.
        cores: how many cores a resource has, at least 1.
        memory: the memory of each core, such as `2G`; empty: Slurm's default.
        whole_nodes: whether a resource is a whole node. It is always one with `select/linear`.
        resources: how many resources to use at most, at least 1; without it, all.
        prologue: a file with lines for the shell that run on the node before the tasks: modules, scratch, containers.
        timeout: how many seconds a call of Slurm may take, from 1 to 600.
    """

    folder: str
    host: str = ""
    ssh_config: str = ""
    rest: str = ""
    rest_user: str = ""
    token_file: str = ""
    token_variable: str = ""
    partition: str = ""
    qos: str = ""
    account: str = ""
    constraint: str = ""
    nice: int = 0
    cores: int = 1
    memory: str = ""
    whole_nodes: bool = False
    resources: int | None = None
    prologue: str = ""
    timeout: float = 30.0

    def prologue_text(self) -> str:
        """The content of the prologue's file. It raises `InputError` if it cannot be read."""
        if not self.prologue:
            return ""
        try:
            text = file_content(self.prologue).decode()
        except UnicodeDecodeError:
            raise InputError("expected a text in UTF-8, got other bytes", "prologue", file=self.prologue) from None
        except InputError as error:
            raise InputError(error.reason, "prologue", file=self.prologue) from None
        if "\0" in text:
            raise InputError("expected a text without zero bytes", "prologue", file=self.prologue)
        return text


_WORD: Final = re.compile(r"[\w.,@+:/-]{1,200}", re.A)
_CONSTRAINT: Final = re.compile(r"[\w.,@+:/&|*()\[\]-]{1,400}", re.A)
_HOST: Final = re.compile(r"ssh:[^\s-]\S{0,300}")
_MEMORY: Final = re.compile(r"[1-9][0-9]{0,11}[KMGT]?")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w{0,100}", re.A)


def _word(value: str) -> bool:
    return not value or (_WORD.fullmatch(value) is not None and not value.startswith("-"))


_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "folder": (lambda each: each.startswith(("/", "~/")) and each.isprintable(), "a path that begins with / or ~/"),
    "host": (lambda each: not each or _HOST.fullmatch(each) is not None, '"ssh:HOST"'),
    "partition": (_word, "a name"),
    "qos": (_word, "a name"),
    "account": (_word, "a name"),
    "rest_user": (_word, "a name"),
    "constraint": (lambda each: not each or _CONSTRAINT.fullmatch(each) is not None, "features in Slurm's notation"),
    "memory": (lambda each: not each or _MEMORY.fullmatch(each) is not None, "an amount such as 2G"),
    "token_variable": (lambda each: not each or _VARIABLE.fullmatch(each) is not None, "the name of a variable"),
    "nice": (lambda each: 0 <= each < 1 << 31, "a number from 0"),
    "cores": (lambda each: 1 <= each <= 1 << 20, "a number from 1"),
    "resources": (lambda each: each is None or 1 <= each <= 1 << 31, "a number from 1"),
    "timeout": (lambda each: 1 <= each <= 600, "seconds from 1 to 600"),
}


def read_description(path: str | os.PathLike[str]) -> SlurmDescription:
    """Read the description of a cluster with `type = "slurm"`. Names of files in it are relative to its folder.

    Raises:
        InputError: it cannot be used; the error has the file and the key.
    """
    needed = {"folder": 'expected a key "folder", with a folder that all nodes share'}
    return description_in(path, "slurm", SlurmDescription, _finished, needed)


def _finished(found: SlurmDescription, beside: str) -> SlurmDescription:
    for key, (holds, expected) in _CHECKS.items():
        if not holds(getattr(found, key)):
            raise InputError(f"expected {expected}, got {shown(getattr(found, key))}", key)
    if found.token_file and found.token_variable:
        raise InputError("expected one of token_file and token_variable, got both", "token_file")
    if not found.rest and (found.token_file or found.token_variable):
        raise InputError('expected a key "rest" too, as only slurmrestd takes a token', "rest")
    files = {
        key: os.path.join(beside, os.path.expanduser(value))
        for key in ("prologue", "token_file", "ssh_config")
        if (value := getattr(found, key))
    }
    return msgspec.structs.replace(found, **files)


Answer = TypeVar("Answer")
Queue = Mapping[str, Mapping[int | None, Sequence[ReportedJob]]]
"""The jobs of Slurm by batch and element; see `judged`."""

RECORD_SECONDS: Final = 60.0
"""How long a record may take to come from a node to where the loop reads it: a shared folder is slower than Slurm."""

MOST_IN_ARRAY: Final = 1000


class _BatchShape(NamedTuple):
    """The properties that the elements of an array have in common.

    Attributes:
        weight: how many resources each element has.
        minutes: the time limit of each.
        properties: the features that their nodes must have.
        refusal: why they can never run, or "".
    """

    weight: int
    minutes: int
    properties: str
    refusal: str


class SlurmCluster:
    """The nodes of a partition of Slurm. A resource is a core, several cores, or a node.

    Args:
        name: the name of the cluster.
        description: its description.
        mark: the name of the folder of the jobs, and the prefix of the names of the jobs.

    Raises:
        ClusterError: the description cannot be used, or the cluster cannot be reached.
    """

    def __init__(self, name: str, description: SlurmDescription, mark: str = "cigri") -> None:
        self.name = name
        self._description = description
        self._mark = mark
        self._known: set[int] | None = None  # the jobs that have a batch; None: unknown
        self._missing: dict[tuple[str, int], float] = {}  # since when the records of elements are missing
        self._outputs: dict[int, tuple[str, str]] = {}
        self._most = 0  # the resources that the cluster had when it was looked at
        self._trouble = ""  # why batches wait to be submitted
        self._slurm, self._folder, self._limits = self._answer(self._open)
        self._whole_nodes = description.whole_nodes or self._limits.whole_nodes

    def _open(self) -> tuple[SlurmClient, BatchFolder, SlurmLimits]:
        said = self._description
        try:
            secrets = [said.token_variable] if said.token_variable else []
            runner = runner_of(said.host, said.ssh_config, secrets)
            slurm: SlurmClient = SlurmCommands(runner, said.timeout)
            if said.rest:
                token = partial(read_token, said.token_file, said.token_variable)
                slurm = SlurmRest(said.rest, token, said.rest_user, said.timeout)
            self._prologue = said.prologue_text()
        except InputError as error:
            raise SlurmError(str(error)) from None
        limits = slurm.limits(said.partition)
        if not limits.exists:
            raise SlurmError(f"there is no partition {said.partition!r}: `sinfo` lists the partitions")
        return slurm, BatchFolder(runner, said.folder, self._mark, said.timeout), limits

    # A resource manager

    def look(self) -> Observation:
        return self._answer(self._look)

    def submit(self, requests: Sequence[JobRequest]) -> None:
        self._answer(lambda: self._submit(requests))

    def kill(self, jobs: Iterable[int]) -> None:
        numbers = set(jobs)
        if numbers:
            self._answer(lambda: self._kill(numbers))

    def forget(self, jobs: Iterable[int]) -> None:
        numbers = set(jobs)
        if numbers:
            self._answer(lambda: self._forget(numbers))

    def tend(self) -> None:
        """Do nothing: Slurm starts jobs."""

    def close(self) -> None:
        """Do nothing: jobs go on."""

    # What they do

    def _look(self) -> Observation:
        queue, nodes = self._queue(), self._slurm.nodes(self._description.partition)
        batches = self._read()  # after the queue: a job that is not there any more has recorded its end
        now = time.time()
        self._submit_again(batches, queue)
        kills = frozenset(number for batch in batches.values() for number in batch.marked)
        most, free, new = self._resources(nodes, batches, queue)
        jobs: list[RemoteJob] = []
        for name, batch in batches.items():
            rows = queue.get(name, {})
            missing = self._patience(name, now)
            jobs += judged(batch, rows, now=now, missing=missing, kills=kills, new=new)
        self._remove(batches, queue)
        self._most = most
        return Observation(
            cluster=self.name,
            time=now,
            max=most,
            free=free,
            jobs=tuple(self._with_outputs(jobs)),
            message=self._trouble,
        )

    def _submit(self, requests: Sequence[JobRequest]) -> None:
        known = self._numbers()
        groups: dict[tuple[str, int], dict[int, JobRequest]] = {}
        for each in requests:
            if each.job not in known:
                key = ("alone", each.job) if each.group is None else ("group", each.group)
                groups.setdefault(key, {})[each.job] = each
        alike: dict[_BatchShape, list[list[JobRequest]]] = {}
        for group in groups.values():
            together = list(group.values())
            first, why = together[0], self._refusal(together)
            alike.setdefault(_BatchShape(first.weight, self._minutes(together), first.properties, why), []).append(
                together
            )
        size = max(1, min(MOST_IN_ARRAY, self._limits.array_size))
        for shape, elements in alike.items():
            for place in range(0, len(elements), size):
                self._submit_batch(elements[place : place + size], shape)

    def _kill(self, numbers: set[int]) -> None:
        batches = self._read()
        touched = {
            name: found for name, batch in batches.items() if (found := (numbers & batch.numbers) - batch.forgotten)
        }
        self._folder.claim((name, number) for name, found in touched.items() for number in sorted(found))
        self._folder.note((name, f"kill {number}") for name, found in touched.items() for number in sorted(found))
        self._end(touched, self._read())

    def _forget(self, numbers: set[int]) -> None:
        batches = self._read()
        touched = {name: found for name, batch in batches.items() if (found := numbers & batch.numbers)}
        alive = {number for name, found in touched.items() for number in found if not batches[name].is_settled(number)}
        if alive:
            self._kill(alive)
        self._folder.note((name, f"gone {number}") for name, found in touched.items() for number in sorted(found))
        for number in numbers:
            self._outputs.pop(number, None)

    # Batches

    def _submit_batch(self, elements: list[list[JobRequest]], shape: _BatchShape) -> None:
        numbers = [each.job for together in elements for each in together]
        about = BatchTerms(
            size=len(elements),
            minutes=shape.minutes,
            weight=shape.weight,
            constraint="&".join(each for each in (self._description.constraint, shape.properties) if each),
            comment=f"batprotocol campaigns: jobs {_ranges(numbers)}"[:500],
        )
        lines = [
            (f"{index} {' '.join(f'{each.job}:{each.walltime:g}' for each in together)}\n", plan_of(together))
            for index, together in enumerate(elements)
        ]
        refused = dict.fromkeys(numbers, shape.refusal) if shape.refusal else {}
        batch = NewBatch(f"b{min(numbers)}", about, lines, refused)
        known, self._known = self._numbers(), None  # if there is no answer, it is unknown
        self._folder.write(batch, self._prologue)
        self._known = known.union(numbers)
        if not refused:
            self._send(batch.name, about, numbers)

    def _send(self, name: str, about: BatchTerms, numbers: Sequence[int]) -> None:
        """Submit a batch that is written. If Slurm refuses it, its jobs have ended."""
        said = self._description
        prologue = f"{self._folder.batch(name)}/prologue" if self._prologue.strip() else ""
        script = script_of(
            self._folder.batch(name),
            f"{self._folder.path}/output",
            about.weight,
            whole_nodes=self._whole_nodes,
            prologue=prologue,
        )
        batch = JobBatch(
            script=script,
            name=self._job_name(name),
            size=about.size,
            minutes=about.minutes,
            tasks=about.weight,
            cores=said.cores,
            whole_nodes=self._whole_nodes,
            memory=said.memory,
            partition=said.partition,
            qos=said.qos,
            account=said.account,
            constraint=about.constraint,
            nice=said.nice,
            comment=about.comment,
            directory=self._folder.path,
        )
        try:
            id = self._slurm.submit(batch)
        except SlurmRefusal as error:
            self._folder.note((name, f"refused {number} {' '.join(error.reason.split())}") for number in numbers)
            return
        except SlurmError as error:
            self._trouble = error.reason  # the next look finds it in the queue, or submits it again
            return
        self._trouble = ""
        self._folder.note([(name, f"submitted {id}")])

    def _submit_again(self, batches: Mapping[str, BatchState], queue: Queue) -> None:
        """Record the ids of batches that Slurm has; submit those that it has never got."""
        self._trouble = ""
        for name, batch in batches.items():
            if batch.id or batch.is_over:
                continue
            rows = [row for element in queue.get(name, {}).values() for row in element]
            if rows:
                batch.id = rows[0].id.partition("_")[0]
                self._folder.note([(name, f"submitted {batch.id}")])
            elif not self._trouble:
                self._send(name, batch.about, sorted(batch.numbers - batch.forgotten))

    def _end(self, touched: Mapping[str, set[int]], batches: Mapping[str, BatchState]) -> None:
        """Cancel the elements of jobs that were killed; of groups that go on, end one job."""
        queue = self._queue()
        cancelled: list[str] = []
        signalled: list[str] = []
        for name, numbers in touched.items():
            batch = batches.get(name)
            for index, jobs in batch.jobs.items() if batch is not None else ():
                if not numbers & jobs.keys():
                    continue
                assert batch is not None
                alone = all(batch.is_settled(number) or number in batch.marked for number in jobs)
                ids = [row.id for row in rows_of(queue.get(name, {}), index) if not row.has_ended]
                (cancelled if alone else signalled).extend(ids)
        if cancelled:
            self._slurm.cancel(cancelled)
        if signalled:
            self._slurm.signal(signalled, "USR1")

    def _remove(self, batches: Mapping[str, BatchState], queue: Queue) -> None:
        """Remove batches that nobody asks for, and whose jobs are not in the queue."""

        def is_gone(name: str) -> bool:
            return all(row.has_ended for rows in queue.get(name, {}).values() for row in rows)

        done = [name for name, batch in batches.items() if batch.is_done and is_gone(name)]
        self._folder.remove(done)
        for name in done:
            self._known = self._numbers() - batches[name].numbers
            self._missing = {key: since for key, since in self._missing.items() if key[0] != name}

    # What it knows

    def _queue(self) -> Queue:
        """Its jobs in the queue of Slurm."""
        prefix = self._job_name("")
        found: dict[str, dict[int | None, list[ReportedJob]]] = {}
        for job in self._slurm.jobs():
            if job.name.startswith(prefix):
                found.setdefault(job.name[len(prefix) :], {}).setdefault(job.task, []).append(job)
        return found

    def _read(self) -> dict[str, BatchState]:
        batches = {name: BatchState(lines) for name, lines in self._folder.read().items()}
        self._known = {number for batch in batches.values() for number in batch.numbers}
        return batches

    def _numbers(self) -> set[int]:
        if self._known is None:
            self._read()
        return self._known or set()

    def _job_name(self, batch: str) -> str:
        return f"{self._mark}.{batch}"

    def _minutes(self, together: Sequence[JobRequest]) -> int:
        """The time limit of an element. A group takes less than the sum of its walltimes, which are far too long."""
        walltimes = [each.walltime for each in together]
        seconds = min(sum(walltimes), 2 * max(walltimes) + 600)
        minutes = min(math.ceil(seconds / 60) + 1, 1 << 24)
        longest = self._limits.longest
        return minutes if longest is None else max(1, min(minutes, longest))

    def _refusal(self, together: Sequence[JobRequest]) -> str:
        """Why the jobs of an element can never run, or ""."""
        weight = together[0].weight
        if self._most and weight > self._most:
            return f"It requests {weight} resources, but the cluster has {self._most}."
        longest = self._limits.longest
        walltime = max(each.walltime for each in together)
        if longest is not None and walltime > 60 * longest:
            return f"Its walltime of {walltime:g} s is more than the {60 * longest:g} s that the partition allows."
        if any("\0" in each.command for each in together):
            return "Its command has a zero byte."
        return ""

    def _resources(
        self, nodes: Sequence[ReportedNode], batches: Mapping[str, BatchState], queue: Queue
    ) -> tuple[int, int, frozenset[str]]:
        """How many resources there are and are free, and its new jobs, which do not wait for others as far as is known.

        No more jobs are new than there are resources: Slurm may stop looking for nodes.
        """
        usable = [node for node in nodes if node.usable]
        ready = [node for node in usable if node.state != "completing"]  # Slurm starts nothing there before it is over
        if self._whole_nodes:
            most = len(usable)
            free = sum(node.idle == node.total for node in ready)
        else:
            most = sum(node.total // self._description.cores for node in usable)
            free = sum(node.idle // self._description.cores for node in ready)
        limit = self._description.resources
        if limit is not None:
            most = min(most, limit)
        running = waiting = coming = 0
        new = set()
        for name, batch in batches.items():
            weight = batch.about.weight
            for row in (each for index in batch.jobs for each in rows_of(queue.get(name, {}), index)):
                if row.is_new and coming + weight <= most:
                    new.add(row.id)
                    coming += weight
                elif row.waits:
                    waiting += weight
                elif not row.has_ended:
                    running += weight
        if limit is not None:
            free = min(free, limit - running)
        return most, max(0, free - waiting), frozenset(new)

    def _patience(self, name: str, now: float) -> Callable[[int], bool]:
        """Whether the records of an element have been missing for too long."""
        return lambda index: now - self._missing.setdefault((name, index), now) >= RECORD_SECONDS

    def _with_outputs(self, jobs: Iterable[RemoteJob]) -> list[RemoteJob]:
        """The jobs, with the output of those that have not ended well."""
        found = list(jobs)
        bad = [job.job for job in found if job.state is GridJobState.TERMINATED and job.exit_code != 0]
        for number, printed in self._folder.tails(each for each in bad if each not in self._outputs).items():
            texts = {kind: text_of_output(tail, whole=whole) for kind, (tail, whole) in printed.items()}
            self._outputs[number] = texts.get("stdout", ""), texts.get("stderr", "")
        return [_with_output(job, *self._outputs[job.job]) if job.job in self._outputs else job for job in found]

    def _answer(self, question: Callable[[], Answer]) -> Answer:
        try:
            return question()
        except SlurmError as error:
            raise ClusterError(error.reason, self.name) from None


def _with_output(job: RemoteJob, output: str, errors: str) -> RemoteJob:
    said = "\n".join(each for each in (errors, job.errors) if each)
    return msgspec.structs.replace(job, output=output, errors=said)


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges.

    >>> _ranges([1, 2, 3, 7])
    '1-3,7'
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
