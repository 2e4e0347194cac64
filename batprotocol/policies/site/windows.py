"""Windows that are known in advance: hosts are closed for a time, or promised to the jobs of a reservation.

In the timeline, windows are taken from the hosts, so that all plans avoid them; the promised hosts of reservations are
free just then.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import msgspec

from batprotocol.policies.availability import reduced
from batprotocol.policies.jobs import PromisedHosts, SiteEntry, SiteJob
from batprotocol.policies.site.admission import Admission
from batprotocol.policies.site.futures import HostTimeline
from batprotocol.policies.site.plan import AmountPlanner
from batprotocol.policies.site.reservations import NEVER
from batprotocol.policies.site.state import SiteState
from batprotocol.workloads.host_events import Window


class WindowChange(NamedTuple):
    """A window begins or ends.

    Attributes:
        window: the window.
        promised: the promised hosts of a reservation; None if the window is closed to all jobs.
        begins: whether it begins.
    """

    window: Window
    promised: PromisedHosts | None
    begins: bool


class Windows:
    """The windows that are known and not over.

    Args:
        site: the state of the site.
        planner: the plan that has reservations of single jobs.
        admission: finds where a job can run.
        risk: whether jobs start although a window would meet them.

    Attributes:
        may_come: whether more windows may be announced.
    """

    def __init__(self, site: SiteState, planner: AmountPlanner, admission: Admission, *, risk: bool) -> None:
        self._state, self._queue, self._timeline, self._pool = site.state, site.queue, site.timeline, site.pool
        self._chooser, self._planner, self._admission = site.chooser, planner, admission
        self._promises, self._unavailable, self._running, self._risk = (
            site.promises,
            site.unavailable,
            site.running,
            risk,
        )
        self.may_come = True
        self._due: list[tuple[float, bool, int, Window]] = []  # ends come before begins
        self._count = 0
        self._active: set[int] = set()  # the hosts in a window
        self._closed: Counter[str] = Counter()  # the names of the closed windows that are not over
        self._seen: set[str] = set()
        self._endless: set[int] = set()  # the hosts in windows without an end in sight
        self._is_flexible = False  # whether a job waits that lasts as long as its window does

    # What happens

    def announce(self, window: Window) -> PromisedHosts | None:
        """A window is known from now on; its promised hosts, if jobs can enter them from now on."""
        state = self._state
        begin, end = max(state.rounded(window.begin), state.now), state.rounded(window.end)
        self._seen.add(window.name)
        if end <= begin:
            return None
        window = msgspec.structs.replace(window, begin=begin, end=end)
        hosts = sorted(window.hosts)
        if self._planner.bare is None:
            self._planner.bare = HostTimeline(self._pool.capacity, state.now)
        if not self._risk:
            self._take(hosts, begin, end)
        insort(self._planner.ends, end)
        if end >= NEVER:
            self._endless.update(hosts)
        for is_begin in (False, True):
            self._count += 1
            heappush(self._due, (begin if is_begin else end, is_begin, self._count, window))
        if window.is_closed:
            self._closed[window.name] += 1
            return None
        promised, is_new = self._promises.of(window)
        if is_new:
            self._open(promised)
        insort(promised.windows, window, key=lambda each: each.begin)
        for timeline in (self._timeline, self._bare):
            timeline.give_back(promised.members, begin, end, self._pool.whole)
        self._planner.freed(promised.members)
        return promised if is_new else None

    @property
    def _bare(self) -> HostTimeline:
        assert self._planner.bare is not None
        return self._planner.bare

    def _take(self, hosts: list[int], begin: float, end: float) -> None:
        for timeline in (self._timeline, self._bare):
            timeline.take(hosts, begin, end, self._pool.whole)
        self._planner.closed(set(hosts), self._state.now)

    def _open(self, promised: PromisedHosts) -> None:
        """The promised hosts of a reservation have numbers of their own from now on. Nothing is free there."""
        pool, now, timeline = self._pool, self._state.now, self._timeline
        for number, host in zip(promised.members, promised.own(promised.members), strict=True):
            pool.capacity[number] = pool.capacity[host]
            pool.free[number] = pool.free[host] if host in self._active else reduced(pool.free[host], pool.whole)
            self._chooser.offers[number] = self._chooser.offers[host]
            for each in (timeline, self._bare):
                each.open(number, [now], [reduced(pool.capacity[host], pool.whole)])
        self._queue.opened(promised.members)
        timeline.take(promised.numbered(promised.hosts & self._unavailable.hosts), now, math.inf, pool.whole)
        for job in self._running.values():
            timeline.take(
                promised.numbered(promised.hosts.intersection(job.members)), now, job.end, job.entry.kind.amount
            )

    def wakes_at(self) -> float:
        """When the next window begins or ends; infinity: never."""
        return self._due[0][0] if self._due else math.inf

    def turns(self) -> Iterator[WindowChange]:
        """The windows that have begun or ended until now. The hosts of each are closed or free when it is yielded."""
        while self._due and self._due[0][0] <= self._state.now:
            _, is_begin, _, window = heappop(self._due)
            promised = None if window.is_closed else self._promises.of(window)[0]
            self._turn(window, promised, is_begin)
            yield WindowChange(window, promised, is_begin)

    def _turn(self, window: Window, promised: PromisedHosts | None, is_begin: bool) -> None:
        hosts, pool, whole = sorted(window.hosts), self._pool, self._pool.whole
        leave, come = (pool.take, pool.give_back) if is_begin else (pool.give_back, pool.take)
        leave(hosts, whole)
        self._queue.changed(hosts)
        if promised is not None:
            come(promised.members, whole)
            self._queue.changed(promised.members)
        if is_begin:
            self._active.update(hosts)
            if self._risk and window.end > self._state.now:
                self._take(hosts, self._state.now, window.end)
            return
        self._active.difference_update(hosts)
        self._planner.freed(hosts)
        if promised is not None:
            promised.windows.remove(window)
        else:
            self._closed[window.name] -= 1

    def close(self, promised: PromisedHosts) -> None:
        """The windows of a reservation are over, and no entry is there any more."""
        self._promises.close(promised)
        for timeline in (self._timeline, self._bare):
            timeline.close(promised.members)
        for number in promised.members:
            del self._pool.capacity[number], self._pool.free[number], self._chooser.offers[number]

    # Jobs

    def enter(self, job: SiteJob, promises: Iterable[PromisedHosts] | None = None) -> list[SiteEntry]:
        """Add the entries of a job in the reservations that are for it.

        Args:
            job: the job.
            promises: the reservations; None: all that are known.

        Returns:
            The entries.
        """
        found = []
        request = job.request
        for promised in self._promises if promises is None else promises:
            if promised.name not in ("", request.reservation) or (
                request.reservation is not None and not promised.name
            ):
                continue
            if promised.allows(request.user, request.account):
                found += self._admission.enter(job, promised)
        self._is_flexible |= any(self._lasts_as_long(entry) for entry in found)
        return found

    def _lasts_as_long(self, entry: SiteEntry) -> bool:
        """Whether a job in a reservation is expected to last until its window is over."""
        return self._risk or math.isinf(min(entry.job.expected, entry.limit))

    def expect(self) -> None:
        """Before a plan: jobs that last as long as their windows do last less and less."""
        if not self._is_flexible:
            return
        self._is_flexible, now = False, self._state.now
        for job in self._queue.jobs.values():
            for entry in job.entries:
                if entry.promised is None or not self._lasts_as_long(entry):
                    continue
                self._is_flexible = True
                if entry.number not in self._planner.heads or entry.start <= now:
                    self._planner.dropped(entry)
                    entry.expected = min(entry.job.expected, entry.limit, entry.promised.rest(now))
        self._planner.expectations_changed()

    def refusal(self, job: SiteJob) -> str | None:
        """Why a held job can never run for all that is known of hosts, as the end of a sentence; None if it may.

        It keeps no entry with which it never can.
        """
        name, request = job.request.reservation, job.request
        for _, entries in self.hopeless((job,)):
            if len(entries) == len(job.entries):
                return self.why_hopeless(job)
            job.entries = [entry for entry in job.entries if entry not in entries]
        if name is None:
            return None if job.entries else self.why_hopeless(job)
        if job.entries:
            return None
        promises = [promised for promised in self._promises if promised.name == name]
        allowed = [promised for promised in promises if promised.allows(request.user, request.account)]
        if allowed:
            return f"it asks for {job.size} hosts, and the reservation {name!r} does not have them"
        if promises:
            whose = f"user {request.user} and account {request.account}"
            return f"the reservation {name!r} is for {promises[0].whose}, and it is of {whose}"
        if self._closed[name] > 0:
            return f"the window {name!r} is closed to all jobs"
        if self.may_come:
            return None
        if name in self._seen:
            return f"the windows of the reservation {name!r} are over"
        return f"it asks for the reservation {name!r}, and there is none of that name"

    def hopeless(self, jobs: Iterable[SiteJob]) -> list[tuple[SiteJob, list[SiteEntry]]]:
        """The entries of these jobs for which enough hosts will never be free, by jobs that have some.

        Under a cap, entries that have hope only if they run slower do that from now on.
        """
        if self.may_come or not (self._endless or self._unavailable.hosts):
            return []
        gone = self._endless | self._unavailable.hosts
        known: dict[tuple[object, ...], bool] = {}
        found = ((job, [each for each in job.entries if not self._has_hope(each, gone, known)]) for job in jobs)
        return [(job, entries) for job, entries in found if entries]

    @staticmethod
    def why_hopeless(job: SiteJob) -> str:
        """The reason to reject a job all of whose entries are hopeless."""
        return f"it asks for {job.size} hosts, and of those that it can have, too few will ever be free again"

    def _has_hope(self, entry: SiteEntry, gone: set[int], known: dict[tuple[object, ...], bool]) -> bool:
        while not self._can_start(entry, gone, known):
            if not self._planner.slow_down(entry):
                return False
        return True

    def _can_start(self, entry: SiteEntry, gone: set[int], known: dict[tuple[object, ...], bool]) -> bool:
        """Whether an entry can start some time, at the pace that it has."""
        kind, seconds = entry.kind, max(entry.expected - self._state.resolution / 2, 0.0)
        if entry.promised is not None and self._lasts_as_long(entry):
            seconds = self._state.resolution
        key = entry.choice, seconds, entry.limit, entry.pace
        if key not in known:
            known[key] = entry.promised is None and (
                (kind.hosts.isdisjoint(gone) and kind.hosts == self._pool.hosts)
                or self._planner.possible(entry, sorted(kind.hosts - gone), self._state.now) is not None
            )
            if not known[key] and self._planner.bare is not None:
                up = kind.hosts.difference(self._promises.everywhere(self._unavailable.hosts))
                known[key] = self._earliest(entry, up, seconds) < NEVER
        return known[key]

    def _earliest(self, entry: SiteEntry, hosts: Iterable[int], seconds: float) -> float:
        choose = partial(self._planner.possible, entry)
        return self._bare.earliest(hosts, entry.job.size, entry.kind.amount, seconds, self._state.now, choose)[0]
