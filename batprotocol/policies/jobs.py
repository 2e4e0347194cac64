"""Jobs and the machine, as policies see them: the jobs that wait and run, and the entries of the queue of a site.

A job on a site is a waiting job with a request, and waits in an entry for each of its partitions. Where jobs ask for
whole hosts alone, the job itself waits: a workload can have a million of them, so they do without. Times are in
seconds, rounded to the policy's resolution.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappush
from itertools import islice
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
from sortedcontainers import SortedList

from batprotocol.model import FinalJobState, Job, Profile
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.policies.availability import Amount, Pool, fits, rounded
from batprotocol.policies.failures import Pieces
from batprotocol.workloads.host_events import Window
from batprotocol.workloads.host_events.events import UserId
from batprotocol.workloads.requests import Allocated, Dependencies, Request
from batprotocol.workloads.requests.notation import in_workload_of
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.requests.usage import rerun_id

__all__ = ["Ending", "RunningJob", "State", "WaitingJob", "natural_key", "user_of"]


_DIGITS = re.compile("([0-9]+)")

Ending: TypeAlias = "tuple[float, int, int, str]"
"""The expected end of a job, in seconds, with values that make it unique: see `RunningJob.ending`."""


class QueuedJob:
    """A job of a queue, as all planners know it.

    Attributes:
        id: its name, `w0!1`; it has another one when it runs again.
        number: its place among all jobs: of two that are equal otherwise, the one with the smaller number comes first.
        submitted: the time of its submission, in seconds.
    """

    __slots__ = ("id", "number", "submitted")

    def __init__(self, id: str, number: int, submitted: float) -> None:
        self.id, self.number, self.submitted = id, number, submitted


class WaitingJob(QueuedJob):
    """A job that waits.

    Attributes:
        job: its description in the `JobSubmittedEvent` of Batsim.
        number: the number of jobs that were submitted before it.
        size: the number of hosts that it requests, >= 1.
        walltime: the seconds after which Batsim kills it; infinity: never.
        expected: its expected run time in seconds: a prediction, or its walltime.
    """

    __slots__ = ("expected", "job", "size", "walltime")

    def __init__(self, id: str, job: Job, number: int, submitted: float) -> None:
        super().__init__(id, number, submitted)
        self.job = job
        self.size = job.resource_request
        self.walltime = math.inf if job.walltime is None else job.walltime
        self.expected = self.walltime

    @property
    def user(self) -> str | int | None:
        """The user who submitted it: `user` of its extra data if they are a JSON object (as for logs), else None."""
        return user_of(self.job)

    def __repr__(self) -> str:
        return f"<{self.id}: {self.size} hosts for {self.walltime:g} s, submitted at {self.submitted:g}>"


class RunningJob:
    """A job that was started and has not ended.

    Attributes:
        waited: the same job before its start.
        hosts: its hosts.
        started: the time of its start.
        place: the number of jobs that were started before it.
        end: its expected end.
    """

    __slots__ = ("end", "hosts", "place", "started", "waited")

    def __init__(self, waited: WaitingJob, hosts: FrozenHosts, started: float, place: int = 0) -> None:
        self.waited = waited
        self.hosts = hosts
        self.started = started
        self.place = place
        self.end = started + waited.expected

    @property
    def size(self) -> int:
        """The number of its hosts."""
        return self.hosts.size

    @property
    def ending(self) -> Ending:
        """Its expected end, its number, the number of hosts that become free then, and its id."""
        return self.end, self.waited.number, self.hosts.size, self.waited.id


class State:
    """The machine and its running jobs.

    Attributes:
        now: the time, in seconds.
        size: the number of hosts. Where jobs share hosts, each host counts once for each job that it can take.
        free: the hosts that a job can have. Some may be asleep.
        vacant: the number of free hosts. Each counts once for each job that it can still take.
        room: the number of hosts that a job can have now: all free ones, unless a job needs hosts in a row.
        running: the running jobs, by id.
        endings: the `ending` of each running job, sorted.
        resolution: times that differ by less count as equal, in seconds; 0: only equal times do.
    """

    def __init__(self, hosts: Hosts | None = None, resolution: float = 0.0) -> None:
        self.now = 0.0
        self.free = Hosts() if hosts is None else hosts
        self.size = len(self.free)
        self.room = self.vacant = self.size
        self.running: dict[str, RunningJob] = {}
        self.endings: SortedList[Ending] = SortedList()
        self.resolution = resolution

    def rounded(self, time: float) -> float:
        """A time, rounded to the resolution."""
        return rounded(time, self.resolution)

    def move(self, job: RunningJob, end: float) -> None:
        """Change the expected end of a running job."""
        self.endings.remove(job.ending)
        job.end = end
        self.endings.add(job.ending)


def user_of(job: Job) -> str | int | None:
    """The user who submitted a job: `user` of its extra data if they are a JSON object with that key, else None.

    >>> user_of(Job(resource_request=1, profile_id="p", extra_data='{"user":12}'))
    12
    """
    if not job.extra_data:
        return None
    try:
        data: Any = msgspec.json.decode(job.extra_data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    user = data.get("user") if isinstance(data, dict) else None
    return user if isinstance(user, str | int) else None


def natural_key(text: str) -> list[tuple[int, int | str]]:
    """A key by which 9 comes before 10."""
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in _DIGITS.split(text)]


AnyJob = TypeVar("AnyJob", bound=QueuedJob)
AnyPartition = TypeVar("AnyPartition")


class QueueEntry(Generic[AnyJob, AnyPartition]):
    """A job in one of the partitions that it can run in. It waits in each of them until it starts in one.

    Attributes:
        job: the job.
        partition: the partition.
        tier: the tier of the partition: entries of a higher one come first.
        number: a number that no other entry of the queue has.
    """

    __slots__ = ("job", "number", "partition", "tier")

    def __init__(self, job: AnyJob, partition: AnyPartition, tier: int, number: int) -> None:
        self.job, self.partition, self.tier, self.number = job, partition, tier, number


AnyEntry = TypeVar("AnyEntry", bound="QueueEntry[Any, Any]")


class SortedEntries(Generic[AnyEntry]):
    """Entries in the order of keys that last: each is with its key and its number, by which no two are equal."""

    def __init__(self) -> None:
        self._sorted: SortedList[tuple[Any, int, AnyEntry]] = SortedList()
        self._keys: dict[int, tuple[Any, int, AnyEntry]] = {}

    def __iter__(self) -> Iterator[tuple[Any, int, AnyEntry]]:
        return iter(self._sorted)

    def add(self, entry: AnyEntry, key: Any) -> None:
        """Add an entry with its key."""
        ranked = self._keys[entry.number] = (key, entry.number, entry)
        self._sorted.add(ranked)

    def remove(self, entry: AnyEntry) -> None:
        """Remove an entry."""
        self._sorted.remove(self._keys.pop(entry.number))

    def sort(self, key: Callable[[AnyEntry], Any]) -> None:
        """Give all entries new keys."""
        self._keys = {number: (key(entry), number, entry) for number, (_, _, entry) in self._keys.items()}
        self._sorted = SortedList(self._keys.values())

    def in_order(self, now: float) -> Iterator[tuple[Any, int, AnyEntry]]:
        """The entries, in order. Those that are removed meanwhile may still come."""
        return following(self._sorted, None)

    def of(self, entries: Iterable[AnyEntry], now: float) -> Iterable[tuple[Any, int, AnyEntry]]:
        """Some of the entries with their keys, in any order."""
        return [self._keys[entry.number] for entry in entries]


_FEW: Final = 8


def following(
    entries: SortedList[tuple[Any, int, AnyEntry]], after: tuple[Any, int, AnyEntry] | None
) -> Iterator[tuple[Any, int, AnyEntry]]:
    """The entries in order, from which some may be removed meanwhile. Mostly, only the first ones are looked at.

    Args:
        entries: the entries.
        after: the entry behind which they begin; None: with the first one.
    """
    chunk = list(islice(entries if after is None else entries.irange(after, inclusive=(False, True)), _FEW))
    while chunk:
        yield from chunk
        chunk = list(islice(entries.irange(chunk[-1], inclusive=(False, True)), 8 * len(chunk)))


class DependentJobs(ABC, Generic[AnyJob]):
    """The jobs that wait for a time, or for other jobs.

    Attributes:
        jobs: those that wait, by their ids.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, AnyJob] = {}
        self._dependencies = Dependencies()
        self._times: list[tuple[float, int, str]] = []  # when to look at jobs again

    @abstractmethod
    def look(self, job_ids: Iterable[str]) -> None:
        """The dependencies of jobs may have changed.

        Args:
            job_ids: the ids under which they were submitted.
        """

    def note(self, time: float, job: AnyJob) -> None:
        """Look at a job again at a time."""
        heappush(self._times, (time, job.number, job.id))

    def submitted(self, job_id: str, request: Request, time: float) -> None:
        """A job is submitted: others can depend on it."""
        self.look(self._dependencies.submitted(job_id, request, time))

    def started(self, job_id: str, time: float) -> None:
        """A job has started."""
        self.look(self._dependencies.started(job_id, time))

    def ended(self, job_id: str, state: FinalJobState, time: float, why: str = "") -> None:
        """A job has ended, or was rejected, and does not run again.

        Args:
            job_id: the id under which it was submitted.
            state: how.
            time: when, in seconds.
            why: why it was rejected.
        """
        self.look(self._dependencies.ended(job_id, state, time, why))

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        self.look(self._dependencies.no_more())


