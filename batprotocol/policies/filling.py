"""Jobs whose cores fill their hosts one after the other, as Slurm gives them: how many cores each has of each host.

A log has only the sum of a job. While Slurm cleans up after a job, the next one gets fewer cores of a host than were
free by the log. So the division of a running job is a guess, which changes when another job needs the cores. The module
must not know events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from batprotocol.policies.site.pool import Amount, Pool, fits

__all__ = ["Filling", "Parts", "division"]

Parts: TypeAlias = "dict[int, Amount]"
"""The amount that a job takes of each of its hosts."""


def division(hosts: Collection[int], cores: int, share: Amount, free: Mapping[int, Amount]) -> Parts | None:
    """The amounts that a job takes of its hosts, in order: all free cores, but one is kept for each other host.

    Its memory goes with its cores, or else is the same on each host.

    Args:
        hosts: its hosts, in order.
        cores: its cores on all of them together.
        share: what it would take of each host if it took the same of each.
        free: what is free on each host.

    Returns:
        the amounts; None if they do not fit.
    """
    _, _, memory, *others = share
    for goes_along in (True, False):
        rest, parts = cores, {}
        for after, host in zip(range(len(hosts) - 1, -1, -1), hosts, strict=True):
            count = min(free[host][1], rest - after)
            part = (1, count, memory * len(hosts) * count // cores if goes_along else memory, *others)
            if count < 1 or not fits(part, free[host]):
                break
            rest -= count
            parts[host] = part
        if not rest:
            return parts
    return None


class Filling:
    """The running jobs whose cores fill their hosts.

    Args:
        pool: the free amounts of the hosts, which this class changes.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._parts: dict[str, Parts] = {}
        self._on: dict[int, dict[str, None]] = {}

    def parts_for(self, hosts: Collection[int], cores: int, share: Amount) -> Parts | None:
        """What a job can take of its hosts now, also where other jobs must have their cores on other hosts for it."""
        parts = division(hosts, cores, share, self._pool.free)
        if parts is None and any(host in self._on for host in hosts):
            _, _, memory, *others = share
            each = memory * len(hosts) // cores
            for wanted in (1, cores):
                for host in hosts:
                    count = min(wanted, self._pool.capacity[host][1])
                    self.make_room(host, (1, count, each * count, *others), hosts)
            parts = division(hosts, cores, share, self._pool.free)
        return parts

    def take(self, job_id: str, parts: Parts) -> None:
        """A job starts."""
        self._parts[job_id] = parts
        for host, part in parts.items():
            self._pool.take([host], part)
            self._on.setdefault(host, {})[job_id] = None

    def give_back(self, job_id: str) -> bool:
        """A job has ended. False if it is none of these."""
        parts = self._parts.pop(job_id, None)
        if parts is None:
            return False
        for host, part in parts.items():
            self._pool.give_back([host], part)
            del self._on[host][job_id]
            if not self._on[host]:
                del self._on[host]
        return True

    def make_room(self, host: int, needed: Amount, avoided: Iterable[int] = ()) -> bool:
        """Divide running jobs in another way, until an amount is free on a host. Whether it is in the end.

        Args:
            host: the host.
            needed: the amount.
            avoided: hosts that no cores are moved to.
        """
        free, avoided = self._pool.free, {host, *avoided}
        for job_id in self._on.get(host, ()):
            parts = self._parts[job_id]
            each = parts[host][2] // parts[host][1]
            for other in [number for number in parts if number not in avoided]:
                if fits(needed, free[host]):
                    return True
                wanted = max(needed[1] - free[host][1], -((free[host][2] - needed[2]) // each) if each else 0)
                room = min(free[other][1], free[other][2] // each) if each else free[other][1]
                count = min(wanted, parts[host][1] - 1, room)
                if count > 0:
                    self._change(parts, host, -count, each)
                    self._change(parts, other, count, each)
        return fits(needed, free[host])

    def _change(self, parts: Parts, host: int, cores: int, each: int) -> None:
        own, had, memory, *others = parts[host]
        self._pool.give_back([host], parts[host])
        parts[host] = (own, had + cores, memory + cores * each, *others)
        self._pool.take([host], parts[host])
