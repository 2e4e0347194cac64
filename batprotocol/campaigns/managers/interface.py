"""What a resource manager is to the campaigns: resources, and jobs that carry numbers.

It never runs a job twice: submitting a number that it has is submitting nothing, and it tells of every number that it
was given, ended ones too, until it is told to forget it. On this the store relies: what the loop meant to do when it
was interrupted, it finds done or does again. A resource manager must not know of ratios or of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from batprotocol.campaigns.model import JobState, Observation, RemoteEvent, RemoteJob
from batprotocol.campaigns.model.record import Record

__all__ = [
    "DIRECTORY",
    "KEPT_BYTES",
    "KILLED",
    "LOST",
    "NODES",
    "NO_DIRECTORY",
    "REFUSED",
    "TIME_OVER",
    "Request",
    "ResourceManager",
    "ended",
    "text_of_output",
]

# Why a job has ended without an exit code, in OAR's words where it has one.
KILLED: Final = RemoteEvent("FRAG_JOB_REQUEST", "It was killed as asked.")
LOST: Final = RemoteEvent("EXTERMINATE", "There is no end of it: its process was killed, or what it ran on.")
NO_DIRECTORY: Final = RemoteEvent("WORKING_DIRECTORY", "There is no such directory.")
REFUSED: Final = RemoteEvent("REFUSED", "It asks for more resources than there are.")
TIME_OVER: Final = RemoteEvent("WALLTIME", "It took longer than its walltime.")


KEPT_BYTES: Final = 10_000
"""So many of the last bytes are kept of what a job prints that does not end well."""

DIRECTORY: Final = "{directory}"
NODES: Final = "{nodes}"
"""What stands in a request's environment for what only the resource manager knows."""


class Request(Record, frozen=True, kw_only=True):
    """A job to be started.

    Args:
        job: our number of it.
        command: the line for the shell.
        environment: what the command finds in its environment, besides; `DIRECTORY` stands for where it is started, and
            `NODES` for a file with the names of its nodes, one a line for each resource.
        campaign: the number of its campaign.
        parameters: of its task.
        directory: where it is started; `~` and `$HOME` are the home of whoever runs it.
        weight: how many resources it asks for, at least 1.
        properties: which resources, in OAR's words; empty: any.
        walltime: seconds that it may take, > 0.
        best_effort: whether the cluster's own jobs may kill it.
        group: the number of the first of the jobs with which it is to be run on the same resources, one after the
            other, in the order in which they are submitted; None: it is alone. They are submitted together.
    """

    job: int
    command: str
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    campaign: int = 0
    parameters: str = ""
    directory: str = "~"
    weight: int = 1
    properties: str = ""
    walltime: float = 3600.0
    best_effort: bool = True
    group: int | None = None

    def variables(self, *, directory: str, nodes: str) -> dict[str, str]:
        """The environment, with what only the resource manager knows."""
        known = {DIRECTORY: directory, NODES: nodes}
        return {name: known.get(value, value) for name, value in self.environment.items()}


@runtime_checkable
class ResourceManager(Protocol):
    """What runs the jobs of a cluster. When it cannot be reached, it raises `ClusterError`, and can be asked again.

    Attributes:
        name: of its cluster.
    """

    name: str

    def look(self) -> Observation:
        """What there is at this moment, with all jobs that it was given and has not been told to forget."""

    def submit(self, requests: Sequence[Request], /) -> None:
        """Put these jobs into the queue. A number that is known already changes nothing."""

    def kill(self, jobs: Iterable[int], /) -> None:
        """End these jobs, whether they wait or run. One that is unknown or has ended is left alone."""

    def forget(self, jobs: Iterable[int], /) -> None:
        """Nobody will ask for these jobs again; those that still run are killed."""

    def tend(self) -> None:
        """Do what is to be done between two looks. Called often; must be quick."""

    def close(self) -> None:
        """Let go of the cluster. What runs goes on."""


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
    """A job that has ended with this exit code, or because of this."""
    return RemoteJob(
        job=job,
        state=JobState.TERMINATED,
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
    r"""What a job has printed as text that every store can keep.

    Args:
        printed: the end of it.
        whole: whether that is all of it; else the line that it begins in is left out if it can be.

    >>> text_of_output(b"half a line\nand a \xff\0", whole=False)
    'and a \ufffd\ufffd'
    """
    if not whole:
        _, newline, rest = printed.partition(b"\n")
        printed = rest if newline and rest else printed
    return printed.decode("utf-8", "replace").replace("\0", "\ufffd")
