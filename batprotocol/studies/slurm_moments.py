"""When the loops and checks of a recorded Slurm ran, and when its nodes were clean, as its log says."""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final

import msgspec

from batprotocol.policies.fair_share import age_factor
from batprotocol.policies.slurm import Phases
from batprotocol.policies.slurm.clock import Leave
from batprotocol.sites.slurm.configuration import SlurmConfiguration
from batprotocol.studies.slurm_recordings import component_numbers, configuration_of_run, number_of, submitted_of
from batprotocol.workloads.requests import expanded_names

__all__ = ["KILL", "Moments", "drawn_phases_of", "phases_of"]


# Times of a real machine: the clock of a recording is faster than it by `speed`
_EPILOG = 0.0085
"""The time from the end of a job to the moment when its nodes are clean, if nothing else is known. After a kill, the
nodes but the first are clean then."""


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
        or " timed out, the job is at" in text
    ]
    tested = [time for time, text in log if text.startswith("debug2: Testing job time limits")]
    over = tested or sorted([*over, *_over_after_preemption(log)])
    period, configuration = _period(main), configuration_of_run(run)
    loops = configuration.scheduler
    # A log that was cut has no submission of its first jobs.
    first = min([*submitted_of(run).values(), *(start["t"] for start in run["starts"])], default=math.inf)
    last_full = max((time for time in full if time < first), default=full[0] - loops.sched_interval if full else -30.0)
    # Checks before the first one that found a job found none, unless jobs were stopped, and went on later.
    stops = any("suspend" in text for _, text in log)
    limits = over[0] - 30 * (math.ceil(over[0] / 30) if stops and not tested else 1) if over else -15.0
    delay = max(loops.batch_sched_delay, loops.sched_min_interval)
    leaves, at_once = _leaves(run)
    moments = None if leaves else Moments(run, period, delay)
    ticks = [time for time in main if time not in at_once] if moments is None else moments.ticks
    priorities, calculations = _priorities(run, last_full, configuration)
    return Phases(
        ticks=tuple(ticks) or (0.5,),
        period=period,
        full=last_full,
        last=_last_before(first, ticks, delay),
        limits=limits,
        checks=tuple(over),
        seen=tuple(sorted(_seen(run, main))),
        backfill=_first_cycle(first, cycles, loops.bf_interval),
        cycles=tuple(cycles),
        turns=tuple(_turns(log)),
        priorities=priorities,
        calculations=calculations,
        epilog=_EPILOG * run["speed"],
        others=_EPILOG * run["speed"],
        cleaning=_CLEANING * run["speed"],
        epoch=run["t0_epoch_mod_86400"],
        cleaned={} if moments is None else moments.cleaned(),
        epilogs={} if moments is None else moments.epilogs,
        prompt=frozenset(() if moments is None else moments.prompt),
        leaves=leaves,
        aging=dict(_aging(run)),
    )