# A job over all of its runs, and each of them.


class RunHistory:
    """A job over all of its runs.

    Args:
        first_id: its id when it was submitted.
        job: the job then.
        profile: its profile then, if it is known.

    Attributes:
        id: the id that it has now.
        runs: how often it has run again.
        failures: how often it has run again because of failures.
        kept: the seconds of its work that are kept by checkpoints.
    """

    __slots__ = ("failures", "first_id", "id", "job", "kept", "profile", "runs")

    def __init__(self, first_id: str, job: Job, profile: Profile | None = None) -> None:
        self.id = self.first_id = first_id
        self.job, self.profile = job, profile
        self.runs = self.failures = 0
        self.kept = 0.0

    def rename(self) -> str:
        """The job is registered once more: it gets the id of its current run. Returns it."""
        self.id = rerun_id(self.first_id, self.runs)
        return self.id


class JobRun(NamedTuple):
    """A run of a job that is registered.

    Attributes:
        id: its id.
        number: how often the job had run before.
        job: what it asks for.
        profiles: the profiles to register before it, with their ids.
        profile: its profile, if it is known; if it is divided, that of the whole job.
        pieces: the pieces of its work; None: it is not divided.
    """

    id: str
    number: int
    job: Job
    profiles: list[tuple[str, Profile]]
    profile: Profile | None
    pieces: Pieces | None = None


