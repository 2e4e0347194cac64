"""Values that Slurm reports and accepts: jobs, nodes, limits, and batches of jobs to submit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from batprotocol.sites.slurm.amounts import ENDED, WAITING

__all__ = ["Batch", "Limits", "SlurmClient", "SlurmJob", "SlurmNode"]

USABLE: Final = frozenset(("idle", "mixed", "allocated", "completing", "planned"))
"""The states of nodes that run jobs, or could."""


class SlurmJob(NamedTuple):
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


class SlurmNode(NamedTuple):
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


class Limits(NamedTuple):
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


class Batch(NamedTuple):
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

    def jobs(self) -> Sequence[SlurmJob]:
        """The jobs of this user, also those that have ended a short time ago; each task of an array is one."""

    def nodes(self, partition: str) -> Sequence[SlurmNode]:
        """The nodes of a partition; "": of all partitions."""

    def limits(self, partition: str) -> Limits:
        """Its limits, and those of a partition."""

    def submit(self, batch: Batch) -> str:
        """Submit an array; return its id."""

    def cancel(self, ids: Iterable[str]) -> None:
        """Cancel jobs. Jobs that are unknown or have ended are skipped."""

    def signal(self, ids: Iterable[str], name: str) -> None:
        """Send a signal to the scripts of jobs. Jobs that are unknown or have ended are skipped."""