def _aging(run: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Since when the tasks of arrays age that ran once, as their records say: the rule behind it is not known."""
    for job in run.get("result_jobs", ()):
        since, task = job.get("AccrueTime"), job.get("ArrayTaskId", "")
        if task.isdecimal() and isinstance(since, float) and job.get("Restarts", "0") == "0":
            yield f"{job['ArrayJobId']}_{task}", since


_TRACED: Final = re.compile(
    r"TRACE_JOBS: (?P<what>deallocate_nodes|job_epilog_complete: enter|cleanup_completing):? JobId=(?P<job>\S+)"
    r"|debug2: _slurm_rpc_epilog_complete: JobId=(?P<asked>\S+) Node=(?P<node>\S+)"
)
"""The lines of the log (`DebugFlags=TraceJobs`, `SlurmctldDebug=debug2`) that say when nodes are clean."""
_LOOP: Final = re.compile(r"(?:debug:  )?sched: Running job scheduler|.*_attempt_backfill: beginning$")
_AFTER: Final = 0.0005
"""A node that is clean in the same millisecond as a run of a loop, and behind it in the log, is so much later."""
_PROMPTLY: Final = 0.3
"""The first loop runs at once if it runs within so many seconds: it may have to wait for a lock."""


class _Leaving:
    """A job that leaves its nodes, as far as the log was read."""

    def __init__(self, begin: float, nodes: dict[str, int]) -> None:
        self.begin, self.nodes = begin, nodes
        self.answers: list[tuple[float, str]] = []  # when a node was clean, and its name, if the log has it
        self.end, self.is_last = math.inf, False  # when all were, and whether that was at the last answer so far
        self.asks = math.inf  # since when the first loop was to run at once, as the last of them said that it was clean
        self.late: list[float] = []  # the same for nodes that said so later, as those that are down do

    def leave(self, prompt: Collection[float]) -> Leave:
        """The moments that are known of it, with the times at which jobs had the first loop run at once."""
        left, steps = dict(self.nodes), dict[float, int]()
        for time, node in self.answers:
            if node in left:
                steps[time] = steps.get(time, 0) | left.pop(node)
        # Nodes that answered that they were clean already, all at once. Those that are down do not answer.
        time = max((time for time, node in self.answers if not node), default=self.end)
        if left:
            steps[time] = steps.get(time, 0) | sum(left.values())
        last = steps.pop(max(steps), 0) if steps else 0
        found = (*sorted(each for each in steps.items() if each[0] < self.end), (self.end, last))
        late = tuple(each for each in self.late if each in prompt)
        return Leave(self.begin, sum(self.nodes.values()), found, self.asks in prompt, late)


def _leaves(run: Mapping[str, Any]) -> tuple[dict[str, tuple[Leave, ...]], frozenset[float]]:
    """How jobs left their nodes, by jobs and in order, and the runs of the first loop that are at no tick for that.

    Slurm sends one message to the nodes of an ended job. They answer it together, usually that nothing of the job is
    left there. A node on which something is left says later, in a message of its own, that it is clean. If it is the
    last one, the first loop runs at once; else, at its next tick. Both are empty if the log does not have that.
    """
    numbers = {node.name: 1 << place for place, node in enumerate(configuration_of_run(run).nodes)}
    began: dict[str, list[tuple[float, str]]] = {}
    for start in run["starts"]:
        began.setdefault(number_of(start["job"]), []).append((start["t"], start["nodes"]))
    found: dict[str, list[_Leaving]] = {}
    loop, asks, prompt, at_once = -math.inf, list[float](), set[float](), set[float]()
    for time, text in run["log"]:
        if _LOOP.match(text):
            loop = time
            if "Running job" in text and any(time - each < _PROMPTLY for each in asks):
                at_once.add(time)
                prompt.update(asks)
            asks = [] if "Running job" in text else asks
        traced = _TRACED.match(text)
        if traced is None:
            continue
        job, moment = number_of(traced["job"] or traced["asked"]), time + _AFTER * (time == loop)
        mine = found.setdefault(job, [])
        if traced["what"] == "deallocate_nodes":
            nodes = [names for start, names in began.get(job, ()) if start <= time][-1:]
            if nodes and not (mine and mine[-1].end == math.inf):
                mine.append(_Leaving(time, {name: numbers[name] for name in expanded_names(nodes[0])}))
        elif not mine:
            continue
        elif traced["what"] == "cleanup_completing":
            mine[-1].end, mine[-1].is_last = min(mine[-1].end, moment), True
        elif traced["what"]:
            mine[-1].answers.append((moment, ""))
            mine[-1].is_last = False
        elif mine[-1].answers:
            mine[-1].answers[-1] = mine[-1].answers[-1][0], traced["node"]
            if mine[-1].is_last:
                mine[-1].asks = moment
            elif mine[-1].end < math.inf:
                mine[-1].late.append(moment)
            asks += [moment] if mine[-1].end < math.inf else []
    leaves = {job: tuple(each.leave(prompt) for each in jobs if each.end < math.inf) for job, jobs in found.items()}
    return {job: each for job, each in leaves.items() if each}, frozenset(at_once)


_STARTS: Final = re.compile(r"sched: Allocate |sched/backfill: _start_job: Started ")
"""A line of the log that says that a job starts."""
_AT_ONCE: Final = 0.05
"""The time from the line that a job is suspended to that of the start that does it, at most."""


_GAVE_WAY: Final = re.compile(r"debug:  preempted JobId=(\S+) suspended by gang scheduler")
"""A line that says that a job is suspended for another one, so that its limit stays where it is."""
_KILLED: Final = re.compile(r"job_signal: 9 of running JobId=(\S+)")
_LOOPS: Final = ("sched: Running job scheduler", "_attempt_backfill: beginning")
_COMMAND: Final = "_slurm_rpc_"


def _over_after_preemption(log: Sequence[Sequence[Any]]) -> Iterator[float]:
    """The checks of limits that killed jobs which had been suspended for others: Slurm does not say that they are over.

    Such a kill is neither one of a loop nor one of a command, which the log has just before it.
    """
    gave_way, loop = set[str](), -math.inf
    for time, text in log:
        if (_COMMAND in text and text[:7] != "debug2:") or any(each in text for each in _LOOPS):
            loop = time
        if match := _GAVE_WAY.match(text):
            gave_way.add(match[1])
        match = _KILLED.match(text)
        if match and match[1] in gave_way and time > loop + _AT_ONCE:
            yield time


def _turns(log: Sequence[Sequence[Any]]) -> Iterator[float]:
    """The ends of time slices that suspend jobs: no job starts then."""
    starts, last = [time for time, text in log if _STARTS.match(text)], -math.inf
    for time, text in log:
        if "gang: suspending" in text:
            place = bisect_left(starts, time)
            if (place == len(starts) or starts[place] > time + _AT_ONCE) and time > last + 1:
                last = time
                yield time


def drawn_phases_of(run: Mapping[str, Any], seed: int, *, just_started: bool = True) -> Phases:
    """When the loops of a Slurm run that a seed draws: no recorded moment, but the hour and the speed of the recording.

    Args:
        run: the recording.
        seed: the seed, >= 0.
        just_started: whether its Slurm has started 3 to 8 s before the recording begins, as that of each recorder of
            the project. Its loops and checks then begin with it. Else it has run for long, and they are anywhere in
            their periods.
    """
    configuration = configuration_of_run(run)
    loops = configuration.scheduler
    speed: float = run["speed"]
    chance = random.Random(f"start of a Slurm {seed}")
    found = msgspec.structs.replace(
        Phases.drawn(seed, loops, configuration.priority.calc_period),
        period=1.0 + chance.uniform(*_SLOWER) * speed,
        epilog=_EPILOG * speed,
        others=_EPILOG * run["speed"],
        cleaning=_CLEANING * speed,
        epoch=run["t0_epoch_mod_86400"],
    )
    if not just_started:
        return found
    start = -chance.uniform(*_STARTED)
    first = min(submitted_of(run).values(), default=0.0)
    backfill = start + loops.bf_interval
    while backfill < first:  # it runs then, with nothing to do, and sleeps again
        backfill += loops.bf_interval + _REST
    return msgspec.structs.replace(
        found,
        ticks=(start + math.ceil(-start / found.period) * found.period,),
        full=start,
        last=chance.uniform(start, first),  # nodes that answer for the first time have the first loop run, too
        limits=start,
        reservations=start,
        backfill=backfill,
        priorities=_calculation_of(start, speed),
    )


def _calculation_of(start: float, speed: float) -> float:
    """When priorities are computed first: the thread wakes at a whole second, and takes a real moment."""
    return math.floor(start) + 0.045 * speed


_STARTED: Final = (3.0, 8.0)
"""The seconds from the start of slurmctld to the begin of a recording: nine in ten of those with odd seeds."""
_SLOWER: Final = (0.001, 0.003)
"""The seconds of the machine by which a tick is longer than a second: it is ten naps, and some work."""
_REST: Final = 0.01
"""The seconds that a run of the second loop with nothing to do counts as."""
_AGES: Final = 'sprio -h -o "%i %u %Y %A %F %J %P %Q %N %T"'
"""The command of a sample that prints the parts of priorities."""
_PRIORITY: Final = re.compile(r"JobId=(\S+) (?:Prio|unable to schedule .*Priority)=(\d+)")
"""A line of either loop with the priority of a job."""
_LATEST_CALCULATION: Final = 3
"""A calculation of priorities is at most so many seconds late."""
_WAKES: Final = 0.02
"""A calculation in the second after the usual one is so many seconds after its begin."""
_CLEANING = 0.022
"""The time of the machine from the kill of a job to the moment when its nodes are clean, if nothing else is known."""
_END = re.compile(r"_job_complete: JobId=(\S+) WEXITSTATUS")
KILL = re.compile(
    r"(?:(?:Time limit exhausted for|Reservation ended for|preempted|_slurm_rpc_kill_job: REQUEST_KILL_JOB|requeue job"
    r"|debug:  _job_requeue_op:|job_signal: 9 of running) |(?=\S+ timed out, the job is at))JobId=(\S+)"
)
"""The lines of the log that say that a job is killed."""
_REQUEUED = re.compile(r"Requeuing JobId=(\S+)")
_QUIET = re.compile(
    r"debug:  sched: Running|(debug:  )?sched/backfill: |.*unable to schedule|sched: Allocate|_job_complete|Requeuing"
)
"""Lines of the log that ask for no run of the first loop, and those of ends, which do once the nodes are clean."""
_ONE_KILL = 0.2
"""Lines within so many seconds are of one kill."""
_SOON = 5.0
"""Nodes are clean within so many seconds of a kill."""
_BRIEF = 0.3
"""A run of the first loop so many seconds after nodes were clean at most is the first one that sees them."""
_LAST = 3.0
"""Nodes are clean within so many seconds of an end."""


class Moments:
    """The moments at which nodes were clean, as the runs of the first loop show.

    The loop runs at ticks. The end that makes all nodes of a job clean asks for a run at the next tick. So nodes were
    not clean before a tick without a run, and a run that nothing else asked for was asked for by the end before. If
    all nodes of a job answer that they are clean already, as after most kills, the loop runs at once. Such a run is
    not at a tick, or too early after the last one. Nodes that another job got were clean.

    Args:
        run: the recording.
        period: the time between two ticks.
        delay: the least time between two runs of the first loop (batch_sched_delay or sched_min_interval).

    Attributes:
        ticks: the runs at ticks.
        epilogs: the times from ends of jobs to the moments when all their nodes were clean, for those that are known.
        prompt: the jobs whose ends were followed by a run at once.
    """

    def __init__(self, run: Mapping[str, Any], period: float, delay: float) -> None:
        self._period, self._delay = period, delay
        self._epilog, self._cleaning = _EPILOG * run["speed"], _CLEANING * run["speed"]
        self._main = [(time, "full queue" in text) for time, text in run["log"] if "Running job scheduler" in text]
        self._ends = _jobs_in(run, _END)
        self._kills = sorted(_first_kills(_jobs_in(run, KILL)))
        known = (_QUIET, _END, KILL)
        self._loud = [time for time, text in run["log"] if not any(each.match(text) for each in known)]
        self._loud += [each["t_returned"] for each in run["events"]]  # commands that archives need not have in the log
        self._requeued = _jobs_in(run, _REQUEUED)
        loops = [time for time, _ in self._main]
        self._reused = _reused(run, self._ends, loops)
        self._emptied = _reused(run, self._kills, loops, first_only=True)
        self.ticks: list[float] = []
        self.epilogs: dict[str, float] = {}
        self.prompt: set[str] = set()
        self._killed: dict[str, tuple[float, ...]] = {}
        self._sort_runs(run)
        for before, now in pairwise(self.ticks):
            self._look(before, now)
        for time, job in self._ends:
            clean = self._reused.get((time, job), math.inf) - time
            if clean < self.epilogs.get(job, self._epilog):
                self.epilogs[job] = clean
        ends = Counter(job for _, job in self._ends)
        self.epilogs = {job: time for job, time in self.epilogs.items() if ends[job] == 1}

    def _sort_runs(self, run: Mapping[str, Any]) -> None:
        """Tell the runs at ticks from those at once."""
        sure = [time for time, is_full in self._main if is_full or not self._follows_kill(time)]
        last, first = -60.0, min(submitted_of(run).values(), default=-math.inf)
        for place, (time, is_full) in enumerate(self._main):
            is_late = is_full or math.floor(time) - math.floor(last) >= self._delay
            is_tick = is_late and (is_full or not self._follows_kill(time) or _fits(time, sure, self._period))
            if is_tick and not is_full and self._open_kills(time) and not self._is_asked(time, last):
                is_tick = any(last - _LAST < end < time for end, _ in self._ends)
            following = self._main[place + 1] if place + 1 < len(self._main) else (math.inf, True)
            if is_late and not is_tick and not following[1] and self._is_asked(time, last):
                is_tick = self._is_cleaned_by(time, following[0])
            elif is_tick and not is_full and not following[1] and self._is_early(time, following[0]):
                # The next run is at a tick, so that this one is not, if something else has it come
                is_tick = time > first and not self._ended(time)
            elif is_tick and not is_full and not following[1] and self._gives_way(time, following[0], sure):
                is_tick = time <= first
            if is_tick:
                self.ticks.append(time)
                last = time
            else:
                self._at_once(time)

    def _is_asked(self, time: float, last: float) -> bool:
        """Whether a submission or a command since the last tick has the loop run at a tick up to a time."""
        return any(last < each < time for each in self._loud)

    def _is_cleaned_by(self, tick: float, time: float) -> bool:
        """Whether the only kill that can have had a run come at once has had another one come, soon after a tick."""
        if math.floor(time) - math.floor(tick) >= self._delay or self._ended(time):
            return False
        return len({job for _, job in self._open_kills(time)}) == 1

    def _open_kills(self, time: float) -> list[tuple[float, str]]:
        """The kills shortly before a time of jobs whose nodes are not known to be clean."""
        return [(kill, job) for kill, job in self._kills if 0 < time - kill < _SOON and not self._is_known(job, kill)]

    def _is_early(self, tick: float, time: float) -> bool:
        """Whether a run comes too early after a tick to be at another one, and no end has it come."""
        if math.floor(time) - math.floor(tick) >= self._delay or self._ended(time):
            return False
        return not any(0 < time - kill < _SOON for kill, _ in (*self._kills, *self._requeued))

    def _ended(self, time: float) -> list[tuple[float, str]]:
        """The ends shortly before a time of jobs whose nodes no other job has got before it."""
        return [
            (end, job)
            for end, job in self._ends
            if 0 < time - end < _LAST
            and job not in self.prompt
            and self._reused.get((end, job), math.inf) > time - 0.02
        ]

    def _gives_way(self, time: float, following: float, sure: list[float]) -> bool:
        """Whether a run after an end is between two ticks, as the next one is at a tick and has been asked for."""
        if math.floor(following) - math.floor(time) >= self._delay or not self._is_asked(following, time):
            return False
        others = [tick for tick in sure if tick not in (time, following)]
        is_off = not _fits(time, others, self._period) and _fits(following, others, self._period)
        return is_off and bool(self._ended(time))

    def _follows_kill(self, time: float) -> bool:
        return any(0.1 < time - kill < 1 for kill, _ in self._kills) or any(
            abs(time - clean) < 0.01 for clean, _ in self._requeued
        )

    def _at_once(self, time: float) -> None:
        """The nodes of a job that was killed or has ended are clean when the loop runs at once."""
        known = {job for clean, job in self._requeued if abs(clean - time) < 0.05}
        if known:
            return
        killed, ended = self._open_kills(time), self._ended(time)
        reused = [job for kill, job in killed if abs(self._emptied.get((kill, job), math.inf) - time) < 0.02]
        refilled = [each for each in ended if abs(self._reused.get(each, math.inf) - time) < 0.02]
        if killed and (reused or not refilled):
            job = (reused or [job for _, job in killed])[0]
            self._killed[job] = (*self._killed.get(job, ()), time)
        elif ended:
            end, job = (refilled or ended)[-1]
            self.epilogs[job] = time - end
            self.prompt.add(job)
            later = min((run for run, _ in self._main if run > time), default=math.inf)
            for kill, other in killed:  # its nodes were not clean yet
                if later - kill < _SOON:
                    self._killed[other] = (*self._killed.get(other, ()), later)

    def _is_known(self, job: str, kill: float) -> bool:
        clean = [time for time, other in self._requeued if other == job] + list(self._killed.get(job, ()))
        return any(kill <= time < kill + _SOON for time in clean)

    def _look(self, before: float, now: float) -> None:
        """See what a run at a tick shows about the ends before it."""
        if any(before < time < now for time in self._loud):
            return
        if any(before - _SOON < kill < now for kill, _ in self._kills):
            return
        tick = now - self._period
        missed = tick if math.floor(tick) - math.floor(before) >= self._delay else before
        inside = [(time, job) for time, job in self._ends if before < time < now and job not in self.prompt]
        for time, job in inside:
            if time + self._epilog < missed + 0.1:
                self.epilogs[job] = missed + 0.1 - time
        if (now, True) in self._main:
            return  # it need not have been asked for
        if inside and inside[0][0] + self._epilog > now - 0.01:
            self.epilogs[inside[0][1]] = max(now - 0.01 - inside[0][0], 0.001)
        earlier = [(time, job) for time, job in self._ends if before - 3 < time <= before and job not in self.prompt]
        if earlier and not inside and now - earlier[-1][0] < _SOON:
            self.epilogs[earlier[-1][1]] = missed + 0.1 - earlier[-1][0]

    def cleaned(self) -> dict[str, tuple[float, ...]]:
        """The moments when the nodes of killed jobs were clean."""
        found = dict(self._killed)
        runs = [time for time, _ in self._main]
        for time, job in self._requeued:
            run = runs[place] if (place := bisect_right(runs, time - 0.05)) < len(runs) else math.inf
            if time + 0.05 < run < time + _BRIEF:  # nothing had the loop run at once: it is at its tick
                time = run - 0.001
            found[job] = tuple(sorted((*found.get(job, ()), time)))
        for (kill, job), clean in self._emptied.items():
            known = next((each for each in found.get(job, ()) if kill <= each < kill + _SOON), kill + self._cleaning)
            if clean < known - 0.01:
                found[job] = tuple(sorted((*(each for each in found.get(job, ()) if each != known), clean)))
        return found


def _reused(
    run: Mapping[str, Any], ends: list[tuple[float, str]], loops: list[float], *, first_only: bool = False
) -> dict[tuple[float, str], float]:
    """For each end of a job, the run of a loop in which another job got one of its nodes first.

    Args:
        run: the recording.
        ends: the ends, with their jobs.
        loops: the runs of the first loop.
        first_only: whether only the first node of each job counts.
    """
    starts = sorted((each["t"], number_of(each["job"]), each["nodes"]) for each in run["starts"])
    backfilled = {each["t"] for each in run["starts"] if each["by"] == "backfill"}
    backfills = [time for time, text in run["log"] if "_backfill: beginning" in text]
    began: dict[str, list[tuple[float, list[str]]]] = {}
    taken: dict[str, list[float]] = {}
    for time, job, text in starts:
        nodes = expanded_names(text)
        began.setdefault(job, []).append((time, nodes))
        for node in nodes:
            taken.setdefault(node, []).append(time)
    found = {}
    for end, job in ends:
        mine = [nodes for time, nodes in began.get(job, ()) if time < end][-1:]
        later = [
            times[place]
            for node in (mine[0][: 1 if first_only else None] if mine else ())
            if (place := bisect_right(times := taken[node], end)) < len(times)
        ]
        if later:
            first = min(later)
            begins = backfills if first in backfilled else loops
            before = bisect_right(begins, first) - 1
            loop = begins[before] if before >= 0 and first - begins[before] < 1.0 else first
            found[end, job] = max(loop, end + 0.002) - 0.001
    return found


def _first_kills(kills: list[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The kills, each with the first of the lines that the log has of it."""
    seen: dict[str, float] = {}
    for time, job in kills:
        if time > seen.get(job, -math.inf) + _ONE_KILL:
            yield time, job
        seen[job] = time


def _jobs_in(run: Mapping[str, Any], pattern: re.Pattern[str]) -> list[tuple[float, str]]:
    """The times of the lines of the log that match, and the jobs that they name."""
    numbers = component_numbers(run)
    found = [(time, number_of(found[1])) for time, text in run["log"] if (found := pattern.match(text))]
    return [(time, job) for time, each in found for job in numbers.get(each, (each,))]


def _fits(time: float, ticks: list[float], period: float) -> bool:
    """Whether a time is a whole number of periods from the nearest tick."""
    gap = min((abs(tick - time) for tick in ticks), default=math.inf)
    return gap < 12 and abs(gap - round(gap / period) * period) < 0.05 + 0.01 * gap


def _seen(run: Mapping[str, Any], main: list[float]) -> Iterator[float]:
    """The checks of reservations: the first loop runs with the one that sees a reservation first."""
    for _, text in run["log"]:
        found = re.search(r"Created reservation=.* start=@(\d+)", text)
        if found:
            yield from [time for time in main if 0 <= time - int(found[1]) < 6.2][:1]


def _priorities(
    run: Mapping[str, Any], full: float, configuration: SlurmConfiguration
) -> tuple[float, tuple[float, ...]]:
    """When priorities were computed first, and the calculations that were in another second of their period.

    The log has the priorities of jobs in each run of backfill, and so when they changed. Ages of waiting jobs that were
    printed show the second of a calculation. A calculation is a thread's that sleeps until a whole second, and wakes
    late where the machine is busy: then it has another second than the others, by which ages and usage differ.

    Args:
        full: the last run for the whole queue before the first job.
    """
    period = configuration.priority.calc_period
    seen: dict[str, tuple[float, str]] = {}
    changes: list[tuple[float, float]] = []
    for time, text in run["log"]:
        found = _PRIORITY.search(text)
        if found:
            before, priority = seen.get(found[1], (time, found[2]))
            if priority != found[2]:
                changes.append((before, time))
            seen[found[1]] = time, found[2]
    usual = _calculation_of(full, run["speed"])
    seconds = _calculated(run, usual, configuration)
    offsets = Counter(second - math.floor(usual + due * period) for due, second in seconds.items())
    often = max(offsets, key=lambda each: (offsets[each], -abs(each)), default=None)

    def fitting(phase: float) -> tuple[bool, int]:
        is_often = often is None or math.floor(phase) == math.floor(usual) + often
        return is_often, sum((end - phase) // period > (begin - phase) // period for begin, end in changes)

    phase = usual
    if changes or often:
        steps = (full - 0.8 + step / 10 for step in range(-300, 300))
        phase = max(steps, key=lambda each: (*fitting(each), -abs(each - usual)))
    late = (
        second + (_WAKES if second > phase + due * period else 1.0 - _WAKES)
        for due, second in sorted(seconds.items())
        if second != math.floor(phase + due * period)
    )
    return phase, tuple(late)


def _calculated(run: Mapping[str, Any], phase: float, configuration: SlurmConfiguration) -> dict[int, int]:
    """The seconds of calculations of priorities, by their numbers, as printed ages of waiting jobs show them.

    Args:
        phase: about when the calculation of number 0 was.
    """
    rules, found = configuration.priority, dict[int, int]()
    since = {job["JobId"]: job.get("AccrueTime") for job in run.get("result_jobs", ()) if "ArrayJobId" not in job}
    votes: dict[int, Counter[int]] = {}
    for sample in run.get("samples", ()):
        for row in (line.split() for line in sample.get(_AGES, ())):
            begin = since.get(row[0])
            if isinstance(begin, float) and len(row) > 3 and row[3].isdecimal() and int(row[3]):
                due = math.floor((sample["t"] - phase) / rules.calc_period)
                usual = math.floor(phase + due * rules.calc_period)
                seconds = range(usual - _LATEST_CALCULATION, usual + _LATEST_CALCULATION + 1)
                ages = [round(rules.weight_age * age_factor(second - begin, rules.max_age)) for second in seconds]
                if ages[0] < ages[-1]:  # the oldest jobs have the greatest age at any time
                    fitting = (second for second, age in zip(seconds, ages, strict=True) if age == int(row[3]))
                    votes.setdefault(due, Counter()).update(fitting)
    for due, each in votes.items():
        usual = math.floor(phase + due * rules.calc_period)
        second = max(each, key=lambda second: (each[second], -abs(second - usual)), default=usual)
        if each[second] > 1:
            found[due] = second
    return found


def _last_before(first: float, times: list[float], delay: float) -> float:
    """The last run of the first loop before the first submission. If the log has none, it was earlier."""
    return max((time for time in times if time < first), default=times[0] - max(delay, 3.0) if times else -math.inf)


def _first_cycle(first: float, cycles: list[float], interval: float) -> float:
    """When the second loop looks for work first: some time after a run before the first submission."""
    before = [time for time in cycles if time < first]
    return before[-1] + interval + 0.01 if before else cycles[0] if cycles else 15.0


def _period(times: list[float]) -> float:
    """The time between two ticks: a real controller takes a little longer than a second."""
    steps = [later - earlier for earlier, later in pairwise(times) if later - earlier < 20]
    return median(step / round(step) for step in steps if round(step)) if len(steps) > 5 else 1.0
