"""The request of a logged job, in the vocabulary of `batprotocol.workloads.requests`.

It must not know workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.simulator import Platform
from batprotocol.sites.logs.runs import Run, run_id, seconds_between, share_of
from batprotocol.sites.logs.surveys import Survey
from batprotocol.workloads.requests import read_request
from batprotocol.workloads.requests.notation import expanded_names, folded_names, memory_text, parse_dependency

__all__ = ["Unit", "asked", "held_before", "unit_for"]

Unit = Literal["hosts", "shares", "cores"]
"""What a job asks for: whole `hosts`; `shares` of hosts, by cores, memory and generic resources; or `cores`, each of
which is a host of the platform, as in the Standard Workload Format."""

_TEXTS: Final = ("name", "user", "group", "account", "qos", "partition")
NO_FEATURES: Final = "a constraint: no host of the platform has features"
NO_RESERVATIONS: Final = "a reservation: without its hosts and times, policies reject the job"
NO_HOST: Final = "names of hosts that the platform does not have, or more of them than the job has"
GONE: Final = "a dependency on a job that the workload does not have"


def unit_for(survey: Survey, platform: Platform | None = None) -> Unit:
    """The unit that fits a log.

    Jobs that had hosts together ask for shares. If the log does not have the names of hosts, but jobs had different
    numbers of cores on each host, they ask for shares of the hosts of a given platform, or else for cores.

    Args:
        survey: what `survey_of` found in the log.
        platform: a platform that describes the hosts of the log; None: there is none.
    """
    if survey.hosts:
        return "shares" if survey.shares_hosts else "hosts"
    if not survey.least_cores:
        return "hosts"
    if platform is not None:
        fewest = min((host.cores for host in platform.computation_hosts), default=1)
        return "shares" if survey.least_cores < fewest else "hosts"
    return "cores" if survey.least_cores < survey.most_cores else "hosts"


def asked(
    run: Run,
    unit: Unit,
    left_out: LeftOut,
    *,
    awaited: frozenset[str] = frozenset(),
    has_features: bool = False,
    hosts: Container[str] = (),
    priority: bool = False,
    reservations: bool = False,
) -> dict[str, Any]:
    """What a run asks for beside hosts and a walltime, as the keys of the vocabulary.

    Args:
        run: the run.
        unit: what jobs ask for.
        left_out: where values are counted that the vocabulary cannot have.
        awaited: the ids of jobs and arrays that dependencies can name.
        has_features: whether hosts have features that constraints can name.
        hosts: the names of the hosts of the platform, which jobs can ask for; without any, their names are left out.
        priority: whether the priority of the log is one of the keys.
        reservations: whether the reservation of the log is one of the keys.
    """
    job = run.job
    values: dict[str, Any] = {key: getattr(job, key) for key in _TEXTS}
    if job.array is not None and job.id.startswith(f"{job.array}_"):
        values["array"] = run_id(job.id)
    if priority:
        values["priority"] = job.priority
    if job.reservation:
        values["reservation"] = job.reservation if reservations else None
        if not reservations:
            left_out.value(NO_RESERVATIONS, job.line)
    if job.constraint:
        values["constraint"] = job.constraint if has_features else None
        if not has_features:
            left_out.value(NO_FEATURES, job.line)
    if job.nodelist or job.exclude:
        values |= _named(run, unit, left_out, hosts)
    if job.dependency and run.is_first:
        values["dependency"], is_whole = _kept(job.dependency, awaited)
        if not is_whole:
            left_out.value(GONE, job.line)
    if unit == "shares":
        values |= _share(run)
    data = {}
    for key, value in values.items():
        if value is None or value == "":
            continue
        if (_fits if isinstance(value, str | int) else _fits_now)(key, value):
            data[key] = value
        else:
            left_out.value(f"a value of {key} that requests cannot have", job.line)
    return data


def held_before(run: Run, awaited: frozenset[str] = frozenset()) -> float:
    """The seconds from the submission of a run until it comes in a simulation: until it was eligible in the log.

    A job that waits for other jobs of the workload comes when it was submitted, since these end when they end.

    Args:
        run: the run.
        awaited: the ids of jobs and arrays that dependencies can name.
    """
    submitted, eligible = run.attempt.submitted, run.attempt.eligible
    if eligible is None or run.attempt.is_planned:
        return 0.0
    if run.job.dependency and run.is_first and _kept(run.job.dependency, awaited)[0] is not None:
        return 0.0
    return max(seconds_between(submitted, min(eligible, run.started)), 0.0)


def _share(run: Run) -> dict[str, Any]:
    """The keys for a share of each host; whole hosts if the job had them for itself."""
    if run.job.exclusive:
        return {"exclusive": True}
    share = share_of(run)
    return {
        "cores": share.cores,
        "memory": None if share.memory is None else memory_text(share.memory),
        "gres": dict(share.gres) or None,
    }


def _named(run: Run, unit: Unit, left_out: LeftOut, hosts: Container[str]) -> dict[str, Any]:
    """The hosts that a job must have or must not have, as far as the platform has them."""
    job, values = run.job, dict[str, Any]()
    for key, text in (("nodelist", job.nodelist), ("exclude", job.exclude)):
        if not text:
            continue
        try:
            names = expanded_names(text)
        except InputError:
            left_out.value(f"a value of {key} that requests cannot have", job.line)
            continue
        known = [name for name in names if name in hosts]
        # A host that the platform does not have cannot be chosen, so it need not be excluded.
        if unit == "cores" or (key == "nodelist" and not len(names) == len(known) <= run.host_count):
            left_out.value(NO_HOST, job.line)
        elif known:
            values[key] = folded_names(known)
    return values


def _fits_now(key: str, value: Any) -> bool:
    try:
        read_request(msgspec.json.encode({key: value}).decode())
    except InputError:
        return False
    return True


_fits: Final[Callable[[str, Any], bool]] = lru_cache(1 << 14)(_fits_now)


def _kept(dependency: str, awaited: frozenset[str]) -> tuple[str | None, bool]:
    """A dependency without the jobs that the workload does not have, and whether it has all.

    Such jobs ended before the log begins, or never ran.
    """
    try:
        found = parse_dependency(dependency)
    except InputError:
        return dependency, True  # it is counted with other values that cannot be read
    kept = [
        each._replace(job=run_id(each.job)) if each.job else each
        for each in found.conditions
        if not each.job or run_id(each.job) in awaited
    ]
    is_whole = len(kept) == len(found.conditions)
    if not kept or not (is_whole or found.needs_all):
        return None, is_whole
    return ("," if found.needs_all else "?").join(map(str, kept)), is_whole
