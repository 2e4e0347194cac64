"""Reservations of nodes and licences: what is promised to some users for a time, and what that leaves to others.

`PlannedNodes` has what backfill sets aside for waiting jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import and_
from typing import TYPE_CHECKING, NamedTuple, cast

from batprotocol.errors import InputError, hint, shown
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.availability import Steps
from batprotocol.policies.slurm.cluster import FOREVER, members
from batprotocol.policies.slurm.queue import JobStage, RankedEntry, SlurmEntry, SlurmJob
from batprotocol.workloads.host_events import Window
from batprotocol.workloads.host_events.events import UserId

if TYPE_CHECKING:
    from batprotocol.policies._plan import Plan
    from batprotocol.policies.slurm.selection import NodeReleases

__all__ = [
    "KeptLook",
    "KeptPlans",
    "LicenseReservation",
    "Licenses",
    "NodeReservation",
    "NodeReservations",
    "PlannedNodes",
    "PlannedStart",
    "Usable",
]


class NodeReservation(Window, frozen=True, kw_only=True):
    """A reservation of nodes: a window with a name, whose hosts are the nodes.

    With the flag FLEX, its jobs may begin before it, end after it, and have other nodes as well. With ANY_NODES, they
    may have other nodes. OVERLAP and MAINT let its nodes be in other reservations, too. A MAGNETIC one attracts jobs of
    its users that name none.

    Args:
        nodes: the set of its nodes: the same as `hosts`.

    >>> NodeReservation.of("r", 0b101, 0.0, 60.0, users=("ada",)).hosts.text
    '0 2'
    """

    nodes: int

    @classmethod
    def of(
        cls,
        name: str,
        nodes: int,
        begin: float,
        end: float,
        users: tuple[UserId, ...] = (),
        accounts: tuple[str, ...] = (),
        flags: frozenset[str] = frozenset(),
    ) -> NodeReservation:
        """The reservation of some nodes.

        Args:
            name: its name.
            nodes: the set of its nodes.
            begin, end: its times, in seconds.
            users, accounts: those whose jobs may use it.
            flags: Slurm's flags, in capital letters.
        """
        return cls(frozen_hosts(members(nodes)), begin, end, name, users, accounts, flags, nodes=nodes)

    @property
    def is_flexible(self) -> bool:
        """Whether its jobs are bound neither to its times nor to its nodes."""
        return "FLEX" in self.flags

    @property
    def takes_others(self) -> bool:
        """Whether its jobs may have other nodes as well. A reservation of licences alone has no nodes."""
        return self.is_flexible or "ANY_NODES" in self.flags or not self.nodes

    @property
    def is_magnetic(self) -> bool:
        """Whether it attracts jobs of its users."""
        return "MAGNETIC" in self.flags

    def serves(self, job: SlurmJob, account: str) -> bool:
        """Whether a job of an account may use it."""
        return _permits(self.users, job.user) and _permits(self.accounts, account)

    def minds(self, other: NodeReservation) -> bool:
        """Whether its jobs leave the nodes of another reservation alone."""
        if other is self or self.is_maintenance:
            return False
        return "OVERLAP" not in self.flags or other.is_maintenance


class Usable(NamedTuple):
    """The nodes that reservations leave to a job that starts at a time.

    Attributes:
        nodes: the nodes that it can have then.
        is_less: whether a reservation keeps nodes from it.
    """

    nodes: int
    is_less: bool


def _permits(names: tuple[UserId, ...], name: str) -> bool:
    """Whether a list of users or accounts has a name, or, with a `-` before its names, has it not.

    >>> _permits(("ada", "bob"), "bob"), _permits(("-ada",), "ada"), _permits((), "eve")
    (True, False, True)
    """
    texts = [str(each) for each in names]
    denied = {each[1:] for each in texts if each.startswith("-")}
    return name not in denied if denied else not texts or name in texts


class NodeReservations:
    """The reservations that are known.

    Args:
        resolution: seconds to which backfill rounds the ends.
        epoch: the seconds of the day at which the simulation began, as ends are rounded on the clock.
        is_linear: whether all jobs have whole nodes.
    """

    def __init__(self, resolution: int, epoch: int, *, is_linear: bool = False) -> None:
        self._known: dict[str, NodeReservation] = {}
        self._is_linear = is_linear
        self._resolution, self._epoch = resolution, epoch
        self._seen: set[str] = set()

    def add(self, reservation: NodeReservation) -> None:
        """A reservation is made; one of the same name is replaced."""
        self._seen.discard(reservation.name)
        self._known[reservation.name] = reservation

    def remove(self, name: str) -> NodeReservation | None:
        """A reservation is over or deleted."""
        return self._known.pop(name, None)

    def get(self, name: str) -> NodeReservation | None:
        """The reservation of this name."""
        return self._known.get(name)

    def refusal(self, job: SlurmJob, account: str) -> str:
        """Slurm's reason for which it refuses a job that names a reservation; "" if there is none.

        Args:
            job: the job.
            account: its account.
        """
        own = self._known.get(job.reservation)
        if own is None:
            near = hint(job.reservation, self._known)
            return f"Requested reservation is invalid: there is no {shown(job.reservation)}{near}"
        if own.serves(job, account):
            return ""
        return f"Access denied to requested reservation {shown(own.name)}"

    def magnets(self, second: int) -> list[NodeReservation]:
        """The magnetic reservations that last."""
        return [each for each in self._known.values() if each.is_magnetic and each.begin <= second < each.end]

    def attempts(
        self, entries: list[RankedEntry], second: int, account_of: Callable[[SlurmJob], str]
    ) -> Iterator[SlurmEntry]:
        """The attempts of a loop to start the jobs of its queue.

        Jobs that may use a magnetic reservation which lasts are tried there first, in the order of the jobs that name
        theirs. If they do not start, they name none again, and are tried as others are.

        Args:
            entries: the entries of the queue, in their order.
            second: the time in whole seconds.
            account_of: the account of a job.
        """
        magnets = self.magnets(second)
        if not magnets:
            yield from (entry for _, _, entry in entries)
            return
        found = [((not entry.job.reservation, *key[1:]), number, entry, "") for key, number, entry in entries]
        for key, number, entry in entries:
            job = entry.job
            names = (each.name for each in magnets if not job.reservation and each.serves(job, account_of(job)))
            found += [((False, *key[1:]), number, entry, name) for name in names]
        for _, _, entry, name in sorted(found, key=lambda each: each[:2]):
            job = entry.job
            if not name or job.stage is not JobStage.PENDING or job.reservation:
                yield entry
                continue
            job.reservation = name
            try:
                if not self.never_fits(job, second):
                    yield entry
            finally:
                if job.stage is JobStage.PENDING:
                    job.reservation = ""

    def names(self) -> list[str]:
        """The names of those that are known."""
        return list(self._known)

    def next_end(self) -> float:
        """When the next one ends; infinity: there is none."""
        return min((each.end for each in self._known.values()), default=math.inf) if self._known else math.inf

    def next_seen(self, now: float) -> float:
        """When one that has begun, or begins, is seen next: at once, or when the next one begins."""
        if not self._known:
            return math.inf
        return min((max(each.begin, now) for each in self._known.values() if each.end > now), default=math.inf)

    def see(self, second: int) -> bool:
        """See those that have begun by a second; returns whether one of them was not seen before."""
        begun = {each.name for each in self._known.values() if each.begin <= second < each.end}
        is_new = not begun <= self._seen
        self._seen |= begun
        return is_new

    def after_required(self, job: SlurmJob, begin: int, minutes: float) -> int:
        """When a job with whole nodes may start at the earliest that requires nodes which are reserved for others."""
        if not (job.required and self._known and (self._is_linear or job.is_exclusive)):
            return begin
        others = [each for each in self._known.values() if each.name != job.reservation and each.nodes & job.required]
        length = 60 * min(minutes, FOREVER)
        while ends := [each.end for each in others if each.begin < begin + length and begin < each.end < math.inf]:
            begin = math.ceil(max(ends))
        return begin

    def begins_later(self, job: SlurmJob, second: int) -> float:
        """When the reservation of a job begins, if the job has to wait for that; -infinity: it need not."""
        own = self._known.get(job.reservation) if job.reservation else None
        return own.begin if own is not None and own.begin > second and not own.is_flexible else -math.inf

    def over(self, now: float) -> list[NodeReservation]:
        """Those that have ended."""
        return [each for each in self._known.values() if each.end <= now]

    def usable(self, job: SlurmJob, when: int, minutes: float) -> Usable | None:
        """The nodes that reservations leave to a job that would start at a time.

        Args:
            job: the job.
            when: the time.
            minutes: its limit.

        Returns:
            None if it cannot start then.
        """
        if not self._known and not job.reservation:
            return Usable(-1, False)
        if job.reservation:
            own = self._known.get(job.reservation)
            if own is None or own.end <= when:
                return None
            if own.is_flexible:
                return self._beside(when, minutes, -1, own)
            if own.begin > when:
                return None
            nodes = -1 if own.takes_others else own.nodes
            return self._beside(when, minutes, nodes, own)
        return self._beside(when, minutes, -1, None)

    def _beside(self, when: int, minutes: float, nodes: int, own: NodeReservation | None) -> Usable:
        """The nodes that other reservations leave of some."""
        end, is_less = when + 60 * min(minutes, FOREVER), False
        for each in self._known.values():
            if each.begin < end and each.end > when and each.nodes & nodes and (own is None or own.minds(each)):
                nodes &= ~each.nodes
                is_less = True
        return Usable(nodes, is_less)

    def limit_of(self, job: SlurmJob, over: float) -> float:
        """When the limit of a running job is over: that of its reservation counts, too."""
        own = self._known.get(job.reservation) if job.reservation else None
        return over if own is None or own.is_flexible else min(over, own.end)

    def never_fits(self, job: SlurmJob, second: int) -> bool:
        """Whether the reservation of a job has begun, and lacks nodes that the job requires, or has too few."""
        own = self._known.get(job.reservation) if job.reservation else None
        if own is None or own.takes_others or not own.begin <= second < own.end:
            return False
        if job.required & ~own.nodes:
            return True
        return max((own.nodes & each.nodes & job.allowed).bit_count() for each in job.partitions) < job.min_nodes

    def is_larger(self, job: SlurmJob) -> bool:
        """Whether a job needs more nodes than its reservation has, and may have others: the second loop starts it."""
        own = self._known.get(job.reservation) if job.reservation else None
        return own is not None and own.takes_others and 0 < own.nodes.bit_count() < job.min_nodes

    def end_after(self, when: int) -> int:
        """The first end of a reservation that is not before a time, rounded up; 0 if there is none."""
        ends = [each.end for each in self._known.values() if each.end >= when]
        if not ends:
            return 0
        size = self._resolution
        return math.ceil((min(ends) + self._epoch) / size) * size - self._epoch


# Licences


_NEVER = 2**53
"""A second that never comes."""
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

    >>> from batprotocol.policies.slurm.queue import SlurmJob
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
        self._holders: dict[SlurmJob, None] = {}

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

    def has_reservation(self, name: str) -> bool:
        """Whether there is a reservation of licences of this name."""
        return name in self._reserved

    def reserved_by(self, name: str) -> Mapping[str, int]:
        """The licences that the reservation of this name has; empty if there is none."""
        found = self._reserved.get(name)
        return {} if found is None else found.licenses

    def unreserve(self, name: str) -> None:
        """A reservation is deleted, if there is one of this name."""
        self._reserved.pop(name, None)

    def take(self, job: SlurmJob) -> None:
        """A job starts."""
        if job.licenses:
            self._holders[job] = None
        for name, count in job.licenses:
            self._taken[name] += count

    def give_back(self, job: SlurmJob) -> None:
        """A job ends."""
        self._holders.pop(job, None)
        for name, count in job.licenses:
            self._taken[name] -= count

    def planned(self, now: int) -> PlannedLicenses:
        """The licences over time, as far as running jobs and reservations have them."""
        made = PlannedLicenses(self._total)
        for job in self._holders:
            made.plan(job.licenses, now, max(job.end, now + 1))
        for each in self._reserved.values():
            made.plan(tuple(each.licenses.items()), each.begin, each.end, each.name)
        return made


class PlannedLicenses:
    """The licences that jobs have, or are planned to have, over time.

    Args:
        total: how many there are of each, by name.

    >>> from batprotocol.policies.slurm.queue import SlurmJob
    >>> plan, job = PlannedLicenses({"matlab": 3}), SlurmJob("w0!1", 1, 0.0, (), 10)
    >>> plan.plan((("matlab", 2),), 0, 60)
    >>> plan.plan((("matlab", 3),), 100, 160)
    >>> job.licenses = (("matlab", 2),)
    >>> plan.first(job, 0, 40), plan.first(job, 0, 41)
    (60, 160)
    """

    def __init__(self, total: Mapping[str, int]) -> None:
        self._total = total
        self._uses: dict[str, list[tuple[float, float, int, str]]] = {}

    def plan(self, licenses: Iterable[tuple[str, int]], begin: float, end: float, reservation: str = "") -> None:
        """Some are used from one time to another, by a job or a reservation."""
        for name, count in licenses:
            self._uses.setdefault(name, []).append((begin, end, count, reservation))

    def first(self, job: SlurmJob, begin: int, length: int) -> int:
        """The first second from `begin` on at which there are those of a job for so long; a very late one: never."""
        ends = {
            math.ceil(end) for name, _ in job.licenses for _, end, _, _ in self._uses.get(name, ()) if end < math.inf
        }
        times = [begin, *sorted(end for end in ends if end > begin)]
        return next((time for time in times if self._has(job, time, time + length)), _NEVER)

    def _has(self, job: SlurmJob, begin: int, end: int) -> bool:
        """Whether there are those of a job from one time to another."""
        for name, wanted in job.licenses:
            uses = [use for use in self._uses.get(name, ()) if use[0] < end and use[1] > begin]
            uses = [use for use in uses if not use[3] or use[3] != job.reservation]
            for moment in {begin, *(start for start, *_ in uses if start > begin)}:
                used = sum(count for start, over, count, _ in uses if start <= moment < over)
                if used + wanted > self._total.get(name, 0):
                    return False
        return True


# What backfill plans for jobs


class PlannedNodes(Steps[int]):
    """The sets of nodes that are not planned for other jobs, from time to time.

    Args:
        begin: the first second.
        end: the last one.
        nodes: the nodes.
        resolution: a reservation lasts so many seconds at least.

    Attributes:
        end: the end of the last part.
    """

    __slots__ = ("_resolution", "end")

    def __init__(self, begin: int, end: int, nodes: int, resolution: int) -> None:
        super().__init__(begin, nodes)
        self.end, self._resolution = end, resolution

    def __len__(self) -> int:
        return len(self.times)

    @property
    def begins(self) -> list[int]:
        """The begin of each part: Slurm's times are whole seconds."""
        return cast("list[int]", self.times)

    def reserve(self, start: int, end: int, nodes: int) -> None:
        """Plan nodes for a job.

        Args:
            start: the begin of the first part that it needs.
            end: the end of the last one.
            nodes: the nodes.
        """
        end = max(end, start + self._resolution)
        start = max(start, self.begins[0])
        if start < self.end:
            self.change(start, end if end < self.end else math.inf, ~nodes, and_)

    def place_of(self, time: int) -> int:
        """The part at a time, or the first one after it."""
        return max(bisect_right(self.times, time) - 1, 0)

    def second_begin(self) -> float:
        """When the second part begins; infinity: there is only one."""
        return self.times[1] if len(self.times) > 1 else math.inf

    def begin_after(self, time: int) -> float:
        """When the first part after a time begins; infinity: there is none."""
        place = bisect_right(self.times, time)
        return self.times[place] if place < len(self.times) else math.inf

    def overlaps(self, start: int, end: int, nodes: int) -> bool:
        """Whether some of the nodes are planned for others, between two times."""
        begins, parts, count = self.begins, self.values, len(self.times)
        for place in range(self.place_of(start), count):
            if begins[place] >= end:
                break
            if (begins[place + 1] if place + 1 < count else self.end) > start and nodes & ~parts[place]:
                return True
        return False

    def free_until(self, end: int, nodes: int, count: int) -> bool:
        """Whether at least so many of the nodes are free from the begin on, until a time."""
        for begin, part in zip(self.times, self.values, strict=True):
            if begin > end:
                break
            nodes &= part
            if nodes.bit_count() < count:
                return False
        return nodes.bit_count() >= count

    def usable(self, start: int, end: int, nodes: int) -> tuple[int, int]:
        """The nodes that are free for a job all the time.

        Args:
            start: when it would start.
            end: when its limit would end.
            nodes: the nodes that it can have otherwise.

        Returns:
            The nodes, and the next time at which others are free; 0 if there is none.
        """
        begins, parts = self.begins, self.values
        last, later, usable = len(begins) - 1, 0, nodes
        for place in range(self.place_of(start), last + 1):
            if begins[place] > end and later:
                break
            part = parts[place]
            if place < last and not later and begins[place + 1] > start:
                following = nodes & parts[place + 1]
                if following & ~(usable & part):
                    later = begins[place + 1]
            if begins[place] > end:
                break
            usable &= part
        return usable, later

    def next_room(self, start: int, length: int, nodes: int, count: int, frees: NodeReleases) -> int:
        """The first time, from one on, at which a job may start before others are free for it.

        This is a short cut. At the times that it passes over, `usable` has fewer nodes than the job needs, or they are
        not free before the next time that `usable` names.

        Args:
            start: the first time.
            length: the time for which the job needs its nodes.
            nodes: the nodes that it can have otherwise.
            count: how many it needs.
            frees: when nodes are free of running jobs.
        """
        begins, parts, (ends, free) = self.begins, self.values, frees
        last, first = len(begins) - 1, self.place_of(start)
        while True:
            room, place, end = nodes & parts[first], first, start + length
            while place < last and begins[place] <= end:
                following = nodes & parts[place + 1]
                if following & ~room:
                    break
                room, place = following, place + 1
            if place == last or begins[place] > end:
                return start
            first = place + 1
            later = begins[first]
            room &= free[bisect_left(ends, later + 1)]
            if room.bit_count() >= count:
                for part in parts[first : bisect_right(begins, end)]:
                    room &= part
                if room.bit_count() >= count:
                    return start
            start = later


