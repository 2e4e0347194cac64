"""Values that Slurm reports and accepts - jobs, nodes, limits, batches of jobs - and its errors, as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from batprotocol.errors import ProtocolError, printable
from batprotocol.sites.slurm.texts import ENDED, WAITING

__all__ = [
    "JobBatch",
    "ReportedJob",
    "ReportedNode",
    "SlurmAway",
    "SlurmClient",
    "SlurmError",
    "SlurmLimit",
    "SlurmLimits",
    "SlurmRefusal",
    "error_of",
]


LONGEST: Final = 500
"""How many characters of a message are kept."""


class SlurmError(ProtocolError):
    """A request has failed, or its answer cannot be read.

    Attributes:
        reason: the reason, as one sentence.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SlurmAway(SlurmError):
    """Nobody answers now: slurmctld, slurmrestd, or their host. The request may have been carried out."""


class SlurmRefusal(SlurmError):
    """Slurm refuses the request: it would refuse it again."""


class SlurmLimit(SlurmError):
    """A limit on the number of jobs is reached: Slurm may accept the request later."""


_AWAY: Final = re.compile(
    r"unable to contact slurm controller|connect failure|connection refused|socket timed out|zero bytes were|"
    r"timed? ?out|not responding|unexpected message rec|primary controller|communication (?:connection )?failure|"
    r"unable to connect|insane message|in standby mode|lost connection|no route to host|broken pipe|"
    r"connection (?:closed|reset)|could not resolve|host key verification|permission denied \(",
    re.I,
)
_LIMIT: Final = re.compile(
    r"job violates accounting/qos policy|maxsubmit|submit ?limit|temporarily unable to accept|"
    r"resource temporarily unavailable|too many",
    re.I,
)
_REFUSAL: Final = re.compile(
    r"invalid|not available|not (?:permitted|allowed)|than permitted|denied|can ?not be satisfied|too long|"
    r"unsupported|not supported|must specify",
    re.I,
)
_KINDS: Final = ((_AWAY, SlurmAway), (_LIMIT, SlurmLimit), (_REFUSAL, SlurmRefusal))


def error_of(printed: str, program: str) -> SlurmError:
    """The error that a program of Slurm has printed.

    >>> error_of("sbatch: error: Batch job submission failed: Invalid qos specification\\n", "sbatch")
    SlurmRefusal('sbatch: Batch job submission failed: Invalid qos specification')
    """
    lines = [line.strip() for line in printed[-20 * LONGEST :].splitlines() if line.strip()]
    line = lines[-1] if lines else "it failed and printed nothing"
    for prefix in (f"{program}: ", "fatal: ", "error: "):
        line = line.removeprefix(prefix)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(printed)), SlurmError)
    return kind(f"{program}: {printable(line)[:LONGEST]}")


# Values


USABLE: Final = frozenset(("idle", "mixed", "allocated", "completing", "planned"))
"""The states of nodes that run jobs, or could."""


class ReportedJob(NamedTuple):
    """A job, or a task of an array.

    Attributes:
        id: its id, as `scancel` takes it: `12`, or `12_3` for a task of an array.
        name: its name.
        state: its state in Slurm's long form: `PENDING`, `RUNNING`...
        reason: why it waits, or why it has failed.
        node: the node of its script, or "".
        task: its index in its array; None: it is no array, or all tasks of the array that have no row of their own.
    """

    id: str
    name: str
    state: str
    reason: str = ""
    node: str = ""
    task: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it does not run, and never will."""
        return self.state in ENDED

    @property
    def waits(self) -> bool:
        """Whether it has no nodes yet."""
        return self.state in WAITING

    @property
    def is_new(self) -> bool:
        """Whether it waits because Slurm has not looked for nodes for it yet."""
        return self.state == "PENDING" and self.reason in ("", "None")


class ReportedNode(NamedTuple):
    """A node in a partition.

    Attributes:
        name: its name.
        state: its state, in lower case and without flags.
        responds: whether slurmctld reaches it.
        allocated: how many of its cores jobs have.
        idle: how many are idle.
        total: how many it has.
    """

    name: str
    state: str
    responds: bool
    allocated: int
    idle: int
    total: int

    @property
    def usable(self) -> bool:
        """Whether it runs jobs, or could."""
        return self.responds and self.state in USABLE


class SlurmLimits(NamedTuple):
    """The limits of a Slurm.

    Attributes:
        array_size: the indices of arrays are less than this.
        whole_nodes: whether each job gets whole nodes.
        longest: the longest time of a job in the partition, in minutes; None: no limit.
        exists: whether there is a partition of this name.
    """

    array_size: int = 1001
    whole_nodes: bool = False
    longest: int | None = None
    exists: bool = True


class JobBatch(NamedTuple):
    """An array of jobs to submit.

    Attributes:
        script: the text of the script.
        name: the name of the jobs.
        size: how many jobs there are: their indices are 0, 1, 2...
        minutes: their time limit.
        tasks: how many tasks each job has, each with `cores` cores; or how many whole nodes, with `whole_nodes`.
        cores: the cores of a task.
        whole_nodes: whether each job gets whole nodes.
        memory: the memory for each core, in Slurm's notation; "": Slurm's default.
        partition: the partition; "": the default one.
        qos: the quality of service, or "".
        account: the account, or "".
        constraint: the features that the nodes must have, or "".
        nice: how much is subtracted from their priority.
        comment: the comment of the jobs.
        directory: where the script starts.
    """

    script: str
    name: str
    size: int = 1
    minutes: int = 60
    tasks: int = 1
    cores: int = 1
    whole_nodes: bool = False
    memory: str = ""
    partition: str = ""
    qos: str = ""
    account: str = ""
    constraint: str = ""
    nice: int = 0
    comment: str = ""
    directory: str = "/"


class SlurmClient(Protocol):
    """A client of a Slurm. All methods raise `SlurmError`, and `SlurmAway` if nobody answers within the time limit."""

    def jobs(self) -> Sequence[ReportedJob]:
        """The jobs of this user, also those that have ended a short time ago; each task of an array is one."""

    def nodes(self, partition: str) -> Sequence[ReportedNode]:
        """The nodes of a partition; "": of all partitions."""

    def limits(self, partition: str) -> SlurmLimits:
        """Its limits, and those of a partition."""

    def submit(self, batch: JobBatch) -> str:
        """Submit an array; return its id."""

    def cancel(self, ids: Iterable[str]) -> None:
        """Cancel jobs. Jobs that are unknown or have ended are skipped."""

    def signal(self, ids: Iterable[str], name: str) -> None:
        """Send a signal to the scripts of jobs. Jobs that are unknown or have ended are skipped."""
