"""The interface of resource managers: a cluster's resources, and jobs that carry the campaigns' own numbers.

A resource manager never runs a job twice. If a number is submitted again, nothing happens. It reports every job that
was submitted to it, also jobs that have ended, until `forget` is called. The store relies on this: after an
interruption, the loop repeats its last requests, and the resource manager skips those that it has carried out already.
A resource manager must not know of ratios or of the store.
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


class Request(Record, frozen=True, kw_only=True):
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

    def submit(self, requests: Sequence[Request], /) -> None:
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
