"""Recorded runs of a real Slurm, simulated again, and compared with their replays.

`slurm_recordings` reads and checks them, with the configuration and the accounts of the recorded Slurm. This module
simulates the same jobs and events under the policy `slurm`, makes the schedules of both, and counts how many starts are
equal. A simulation takes from the recording that which it cannot know: run times, phases of loops, times of commands.
"""

from __future__ import annotations

import json
import logging
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.errors import InputError, shown
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.model.hosts import format_hosts, frozen_hosts
from batprotocol.policies.slurm import Phases, SlurmScheduler
from batprotocol.policies.slurm.scheduler import Started
from batprotocol.simulator import ExternalEventList, JobRow, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.texts import span
from batprotocol.studies.comparing.schedules import Schedule
from batprotocol.studies.slurm_moments import KILL, drawn_phases_of, phases_of
from batprotocol.studies.slurm_recordings import (
    FOLLOWED_VALUES,
    SBATCH,
    SEPARATOR,
    SlurmRun,
    accounting_of_run,
    component_numbers,
    configuration_of_run,
    is_followed,
    is_recorded,
    number_of,
    parts_of,
    read_recording,
    read_recordings,
    readable,
    sbatch_options,
    silence_of,
    submitted_of,
)
from batprotocol.workloads.host_events import HostEvent
from batprotocol.workloads.host_events.events import HostChange
from batprotocol.workloads.requests import expanded_names
from batprotocol.workloads.requests.usage import rerun_id, submitted_id
from batprotocol.workloads.workload import WorkloadProfile

__all__ = [
    "SBATCH",
    "Replay",
    "ReplayAgreement",
    "SlurmRun",
    "Start",
    "WaitAgreement",
    "accounting_of_run",
    "configuration_of_run",
    "is_recorded",
    "judged",
    "phases_of",
    "read_recording",
    "read_recordings",
    "recorded_again",
    "recorded_schedule",
    "replay",
    "replayed",
    "replayed_schedule",
    "scheduler_of",
    "starts_of",
    "unfollowed_of",
    "waits_judged",
]

_RUN = 1.0
"""The seconds that a run of a loop lasts at most."""
_SILENCE = 5.0
"""The seconds within which a node that is to be used again answers."""
_REPLY = 0.01
"""The seconds from the moment of a command to its end."""
_TICK = 0.001
"""The times of the log are in milliseconds: a node that returns does so before the run of a loop in the same one."""
_EARLIER = 0.001
"""The seconds by which other components of a heterogeneous job end before its leader does, which ends them."""

logger = logging.getLogger("batprotocol.studies")

_MOST_TASKS: Final = 10_000


class Start(NamedTuple):
    """A start of a job."""

    job: str
    time: float
    partition: str
    nodes: str
    by: str


def starts_of(run: Mapping[str, Any]) -> list[Start]:
    """The recorded starts."""
    return [
        Start(number_of(each["job"]), each["t"], each["partition"], each["nodes"], each["by"]) for each in run["starts"]
    ]