class PlannedStart(NamedTuple):
    """The plan of a job.

    Attributes:
        start: when it starts.
        first, last: from when to when its nodes are set aside, in steps of bf_resolution.
        nodes: its nodes.
        is_limited: whether a limit keeps it waiting (assoc_limit_stop).
    """

    start: int
    first: int
    last: int
    nodes: int
    is_limited: bool = False


# Plans that live from one run of backfill to the next


class KeptLook(NamedTuple):
    """What the search for the plan of a job has found.

    Attributes:
        plan: its plan; None: it has none.
        until: the last second at which a run at which it has this plan does the same.
        same: the last second at which the search finds the same with the same `until`, which counts, too.
        has_moved: whether its start was moved behind the plan of another one.
    """

    plan: PlannedStart | None
    until: float
    same: float
    has_moved: bool


class _Kept(NamedTuple):
    """A look that is kept with its entry, and what it stands on."""

    look: KeptLook
    footing: int
    serial: int
    terms: tuple[object, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]


class _Made(NamedTuple):
    """A plan in the order in which a run has made it.

    Attributes:
        first, last, nodes: as it was made.
        at: the second of that run.
        is_open: whether it lasts to the end of the window.
        serial: a number that no other one has.
    """

    first: int
    last: int
    nodes: int
    at: int
    is_open: bool
    serial: int


