"""The running jobs that give way to a job that cannot start: of lower tiers or qualities of service.

On each host that the job could have, as few jobs give way as is enough, in the order of the rules. The job gets the
hosts on which the loss is least. Where jobs give way to higher tiers, no job gives way to one of a lower tier. A job
that runs on several hosts is lost once. The loss of a job is the time that it has run, times its cores; a job that
goes on from its progress loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from batprotocol.policies.site.choosing import Chooser
from batprotocol.policies.site.jobs import Entry, SiteRunning
from batprotocol.policies.site.pool import Amount, Pool, added, fits, reduced
from batprotocol.policies.site.rules import Partition, Preemption, Qos, SiteRules

__all__ = ["Preempting", "Way"]


class Way(NamedTuple):
    """The way that is made for a job.

    Attributes:
        victims: the jobs that give way.
        hosts: the hosts that the job gets.
        others: the other jobs that would give way, those first of which the loss is least.
    """

    victims: list[SiteRunning]
    hosts: list[int]
    others: list[SiteRunning]


class Preempting:
    """Finds jobs that give way.

    Args:
        rules: who gives way to whom.
        pool: what is free.
        chooser: chooses hosts.
    """

    def __init__(self, rules: SiteRules, pool: Pool, chooser: Chooser) -> None:
        self._rules, self._pool, self._chooser = rules, pool, chooser
        self._by_tier = any(partition.preempt != "off" for partition in rules.partitions.values())

    def mode_of(self, job: SiteRunning) -> Preemption:
        """The fate of a job that gives way."""
        rules = self._rules_of(job)
        return "off" if rules is None else rules.preempt

    def grace_of(self, job: SiteRunning) -> float:
        """How many seconds pass before a job that gives way is killed."""
        rules = self._rules_of(job)
        return 0.0 if rules is None else rules.grace

    def _rules_of(self, job: SiteRunning) -> Qos | Partition | None:
        """The rules by which a job gives way: those of its QOS if another one preempts it, or else of its partition."""
        name, qualities = job.entry.job.request.qos, self._rules.qos
        if name is not None and name in qualities and any(name in each.preempts for each in qualities.values()):
            return qualities[name]
        return self._rules.partitions.get(job.entry.partition)

    def _can_give_way(self, job: SiteRunning, entry: Entry) -> bool:
        if job.is_giving_way or job.is_killed or job.missing or self.mode_of(job) == "off":
            return False
        partition, tier = self._rules.partitions.get(job.entry.partition), job.entry.tier
        if partition is not None and partition.preempt != "off" and tier < entry.tier:
            return True
        if self._by_tier and tier > entry.tier:  # or else two jobs could preempt each other in turns
            return False
        qos = entry.job.request.qos
        preempts = () if qos is None or qos not in self._rules.qos else self._rules.qos[qos].preempts
        return job.entry.job.request.qos in preempts

    def _loss(self, job: SiteRunning, now: float) -> tuple[float, ...]:
        lost = 0.0 if self.mode_of(job) == "checkpoint" else (now - job.started) * max(job.cores, 1)
        if self._rules.order_of_victims == "youngest":
            return (-job.started, lost)
        if self._rules.order_of_victims == "priority":
            return (job.priority, lost)
        return (lost, -job.started)

    def find(
        self,
        entry: Entry,
        running: Iterable[SiteRunning],
        now: float,
        heads: Iterable[Entry],
        may_have: Callable[[int], bool] | None = None,
    ) -> Way | None:
        """The jobs that give way to an entry, perhaps none, and the hosts that it gets; None if there are not enough.

        Args:
            entry: the entry that cannot start.
            running: the jobs that run.
            now: the time.
            heads: the entries with reservations. Hosts that are being freed for one of them are left alone.
            may_have: whether the entry may have a host for long enough; None: it may have each one.
        """
        taken = {host for head in heads if head.start <= now for host in head.reserved}
        victims = sorted(
            (job for job in running if self._can_give_way(job, entry)),
            key=lambda job: (*self._loss(job, now), job.place),
        )
        if not victims:
            return None
        amount = entry.kind.amount
        ways: dict[int, list[SiteRunning]] = {}
        for host in entry.kind.hosts:
            if host not in taken and (may_have is None or may_have(host)):
                way = _room_on(host, amount, self._pool.free[host], victims)
                if way is not None:
                    ways[host] = way
        places = {job.waited.id: number for number, job in enumerate(victims)}
        chosen = self._chooser.choose(
            sorted(ways),
            entry.job.size,
            entry.job.request,
            self._pool.free,
            lambda host: (len(ways[host]), [places[job.waited.id] for job in ways[host]]),
        )
        if chosen is None:
            return None
        lost = {job.waited.id: job for host in chosen for job in ways[host]}
        others = [job for job in victims if job.waited.id not in lost]
        return Way(sorted(lost.values(), key=lambda job: places[job.waited.id]), chosen, others)


def _room_on(host: int, amount: Amount, free: Amount, victims: list[SiteRunning]) -> list[SiteRunning] | None:
    """The fewest of the victims, the first of them first, that free enough on a host; None if all do not."""
    found: list[SiteRunning] = []
    for job in victims:
        if fits(amount, free):
            break
        if host in job.members:
            found.append(job)
            free = added(free, job.entry.kind.amount)
    if not fits(amount, free):
        return None
    # Jobs that need not be preempted after all stay.
    for job in found[:-1]:
        less = reduced(free, job.entry.kind.amount)
        if fits(amount, less):
            found.remove(job)
            free = less
    return found
