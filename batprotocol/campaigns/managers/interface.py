"""The interface of resource managers: a cluster's resources, and jobs that carry the campaigns' own numbers.

A resource manager never runs a job twice. If a number is submitted again, nothing happens. It reports every job that
was submitted to it, also jobs that have ended, until `forget` is called. The store relies on this: after an
interruption, the loop repeats its last requests, and the resource manager skips those that it has carried out already.

Below the interface is what several resource managers need: files in folders that jobs can write to, and files that
describe clusters.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import msgspec

from batprotocol._util.files import reason_of
from batprotocol.campaigns.model import GridJobState, GridValue, Observation, RemoteEvent, RemoteJob
from batprotocol.errors import InputError, hint, shown

__all__ = [
    "DIRECTORY",
    "KEPT_BYTES",
    "KILLED",
    "LOST",
    "NODES",
    "NO_DIRECTORY",
    "REFUSED",
    "TIME_OVER",
    "JobRequest",
    "ResourceManager",
    "ended",
    "text_of_output",
]


# Why a job has ended without an exit code, by OAR's names where it has one.
KILLED: Final = RemoteEvent("FRAG_JOB_REQUEST", "It was killed by request.")
LOST: Final = RemoteEvent("EXTERMINATE", "Nobody recorded its end: its process or its node was killed.")
NO_DIRECTORY: Final = RemoteEvent("WORKING_DIRECTORY", "Its directory does not exist.")
REFUSED: Final = RemoteEvent("REFUSED", "It requests more resources than the cluster has.")
TIME_OVER: Final = RemoteEvent("WALLTIME", "It took longer than its walltime.")


KEPT_BYTES: Final = 10_000
"""How many bytes are kept of the output of a job that does not end well: the last ones."""

DIRECTORY: Final = "{directory}"
NODES: Final = "{nodes}"
"""The values in a request's environment that the resource manager replaces, as only it knows them."""


class JobRequest(GridValue, frozen=True, kw_only=True):
    """A job to start.

    Args:
        job: the campaigns' number of the job.
        command: the line for the shell.
        environment: the variables that are added to the environment of the command. The value `DIRECTORY` is replaced
            by the directory of the job, `NODES` by a file with the names of its nodes: one line for each resource.
        campaign: the number of its campaign.
        parameters: the parameters of its task.
        directory: the directory in which it is started; `~` and `$HOME` are the home directory of the user who runs it.
        weight: how many resources it requests, at least 1.
        resources: the resources that it requests, in OAR's notation: `/nodes=1/cpu=2`; empty: `weight` resources.
        properties: which resources it requests, in OAR's notation; empty: any.
        project: the project that the cluster accounts the job to; empty: the user's usual one.
        walltime: the requested time in seconds, > 0.
        best_effort: whether the cluster's own jobs may kill it.
        group: the number of the first job of its group; None: the job is alone. The jobs of a group are submitted
            together, and run one after the other on the same resources, in the order of their submission.
    """

    job: int
    command: str
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    campaign: int = 0
    parameters: str = ""
    directory: str = "~"
    weight: int = 1
    resources: str = ""
    properties: str = ""
    project: str = ""
    walltime: float = 3600.0
    best_effort: bool = True
    group: int | None = None

    def variables(self, *, directory: str, nodes: str) -> dict[str, str]:
        """The environment, with the values that only the resource manager knows."""
        known = {DIRECTORY: directory, NODES: nodes}
        return {name: known.get(value, value) for name, value in self.environment.items()}


@runtime_checkable
class ResourceManager(Protocol):
    """Runs the jobs of a cluster. It raises `ClusterError` if it cannot be reached; callers may try again.

    Attributes:
        name: the name of its cluster.
    """

    name: str

    def look(self) -> Observation:
        """Observe the cluster: its resources, and all jobs that were submitted and not forgotten."""

    def submit(self, requests: Sequence[JobRequest], /) -> None:
        """Put these jobs into the queue. A job whose number is known already is skipped."""

    def kill(self, jobs: Iterable[int], /) -> None:
        """Kill these jobs, whether they wait or run. A job that is unknown or has ended is skipped.

        The jobs are killed as one: none of them begins because another one has ended by this, and none begins after
        this has returned. In a group, all are marked before the first one is killed.
        """

    def forget(self, jobs: Iterable[int], /) -> None:
        """Drop these jobs: nobody asks for them again. Jobs that wait or run are killed as by `kill`."""

    def tend(self) -> None:
        """Do the work that is due between two observations. The loop calls it often; it must be quick."""

    def close(self) -> None:
        """Disconnect from the cluster. Jobs that run go on."""


def ended(
    job: int,
    *,
    exit_code: int | None = None,
    because: RemoteEvent | None = None,
    start_time: float | None = None,
    stop_time: float | None = None,
    remote_id: str | None = None,
    node: str | None = None,
    output: str = "",
    errors: str = "",
) -> RemoteJob:
    """A job that has ended with this exit code, or because of this event."""
    return RemoteJob(
        job=job,
        state=GridJobState.TERMINATED,
        remote_id=remote_id,
        exit_code=exit_code,
        events=() if because is None else (because,),
        start_time=start_time,
        stop_time=stop_time,
        node=node,
        output=output,
        errors=errors,
    )