# The promised hosts of reservations: they have other numbers there, and a future of their own


class PromisedHosts:
    """A reservation: the windows with the same hosts, name, users and accounts.

    Args:
        window: one of them.
        number: its number, > 0: no other reservation has it at the same time.
        step: the distance between the numbers that a host has in two reservations.

    Attributes:
        place: a text that no partition and no other reservation has.
        hosts: the hosts, by their own numbers.
        members: the same, by their numbers in this reservation.
        windows: the windows that are known and not over, in the order of their begins.
    """

    __slots__ = ("_offset", "hosts", "members", "number", "place", "sample", "windows")

    def __init__(self, window: Window, number: int, step: int) -> None:
        self.sample, self.number, self._offset = window, number, number * step
        self.place = f"\0{number}"
        self.hosts = frozenset(window.hosts)
        self.members = self.numbered(self.hosts)
        self.windows: list[Window] = []

    @property
    def name(self) -> str:
        """The name of the reservation, or ""."""
        return self.sample.name

    @property
    def whose(self) -> str:
        """The users and accounts whose jobs may run in it, for people."""
        users, accounts = self.sample.users, self.sample.accounts
        named = [f"users {', '.join(map(str, users))}"] if users else []
        return " and ".join([*named, *([f"accounts {', '.join(accounts)}"] if accounts else [])])

    def rest(self, now: float) -> float:
        """How many seconds the window lasts from now on, or the next one, if none has begun.

        A window that begins when another one ends goes on with it.
        """
        begin, end = max(self.windows[0].begin, now), self.windows[0].end
        for window in self.windows[1:]:
            if window.begin > end:
                break
            end = window.end
        return end - begin

    def is_open(self, now: float) -> bool:
        """Whether a window has begun."""
        return bool(self.windows) and self.windows[0].begin <= now

    def allows(self, user: UserId | None, account: str | None) -> bool:
        """Whether a job of this user and account may run in it."""
        return self.sample.allows(user, account)

    def numbered(self, hosts: Iterable[int]) -> frozenset[int]:
        """The numbers of hosts in this reservation."""
        return frozenset(host + self._offset for host in hosts)

    def own(self, hosts: Iterable[int]) -> list[int]:
        """The own numbers of hosts that have numbers of this reservation."""
        return [host - self._offset for host in hosts]


