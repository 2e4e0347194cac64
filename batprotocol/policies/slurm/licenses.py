"""The licences of a cluster, and how many of each are taken. This module must not know loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.slurm.jobs import SlurmJob

__all__ = ["Licenses"]


class Licenses:
    """Licences.

    Args:
        total: how many there are of each, by name.

    >>> from batprotocol.policies.slurm.jobs import SlurmJob
    >>> licenses, job = Licenses({"matlab": 3}), SlurmJob("w0!1", 1, 0.0, (), 10)
    >>> job.licenses = (("matlab", 2),)
    >>> licenses.lacks(job)
    False
    >>> licenses.take(job)
    >>> licenses.lacks(job)
    True
    """

    def __init__(self, total: Mapping[str, int]) -> None:
        self._total = total
        self._taken: Counter[str] = Counter()

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

    def lacks(self, job: SlurmJob) -> bool:
        """Whether a licence of a job is taken by others."""
        return any(self._taken[name] + count > self._total.get(name, 0) for name, count in job.licenses)

    def take(self, job: SlurmJob) -> None:
        """A job starts."""
        for name, count in job.licenses:
            self._taken[name] += count

    def give_back(self, job: SlurmJob) -> None:
        """A job ends."""
        for name, count in job.licenses:
            self._taken[name] -= count
