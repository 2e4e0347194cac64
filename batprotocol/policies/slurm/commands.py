"""Submissions of users, with the options of sbatch, and commands of operators: scontrol and scancel.

Requests have the vocabulary of `batprotocol.workloads.requests`. The few options of sbatch that it does not have stand
in the key `slurm` of the extra data, an object with the keys of `OPTIONS`.

Commands are the data of external events: `{"slurm": "scontrol requeue 7"}`. Known are `scancel ID...`, `scontrol hold`,
`release`, `requeue` and `requeuehold` of jobs, `scontrol update JobId=...` with StartTime=now, NodeList, TimeLimit,
Nice, Priority, QOS or Partition, `scontrol update NodeName=... State=...`, `scontrol create ReservationName=...`, and
`scontrol delete ReservationName=...`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.model import Job, JobSubmittedEvent
from batprotocol.policies.slurm.cluster import ClusterPartition, ConfiguredCluster, bits_of, members
from batprotocol.policies.slurm.controller import Controller, JobUpdate
from batprotocol.policies.slurm.queue import SlurmJob
from batprotocol.policies.slurm.reservations import LicenseReservation, NodeReservation
from batprotocol.sites.slurm.texts import minutes, span
from batprotocol.workloads.requests import Request, expanded_names
from batprotocol.workloads.requests.notation import matches, parse_licenses, parse_moment

__all__ = [
    "OPTIONS",
    "job_of",
    "obey",
    "read_command",
]


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
        controller.reserve(NodeReservation.of(name, nodes, start, end, *who, frozenset(flags)), now)
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


def _values(controller: Controller, job: SlurmJob, values: dict[str, str], now: float) -> JobUpdate:
    """The new values of a job."""
    nodes = values.get("reqnodelist") or values.get("nodelist")
    nice, priority = values.get("nice"), values.get("priority")
    return JobUpdate(
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


def _partitions(controller: Controller, text: str) -> tuple[ClusterPartition, ...]:
    known = {each.name: each for each in controller.cluster.partitions}
    for name in _names(text):
        if name not in known:
            raise InputError(f"there is no partition {shown(name)}{hint(name, known)}")
    return tuple(known[name] for name in _names(text))


# Submissions


OPTIONS: Final[Mapping[str, str]] = {
    "time": "the time limit in seconds, for jobs without a walltime (--time)",
    "time_min": "the least time limit in seconds (--time-min)",
    "nodes": "the least number of nodes, and the most, of which it gets as many as there are (--nodes)",
    "use_min_nodes": "whether it gets as few nodes as possible of that range (--use-min-nodes)",
    "tasks": "the tasks on all nodes together, on as many nodes as they need (--ntasks)",
    "tasks_per_node": "the tasks on each node (--ntasks-per-node)",
    "cpus_per_task": "the CPUs of each task (--cpus-per-task)",
    "memory_per_cpu": "MiB for each CPU (--mem-per-cpu)",
    "gpus": "the GPUs of all nodes together (--gpus): `2`, or `v100:2` with their type",
    "gpus_per_task": "the GPUs of each task (--gpus-per-task), or `v100:1` with their type",
    "nodelist": "the nodes that the job must have (--nodelist)",
    "exclude": "the nodes that it must not have (--exclude)",
    "shares": "whether it asks for the CPUs of its tasks only, one each, and not for whole nodes",
    "switches": "the most switches of the tree that its nodes are at, and the time for which it waits for that, as "
    "`1` or `1@5`: minutes, or HH:MM:SS (--switches)",
    "hold": "whether it is held (--hold)",
    "number": "the number of the job; by default, jobs are numbered as they come",
}
"""The keys of `slurm` in the extra data of jobs, with their meanings."""

_MEBIBYTE: Final = 2**20


def job_of(cluster: ConfiguredCluster, event: JobSubmittedEvent, request: Request, number: int) -> SlurmJob:
    """A job as Slurm sees it.

    Args:
        cluster: the cluster.
        event: its submission, with its number of hosts, its walltime and its extra data.
        request: what it asks for otherwise.
        number: its number.

    Raises:
        InputError: it can never run, with the reason.
    """
    job, job_id, submitted = event.job, event.job_id, event.submission_time
    options = _options(job.extra_data)
    partitions = _partitions_of(cluster, request)
    limit = options.get("time", job.walltime)
    if limit is None or limit == math.inf:
        minutes = min(partitions[0].default_time, partitions[0].max_time)
    else:
        minutes = math.ceil(limit / 60)
    submitted = float(math.floor(submitted + 1e-6))  # Slurm counts whole seconds
    made = SlurmJob(job_id, int(options.get("number", number)), submitted, partitions, minutes)
    made.time_min = math.ceil(options.get("time_min", 0) / 60)
    made.user = "" if request.user is None else str(request.user)
    made.account, made.qos = request.account or "", request.qos or ""
    made.group = "" if request.group is None else str(request.group)
    made.licenses = request.licenses
    made.leaves, made.leaves_wait = _switches(str(options.get("switches", "")), cluster)
    made.nice, made.reservation = request.nice, request.reservation or ""
    made.requeues = cluster.requeues if request.requeue is None else request.requeue
    made.takes_least = bool(options.get("use_min_nodes", False))
    made.is_contiguous, made.is_held = request.contiguous, bool(options.get("hold", False))
    if request.begin is not None:
        made.begin = max(submitted, request.begin.of(submitted))
    if request.array is not None:
        workload, bang, _ = job_id.rpartition("!")
        made.array, made.task = f"{workload}{bang}{request.array.array}", request.array.task
        made.array_limit = request.array.limit or 0
    _sizes(made, job, request, options)
    _allow(made, cluster, request, options)
    return made


def _options(extra_data: str | None) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(extra_data) if extra_data and '"slurm"' in extra_data else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    options = data.get("slurm", {}) if isinstance(data, dict) else {}
    if not isinstance(options, dict):
        raise InputError(f"expected an object with options of sbatch, got {shown(options)}", "slurm")
    for key in options:
        if key not in OPTIONS:
            raise InputError(f"expected {', '.join(OPTIONS)}, got {shown(key)}{hint(key, OPTIONS)}", "slurm")
    return options


def _switches(text: str, cluster: ConfiguredCluster) -> tuple[int, float]:
    """The most switches, and the seconds for which a job waits for so few; 0 if it does not ask."""
    if not text:
        return 0, 0.0
    count, _, wait = text.partition("@")
    if not (count.isascii() and count.isdigit() and 0 < len(count) <= 9):
        raise InputError(f"expected switches such as 1 or 1@5, got {shown(text)}", "slurm.switches")
    most = cluster.loops.max_switch_wait
    return int(count), min(span(wait), most) if wait else most


def _partitions_of(cluster: ConfiguredCluster, request: Request) -> tuple[Any, ...]:
    known = {each.name: each for each in cluster.partitions}
    names = request.partition or ((cluster.default,) if cluster.default else ())
    if not names:
        raise InputError("it names no partition, and slurm.conf has none with Default=YES: give it a partition")
    for name in names:
        if name not in known:
            raise InputError(f"there is no partition {shown(name)}{hint(name, known)}")
    return tuple(known[name] for name in names)


def _sizes(made: SlurmJob, job: Job, request: Request, options: Mapping[str, Any]) -> None:
    """The nodes, CPUs, memory and resources."""
    size = job.resource_request
    if size < 1:
        raise InputError(f"it asks for {size} hosts, and needs one at least")
    made.min_nodes, made.max_nodes = options.get("nodes", (1, math.inf) if "gpus" in options else (size, size))
    cores, is_each = request.cores or 0, request.per == "task"
    made.tasks = request.tasks or made.min_nodes
    if cores:
        made.cpus_per_task = cores if is_each or not request.tasks else max(cores * size // made.tasks, 1)
    made.tasks_per_node = options.get("tasks_per_node", math.ceil(made.tasks / size) if request.tasks else 0)
    if "tasks" in options:
        made.tasks, made.tasks_per_node = options["tasks"], options.get("tasks_per_node", 0)
        if "nodes" not in options:
            made.min_nodes, made.max_nodes = 1, math.inf
    elif "tasks_per_node" in options:
        made.tasks = made.tasks_per_node * made.min_nodes
    made.cpus_per_task = options.get("cpus_per_task", made.cpus_per_task)
    made.is_exclusive = request.exclusive or (request.is_whole and not _asks_for_cpus(options))
    times = math.ceil(made.tasks / size) if is_each else 1
    made.memory = math.ceil((request.memory or 0) * times / _MEBIBYTE)
    made.memory_per_cpu = options.get("memory_per_cpu", 0)
    made.gres = tuple((each.name, each.type or "", each.amount * times) for each in request.gres)
    made.gpus_per_task, each_type = _gpus("gpus_per_task", options, 0)
    made.gpus, made.gpu_type = _gpus("gpus", options, made.gpus_per_task * made.tasks)
    made.gpu_type = made.gpu_type or each_type


def _gpus(key: str, options: Mapping[str, Any], default: int) -> tuple[int, str]:
    """A number of GPUs, and their type; "" for any."""
    found = options.get(key, default)
    if not isinstance(found, str):
        return found, ""
    type, colon, count = found.rpartition(":")
    if not (count.isascii() and count.isdigit() and len(count) <= 9) or "," in type or bool(colon) != bool(type):
        raise InputError(f"expected a number of GPUs such as 2 or v100:2, got {shown(found)}", f"slurm.{key}")
    return int(count), type


def _asks_for_cpus(options: Mapping[str, Any]) -> bool:
    return any(
        key in options for key in ("shares", "tasks", "tasks_per_node", "cpus_per_task", "memory_per_cpu", "gpus")
    )


def _allow(made: SlurmJob, cluster: ConfiguredCluster, request: Request, options: Mapping[str, Any]) -> None:
    """The nodes that the job may have, and those that it must have."""
    excluded = [*request.exclude, *(expanded_names(options["exclude"]) if options.get("exclude") else ())]
    wanted = [*request.nodelist, *(expanded_names(options["nodelist"]) if options.get("nodelist") else ())]
    named = bool(excluded or wanted)
    numbers = {node.name: number for number, node in enumerate(cluster.nodes)} if named else {}
    allowed = (1 << len(cluster.nodes)) - 1
    if request.constraint is not None:
        fitting = bits_of(
            number for number, node in enumerate(cluster.nodes) if matches(request.constraint.each, node.features)
        )
        if fitting.bit_count() < made.min_nodes:
            raise InputError(
                f"{fitting.bit_count()} nodes have {request.constraint.text!r}, and it asks for {made.min_nodes}"
            )
        allowed &= fitting
    for name in excluded:
        allowed &= ~(1 << numbers[name]) if name in numbers else -1
    for name in wanted:
        if name not in numbers:
            raise InputError(f"there is no node {shown(name)}")
        made.required |= 1 << numbers[name]
    made.allowed = allowed
    partitions = ", ".join(each.name for each in made.partitions)
    if all(made.required & ~(each.nodes & allowed) for each in made.partitions):
        nodes = ", ".join(sorted(wanted))
        raise InputError(f"it asks for {nodes}, and partition {partitions} does not have all of them for it")
    most = max((each.nodes & allowed).bit_count() for each in made.partitions)
    if most < made.min_nodes:
        raise InputError(f"it asks for {made.min_nodes} nodes of partition {partitions}, which has {most} that fit")
    cpus = max(_most_cpus(cluster, each.nodes & allowed, made.max_nodes) for each in made.partitions)
    if cpus < made.cpus:
        raise InputError(f"it asks for {made.cpus} CPUs, and the nodes that it can have at once have {cpus}")


def _most_cpus(cluster: ConfiguredCluster, nodes: int, count: float) -> int:
    """The most CPUs that so many of the nodes have together."""
    sizes = {node.cpus for node in cluster.nodes}
    if len(sizes) == 1:
        return int(min(nodes.bit_count(), count)) * sizes.pop()
    found = sorted((cluster.nodes[node].cpus for node in members(nodes)), reverse=True)
    return sum(found[: int(min(len(found), count))])
