"""Helpers for the judges of single events: they read texts, jobs and hosts. This module must not know any event.

They raise `Unfit` where Batsim aborts.
"""

from __future__ import annotations

from typing import Any

from batprotocol.errors import shown
from batprotocol.legacy.conversation.json.hosts import Unreadable, hosts_of
from batprotocol.legacy.conversation.json.jobs import Unnamed, name_of
from batprotocol.legacy.conversation.json.members import Members, text_of
from batprotocol.legacy.conversation.state import JobRecord, State, Unfit

__all__ = ["hosts", "job_named", "member", "name", "number", "text"]


def member(data: Members, key: str, path: str) -> Any:
    """The member of this name."""
    if key not in data:
        raise Unfit("event.form", f"{path}.{key}", "it is missing")
    return data[key]


def text(data: Members, key: str, path: str) -> str:
    """The text of a member."""
    value = member(data, key, path)
    if not isinstance(value, str):
        raise Unfit("event.form", f"{path}.{key}", f"expected a string, found {shown(value)}")
    return text_of(value)


def number(data: Members, key: str, path: str) -> float:
    """The number of a member."""
    value = member(data, key, path)
    if type(value) not in (int, float):
        raise Unfit("event.form", f"{path}.{key}", f"expected a number, found {shown(value)}")
    return value  # type: ignore[no-any-return]


def name(state: State, given: str, path: str) -> str:
    """The name of a job, as Batsim writes it."""
    try:
        return name_of(given, state.major)
    except Unnamed as error:
        raise Unfit("job.id", path, str(error)) from None


def job_named(state: State, given: str, path: str) -> tuple[str, JobRecord]:
    """The name of a job that Batsim knows, and its state."""
    job_id = given if given in state.jobs else name(state, given, path)
    job = state.jobs.get(job_id)
    if job is None:
        raise Unfit("job.unknown", path, f"no job {shown(given)} was submitted so far")
    return job_id, job


def hosts(state: State, given: str, path: str) -> frozenset[int]:
    """The hosts of a set. All of them exist."""
    try:
        found = hosts_of(given, state.major)
    except Unreadable as error:
        raise Unfit("alloc.form", path, f"{shown(given)} is not a set of hosts: {error}") from None
    if min(found) < 0 or (state.host_count is not None and max(found) >= state.host_count):
        odd = min(found) if min(found) < 0 else max(found)
        raise Unfit("alloc.hosts", path, f"there is no host {odd}, only {state.host_count} hosts")
    return found
