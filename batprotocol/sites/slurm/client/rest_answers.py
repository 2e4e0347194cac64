"""Readers of slurmrestd's JSON, of versions 0.0.37 and later. They do no input or output.

The versions write the same things in several ways: a state is a text or a list of texts, and a number is a number or an
object with `set` and `number`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from batprotocol._util.web import (
    ABSENT,
    BROKEN,
    Item,
    TooMany,
    Wanted,
    decoded,
    items_of,
    number_of,
    small,
    text_of,
)
from batprotocol.errors import InputError, printable
from batprotocol.sites.slurm.amounts import json_number, task_numbers
from batprotocol.sites.slurm.client.errors import SlurmAway, SlurmError, error_of
from batprotocol.sites.slurm.client.rows import Batch, SlurmJob, SlurmNode

__all__ = [
    "INSTEAD",
    "MOST_JOBS",
    "OLDEST",
    "RestAnswer",
    "read_answer",
    "read_rest_id",
    "read_rest_jobs",
    "read_rest_longest",
    "read_rest_nodes",
    "read_versions",
    "submission",
]

OLDEST: Final = 37
"""The first version of the API, v0.0.37, that is read."""

MOST_JOBS: Final = 100_000
"""How many jobs or nodes an answer may have, and how many jobs a user: each task of an array that waits is one."""

MOST_CHARACTERS: Final = 1 << 24
"""How many characters the texts of all these may have."""

MOST_LIST: Final = 1 << 18
"""How many bytes a list of texts or tasks may have."""

_VERSION: Final = re.compile(rb'"\\?/slurm\\?/v0\.0\.([0-9]{1,4})\\?/')

Raw = msgspec.Raw


class RestAnswer(msgspec.Struct):
    """The members of answers that are read. They refer to the bytes of the answer."""

    errors: Raw = ABSENT
    paths: Raw = ABSENT
    jobs: Raw = ABSENT
    nodes: Raw = ABSENT
    partitions: Raw = ABSENT
    job_id: Raw = ABSENT
    result: Raw = ABSENT


class _Fault(Item):
    description: Raw = ABSENT
    error: Raw = ABSENT
    source: Raw = ABSENT


class _Job(Item):
    user_name: Raw = ABSENT
    user_id: Raw = ABSENT
    job_id: Raw = ABSENT
    array_job_id: Raw = ABSENT
    array_task_id: Raw = ABSENT
    array_task_string: Raw = ABSENT
    job_state: Raw = ABSENT
    state_reason: Raw = ABSENT
    name: Raw = ABSENT
    batch_host: Raw = ABSENT


class _Node(Item):
    name: Raw = ABSENT
    state: Raw = ABSENT
    state_flags: Raw = ABSENT
    partitions: Raw = ABSENT
    cpus: Raw = ABSENT
    alloc_cpus: Raw = ABSENT
    alloc_idle_cpus: Raw = ABSENT
    idle_cpus: Raw = ABSENT


class _Maximums(msgspec.Struct):
    time: Raw = ABSENT


class _Partition(Item):
    max_time_limit: Raw = ABSENT
    maximums: Raw = ABSENT


class _Result(msgspec.Struct):
    job_id: Raw = ABSENT


def read_answer(status: int, body: bytes | bytearray) -> RestAnswer:
    """The object in an answer.

    Raises:
        SlurmError: it is an error, or no JSON.
        SlurmAway: the server cannot answer now.
    """
    try:
        found = msgspec.json.decode(body, type=RestAnswer)
    except BROKEN:
        found = None
    if found is not None and (faults := items_of(found.errors, _Fault, MOST_JOBS)):
        texts = (text_of(each) for each in (faults[0].description, faults[0].error, faults[0].source))
        raise error_of(next((text for text in texts if text), "an error"), "slurmrestd")
    if status >= 500:
        raise SlurmAway(f"slurmrestd: it answers with the status {status}")
    if status >= 400:
        raise SlurmError(f"slurmrestd: it refuses the request with the status {status}")
    if found is None:
        shown = printable(body[:60].decode("utf-8", "replace"))
        raise SlurmError(f"slurmrestd: expected an object in JSON, got {shown!r}")
    return found


def read_versions(answer: RestAnswer) -> int:
    """The newest version of the API in its description: 38 for v0.0.38."""
    newest = max((int(each[1]) for each in _VERSION.finditer(answer.paths)), default=0)
    if newest < OLDEST:
        raise SlurmError("slurmrestd: expected version v0.0.37 or later of its API; start it with `-s openapi/...`")
    return newest


def read_rest_jobs(answer: RestAnswer, user: str) -> Iterator[SlurmJob]:
    """The jobs of a user, by name or number."""
    left = _Limit("jobs")
    for job in _objects(answer.jobs, _Job, "jobs"):
        if user not in (text_of(job.user_name), str(_number(job.user_id))):
            continue
        number, array, index = (_number(each) for each in (job.job_id, job.array_job_id, job.array_task_id))
        if not number:
            continue
        state = _words(job.job_state)
        found = SlurmJob(
            id=str(number),
            name=text_of(job.name),
            state=state[0].upper() if state else "",
            reason=text_of(job.state_reason),
            node=text_of(job.batch_host),
        )
        tasks = [index] if index is not None else _tasks(text_of(job.array_task_string, MOST_LIST))
        left.take(max(len(tasks), 1), found)
        if array and tasks:
            yield from (found._replace(id=f"{array}_{task}", task=task) for task in tasks)
        else:
            yield found._replace(id=str(array)) if array else found


def _tasks(text: str) -> list[int]:
    """The tasks of an array that wait: `0,2-5%2`. There are none if the text is cut (`...`) or has no limit."""
    try:
        return task_numbers(text)
    except InputError:
        return []


def read_rest_nodes(answer: RestAnswer, partition: str) -> Iterator[SlurmNode]:
    """The nodes of a partition; "": of all partitions."""
    left = _Limit("nodes")
    for node in _objects(answer.nodes, _Node, "nodes"):
        if partition and partition not in _list(node.partitions):
            continue
        words = [word.lower() for word in (*_words(node.state), *_words(node.state_flags))]
        total, allocated = (_number(each) or 0 for each in (node.cpus, node.alloc_cpus))
        idle = _number(node.alloc_idle_cpus) or _number(node.idle_cpus)
        bad = next((word for word in words if word in _NOT_USED), None)
        found = SlurmNode(
            name=text_of(node.name),
            state=bad or (words[0] if words else "unknown"),
            responds="not_responding" not in words,
            allocated=allocated,
            idle=total - allocated if idle is None else idle,
            total=total,
        )
        left.take(1, found)
        yield found


_NOT_USED: Final = frozenset(("drain", "down", "fail", "future", "invalid", "invalid_reg", "maintenance", "reserved"))


def read_rest_longest(answer: RestAnswer) -> tuple[bool, int | None]:
    """Whether there is a partition, and the longest time of its jobs in minutes; None: no limit."""
    found = items_of(answer.partitions, _Partition, MOST_JOBS)
    if not found:
        return False, None
    longest = _number(found[0].max_time_limit)
    if longest is None and isinstance(maximums := small(found[0].maximums, _Maximums, MOST_LIST), _Maximums):
        longest = _number(maximums.time)
    return True, longest if longest is not None and 0 < longest < 1 << 31 else None


def read_rest_id(answer: RestAnswer) -> str:
    """The id of a job that was submitted."""
    number = _number(answer.job_id)
    if not number and isinstance(result := small(answer.result, _Result, MOST_LIST), _Result):
        number = _number(result.job_id)
    if not number:
        raise SlurmError("slurmrestd: expected the id of the job in the answer, got none")
    return str(number)


def submission(batch: Batch, version: int) -> bytes:
    """The body of a request that submits a batch.

    >>> msgspec.json.decode(submission(Batch(script="x", name="n", size=3), 38))["job"]["array"]
    '0-2'
    """
    environment: Any = {"PATH": "/bin:/usr/bin:/usr/local/bin"}
    if version >= 39:
        environment = [f"{name}={value}" for name, value in environment.items()]
    texts = {
        "partition": batch.partition,
        "qos": batch.qos,
        "account": batch.account,
        "constraints": batch.constraint,
        "comment": batch.comment,
    }
    nodes: Any = [batch.tasks, batch.tasks] if version < 39 else str(batch.tasks)
    shape: dict[str, Any] = {"tasks": batch.tasks, "cpus_per_task": batch.cores}
    if batch.whole_nodes:
        shape = {"nodes": nodes, "exclusive": "true" if version < 39 else ["true"]}
    job = {
        "name": batch.name,
        "array": f"0-{batch.size - 1}",
        "time_limit": batch.minutes if version < 39 else {"set": True, "number": batch.minutes},
        **shape,
        **({"nice": batch.nice} if batch.nice else {}),
        **{name: value for name, value in texts.items() if value},
        "requeue": False,
        "standard_output": "/dev/null",
        "standard_error": "/dev/null",
        "current_working_directory": batch.directory,
        "environment": environment,
    }
    return msgspec.json.encode({"script": batch.script, "job": job})


def _objects(raw: Raw, kind: type[Wanted], name: str) -> list[Wanted]:
    try:
        return decoded(raw, list[kind], MOST_JOBS)  # type: ignore[valid-type]
    except TooMany:
        raise SlurmError(f"slurmrestd: expected at most {MOST_JOBS} {name}, got more{INSTEAD}") from None
    except BROKEN:
        raise SlurmError(f"slurmrestd: expected a list of {name}, got none") from None


INSTEAD: Final = "; leave out 'rest' to use Slurm's commands, which list one user's jobs only"


class _Limit:
    """How many rows are left, and how many characters their texts may have."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows = MOST_JOBS
        self._characters = MOST_CHARACTERS

    def take(self, number: int, row: tuple[Any, ...]) -> None:
        self._rows -= number
        self._characters -= sum(len(each) for each in row if isinstance(each, str))
        if self._rows < 0 or self._characters < 0:
            raise SlurmError(
                f"slurmrestd: expected at most {MOST_JOBS} {self._name} with {MOST_CHARACTERS >> 20} Mi characters,"
                " got more"
            )


def _number(raw: Raw) -> int | None:
    """A number, in each of its forms."""
    found = number_of(raw)
    if found is None:
        found = json_number(small(raw, dict[str, bool | int | None], 1000))
    return found if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 1 << 63 else None


def _words(raw: Raw) -> list[str]:
    found = small(raw, str | list[str] | None, 1 << 12)
    return [found] if isinstance(found, str) else found if isinstance(found, list) else []


def _list(raw: Raw) -> list[str]:
    found = small(raw, list[str] | None, MOST_LIST)
    return found if isinstance(found, list) else []
