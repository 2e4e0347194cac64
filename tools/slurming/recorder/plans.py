"""The plan of a run: configuration, nodes, jobs and commands. The module must not know Slurm's programs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["ACCOUNTED", "FIRST", "Asked", "Given", "Nodes", "Plan", "recorded_plan"]

FIRST = 2.0
"""The second of the first submission."""
ACCOUNTED = "accounting_storage/slurmdbd"
MORE = 120
"""The seconds that a plan that is recorded again may take longer."""


class Nodes(msgspec.Struct, frozen=True):
    """Nodes that are alike: how many, and their words in slurm.conf. Those of all groups are named n0, n1..."""

    count: int
    conf: str


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job, or an array of jobs.

    Attributes:
        at: the second of its submission.
        runs: the seconds that each task runs; one of them without an array.
        user: u1, u2...
        args: the arguments of sbatch. `{3}` is the id of the fourth job of the plan.
        exit: the exit code of its script.
    """

    at: float
    runs: list[int]
    user: str
    args: list[str]
    exit: int = 0

    @property
    def is_array(self) -> bool:
        """Whether it has tasks with numbers."""
        return any(word.startswith("--array") for word in self.args)


class Given(msgspec.Struct, frozen=True):
    """A command in a second. `{3}` is the id of the fourth job of the plan, and u1 a user."""

    at: float
    cmd: list[str]


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of Slurm before it runs.

    Attributes:
        slurm_conf: what differs from Slurm's defaults.
        partitions: the lines of partitions in slurm.conf.
        gres: the text of gres.conf.
        topology: the text of topology.conf.
        setup: the arguments of sacctmgr before the run.
        submissions: the jobs, by their seconds.
        events: the commands, by their seconds.
        longest: the second in which the run ends in any case.
    """

    kind: str
    seed: int
    slurm_conf: dict[str, str]
    nodes: list[Nodes]
    partitions: list[str]
    submissions: list[Asked]
    events: list[Given] = []
    gres: str = ""
    topology: str = ""
    setup: list[list[str]] = []
    longest: int = 560

    @property
    def accounted(self) -> bool:
        """Whether it needs Slurm's accounting, with its database."""
        return self.slurm_conf.get("AccountingStorageType") == ACCOUNTED

    def named_nodes(self) -> dict[str, str]:
        """The words of each node, by its name."""
        words = [group.conf for group in self.nodes for _ in range(group.count)]
        return {f"n{number}": each for number, each in enumerate(words)}

    @property
    def size(self) -> int:
        """The number of its nodes."""
        return sum(group.count for group in self.nodes)


def recorded_plan(run: Mapping[str, Any]) -> Plan:
    """The plan of a recording, to record it again: the same commands at the same times, also those that failed.

    The numbers of jobs in its commands are those of the recording, as all jobs are submitted in the same order.

    Args:
        run: the recording.
    """
    accounted = {"AccountingStorageType": ACCOUNTED} if run["dbd"] else {}
    submissions = [
        Asked(_sent(each), each.get("runs") or [each["run"]], each["user"], each["args"], each.get("exit", 0))
        for each in run["submissions"]
    ]
    ends = [time for time, _ in run["log"]]
    return Plan(
        run["config"],
        run["seed"],
        run["slurm_conf"] | accounted,
        msgspec.convert(run["nodes"], list[Nodes]),
        run["partitions"],
        submissions,
        [Given(_sent(each), each["cmd"]) for each in run["events"]],
        gres=run["gres"],
        topology=run["topology"],
        setup=[shlex.split(words)[2:] for words, _ in run["setup"]],
        longest=math.ceil(max(ends, default=0.0)) + MORE,
    )


def _sent(row: Mapping[str, Any]) -> float:
    """When a command was sent; short recordings have only the time of its answer."""
    time: float = row.get("t_sent", row["t_returned"])
    return time
