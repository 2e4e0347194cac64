"""The plan of a run: configuration, nodes, jobs and commands. The module must not know Slurm's programs."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
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

    Numbers of jobs in its commands become places in the plan: tasks of arrays get numbers when they start, so that the
    next job has another number in each recording.

    Args:
        run: the recording.
    """
    places = {str(each["id"]): place for place, each in enumerate(run["submissions"])}
    accounted = {"AccountingStorageType": ACCOUNTED} if run.get("dbd") else {}
    submissions = [
        Asked(
            _sent(each),
            [int(seconds) for seconds in each.get("runs") or [each["run"]]],  # whole ones, read as floats
            each["user"],
            [_placed(word, places) if "after" in word else word for word in each["args"]],
            each.get("exit", 0),
        )
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
        [Given(_sent(each), list(_command(each["cmd"], places))) for each in run["events"]],
        gres=run.get("gres", ""),
        topology=run.get("topology", ""),
        setup=[shlex.split(words)[2:] for words, _ in run.get("setup", ())],
        longest=math.ceil(max(ends, default=0.0)) + MORE,
    )


def _sent(row: Mapping[str, Any]) -> float:
    """When a command was sent; short recordings have only the time of its answer."""
    time: float = row.get("t_sent", row["t_returned"])
    return time


def _command(words: list[str], places: Mapping[str, int]) -> Iterator[str]:
    """A command with the places of jobs in place of their numbers."""
    for before, word in pairwise(["", *words]):
        is_job = re.fullmatch(r"(JobId=)?[0-9]+([_+,][][0-9_+,-]*)?", word) and before != "-s"
        yield _placed(word, places) if is_job or "after" in word else word


def _placed(text: str, places: Mapping[str, int]) -> str:
    """A text with the places of jobs in place of their numbers: those after a mark, and not those of tasks."""

    def place(found: re.Match[str]) -> str:
        return f"{{{places[found[0]]}}}" if found[0] in places else found[0]

    return re.sub(r"(?<![0-9_+[-])[0-9]+", place, text)
