"""The judge of messages in JSON: it trusts Batsim, and judges the scheduler as its messages are on the wire.

Batsim counts members and checks types before anything else, so the functions check the parsed JSON, and not values.
Each function judges the data of one type of event. If Batsim survives the event, the function changes the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol.errors import DecodeError, HostSetError, shown
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json import wire as codec
from batprotocol.legacy.json._reading import (
    COMPOSED,
    SPREADING,
    JsonMembers,
    Unreadable,
    fault_of,
    fault_of_job,
    hosts,
    hosts_of,
    job_named,
    member,
    members_of,
    name,
    number,
    text,
)
from batprotocol.legacy.json.events import rows_of, version_of
from batprotocol.legacy.json.values import integer, is_int, printable
from batprotocol.legacy.rules import OldJob, RuleBroken, RuleState
from batprotocol.model import Direction, parse_hosts

__all__ = ["JsonJudge"]


def execute(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
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


def _size(state: RuleState, job_id: str, job: OldJob, count: int, executors: int | None, path: str) -> None:
    """Check that there are as many hosts as the job requests, or executors if there is a mapping."""
    if job.res is None or _spreads(state, job_id):
        return
    if executors is not None and executors != job.res:
        reason = f"the job asks for {job.res} hosts, and {executors} executors are mapped"
        state.report("alloc.size", f"{path}.mapping", reason)
    elif executors is None and count != job.res:
        state.report("alloc.size", f"{path}.alloc", f"the job asks for {job.res} hosts, and has {count}")


def _spreads(state: RuleState, job_id: str) -> bool:
    """Whether a job runs on any number of hosts."""
    profile = state.profile_of(job_id)
    if profile.get("type") == COMPOSED:
        workload = job_id.partition("!")[0]
        parts = [state.profiles.get((workload, name)) for name in profile.get("seq", ())]
        return state.major < 3 or all(part is not None and part.get("type") in SPREADING for part in parts)
    return profile.get("type") in SPREADING


def _mapping(mapping: Any, path: str, count: int) -> int:
    """How many executors are mapped."""
    if not isinstance(mapping, JsonMembers) or not mapping:
        raise RuleBroken("event.form", path, f"expected an object that is not empty, found {shown(mapping)}")
    places: dict[int, int] = {}
    for executor, place in mapping.pairs:
        number = place if is_int(place) else integer(place) if isinstance(place, str) else None
        key = integer(executor)
        if key is None or number is None:
            raise RuleBroken("alloc.mapping", path, f"{shown(executor)} and {shown(place)} are not both numbers")
        places[key] = number
    for expected, (known, where) in enumerate(sorted(places.items())):
        if known != expected:
            raise RuleBroken("alloc.mapping", path, f"there is no executor {expected}, but {known}")
        if not 0 <= where < count:
            raise RuleBroken("alloc.mapping", path, f"the allocation has no place {where}, only {count} hosts")
    return len(places)


def _storages(places: Any, path: str) -> None:
    if not isinstance(places, Mapping) or not places or not all(is_int(each) for each in places.values()):
        raise RuleBroken("event.form", path, f"expected numbers of hosts, found {shown(places)}")


def _merged(state: RuleState, added: Any, path: str, job_id: str, job: OldJob) -> None:
    """Check the transfers that are merged into the job."""
    if not isinstance(added, JsonMembers):
        raise RuleBroken("event.form", path, f"expected an object, found {shown(added)}")
    name, workload = text(added, "profile_name", path), job_id.partition("!")[0]
    key = (workload, name)
    if "profile" in added:
        place = f"{path}.profile"
        if key in state.profiles:
            raise RuleBroken("register.twice", place, f"there is a profile {shown(name)} already")
        if not isinstance(added["profile"], JsonMembers):
            raise RuleBroken("event.form", place, f"expected an object, found {shown(added['profile'])}")
        fault = fault_of(added["profile"], state.major)
        if fault is not None:
            raise RuleBroken("register.profile", place, fault)
    elif key not in state.profiles and state.knows_profiles:
        raise RuleBroken("register.profile", f"{path}.profile_name", f"there is no profile {shown(name)}")
    profile = added.get("profile") or state.profiles.get(key) or {}
    if profile.get("type") == COMPOSED:
        own = state.profile_of(job_id)
        if own and (own.get("type") != COMPOSED or len(own.get("seq", ())) != len(profile.get("seq", ()))):
            raise RuleBroken("register.profile", path, "a composed profile is merged into one of as many parts only")
    alloc = text(added, "alloc", path)
    try:
        where = hosts_of(alloc, state.major)
    except Unreadable as error:
        raise RuleBroken("alloc.form", f"{path}.alloc", f"{shown(alloc)} is not a set of hosts: {error}") from None
    if state.host_count is not None and len(where) > state.host_count:  # Batsim checks only their number
        raise RuleBroken("alloc.hosts", f"{path}.alloc", f"there are only {state.host_count} hosts")
    if "profile" in added:
        state.profiles[key] = added["profile"]


# Registration


_SPOILING: Final = frozenset(",\"'()")
"""Characters in the name of a job on which Batsim 4 fails when it writes the job down."""


def _refuse_when_disabled(state: RuleState, path: str, what: str) -> None:
    if state.registration is False:
        state.report("register.disabled", path, f"{what} can be registered only if an option of Batsim enables it")
    elif state.registration_closed and state.major >= 3:
        state.report(
            "register.disabled",
            path,
            f"{what} can be registered only before the scheduler notifies the end of registration",
        )


def register_job(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
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
        state.jobs[job_id] = OldJob(res=known.get("res"), profile=known.get("profile"))
        if not state.acknowledges:
            state.unannounced.add(job_id)


def _inline(state: RuleState, data: JsonMembers, workload: str, path: str) -> None:
    """Judge a profile that comes with its job: Batsim 1 and 2 use it, later versions ignore it."""
    profile, job = data["profile"], data.get("job")
    if not isinstance(profile, JsonMembers):
        raise RuleBroken("register.profile", f"{path}.profile", f"expected an object, found {shown(profile)}")
    if not isinstance(job, JsonMembers) or not isinstance(job.get("profile"), str):
        return
    key = (workload, job["profile"])
    if key not in state.profiles:
        fault = fault_of(profile, state.major)
        if fault is not None:
            raise RuleBroken("register.profile", f"{path}.profile", fault)
        _keep(state, key, profile)


def _look_at(state: RuleState, job: Any, job_id: str, workload: str, path: str) -> None:
    if not isinstance(job, JsonMembers):
        raise RuleBroken("register.job", f"{path}.job", f"expected an object, found {shown(job)}")
    if workload not in state.workloads:
        raise RuleBroken("register.workload", f"{path}.job_id", f"there is no workload {shown(workload)}")
    fault = fault_of_job(job, job_id, state.major)
    if fault is not None:
        raise RuleBroken("register.job", f"{path}.job.{fault[0]}".rstrip("."), fault[1])
    key = (workload, job["profile"])
    known = {each for each, _ in state.profiles}
    if key not in state.profiles and (state.major >= 3 or workload in known):
        reason = f"the profile {shown(job['profile'])} does not exist at this time"
        raise RuleBroken("register.job", f"{path}.job.profile", reason)
    vector = (state.profiles.get(key) or {}).get("cpu")
    if isinstance(vector, list) and len(vector) != job["res"]:
        reason = f"it asks for {job['res']} hosts, and its profile is one for {len(vector)}"
        raise RuleBroken("register.job", f"{path}.job.res", reason)


def _keep(state: RuleState, key: tuple[str, str], profile: JsonMembers) -> None:
    state.workloads.add(key[0])
    state.profiles[key] = profile
    state.registered.add(key)


def register_profile(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    """Judge SUBMIT_PROFILE and REGISTER_PROFILE."""
    before = len(state.found)
    _refuse_when_disabled(state, path, "profiles")
    key = (text(data, "workload_name", path), text(data, "profile_name", path))
    profile = member(data, "profile", path)
    if not isinstance(profile, JsonMembers):
        raise RuleBroken("event.form", f"{path}.profile", f"expected an object, found {shown(profile)}")
    if key in state.profiles:
        if state.major >= 3:
            raise RuleBroken("register.twice", f"{path}.profile_name", f"there is a profile {shown(key[1])} already")
        return  # it does not change
    fault = fault_of(profile, state.major)
    if fault is not None:
        raise RuleBroken("register.profile", f"{path}.profile", fault)
    if state.survives(before):
        _keep(state, key, profile)


SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "REJECT_JOB": (1,),
    "EXECUTE_JOB": (2, 3),
    "CALL_ME_LATER": (1,),
    "KILL_JOB": (1,),
    "SET_RESOURCE_STATE": (2,),
    "SET_JOB_METADATA": (2,),
    "QUERY": (1,),
}
"""The exact number of members in the data of these events."""

_CHANGES: Final = {
    1: ("COMPLETED_KILLED", "COMPLETED_SUCCESSFULLY", "NOT_SUBMITTED", "REJECTED", "RUNNING"),
    4: (
        "COMPLETED_KILLED",
        "COMPLETED_SUCCESSFULLY",
        "COMPLETED_WALLTIME_REACHED",
        "NOT_SUBMITTED",
        "REJECTED",
        "RUNNING",
    ),
}
_NOTIFICATIONS: Final = {
    1: ("submission_finished", "continue_submission"),
    4: ("registration_finished", "continue_registration"),
}


# Jobs


def _reject(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    job_id, job = job_named(state, text(data, "job_id", path), f"{path}.job_id")
    if job.state != "submitted":
        state.report("job.not-submitted", f"{path}.job_id", f"the job {shown(job_id)} is {job.state} already")
    else:
        state.reject(job_id)


def _kill(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    ids, place = member(data, "job_ids", path), f"{path}.job_ids"
    if not isinstance(ids, list) or not ids or not all(isinstance(each, str) for each in ids):
        raise RuleBroken("event.form", place, f"expected one name of a job or more, found {shown(ids)}")
    for index, given in enumerate(ids):
        job_id, job = job_named(state, given.partition("\0")[0], f"{place}[{index}]")
        if job.told:
            state.report(
                "job.forgotten", f"{place}[{index}]", f"the job {shown(job_id)} has ended, and Batsim has reported this"
            )
        elif job.state == "submitted":
            state.report("job.not-running", f"{place}[{index}]", f"the job {shown(job_id)} was not executed")
        else:
            state.killing.add(job_id)


def _change(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    given, wanted = text(data, "job_id", path), text(data, "job_state", path)
    allowed = _CHANGES[1 if state.major < 3 else 4]
    place = f"{path}.job_state"
    if wanted not in allowed:
        raise RuleBroken("job.state", place, f"expected one of {', '.join(allowed)}, found {shown(wanted)}")
    if "kill_reason" in data and state.major < 3 and text(data, "kill_reason", path) and wanted != "COMPLETED_KILLED":
        raise RuleBroken("event.form", f"{path}.kill_reason", "only a job that is killed has a kill reason")
    job_id, job = job_named(state, given, f"{path}.job_id")
    if job.state == "submitted" and wanted == "RUNNING":
        job.state = "running"
    elif job.state == "submitted" and wanted == "REJECTED" and state.major < 3:
        state.reject(job_id)
    elif job.state == "running" and wanted.startswith("COMPLETED") and state.major < 3 and not job.hosts:
        state.end(job_id)
    else:
        state.report("job.state", place, f"the job {shown(job_id)} is {job.state}, and cannot become {wanted}")


def _metadata(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    given, said = text(data, "job_id", path), text(data, "metadata", path)
    if '"' in said:
        raise RuleBroken("event.form", f"{path}.metadata", "there must be no double quote in it")
    _remembered(state, given, f"{path}.job_id")


def _message(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    given = text(data, "job_id", path)
    text(data, "msg", path)
    _remembered(state, given, f"{path}.job_id")


def _remembered(state: RuleState, given: str, path: str) -> None:
    """A job that Batsim still knows."""
    job_id, job = job_named(state, given, path)
    if job.told:
        state.report("job.forgotten", path, f"the job {shown(job_id)} has ended, and Batsim has reported this")


# Hosts


def _set_state(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    resources, wanted = text(data, "resources", path), text(data, "state", path)
    where = hosts(state, resources, f"{path}.resources")
    if state.began and not state.has_watts:
        state.report("hosts.no-energy", path, "no host of the platform gives its energy use")
    pstate, place = integer(wanted), f"{path}.state"
    if pstate is None:
        raise RuleBroken("hosts.state", place, f"expected the number of a power state, found {shown(wanted)}")
    if not wanted.isdecimal():
        state.report("hosts.odd-state", place, f"{shown(wanted)} is read as {pstate}")
    machines = state.machines
    for host in sorted(where):
        fault = machines.fault_of(host, pstate)
        if fault is not None:
            raise RuleBroken("hosts.state", place, fault)
        if machines.sleeps_in(host, pstate) and state.is_busy(host) and time <= state.clock:
            raise RuleBroken("hosts.busy", f"{path}.resources", f"{shown(state.busy[host])} runs on the host {host}")
        machines.switch(host, pstate)


# The other events


def _call(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    when = number(data, "timestamp", path)
    if when <= max(state.clock, time):
        state.report("call.past", f"{path}.timestamp", f"{when} is not later than {max(state.clock, time)}")
    elif not printable(when):
        state.report("message.time", f"{path}.timestamp", f"{when} is too large to be printed, once it is reached")


def _requests(state: RuleState, requests: Any, path: str) -> None:
    """Judge a question to Batsim."""
    if not isinstance(requests, JsonMembers) or not requests:
        raise RuleBroken("event.form", path, f"expected an object that is not empty, found {shown(requests)}")
    for key, arguments in requests.pairs:
        place = f"{path}.{key}"
        if key != "consumed_energy":
            raise RuleBroken("query.unknown", place, f"Batsim can be asked consumed_energy, and not {shown(key)}")
        if not isinstance(arguments, JsonMembers) or arguments:
            raise RuleBroken("event.form", place, f"expected an empty object, found {shown(arguments)}")
    if state.began and not state.has_watts:
        state.report("query.no-energy", path, "no host of the platform gives its energy use")


def _query_request(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    _requests(state, data, path)


def _query(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    _requests(state, member(data, "requests", path), f"{path}.requests")


def _answer(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    if not data:
        raise RuleBroken("event.form", path, "expected one answer or more")
    for key, answer in data.pairs:
        place = f"{path}.{key}"
        if key != "estimate_waiting_time":
            raise RuleBroken("query.unknown", place, f"Batsim never asks {shown(key)}")
        if not isinstance(answer, JsonMembers):
            raise RuleBroken("event.form", place, f"expected an object, found {shown(answer)}")
        text(answer, "job_id", place)
        number(answer, "estimated_waiting_time", place)


def _notify(state: RuleState, data: JsonMembers, path: str, time: float) -> None:
    kind = text(data, "type", path)
    known = _NOTIFICATIONS[1 if state.major < 3 else 4]
    if kind not in known:
        expected = " or ".join(known)
        raise RuleBroken("notify.unknown", f"{path}.type", f"expected {expected}, found {shown(kind)}")
    state.registration_ended = kind == known[0]
    if state.registration_ended and state.unannounced:
        names = ", ".join(sorted(state.unannounced)[:3])
        state.report(
            "job.unannounced", path, f"no more jobs are registered, and the scheduler has not executed {names}"
        )


DECISIONS: Final[Mapping[str, Callable[[RuleState, JsonMembers, str, float], None]]] = {
    "EXECUTE_JOB": execute,
    "REJECT_JOB": _reject,
    "KILL_JOB": _kill,
    "CHANGE_JOB_STATE": _change,
    "SET_JOB_METADATA": _metadata,
    "TO_JOB_MSG": _message,
    "SET_RESOURCE_STATE": _set_state,
    "CALL_ME_LATER": _call,
    "QUERY_REQUEST": _query_request,
    "QUERY": _query,
    "ANSWER": _answer,
    "NOTIFY": _notify,
    "SUBMIT_JOB": register_job,
    "REGISTER_JOB": register_job,
    "SUBMIT_PROFILE": register_profile,
    "REGISTER_PROFILE": register_profile,
}
"""The function that judges each type of event."""


# Messages of Batsim. They count as true: if Batsim reports the end of a job, it has ended


_ENERGY: Final = frozenset({"watt_per_state", "wattage_per_state", "watt_off", "wattage_off", "sleep_pstates"})
"""The properties of a host that only a simulation of energy uses. The messages do not show whether there is one."""


def _begins(state: RuleState, event: e.SimulationBegins) -> None:
    state.began = True
    config = event.config or {}
    if state.major == 0:
        return
    hosts = [*event.hosts, *(event.storage_resources or ())]
    state.host_count = len(hosts) if event.nb_resources is None else max(event.nb_resources, len(hosts))
    state.shares = bool(event.allow_compute_sharing or event.allow_time_sharing)
    if "redis-enabled" in config or state.major >= 3:
        state.redis = config.get("redis-enabled") is True
        state.registration = config.get("dynamic-jobs-enabled") is True
        state.acknowledges = config.get("dynamic-jobs-acknowledged") is True
        state.reuses_profiles = config.get("profile-reuse-enabled") is True
    else:
        submission = _member(config, "job_submission", "from_scheduler")
        state.redis = _member(config, "redis").get("enabled") is True
        state.registration = submission.get("enabled") is True
        state.acknowledges = submission.get("acknowledge") is not False
    state.workloads.update(event.workloads or {})
    state.knows_profiles = event.profiles is not None
    for workload, profiles in (event.profiles or {}).items():
        state.profiles.update(((workload, name), profile.fields) for name, profile in profiles.items())
    for host in event.hosts:
        properties = host.properties or {}
        watts = properties.get("watt_per_state") or properties.get("wattage_per_state")
        state.has_watts = state.has_watts or not _ENERGY.isdisjoint(properties)
        if isinstance(watts, str):
            state.machines.counts[host.id] = watts.count(",") + 1
        sleeps = properties.get("sleep_pstates")
        if isinstance(sleeps, str):
            triples = [each.split(":") for each in sleeps.split(",")]
            state.machines.sleeping[host.id] = _numbers(triple[0] for triple in triples)
            state.machines.passing[host.id] = _numbers(each for triple in triples for each in triple[1:])


def _numbers(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(int(text) for text in texts if text.strip().isdecimal() and len(text) < 9)


def _member(found: Any, *path: str) -> Mapping[str, Any]:
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _submitted(state: RuleState, event: e.JobSubmitted) -> None:
    job = event.job
    record = state.jobs.get(event.job_id)
    if record is None:
        record = state.jobs[event.job_id] = OldJob()
        state.workloads.add(event.job_id.partition("!")[0])
    state.unannounced.discard(event.job_id)
    if job is not None:
        record.res, record.profile = job.res, job.profile
        if job.profile is not None:
            fields = event.profile.fields if event.profile is not None else {}
            key = (event.job_id.partition("!")[0], job.profile)
            state.profiles[key] = state.profiles.get(key) or fields


def _completed(state: RuleState, event: e.JobCompleted) -> None:
    if event.job_id not in state.jobs:
        state.report("batsim.odd", "events", f"there is no job {event.job_id!r} that could have ended")
    state.end(event.job_id)


def _killed(state: RuleState, event: e.JobKilled) -> None:
    for job_id in event.job_ids:
        state.end(job_id, told=False)


def _changed(state: RuleState, event: e.ResourceStateChanged) -> None:
    try:
        hosts = parse_hosts(event.resources)
    except HostSetError:
        return
    pstate = int(event.state) if event.state.isdecimal() and len(event.state) < 9 else -1
    for host in hosts:
        state.machines.reached(host, pstate)


EVENTS: Final[Mapping[type[e.Event], Callable[[RuleState, Any], None]]] = {
    e.SimulationBegins: _begins,
    e.JobSubmitted: _submitted,
    e.JobCompleted: _completed,
    e.JobKilled: _killed,
    e.ResourceStateChanged: _changed,
}
"""The function for each type of event. The other events change nothing that the rules need."""


# The judge


class JsonJudge:
    """Judges messages in JSON.

    Args:
        rule_set: the Batsim whose rules apply.
        state: the state of the conversation.
    """

    def __init__(self, rule_set: str, state: RuleState) -> None:
        self._version: Final = version_of(rule_set.removeprefix("batsim-"))
        self._rows: Final = rows_of(self._version)
        self._state: Final = state

    def hear(self, data: bytes) -> None:
        """Take a message of Batsim. `DecodeError` if it is not a message."""
        state = self._state
        message = codec.decode(data, self._version)
        self._times(message.now, [event.timestamp for event in message.events])
        state.now = state.clock = message.now
        state.killing.clear()
        for event in message.events:
            take = EVENTS.get(type(event))
            if take is not None:
                take(state, event)

    def judge(self, data: bytes) -> None:
        """Judge a message of the scheduler. `DecodeError` if it is not a message."""
        state = self._state
        found = members_of(data)
        entries = _entries_of(found)
        self._times(found["now"], [entry["timestamp"] for entry in entries])
        state.registration_closed = state.registration_ended
        for index, entry in enumerate(entries):
            if entry["timestamp"] > state.clock:  # Batsim waits until then, and handles the earlier events meanwhile
                state.clock, state.registration_closed = entry["timestamp"], state.registration_ended
            try:
                self._judge_event(entry["type"], entry["data"], f"events[{index}]", entry["timestamp"])
            except RuleBroken as fault:
                state.report(fault.rule, fault.path, fault.text)

    def finish(self) -> None:
        """Take the end of the conversation: in JSON, this breaks no rule."""

    def _times(self, now: float, times: list[float]) -> None:
        last, report = float("-inf"), self._state.report
        if now > 0 and not printable(now):
            report("message.time", "now", f"{now} is too large to be printed")
        for index, time in enumerate(times):
            path = f"events[{index}].timestamp"
            if time > now:
                report("message.time", path, f"{time} is later than now, {now}")
            elif time < last:
                report("message.order", path, f"{time} is earlier than {last}, which came before it")
            last = time

    def _judge_event(self, kind: str, data: Any, path: str, time: float) -> None:
        judge, row = DECISIONS.get(kind), self._rows.get(kind)
        if judge is None or row is None or Direction.EDC_TO_BATSIM not in row.directions:
            raise RuleBroken("event.unknown", f"{path}.type", f"there is no event {shown(kind)}")
        path = f"{path}.data"
        if not isinstance(data, JsonMembers):
            raise RuleBroken("event.form", path, f"expected an object, found {shown(data)}")
        sizes = SIZES.get(kind)
        if sizes is not None and data.count not in sizes:
            expected = " or ".join(map(str, sizes))
            raise RuleBroken("event.form", path, f"expected {expected} members, found {data.count}")
        judge(self._state, data, path, time)


def _entries_of(found: Any) -> list[Any]:
    """The events of a message, after the first checks of Batsim."""
    if not isinstance(found, dict):
        raise DecodeError(f"expected an object, found {shown(found)}")
    now: Any = found.get("now")
    entries = found.get("events")
    if type(now) not in (int, float):
        raise DecodeError("expected a number, found " + shown(now) if "now" in found else "it is missing", "now")
    if not isinstance(entries, list):
        raise DecodeError(f"expected an array, found {shown(entries)}", "events")
    for index, entry in enumerate(entries):
        path = f"events[{index}]"
        if not isinstance(entry, dict):
            raise DecodeError(f"expected an object, found {shown(entry)}", path)
        for key in ("timestamp", "type", "data"):
            if key not in entry:
                raise DecodeError("it is missing", f"{path}.{key}")
        if type(entry["timestamp"]) not in (int, float):
            raise DecodeError(f"expected a number, found {shown(entry['timestamp'])}", f"{path}.timestamp")
        if not isinstance(entry["type"], str):
            raise DecodeError(f"expected a string, found {shown(entry['type'])}", f"{path}.type")
    return entries
