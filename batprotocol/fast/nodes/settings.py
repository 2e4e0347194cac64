"""How nodes to test with behave: how long things take, how often they fail or are never answered, and what they use.

Chance depends on the seed and on what is done, and not on when: the same tasks meet the same luck. It must not know
what a task is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random
from typing import Final

__all__ = ["DEEDS", "DEFAULT_TIMES", "Fate", "Luck", "Settings"]

DEFAULT_TIMES: Final[Mapping[str, tuple[float, float]]] = {
    "start": (0.2, 0.4),
    "stop": (0.05, 0.1),
    "suspend": (0.01, 0.02),
    "resume": (0.01, 0.02),
    "migrate": (0.2, 0.5),
    "repin": (0.01, 0.02),
    "mmbwmon": (0.1, 0.1),
    "pscom": (0.01, 0.05),
}
"""The seconds that each of the deeds of a node takes, from and to."""

DEEDS: Final = tuple(DEFAULT_TIMES)


@dataclass(frozen=True)
class Settings:
    """How nodes behave.

    Args:
        times: for some deeds, the seconds that they take, from and to; the others take those of `DEFAULT_TIMES`.
        fail: for some deeds, how probable it is that one fails, from 0 to 1.
        silent: for some deeds, how probable it is that one is done, but never answered.
        seed: what chance is made of.
        cores: how many cores a node has.
        pscom_procs: how many processes of MPI are in each machine.
        applications: whether an application in each machine reports its progress; its job id is the machine's name.
        report_time: the seconds between two such reports.
        bandwidth: how much of a node's memory bandwidth each machine uses, by patterns of names (`stream*`); others use
            between 0.05 and 0.5 of it, by chance.
    """

    times: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fail: Mapping[str, float] = field(default_factory=dict)
    silent: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    cores: int = 16
    pscom_procs: int = 2
    applications: bool = False
    report_time: float = 1.0
    bandwidth: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("times", self.times), ("fail", self.fail), ("silent", self.silent)):
            for deed in given:
                if deed not in DEFAULT_TIMES:
                    raise ValueError(f"{name}: there is no {deed!r}, only {', '.join(DEEDS)}")
        for name, chances in (("fail", self.fail), ("silent", self.silent), ("bandwidth", self.bandwidth)):
            for key, chance in chances.items():
                if not 0 <= chance <= 1:
                    raise ValueError(f"{name} {key}: expected a number from 0 to 1, got {chance}")
        for deed, (low, high) in self.times.items():
            if not 0 <= low <= high < float("inf"):
                raise ValueError(f"times {deed}: expected seconds from 0 on, got {low:g} to {high:g}")

    def bandwidth_of(self, machine: str) -> float:
        """The share of a node's memory bandwidth that a machine uses while it runs."""
        for pattern, share in self.bandwidth.items():
            if fnmatchcase(machine, pattern):
                return share
        return Random(f"{self.seed}/bandwidth/{machine}").uniform(0.05, 0.5)


class Luck:
    """The random outcomes of a node's actions.

    >>> luck = Luck(Settings(fail={"start": 1.0}), "node-a")
    >>> luck.draw("start", "vm1").fails, luck.draw("stop", "vm1").fails
    (True, False)
    """

    def __init__(self, settings: Settings, host: str) -> None:
        self._settings = settings
        self._host = host
        self._times_done: dict[tuple[str, str], int] = {}

    def draw(self, deed: str, what: str) -> Fate:
        """The duration and the outcome of this action."""
        key = deed, what
        number = self._times_done[key] = self._times_done.get(key, 0) + 1
        random = Random(f"{self._settings.seed}/{self._host}/{deed}/{what}/{number}")
        low, high = self._settings.times.get(deed, DEFAULT_TIMES[deed])
        return Fate(
            random.uniform(low, high),
            random.random() < self._settings.fail.get(deed, 0.0),
            random.random() < self._settings.silent.get(deed, 0.0),
        )


@dataclass(frozen=True)
class Fate:
    """The outcome of one action.

    Attributes:
        seconds: its duration.
        fails: whether it fails.
        is_silent: whether it has no answer.
    """

    seconds: float
    fails: bool
    is_silent: bool
