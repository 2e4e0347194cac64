"""Jobs: submission, execution, rejection, kill and completion. The events of both sides, and their effects.

Functions named `read_...` report what Batsim refuses when it reads an event, in any state. The others check the event
against the state, and change the state if nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol.conversation.automaton import JobState
from batprotocol.conversation.hosts import some_holders, why_asleep
from batprotocol.conversation.hostsets import HostSetText, describe, members, read_hosts
from batprotocol.conversation.known_jobs import JobRecord
from batprotocol.conversation.profiles import PARALLEL_TASKS, check_tasks, contained, in_order, is_usage_trace, leaves
from batprotocol.conversation.state import ConversationState
from batprotocol.errors import shown

__all__ = [
    "check_overrides",
    "check_placement",
    "completed",
    "execute",
    "force_stop",
    "forget",
    "forget_ended",
    "kill",
    "killable",
    "killed",
    "read_execute",
    "read_kill",
    "read_reject",
    "reject",
    "submitted",
]


# Check whether the placement of an execution fits the job's profile: custom mappings and overrides.


# How a profile takes a custom mapping. Rigid ones need one entry for each executor; homogeneous ones take as many
# executors as there are entries. Only Batsim knows the number of a trace; the job's request is assumed.
_RIGID: Final = (model.ParallelTaskProfile, model.ParallelTaskDataStagingBetweenStoragesProfile)
_MAPPED: Final = (
    *_RIGID,
    model.ParallelTaskHomogeneousProfile,
    model.ParallelTaskOnStorageHomogeneousProfile,
    model.TraceReplayProfile,
)
_STRATEGIES: Final = tuple(model.PredefinedExecutorPlacementStrategy)


def check_placement(
    state: ConversationState, event: model.ExecuteJobEvent, executors: int, profile_id: str, hosts: HostSetText
) -> None:
    """Report a placement that does not fit the profiles that it applies to: all that are not overridden."""
    placement = event.allocation.executor_placement
    path = "allocation.executor_placement"
    if not isinstance(placement, model.CustomExecutorToHostMapping):
        _check_strategy(state, placement, path)
        return
    overridden = {override.profile_id for override in event.profile_allocation_override or ()}
    if profile_id in overridden:
        return
    first = _first(state, profile_id)
    for part_id, part in leaves(state, profile_id):
        if part_id not in overridden:
            with _as_part(state, first, part_id):
                _check_mapping(state, placement.mapping, path, executors, part_id, part, hosts)


def check_overrides(state: ConversationState, event: model.ExecuteJobEvent, profile_id: str) -> None:
    """Report overrides that do not fit the profile that they name."""
    parts, first = dict(leaves(state, profile_id)), _first(state, profile_id)
    everything_known = all(part is not None for part in parts.values())
    record = state.jobs[event.job_id]
    executors = record.job.resource_request if record.job is not None else 0
    for index, override in enumerate(event.profile_allocation_override or ()):
        step()
        path = f"profile_allocation_override[{index}]"
        if override.profile_id not in parts:
            if everything_known and override.profile_id != profile_id:
                text = f"job {shown(event.job_id)} does not use profile {shown(override.profile_id)}"
                state.report("job.override-unused", f"{path}.profile_id", text)
            continue
        with _as_part(state, first, override.profile_id):
            _check_override(state, override, path, executors, parts[override.profile_id])


@contextmanager
def _as_part(state: ConversationState, first: str, part_id: str) -> Iterator[None]:
    """Report what is found as a doubt, unless it is about the part that the job begins with."""
    state.instead = "job.later-part" if part_id != first else ""
    try:
        yield
    finally:
        state.instead = ""


def _first(state: ConversationState, profile_id: str) -> str:
    """The atomic profile that a job with this profile begins with."""
    return next((name for name, _, _ in in_order(state, profile_id)), profile_id)


def _check_override(
    state: ConversationState,
    override: model.ProfileAllocationPlacement,
    path: str,
    executors: int,
    profile: model.Profile | None,
) -> None:
    hosts_text = override.host_allocation
    hosts = read_hosts(hosts_text)
    # Where it does not use a mapping, Batsim may never look at the hosts.
    if isinstance(profile, _MAPPED) and state.known_hosts(hosts_text, f"{path}.host_allocation") is None:
        return
    placement, path = override.executor_placement, f"{path}.executor_placement"
    if not isinstance(placement, model.CustomExecutorToHostMapping):
        _check_strategy(state, placement, path)
    elif hosts.last < state.host_limit:
        _check_mapping(state, placement.mapping, path, executors, override.profile_id, profile, hosts)


def _check_strategy(state: ConversationState, placement: model.ExecutorPlacement, path: str) -> None:
    if not isinstance(placement, model.CustomExecutorToHostMapping) and placement not in _STRATEGIES:
        state.report("job.placement-strategy", path, f"{int(placement)} is not a predefined placement strategy")


def _check_mapping(
    state: ConversationState,
    mapping: tuple[int, ...],
    path: str,
    executors: int,
    profile_id: str,
    profile: model.Profile | None,
    hosts: HostSetText,
) -> None:
    used = isinstance(profile, _MAPPED)
    size = hosts.size
    short = len(mapping) < executors and isinstance(profile, model.TraceReplayProfile)
    if short or (len(mapping) != executors and (isinstance(profile, _RIGID) or not used)):
        rule = "job.mapping-size" if used else "job.mapping-doubtful"
        text = f"the mapping has {len(mapping)} entries, and the job has {executors} executors"
        state.report(rule, f"{path}.mapping", f"{text} (profile {shown(profile_id)})")
    for index, entry in enumerate(mapping):
        step()
        if entry >= size:
            rule = "job.mapping-entry" if used else "job.mapping-doubtful"
            state.report(rule, f"{path}.mapping[{index}]", f"there is no host {entry} in an allocation of {size} hosts")
            break


# Looking up a member of an enum costs more than most operations with it here.
_SUBMITTED: Final = JobState.SUBMITTED
_COMPLETED_KILLED: Final = model.FinalJobState.COMPLETED_KILLED
_DELAY: Final = model.DelayProfile
_SPREAD: Final = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


def check_id(state: ConversationState, job_id: str, path: str) -> None:
    """Report an id that does not have exactly one exclamation mark."""
    if job_id.count("!") != 1 and state.jobs.get(job_id) is None:
        state.report("job.id-format", path, f"{shown(job_id)} is not of the form 'workload!job'")


def _known(state: ConversationState, job_id: str, path: str) -> JobRecord | None:
    record = state.jobs.get(job_id)
    if record is None:
        state.report("job.unknown", path, f"there is no job {shown(job_id)}: it was not submitted, or not yet")
    return record


def _refuse(state: ConversationState, rule: str, path: str, job_id: str, what: str) -> None:
    state.report(rule, path, f"job {shown(job_id)} {what}")


# Requests of the decision component


def read_execute(state: ConversationState, event: model.ExecuteJobEvent) -> None:
    """ExecuteJobEvent: ids and host sets that Batsim can read."""
    check_id(state, event.job_id, "job_id")
    _readable(state, event.allocation.host_allocation, event.profile_allocation_override)


def _readable(
    state: ConversationState, text: str, overrides: tuple[model.ProfileAllocationPlacement, ...] | None
) -> HostSetText:
    """The hosts of an ExecuteJobEvent. This function reports the host sets that Batsim cannot read."""
    hosts = read_hosts(text)
    if not hosts.ascending or not hosts.intervals or hosts.misread:
        state.readable_hosts(text, "allocation.host_allocation")
    if overrides:
        for index, override in enumerate(overrides):
            state.readable_hosts(override.host_allocation, f"profile_allocation_override[{index}].host_allocation")
    return hosts


def execute(state: ConversationState, event: model.ExecuteJobEvent) -> None:
    """ExecuteJobEvent: a job that waits, on hosts that exist and are on, placed so that it fits."""
    # Each attribute of an event or a job is read once: that costs more than most operations with it here.
    job_id, allocation, overrides = event.job_id, event.allocation, event.profile_allocation_override
    record = state.jobs.live.get(job_id)
    if record is None:
        check_id(state, job_id, "job_id")
    read = _readable(state, allocation.host_allocation, overrides)
    if record is None:
        record = _known(state, job_id, "job_id")
        if record is None:
            return
    after, job = record.state.steps.get(type(event)), record.job
    if after is None or job is None:
        _refuse(state, "job.execute-state", "job_id", job_id, f"cannot be executed: it is {record.state.meaning}")
        return
    hosts = state.existing_hosts(read, "allocation.host_allocation")
    if hosts is None:
        return
    asks, extra_data, size = state.asks_for_a_part, job.extra_data, job.resource_request
    is_part = asks is not None and extra_data is not None and asks(extra_data)
    if hosts.mask & (state.held.counts.some | state.asleep | state.storages):
        _check_hosts(state, event, hosts, is_part)
    if hosts.size != size:
        state.report(
            "job.host-number",
            "allocation.host_allocation",
            f"job {shown(job_id)} requests {size} and gets {hosts.size} hosts",
        )
    if allocation.executor_placement is not _SPREAD:
        check_placement(state, event, size, record.profile_id, hosts)
    if overrides:
        check_overrides(state, event, record.profile_id)
    profile, walltime = state.profiles.get(record.profile_id), job.walltime
    if not (
        (profile is None or (type(profile) is _DELAY and profile.delay < inf)) and (walltime is None or walltime < inf)
    ):
        check_tasks(state, event, record.profile_id, job)
    if not state.takes_effect():
        return
    record.state = after
    record.allocation = hosts.text
    record.since = event.timestamp
    state.undecided -= 1
    state.held.occupy(job_id, hosts, is_part)


def _check_hosts(state: ConversationState, event: model.ExecuteJobEvent, hosts: HostSetText, is_part: bool) -> None:
    path = "allocation.host_allocation"
    if hosts.mask & state.asleep:
        for host in members(hosts.mask & state.asleep):
            reason = why_asleep(state, host, event.timestamp)
            if reason is not None:
                state.report("job.host-asleep", path, f"host {host} is {reason}")
    if hosts.mask & state.storages:
        stores = describe(hosts.mask & state.storages)
        state.report("job.host-stores", path, f"job {shown(event.job_id)} is executed on storage: {stores}")
    shared = hosts.mask & (state.held.whole() if is_part else state.held.counts.some)
    if shared:
        text = f"job {shown(event.job_id)} gets {describe(shared)}, held by {some_holders(state, hosts)}"
        state.report("job.over-allocation", path, text)


def read_reject(state: ConversationState, event: model.RejectJobEvent) -> None:
    """RejectJobEvent: an id that Batsim can read."""
    check_id(state, event.job_id, "job_id")


def reject(state: ConversationState, event: model.RejectJobEvent) -> None:
    """RejectJobEvent: a job that waits."""
    read_reject(state, event)
    record = _known(state, event.job_id, "job_id")
    if record is None:
        return
    after = record.state.steps.get(type(event))
    if after is None:
        _refuse(state, "job.reject-state", "job_id", event.job_id, f"cannot be rejected: it is {record.state.meaning}")
        return
    if not state.refused:
        record.state = after
        record.job = None
        record.final = model.FinalJobState.REJECTED
        state.undecided -= 1
        state.rejected.append(record)
        state.ended.append(event.job_id)


def read_kill(state: ConversationState, event: model.KillJobsEvent) -> None:
    """KillJobsEvent: ids that Batsim can read."""
    for index, job_id in enumerate(event.job_ids):
        check_id(state, job_id, f"job_ids[{index}]")


def kill(state: ConversationState, event: model.KillJobsEvent) -> None:
    """KillJobsEvent: jobs that run, at least one of them not yet being killed."""
    read_kill(state, event)
    if not event.job_ids:
        state.report("job.kill-nothing", "job_ids", "no job is named")
    records: list[JobRecord] = []
    for index, job_id in enumerate(event.job_ids):
        step()
        record = _known(state, job_id, f"job_ids[{index}]")
        if record is None:
            continue
        if model.KillJobsEvent not in record.state.steps:
            text = f"cannot be killed: it is {record.state.meaning}"
            _refuse(state, "job.kill-state", f"job_ids[{index}]", job_id, text)
        elif event.timestamp <= state.now and _replays_usage(state, record):
            text = "replays a trace of fractional computation"
            _refuse(state, "job.kill-usage-trace", f"job_ids[{index}]", job_id, text)
        records.append(record)
    if records and all(record.kill_due for record in records):
        state.report("job.kill-again", "job_ids", "the kill of each of these jobs was requested before")
    if state.refused:
        return
    for record in records:
        if not record.kill_due:
            record.kill_due = True
            state.kills_due += 1
        record.state = record.state.steps[model.KillJobsEvent]


def force_stop(state: ConversationState, event: model.ForceSimulationStopEvent) -> None:
    """ForceSimulationStopEvent: no parallel task is running, as far as it is known."""
    surely, perhaps = [], []
    known: dict[str, tuple[bool, bool]] = {}
    for job_id in state.held.running:
        step()
        record = state.jobs[job_id]
        if record.kill_due:
            continue
        if record.profile_id not in known:
            known[record.profile_id] = _tasks(state, record.profile_id)
        always, sometimes = known[record.profile_id]
        seen = max(state.now, record.since or 0.0)  # later, it may have ended
        if always and event.timestamp <= seen:
            surely.append(job_id)
        elif sometimes:
            perhaps.append(job_id)
    for rule, jobs, verb in (("stop.parallel-task", surely, "is"), ("stop.job", perhaps, "may be")):
        if jobs:
            which = f"job {shown(jobs[0])}" + (f" and {len(jobs) - 1} others" if len(jobs) > 1 else "")
            text = f"{which}, which {verb} in a parallel task, must be killed first, in the same reply"
            state.report(rule, "", text)


def _tasks(state: ConversationState, profile_id: str) -> tuple[bool, bool]:
    """Whether all atomic profiles of a profile are parallel tasks, and whether any of them may be one."""
    parts = [profile for _, profile in leaves(state, profile_id)]
    tasks = [isinstance(profile, PARALLEL_TASKS) for profile in parts]
    return bool(tasks) and all(tasks), any(tasks) or None in parts


def killable(state: ConversationState) -> list[str]:
    """The running jobs that can be killed now, in the order of their execution."""
    killed = (job_id for job_id in state.held.running if not state.jobs[job_id].kill_due)
    if "job.kill-usage-trace" not in state.severities:
        return list(killed)
    return [job_id for job_id in killed if not any(_usage(state, state.jobs[job_id]))]


def _replays_usage(state: ConversationState, record: JobRecord) -> bool:
    """Whether the job only replays usage traces, so that it certainly does so when it is killed."""
    parts = _usage(state, record)
    return bool(parts) and all(parts)


def _usage(state: ConversationState, record: JobRecord) -> list[bool]:
    """For each atomic profile that the job executes, whether it is known to be a usage trace."""
    return [is_usage_trace(profile) for _, profile in leaves(state, record.profile_id)]


# Messages of Batsim


def submitted(state: ConversationState, event: model.JobSubmittedEvent) -> None:
    """JobSubmittedEvent: a new job, or one that was registered and is acknowledged now."""
    job_id, job, profile = event.job_id, event.job, event.profile
    record, profile_id = state.jobs.get(job_id), job.profile_id
    if record is None:
        if state.static_submitted:
            state.report("job.submitted-late", "job_id", f"job {shown(job_id)} comes after the last static one")
        state.jobs.live[job_id] = JobRecord(_SUBMITTED, job, profile_id)
        state.undecided += 1
    elif record.acknowledgement_due:
        record.acknowledgement_due = False  # the job stays as it was registered: for a walltime of 0, Batsim sends None
        state.acknowledgements_due -= 1
        if record.final is not None:
            state.ended.append(job_id)
    else:
        state.report("job.submitted-twice", "job_id", f"job {shown(job_id)} was submitted before")
        return
    if profile is not None:
        state.profiles[profile.id] = profile.profile
    else:
        state.profiles.setdefault(profile_id, None)
        if state.features.forward_profiles_on_job_submission:
            _refuse(state, "job.profile-not-forwarded", "profile", job_id, "comes without its profile")


def completed(state: ConversationState, event: model.JobCompletedEvent) -> None:
    """JobCompletedEvent: a job that ran has ended, and is forgotten."""
    job_id, final = event.job_id, event.state
    record = state.jobs.get(job_id)
    after = None if record is None else record.state.steps.get(type(event))
    if record is None or after is None:
        status = (JobState.UNKNOWN if record is None else record.state).meaning
        _refuse(state, "job.completed-not-running", "job_id", job_id, f"ends, but it is {status}")
        return
    if final is _COMPLETED_KILLED and not record.kill_due:
        state.report("job.killed-unasked", "state", f"a kill of job {shown(job_id)} was not requested")
    record.state = after
    record.final = final
    state.held.release(job_id)
    state.ended.append(job_id)
    forget(state, record)


def forget(state: ConversationState, record: JobRecord) -> None:
    """Forget a job, as Batsim does; with the first job of a profile also the profile, without profile_reuse."""
    record.job = None
    record.allocation = None
    profile_id = record.profile_id
    if not state.reuses_profiles and profile_id not in state.gone_profiles:
        state.gone_profiles.add(profile_id)
        if type(state.profiles.get(profile_id)) is model.SequentialCompositionProfile:
            state.gone_profiles.update(contained(state, profile_id))


def forget_ended(state: ConversationState) -> None:
    """Forget the jobs that the last reply rejected, as Batsim does. Little is kept of them and of those that ran."""
    for record in state.rejected:
        forget(state, record)
    state.rejected.clear()
    for job_id in state.ended:
        state.jobs.settle(job_id)
    state.ended.clear()


def killed(state: ConversationState, event: model.JobsKilledEvent) -> None:
    """JobsKilledEvent: the requested kill is done, and these jobs have ended."""
    for index, job_id in enumerate(event.job_ids):
        step()
        record = state.jobs.get(job_id)
        if record is None or not record.kill_due:
            state.report("job.killed-unasked", f"job_ids[{index}]", f"a kill of job {shown(job_id)} was not requested")
            continue
        if model.JobsKilledEvent not in record.state.steps:
            state.report("job.killed-not-completed", f"job_ids[{index}]", f"job {shown(job_id)} has not ended")
        record.kill_due = False
        state.kills_due -= 1
        if record.final is not None:
            state.ended.append(job_id)
    killed_jobs = set(event.job_ids)
    for index, entry in enumerate(event.progresses):
        if entry.job_id not in killed_jobs:
            text = f"job {shown(entry.job_id)} is not among the killed ones"
            state.report("job.progress-unrelated", f"progresses[{index}].job_id", text)
        for progress in _progresses(entry.wrapper):
            if not 0.0 <= progress <= 1.0:
                text = f"{progress} is not in [0,1]"
                state.report("job.progress-range", f"progresses[{index}].wrapper", text)
    if event.profiles is not None:
        for profile in event.profiles:
            state.profiles[profile.id] = profile.profile
    elif event.progresses and state.features.forward_profiles_on_jobs_killed:
        state.report("job.profile-not-forwarded", "profiles", "the profiles of killed jobs were requested")


def _progresses(progress: model.KillProgress) -> Iterator[float]:
    """The progress of all atomic profiles in this one."""
    todo = [progress]
    while todo:
        step()
        part = todo.pop()
        if isinstance(part, model.KillProgressAtomicProfile):
            yield part.progress
        elif isinstance(part, model.KillProgressSequentialProfile):
            todo.append(part.current_task_progress)
        else:
            todo.extend(part.tasks_progress)
