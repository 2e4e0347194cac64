"""Orders that do not change while jobs wait: by submission, walltime, size, area, and the functions F1 to F4."""

from __future__ import annotations

import math
from typing import Any

from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders.base import Order

__all__ = ["F1", "F2", "F3", "F4", "FCFS", "LAF", "LCFS", "LJF", "SAF", "SJF", "Largest", "Smallest"]

_FUNCTIONS = "Carastan-Santos and de Camargo, SC 2017"
_LEAST = 0.1
"""The value in place of walltimes and times that are 0 or less, where logarithms are taken."""


class FCFS(Order):
    """First come, first served."""

    name = "fcfs"
    sentence = "First come, first served."
    source = "Schwiegelshohn and Yahyapour, SODA 1998"

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.submitted


class LCFS(Order):
    """Last come, first served."""

    name = "lcfs"
    sentence = "Last come, first served."

    def key(self, job: WaitingJob, state: State) -> Any:
        return -job.submitted, -job.number


class SJF(Order):
    """Shortest requested time first."""

    name = "sjf"
    sentence = "The shortest walltime first."
    source = "Smith, Naval Research Logistics Quarterly 3, 1956 (shortest processing time)"

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.walltime, job.submitted


class LJF(Order):
    """Longest requested time first."""

    name = "ljf"
    sentence = "The longest walltime first."
    source = "Graham, SIAM Journal on Applied Mathematics 17, 1969 (longest processing time)"

    def key(self, job: WaitingJob, state: State) -> Any:
        return -job.walltime


class SAF(Order):
    """Smallest area first: walltime times hosts."""

    name = "saf"
    sentence = "The smallest walltime times hosts first."
    source = "Carastan-Santos et al., CCGrid 2019"

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.walltime * job.size


class LAF(Order):
    """Largest area first: walltime times hosts."""

    name = "laf"
    sentence = "The largest walltime times hosts first."

    def key(self, job: WaitingJob, state: State) -> Any:
        return -job.walltime * job.size


class Smallest(Order):
    """Fewest hosts first."""

    name = "smallest"
    sentence = "The fewest hosts first."

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.size


class Largest(Order):
    """Most hosts first."""

    name = "largest"
    sentence = "The most hosts first."
    source = "Li and Cheng, TPDS 2, 1991"

    def key(self, job: WaitingJob, state: State) -> Any:
        return -job.size


class F1(Order):
    """Least log10(r) n + 870 log10(s): r the walltime, n the hosts, s the time of submission."""

    name = "f1"
    sentence = "The least log10(r) n + 870 log10(s), of walltime r, hosts n and submission s."
    source = _FUNCTIONS

    def key(self, job: WaitingJob, state: State) -> Any:
        return math.log10(max(job.walltime, _LEAST)) * job.size + 870 * _log(job.submitted)


class F2(Order):
    """Least sqrt(r) n + 25600 log10(s)."""

    name = "f2"
    sentence = "The least sqrt(r) n + 25600 log10(s)."
    source = _FUNCTIONS

    def key(self, job: WaitingJob, state: State) -> Any:
        return math.sqrt(job.walltime) * job.size + 25600 * _log(job.submitted)


class F3(Order):
    """Least r n + 6860000 log10(s)."""

    name = "f3"
    sentence = "The least r n + 6860000 log10(s)."
    source = _FUNCTIONS

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.walltime * job.size + 6860000 * _log(job.submitted)


class F4(Order):
    """Least r sqrt(n) + 530000 log10(s)."""

    name = "f4"
    sentence = "The least r sqrt(n) + 530000 log10(s)."
    source = _FUNCTIONS

    def key(self, job: WaitingJob, state: State) -> Any:
        return job.walltime * math.sqrt(job.size) + 530000 * _log(job.submitted)


def _log(time: float) -> float:
    # Only the authors of F1 define the case of 0, and the other functions need it, too.
    return math.log10(time if time > 0 else _LEAST)
