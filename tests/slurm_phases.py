"""The phases of a recorded Slurm: when its loops and checks ran, and when its nodes were clean, as its log says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import median
from typing import Any

from batprotocol.policies.slurm import Phases

__all__ = ["number_of", "phases_of", "submitted_of"]

_EPILOG = 0.06
"""The time from the end of a job to the moment when its nodes are clean, if nothing else is known."""


def phases_of(run: Mapping[str, Any]) -> Phases:
    """When the loops of a recorded Slurm ran."""
    log = run["log"]
    main = [time for time, text in log if "Running job scheduler" in text]
    full = [time for time, text in log if "for full queue" in text]
    cycles = [time for time, text in log if text.endswith("_attempt_backfill: beginning")]
    over = [
        time
        for time, text in log
        if text.startswith(("Time limit exhausted", "Reservation ended", "debug:  Purging vestigial"))
        or "JobId=Invalid" in text
    ]
    kills = [time for time, text in log if re.search("REQUEST_KILL_JOB|Requeuing|state set to DOWN|to reclaim", text)]
    period = _period(main)
    interval = int(_option(run, "sched_interval", 60))
    limits = over[0] - 30 if over else -15.0
    return Phases(
        ticks=tuple(_on_grid(main, over + kills, period)) or (0.5,),
        period=period,
        full=full[0] - interval if full else -30.0,
        last=_last_before(run, main),
        limits=limits,
        seen=tuple(sorted(_seen(run, main))),
        backfill=_first_cycle(run, cycles),
        cycles=tuple(cycles),
        priorities=_priorities(run, full[0] - interval if full else -30.0),
        epilog=_EPILOG,  # these are times of real machines, on a clock that is ten or twenty times as fast
        others=_EPILOG,
        cleaning=0.022 * run["speed"],
        epoch=run["t0_epoch_mod_86400"],
        cleaned=_cleaned(run),
        epilogs=_epilogs(run, period),
    )


_QUIET = re.compile(
    r"debug:  sched: Running|(debug:  )?sched/backfill: |.*unable to schedule|sched: Allocate|_job_complete"
)
"""Lines of the log that ask for no run of the first loop, and those of ends, which do once the nodes are clean."""


def _epilogs(run: Mapping[str, Any], period: float) -> dict[str, float]:
    """The time that the nodes of jobs took to be clean, for those ends whose next run of the first loop shows it.

    The end that makes all nodes of a job clean asks for a run at the next tick. So nodes were not clean before a tick
    without a run; and a run that nothing else asked for was asked for by the end before.
    """
    usual, delay = _EPILOG, _option(run, "batch_sched_delay", 3)
    main: list[tuple[float, bool]] = []
    ends: list[tuple[float, str]] = []
    loud: list[float] = []
    for time, text in run["log"]:
        found = re.match(r"_job_complete: JobId=(\S+) WEXITSTATUS", text)
        if found:
            ends.append((time, number_of(found[1])))
        elif "Running job scheduler" in text:
            main.append((time, "full queue" in text))
        elif not _QUIET.match(text):
            loud.append(time)
    found_here: dict[str, float] = {}
    for (before, _), (now, is_full) in pairwise(main):
        if is_full:
            continue
        missed = now - period if math.floor(now - period) - math.floor(before) >= delay else before
        if any(before < time < now for time in loud):
            continue
        inside = [(time, job) for time, job in ends if before < time < now]
        if inside:
            for time, job in inside:
                if time + usual < missed + 0.1:
                    found_here[job] = missed + 0.1 - time
            if inside[0][0] + usual > now - 0.01:
                found_here[inside[0][1]] = max(now - 0.01 - inside[0][0], 0.001)
        else:
            earlier = [(time, job) for time, job in ends if before - 3 < time <= before]
            if earlier:
                found_here[earlier[-1][1]] = missed + 0.1 - earlier[-1][0]
    return found_here


def _seen(run: Mapping[str, Any], main: list[float]) -> Iterator[float]:
    """The checks of reservations: the first loop runs with the one that sees a reservation first."""
    for _, text in run["log"]:
        found = re.search(r"Created reservation=.* start=@(\d+)", text)
        if found:
            yield from [time for time in main if 0 <= time - int(found[1]) < 6.2][:1]


def _cleaned(run: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """When the nodes of jobs that run again were free."""
    found: dict[str, tuple[float, ...]] = {}
    for time, text in run["log"]:
        match = re.match(r"Requeuing JobId=(\S+)", text)
        if match:
            found[number_of(match[1])] = (*found.get(number_of(match[1]), ()), time)
    return found


def _priorities(run: Mapping[str, Any], full: float) -> float:
    """When priorities were computed first. The log has those of jobs in each run of backfill, and when they changed."""
    period = 60.0 * float(run["slurm_conf"].get("PriorityCalcPeriod", 5))
    seen: dict[str, tuple[float, str]] = {}
    changes: list[tuple[float, float]] = []
    for time, text in run["log"]:
        found = re.search(r"test for JobId=(\S+) Prio=(\d+)", text)
        if found:
            before, priority = seen.get(found[1], (time, found[2]))
            if priority != found[2]:
                changes.append((before, time))
            seen[found[1]] = time, found[2]
    usual = full + 0.06 * run["speed"]  # all threads begin together, about
    if not changes:
        return usual

    def fitting(phase: float) -> int:
        return sum((end - phase) // period > (begin - phase) // period for begin, end in changes)

    return max(
        (full - 0.8 + step / 10 for step in range(-300, 300)), key=lambda each: (fitting(each), -abs(each - usual))
    )


def _last_before(run: Mapping[str, Any], times: list[float]) -> float:
    """The last run of the first loop before the first submission. If the log has none, it was earlier."""
    first = min(submitted_of(run).values(), default=math.inf)
    return max((time for time in times if time < first), default=times[0] - 3.0 if times else -math.inf)


def _first_cycle(run: Mapping[str, Any], cycles: list[float]) -> float:
    """When the second loop looks for work first: some time after a run before the first submission."""
    first = min(submitted_of(run).values(), default=math.inf)
    before = [time for time in cycles if time < first]
    return before[-1] + _option(run, "bf_interval", 30) + 0.01 if before else cycles[0] if cycles else 15.0


def _on_grid(main: list[float], over: list[float], period: float) -> Iterator[float]:
    """The runs at ticks: after a kill, the loop runs once more as soon as the nodes are clean."""
    doubtful = {time for time in main if any(0.1 < time - kill < 0.8 for kill in over)}
    sure = [time for time in main if time not in doubtful]
    last = -math.inf
    for time in main:
        if time - last > 0.9 and (time not in doubtful or _fits(time, sure, period)):
            yield time
            last = time


def _fits(time: float, ticks: list[float], period: float) -> bool:
    """Whether a time is a whole number of periods from the nearest tick."""
    gap = min((abs(tick - time) for tick in ticks), default=math.inf)
    return gap < 12 and abs(gap - round(gap / period) * period) < 0.05 + 0.01 * gap


def _option(run: Mapping[str, Any], name: str, default: float) -> float:
    found = re.search(rf"{name}=(\d+)", run["slurm_conf"].get("SchedulerParameters", ""))
    return float(found[1]) if found else default


def _period(times: list[float]) -> float:
    """The time between two ticks: a real controller takes a little longer than a second."""
    steps = [later - earlier for earlier, later in pairwise(times) if later - earlier < 20]
    return median(step / round(step) for step in steps if round(step)) if len(steps) > 5 else 1.0


def number_of(job: str) -> str:
    """`12`, or `3_7` for a task of an array."""
    return job.partition("(")[0]


def submitted_of(run: Mapping[str, Any]) -> dict[str, float]:
    """When the jobs were submitted. The log has that at the end of the request, with its length."""
    found = {}
    for time, text in run["log"]:
        match = re.match(r"_slurm_rpc_submit_batch_job: JobId=(\d+)(?:.* usec=(\d+))?", text)
        if match:
            found[match[1]] = time - int(match[2] or 0) * 1e-6
    return found
