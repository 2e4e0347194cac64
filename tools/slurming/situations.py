"""A cluster and the events on it: nodes, partitions, users, jobs and commands.

The module must not know how Slurm is started.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import msgspec

__all__ = ["DATA", "Asked", "Situation", "expanded", "read_situations"]

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "slurm"


class Asked(NamedTuple):
    """A job of a situation: its submission and run time in seconds, and the arguments of sbatch."""

    name: str
    at: float
    run: float
    longer: float
    """Seconds that each task of an array runs longer than the one before."""
    fails: bool
    arguments: list[str]


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster and its jobs, see tests/data/slurm/situations.toml.

    Attributes:
        commands: the second in which each is given, and its words; `{a}` is the id of job a.
        accounts: the users of each account; with accounts, the cluster has Slurm's accounting in a database.
        longest: the seconds of Slurm's time after which the situation is given up.
    """

    about: str
    nodes: list[str]
    partitions: list[str]
    jobs: list[str]
    conf: list[str] = []
    policy: str = "conservative+pack"
    elsewhere: list[str] = []
    commands: list[str] = []
    accounts: dict[str, list[str]] = {}
    longest: int = 1500

    def asked(self) -> list[Asked]:
        """The jobs, in the order of their submission."""
        return [_asked(line) for line in self.jobs]

    def commanded(self) -> list[tuple[float, list[str]]]:
        """The commands and their times, in their order."""
        lines = [shlex.split(line) for line in self.commands]
        return sorted(((float(at), words) for at, *words in lines), key=lambda each: each[0])

    def named(self, kind: str) -> dict[str, dict[str, str]]:
        """The keys of the nodes or partitions, by their names."""
        lines = [line.split() for line in getattr(self, kind)]
        return {name: dict(word.split("=", 1) for word in words) for name, *words in lines}


def _asked(line: str) -> Asked:
    name, at, run, *arguments = shlex.split(line)
    found = re.fullmatch(r"([0-9]+)(?:\+([0-9]+))?(!?)", run)
    assert found is not None, line
    return Asked(name, float(at), float(found[1]), float(found[2] or 0), bool(found[3]), arguments)


def read_situations(path: Path = DATA / "situations.toml") -> dict[str, Situation]:
    """All situations by name."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, Situation])


def expanded(pattern: str) -> list[str]:
    """The names of nodes such as `n[0-1],n3`."""
    names: list[str] = []
    for part, ranges in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?,?", pattern):
        for each in ranges.split(",") if ranges else [""]:
            first, _, last = each.partition("-")
            names += [f"{part}{number}" for number in range(int(first), int(last or first) + 1)] if each else [part]
    return names
