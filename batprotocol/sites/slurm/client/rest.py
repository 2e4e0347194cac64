"""A client of slurmrestd, over a Unix socket or http(s). Tokens stay in memory.

Versions 0.0.37 and later of the API are read. They write the same things in several ways: a state is a text or a list
of texts, and a number is a number or an object with `set` and `number`.
"""

from __future__ import annotations

import getpass
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from batprotocol._util.requirements import refusal
from batprotocol._util.web import (
    ABSENT,
    BROKEN,
    Item,
    TooMany,
    Unanswered,
    Wanted,
    WebServer,
    decoded,
    items_of,
    number_of,
    small,
    text_of,
    without_secrets,
)
from batprotocol.errors import InputError, printable, shown
from batprotocol.sites.slurm.client.values import (
    JobBatch,
    ReportedJob,
    ReportedNode,
    SlurmAway,
    SlurmError,
    SlurmLimits,
    error_of,
)
from batprotocol.sites.slurm.texts import json_number, task_numbers

if TYPE_CHECKING:
    import ssl

__all__ = [
    "INSTEAD",
    "MOST_JOBS",
    "OLDEST",
    "RestAnswer",
    "SlurmRest",
    "read_answer",
    "read_rest_id",
    "read_rest_jobs",
    "read_rest_longest",
    "read_rest_nodes",
    "read_token",
    "read_versions",
    "submission",
]


# Readers of answers


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


