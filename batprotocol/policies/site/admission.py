"""Admission of jobs: the entries of a job, one for each partition that takes it, or why it can never run."""

from __future__ import annotations

import math
from typing import Any, Final

from batprotocol.policies.availability import Amount
from batprotocol.policies.backfilling import Walltimes
from batprotocol.policies.jobs import JobKind, JobRun, PromisedHosts, SiteEntry, SiteJob
from batprotocol.policies.site.rules import (
    ANY,
    Partition,
    anywhere,
    longest_of_qos,
    refusal_of_begin,
    refusal_of_deadline,
    refusal_of_names,
    refusal_of_partition,
    time_limit,
)
from batprotocol.policies.site.state import SiteState
from batprotocol.workloads.requests import Request
from batprotocol.workloads.requests.offers import needs_of

_MOST_KNOWN: Final = 4096


class Admission:
    """Finds the entries of jobs.

    Args:
        site: the state of the site.
        walltimes: how long jobs are expected to run.
    """

    def __init__(self, site: SiteState, walltimes: Walltimes) -> None:
        self._site, self.rules, self._state, self._queue = site, site.rules, site.state, site.queue
        self._chooser, self._usage, self._walltimes = site.chooser, site.usage, walltimes
        self._numbers = 0
        self._known: dict[Any, str | tuple[frozenset[int], Amount]] = {}
        self._cores: dict[tuple[JobKind, int, Amount], tuple[int, int]] = {}

    def next_number(self) -> int:
        """A number that no other entry has."""
        self._numbers += 1
        return self._numbers

    def prepare(self, job: SiteJob) -> str | None:
        """Find out where a job can run; returns why it can never run, or None."""
        request, size = job.request, job.size
        if size < 1:
            return f"it asks for {size} hosts, and needs one at least"
        if size > len(self._site.pool.hosts):
            return f"it asks for {size} hosts, and there are {len(self._site.pool.hosts)}"
        refusal = refusal_of_names(self.rules, request)
        if refusal is not None:
            return refusal
        longest = longest_of_qos(self.rules, request)
        if longest < job.walltime < math.inf:
            return f"its walltime is {job.walltime:g} s, and QOS {request.qos} allows {longest:g} s"
        names = request.partition or self._site.default
        for name in names:
            if name not in self._site.members:
                return f"there is no partition {name!r}; there are {', '.join(sorted(self._site.members)) or 'none'}"
        why = None
        job.is_whole = request.is_whole
        needs = needs_of(request, size)
        for name in names or ("",):
            partition = self.rules.partitions.get(name, ANY)
            reason = refusal_of_partition(name, partition, job) or self._add_entry(job, name, partition)
            why = why or reason
        if not job.entries:
            return why or "no partition takes it"
        kind = job.entries[0].kind
        job.amount = kind.amount
        job.cores = self._cores_of(kind, size, self._site.pool.amount(needs, job.is_whole))[0]
        job.gpus = size * sum(number for name, _, number in needs.gres if name == "gpu")
        if request.reservation is not None:
            job.entries = []  # it runs in its reservation alone
        return refusal_of_begin(job) or refusal_of_deadline(job, job.submitted)

    def enter(self, job: SiteJob, promised: PromisedHosts) -> list[SiteEntry]:
        """Add the entries of a job in a reservation, one for each partition that takes it; returns them."""
        before = len(job.entries)
        for name in job.request.partition or self._site.default or ("",):
            partition = self.rules.partitions.get(name, ANY)
            if refusal_of_partition(name, partition, job) is None:
                self._add_entry(job, name, partition, promised)
        return job.entries[before:]

    def again(self, job: SiteJob, former: SiteJob, *, keeps_place: bool) -> None:
        """Find out where the next run of a job can run: where the former one could, whatever its walltime is now.

        Args:
            job: the next run.
            former: the former run.
            keeps_place: whether the next run has the place in the queue that the former one had.
        """
        if not former.amount:  # it was adopted, and could run anywhere
            self.prepare(job)
            return
        for name in ("is_whole", "amount", "cores", "gpus"):
            setattr(job, name, getattr(former, name))
        self._expect(job)
        for before in former.entries:
            if before.promised is not None:  # it may be over
                continue
            number = before.number if keeps_place else self.next_number()
            entry = SiteEntry(job, before.partition, before.tier, before.kind, number)
            entry.cores = before.cores
            self._limit(entry, job)
            job.entries.append(entry)

    def _expect(self, job: SiteJob) -> None:
        expected = self._walltimes.expected(job, self._state)
        job.expected = max(expected, 0.0) if expected < job.walltime else job.walltime

    def _limit(self, entry: SiteEntry, job: SiteJob) -> None:
        """Set the time limit of an entry, and how long it is expected to run."""
        partition = self.rules.partitions.get(entry.partition, ANY)
        entry.limit = time_limit(job, partition, self.rules)
        if job.run is not None and job.run.pieces is not None and job.walltime == math.inf:
            entry.limit = job.run.pieces.limit(entry.limit)
        entry.expected = min(job.expected, entry.limit)

    def divided(self, job: SiteJob, run: JobRun) -> None:
        """A job was prepared, and runs in pieces: that takes longer."""
        job.id, job.job, job.run = run.id, run.job, run
        job.walltime = math.inf if run.job.walltime is None else run.job.walltime
        self._expect(job)
        for entry in job.entries:
            self._limit(entry, job)

    def _add_entry(
        self, job: SiteJob, name: str, partition: Partition, promised: PromisedHosts | None = None
    ) -> str | None:
        request, size = job.request, job.size
        whole = job.is_whole or partition.exclusive
        hosts = None if promised is None else promised.hosts
        found = self._places(request, size, name, whole, hosts)
        if isinstance(found, str):
            return found
        eligible, amount = found
        most, scope = self._usage.most_cores(job)
        if whole and most < math.inf:
            within = self._chooser.within(eligible, size, request, self._site.pool.capacity, most)
            if within is None:
                return f"it asks for {size} whole hosts, which have more cores than the {most:g} that {scope} can have"
            eligible = frozenset(within)
        kind = self._queue.kind(amount, eligible if promised is None else promised.numbered(eligible))
        entry = SiteEntry(job, name, partition.tier, kind, self.next_number(), promised)
        entry.cores = self._cores_of(kind, size, amount)[1]
        self._expect(job)
        self._limit(entry, job)
        job.entries.append(entry)
        return None

    def _places(
        self, request: Request, size: int, name: str, whole: bool, among: frozenset[int] | None
    ) -> str | tuple[frozenset[int], Amount]:
        """The hosts of a partition that a job can have, and what it takes of each; or why there are none.

        If `among` is given, it can only have those. Jobs that are alike ask once.
        """
        names = request.nodelist, request.exclude
        key = needs_of(request, size), request.constraint, request.contiguous, names, size, name, whole, among
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._find(request, size, name, whole, among)
        return found

    def _find(
        self, request: Request, size: int, name: str, whole: bool, among: frozenset[int] | None
    ) -> str | tuple[frozenset[int], Amount]:
        machine, pool = self._site.machine, self._site.pool
        eligible = machine.eligible(anywhere(request), size) & self._site.hosts_of(name)
        if among is not None:
            eligible &= among
        refusal = machine.refusal(anywhere(request), size)
        if refusal is not None:
            return refusal
        if len(eligible) < size:
            return f"it asks for {size} hosts of partition {name}, and {len(eligible)} of them have what it asks for"
        if self._chooser.choose(sorted(eligible), size, request, pool.capacity) is None:
            return f"no {size} hosts{f' of partition {name}' if name else ''} have together what it asks for"
        return eligible, pool.amount(needs_of(request, size), whole)

    def _cores_of(self, kind: JobKind, size: int, amount: Amount) -> tuple[int, int]:
        """The least and the most cores that a job of a kind takes; jobs that are alike ask once."""
        key = kind, size, amount
        found = self._cores.get(key)
        if found is None:
            if len(self._cores) >= _MOST_KNOWN:
                self._cores.clear()
            found = self._cores[key] = self._site.pool.cores_of(kind.hosts, size, amount)
        return found
