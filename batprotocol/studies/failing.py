"""The events of hosts of a run: read from a file, made of a trace of failures, or drawn from laws; and checked.

It must not know the study, nor what schedulers do about failures.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import parse_duration
from batprotocol.errors import InputError
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.simulator import ExternalEventList, Platform, Workload, host_events_of, read_external_events
from batprotocol.sites.logs.outages import outage_events, read_outages
from batprotocol.studies.keys import NEVER
from batprotocol.studies.runs import Task
from batprotocol.studies.schedulers import is_policy
from batprotocol.workloads.changes import known_run_times
from batprotocol.workloads.events import written_event
from batprotocol.workloads.host_events import (
    Exponential,
    FailureModel,
    HostChange,
    HostEvent,
    Weibull,
    drawn_failures,
    parse_law,
    read_host_events,
)
from batprotocol.workloads.host_events.failures import merged_outages

__all__ = [
    "REPAIR",
    "EventsOfFiles",
    "failure_seed_of",
    "file_of_events",
    "laws_of",
    "made_events",
    "until_of",
]

EventsOfFiles: TypeAlias = "Callable[[str], str]"
"""The path of a file of a run on this machine, by its digest."""

REPAIR: Final = "lognormal:mean=355min,median=54min"
"""The law of repairs by default: B. Schroeder and G. A. Gibson, DSN 2006."""
_LONGER: Final = 4.0
"""By default, failures are drawn for this many times the time that the jobs need without failures."""


def laws_of(value: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The laws of failures of a run, as a part of its task; empty: no failures are drawn.

    Args:
        value: the values of the keys of the study.
        seed: the seed of the run.
    """
    if value.get("mtbf", NEVER) == NEVER:
        return {}
    found: dict[str, Any] = {
        "mtbf": seconds_of(value["mtbf"]),
        "shape": float(value.get("failure_shape", 1.0)),
        "repair": str(value.get("repair", REPAIR)),
        "each": str(value.get("failing", "host")),
        "seed": int(value.get("failure_seed", seed)),
    }
    if "failures_until" in value:
        found["until"] = seconds_of(value["failures_until"])
    return found


def failure_seed_of(value: Mapping[str, Any]) -> str | None:
    """The key of the seed that draws failures: `failure_seed`, or else `seed`; None if no seed does."""
    if value.get("mtbf", NEVER) == NEVER:
        return None
    return next((key for key in ("failure_seed", "seed") if key in value), None)


def seconds_of(value: str | float) -> float:
    """The seconds of a duration such as `1mo`, or a number of seconds as it is.

    Raises:
        InputError: it is not a duration.
    """
    return parse_duration(value) if isinstance(value, str) else float(value)


def until_of(laws: Mapping[str, Any], workload: Workload, hosts: int) -> float:
    """The time until which failures are drawn.

    Raises:
        InputError: it is not given, and the run times of the jobs are not known.
    """
    if "until" in laws:
        return float(laws["until"])
    jobs = known_run_times(workload)
    if jobs is None:
        raise InputError(
            "the run times of the jobs are not known before they run: set failures_until, such as failures_until = "
            '"30d", the time until which failures are drawn'
        )
    last = workload[len(workload) - 1].time if len(workload) else 0.0
    work = math.fsum(count * time for count, time in jobs) / hosts
    return _LONGER * (max(last, 0.0) + work + max((time for _, time in jobs), default=0.0))


def made_events(
    task: Task, platform: Platform, workload: Workload, path_of: EventsOfFiles, left_out: LeftOut
) -> list[ExternalEventList]:
    """The external events of a run. Those of hosts are checked, unless the scheduler may read other keys.

    A failure of a host that the events take away, or bring back, in the same time is left out.

    Args:
        task: the run.
        platform: its platform.
        workload: its workload.
        path_of: the path of a file, by its digest.
        left_out: where the rows of a trace that are left out are counted.

    Raises:
        InputError: an event cannot be read, names a host that does not exist, or cannot follow the events before it.
        OSError: a file cannot be read.
    """
    hosts = len(platform.computation_hosts)
    found = []
    if task.events_files:
        path = path_of(task.events_files)
        found += read_host_events([path], hosts) if is_policy(task.scheduler) else [read_external_events(path)]
    if task.failures_files:
        found.append(_of_file(path_of(task.failures_files), platform, left_out))
    if task.drawn_failures:
        laws = task.drawn_failures
        until = until_of(laws, workload, hosts)
        events = drawn_failures(platform, _model(laws), until=until, seed=laws["seed"])
        found.append(ExternalEventList.of(((time, event.to_data()) for time, event in events), corrected=True))
    if len(found) > 1 and any(isinstance(event, HostEvent) for _, event in host_events_of(found[:1])):
        found[1] = _fitting(found[0], found[1], hosts)
    return found


def _model(laws: Mapping[str, Any]) -> FailureModel:
    mean, shape = laws["mtbf"], laws["shape"]
    between = Exponential(mean) if shape == 1 else Weibull.of_mean(shape, mean)
    return FailureModel(between, parse_law(laws["repair"]), laws["each"])


def _of_file(path: str, platform: Platform, left_out: LeftOut) -> ExternalEventList:
    """The events of a file: external events of hosts, or a trace of failures."""
    with open(path, "rb") as file:
        begin = file.read(64)
    if begin.lstrip().startswith(b"{"):
        return read_host_events([path], len(platform.computation_hosts))[0]
    names = [host.name for host in platform.computation_hosts]
    events = outage_events(read_outages(path, left_out), names, left_out)
    return ExternalEventList.of(((time, event.to_data()) for time, event in events), corrected=True)


def _fitting(events: ExternalEventList, failures: ExternalEventList, hosts: int) -> ExternalEventList:
    """The failures without those of hosts that the events take away, or bring back, in the same time."""
    changes: dict[int, list[tuple[float, bool]]] = {}
    for time, event in host_events_of([events]):
        if isinstance(event, HostEvent):
            for host in event.hosts:
                changes.setdefault(host, []).append((time, event.state is HostChange.UP))
    begins: dict[int, float] = {}
    outages: list[tuple[float, float, int]] = []
    for time, event in host_events_of([failures]):
        if not isinstance(event, HostEvent) or event.state is HostChange.DRAIN:
            raise InputError("it has windows or drained hosts, and so have the events: write them into one file")
        for host in event.hosts:
            if event.state is HostChange.DOWN:
                begins[host] = time
            else:
                outages.append((begins.pop(host), time, host))
    outages += [(time, math.inf, host) for host, time in begins.items()]
    found: list[tuple[float, FrozenHosts, bool]] = []
    for begin, end, host in outages:
        known = changes.get(host, [])
        place = bisect_left(known, (begin, False))
        if (place == 0 or known[place - 1][1]) and (place == len(known) or known[place][0] > end):
            found.append((begin, frozen_hosts(host), True))
            if end < math.inf:
                found.append((end, frozen_hosts(host), False))
    found.sort(key=_time)
    return ExternalEventList.of(
        ((time, event.to_data()) for time, event in merged_outages(found, hosts)), name=failures.name, corrected=True
    )


def file_of_events(lists: Sequence[ExternalEventList], folder: str) -> str:
    """The path of a file with these events, for another program: the file that they were read from, or a new one."""
    if len(lists) == 1 and lists[0].filename:
        return lists[0].filename
    path = os.path.join(folder, "events.jsonl")
    events = sorted(((event.timestamp, event.data) for each in lists for event in each.events), key=_time)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(written_event(time, data) for time, data in events)
    return path


def _time(event: tuple[Any, ...]) -> float:
    time: float = event[0]
    return time
