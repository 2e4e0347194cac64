"""The plan of a simulated grid: clusters, campaigns and settings. As JSON, it is the initialization data.

A plan is also made for one campaign on clusters of given sizes, and workloads for the clusters' own users.
"""

from __future__ import annotations

import json
import math
import random
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from batprotocol import FrozenHosts, Host, Hosts
from batprotocol.campaigns.jdl import CampaignSubmission, read_jdl
from batprotocol.campaigns.model import CampaignType, GridSettings, GridValue, UserPriority
from batprotocol.errors import HostsError, HostSetError, InputError, shown
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload

__all__ = [
    "CampaignPlan",
    "GridPlan",
    "clusters_in",
    "local_workload",
    "plan_campaign",
    "read_campaign",
    "read_plan",
]


# The queue of a cluster's own jobs, first come first served or with EASY backfilling.


QueuePolicy: TypeAlias = Literal["fcfs", "easy"]

DEPTH: Final = 100
"""The number of jobs behind the first one that backfilling considers."""


class LocalJob(NamedTuple):
    """A job of a cluster's own users: its name, the number of hosts, and the requested time in seconds."""

    name: str
    hosts: int
    walltime: float


class LocalQueue:
    """Jobs that wait and run on a number of hosts.

    >>> queue = LocalQueue(4, "easy")
    >>> for job in LocalJob("a", 3, 10.0), LocalJob("b", 4, 10.0), LocalJob("c", 1, 10.0), LocalJob("d", 1, 20.0):
    ...     queue.submit(job)
    >>> [job.name for job in queue.start(now=0.0)]  # d would delay b
    ['a', 'c']
    """

    def __init__(self, hosts: int, policy: QueuePolicy = "fcfs") -> None:
        self.hosts = hosts
        self.free = hosts
        self._policy = policy
        self._waiting: OrderedDict[str, LocalJob] = OrderedDict()
        self._ends: list[tuple[float, str]] = []  # the first end first
        self._running: dict[str, tuple[LocalJob, float]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def used(self) -> int:
        """The number of hosts of its jobs."""
        return self.hosts - self.free

    def submit(self, job: LocalJob) -> None:
        """Put a job at the end. It must not request more hosts than there are."""
        self._waiting[job.name] = job

    def end(self, name: str) -> None:
        """Remove a job that has ended, or was rejected while it waited."""
        self._waiting.pop(name, None)
        found = self._running.pop(name, None)
        if found is not None:
            job, end = found
            self._ends.remove((end, name))
            self.free += job.hosts

    def start(self, now: float) -> list[LocalJob]:
        """Start the jobs that can start, and return them."""
        started = []
        while self._waiting:
            job = next(iter(self._waiting.values()))
            if job.hosts > self.free:
                break
            started.append(self._start(job, now))
        if self._policy == "easy" and self._waiting and self.free:
            started.extend(self._backfill(now))
        return started

    def _start(self, job: LocalJob, now: float) -> LocalJob:
        del self._waiting[job.name]
        end = now + job.walltime
        self._running[job.name] = job, end
        insort(self._ends, (end, job.name))
        self.free -= job.hosts
        return job

    def _backfill(self, now: float) -> list[LocalJob]:
        """Jobs behind the first one that do not delay it."""
        shadow, spare = self._reservation(next(iter(self._waiting.values())))
        started = []
        for job in list(islice(self._waiting.values(), 1, 1 + DEPTH)):
            in_time = now + job.walltime <= shadow
            if job.hosts <= self.free and (in_time or job.hosts <= spare):
                started.append(self._start(job, now))
                spare -= 0 if in_time else job.hosts
        return started

    def _reservation(self, job: LocalJob) -> tuple[float, int]:
        """The latest start of this job, and the number of hosts that are free beside it then."""
        free = self.free
        for end, name in self._ends:
            free += self._running[name][0].hosts
            if free >= job.hosts:
                return end, free - job.hosts
        return math.inf, 0


ONLY_CLUSTER: Final = "cluster"
"""The name of the cluster if all hosts are in one."""


class CampaignPlan(GridValue, frozen=True, kw_only=True):
    """A campaign of the plan.

    Args:
        jdl: the keys of its JDL, as in CiGri 3. A word `d=SECONDS` in the parameters of a task is the duration of the
            task.
        user: the name of its user.
        submission_time: the time of its submission, in simulated seconds.
        duration: the default duration of a task on a cluster of power 1, in seconds.
        type: a test or not.
    """

    jdl: Mapping[str, Any]
    user: str = "user"
    submission_time: float = 0.0
    duration: float = 60.0
    type: CampaignType = CampaignType.DEFAULT

    def read(self, clusters: Iterable[str]) -> CampaignSubmission:
        """The campaign, for these clusters. It raises `InputError` if the JDL is wrong."""
        return read_jdl(json.dumps(self.jdl), user=self.user, clusters=list(clusters), type=self.type)


class GridPlan(GridValue, frozen=True, kw_only=True):
    """A simulated grid.

    Args:
        campaigns: the campaigns.
        clusters: the clusters by name: the number of hosts of each, in the order of the hosts, or its hosts, as a host
            set. If it is empty, `cluster_property` defines the clusters.
        cluster_property: the property of a host, or of its zone, that has the name of its cluster. Hosts without it are
            in no cluster. If no host has it, all hosts are one cluster.
        power: the speed of the hosts of a cluster; the default is 1.
        queue: the policy for the clusters' own jobs: `fcfs` or `easy`.
        cycle: the time from one cycle to the next, in seconds, > 0.
        settings: the settings of the grid.
        priorities: the priorities of users on clusters.
        stop: whether to stop the simulation when the campaigns have ended, and not to wait for the workloads.
    """

    campaigns: tuple[CampaignPlan, ...] = ()
    clusters: Mapping[str, int | str] = msgspec.field(default_factory=dict)
    cluster_property: str = "cluster"
    power: Mapping[str, float] = msgspec.field(default_factory=dict)
    queue: QueuePolicy = "fcfs"
    cycle: float = 15.0
    settings: GridSettings = GridSettings()
    priorities: tuple[UserPriority, ...] = ()
    stop: bool = False

    def share(self, hosts: Iterable[Host]) -> dict[str, FrozenHosts]:
        """The hosts of each cluster.

        Raises:
            InputError: a cluster has no such hosts, or two clusters have a host in common.
        """
        all_hosts = list(hosts)
        if not self.clusters:
            return self._by_property(all_hosts)
        free = Hosts(host.id for host in all_hosts)
        shares = {}
        for name, wanted in self.clusters.items():
            try:
                shares[name] = free.take(wanted) if isinstance(wanted, int) else free.take_these(wanted)
            except (HostsError, HostSetError) as error:
                raise InputError(str(error), f"clusters.{name}") from None
        return shares

    def _by_property(self, hosts: list[Host]) -> dict[str, FrozenHosts]:
        found: dict[str, list[int]] = {}
        for host in hosts:
            properties = (*(host.properties or ()), *(host.zone_properties or ()))
            name = next((each.value for each in properties if each.key == self.cluster_property), None)
            if name is not None:
                found.setdefault(name, []).append(host.id)
        shares = found or {ONLY_CLUSTER: [host.id for host in hosts]}
        return {name: Hosts(ids).take(len(ids)) for name, ids in shares.items()}


def read_plan(text: str) -> GridPlan:
    """Read the plan in a text of JSON, with the names of `GridPlan`.

    Raises:
        InputError: it is not a plan; the error has the place.

    >>> read_plan('{"clusters": {"a": 4}, "cycle": 30}').cycle
    30.0
    """
    try:
        plan = msgspec.json.decode(text or "{}", type=GridPlan)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise InputError(f"{reason[:1].lower()}{reason[1:]}", place.strip("`").removeprefix(".")) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"expected a plan of a grid in JSON: {error}") from None
    if not 0 < plan.cycle < math.inf:
        raise InputError(f"expected seconds above 0, got {shown(plan.cycle)}", "cycle")
    for number, campaign in enumerate(plan.campaigns):
        if not 0 < campaign.duration < math.inf:
            raise InputError(
                f"expected seconds above 0, got {shown(campaign.duration)}", f"campaigns[{number}].duration"
            )
    for name, power in plan.power.items():
        if not 0 < power < math.inf:
            raise InputError(f"expected a number above 0, got {shown(power)}", f"power.{name}")
    return plan


