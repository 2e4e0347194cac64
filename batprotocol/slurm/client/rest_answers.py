"""Readers of slurmrestd's JSON, of versions 0.0.37 and later. They do no input or output.

The versions write the same things in several ways: a state is a text or a list of texts, and a number is a number or an
object with `set` and `number`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from batprotocol.errors import printable
from batprotocol.slurm.client.errors import SlurmAway, SlurmError, error_of
from batprotocol.slurm.client.rows import Batch, SlurmJob, SlurmNode

__all__ = ["OLDEST", "read_answer", "read_rest_id", "read_rest_jobs", "read_rest_nodes", "read_versions", "submission"]

OLDEST: Final = 37
"""The first version of the API, v0.0.37, that is read."""

MOST_TASKS: Final = 1 << 16
"""How many tasks of an array are counted."""

_TASKS: Final = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?){0,9999}(?:%[0-9]{1,9})?")
_VERSION: Final = re.compile(r"/slurm/v0\.0\.([0-9]{1,4})/")


def read_answer(status: int, body: bytes) -> dict[str, Any]:
    """The object in an answer.

    Raises:
        SlurmError: it is an error, or no JSON.
        SlurmAway: the server cannot answer now.
    """
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    errors = found.get("errors") if isinstance(found, dict) else None
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        first = errors[0]
        said = next((str(first[key]) for key in ("description", "error", "source") if first.get(key)), "an error")
        raise error_of(said, "slurmrestd")
    if status >= 500:
        raise SlurmAway(f"slurmrestd: it answers with the status {status}")
    if status >= 400:
        raise SlurmError(f"slurmrestd: it refuses the request with the status {status}")
    if not isinstance(found, dict):
        shown = printable(body[:60].decode("utf-8", "replace"))
        raise SlurmError(f"slurmrestd: expected an object in JSON, got {shown!r}")
    return found


def read_versions(answer: Mapping[str, Any]) -> int:
    """The newest version of the API in its description: 38 for v0.0.38."""
    paths = answer.get("paths")
    found = (_VERSION.match(path) for path in (paths if isinstance(paths, dict) else {}))
    versions = [int(each[1]) for each in found if each is not None and int(each[1]) >= OLDEST]
    if not versions:
        raise SlurmError("slurmrestd: expected version v0.0.37 or later of its API; start it with `-s openapi/...`")
    return max(versions)


def read_rest_jobs(answer: Mapping[str, Any], user: str) -> Iterator[SlurmJob]:
    """The jobs of a user, by name or number."""
    for job in _objects(answer, "jobs"):
        if user not in (job.get("user_name"), str(_number(job.get("user_id")))):
            continue
        number, array, index = (_number(job.get(key)) for key in ("job_id", "array_job_id", "array_task_id"))
        if not number:
            continue
        state = _words(job.get("job_state"))
        found = SlurmJob(
            id=str(number),
            name=str(job.get("name") or ""),
            state=state[0].upper() if state else "",
            reason=str(job.get("state_reason") or ""),
            node=str(job.get("batch_host") or ""),
        )
        tasks = [index] if index is not None else _tasks(job.get("array_task_string"))
        if array and tasks:
            yield from (found._replace(id=f"{array}_{task}", task=task) for task in tasks)
        else:
            yield found._replace(id=str(array)) if array else found


def _tasks(text: Any) -> list[int]:
    """The tasks of an array that wait: `0,2-5%2`. There are none if the text is cut (`...`) or has no limit."""
    if not isinstance(text, str) or not _TASKS.fullmatch(text):
        return []
    found: list[int] = []
    for piece in text.partition("%")[0].split(","):
        first, _, last = piece.partition("-")
        if int(last or first) - int(first) > MOST_TASKS or len(found) > MOST_TASKS:
            return []
        found += range(int(first), int(last or first) + 1)
    return found


def read_rest_nodes(answer: Mapping[str, Any], partition: str) -> Iterator[SlurmNode]:
    """The nodes of a partition; "": of all partitions."""
    for node in _objects(answer, "nodes"):
        partitions = node.get("partitions")
        if partition and partition not in (partitions if isinstance(partitions, list) else ()):
            continue
        words = [word.lower() for word in (*_words(node.get("state")), *_words(node.get("state_flags")))]
        total, allocated = (_number(node.get(key)) or 0 for key in ("cpus", "alloc_cpus"))
        idle = _number(node.get("alloc_idle_cpus") or node.get("idle_cpus"))
        bad = next((word for word in words if word in _NOT_USED), None)
        yield SlurmNode(
            name=str(node.get("name") or ""),
            state=bad or (words[0] if words else "unknown"),
            responds="not_responding" not in words,
            allocated=allocated,
            idle=total - allocated if idle is None else idle,
            total=total,
        )


_NOT_USED: Final = frozenset(("drain", "down", "fail", "future", "invalid", "invalid_reg", "maintenance", "reserved"))


def read_rest_id(answer: Mapping[str, Any]) -> str:
    """The id of a job that was submitted."""
    result = answer.get("result")
    number = _number(answer.get("job_id")) or (_number(result.get("job_id")) if isinstance(result, dict) else None)
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


def _objects(answer: Mapping[str, Any], key: str) -> Sequence[dict[str, Any]]:
    found = answer.get(key)
    if not isinstance(found, list):
        raise SlurmError(f"slurmrestd: expected a list of {key}, got none")
    return [each for each in found if isinstance(each, dict)]


def _number(value: Any) -> int | None:
    """A number, in each of its forms."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _words(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [value] if isinstance(value, str) else []
