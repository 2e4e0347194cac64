"""Jobs and profiles that the scheduler brings: what Batsim takes, and what it aborts on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.conversation.hosts import integer
from batprotocol.legacy.conversation.state import JobRecord, State

__all__ = ["register_job", "register_profile"]

_SPOILING: Final = frozenset(",\"'()")
"""Characters in the name of a job that Batsim 4 stumbles over when it writes the job down."""


_MEMBERS: Final = (
    ("id", (str, int), "a name"),
    ("subtime", (int, float), "a number"),
    ("res", (int,), "an integer"),
    ("profile", (str,), "a name"),
)
"""What a job must have, and of which type."""


def register_job(state: State, data: Mapping[str, Any], path: str, time: float) -> None:
    """Judge SUBMIT_JOB and REGISTER_JOB."""
    before = len(state.found)
    job_id = data.get("job_id")
    if not isinstance(job_id, str):
        state.report("event.form", f"{path}.job_id", f"expected a string, found {shown(job_id)}")
        return
    if state.registration is False:
        state.report("register.disabled", path, "jobs can be registered if Batsim was told so")
    workload, mark, name = job_id.partition("!")
    if not mark or not name or (state.major == 1 and integer(name) is None):
        state.report("job.id", f"{path}.job_id", f"{shown(job_id)} is not WORKLOAD!JOB")
    if state.major >= 3 and _SPOILING & set(job_id):
        state.report("job.id", f"{path}.job_id", f"Batsim stumbles over {shown(job_id)}")
    if job_id in state.jobs:
        state.report("register.twice", f"{path}.job_id", f"there is a job {shown(job_id)} already")
    job = data.get("job")
    _look_at_profile(state, data, workload, path)
    if workload not in state.workloads and not state.redis:
        state.report("register.workload", f"{path}.job_id", f"there is no workload {shown(workload)}")
    elif job is not None or not state.redis:
        _look_at_job(state, job, workload, f"{path}.job")
    if all(found.severity == "warning" for found in state.found[before:]):
        state.workloads.add(workload)
        known = job if isinstance(job, dict) else {}
        state.jobs[job_id] = JobRecord(res=known.get("res"), profile=known.get("profile"))
        if not state.acknowledges:
            state.unannounced.add(job_id)


def _look_at_profile(state: State, data: Mapping[str, Any], workload: str, path: str) -> None:
    """A profile that comes with its job: Batsim 1 and 2 take it, later ones take no notice of it."""
    profile, job = data.get("profile"), data.get("job")
    if state.major < 3 and isinstance(profile, dict) and isinstance(job, dict):
        if not isinstance(profile.get("type"), str):
            state.report("register.profile", f"{path}.profile", "it has no type")
        elif isinstance(job.get("profile"), str):
            state.workloads.add(workload)
            state.profiles.add((workload, job["profile"]))


def _look_at_job(state: State, job: Any, workload: str, path: str) -> None:
    if not isinstance(job, dict):
        state.report("register.job", path, f"expected an object, found {shown(job)}")
        return
    for key, types, expected in _MEMBERS:
        if type(job.get(key)) not in types:
            found = f"found {shown(job[key])}" if key in job else "it is missing"
            state.report("register.job", f"{path}.{key}", f"expected {expected}, {found}")
            return
    walltime = job.get("walltime", -1)
    if type(walltime) not in (int, float) or (walltime <= 0 and walltime != -1):
        found = f"expected a number > 0, or -1, found {shown(walltime)}"
        state.report("register.job", f"{path}.walltime", found)
    known = {name for name, _ in state.profiles}
    if (workload, job["profile"]) not in state.profiles and (state.major >= 3 or workload in known):
        state.report("register.job", f"{path}.profile", f"there is no profile {shown(job['profile'])} any more, or yet")


def register_profile(state: State, data: Mapping[str, Any], path: str, time: float) -> None:
    """Judge SUBMIT_PROFILE and REGISTER_PROFILE."""
    workload, name, profile = data.get("workload_name"), data.get("profile_name"), data.get("profile")
    for key, value in (("workload_name", workload), ("profile_name", name)):
        if not isinstance(value, str):
            state.report("event.form", f"{path}.{key}", f"expected a string, found {shown(value)}")
            return
    assert isinstance(workload, str)
    assert isinstance(name, str)
    if state.registration is False:
        state.report("register.disabled", path, "profiles can be registered if Batsim was told so")
    elif not isinstance(profile, dict):
        state.report("event.form", f"{path}.profile", f"expected an object, found {shown(profile)}")
    elif not isinstance(profile.get("type"), str):
        state.report("register.profile", f"{path}.profile.type", "it has no type")
    elif state.major >= 3 and (workload, name) in state.profiles:
        state.report("register.twice", f"{path}.profile_name", f"there is a profile {shown(name)} already")
    else:
        state.workloads.add(workload)
        state.profiles.add((workload, name))