def seconds_in(parameters: str) -> float | None:
    """The duration of a task by the word `d=SECONDS` of its parameters, or None."""
    for word in parameters.split():
        if word.startswith("d="):
            try:
                seconds = float(word[2:])
            except ValueError:
                continue
            return seconds if 0 < seconds < math.inf else None
    return None


# Workloads of a cluster's own users, for studies of campaigns: jobs that arrive at random, with a given load.


def local_workload(
    hosts: int,
    duration: float,
    *,
    load: float = 0.6,
    mean_seconds: float = 600.0,
    largest: float = 0.0625,
    seed: int = 0,
) -> Workload:
    """Jobs that arrive at random (a Poisson process), with a given load of the cluster.

    Args:
        hosts: the number of hosts of the cluster, at least 1.
        duration: the time in which they arrive, in seconds.
        load: the share of the hosts that they use on average, 0 to 1.
        mean_seconds: the mean duration of a job; the durations are distributed log-normally.
        largest: the greatest share of the hosts that a job takes; the sizes are distributed log-uniformly.
        seed: the seed of the random numbers.

    >>> len(local_workload(64, 36000.0, load=0.6)), len(local_workload(64, 36000.0, load=0.3))
    (1112, 555)
    """
    if hosts < 1 or not 0 <= load <= 1 or not 0 < mean_seconds < math.inf:
        raise InputError(f"expected hosts, a load of 0 to 1 and seconds, got {hosts}, {load} and {mean_seconds}")
    drawn = random.Random(seed)
    most = max(1, int(hosts * largest))
    widest = math.log(most + 1)
    mean_hosts = sum(size * math.log((size + 1) / size) for size in range(1, most + 1)) / widest
    between = math.inf if not load else mean_hosts * mean_seconds / (load * hosts)
    sigma = 1.0
    mu = math.log(mean_seconds) - sigma * sigma / 2
    jobs: list[StaticJob] = []
    time = drawn.expovariate(1 / between) if load else math.inf
    while time < duration:
        seconds = min(max(drawn.lognormvariate(mu, sigma), 1.0), 20 * mean_seconds)
        size = min(most, int(math.exp(drawn.random() * widest)))
        profile = DelayProfile(round(seconds, 3))
        walltime = round(seconds * drawn.uniform(1.1, 3.0), 3)
        jobs.append(StaticJob(str(len(jobs)), round(time, 3), size, profile, walltime=walltime))
        time += drawn.expovariate(1 / between)
    return Workload(jobs)


