"""EXECUTE_JOB: jobs, hosts, mappings, and the transfers that are merged into a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from batprotocol.errors import shown
from batprotocol.legacy.conversation.json.asking import hosts, job_named, member, text
from batprotocol.legacy.conversation.json.hosts import Unreadable, hosts_of
from batprotocol.legacy.conversation.json.members import Members
from batprotocol.legacy.conversation.json.profiles import COMPOSED, SPREADING, fault_of
from batprotocol.legacy.conversation.state import JobRecord, State, Unfit
from batprotocol.legacy.cpp import integer, is_int

__all__ = ["execute"]


def execute(state: State, data: Members, path: str, time: float) -> None:
    """Judge EXECUTE_JOB."""
    job_id, job = job_named(state, text(data, "job_id", path), f"{path}.job_id")
    where = hosts(state, text(data, "alloc", path), f"{path}.alloc")
    executors = _mapping(member(data, "mapping", path), f"{path}.mapping", len(where)) if "mapping" in data else None
    if state.major >= 3:
        if "storage_mapping" in data:
            _storages(data["storage_mapping"], f"{path}.storage_mapping")
        if "additional_io_job" in data:
            _merged(state, data["additional_io_job"], f"{path}.additional_io_job", job_id, job)
    before = len(state.found)
    if job.state != "submitted":
        state.report("job.not-submitted", f"{path}.job_id", f"the job {shown(job_id)} is {job.state} already")
    _size(state, job_id, job, len(where), executors, path)
    resting = sorted(host for host in where if state.machines.rests(host))
    if resting:
        state.report("alloc.asleep", f"{path}.alloc", f"the host {resting[0]} does not compute now")
    if not state.shares and time <= state.clock:
        busy = sorted(host for host in where if state.is_busy(host))
        if busy:
            reason = f"the host {busy[0]} was given to {shown(state.busy[busy[0]])}, which has not ended"
            state.report("alloc.busy", f"{path}.alloc", reason)
    if (
        state.profile_of(job_id).get("type") == COMPOSED
        and state.key_of(job_id) in state.registered
        and state.major > 2
    ):
        state.report(
            "job.composed", f"{path}.job_id", f"the profile of {shown(job_id)} was registered, and is composed"
        )
    if state.survives(before):
        state.start(job_id, where)


def _size(state: State, job_id: str, job: JobRecord, count: int, executors: int | None, path: str) -> None:
    """Check that there are as many hosts as the job requests, or executors if there is a mapping."""
    if job.res is None or _spreads(state, job_id):
        return
    if executors is not None and executors != job.res:
        reason = f"the job asks for {job.res} hosts, and {executors} executors are mapped"
        state.report("alloc.size", f"{path}.mapping", reason)
    elif executors is None and count != job.res:
        state.report("alloc.size", f"{path}.alloc", f"the job asks for {job.res} hosts, and has {count}")


def _spreads(state: State, job_id: str) -> bool:
    """Whether a job runs on any number of hosts."""
    profile = state.profile_of(job_id)
    if profile.get("type") == COMPOSED:
        workload = job_id.partition("!")[0]
        parts = [state.profiles.get((workload, name)) for name in profile.get("seq", ())]
        return state.major < 3 or all(part is not None and part.get("type") in SPREADING for part in parts)
    return profile.get("type") in SPREADING


def _mapping(mapping: Any, path: str, count: int) -> int:
    """How many executors are mapped."""
    if not isinstance(mapping, Members) or not mapping:
        raise Unfit("event.form", path, f"expected an object that is not empty, found {shown(mapping)}")
    places: dict[int, int] = {}
    for executor, place in mapping.pairs:
        number = place if is_int(place) else integer(place) if isinstance(place, str) else None
        key = integer(executor)
        if key is None or number is None:
            raise Unfit("alloc.mapping", path, f"{shown(executor)} and {shown(place)} are not both numbers")
        places[key] = number
    for expected, (known, where) in enumerate(sorted(places.items())):
        if known != expected:
            raise Unfit("alloc.mapping", path, f"there is no executor {expected}, but {known}")
        if not 0 <= where < count:
            raise Unfit("alloc.mapping", path, f"the allocation has no place {where}, only {count} hosts")
    return len(places)


def _storages(places: Any, path: str) -> None:
    if not isinstance(places, Mapping) or not places or not all(is_int(each) for each in places.values()):
        raise Unfit("event.form", path, f"expected numbers of hosts, found {shown(places)}")


def _merged(state: State, added: Any, path: str, job_id: str, job: JobRecord) -> None:
    """Check the transfers that are merged into the job."""
    if not isinstance(added, Members):
        raise Unfit("event.form", path, f"expected an object, found {shown(added)}")
    name, workload = text(added, "profile_name", path), job_id.partition("!")[0]
    key = (workload, name)
    if "profile" in added:
        place = f"{path}.profile"
        if key in state.profiles:
            raise Unfit("register.twice", place, f"there is a profile {shown(name)} already")
        if not isinstance(added["profile"], Members):
            raise Unfit("event.form", place, f"expected an object, found {shown(added['profile'])}")
        fault = fault_of(added["profile"], state.major)
        if fault is not None:
            raise Unfit("register.profile", place, fault)
    elif key not in state.profiles and state.knows_profiles:
        raise Unfit("register.profile", f"{path}.profile_name", f"there is no profile {shown(name)}")
    profile = added.get("profile") or state.profiles.get(key) or {}
    if profile.get("type") == COMPOSED:
        own = state.profile_of(job_id)
        if own and (own.get("type") != COMPOSED or len(own.get("seq", ())) != len(profile.get("seq", ()))):
            raise Unfit("register.profile", path, "a composed profile is merged into one of as many parts only")
    alloc = text(added, "alloc", path)
    try:
        where = hosts_of(alloc, state.major)
    except Unreadable as error:
        raise Unfit("alloc.form", f"{path}.alloc", f"{shown(alloc)} is not a set of hosts: {error}") from None
    if state.host_count is not None and len(where) > state.host_count:  # Batsim checks only their number
        raise Unfit("alloc.hosts", f"{path}.alloc", f"there are only {state.host_count} hosts")
    if "profile" in added:
        state.profiles[key] = added["profile"]