def read_rest_jobs(answer: RestAnswer, user: str) -> Iterator[ReportedJob]:
    """The jobs of a user, by name or number."""
    left = _Limit("jobs")
    for job in _objects(answer.jobs, _Job, "jobs"):
        if user not in (text_of(job.user_name), str(_number(job.user_id))):
            continue
        number, array, index = (_number(each) for each in (job.job_id, job.array_job_id, job.array_task_id))
        if not number:
            continue
        state = _words(job.job_state)
        found = ReportedJob(
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


def read_rest_nodes(answer: RestAnswer, partition: str) -> Iterator[ReportedNode]:
    """The nodes of a partition; "": of all partitions."""
    left = _Limit("nodes")
    for node in _objects(answer.nodes, _Node, "nodes"):
        if partition and partition not in _list(node.partitions):
            continue
        words = [word.lower() for word in (*_words(node.state), *_words(node.state_flags))]
        total, allocated = (_number(each) or 0 for each in (node.cpus, node.alloc_cpus))
        idle = _number(node.alloc_idle_cpus) or _number(node.idle_cpus)
        bad = next((word for word in words if word in _NOT_USED), None)
        found = ReportedNode(
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


def submission(batch: JobBatch, version: int) -> bytes:
    """The body of a request that submits a batch.

    >>> msgspec.json.decode(submission(JobBatch(script="x", name="n", size=3), 38))["job"]["array"]
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


MOST_BYTES: Final = 150 << 20
"""How many bytes of an answer are read: those of about 20,000 jobs."""

SHOWN: Final = 600
"""How many characters of an error are kept."""

PAUSE_SECONDS: Final = 0.5
_GONE: Final = re.compile(r"invalid job id|already (?:completing|completed)", re.I)
_LONGEST: Final = 10_000
_TOKEN: Final = re.compile(r"[\w.~+/=-]{1,8192}", re.A)


class _Token(str):
    """A secret text, which no message shows by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'(secret)'"


def read_token(file: str = "", variable: str = "") -> str:
    """A token from a file or a variable; "" if neither is given.

    In a file, it may be a line such as `SLURM_JWT=...`, as `scontrol token` prints it.

    Raises:
        InputError: there is no such file or variable, or its content is no token. The error does not show it.
    """
    if file:
        path = Path(os.path.expanduser(file))
        try:
            with path.open() as opened:
                text, place = opened.read(_LONGEST), f"token_file: {path}"
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not a text"
            raise InputError(f"{path} cannot be read: {why}", "token_file") from None
    elif variable:
        text, place = os.environ.get(variable, ""), f"token_variable: {variable}"
    else:
        return ""
    token = text.strip().removeprefix("SLURM_JWT=")
    if _TOKEN.fullmatch(token) is None:
        raise InputError("expected a token, as `scontrol token` prints it, got something else", place)
    return _Token(token)


class SlurmRest:
    """Asks slurmrestd.

    Args:
        address: `unix:/PATH`, or a URL, `http://HOST:PORT` or `https://HOST:PORT`.
        token: the token of the user, or ""; or a function that returns it, called for each request, as tokens end.
        user: the name of the user; "": the one of this process.
        timeout: how many seconds a question may take as a whole, with its repetitions while slurmctld is away, and how
            many each other request may take.

    Raises:
        InputError: the address has another form, or the token would be sent over http to another machine.
        PackageMissing: h11 is not installed.
    """

    def __init__(
        self, address: str, token: str | Callable[[], str] = "", user: str = "", timeout: float = 30.0
    ) -> None:
        place = _place(address)
        self._token = token if callable(token) else lambda: token
        if self._token() and not place.unix and not place.tls and place.host not in ("localhost", "127.0.0.1", "::1"):
            raise InputError("expected https, as a token is sent, got http", "rest")
        self._server = WebServer(place.host, place.port, tls=_context() if place.tls else None, unix=place.unix)
        self._address = address
        self._user = user or getpass.getuser()
        self._timeout = timeout
        self._version: int | None = None

    def jobs(self) -> Sequence[ReportedJob]:
        return [*read_rest_jobs(self._ask("jobs"), self._user)]

    def nodes(self, partition: str) -> Sequence[ReportedNode]:
        return [*read_rest_nodes(self._ask("nodes"), partition)]

    def limits(self, partition: str) -> SlurmLimits:
        """The limits of the partition. The API does not have the others: they are Slurm's defaults."""
        if not partition:
            return SlurmLimits()
        try:
            exists, longest = read_rest_longest(self._ask(f"partition/{quote(partition, safe='')}"))
        except SlurmAway:
            raise
        except SlurmError:
            return SlurmLimits(exists=False)
        return SlurmLimits(longest=longest, exists=exists)

    def submit(self, batch: JobBatch) -> str:
        until = time.monotonic() + self._timeout
        version = self._known_version(until)
        body = submission(batch, version)
        return read_rest_id(self._request("POST", f"/slurm/v0.0.{version}/job/submit", until, body))

    def cancel(self, ids: Iterable[str]) -> None:
        self._delete(ids, "")

    def signal(self, ids: Iterable[str], name: str) -> None:
        self._delete(ids, f"?signal={quote(name, safe='')}")

    def _delete(self, ids: Iterable[str], query: str) -> None:
        for id in ids:
            until = time.monotonic() + self._timeout
            version = self._known_version(until)
            try:
                self._request("DELETE", f"/slurm/v0.0.{version}/job/{quote(id, safe='')}{query}", until)
            except SlurmAway:
                raise
            except SlurmError as error:
                if _GONE.search(error.reason) is None:
                    raise

    def _ask(self, what: str) -> RestAnswer:
        until = time.monotonic() + self._timeout
        while True:
            try:
                return self._request("GET", f"/slurm/v0.0.{self._known_version(until)}/{what}", until)
            except SlurmAway:
                if time.monotonic() + PAUSE_SECONDS >= until:
                    raise
                time.sleep(PAUSE_SECONDS)

    def _known_version(self, until: float) -> int:
        if self._version is None:
            self._version = read_versions(self._request("GET", "/openapi/v3", until))
        return self._version

    def _request(self, method: str, path: str, until: float, body: bytes | None = None) -> RestAnswer:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        try:
            token = self._token()
        except InputError as error:
            raise SlurmError(f"slurmrestd: {error}") from None
        if token:
            headers |= {"X-SLURM-USER-NAME": self._user, "X-SLURM-USER-TOKEN": token}
        try:
            reply = self._server.ask(
                method, path, headers, body, seconds=max(until - time.monotonic(), 0.0), most=MOST_BYTES
            )
            return read_answer(reply.status, reply.body)
        except Unanswered as error:
            place = f"slurmrestd at {self._address}"
            if error.kind == "long":
                raise SlurmError(f"{place}: {error.reason}{INSTEAD}") from None
            if error.kind == "unsent":
                raise SlurmError(f"{place} is not asked: {error.reason}") from None
            if error.kind == "late":
                raise SlurmAway(f"{place}: no answer within {self._timeout:g} s") from None
            raise SlurmAway(f"{place}: no complete answer: {error.reason}") from None
        except SlurmError as error:  # a server may say anything, and the token is no secret to it
            raise type(error)(without_secrets(error.reason, [token], SHOWN)) from None


class _Place(NamedTuple):
    host: str
    port: int
    tls: bool
    unix: str = ""


def _place(address: str) -> _Place:
    """The place in an address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise InputError(f"{_EXPECTED}, got {shown(address)}", "rest") from None
    if "@" in parts.netloc:
        raise InputError("expected an address without a user, got one with a user", "rest")
    if address.startswith("unix:/") and "\0" not in address:
        if sentence := refusal("addresses with unix:", "socket.AF_UNIX"):
            raise InputError(sentence, "rest")
        return _Place("localhost", 0, False, address[len("unix:") :])
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{_EXPECTED}, got {shown(address)}", "rest")
    is_secure = parts.scheme == "https"
    try:
        return _Place(parts.hostname, parts.port or (443 if is_secure else 80), is_secure)
    except ValueError:
        raise InputError(f"expected a port from 0 to 65535, got {shown(address)}", "rest") from None


_EXPECTED: Final = 'expected "unix:/PATH" or a URL of http or https'


def _context() -> ssl.SSLContext:
    import ssl  # it takes a while

    return ssl.create_default_context()