class Promises:
    """The promised hosts of the windows that are known.

    Args:
        hosts: all hosts.
    """

    def __init__(self, hosts: Iterable[int]) -> None:
        self._step = max(hosts, default=0) + 2  # so that no hosts of two of them are neighbours
        self._promises: dict[tuple[object, ...], PromisedHosts] = {}
        self._numbers: dict[
            str, list[int]
        ] = {}  # those that promises with these hosts had: jobs are of known kinds there
        self._last = 0
        self._others: dict[int, list[int]] = {}

    def __iter__(self) -> Iterator[PromisedHosts]:
        return iter(self._promises.values())

    def of(self, window: Window) -> tuple[PromisedHosts, bool]:
        """The promised hosts of a window, and whether they are new."""
        key = window.hosts.text, window.name, window.users, window.accounts
        promised = self._promises.get(key)
        if promised is not None:
            return promised, False
        numbers = self._numbers.get(window.hosts.text)
        if not numbers:
            self._last += 1
        promised = self._promises[key] = PromisedHosts(window, numbers.pop() if numbers else self._last, self._step)
        for host, number in zip(sorted(promised.hosts), sorted(promised.members), strict=True):
            self._others.setdefault(host, []).append(number)
        return promised, True

    def close(self, promised: PromisedHosts) -> None:
        """The windows of a reservation are over."""
        window = promised.sample
        del self._promises[window.hosts.text, window.name, window.users, window.accounts]
        self._numbers.setdefault(window.hosts.text, []).append(promised.number)
        for host, number in zip(sorted(promised.hosts), sorted(promised.members), strict=True):
            self._others[host].remove(number)
            if not self._others[host]:
                del self._others[host]

    def own(self, number: int) -> int:
        """The own number of a host, by any number that it has."""
        return number % self._step

    def everywhere(self, hosts: Iterable[int]) -> Iterable[int]:
        """All numbers that hosts have: their own, and those in reservations."""
        others = self._others
        return [each for host in hosts for each in (host, *others.get(host, ()))] if others else hosts


# The jobs of a site: what each takes of its hosts, and the partitions in which it can run.


class SiteJob(WaitingJob):
    """A job that waits on a site.

    Attributes:
        request: what it asks for.
        amount: what it takes of each of its hosts.
        is_whole: whether it has its hosts for itself.
        cores: the cores that it takes of all hosts together, at the least.
        gpus: the generic resources named `gpu` that it takes of all hosts together.
        entries: its entries in the queue, one for each partition that it can run in.
        first_id: its id when it was submitted first; it has another one when it runs again.
        life: the job over all of its runs; None as long as it has not run again.
        run: its current run; None: that which was submitted.
        profile: its profile, if Batsim forwards profiles.
        lost: seconds of work that were lost when it gave way before.
        eligible: when it could have started first: after its submission, its begin, its dependencies and its wait for
            a better time.
        since: when it could have started first without a wait for a better time.
        until: the time at which it waits for a better time again; infinity: it does not.
        ran: the seconds that it ran before it was interrupted to wait for a better time.
        total: the seconds that it was expected to run in all, before it was interrupted.
    """

    __slots__ = (
        *("amount", "cores", "eligible", "entries", "first_id", "gpus", "is_whole", "life", "lost", "profile"),
        *("ran", "request", "run", "since", "total", "until"),
    )

    def __init__(self, id: str, job: Job, number: int, submitted: float, request: Request) -> None:
        super().__init__(id, job, number, submitted)
        self.request = request
        self.amount: Amount = ()
        self.is_whole = True
        self.cores = self.gpus = 0
        self.entries: list[SiteEntry] = []
        self.first_id = id
        self.life: RunHistory | None = None
        self.run: JobRun | None = None
        self.profile: Profile | None = None
        self.lost = 0.0
        self.eligible = submitted
        self.since = submitted
        self.until = math.inf
        self.ran = self.total = 0.0

    @property
    def array(self) -> str:
        """The full id of the array that the job is a task of; "" if there is none."""
        if self.request.array is None:
            return ""
        return in_workload_of(self.first_id, self.request.array.array)


Ranked: TypeAlias = "tuple[Any, int, SiteEntry]"
"""The key, the entry's number, by which no two are equal, and the entry."""


class EntryRanking(Protocol):
    """Entries in order."""

    def add(self, entry: SiteEntry, key: Any) -> None:
        """Add an entry, with its key where that lasts."""

    def remove(self, entry: SiteEntry) -> None:
        """Remove an entry."""

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""

    def of(self, entries: Iterable[SiteEntry], now: float) -> Iterable[Ranked]:
        """Some of the entries with their keys, in any order."""


