"""What the scheduler says, judged event by event, as the members of its data are on the wire.

Batsim counts members and checks types before anything else, so this is done on what was parsed, and not on values. A
function judges the data of one type of event and changes the state if Batsim survives it; the table at the end says
which one is for which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.conversation.hosts import Unreadable, hosts_of, integer
from batprotocol.legacy.conversation.registering import register_job, register_profile
from batprotocol.legacy.conversation.state import JobRecord, State

__all__ = ["SAID", "SIZES"]

Data = Mapping[str, Any]

SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "REJECT_JOB": (1,),
    "EXECUTE_JOB": (2, 3),
    "CALL_ME_LATER": (1,),
    "KILL_JOB": (1,),
    "SET_RESOURCE_STATE": (2,),
}
"""How many members the data of these events have, exactly."""

_CHANGES: Final = {
    1: ("COMPLETED_KILLED", "COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "NOT_SUBMITTED", "REJECTED", "RUNNING"),
    4: (
        "COMPLETED_KILLED",
        "COMPLETED_SUCCESSFULLY",
        "COMPLETED_FAILED",
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


def _text(state: State, data: Data, key: str, path: str) -> str | None:
    """The text of a member, None where it is none, which is told."""
    value = data.get(key)
    if isinstance(value, str):
        return value
    reason = f"expected a string, found {shown(value)}" if key in data else "it is missing"
    state.report("event.form", f"{path}.{key}", reason)
    return None


def _known_job(state: State, job_id: str, path: str) -> JobRecord | None:
    """The job of this name, None where there is none, which is told."""
    job = state.jobs.get(job_id)
    if job is None:
        workload, mark, name = job_id.partition("!")
        if state.major and (not mark or not name or not workload):
            state.report("job.id", path, f"{shown(job_id)} is not WORKLOAD!JOB")
        else:
            state.report("job.unknown", path, f"no job {shown(job_id)} was submitted so far")
    return job


def _hosts(state: State, text: str, path: str) -> frozenset[int] | None:
    try:
        hosts = hosts_of(text, state.major)
    except Unreadable as error:
        state.report("alloc.form", path, f"{shown(text)} is no set of hosts: {error}")
        return None
    if state.host_count is not None and max(hosts) >= state.host_count:
        state.report("alloc.hosts", path, f"there is no host {max(hosts)}, only {state.host_count} hosts")
        return None
    return hosts


# Jobs


def _execute(state: State, data: Data, path: str, time: float) -> None:
    job_id, alloc = _text(state, data, "job_id", path), _text(state, data, "alloc", path)
    if job_id is None or alloc is None:
        return
    job = _known_job(state, job_id, f"{path}.job_id")
    hosts = _hosts(state, alloc, f"{path}.alloc")
    if job is None or hosts is None:
        return
    before = len(state.found)
    if job.state != "submitted":
        state.report("job.not-submitted", f"{path}.job_id", f"the job {shown(job_id)} is {job.state} already")
    _mappings(state, data, path, len(hosts))
    if job.res is not None and len(hosts) != job.res and "mapping" not in data and state.major:
        found = f"the job asks for {job.res} hosts, and has {len(hosts)}"
        state.report("alloc.size", f"{path}.alloc", found)
    asleep = sorted(host for host in hosts if state.asleep.get(host))
    if asleep:
        state.report("alloc.asleep", f"{path}.alloc", f"the host {asleep[0]} does not compute now")
    if not state.shares and time <= state.clock:
        busy = sorted(host for host in hosts if state.busy.get(host) in state.executed_now)
        if busy:
            text = f"the host {busy[0]} was just given to {shown(state.busy[busy[0]])}"
            state.report("alloc.busy", f"{path}.alloc", text)
    if all(found.severity == "warning" for found in state.found[before:]):
        job.state, job.hosts = "running", hosts
        state.busy.update(dict.fromkeys(hosts, job_id))
        state.executed_now.add(job_id)
        state.unannounced.discard(job_id)


def _mappings(state: State, data: Data, path: str, count: int) -> None:
    if "mapping" in data:
        _mapping(state, data["mapping"], f"{path}.mapping", count)
    if state.major < 3:
        return
    if "storage_mapping" in data:
        places = data["storage_mapping"]
        if not isinstance(places, dict) or not places or not all(type(each) is int for each in places.values()):
            state.report("event.form", f"{path}.storage_mapping", f"expected numbers of hosts, found {shown(places)}")
    if "additional_io_job" in data:
        added, place = data["additional_io_job"], f"{path}.additional_io_job"
        if not isinstance(added, dict):
            state.report("event.form", place, f"expected an object, found {shown(added)}")
        elif _text(state, added, "profile_name", place) is not None:
            alloc = _text(state, added, "alloc", place)
            if alloc is not None:
                _hosts(state, alloc, f"{place}.alloc")


def _mapping(state: State, mapping: Any, path: str, count: int) -> None:
    if not isinstance(mapping, dict) or not mapping:
        state.report("event.form", path, f"expected an object that is not empty, found {shown(mapping)}")
        return
    for executor, place in mapping.items():
        number = place if type(place) is int else integer(place) if isinstance(place, str) else None
        if integer(executor) is None or number is None:
            state.report("alloc.mapping", path, f"{shown(executor)} to {shown(place)} are no numbers")
            return
        if not 0 <= number < count:
            state.report("alloc.mapping", path, f"the allocation has no place {number}, only {count} hosts")
            return


def _reject(state: State, data: Data, path: str, time: float) -> None:
    job_id = _text(state, data, "job_id", path)
    job = None if job_id is None else _known_job(state, job_id, f"{path}.job_id")
    if job is None or job_id is None:
        return
    if job.state != "submitted":
        state.report("job.not-submitted", f"{path}.job_id", f"the job {shown(job_id)} is {job.state} already")
    else:
        job.state, job.told = "ended", True


def _kill(state: State, data: Data, path: str, time: float) -> None:
    ids = data.get("job_ids")
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        state.report("event.form", f"{path}.job_ids", f"expected names of jobs, found {shown(ids)}")
        return
    for index, job_id in enumerate(ids):
        place = f"{path}.job_ids[{index}]"
        job = _known_job(state, job_id, place)
        if job is None:
            continue
        if job.state == "submitted":
            state.report("job.not-running", place, f"the job {shown(job_id)} was not executed")
        elif job.told:
            state.report("job.forgotten", place, f"the job {shown(job_id)} has ended, and this was told")


def _change(state: State, data: Data, path: str, time: float) -> None:
    job_id, wanted = _text(state, data, "job_id", path), _text(state, data, "job_state", path)
    if job_id is None or wanted is None:
        return
    allowed = _CHANGES[1 if state.major < 3 else 4]
    place = f"{path}.job_state"
    if wanted not in allowed:
        state.report("job.state", place, f"expected one of {', '.join(allowed)}, found {shown(wanted)}")
        return
    if "kill_reason" in data and state.major < 2 and wanted != "COMPLETED_KILLED":
        state.report("event.form", f"{path}.kill_reason", "only a job that is killed has a reason for it")
        return
    job = _known_job(state, job_id, f"{path}.job_id")
    if job is None:
        return
    if job.state == "submitted" and wanted == "RUNNING":
        job.state = "running"
    elif job.state == "submitted" and wanted == "REJECTED" and state.major < 3:
        job.state, job.told = "ended", True
    elif job.state == "running" and wanted.startswith("COMPLETED") and state.major < 3:
        state.end(job_id)
    else:
        state.report("job.state", place, f"the job {shown(job_id)} is {job.state}, and cannot become {wanted}")


def _metadata(state: State, data: Data, path: str, time: float) -> None:
    job_id, _ = _text(state, data, "job_id", path), _text(state, data, "metadata", path)
    if job_id is not None and job_id not in state.jobs:
        _known_job(state, job_id, f"{path}.job_id")


def _message(state: State, data: Data, path: str, time: float) -> None:
    job_id, _ = _text(state, data, "job_id", path), _text(state, data, "msg", path)
    if job_id is not None:
        _known_job(state, job_id, f"{path}.job_id")


# Hosts


def _set_state(state: State, data: Data, path: str, time: float) -> None:
    resources, wanted = _text(state, data, "resources", path), _text(state, data, "state", path)
    if resources is None or wanted is None:
        return
    hosts = _hosts(state, resources, f"{path}.resources")
    if state.began and not state.has_watts:
        state.report("hosts.no-energy", path, "no host of the platform says how much it uses")
    number, place = integer(wanted), f"{path}.state"
    if number is None:
        state.report("hosts.state", place, f"expected the number of a power state, found {shown(wanted)}")
        return
    if not wanted.isdecimal():
        state.report("hosts.odd-state", place, f"{shown(wanted)} is read as {number}")
    for host in sorted(hosts or ()):
        count = state.pstate_counts.get(host)
        if count is not None and (number >= count or (number < 0 and state.major >= 3)):
            state.report("hosts.state", place, f"the host {host} has {count} power states, and none is {number}")
            return
        state.asleep[host] = state.asleep.get(host, False) or number in state.sleep_states.get(host, ())


# The rest


def _call(state: State, data: Data, path: str, time: float) -> None:
    when: Any = data.get("timestamp")
    if type(when) not in (int, float):
        reason = f"expected a number, found {shown(when)}" if "timestamp" in data else "it is missing"
        state.report("event.form", f"{path}.timestamp", reason)
    elif when <= max(state.now, time):
        state.report("call.past", f"{path}.timestamp", f"{when} is not later than {max(state.now, time)}")


def _query_request(state: State, data: Data, path: str, time: float) -> None:
    for key in data:
        if key != "consumed_energy":
            state.report("query.unknown", f"{path}.{key}", f"Batsim 1 is asked consumed_energy, and not {shown(key)}")


def _query(state: State, data: Data, path: str, time: float) -> None:
    requests = data.get("requests")
    if not isinstance(requests, dict) or not requests or len(data) != 1:
        state.report("event.form", path, "expected requests, and at least one of them")
        return
    for key, arguments in requests.items():
        place = f"{path}.requests.{key}"
        if key != "consumed_energy":
            state.report("query.unknown", place, f"Batsim can be asked consumed_energy, and not {shown(key)}")
        elif not isinstance(arguments, dict) or arguments:
            state.report("event.form", place, f"expected an empty object, found {shown(arguments)}")
        elif state.began and not state.has_watts:
            state.report("hosts.no-energy", place, "no host of the platform says how much it uses")


def _answer(state: State, data: Data, path: str, time: float) -> None:
    if not data:
        state.report("event.form", path, "expected an answer at least")
    for key in data:
        if key != "estimate_waiting_time":
            state.report("query.unknown", f"{path}.{key}", f"Batsim never asks {shown(key)}")


def _notify(state: State, data: Data, path: str, time: float) -> None:
    kind = _text(state, data, "type", path)
    if kind is None:
        return
    known = _NOTIFICATIONS[1 if state.major < 3 else 4]
    if kind not in known:
        expected = " or ".join(known)
        state.report("notify.unknown", f"{path}.type", f"expected {expected}, found {shown(kind)}")
    elif kind == known[0] and state.unannounced:
        names = ", ".join(sorted(state.unannounced)[:3])
        state.report("job.unannounced", path, f"no more is registered, and nobody has executed {names}")


SAID: Final[Mapping[str, Callable[[State, Data, str, float], None]]] = {
    "EXECUTE_JOB": _execute,
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
"""What judges each type of event."""
