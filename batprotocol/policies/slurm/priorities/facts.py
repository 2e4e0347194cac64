"""The facts of a job that its priority is made of, and the parts of a priority."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

__all__ = ["HIGHEST", "JobFacts", "Parts", "total"]

HIGHEST: Final = 2**32 - 1
"""The highest priority that a job can have."""


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a job as it was submitted.

    Attributes:
        number: its number, by which jobs are ordered.
        user: its user.
        account: its account; "": the default account of its user.
        qos: its quality of service; "": the default one of its association, else `normal`.
        partitions: the names of its partitions; it has a priority in each.
        nodes: the fewest nodes that it can have, at least 1.
        cpus: the CPUs that it asks for, of all nodes together; 0: unknown.
        minutes: its time limit in minutes; None: that of its partition.
        nice: subtracted from its priority.
        tres: the resources that it asks for, of all nodes together, by name: `cpu`, `mem` in MiB, `node`, `gres/gpu`...
        submitted: when it was submitted, in seconds.
        fixed: a priority that an administrator set; None: it is computed. 0: the job is held.
    """

    number: int
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    nodes: int = 1
    cpus: int = 0
    minutes: float | None = None
    nice: int = 0
    tres: Mapping[str, float] = {}
    submitted: float = 0.0
    fixed: int | None = None


class Parts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of a priority, each multiplied with its weight. `sprio` prints them as whole numbers.

    Attributes:
        age: of the waiting time.
        assoc: of the priority of its association.
        fairshare: of the fair share.
        size: of its size.
        partition: of the factor of its partition.
        qos: of the priority of its quality of service.
        tres: of the resources that it asks for.
        nice: subtracted.
    """

    age: float = 0.0
    assoc: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    tres: float = 0.0
    nice: int = 0

    @property
    def total(self) -> int:
        """The priority that they make.

        >>> Parts(age=10.75, size=2.5, nice=3).total, Parts(nice=3).total
        (10, 1)
        """
        parts = self.age, self.assoc, self.fairshare, self.size, self.partition, self.qos, self.tres
        return total(*parts, self.nice)


def total(
    age: float, assoc: float, fairshare: float, size: float, partition: float, qos: float, tres: float, nice: int
) -> int:
    """The priority of these parts: their sum without its fraction, at least 1, as 0 is the priority of held jobs.

    They are added in this order, which decides about the last digit of a sum.
    """
    found = age + assoc + fairshare + size + partition + qos + tres - nice
    return int(found) if 1.0 <= found < HIGHEST else 1 if found < 1.0 else HIGHEST