# The simulation of a campaign before it is run: its JDL, on clusters of the same sizes that have their own jobs.


WARM_UP: Final = 3600.0
"""When the campaign is submitted, in seconds: by then, the clusters are loaded."""

LOCAL_SECONDS: Final = 600.0
"""The mean duration of the clusters' own jobs."""


def read_campaign(text: str, read_file: Callable[[str], str]) -> dict[str, Any]:
    """The keys of a JDL in CiGri 3's JSON, with the lines of its parameter file as parameters.

    Raises:
        InputError: it is no object in JSON.
    """
    try:
        jdl = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"expected a JDL in JSON: {error}") from None
    file = jdl.get("param_file")
    if isinstance(file, str) and not {"params", "nb_jobs"} & jdl.keys():
        del jdl["param_file"]
        jdl["params"] = read_file(file).splitlines()
    return jdl


def clusters_in(jdl: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the clusters in a JDL."""
    named = jdl.get("clusters")
    return tuple(named) if isinstance(named, dict) else ()


def plan_campaign(
    jdl: Mapping[str, Any], sizes: Mapping[str, int], *, seconds: float, load: float = 0.0, settings: GridSettings
) -> tuple[GridPlan, list[Workload]]:
    """The plan, and the workloads of the clusters' own jobs.

    Args:
        jdl: the keys of the JDL.
        sizes: how many resources each of its clusters has.
        seconds: the duration of a task, in seconds, > 0. A word `d=SECONDS` of its parameters goes first.
        load: the share of the resources that the clusters' own jobs use on average, 0 to 1.
        settings: the settings of the grid.

    Raises:
        InputError: the JDL is wrong.
    """
    campaign = CampaignPlan(jdl=jdl, duration=seconds, submission_time=WARM_UP if load else 0.0)
    tasks = campaign.read(sizes).parameters
    work = sum(seconds_in(task) or seconds for task in tasks)
    idle = max(1.0, sum(sizes.values()) * (1 - load))
    horizon = WARM_UP + 10 * work / idle + 200 * seconds
    own = [
        local_workload(size, horizon, load=load, mean_seconds=LOCAL_SECONDS, seed=number)
        for number, size in enumerate(sizes.values())
    ]
    plan = GridPlan(campaigns=(campaign,), clusters=dict(sizes), queue="easy", cycle=5.0, settings=settings, stop=True)
    return plan, own if load else []