def _ends(run: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for time, text in run["log"]:
        match = re.match(r"_job_complete: JobId=(\S+) (?:WEXITSTATUS|WTERMSIG)", text)
        if match:
            found[number_of(match[1])] = time
    return found


_SUSPENDS: Final = re.compile(r"(?:gang: suspending|preempted) JobId=(\S+)(?: suspended by gang.*)?$")
"""A line of the log that says that a job is suspended."""


def _suspended(run: Mapping[str, Any]) -> set[str]:
    """The jobs that were suspended: while they are, the time of their scripts goes on, and these end later."""
    jobs = [each["JobId"] for each in run.get("result_jobs", ()) if isinstance(each.get("SuspendTime"), float)]
    jobs += [match[1] for _, text in run["log"] if (match := _SUSPENDS.search(text))]
    return {number_of(each) for each in jobs}


def _killed(run: Mapping[str, Any]) -> dict[str, float]:
    """How long jobs ran before they were killed, at the longest."""
    began, longest, numbers = dict[str, float](), dict[str, float](), component_numbers(run)
    events = [(start.time, 0, start.job) for start in starts_of(run)]
    for time, text in run["log"]:
        if match := KILL.match(text):
            job = number_of(match[1])
            events += ((time, 1, each) for each in numbers.get(job, (job,)))
        match = re.match(r"_job_complete: JobId=(\S+) ", text)
        if match:
            events.append((time, 2, number_of(match[1])))
    for time, kind, job in sorted(events):
        if kind == 0:
            began[job] = time
        elif kind == 2:
            began.pop(job, None)
        elif job in began:
            longest[job] = max(longest.get(job, 0.0), time - began.pop(job))
    return longest


def _loop_of(run: Mapping[str, Any], time: float) -> float:
    """When the run of a loop began that starts a job at a time: in a simulation, it starts then."""
    began = (each for each, text in run["log"] if "Running job scheduler" in text or "_backfill: beginning" in text)
    return max((each for each in began if time - _RUN < each <= time), default=time)


def _jobs(run: Mapping[str, Any]) -> Iterator[tuple[str, float, dict[str, Any], float, int]]:
    """The jobs: number, submission time, what they ask for, run time, exit code."""
    last = {start.job: _loop_of(run, start.time) for start in starts_of(run)}
    ends, submitted, killed, suspended = _ends(run), submitted_of(run), _killed(run), _suspended(run)
    for each in run["submissions"]:
        if each["id"] < 0:
            continue
        time = submitted.get(str(each["id"]), each["t_returned"])
        if SEPARATOR in each["args"]:
            leader = f"{each['id']}+0"
            whole = ends.get(leader, 0.0) - last.get(leader, math.inf)
            for place, (number, data) in enumerate(_components(each)):
                runtime = (whole if whole > 0 else each["run"] + 0.9) - (_EARLIER if place else 0.0)
                runtime = max(runtime, killed.get(number, 0.0) + 0.3, 0.01)
                yield number, time + place * 1e-6, data, runtime, each.get("exit", 0)
            continue
        asked = _asked(sbatch_options(each["args"]))
        tasks = asked.pop("array", None)
        asked["user"] = each.get("user", "root")
        numbers = [str(each["id"])] if tasks is None else [f"{each['id']}_{task}" for task in tasks[0]]
        runs = each.get("runs") or [each["run"]] * len(numbers)
        for place, (number, seconds) in enumerate(zip(numbers, runs, strict=True)):
            runtime = seconds + 0.9
            if number in ends and number in last and last[number] < ends[number] and number not in suspended:
                runtime = ends[number] - last[number]
            runtime = max(runtime, killed.get(number, 0.0) + 0.3)
            data = dict(asked)
            data["slurm"] = {**asked.get("slurm", {}), "number": each["id"]}
            if tasks is not None:
                data["array"] = f"{number}%{tasks[1]}" if tasks[1] else number
            yield number, time + place * 1e-6, data, max(runtime, 0.01), each.get("exit", 0)


def _components(submission: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The components of a heterogeneous job, each with its number and what it asks for."""
    parts = parts_of(sbatch_options(submission["args"]))
    for offset, options in enumerate(parts):
        number = f"{submission['id']}+{offset}"
        data = _asked(options.items())
        if "array" in data:
            raise InputError("a heterogeneous job cannot be an array, and sbatch refuses it")
        data["user"] = submission.get("user", "root")
        data["slurm"] |= {"number": submission["id"] + offset, "hetjob": f"{number}/{len(parts)}"}
        yield number, data


def _seconds(text: str) -> float:
    """A time limit of sbatch."""
    seconds = span(text)
    if math.isinf(seconds):  # requests cannot have it
        raise InputError(f"expected a finite time limit, got {shown(text)}")
    return seconds


def unfollowed_of(run: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of sbatch in a recorded run that have no effect in its replay, each with the number of its jobs.

    >>> unfollowed_of({"submissions": [{"id": 1, "args": ["-n2", "--hint=compute_bound", "--overcommit"]}]})
    ('--hint (1 job)', '--overcommit (1 job)')
    """
    found: Counter[str] = Counter()
    for each in run["submissions"]:
        if each["id"] >= 0:
            parts = parts_of(sbatch_options(each["args"]))
            found.update({name for part in parts for name, value in part.items() if not is_followed(name, value)})
            whose = {part.get("exclusive", "user") for part in parts} - {"", "user"}
            found.update(f"exclusive={each}" for each in whose)
    return tuple(f"--{name} ({number} job{'s' * (number > 1)})" for name, number in sorted(found.items()))


def _asked(options: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The request of a job, in the vocabulary of requests."""
    data: dict[str, Any] = {}
    slurm: dict[str, Any] = {"shares": True}
    gres: dict[str, str] = {}
    for name, value in options:
        if name == "nodes":
            first, _, last = value.partition("-")
            slurm["nodes"] = [int(first), int(last or first)]
        elif name == "time":
            slurm["time"] = _seconds(value)
        elif name == "time-min":
            slurm["time_min"] = _seconds(value)
        elif name in ("partition", "dependency", "constraint", "account", "qos", "reservation", "begin", "licenses"):
            data[name] = value
        elif name == "job-name":
            data["name"] = value
        elif name == "nice":
            data["nice"] = int(value or 100)
        elif name in ("requeue", "no-requeue"):
            data["requeue"] = name == "requeue"
        elif name in ("exclusive", "oversubscribe"):  # the last one counts
            data.pop("exclusive", None)
            for each in ("exclusive_user", "oversubscribe"):
                slurm.pop(each, None)
            if name == "exclusive" and value != "user":
                data["exclusive"] = True
            else:
                slurm["exclusive_user" if name == "exclusive" else name] = True
        elif name == "contiguous":
            data[name] = True
        elif name == "hold":
            slurm["hold"] = True
        elif name in ("use-min-nodes", "spread-job"):
            slurm[name.replace("-", "_")] = True
        elif name in ("nodelist", "exclude", "switches"):
            slurm[name] = value
        elif name in ("gpus", "gpus-per-task"):
            slurm[name.replace("-", "_")] = int(value) if value.isdecimal() else value
        elif name in ("ntasks", "cpus-per-task", "ntasks-per-node"):
            key = {"ntasks": "tasks", "ntasks-per-node": "tasks_per_node"}.get(name, name.replace("-", "_"))
            slurm[key] = int(value)
        elif name == "cpus-per-gpu":
            slurm["cpus_per_gpu"] = int(value)
        elif name in ("mem", "mem-per-cpu", "mem-per-gpu"):
            mebibytes = _mebibytes(value)
            if name == "mem":
                data["memory"] = f"{mebibytes}M"
            else:
                slurm[name.replace("mem", "memory").replace("-", "_")] = mebibytes
        elif FOLLOWED_VALUES.get(name) == value:
            slurm["threads_per_core"] = 1
        elif name in ("gres", "gpus-per-node"):
            gres[name] = value if name == "gres" else f"gpu:{value}"
        elif name == "array":
            ranges, _, most = value.partition("%")
            data["array"] = _tasks(ranges), int(most or 0)
    if gres:  # sbatch names the GPUs of --gpus-per-node first, and Slurm takes the last number of a kind
        parts = ",".join(gres[name] for name in ("gpus-per-node", "gres") if name in gres).split(",")
        data["gres"] = ",".join({re.sub(r":[0-9]+$", "", part): part for part in parts}.values())
    if "nodelist" in slurm and "nodes" not in slurm and "tasks" in slurm:
        names = expanded_names(slurm["nodelist"])
        slurm["nodelist"] = ",".join(names[: slurm["tasks"]])  # sbatch leaves out nodes that would have no task
    data["slurm"] = slurm
    return data


_UNITS: Final = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}


def _mebibytes(text: str) -> int:
    """An amount of memory of sbatch in MiB: `512`, `512M` or `2G`."""
    unit = _UNITS.get(text[-1:].upper())
    return int(text) if unit is None else math.ceil(int(text[:-1]) * unit)


def _tasks(ranges: str) -> list[int]:
    """The numbers of the tasks of an array."""
    tasks: list[int] = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if not 0 <= last - first < _MOST_TASKS - len(tasks):
            raise ValueError(f"expected an array of 1 to {_MOST_TASKS:,} tasks, got {shown(ranges)}")
        tasks += range(first, last + 1)
    return tasks


def _events(run: Mapping[str, Any], names: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """The external events: what happened to nodes, reservations, and what operators did."""
    silent: dict[str, float] = {}  # nodes that are to be used again as soon as they answer
    for time, text in run["log"]:
        found = re.match(r"update_node: node (\S+) state set to (\S+)", text)
        if found:
            state = "UNDRAIN" if _is_undrained(run, time) else _NODE_STATES.get(found[2], "RESUME")
            if found[2] == "IDLE" and _answer(run, found[1], time) < time + _SILENCE:
                silent[found[1]] = time
                yield time, json.dumps({"slurm": f"scontrol update NodeName={found[1]} Reason=test"})
            else:
                yield time, json.dumps({"slurm": f"scontrol update NodeName={found[1]} State={state}"})
        found = re.match(r"(?:node_did_resp: )?node (\S+) returned to|Node (\S+) now responding", text)
        if found and (found[1] or time < silent.get(found[2], -math.inf) + _SILENCE):
            if found[2]:  # the answer has the first loop run
                yield time, json.dumps({"slurm": f"scontrol update NodeName={found[2]} State=RESUME"})
            else:
                yield time - _TICK, HostEvent(frozen_hosts([names[found[1]]]), HostChange.UP).to_data()
        elif found:
            for moment, change in silence_of(run, found[2], time):
                yield moment, HostEvent(frozen_hosts([names[found[2]]]), change).to_data()
        found = re.match(r"sched: Created reservation=(\S+) (?:users|accounts)=\S+ nodes=(?!\(null\))(\S+) ", text)
        if found:
            yield time, json.dumps({"slurm": _reserving(run, found[1], found[2])})
    for each in run["events"]:
        words = each["cmd"]
        out = _OF_CONFIGURATION.sub("", each["out"]).lower().replace(_UNAVAILABLE, "")
        is_window = words[:2] == ["scontrol", "create"] and not any("LICENSE_ONLY" in word for word in words)
        is_late = len(words) < 5 and any(text in out for text in _LATE)  # the job was in another state then
        has_failed = any(text in out for text in _FAILED) or is_late
        if words[:2] == ["scontrol", "update"] and words[2].lower().startswith("node"):
            if has_failed:  # it has the first loop run all the same
                yield each["t_returned"] - _REPLY, json.dumps({"slurm": f"scontrol update {words[2]} Reason=test"})
            continue
        if is_window or has_failed:
            continue
        if words[0] in ("scancel", "scontrol"):
            yield each["t_returned"] - _REPLY, json.dumps({"slurm": " ".join(words)})


def _is_undrained(run: Mapping[str, Any], time: float) -> bool:
    """Whether a command undrains nodes at a time. The log has the state that they are in then: DOWN, if they are."""
    return any(
        "State=undrain" in each["cmd"] and each["t_sent"] <= time <= each["t_returned"] for each in run["events"]
    )


_UNAVAILABLE: Final = "slurm_suspend error: requested partition configuration not available now"
"""An answer about a job that its partition does not take any more: the command is done all the same."""
_OF_CONFIGURATION: Final = re.compile(r"(?m)^(?:scontrol|scancel): error: .*(?:ignored|is invalid , using)\b.*$")
"""Lines about slurm.conf that a command writes before it does its work."""
_NODE_STATES: Final = {"DOWN": "DOWN", "DRAINED": "DRAIN", "DRAINING": "DRAIN", "FAIL": "FAIL", "FAILING": "FAIL"}
"""The commands that give a node the states that the log names; others are those of nodes in use."""
_FAILED: Final = ("error", "denied", "invalid", "is in use", "not supported")
"""Parts of answers to commands that have failed."""
_LATE: Final = (
    *("job has already finished", "job is no longer pending", "job is pending execution", "job is not suspended"),
    *("already completing or completed", "job is not running"),
)
"""Answers that say that a command has not changed its job."""


def _answer(run: Mapping[str, Any], node: str, time: float) -> float:
    """When a node answers for the first time after a time; infinity: not before its next change."""
    text, change = f"Node {node} now responding", f"update_node: node {node} state set to"
    for later, each in run["log"]:
        if later > time and each.startswith(change):
            break
        if later >= time and each == text:
            return float(later)
    return math.inf


def _reserving(run: Mapping[str, Any], name: str, nodes: str) -> str:
    """The command that made a reservation, with the nodes that it got."""
    for each in run["events"]:
        if f"ReservationName={name}" in each["cmd"] and "create" in each["cmd"]:
            return " ".join([*(word for word in each["cmd"] if not word.startswith("Node")), f"Nodes={nodes}"])
    raise ValueError(f"expected a command that makes the reservation {name}, got none")


def scheduler_of(
    run: Mapping[str, Any], *, seed: int | None = None, phases: Phases | None = None, **options: Any
) -> SlurmScheduler:
    """The policy for a recorded run.

    Args:
        run: the recording.
        seed: draws when the loops run; None: they run at the recorded moments.
        phases: when the loops run, whatever the seed is.
        options: further arguments of `SlurmScheduler`.
    """
    if phases is None:
        phases = phases_of(run) if seed is None else drawn_phases_of(run, seed)
    options = {"time_goes_on": True} | options  # the scripts of recorded jobs sleep
    return SlurmScheduler(configuration_of_run(run), phases, accounting=accounting_of_run(run), **options)


class Replay(NamedTuple):
    """A recorded run, simulated.

    Attributes:
        starts: the starts, in the order of the decisions.
        rows: the row of each job, also of its later lives, by its full id.
        asked: what each job asked for, by its number.
        nodes: the names of the nodes, in the order of their numbers.
        submitted: when each job was submitted, by its number.
        interval: the seconds between two runs of backfill (bf_interval).
    """

    starts: list[Start]
    rows: dict[str, JobRow]
    asked: dict[str, dict[str, Any]]
    nodes: list[str]
    submitted: Mapping[str, float] = {}
    interval: float = 30.0


def replay(run: Mapping[str, Any], *, seed: int | None = None, phases: Phases | None = None, **options: Any) -> Replay:
    """Simulate a recorded run: the same jobs and events, under the policy `slurm`.

    Args:
        run: the recording.
        seed: draws when the loops of a Slurm run that has just started (`drawn_phases_of`); None: they run at the
            recorded moments.
        phases: when the loops run, whatever the seed is.
        options: further arguments of `SlurmScheduler`.

    Raises:
        InputError: something in the recording cannot be read.
    """
    with readable(str(run.get("config", "recording"))):
        scheduler = scheduler_of(run, seed=seed, phases=phases, **options)
        unfollowed = unfollowed_of(run)
        if unfollowed:
            name = run.get("config") or "the recording"
            logger.warning("%s: options of sbatch that are not followed: %s", name, ", ".join(unfollowed))
        nodes = scheduler.configuration.nodes
        platform = described_platform([f"{node.name} cores={node.cpus}" for node in nodes])
        profiles: dict[str, WorkloadProfile] = {}
        jobs, asked, submitted = [], {}, dict[str, float]()
        for number, time, data, seconds, code in _jobs(run):
            profiles[f"p{number}"] = WorkloadProfile(DelayProfile(seconds), return_code=code)
            size = data["slurm"].get("nodes", [1])[0]
            jobs.append(StaticJob(number, time, size, f"p{number}", extra_data=json.dumps(data)))
            asked[number], submitted[number] = data, time
        names = {node.name: place for place, node in enumerate(nodes)}
        events = sorted(_events(run, names))
    lists = [ExternalEventList.of(events, corrected=True)] if events else []
    result = simulate(platform, Workload(jobs, profiles), scheduler, external_events=lists)
    starts = []
    for each in scheduler.starts:
        names_of = ",".join(nodes[node].name for node in each.nodes)
        starts.append(Start(each.job_id.rpartition("!")[2], each.time, each.partition, names_of, each.by))
    rows = _lives({f"{row.workload_name}!{row.job_id}": row for row in result.jobs}, scheduler.starts)
    interval = scheduler.configuration.scheduler.bf_interval
    return Replay(starts, rows, asked, [node.name for node in nodes], submitted, interval)


def _lives(rows: Mapping[str, JobRow], starts: Sequence[Started]) -> dict[str, JobRow]:
    """The rows of jobs, with one row for each start: the parts of a job that was suspended are joined."""
    found, lives = dict[str, JobRow](), dict[str, list[int]]()
    for start in starts:
        lives.setdefault(start.job_id, []).append(_run_of(start.run_id)[1])
    for full, row in sorted(rows.items(), key=lambda each: _run_of(each[0])):
        job, number = _run_of(full)
        name = _name(job.rpartition("!")[2], max(bisect_right(lives.get(job, [0]), number), 1))
        if name in found:
            first, over = found[name], (row.starting_time or 0.0) + (row.execution_time or 0.0)
            seconds = over - (first.starting_time or 0.0)
            row = msgspec.structs.replace(first, execution_time=seconds, final_state=row.final_state)
        workload, _, own = name.partition("!")
        found[name] = msgspec.structs.replace(row, workload_name=workload, job_id=own)
    return found


def _run_of(full: str) -> tuple[str, int]:
    """The first id of a job, by that of a run, and how often it had run before."""
    first = submitted_id(full)
    return (full, 0) if first is None else (first[0].replace("-", "!", 1), first[1])


def recorded_again(run: Mapping[str, Any], other: Mapping[str, Any]) -> Replay:
    """Another recording of the same plan, in the place of a replay: it shows how equal a real Slurm is to itself.

    A job has its number in the first recording, and waits from its submission there. Jobs that only one Slurm took are
    left out.

    Args:
        run: the recording.
        other: a recording of the same plan.

    Raises:
        InputError: the two have other jobs, or something in a recording cannot be read.
    """
    with readable(str(run.get("config", "recording"))):
        mine, others = _by_place(run), _by_place(other)
        both = mine.keys() & others.keys()
        if any(_plan_of(mine[place]) != _plan_of(others[place]) for place in both):
            raise InputError("expected another recording of the same plan, got one with other jobs")
        numbers = {str(others[place]["id"]): str(mine[place]["id"]) for place in both}
        starts = []
        for start in starts_of(other):
            first = re.split("[_+]", start.job)[0]
            if first in numbers:
                names = ",".join(expanded_names(start.nodes))
                starts.append(start._replace(job=numbers[first] + start.job[len(first) :], nodes=names))
        asked, submitted = dict[str, dict[str, Any]](), dict[str, float]()
        for number, time, data in jobs_of(run):
            asked[number], submitted[number] = data, time
        configuration = configuration_of_run(run)
        names_of = [node.name for node in configuration.nodes]
        return Replay(starts, {}, asked, names_of, submitted, configuration.scheduler.bf_interval)


def _by_place(run: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The submissions that Slurm took, by their places in the plan."""
    return {each.get("index", place): each for place, each in enumerate(run["submissions"]) if each["id"] >= 0}


def _plan_of(submission: Mapping[str, Any]) -> tuple[Any, ...]:
    """That which is the same for a job in all recordings of its plan: arguments may have numbers of other jobs."""
    return submission.get("user"), submission.get("run"), submission.get("runs"), len(submission["args"])


def replayed(run: Mapping[str, Any], **options: Any) -> list[Start]:
    """The starts of a recorded run, simulated; see `replay`."""
    return replay(run, **options).starts


def jobs_of(run: Mapping[str, Any]) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """The jobs of a recorded run: number, submission time, and what they ask for."""
    for number, time, data, _, _ in _jobs(run):
        yield number, time, data


# How far a replay of a recorded Slurm agrees with the recording: in times, in order, and in nodes.


NEAR = 3.0
"""Starts are near if they are at most so many seconds apart: the main loop runs every 3 s."""


class ReplayAgreement(NamedTuple):
    """How far a replay and its recording agree.

    Attributes:
        starts: the recorded starts.
        near: those that are within `NEAR` seconds in the replay.
        pairs: the pairs of successive starts of a partition.
        ordered: those that have the same order in the replay.
        placed: the starts on the same nodes.
        misses: a line for each start that is not near, or on other nodes.
    """

    starts: int
    near: int
    pairs: int
    ordered: int
    placed: int
    misses: list[str]

    def sentence(self) -> str:
        """The counts, for a line of a report."""
        near, order = f"{self.near:,} of {self.starts:,}", f"{self.ordered:,} of {self.pairs:,}"
        where = f"{self.placed:,} starts on the same nodes"
        return f"{near} starts within {NEAR:g} s, {order} pairs in the same order, {where}"


def judged(run: Mapping[str, Any], simulated: Sequence[Start]) -> ReplayAgreement:
    """How far a replay agrees with its recording."""
    real = starts_of(run)
    lives: dict[str, list[tuple[int, Start]]] = {}
    for place, start in enumerate(simulated):
        lives.setdefault(start.job, []).append((place, start))
    taken: dict[str, int] = {}
    near = placed = 0
    misses = []
    partners: list[tuple[str, int] | None] = []
    for start in real:
        count = taken[start.job] = taken.get(start.job, 0) + 1
        mine = lives.get(start.job, [])
        partner = mine[count - 1] if count <= len(mine) else None
        partners.append(None if partner is None else (start.partition, partner[0]))
        if partner is None:
            misses.append(f"{start.job}: starts at {start.time} by {start.by} on {start.nodes}, and never here")
            continue
        late = partner[1].time - start.time
        is_near = abs(late) <= NEAR
        near += is_near
        same = set(expanded_names(start.nodes)) == set(partner[1].nodes.split(","))
        placed += same
        if not is_near or not same:
            misses.append(
                f"{start.job}: {start.time:.1f} {start.by} {start.nodes} | {partner[1].time:.1f} {partner[1].by} "
                f"{partner[1].nodes if not same else '='} ({late:+.1f})"
            )
    pairs = ordered = 0
    last: dict[str, int] = {}
    for found in partners:
        if found is not None:
            partition, place = found
            if partition in last:
                pairs += 1
                ordered += last[partition] < place
            last[partition] = place
    return ReplayAgreement(len(real), near, pairs, ordered, placed, misses)


class WaitAgreement(NamedTuple):
    """How far the waiting times of a replay and its recording agree: those before the first start of each job.

    Attributes:
        jobs: the jobs that start in the recording.
        within: those that start within one bf_interval of it in the replay.
        recorded, simulated: the sums of the waiting times, in seconds, of the jobs that start in both.
    """

    jobs: int
    within: int
    recorded: float
    simulated: float

    @property
    def bias(self) -> float:
        """How much longer the mean wait of the replay is, as a fraction of the recorded one; 0 without waits."""
        return self.simulated / self.recorded - 1 if self.recorded > 0 else 0.0


def waits_judged(run: Mapping[str, Any], replay: Replay) -> WaitAgreement:
    """How far the waiting times of a replay and its recording agree."""
    real, ours = dict[str, float](), dict[str, float]()
    for found, starts in ((real, starts_of(run)), (ours, replay.starts)):
        for start in starts:
            found.setdefault(start.job, start.time)
    both = [(time, ours[job], replay.submitted[job]) for job, time in real.items() if job in ours]
    return WaitAgreement(
        len(real),
        sum(abs(one - other) <= replay.interval for one, other, _ in both),
        sum(one - since for one, _, since in both),
        sum(other - since for _, other, since in both),
    )


# The two schedules of a recorded Slurm: the recorded one, and that of its replay under the policy `slurm`.


_STATES: Final = {
    "COMPLETED": FinalJobState.COMPLETED_SUCCESSFULLY,
    "FAILED": FinalJobState.COMPLETED_FAILED,
    "TIMEOUT": FinalJobState.COMPLETED_WALLTIME_REACHED,
}
_NEAR: Final = 1.5
"""Seconds between a start in the log and in the record of the end, which has whole seconds."""
_ENDS: Final = re.compile(
    r"Time limit exhausted for JobId=([0-9]{1,9}(?:[_+][0-9]{1,9})?)\b|"
    r"_job_complete: JobId=([0-9]{1,9}(?:[_+][0-9]{1,9})?)(?:\([0-9]{1,9}\))? (WEXITSTATUS [0-9]{1,9}|WTERMSIG)"
)
"""The lines of the log that say how a job ends."""
_WHOLE: Final = 1.0
"""Limits count from the whole second of the start."""


def recorded_schedule(run: Mapping[str, Any], name: str) -> Schedule:
    """The schedule of a recorded run: each start is a job.

    Args:
        run: the recording.
        name: its name in comparisons.

    Raises:
        InputError: something in the recording cannot be read.
    """
    with readable(name):
        numbers = {node.name: place for place, node in enumerate(configuration_of_run(run).nodes)}
        jobs = {number: (time, data) for number, time, data in jobs_of(run)}
        over = max((time for time, _ in run["log"]), default=0.0)
        rows, by, lives = [], dict[str, str](), Counter[str]()
        for start, given in zip(starts_of(run), run["starts"], strict=True):
            lives[start.job] += 1
            time, data = jobs[start.job]
            end, state = _end(run, given, over)
            hosts = sorted(numbers[node] for node in expanded_names(start.nodes))
            full = _name(start.job, lives[start.job])
            by[full] = start.by
            rows.append(
                _row(
                    full,
                    data,
                    submission_time=time,
                    final_state=state,
                    starting_time=start.time,
                    execution_time=max(end - start.time, 0.0),
                    allocated_resources=format_hosts(hosts),
                )
            )
    if not rows:
        raise InputError("no job of the recording started, so there is no schedule to compare", file=name)
    asked = {f"w0!{number}": data for number, (_, data) in jobs.items()}
    return Schedule(name=name, jobs=tuple(rows), hosts=len(numbers), is_logged=True, asked=asked, by=by)


def replayed_schedule(replay: Replay, name: str) -> Schedule:
    """The schedule of a replay, with its rows in the order of the starts.

    Args:
        replay: the replay.
        name: its name in comparisons.
    """
    rows, by, lives = [], dict[str, str](), Counter[str]()
    for start in replay.starts:
        lives[start.job] += 1
        full = _name(start.job, lives[start.job])
        by[full] = start.by
        row = replay.rows.get(full)
        if row is not None:
            rows.append(_limited(row, replay.asked[start.job]))
    asked = {f"w0!{number}": data for number, data in replay.asked.items()}
    return Schedule(name=name, jobs=tuple(rows), hosts=len(replay.nodes), asked=asked, by=by)


def _name(job: str, life: int) -> str:
    return f"w0!{job}" if life == 1 else rerun_id(f"w0!{job}", life - 1)


def _row(full: str, data: Mapping[str, Any], **values: Any) -> JobRow:
    workload, _, own = full.partition("!")
    options = data["slurm"]
    return JobRow(
        job_id=own,
        workload_name=workload,
        profile=f"w0!p{own}",
        requested_number_of_resources=options.get("nodes", [1])[0],
        requested_time=_limit(options),
        **values,
    )


def _limit(options: Mapping[str, Any]) -> float | None:
    """The time limit in seconds. Slurm has whole minutes."""
    return None if "time" not in options else float(-(-options["time"] // 60) * 60)


def _limited(row: JobRow, data: Mapping[str, Any]) -> JobRow:
    """A row with its time limit, and as one that reached it if it was killed then."""
    limit, state = _limit(data["slurm"]), row.final_state
    if state is FinalJobState.COMPLETED_KILLED and limit and (row.execution_time or 0.0) > limit - _WHOLE:
        state = FinalJobState.COMPLETED_WALLTIME_REACHED
    return msgspec.structs.replace(row, requested_time=limit, final_state=state)


def _end(run: Mapping[str, Any], start: Mapping[str, Any], over: float) -> tuple[float, FinalJobState]:
    """The end of a run of a job, and its state: those of its record, or else of the log.

    A job that has neither ran until the end of the recording.
    """
    for record in _records(run, start):
        return record["EndTime"], _STATES.get(record.get("JobState", ""), FinalJobState.COMPLETED_KILLED)
    job = start["job"].partition("(")[0]
    for time, text in run["log"]:
        found = _ENDS.match(text) if time > start["t"] else None
        if found and job in (found[1], found[2]):
            if found[1]:
                return time, FinalJobState.COMPLETED_WALLTIME_REACHED
            is_good = found[3] == "WEXITSTATUS 0"
            return time, FinalJobState.COMPLETED_SUCCESSFULLY if is_good else FinalJobState.COMPLETED_FAILED
    return over, FinalJobState.COMPLETED_KILLED


def _records(run: Mapping[str, Any], start: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    job, _, raw = start["job"].partition("(")
    for record in run.get("jobcomp", ()):
        times = record.get("StartTime"), record.get("EndTime")
        if record.get("JobId") != (raw.rstrip(")") or job) or not all(isinstance(each, int | float) for each in times):
            continue
        if abs(times[0] - start["t"]) <= _NEAR:
            yield record


__getattr__ = old_names(__name__, {"Verdict": "ReplayAgreement"})
