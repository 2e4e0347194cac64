"""Dynamic registration: profiles and jobs that the decision component adds, until it finishes the registration.

Functions named `read_...` report what Batsim refuses when it reads an event, in any state. The others check the event
against the state, and change the state if nothing is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol.conversation.automaton import JobState, Registration
from batprotocol.conversation.jobs import check_id
from batprotocol.conversation.known_jobs import JobRecord
from batprotocol.conversation.profiles import COMPOSITIONS, elsewhere, executors_of
from batprotocol.conversation.state import ConversationState
from batprotocol.errors import shown

__all__ = [
    "finish_registration",
    "read_register_job",
    "read_register_profile",
    "register_job",
    "register_profile",
]


_AMOUNTS: Final[Mapping[type[Any], tuple[str, ...]]] = {
    model.DelayProfile: ("delay",),
    model.ParallelTaskProfile: ("computation_vector", "communication_matrix"),
    model.ParallelTaskHomogeneousProfile: ("computation_amount", "communication_amount"),
    model.ParallelTaskOnStorageHomogeneousProfile: ("bytes_to_read", "bytes_to_write"),
    model.ParallelTaskDataStagingBetweenStoragesProfile: ("bytes_to_transfer",),
}
"""The fields of profiles that define an amount of work."""


def _check_open(state: ConversationState, what: str) -> None:
    if state.registration is Registration.NOT_REQUESTED:
        state.report("register.not-requested", "", f"{what}, but dynamic_registration was not requested")
    elif state.registration is Registration.FINISHED:
        state.report("register.after-finish", "", f"{what} after registration was finished")


def finish_registration(state: ConversationState, event: model.FinishRegistrationEvent) -> None:
    """FinishRegistrationEvent: a second one is harmless."""
    after = state.registration.steps.get(model.FinishRegistrationEvent)
    if after is None:
        _check_open(state, "registration is finished")
    if state.takes_effect():
        state.registration = after or state.registration


# Profiles


def read_register_profile(state: ConversationState, event: model.RegisterProfileEvent) -> None:
    """RegisterProfileEvent: the contents of the profile itself."""
    profile = event.profile.profile
    check = _CHECKS.get(type(profile))
    if check is not None:
        check(state, profile)


def _check_delay(state: ConversationState, profile: model.DelayProfile) -> None:
    if not profile.delay > 0:
        state.report("profile.delay", "profile.profile.delay", f"the delay is {profile.delay}")


def _check_vectors(state: ConversationState, profile: model.ParallelTaskProfile) -> None:
    for name in _AMOUNTS[model.ParallelTaskProfile]:
        for index, amount in enumerate(getattr(profile, name) or ()):
            if not amount >= 0:
                state.report("profile.amount", f"profile.profile.{name}[{index}]", f"the amount is {amount}")
                break
            step()
    executors, pairs = len(profile.computation_vector or ()), len(profile.communication_matrix or ())
    if not pairs:
        return
    if executors and pairs != executors**2:
        text = f"the matrix has {pairs} entries for {executors} executors, not {executors**2}"
        state.report("profile.matrix-size", "profile.profile.communication_matrix", text)
    elif math.isqrt(pairs) ** 2 != pairs:
        text = f"the matrix has {pairs} entries, which is not a square"
        state.report("profile.matrix-size", "profile.profile.communication_matrix", text)


def _check_amounts(state: ConversationState, profile: Any) -> None:
    for name in _AMOUNTS[type(profile)]:
        amount = getattr(profile, name)
        if not amount >= 0:
            state.report("profile.amount", f"profile.profile.{name}", f"the amount is {amount}")


def _check_implemented(state: ConversationState, profile: Any) -> None:
    state.report("profile.not-implemented", "profile.profile", f"{type(profile).__name__} is not implemented")


_CHECKS: Final[dict[type[Any], Callable[[ConversationState, Any], None]]] = {
    model.DelayProfile: _check_delay,
    model.ParallelTaskProfile: _check_vectors,
    model.ParallelTaskHomogeneousProfile: _check_amounts,
    model.ParallelTaskOnStorageHomogeneousProfile: _check_amounts,
    model.ParallelTaskDataStagingBetweenStoragesProfile: _check_amounts,
    model.ForkJoinCompositionProfile: _check_implemented,
    model.ParallelTaskMergeCompositionProfile: _check_implemented,
}


def register_profile(state: ConversationState, event: model.RegisterProfileEvent) -> None:
    """RegisterProfileEvent: a new name, and sub-profiles that exist."""
    read_register_profile(state, event)
    profile_id, profile = event.profile.id, event.profile.profile
    _check_open(state, f"profile {shown(profile_id)} is registered")
    infinite = _infinite(profile)
    if infinite:
        state.report("profile.infinite", f"profile.profile.{infinite}", f"profile {shown(profile_id)} is infinite")
    if profile_id.count("!") != 1:
        state.report("register.profile-id", "profile.id", f"{shown(profile_id)} is not of the form 'workload!name'")
    if profile_id in state.profiles:
        state.report("register.duplicate-profile", "profile.id", f"profile {shown(profile_id)} exists already")
    if isinstance(profile, COMPOSITIONS):
        for index, part in enumerate(profile.profile_ids):
            step()
            if _is_missing(state, part):
                text = f"profile {shown(profile_id)} is composed of {shown(part)}, which does not exist"
                state.report("profile.unknown-subprofile", f"profile.profile.profile_ids[{index}]", text)
            elif part in state.gone_profiles:
                text = f"profile {shown(profile_id)} is composed of {shown(part)}, and a job that had it has ended"
                state.report("register.profile-gone", f"profile.profile.profile_ids[{index}]", text)
    if state.takes_effect(possible=profile_id not in state.profiles):
        state.profiles[profile_id] = profile
        if infinite:
            state.infinite_profiles.add(profile_id)


def _infinite(profile: Any) -> str:
    """The first field of a profile that holds an infinite number, or ""."""
    for name in _AMOUNTS.get(type(profile), ()):
        value = getattr(profile, name)
        if value == math.inf or (isinstance(value, model.Doubles) and math.inf in value):
            return name
    return ""


def _is_missing(state: ConversationState, profile_id: str) -> bool:
    """Whether a profile certainly does not exist. Static workloads can have profiles that were never sent."""
    if profile_id in state.profiles:
        return False
    workload = profile_id.partition("!")[0]
    return workload not in state.static_workloads or state.features.forward_profiles_on_simulation_begins


# Jobs


def read_register_job(state: ConversationState, event: model.RegisterJobEvent) -> None:
    """RegisterJobEvent: an id that Batsim can read."""
    check_id(state, event.job_id, "job_id")


def register_job(state: ConversationState, event: model.RegisterJobEvent) -> None:
    """RegisterJobEvent: a new job, whose profile exists and fits. It can be executed at once."""
    read_register_job(state, event)
    _check_open(state, f"job {shown(event.job_id)} is registered")
    job, workload = event.job, event.job_id.partition("!")[0]
    exists = state.jobs.get(event.job_id) is not None
    if exists:
        state.report("register.duplicate-job", "job_id", f"job {shown(event.job_id)} exists already")
    profile_id = job.profile_id if "!" in job.profile_id else f"{workload}!{job.profile_id}"
    _check_profile(state, event, profile_id)
    if job.walltime is not None and not job.walltime > 0:
        text = f"the walltime of job {shown(event.job_id)} is {job.walltime}"
        state.report("register.walltime", "job.walltime", text)
    if not state.takes_effect(possible=not exists):
        return
    acknowledged = state.features.acknowledge_dynamic_jobs
    record = JobRecord(JobState.UNKNOWN.steps[model.RegisterJobEvent], job, profile_id)
    record.acknowledgement_due = acknowledged
    state.jobs.live[event.job_id] = record
    state.acknowledgements_due += acknowledged
    state.profiles.setdefault(profile_id, None)
    state.undecided += 1


def _check_profile(state: ConversationState, event: model.RegisterJobEvent, profile_id: str) -> None:
    if _is_missing(state, profile_id):
        text = f"job {shown(event.job_id)} has profile {shown(profile_id)}, which does not exist"
        state.report("register.unknown-profile", "job.profile_id", text)
    elif profile_id in state.gone_profiles:
        text = f"job {shown(event.job_id)} has profile {shown(profile_id)}, and a job that had it has ended"
        state.report("register.profile-gone", "job.profile_id", text)
    profile = state.profiles.get(profile_id)
    part = None if state.reuses_profiles else elsewhere(state, profile_id)
    if part is not None:
        text = f"profile {shown(profile_id)} of job {shown(event.job_id)} is composed of {shown(part)}"
        state.report("register.sequence-workloads", "job.profile_id", f"{text}, which belongs to another workload")
    if isinstance(profile, model.ParallelTaskProfile):
        size = executors_of(profile)
        if size != event.job.resource_request:
            text = f"job {shown(event.job_id)} requests {event.job.resource_request}, its profile has {size} executors"
            state.report("register.job-size", "job.resource_request", text)
