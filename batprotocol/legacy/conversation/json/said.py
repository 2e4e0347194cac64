"""The messages of the scheduler, judged event by event, as the members of their data are on the wire.

Batsim counts members and checks types before anything else. For this reason, the functions check the parsed JSON, and
not values. Each function judges the data of one type of event. If Batsim survives the event, the function changes the
state. The table at the end maps the types of events to the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import shown
from batprotocol.legacy.conversation.json.asking import hosts, job_named, member, number, text
from batprotocol.legacy.conversation.json.executing import execute
from batprotocol.legacy.conversation.json.members import Members
from batprotocol.legacy.conversation.json.registering import register_job, register_profile
from batprotocol.legacy.conversation.state import State, Unfit
from batprotocol.legacy.cpp import integer, printable

__all__ = ["SAID", "SIZES"]

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


def _reject(state: State, data: Members, path: str, time: float) -> None:
    job_id, job = job_named(state, text(data, "job_id", path), f"{path}.job_id")
    if job.state != "submitted":
        state.report("job.not-submitted", f"{path}.job_id", f"the job {shown(job_id)} is {job.state} already")
    else:
        state.reject(job_id)


def _kill(state: State, data: Members, path: str, time: float) -> None:
    ids, place = member(data, "job_ids", path), f"{path}.job_ids"
    if not isinstance(ids, list) or not ids or not all(isinstance(each, str) for each in ids):
        raise Unfit("event.form", place, f"expected one name of a job or more, found {shown(ids)}")
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


def _change(state: State, data: Members, path: str, time: float) -> None:
    given, wanted = text(data, "job_id", path), text(data, "job_state", path)
    allowed = _CHANGES[1 if state.major < 3 else 4]
    place = f"{path}.job_state"
    if wanted not in allowed:
        raise Unfit("job.state", place, f"expected one of {', '.join(allowed)}, found {shown(wanted)}")
    if "kill_reason" in data and state.major < 3 and text(data, "kill_reason", path) and wanted != "COMPLETED_KILLED":
        raise Unfit("event.form", f"{path}.kill_reason", "only a job that is killed has a kill reason")
    job_id, job = job_named(state, given, f"{path}.job_id")
    if job.state == "submitted" and wanted == "RUNNING":
        job.state = "running"
    elif job.state == "submitted" and wanted == "REJECTED" and state.major < 3:
        state.reject(job_id)
    elif job.state == "running" and wanted.startswith("COMPLETED") and state.major < 3 and not job.hosts:
        state.end(job_id)
    else:
        state.report("job.state", place, f"the job {shown(job_id)} is {job.state}, and cannot become {wanted}")


def _metadata(state: State, data: Members, path: str, time: float) -> None:
    given, said = text(data, "job_id", path), text(data, "metadata", path)
    if '"' in said:
        raise Unfit("event.form", f"{path}.metadata", "there must be no double quote in it")
    _remembered(state, given, f"{path}.job_id")


def _message(state: State, data: Members, path: str, time: float) -> None:
    given = text(data, "job_id", path)
    text(data, "msg", path)
    _remembered(state, given, f"{path}.job_id")


def _remembered(state: State, given: str, path: str) -> None:
    """A job that Batsim still knows."""
    job_id, job = job_named(state, given, path)
    if job.told:
        state.report("job.forgotten", path, f"the job {shown(job_id)} has ended, and Batsim has reported this")


# Hosts


def _set_state(state: State, data: Members, path: str, time: float) -> None:
    resources, wanted = text(data, "resources", path), text(data, "state", path)
    where = hosts(state, resources, f"{path}.resources")
    if state.began and not state.has_watts:
        state.report("hosts.no-energy", path, "no host of the platform gives its energy use")
    pstate, place = integer(wanted), f"{path}.state"
    if pstate is None:
        raise Unfit("hosts.state", place, f"expected the number of a power state, found {shown(wanted)}")
    if not wanted.isdecimal():
        state.report("hosts.odd-state", place, f"{shown(wanted)} is read as {pstate}")
    machines = state.machines
    for host in sorted(where):
        fault = machines.fault_of(host, pstate)
        if fault is not None:
            raise Unfit("hosts.state", place, fault)
        if machines.sleeps_in(host, pstate) and state.is_busy(host) and time <= state.clock:
            raise Unfit("hosts.busy", f"{path}.resources", f"{shown(state.busy[host])} runs on the host {host}")
        machines.switch(host, pstate)


# The other events


def _call(state: State, data: Members, path: str, time: float) -> None:
    when = number(data, "timestamp", path)
    if when <= max(state.clock, time):
        state.report("call.past", f"{path}.timestamp", f"{when} is not later than {max(state.clock, time)}")
    elif not printable(when):
        state.report("message.time", f"{path}.timestamp", f"{when} is too large to be printed, once it is reached")


def _requests(state: State, requests: Any, path: str) -> None:
    """Judge a question to Batsim."""
    if not isinstance(requests, Members) or not requests:
        raise Unfit("event.form", path, f"expected an object that is not empty, found {shown(requests)}")
    for key, arguments in requests.pairs:
        place = f"{path}.{key}"
        if key != "consumed_energy":
            raise Unfit("query.unknown", place, f"Batsim can be asked consumed_energy, and not {shown(key)}")
        if not isinstance(arguments, Members) or arguments:
            raise Unfit("event.form", place, f"expected an empty object, found {shown(arguments)}")
    if state.began and not state.has_watts:
        state.report("query.no-energy", path, "no host of the platform gives its energy use")


def _query_request(state: State, data: Members, path: str, time: float) -> None:
    _requests(state, data, path)


def _query(state: State, data: Members, path: str, time: float) -> None:
    _requests(state, member(data, "requests", path), f"{path}.requests")


def _answer(state: State, data: Members, path: str, time: float) -> None:
    if not data:
        raise Unfit("event.form", path, "expected one answer or more")
    for key, answer in data.pairs:
        place = f"{path}.{key}"
        if key != "estimate_waiting_time":
            raise Unfit("query.unknown", place, f"Batsim never asks {shown(key)}")
        if not isinstance(answer, Members):
            raise Unfit("event.form", place, f"expected an object, found {shown(answer)}")
        text(answer, "job_id", place)
        number(answer, "estimated_waiting_time", place)


def _notify(state: State, data: Members, path: str, time: float) -> None:
    kind = text(data, "type", path)
    known = _NOTIFICATIONS[1 if state.major < 3 else 4]
    if kind not in known:
        expected = " or ".join(known)
        raise Unfit("notify.unknown", f"{path}.type", f"expected {expected}, found {shown(kind)}")
    state.registration_ended = kind == known[0]
    if state.registration_ended and state.unannounced:
        names = ", ".join(sorted(state.unannounced)[:3])
        state.report(
            "job.unannounced", path, f"no more jobs are registered, and the scheduler has not executed {names}"
        )


SAID: Final[Mapping[str, Callable[[State, Members, str, float], None]]] = {
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