# Which kinds of jobs an amount suffices for: all of them at once, as the bits of a number.


class KindFilter:
    """Wanted amounts, each with a bit.

    Attributes:
        count: how many there are.

    >>> kind_filter = KindFilter()
    >>> kind_filter.add((1, 4)), kind_filter.add((1, 2))
    (1, 2)
    >>> kind_filter.passing((1, 3)), kind_filter.passing((1, 8)), kind_filter.passing((0, 8))
    (2, 3, 0)
    """

    def __init__(self) -> None:
        self.count = 0
        self._dimensions: list[tuple[list[int], list[int]]] = []

    def add(self, wanted: Amount) -> int:
        """Add an amount; its bit."""
        bit = 1 << self.count
        self.count += 1
        if not self._dimensions:
            self._dimensions = [([], [0]) for _ in wanted]
        for value, (values, bits) in zip(wanted, self._dimensions, strict=True):
            place = bisect_left(values, value)
            if place == len(values) or values[place] != value:
                values.insert(place, value)
                bits.insert(place + 1, bits[place])
            for each in range(place + 1, len(bits)):
                bits[each] |= bit
        return bit

    def passing(self, free: Sequence[int]) -> int:
        """The bits of the amounts that something free suffices for, in each dimension."""
        passing = -1
        for there, (values, bits) in zip(free, self._dimensions):  # noqa: B905 - asked often, and they are as long
            passing &= bits[bisect_right(values, there)]
            if not passing:
                break
        return passing


