"""Queue orders: which of the waiting jobs comes first.

An order is a key. The job with the smallest key comes first; among equal keys, the job that was submitted first. A key
that never changes while a job waits is computed once. Where keys change, `bound` gives a lower bound for the keys of
jobs that are alike, so that only some of the keys are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.model import Job
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.workloads.requests import longest_paths, read_request
from batprotocol.workloads.requests.notation import full_id

__path__: list[str] = []  # it was a package: its modules are found by their old names

__all__ = [
    "F1",
    "F2",
    "F3",
    "F4",
    "FCFS",
    "HEFT",
    "LAF",
    "LCFS",
    "LJF",
    "SAF",
    "SJF",
    "WFP3",
    "Aging",
    "Alike",
    "ExpansionFactor",
    "Largest",
    "Multifactor",
    "Order",
    "Ordered",
    "Smallest",
    "Unicep",
]


class Alike(NamedTuple):
    """Bounds of jobs that are alike."""

    smallest: int
    """No job requests fewer hosts."""
    largest: int
    """No job requests more hosts."""
    shortest: float
    """No job has a shorter walltime."""


class Order:
    """A queue order. To make one, derive and write `key`, or use `Ordered`.

    >>> class FewestHostSeconds(Order):
    ...     def key(self, job, state):
    ...         return job.size * job.walltime
    """

    name: ClassVar[str] = ""
    """Its name on the command line."""
    sentence: ClassVar[str] = ""
    """One sentence that describes it."""
    source: ClassVar[str] = ""
    """The publication or documentation that defines it."""
    changes: bool = False
    """Whether keys change while jobs wait."""

    def key(self, job: WaitingJob, state: State) -> Any:
        """The key of a job: a number or a tuple, without NaN. The job with the smallest key comes first."""
        raise NotImplementedError

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        """A lower bound of the keys of these jobs if they were submitted then or later; None if there is none.

        The queue asks for it only where keys change.
        """
        return None

    def begin(self, state: State) -> None:
        """A simulation begins."""

    def submitted(self, job_id: str, job: Job, state: State) -> None:
        """A job was submitted. It may have to wait for others before it can join the queue.

        All jobs of a message are submitted before the key of the first one is computed.
        """

    def ended(self, job: RunningJob, state: State) -> None:
        """A job has ended."""


class Ordered(Order):
    """A queue order by a Python function.

    Args:
        key: takes a job, its waiting time in seconds and the state. The job with the smallest result comes first.
        changes: whether the result changes while jobs wait. If so, it is called anew for each job that could start.

    >>> order = Ordered(lambda job, waited, state: job.size - waited / 3600)
    """

    def __init__(self, key: Callable[[WaitingJob, float, State], Any], *, changes: bool = True) -> None:
        self._key = key
        self.changes = changes

    def key(self, job: WaitingJob, state: State) -> Any:
        return self._key(job, state.now - job.submitted, state)


# Orders that do not change while jobs wait: by submission, walltime, size, area, and the functions F1 to F4.


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


# Queue orders in which the priority of a job grows while it waits: WFP3, UNICEP and the expansion factor.


"""The value in place of a walltime of 0, which only registered jobs can have."""
_MOST = 1e100
"""The third power of a larger number is not a float."""


class Aging(Order):
    """A base class of queue orders by a priority that grows with the waiting time.

    The priority must be smaller for longer walltimes.

    Attributes:
        grows_with_size: whether, of two jobs that differ only in size, the larger one has the higher priority.
    """

    changes = True
    grows_with_size: ClassVar[bool] = True

    def priority(self, size: int, walltime: float, waited: float) -> float:
        """The priority of a job. The job with the highest one comes first.

        Args:
            size: the number of hosts that it requests.
            walltime: its walltime in seconds, > 0.
            waited: its waiting time until now in seconds, >= 0.
        """
        raise NotImplementedError

    def key(self, job: WaitingJob, state: State) -> Any:
        return -self.priority(job.size, job.walltime or _LEAST, state.now - job.submitted)

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        size = alike.largest if self.grows_with_size else alike.smallest
        return -self.priority(size, alike.shortest or _LEAST, state.now - submitted)


class WFP3(Aging):
    """The most (w / r)^3 n first: w is the waiting time until now, r the walltime, n the number of hosts."""

    name = "wfp3"
    sentence = "The most (w / r)^3 n, of waiting time w, walltime r and hosts n."
    source = "Tang et al., CLUSTER 2009"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        ratio = waited / walltime
        return ratio**3 * size if ratio < _MOST else math.inf


class Unicep(Aging):
    """The most w / (log2(n) r) first. A job for one host counts as one for two, as the logarithm of 1 is 0."""

    name = "unicep"
    sentence = "The most w / (log2(max(n, 2)) r); also called UNICEF."
    source = "Tang et al., CLUSTER 2009"
    grows_with_size = False

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return (waited + 1e-15) / (math.log2(max(size, 2)) * walltime)


class ExpansionFactor(Aging):
    """The most (w + r) / r first: the factor by which waiting has stretched the walltime."""

    name = "expansion"
    sentence = "The highest expansion factor, (w + r) / r."
    source = "Maui Scheduler, Job Priority Factors (XFACTOR)"

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return 1.0 + waited / walltime


# The multifactor order: the waiting time, the size and the fair share of users, each with a weight.


_DAY = 86400.0
_MOST_HALVINGS = 500.0
_ROUNDING = 1e-12


class Multifactor(Order):
    """The highest `age` A + `size` N + `share` F first. Each of the factors A, N and F is between 0 and 1.

    A is the waiting time divided by `oldest`, at most 1. N is the fraction of the hosts that the job requests. F is
    2^(-U / S): U is the user's fraction of the recent usage, S the fraction that is meant for that user.

    Args:
        age: the weight of the waiting time.
        size: the weight of the size. If it is below 0, small jobs come first.
        share: the weight of the fair share.
        oldest: the waiting time in seconds from which on the priority does not grow any more, > 0.
        half_life: usage that is this many seconds old counts half, > 0. A job counts when it has ended.
        shares: the share of each user, in any unit; 1 for each user who is not in it.

    Attributes:
        fallen: the most that the level of a user can have fallen since the simulation began.

    It leaves out most of Slurm's plugin: accounts and Fair Tree, factors of partitions, qualities of service,
    associations and resources, `nice`, the usage of running jobs, and the moments of Slurm's calculations. Ages count
    from the submission, not from the moment at which the job could start. The policy `slurm` has all these.

    On a site whose rules have a section `priority`, that section takes the place of these arguments.

    A job belongs to the user in its extra data, `{"user": 12}`. All jobs without a user belong to one more user.
    """

    name = "multifactor"
    sentence = "Age, size, and fair share among users, each with a weight."
    source = "Slurm, Multifactor Priority Plugin and Classic Fairshare Algorithm; Kay and Lauder, CACM 31, 1988"
    changes = True

    def __init__(
        self,
        *,
        age: float = 1000.0,
        size: float = 1000.0,
        share: float = 1000.0,
        oldest: float = 7 * _DAY,
        half_life: float = 7 * _DAY,
        shares: Mapping[str | int, float] | None = None,
    ) -> None:
        weights = age, size, share
        if not (oldest > 0 and half_life > 0 and min(age, share) >= 0 and all(map(math.isfinite, weights))):
            raise ValueError(
                "expected oldest > 0, half_life > 0, age >= 0, share >= 0 and a size, "
                f"got {oldest}, {half_life}, {age}, {share} and {size}"
            )
        self.age, self.size, self.share = age, size, share
        self.oldest, self.half_life = oldest, half_life
        self.shares = dict(shares or {})
        if not all(math.isfinite(each) and each > 0 for each in self.shares.values()):
            raise ValueError(f"expected shares > 0, got {self.shares}")
        self.begin(State())

    def begin(self, state: State) -> None:
        self._since = 0.0
        self._used: dict[str | int | None, float] = {}  # host seconds, with their weights at `_since`
        self._total = 0.0
        self._meant = 0.0  # the sum of the shares of all known users
        self._levels: dict[str | int | None, float] = {}
        self.fallen = 0.0

    def key(self, job: WaitingJob, state: State) -> Any:
        return self.key_of(job.user, job.submitted, job.size, state)

    def key_of(self, user: str | int | None, submitted: float, size: int, state: State) -> float:
        """The key of a job of this user, time of submission in seconds, and number of hosts."""
        waited = state.now - submitted
        return -(
            self.age * min(waited / self.oldest, 1.0)
            + self.size * size / max(state.size, 1)
            + self.share * self._fairness(user)
        )

    # The key of a job is, but for rounding, the sum of what lasts while the job waits, of the level of its user, and of
    # a number that falls with time and is the same for all jobs. So jobs of a user keep their order until their ages
    # do not count any more, and only the end of a job changes levels.

    @property
    def is_divided(self) -> bool:
        """Whether the following methods describe the keys: not where a subclass may compute others."""
        return type(self) is Multifactor

    def lasting(self, submitted: float, size: int, is_old: bool, state: State) -> float:
        """The part of a key that lasts while a job waits, and does not get old.

        Args:
            submitted: the time of its submission, in seconds.
            size: the number of its hosts.
            is_old: whether its priority does not grow any more.
            state: the machine.
        """
        part = self.size * size / max(state.size, 1)
        return -part if is_old or not self.age else self.age * (submitted / self.oldest) - part

    def level(self, user: str | int | None) -> float:
        """The part of keys that all jobs of a user share. It changes when a job ends."""
        known = self._levels.get(user)
        if known is None:
            known = self._levels[user] = -self.share * self._fairness(user)
        return known

    def passed(self, state: State) -> float:
        """The part by which all keys have fallen with time."""
        return self.age * (state.now / self.oldest)

    def is_old(self, submitted: float, state: State) -> bool:
        """Whether the priority of a job that was submitted then does not grow any more."""
        return self.age > 0 and (state.now - submitted) / self.oldest >= 1.0

    def bound(self, alike: Alike, submitted: float, state: State) -> Any:
        size = alike.largest if self.size > 0 else alike.smallest
        waited = state.now - submitted
        return -(self.age * min(waited / self.oldest, 1.0) + self.size * size / max(state.size, 1) + self.share)

    def ended(self, job: RunningJob, state: State) -> None:
        total, meant = self._total, self._meant
        # New usage counts more, instead of a decay of all old usage.
        halvings = (state.now - self._since) / self.half_life
        if halvings > _MOST_HALVINGS:
            scale = 2.0**-halvings
            self._used = {user: used * scale for user, used in self._used.items()}
            self._total *= scale
            self._since, halvings = state.now, 0.0
            total = 0.0  # small usage may be rounded to 0
        worth = (state.now - job.started) * job.size * 2.0**halvings
        user = job.waited.user
        if user not in self._used:
            self._meant += self._share_of(user)
        self._used[user] = self._used.get(user, 0.0) + worth
        self._total += worth
        self._levels.clear()
        self.fallen += self.share * self._most_gained(total, meant)

    def _most_gained(self, total: float, meant: float) -> float:
        """The most that the fair share of a user has grown since the total usage and the sum of shares were these."""
        # U / S of other users has changed by this factor. The slope of 2^-x is at most 1 / (e x).
        factor = total / self._total * (self._meant / meant) if total and meant else 0.0
        if not factor < 1.0:
            return 0.0
        return min(1.0, _ROUNDING + (1.0 - factor) / (2.718 * factor)) if factor else 1.0

    def _share_of(self, user: str | int | None) -> float:
        return 1.0 if user is None else self.shares.get(user, 1.0)

    def _fairness(self, user: str | int | None) -> float:
        used = self._used.get(user)
        if not used:
            return 1.0
        return float(2.0 ** -((used / self._total) / (self._share_of(user) / self._meant)))


# The order of HEFT: the job with the longest path to the end of its workflow first.


_UNKNOWN: Final = 1e9
"""The walltime of jobs without one, in seconds: longer than all others, so that the number of such jobs decides."""
_KINDS: Final = frozenset({"afterok", "afterany", "afternotok", "aftercorr"})
"""The conditions by which a job waits for the end of another one."""


class HEFT(Order):
    """The highest upward rank first: the walltime of the job, plus the highest rank of the jobs that wait for its end.

    This is the first phase of HEFT, for equal hosts and without the time of transfers. In place of its second phase,
    the policy's allocation decides on hosts. A job for which no other job waits has its own walltime as its rank. A job
    without a walltime counts 1e9 s.

    The rank is computed when the job is ready, from all jobs that were submitted until then. So it is computed once for
    each job of a workflow whose jobs are submitted together.
    """

    name = "heft"
    sentence = "The longest path of walltimes through the jobs that wait for this one (upward rank)."
    source = "Topcuoglu, Hariri and Wu, TPDS 13(3), 2002"

    def __init__(self) -> None:
        self.begin(State())

    def begin(self, state: State) -> None:
        self._lengths: dict[str, float] = {}
        self._ranks: dict[str, float] = {}  # if a job has one, all jobs that wait for it have one
        self._before: dict[str, list[str]] = {}  # the names that each job waits for: of jobs, or of arrays
        self._after: dict[str, list[str]] = {}  # by such a name, the jobs that wait for it
        self._arrays: dict[str, list[str]] = {}
        self._array_of: dict[str, str] = {}

    def submitted(self, job_id: str, job: Job, state: State) -> None:
        if job_id in self._lengths:
            return
        self._lengths[job_id] = _length(math.inf if job.walltime is None else job.walltime)
        try:
            request = read_request(job.extra_data)
        except InputError:  # the policy rejects the job
            return
        if request.array is not None:
            array = self._array_of[job_id] = full_id(request.array.array, job_id)
            self._arrays.setdefault(array, []).append(job_id)
        if request.dependency is not None:
            names = {full_id(each.job, job_id) for each in request.dependency.conditions if each.kind in _KINDS}
            self._before[job_id] = sorted(names)
            for name in names:
                self._after.setdefault(name, []).append(job_id)
            self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        """A job has come that waits for others: the ranks of the jobs before it may be higher now."""
        waiting = list(self._before[job_id])
        while waiting:
            for job in self._members(waiting.pop()):
                if self._ranks.pop(job, None) is not None:
                    waiting += self._before.get(job, ())

    def _members(self, name: str) -> list[str]:
        return [name] if name in self._lengths else self._arrays.get(name, [])

    def _named(self, job_id: str) -> list[str]:
        """The jobs that wait for a job."""
        array = self._array_of.get(job_id)
        found = self._after.get(job_id, []) + (self._after.get(array, []) if array is not None else [])
        return [each for each in found if each in self._lengths]

    def rank(self, job_id: str) -> float:
        """The upward rank of a job that was submitted, in seconds."""
        known = self._ranks.get(job_id)
        if known is not None:
            return known
        lengths: dict[str, float] = {}
        following: dict[str, list[str]] = {}
        waiting = [job_id]
        while waiting:
            job = waiting.pop()
            if job in lengths:
                continue
            if job in self._ranks:
                lengths[job] = self._ranks[job]
            else:
                lengths[job] = self._lengths[job]
                following[job] = self._named(job)
                waiting += following[job]
        try:
            found = longest_paths(lengths, following)
        except InputError:  # jobs that wait for themselves, which are rejected
            return self._lengths[job_id]
        self._ranks.update(found)
        return found[job_id]

    def key(self, job: WaitingJob, state: State) -> Any:
        return -(self.rank(job.id) if job.id in self._lengths else _length(job.walltime)), job.submitted

    def ended(self, job: RunningJob, state: State) -> None:
        job_id = job.waited.id
        for known in (self._lengths, self._ranks, self._before, self._after):
            known.pop(job_id, None)


def _length(walltime: float) -> float:
    return min(walltime, _UNKNOWN)
