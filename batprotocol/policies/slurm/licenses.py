"""The licences of a cluster, and how many of each are taken. This module must not know loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.slurm.jobs import SlurmJob

__all__ = ["LicenseReservation", "Licenses"]


_SHORTLY = 120
"""Seconds in which a loop runs even if nothing happens."""


class LicenseReservation(NamedTuple):
    """A reservation of licences.

    Attributes:
        name: its name.
        licenses: the number of each licence.
        begin, end: its times, in seconds.
    """

    name: str
    licenses: Mapping[str, int]
    begin: float
    end: float


class Licenses:
    """Licences.

    Args:
        total: how many there are of each, by name.

    >>> from batprotocol.policies.slurm.jobs import SlurmJob
    >>> licenses, job = Licenses({"matlab": 3}), SlurmJob("w0!1", 1, 0.0, (), 10)
    >>> job.licenses = (("matlab", 2),)
    >>> licenses.lacks(job, 0)
    False
    >>> licenses.take(job)
    >>> licenses.lacks(job, 0)
    True
    """

    def __init__(self, total: Mapping[str, int]) -> None:
        self._total = total
        self._taken: Counter[str] = Counter()
        self._reserved: dict[str, LicenseReservation] = {}

    def check(self, job: SlurmJob) -> None:
        """Check what a job asks for.

        Raises:
            InputError: there are never so many.
        """
        for name, count in job.licenses:
            if name not in self._total:
                raise InputError(f"Invalid license specification: there is no {shown(name)}{hint(name, self._total)}")
            if count > self._total[name]:
                raise InputError(
                    f"Invalid license specification: there are {self._total[name]} of {shown(name)}, "
                    f"and it asks for {count}"
                )

    def lacks(self, job: SlurmJob, second: int) -> bool:
        """Whether a licence of a job that would start now is taken by others, or reserved for them by its end."""
        reserved: Counter[str] = Counter()
        for each in self._reserved.values():
            if each.name != job.reservation and each.begin < second + 60 * job.limit and second < each.end:
                reserved.update(each.licenses)
        return any(
            self._taken[name] + reserved[name] + count > self._total.get(name, 0) for name, count in job.licenses
        )

    def reserve(self, reservation: LicenseReservation) -> None:
        """Licences are reserved. A reservation of the same name is replaced."""
        self._reserved[reservation.name] = reservation

    def are_reserved(self, second: int) -> bool:
        """Whether a reservation ends later, or has ended so shortly before that no loop need have run since."""
        return any(second - _SHORTLY < each.end < math.inf for each in self._reserved.values())

    def unreserve(self, name: str) -> None:
        """A reservation is deleted, if there is one of this name."""
        self._reserved.pop(name, None)

    def take(self, job: SlurmJob) -> None:
        """A job starts."""
        for name, count in job.licenses:
            self._taken[name] += count

    def give_back(self, job: SlurmJob) -> None:
        """A job ends."""
        for name, count in job.licenses:
            self._taken[name] -= count
