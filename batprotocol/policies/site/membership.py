"""The partitions of a site: the hosts of each, the jobs that it takes and for how long, and the hosts of tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import Host, ParallelTaskHomogeneousProfile
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.site.jobs import SiteJob
from batprotocol.policies.site.rules import Partition, SiteRules
from batprotocol.workloads.host_events import MAINT, HostStates, Window
from batprotocol.workloads.requests import Moment, Request, expanded_names
from batprotocol.workloads.requests import Site as Machine

__all__ = [
    *("ANY", "anywhere", "default_of", "fixed", "longest_of_qos", "mapping_of", "partitions_of"),
    *(
        "refusal_of_begin",
        "refusal_of_deadline",
        "refusal_of_names",
        "refusal_of_partition",
        "time_limit",
        "windows_of",
    ),
]

_LATEST: Final = 2.0**53
"""A window without an end ends then."""
_LAST_START: Final = 2.0**50
"""A policy asks for no call after this many seconds."""

ANY: Final = Partition()
"""A partition without limits."""


def anywhere(request: Request) -> Request:
    """The request without its partitions, whose hosts the rules may define."""
    return msgspec.structs.replace(request, partition=()) if request.partition else request


def partitions_of(hosts: tuple[Host, ...], machine: Machine, rules: SiteRules) -> dict[str, frozenset[int]]:
    """The hosts of each partition, by the rules and by the properties of hosts."""
    numbers = {host.name: host.id for host in hosts}
    members: dict[str, set[int]] = {name: set() for name in rules.partitions}
    for offer in machine.offers:
        for name in offer.partitions:
            members.setdefault(name, set()).add(offer.id)
    for name, partition in rules.partitions.items():
        if partition.hosts is not None:
            members[name] |= _numbers_of(partition.hosts, numbers, f"partitions.{name}.hosts")
        if not members[name]:
            raise InputError("the partition has no hosts", f"partitions.{name}")
    return {name: frozenset(found) for name, found in members.items()}


def _numbers_of(text: str, numbers: Mapping[str, int], path: str) -> set[int]:
    """The numbers of the hosts that a text of the rules names."""
    if text.upper() == "ALL":
        return set(numbers.values())
    names = expanded_names(text)
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        raise InputError(f"the platform has no host {missing!r}", path)
    return {numbers[name] for name in names}


def windows_of(hosts: tuple[Host, ...], rules: SiteRules) -> list[Window]:
    """The reservations of the rules as windows, by their begins.

    Raises:
        InputError: the platform does not have a host, or two reservations overlap.
    """
    numbers = {host.name: host.id for host in hosts}
    states = HostStates(max(numbers.values(), default=-1) + 1)
    found = []
    for name, each in sorted(rules.reservations.items(), key=lambda item: item[1].begin):
        window = Window(
            frozen_hosts(_numbers_of(each.hosts, numbers, f"reservations.{name}.hosts")),
            *(each.begin, min(each.end, _LATEST), name, each.users, each.accounts),
            frozenset({MAINT} if each.maintenance else ()),
        )
        try:
            states.take(0.0, window)
        except InputError as error:
            raise InputError(error.reason, f"reservations.{name}") from None
        found.append(window)
    return found


def default_of(rules: SiteRules, members: Mapping[str, frozenset[int]]) -> tuple[str, ...]:
    """The partition of jobs that name none."""
    for name, partition in rules.partitions.items():
        if partition.default:
            return (name,)
    return tuple(members) if len(members) == 1 else ()


def refusal_of_partition(name: str, partition: Partition, job: SiteJob) -> str | None:
    """Why a partition does not take a job, as the end of a sentence; None if it does."""
    request, size = job.request, job.size
    if job.walltime < math.inf and job.walltime > partition.max_time:
        return f"its walltime is {job.walltime:g} s, and partition {name} allows {partition.max_time:g} s"
    if partition.max_hosts is not None and size > partition.max_hosts:
        return f"it asks for {size} hosts, and partition {name} allows {partition.max_hosts}"
    if size < partition.min_hosts:
        return f"it asks for {size} hosts, and partition {name} takes jobs of {partition.min_hosts} or more"
    for what, value, allowed in (
        ("account", request.account, partition.allow_accounts),
        ("group", request.group, partition.allow_groups),
        ("QOS", request.qos, partition.allow_qos),
    ):
        if allowed is not None and str(value) not in allowed:
            return f"partition {name} is for {what} {', '.join(allowed)}, and its {what} is {value}"
    return None


def refusal_of_names(rules: SiteRules, request: Request) -> str | None:
    """Why the rules do not know a name of a request, as the end of a sentence; None if they know all."""
    if rules.qos and request.qos is not None and request.qos not in rules.qos:
        return f"there is no QOS {request.qos!r}; there are {', '.join(sorted(rules.qos))}"
    if rules.accounts and request.account is not None and request.account not in rules.accounts:
        return f"there is no account {request.account!r}; there are {', '.join(sorted(rules.accounts))}"
    return None


def fixed(request: Request, submitted: float) -> Request:
    """The request of a job whose begin and deadline do not move with its time of submission."""
    if request.begin is None and request.deadline is None:
        return request
    moments = {
        key: Moment(moment.of(submitted), False)
        for key, moment in (("begin", request.begin), ("deadline", request.deadline))
        if moment is not None
    }
    return msgspec.structs.replace(request, **moments)


def refusal_of_begin(job: SiteJob) -> str | None:
    """Why a job can never begin, as the end of a sentence; None if it can."""
    begin = 0.0 if job.request.begin is None else job.request.begin.of(job.submitted)
    return f"it begins at {begin:g} s, and no job starts after 2^50 s" if begin >= _LAST_START else None


def refusal_of_deadline(job: SiteJob, now: float) -> str | None:
    """Why a job that does not run by a time misses its deadline, as the end of a sentence; None if it does not."""
    deadline = job.request.deadline
    if deadline is None:
        return None
    begin = now if job.request.begin is None else max(now, job.request.begin.of(job.submitted))
    end = begin + (0.0 if math.isinf(job.walltime) else job.walltime)
    latest = deadline.of(job.submitted)
    return f"it would end at {end:g} s at the earliest, and its deadline is {latest:g} s" if end > latest else None


def longest_of_qos(rules: SiteRules, request: Request) -> float:
    """The longest walltime that the quality of service of a request allows, in seconds."""
    qos = None if request.qos is None else rules.qos.get(request.qos)
    return math.inf if qos is None else qos.max_time


def time_limit(job: SiteJob, partition: Partition, rules: SiteRules) -> float:
    """The seconds after which a job is killed in a partition; infinity: never.

    That is its walltime. Without one, it is the partition's `default_time`, or else its `max_time`, and at most the
    `max_time` of the quality of service, as in Slurm.
    """
    if job.walltime < math.inf:
        return job.walltime
    usual = partition.max_time if partition.default_time is None else partition.default_time
    return min(usual, longest_of_qos(rules, job.request))


def mapping_of(job: SiteJob, hosts: list[int]) -> list[int] | None:
    """For a job with tasks: the host of each task, as an index into its hosts; None: one executor for each host."""
    tasks = job.request.tasks
    if tasks is None or not isinstance(job.profile, ParallelTaskHomogeneousProfile):
        return None
    each = math.ceil(tasks / len(hosts))
    return [task // each for task in range(tasks)]
