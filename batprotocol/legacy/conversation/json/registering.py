"""Jobs and profiles that the scheduler registers: which ones Batsim accepts, and where it aborts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.conversation.json.asking import member, name, text
from batprotocol.legacy.conversation.json.jobs import fault_of_job
from batprotocol.legacy.conversation.json.members import Members
from batprotocol.legacy.conversation.json.profiles import fault_of
from batprotocol.legacy.conversation.state import JobRecord, State, Unfit

__all__ = ["register_job", "register_profile"]

_SPOILING: Final = frozenset(",\"'()")
"""Characters in the name of a job on which Batsim 4 fails when it writes the job down."""


def _refuse_when_disabled(state: State, path: str, what: str) -> None:
    if state.registration is False:
        state.report("register.disabled", path, f"{what} can be registered only if an option of Batsim enables it")
    elif state.registration_closed and state.major >= 3:
        state.report(
            "register.disabled",
            path,
            f"{what} can be registered only before the scheduler notifies the end of registration",
        )


def register_job(state: State, data: Members, path: str, time: float) -> None:
    """Judge SUBMIT_JOB and REGISTER_JOB."""
    before = len(state.found)
    _refuse_when_disabled(state, path, "jobs")
    given = text(data, "job_id", path)
    job_id = name(state, given, f"{path}.job_id")
    workload = job_id.partition("!")[0]
    if state.major >= 3 and _SPOILING & set(job_id):
        state.report("job.id", f"{path}.job_id", f"Batsim fails on the name {shown(job_id)}")
    if job_id in state.jobs:
        state.report("register.twice", f"{path}.job_id", f"there is a job {shown(job_id)} already")
    if state.major < 3 and "profile" in data:
        _inline(state, data, workload, path)
    job = data.get("job")
    if ("job" in data) is state.redis:
        reason = "jobs are in Redis, and not in messages" if state.redis else "it is missing"
        state.report("register.job", f"{path}.job", reason)
    elif "job" in data:
        _look_at(state, job, job_id, workload, path)
    if state.survives(before):
        state.workloads.add(workload)
        known = job if isinstance(job, Mapping) else {}
        state.jobs[job_id] = JobRecord(res=known.get("res"), profile=known.get("profile"))
        if not state.acknowledges:
            state.unannounced.add(job_id)


def _inline(state: State, data: Members, workload: str, path: str) -> None:
    """Judge a profile that comes with its job: Batsim 1 and 2 use it, later versions ignore it."""
    profile, job = data["profile"], data.get("job")
    if not isinstance(profile, Members):
        raise Unfit("register.profile", f"{path}.profile", f"expected an object, found {shown(profile)}")
    if not isinstance(job, Members) or not isinstance(job.get("profile"), str):
        return
    key = (workload, job["profile"])
    if key not in state.profiles:
        fault = fault_of(profile, state.major)
        if fault is not None:
            raise Unfit("register.profile", f"{path}.profile", fault)
        _keep(state, key, profile)


def _look_at(state: State, job: Any, job_id: str, workload: str, path: str) -> None:
    if not isinstance(job, Members):
        raise Unfit("register.job", f"{path}.job", f"expected an object, found {shown(job)}")
    if workload not in state.workloads:
        raise Unfit("register.workload", f"{path}.job_id", f"there is no workload {shown(workload)}")
    fault = fault_of_job(job, job_id, state.major)
    if fault is not None:
        raise Unfit("register.job", f"{path}.job.{fault[0]}".rstrip("."), fault[1])
    key = (workload, job["profile"])
    known = {each for each, _ in state.profiles}
    if key not in state.profiles and (state.major >= 3 or workload in known):
        reason = f"the profile {shown(job['profile'])} does not exist at this time"
        raise Unfit("register.job", f"{path}.job.profile", reason)
    vector = (state.profiles.get(key) or {}).get("cpu")
    if isinstance(vector, list) and len(vector) != job["res"]:
        reason = f"it asks for {job['res']} hosts, and its profile is one for {len(vector)}"
        raise Unfit("register.job", f"{path}.job.res", reason)


def _keep(state: State, key: tuple[str, str], profile: Members) -> None:
    state.workloads.add(key[0])
    state.profiles[key] = profile
    state.registered.add(key)


def register_profile(state: State, data: Members, path: str, time: float) -> None:
    """Judge SUBMIT_PROFILE and REGISTER_PROFILE."""
    before = len(state.found)
    _refuse_when_disabled(state, path, "profiles")
    key = (text(data, "workload_name", path), text(data, "profile_name", path))
    profile = member(data, "profile", path)
    if not isinstance(profile, Members):
        raise Unfit("event.form", f"{path}.profile", f"expected an object, found {shown(profile)}")
    if key in state.profiles:
        if state.major >= 3:
            raise Unfit("register.twice", f"{path}.profile_name", f"there is a profile {shown(key[1])} already")
        return  # it does not change
    fault = fault_of(profile, state.major)
    if fault is not None:
        raise Unfit("register.profile", f"{path}.profile", fault)
    if state.survives(before):
        _keep(state, key, profile)