class EntryShapes:
    """Entries by their sizes (`by_size`), and by how long they are expected to run: few of them can fit somewhere."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self.by_size: dict[int, SortedList[tuple[float, int, SiteEntry]]] = {}
        self._known: dict[int, tuple[float, int, SiteEntry]] = {}

    def add(self, entry: SiteEntry) -> None:
        """Add an entry."""
        size, known = entry.job.size, (entry.expected, entry.number, entry)
        if size not in self.by_size:
            insort(self._sizes, size)
            self.by_size[size] = SortedList()
        self.by_size[size].add(known)
        self._known[entry.number] = known

    def remove(self, entry: SiteEntry) -> None:
        """Remove an entry."""
        size = entry.job.size
        self.by_size[size].remove(self._known.pop(entry.number))
        if not self.by_size[size]:
            del self.by_size[size]
            self._sizes.remove(size)

    def renew(self) -> None:
        """Entries are expected to run for longer or shorter than before."""
        for _, _, entry in list(self._known.values()):
            self.remove(entry)
            self.add(entry)

    def among(self, most: int, movable: int, seconds: Callable[[int], float]) -> list[SiteEntry]:
        """The entries that may fit, and perhaps a few that do not.

        Args:
            most: their largest size.
            movable: up to this size, all of them.
            seconds: for how long hosts are free at most for a size. It never grows with the size.
        """
        found: list[SiteEntry] = []
        for size in self._sizes[: bisect_right(self._sizes, most)]:
            entries = self.by_size[size]
            limit = math.inf if size <= movable else rounded_up(seconds(size))
            if entries[0][0] <= limit:
                found += (each[2] for each in entries.irange(maximum=(limit, math.inf)))
        return found


def rounded_up(seconds: float) -> float:
    """A time that is greater than others that should be equal to a time and differ by how they are rounded."""
    return seconds + abs(seconds) * 1e-9


class JobKind:
    """Jobs that can have the same hosts and take the same amount of each.

    Attributes:
        amount: what they take of each host.
        hosts: the hosts that they can have.
        fitting: those of them that have room now.
        fitted: how often those have changed.
        bit: its bit in the filter of all kinds.
        entries: the entries of the queue that are of this kind.
        shapes: the same by size and expected time.
        ranking: the same in the order of the queue; None if each decision sorts them.
    """

    __slots__ = ("amount", "bit", "entries", "fitted", "fitting", "hosts", "ranking", "shapes")

    def __init__(
        self,
        amount: Amount,
        hosts: frozenset[int],
        free: Mapping[int, Amount],
        ranking: EntryRanking | None = None,
        bit: int = 0,
    ) -> None:
        self.amount = amount
        self.bit = bit
        self.hosts = hosts
        self.fitting = {host for host in hosts if fits(amount, free[host])}
        self.fitted = 0
        self.entries: dict[int, SiteEntry] = {}
        self.shapes = EntryShapes()
        self.ranking = ranking

    def turn(self, host: int) -> None:
        """A host has space now where it had none, or none where it had some."""
        self.fitted += 1
        self.fitting.symmetric_difference_update((host,))


class SiteEntry(QueueEntry["SiteJob", str]):
    """An entry of the queue of a site.

    Attributes:
        partition: the name of the partition; "" where there are none.
        promised: the reservation in which it would run; None: it would run in none.
        place: where it is in turn: the entries of a partition, or of a reservation, are in one line.
        kind: the jobs that it is alike.
        expected: seconds that the job is expected to run there.
        limit: seconds after which it is killed there; infinity: never.
        cores: the most cores that it can take there of all hosts together.
        pace: the fastest pace at which it can ever run, which is that of its reservations; 0: the usual one.
        start: the time of its reservation; infinity if it has none.
        reserved: the hosts of its reservation.
        could: the hosts that were possible for its reservation, with what was free on them then.
    """

    __slots__ = (*("cores", "could", "expected", "kind", "promised", "limit", "pace", "place", "reserved", "start"),)

    def __init__(
        self, job: SiteJob, partition: str, tier: int, kind: JobKind, number: int, promised: PromisedHosts | None = None
    ) -> None:
        super().__init__(job, partition, tier, number)
        self.promised = promised
        self.place = partition if promised is None else promised.place
        self.kind = kind
        self.expected = job.expected
        self.limit = job.walltime
        self.cores = self.pace = 0
        self.start = math.inf
        self.reserved: list[int] = []
        self.could: dict[int, Amount] = {}

    @property
    def choice(self) -> tuple[object, ...]:
        """What decides which of some hosts it gets: entries with equal ones have the same choices."""
        request = self.job.request
        return self.kind, self.job.size, request.contiguous, request.constraint, request.nodelist


class SiteRunning(RunningJob):
    """A job that runs on a site.

    Attributes:
        entry: the entry of the queue by which it started.
        members: the numbers of its hosts.
        cores: the cores that it takes of all hosts together.
        is_giving_way: whether it is being preempted.
        is_killed: whether it was killed, and has not ended yet.
        missing: the hosts that are not on yet: it runs when all are.
        cause: why it is being killed: a key of `batprotocol.workloads.requests.usage.ENDS`; "": it is not.
        priority: its priority when it started: the order in which jobs give way can depend on it.
    """

    __slots__ = ("cause", "cores", "entry", "is_giving_way", "is_killed", "members", "missing", "priority")

    def __init__(self, entry: SiteEntry, members: list[int], hosts: FrozenHosts, started: float, place: int) -> None:
        super().__init__(entry.job, hosts, started, place)
        self.entry = entry
        self.members = members
        self.cores = entry.cores
        self.is_giving_way = self.is_killed = False
        self.cause = ""
        self.missing: set[int] = set()
        self.priority: float = entry.job.request.priority or 0
        self.end = started + entry.expected


def allocated_by(
    running: RunningJob,
    job: SiteJob,
    amount: Amount,
    partition: str,
    pool: Pool,
    parts: Mapping[int, Amount] | None = None,
) -> Allocated:
    """The amounts that a started job takes of its hosts.

    Args:
        running: the job with its hosts.
        job: the same job before its start.
        amount: what it takes of each host.
        partition: the partition that it runs in; "" without partitions.
        pool: what there is on each host.
        parts: what it takes of each host, if hosts give it different amounts.
    """
    _, cores, memory, *_ = amount
    whole = cores == 0
    hosts, capacity = running.hosts, pool.capacity
    taken = dict.fromkeys(hosts, amount) if parts is None else parts
    memory_share, gpu_share = pool.shares(taken)
    return Allocated(
        job_id=job.id,
        first_id=job.first_id,
        starting_time=running.started,
        partition=partition,
        hosts=hosts.text,
        cores=cores,
        memory=memory,
        gres=() if whole else needs_of(job.request, job.size).gres,
        whole=whole,
        held=len(hosts) if whole else math.fsum(part[1] / capacity[host][1] for host, part in taken.items()),
        memory_share=memory_share,
        gpu_share=gpu_share,
    )


class Allocating:
    """A policy that knows the amounts that its jobs take of their hosts."""

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its hosts, in the order of starts."""
        raise NotImplementedError


def allocations_of(scheduler: object) -> Sequence[Allocated] | None:
    """The amounts that the jobs of a policy took of their hosts, so far; None for another scheduler."""
    return scheduler.allocated if isinstance(scheduler, Allocating) else None