class KeptPlans:
    """The plans of the last run of backfill, and what its searches have found.

    A run plans jobs in order. The plan that a search finds for a job follows from the plans before it, from the
    footing of the run, from what the job asks for, and from the second. So it is found without a search if

    - the run has made the same plans so far, in the same order, whatever other jobs it has looked at. A plan is the
      same at a later second if that cuts nothing off from it, and if it ends on the same side of the window's end;
    - the footing is the same: the running jobs with their nodes and ends, none of which is over, the states of nodes,
      limits and partitions, and no reservation;
    - the job asks for the same, and the weights of nodes that looks at jobs with GPUs leave behind are the same;
    - the second is not after the last one at which the search finds the same (`KeptLook`).

    If a job starts in a run, what this run has found before does not count any more.

    Args:
        footing: tells the footing of a run, as a value that changes with it; None: nothing may be kept.
        weights: tells the weights of nodes that looks leave behind.
        leave: leaves such weights behind.
    """

    def __init__(
        self,
        footing: Callable[[], tuple[object, ...] | None],
        weights: Callable[[], tuple[int, ...]],
        leave: Callable[[tuple[int, ...]], None],
    ) -> None:
        self._tell, self._weights, self._leave = footing, weights, leave
        self._footing: tuple[object, ...] | None = None
        self._space: tuple[int, ...] = ()
        self._made: list[_Made] = []
        self._now = self._end = self._resolution = 0
        self._count = self._serial = 0  # of the plans that this run has made so far, and of the last of them
        self._serials = self._number = 0  # the last ones that were given
        self._left: tuple[int, ...] = ()
        self.native: Plan | None = None
        """The same in C, which has plans of its own; None: not yet."""

    def begin(self, now: int, end: int, nodes: int, resolution: int) -> None:
        """A run begins.

        Args:
            now: its second.
            end: the end of its window.
            nodes: the nodes that it plans.
            resolution: the seconds in which it plans.
        """
        space = nodes, resolution, end - now
        if space != self._space:
            self._space = space
            self._made.clear()
        self._now, self._end, self._resolution, self._count, self._serial = now, end, resolution, 0, 0
        self.renew()

    def renew(self) -> int:
        """Something may have changed what the run stands on. Returns the number of the footing; 0: nothing is kept."""
        footing = self._tell()
        if footing is None or footing != self._footing:
            self._footing = footing
            self._number += 1
        self._left = self._weights()
        return 0 if footing is None else self._number

    def find(self, entry: SlurmEntry, terms: tuple[object, ...]) -> KeptLook | None:
        """The look at an entry that an earlier run has kept; None: there is none that is still valid."""
        kept = entry.row
        if not isinstance(kept, _Kept) or (kept.footing, kept.serial) != (self._number, self._serial):
            return None
        look = kept.look
        if self._footing is None or self._now > min(look.until, look.same) or kept.terms != terms:
            return None
        if kept.before is not self._left and kept.before != self._left:
            return None
        if kept.after is not kept.before:
            self._left = kept.after
            self._leave(kept.after)
        return look

    def note(self, entry: SlurmEntry, terms: tuple[object, ...], look: KeptLook | None) -> None:
        """A search has been made; None: what it has found is not kept."""
        before, after = self._left, self._weights()
        self._left = before if before == after else after
        entry.row = None if look is None else _Kept(look, self._number, self._serial, terms, before, self._left)

    def plan(self, plan: PlannedStart) -> None:
        """A plan is made."""
        first, last, nodes = plan.first, max(plan.last, plan.first + self._resolution), plan.nodes
        if first >= self._end:
            return
        is_open, known = last >= self._end, self._made[self._count] if self._count < len(self._made) else None
        is_same = known is not None and (first, last, nodes, is_open) == (
            *(known.first, known.last, known.nodes, known.is_open),
        )
        if known is None or not is_same or last <= self._now or known.at < first <= self._now:
            del self._made[self._count :]
            self._serials += 1
            known = _Made(first, last, nodes, self._now, is_open, self._serials)
            self._made.append(known)
        self._count, self._serial = self._count + 1, known.serial
