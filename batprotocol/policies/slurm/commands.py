"""The commands of operators, in the words of scontrol and scancel, as the data of external events.

`{"slurm": "scontrol requeue 7"}`. Known are `scancel ID...`, `scontrol hold`, `release`, `requeue` and
`requeuehold` of jobs, `scontrol update JobId=...` with StartTime=now, NodeList, TimeLimit, Nice, Priority, QOS or
Partition, `scontrol update NodeName=... State=...`, `scontrol create ReservationName=...`, and
`scontrol delete ReservationName=...`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.slurm.bits import bits_of
from batprotocol.policies.slurm.changes import Update
from batprotocol.policies.slurm.controller import Controller
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.licenses import LicenseReservation
from batprotocol.policies.slurm.reservations import Reservation
from batprotocol.policies.slurm.values import Partition
from batprotocol.sites.slurm.amounts import minutes, span
from batprotocol.workloads.requests import expanded_names
from batprotocol.workloads.requests.amounts import parse_licenses, parse_moment

__all__ = ["obey", "read_command"]


def read_command(data: str) -> list[str] | None:
    """The command of an external event; None if its data are about something else.

    >>> read_command('{"slurm": "scancel 7"}')
    ['scancel', '7']

    Raises:
        InputError: the command is not text.
    """
    if '"slurm"' not in data:
        return None
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    text = found.get("slurm") if isinstance(found, dict) else None
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > 10_000:
        raise InputError(f"expected a command such as 'scancel 7', got {shown(text)}", "slurm")
    try:
        return shlex.split(text)
    except ValueError:
        raise InputError(f"expected a command such as 'scancel 7', got {shown(text)}", "slurm") from None


def obey(controller: Controller, words: list[str], now: float) -> None:
    """Do what a command says; what is not known has no effect.

    Args:
        controller: the controller.
        words: the words of the command.
        now: the time, in seconds.
    """
    controller.advance(now)
    if words[:1] == ["scancel"]:
        for name in words[1:]:
            for job in _jobs(controller, name):
                controller.cancel(job, now)
    elif words[:1] == ["scontrol"] and len(words) > 2:
        if words[1] in _VERBS:
            for name in (name for word in words[2:] for name in word.split(",")):
                for job in _jobs(controller, name, has_ended=words[1].startswith("requeue")):
                    _VERBS[words[1]](controller, job, now)
        elif words[1] == "delete":
            name = words[2].partition("=")[2] if "=" in words[2] else words[-1]
            controller.rules.licenses.unreserve(name)
            controller.unreserve(name, now)
        elif words[1] == "create":
            _reserve(controller, dict(_pair(word) for word in words[2:] if "=" in word), now)
        elif words[1] == "update":
            _update(controller, dict(_pair(word) for word in words[2:] if "=" in word), now)


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name.lower(), value


def _jobs(controller: Controller, name: str, *, has_ended: bool = False) -> list[SlurmJob]:
    """The jobs of an id: one, or the tasks of an array; with `has_ended`, also those that are over."""
    jobs = [*controller.jobs.values(), *(controller.ended_jobs.values() if has_ended else ())]
    found = [job for job in jobs if job.own_id == name]
    return found or [job for job in jobs if job.array and job.array.rpartition("!")[2] == name]


def _requeue_hold(controller: Controller, job: SlurmJob, now: float) -> None:
    job.is_held = True
    controller.requeue(job, now)


_DIGITS: Final = 10
"""The most digits of a number in a command."""
_VERBS: Final[dict[str, Callable[[Controller, SlurmJob, float], None]]] = {
    "hold": Controller.hold,
    "release": Controller.release,
    "requeue": Controller.requeue,
    "requeuehold": _requeue_hold,
}


_STATES: Final[dict[str, Callable[[Controller, int, float], None]]] = {
    "DOWN": Controller.fail,
    "FAIL": Controller.fail,
    "DRAIN": Controller.drain,
    "IDLE": Controller.resume,
    "RESUME": Controller.resume,
    "UNDRAIN": Controller.resume,
}
"""The states of nodes that operators set."""


def _reserve(controller: Controller, values: dict[str, str], now: float) -> None:
    """Reserve nodes or licences: the times are those of `StartTime=now+SECONDS` and `Duration=`."""
    begin, name = parse_moment(values.get("starttime", "now")), values.get("reservationname")
    if not name or not begin.is_relative:
        return
    start = begin.of(float(controller.second))
    end = start + span(values.get("duration", "UNLIMITED"))
    if values.get("nodes"):
        nodes, flags = _nodes(controller, values["nodes"]), _names(values.get("flags", "").upper())
        who = _names(values.get("users", "")), _names(values.get("accounts", ""))
        controller.reserve(Reservation(name, nodes, start, end, *who, frozenset(flags)), now)
    elif values.get("licenses"):
        licenses = dict(parse_licenses(values["licenses"]))
        controller.rules.licenses.reserve(LicenseReservation(name, licenses, start, end))


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _nodes(controller: Controller, text: str) -> int:
    """The nodes of these names that there are."""
    numbers = {node.name: number for number, node in enumerate(controller.cluster.nodes)}
    names = numbers if text.upper() == "ALL" else expanded_names(text)
    return bits_of(numbers[name] for name in names if name in numbers)


def _update(controller: Controller, values: dict[str, str], now: float) -> None:
    if "nodename" in values:
        change = _STATES.get(values.get("state", "").upper())
        if change is not None:
            change(controller, _nodes(controller, values["nodename"]), now)
        controller.ask(now)
    for job in (job for name in _names(values.get("jobid", "")) for job in _jobs(controller, name)):
        if values.get("priority") == "0":
            controller.hold(job, now)
        else:
            controller.update(job, _values(controller, job, values, now), now)


def _values(controller: Controller, job: SlurmJob, values: dict[str, str], now: float) -> Update:
    """The new values of a job."""
    nodes = values.get("reqnodelist") or values.get("nodelist")
    nice, priority = values.get("nice"), values.get("priority")
    return Update(
        limit=_limit(job, values["timelimit"]) if "timelimit" in values else None,
        nice=None if nice is None else _number(nice),
        priority=None if priority is None else _number(priority),
        qos=values.get("qos"),
        partitions=_partitions(controller, values["partition"]) if "partition" in values else None,
        required=_nodes(controller, nodes) if nodes else None,
        begin=now if values.get("starttime") == "now" else None,
    )


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise InputError(f"expected a whole number, got {shown(text)}", "slurm")
    return int(text)


def _limit(job: SlurmJob, text: str) -> float:
    """A time limit in minutes: as it is, or more or less than that of a job (`+5`)."""
    given = minutes(text.lstrip("+-")) / 60
    if text.startswith("+"):
        return job.limit + given
    return max(job.limit - given, 1) if text.startswith("-") else given


def _partitions(controller: Controller, text: str) -> tuple[Partition, ...]:
    known = {each.name: each for each in controller.cluster.partitions}
    for name in _names(text):
        if name not in known:
            raise InputError(f"there is no partition {shown(name)}{hint(name, known)}")
    return tuple(known[name] for name in _names(text))