def text_of_output(printed: bytes, *, whole: bool = True) -> str:
    r"""The output of a job, as text that every store can keep.

    Args:
        printed: the end of the output.
        whole: whether this is the whole output. If not, the first line is removed, unless it is the only one.

    >>> text_of_output(b"half a line\nand a \xff\0", whole=False)
    'and a \ufffd\ufffd'
    """
    if not whole:
        _, newline, rest = printed.partition(b"\n")
        printed = rest if newline and rest else printed
    return printed.decode("utf-8", "replace").replace("\0", "\ufffd")


# Opens files in folders that jobs can write to. A job may put a link or a pipe in the place of a file, at any time.


MOST_BYTES: Final = 64 << 20
"""How many bytes of a file are read."""

_FLAGS: Final = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))  # not on every system
_OTHER_THINGS: Final = (errno.ELOOP, errno.EMLINK, errno.EINVAL, errno.ENXIO)
"""The errors for links and pipes, on all systems."""

_DIRECTORY: Final = sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a file.

    Args:
        path: the file. It may be in a folder that is a link if it is only read.
        flags: how to open it.

    Raises:
        OSError: it is a link, a pipe or another thing that is not a file, or cannot be opened.
    """
    if flags == os.O_RDONLY or os.open not in os.supports_dir_fd:
        found = os.open(path, flags | _FLAGS, 0o600)
    else:
        folder = os.open(path.parent, _DIRECTORY)
        try:
            found = os.open(path.name, flags | _FLAGS, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    raise OSError(errno.EINVAL, "expected a file, got a pipe or a device", str(path))


def content_of(path: Path, start: int = 0) -> bytes:
    """The content of a file from a place on, `MOST_BYTES` at most. It raises `OSError` as `open_file` does."""
    with open(open_file(path), "rb") as file:
        file.seek(start)
        return file.read(MOST_BYTES)


def end_of_output(path: Path) -> str:
    """The end of the output of a job; "" if there is no such file."""
    try:
        with open(open_file(path), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - KEPT_BYTES))
            return text_of_output(file.read(KEPT_BYTES), whole=size <= KEPT_BYTES)
    except OSError:
        return ""


def append_line(path: Path, line: str) -> None:
    """Add a line to a file. A link or a pipe in its place is removed. It raises `OSError` if that does not help."""
    _written(path, os.O_APPEND, f"{line}\n".encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file. A link or a pipe in its place is removed. It raises `OSError` if that does not help."""
    _written(path, os.O_TRUNC, content)


def _written(path: Path, how: int, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | how
    try:
        found = open_file(path, flags)
    except OSError as error:
        if error.errno not in _OTHER_THINGS:
            raise
        path.unlink()
        found = open_file(path, flags)
    with open(found, "wb") as file:
        file.write(content)


# Files that describe clusters, in TOML: read, and converted to the values of one type of cluster.


_MOST_BYTES: Final = 1 << 20

_Values = TypeVar("_Values", bound=msgspec.Struct)


def description_in(
    path: str | os.PathLike[str],
    kind: str,
    values: type[_Values],
    finished: Callable[[_Values, str], _Values],
    needed: Mapping[str, str],
) -> _Values:
    """The description of a cluster in a file.

    Args:
        path: the file.
        kind: the value of its key `type`.
        values: the class of the values; its fields are the other keys.
        finished: checks the values together, and completes them. The names of files are relative to the folder that it
            gets.
        needed: the keys that must be there, each with the sentence for a file without it.

    Raises:
        InputError: the description cannot be used; the error has the file and the key.
    """
    file = os.fspath(path)
    try:
        return finished(_converted(tables_in(file), kind, values, needed), os.path.dirname(os.path.abspath(file)))
    except InputError as error:
        raise InputError(error.reason, error.path, file=file) from None


def tables_in(file: str) -> dict[str, Any]:
    """The tables of a small file in TOML.

    Raises:
        InputError: it cannot be read, or is no TOML; the error has the file.
    """
    data = file_content(file)
    try:
        tables: dict[str, Any] = msgspec.toml.decode(data.decode())
    except UnicodeDecodeError:
        raise InputError("expected a text in UTF-8, got other bytes", file=file) from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InputError(f"expected TOML: {error}", file=file) from None
    return tables


def _converted(tables: dict[str, Any], kind: str, values: type[_Values], needed: Mapping[str, str]) -> _Values:
    known = values.__struct_fields__
    given = tables.pop("type", None)
    if given != kind:
        raise InputError(f'expected "{kind}", got {shown(given)}', "type")
    for key in tables:
        if key not in known:
            raise InputError(f"there is no key {shown(key)}{hint(key, known)}")
    for key, sentence in needed.items():
        if key not in tables:
            raise InputError(sentence)
    try:
        return msgspec.convert(tables, values)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise InputError(f"{reason[:1].lower()}{reason[1:]}", place.strip("`")) from None


def file_content(file: str) -> bytes:
    """The content of a small file.

    Raises:
        InputError: it cannot be read, or is larger than 1 MiB; the error has the file.
    """
    if Path(file).exists() and not Path(file).is_file():  # a device or a pipe would never end
        raise InputError("expected a file, got a folder, a device or a pipe", file=file)
    try:
        with open(file, "rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"it cannot be read: {reason}", file=file) from None
    if len(content) > _MOST_BYTES:
        raise InputError(f"expected at most {_MOST_BYTES} bytes", file=file)
    return content
