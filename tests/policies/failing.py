"""Random outages of hosts, and an independent check of what policies do about them.

The check reads the rows of jobs.csv, the outages, and the jobs as they were submitted: nothing of the library's plans.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from batprotocol.model import FinalJobState, parse_hosts
from batprotocol.simulator import ExternalEventList

__all__ = ["LATE", "Fate", "Outage", "checked", "events_of", "outages_of"]

LATE = 0.02
"""Seconds by which messages and calls are late."""
KILLED, REJECTED = FinalJobState.COMPLETED_KILLED, FinalJobState.REJECTED


@dataclass(frozen=True)
class Outage:
    """A host is away from one time to another one; it is drained, or it has failed (perhaps while it was drained)."""

    host: int
    begin: float
    end: float
    failed: float

    @property
    def events(self) -> list[tuple[float, str]]:
        told = [] if self.failed == self.begin else [(self.begin, "drain")]
        told += [(self.failed, "down")] if self.failed < math.inf else []
        told += [(self.end, "up")] if self.end < math.inf else []
        return [(time, json.dumps({"hosts": str(self.host), "state": state})) for time, state in told]


@dataclass(frozen=True)
class Fate:
    """The part of a policy that decides about jobs whose hosts fail."""

    name: str = ""
    times: float = 0
    interval: float = math.inf
    cost: float = 0.0
    restart: float = 0.0

    @property
    def part(self) -> str:
        return f"+{self.name}" if self.name else ""


def outages_of(random: Random, hosts: Iterable[int], until: float, *, endless: float = 0.1) -> list[Outage]:
    """Outages of some hosts, none of which begins after a time; some never end."""
    found = []
    for host in hosts:
        time = 0.0
        while random.random() < 0.8:
            begin = time + random.choice([0.5, 1, 5, random.uniform(0.1, until / 3)])
            if begin > until:
                break
            end = begin + random.choice([0.25, 2, 10, random.uniform(0.1, until / 4)])
            end = math.inf if random.random() < endless else end
            failed = random.choice([begin, begin, begin, (begin + min(end, begin + 9)) / 2, math.inf])
            found.append(Outage(host, *(round(each, 2) if each < math.inf else each for each in (begin, end, failed))))
            if end == math.inf:
                break
            time = round(end, 2) + 0.25
    return found


def events_of(outages: Iterable[Outage]) -> ExternalEventList:
    return ExternalEventList.of(sorted(event for outage in outages for event in outage.events), corrected=True)


def checked(
    hosts: int,
    sizes: Mapping[str, int],
    outages: list[Outage],
    rows: Iterable[Any],
    fate: Fate,
    delays: Mapping[str, float],
) -> int:
    """Check the rows of a simulation; returns how many runs failures have ended.

    Args:
        hosts: how many hosts there are.
        sizes: how many hosts each job asks for, by its full id.
        outages: when hosts are away.
        rows: the rows of jobs.csv.
        fate: what becomes of jobs whose hosts fail.
        delays: how long jobs run, of those that are delays and end by themselves.
    """
    runs: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    short = {id.replace("!", "-"): id for id in sizes}
    for row in rows:
        again = re.fullmatch(r"(.+)~(\d+)", row.job_id) if row.workload_name == "again" else None
        first = short[again[1]] if again else f"{row.workload_name}!{row.job_id}"
        runs[first].append((int(again[2]) if again else -1, row))
    assert set(runs) == set(sizes), f"no row has {set(sizes) - set(runs)}"
    gone = len({each.host for each in outages if each.end == math.inf})
    killed = 0
    for id, found in runs.items():
        found.sort(key=lambda each: each[0])
        if len(found) > 1 and found[0][1].final_state is REJECTED and found[1][0] == 0:
            del found[0]  # it takes checkpoints: its first run has another id
            assert fate.interval < math.inf
        numbers = [max(number, 0) for number, _ in found]
        assert numbers == list(range(len(found))), f"{id} misses a run: {numbers}"
        rows_of = [row for _, row in found]
        if rows_of[-1].final_state is REJECTED:
            assert sizes[id] > hosts - gone or id not in delays, f"{id} is rejected, and has hosts enough"
            rows_of.pop()
        for place, row in enumerate(rows_of):
            is_last = place == len(rows_of) - 1
            end = row.starting_time + row.execution_time
            own = list(parse_hosts(row.allocated_resources))
            assert len(own) == sizes[id]
            if not is_last:
                assert row.final_state is KILLED, f"{id} runs again, and was not killed"
                assert end <= rows_of[place + 1].starting_time + LATE, f"{id} runs twice at a time"
            if row.final_state is KILLED:
                killed += 1
                assert any(each.host in own and abs(each.failed - end) < LATE for each in outages), f"{id} was killed"
            for outage in outages:
                if outage.host in own:
                    starts_there = outage.begin + LATE < row.starting_time < outage.end - LATE
                    assert not starts_there, f"{id} starts on host {outage.host}, which is away"
                    was_there = row.starting_time < outage.end - LATE and end > outage.failed + LATE
                    assert not was_there, f"{id} runs on host {outage.host}, which is down"
        ends = [row for row in rows_of if row.final_state is KILLED]
        assert len(ends) <= fate.times + 1, f"{id} runs too often"
        last = rows_of[-1] if rows_of else None
        if last is not None and last.final_state is KILLED and found[-1][1].final_state is not REJECTED:
            assert len(ends) == fate.times + 1, f"{id} is given up too early"
        if id in delays and last is not None:
            _check_work(id, rows_of, fate, delays[id])
    _check_hosts(row for found in runs.values() for _, row in found if row.final_state is not REJECTED)
    return killed


def _check_work(id: str, rows: list[Any], fate: Fate, delay: float) -> None:
    """Count the work that checkpoints keep from the times that runs lasted."""
    kept = 0.0
    cycle = fate.interval + fate.cost
    for number, row in enumerate(rows):
        restart = fate.restart if number else 0.0
        checkpoints = max(math.ceil((delay - kept) / fate.interval - 1e-9) - 1, 0) if fate.interval < math.inf else 0
        length = restart + delay - kept + checkpoints * fate.cost
        if row.final_state is KILLED:
            assert row.execution_time < length + LATE
            done = 0.0 if math.isinf(cycle) else (row.execution_time - restart) / cycle
            if abs(done - round(done)) * cycle < 1e-3 and done > 0.5:
                return  # whether the last checkpoint was complete is a matter of microseconds
            kept += min(max(math.floor(done), 0), checkpoints) * fate.interval if checkpoints else 0.0
        else:
            assert abs(row.execution_time - length) < 1e-3, f"{id} runs {row.execution_time} s, not {length}"


def _check_hosts(rows: Iterable[Any]) -> None:
    """No host has two jobs at a time."""
    of_host = defaultdict(list)
    for row in rows:
        for host in parse_hosts(row.allocated_resources):
            of_host[host].append((row.starting_time, row.starting_time + row.execution_time))
    for times in of_host.values():
        times.sort()
        for (_, end), (start, _) in pairwise(times):
            assert end <= start + 1e-6
