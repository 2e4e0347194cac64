"""Replays whose loops run at drawn moments, and the measures of waiting times."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_recordings import RANDOM, random_runs, recording
from support import DATA, ROOT

from batprotocol.errors import InputError
from batprotocol.policies.names import PolicyNameError, scheduler_named
from batprotocol.policies.slurm import Phases
from batprotocol.policies.slurm.clock import LoopClock
from batprotocol.sites.slurm.configuration import SchedulerParameters
from batprotocol.studies.recorded import (
    Replay,
    SlurmRun,
    Start,
    configuration_of_run,
    judged,
    recorded_again,
    replay,
    waits_judged,
)
from batprotocol.studies.slurm_moments import drawn_phases_of, phases_of
from batprotocol.studies.slurm_recordings import submitted_of

WITHOUT_ENGINE = True

BACKFILL = DATA / "slurm" / "replays" / "b_backfill_00.json.xz"
CONF = "SchedulerParameters=bf_interval={interval}\nNodeName=n[0-3]\nPartitionName=p Nodes=ALL Default=YES\n"

MET = 0.86
"""The share of runs of the main loop that are met within a second."""
NEAR_ENOUGH, WITHIN = 0.68, 0.88
"""The shares of starts within 3 s, and of jobs that start within one bf_interval, with drawn moments."""

LOOPS = st.builds(
    SchedulerParameters,
    bf_interval=st.sampled_from([1.0, 30.0, 600.0, math.inf]),
    sched_interval=st.sampled_from([1.0, 60.0, math.inf]),
    bf_resolution=st.sampled_from([1.0, 60.0, 3600.0]),
)


@given(st.integers(0, 10**12), LOOPS, st.sampled_from([1.0, 300.0]))
def test_each_phase_is_within_its_period(seed: int, loops: SchedulerParameters, period: float) -> None:
    found = Phases.drawn(seed, loops, period)
    assert found == Phases.drawn(seed, loops, period)
    assert 0 <= found.ticks[0] < 1
    assert -1 - min(loops.sched_interval, 86_400) <= found.full < 0
    assert -31 <= found.limits < 0
    assert -6 <= found.reservations < 0
    assert 0 <= found.backfill <= min(loops.bf_interval, 86_400)
    assert 0 <= found.priorities <= period
    assert 0 <= found.epoch < loops.bf_resolution
    assert (found.cycles, found.checks, found.seen, found.cleaned) == ((), (), (), {})


def test_phases_are_spread_evenly_and_do_not_hang_together() -> None:
    """Of 2,000 seeds, a tenth is in each tenth of a period, and in each pair of halves a quarter: within 5 sigma."""
    loops, count = SchedulerParameters(), 2000
    drawn = [Phases.drawn(seed, loops, 300.0) for seed in range(count)]
    shares = [(each.ticks[0], each.backfill / loops.bf_interval, each.priorities / 300.0) for each in drawn]
    for kind in range(3):
        for tenth in range(10):
            found = sum(int(10 * each[kind]) == tenth for each in shares)
            assert abs(found - count / 10) < 5 * math.sqrt(count * 0.09)
        both = sum(each[kind] < 0.5 and each[(kind + 1) % 3] < 0.5 for each in shares)
        assert abs(both - count / 4) < 5 * math.sqrt(count * 3 / 16)


def test_the_name_of_a_slurm_has_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF.format(interval=120))
    phases = [
        scheduler_named(f"slurm:{path}{more}")().phases
        for more in ("?seed=1", "?seed=1", "?seed=2", "?seed=1&backfill=7")
    ]
    assert phases[0] == phases[1] == Phases.drawn(1, SchedulerParameters(bf_interval=120.0), 300.0)
    assert phases[2] != phases[0]
    assert (phases[3].backfill, phases[3].ticks) == (7.0, phases[0].ticks)
    for wrong in ("1.5", "-1", "x", ""):
        with pytest.raises(PolicyNameError, match="seed with a whole number"):
            scheduler_named(f"slurm:{path}?seed={wrong}")


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000), st.booleans())
def test_no_recorded_moment_is_in_a_drawn_replay(seed: int, just_started: bool) -> None:
    """Of a recording, only its speed and its hour count: without its log of loops, the phases are the same."""
    run = dict(recording(BACKFILL))
    quiet = {**run, "log": [each for each in run["log"] if "Running job" not in each[1] and "backfill" not in each[1]]}
    found = [drawn_phases_of(each, seed, just_started=just_started) for each in (run, quiet)]
    assert found[0] == found[1]


@given(st.integers(0, 10**12))
def test_loops_of_a_slurm_that_has_just_started_begin_with_it(seed: int) -> None:
    """The period of a tick is a little more than a second, and grows with the speed of the clock."""
    run = recording(BACKFILL)
    found, long = drawn_phases_of(run, seed), drawn_phases_of(run, seed, just_started=False)
    interval, period = replay_interval(run), found.period
    assert -8 <= found.full == found.limits == found.reservations <= -3
    assert found.full <= found.last <= min(submitted_of(run).values())
    assert 0 <= found.ticks[0] < period
    ticks = (found.ticks[0] - found.full) / period
    assert math.isclose(ticks, round(ticks), abs_tol=1e-6)
    assert found.full - 1 <= found.priorities <= found.full + 0.05 * run["speed"]
    assert 1 <= (found.backfill - found.full) / interval < 2
    assert found.backfill >= 2  # the first job comes in this second: a run before has nothing to do
    assert 1 + 0.001 * run["speed"] <= period == long.period <= 1 + 0.003 * run["speed"]
    chance = Phases.drawn(seed, configuration_of_run(run).scheduler, 300.0)
    assert (long.full, long.backfill, long.limits) == (chance.full, chance.backfill, chance.limits)


def replay_interval(run: SlurmRun) -> float:
    """The seconds between two runs of backfill."""
    return configuration_of_run(run).scheduler.bf_interval


@pytest.mark.slow
def test_runs_of_the_main_loop_are_those_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first moment of each loop alone, on a machine that did nothing else.

    The ticks of a real machine drift by some tenths of a second, so that some runs come a tick earlier or later.
    """
    mine: list[float] = []
    ran, at_once = LoopClock.ran_main, LoopClock.runs_at_once

    def noted(self: LoopClock, now: float, *, is_full: bool) -> None:
        mine.append(now)
        ran(self, now, is_full=is_full)

    def noted_at_once(self: LoopClock, now: float) -> bool:
        if at_once(self, now):
            mine.append(now)
            return True
        return False

    monkeypatch.setattr(LoopClock, "ran_main", noted)
    monkeypatch.setattr(LoopClock, "runs_at_once", noted_at_once)
    recorded = simulated = met = 0
    for kind in ("backfill", "cores", "dependencies", "failures", "gpus", "licences", "loop", "multifactor", "weights"):
        for run in random_runs(kind):
            if run["seed"] not in (31, 33):
                continue
            mine.clear()
            known = phases_of(run)
            first = msgspec.structs.replace(
                known, ticks=known.ticks[:1], cycles=(), epilogs={}, cleaned={}, prompt=frozenset()
            )
            found = replay(run, phases=first)
            begin, end = min(found.submitted.values()), max(start["t"] for start in run["starts"])
            theirs = [time for time, text in run["log"] if "Running job scheduler" in text and begin <= time <= end]
            ours = [time for time in mine if begin <= time <= end]
            recorded, simulated = recorded + len(theirs), simulated + len(ours)
            met += pairs_within(theirs, ours, 1.0)
    assert abs(simulated - recorded) <= 0.02 * recorded
    assert met >= MET * recorded
    assert met >= MET * simulated


def pairs_within(some: list[float], others: list[float], most: float) -> int:
    """The greatest number of pairs of two ordered lists that are at most so far apart, each time in one pair."""
    found = place = 0
    for time in some:
        while place < len(others) and others[place] < time - most:
            place += 1
        if place < len(others) and others[place] <= time + most:
            found, place = found + 1, place + 1
    return found


@given(*[st.lists(st.integers(0, 20), max_size=6, unique=True).map(sorted)] * 2, st.integers(0, 4))
def test_pairs_are_as_many_as_can_be(some: list[int], others: list[int], most: int) -> None:
    def best(left: list[int], right: list[int]) -> int:
        if not left or not right:
            return 0
        near = (place for place, other in enumerate(right) if abs(left[0] - other) <= most)
        return max([best(left[1:], right), *(1 + best(left[1:], right[place + 1 :]) for place in near)])

    assert pairs_within([*map(float, some)], [*map(float, others)], most) == best(some, others)


@pytest.mark.slow
def test_drawn_moments_are_those_of_a_slurm_that_has_just_started() -> None:
    """On the recordings of a machine that did nothing else, in one draw: the page has those of eight."""
    starts = jobs = within = near = 0
    real = ours = 0.0
    for path in sorted(RANDOM.iterdir()):
        for run in random_runs(path.name.partition(".")[0]):
            if run["seed"] in (32, 34):
                found = replay(run, seed=run["seed"])
                waits, verdict = waits_judged(run, found), judged(run, found.starts)
                starts, near = starts + verdict.starts, near + verdict.near
                jobs, within = jobs + waits.jobs, within + waits.within
                real, ours = real + waits.recorded, ours + waits.simulated
    assert near >= NEAR_ENOUGH * starts
    assert within >= WITHIN * jobs
    assert abs(ours / real - 1) <= 0.03


@pytest.mark.parametrize("late", [0.0, 2.0, 40.0])
def test_a_recording_is_held_against_another_one(late: float) -> None:
    """The same plan once more, whose jobs have other numbers as sbatch refused one more, and start later."""
    run = recording(BACKFILL)
    other = json.loads(json.dumps(run))
    for each in other["submissions"]:
        each["id"] += 3
    for start in other["starts"]:
        first = start["job"].split("_")[0]
        start["job"] = f"{int(first) + 3}{start['job'][len(first) :]}"
        start["t"] += late
    found = recorded_again(run, other)
    verdict, waits = judged(run, found.starts), waits_judged(run, found)
    assert verdict.placed == verdict.starts == waits.jobs
    assert verdict.near == (verdict.starts if late < 3 else 0)
    assert waits.within == (waits.jobs if late <= found.interval else 0)
    assert waits.simulated - waits.recorded == pytest.approx(late * waits.jobs)
    del other["submissions"][0]
    for place, each in enumerate(other["submissions"], 1):
        each["index"] = place
    assert len(recorded_again(run, other).starts) < len(found.starts)
    other["submissions"][0]["run"] += 1
    with pytest.raises(InputError, match="expected another recording of the same plan"):
        recorded_again(run, other)


def test_a_drawn_replay_is_near_and_not_equal() -> None:
    run = recording(BACKFILL)
    found = [replay(run, seed=seed) for seed in range(3)]
    assert len({tuple(start.time for start in each.starts) for each in found}) == 3
    for each in found:
        waits = waits_judged(run, each)
        assert waits.within >= 0.5 * waits.jobs
        assert abs(waits.bias) < 0.25
    exact = waits_judged(run, replay(run))
    assert exact.within == exact.jobs
    assert abs(exact.bias) < 0.01
    assert judged(run, replay(run).starts).near == exact.jobs


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=9), st.integers(1, 60))
def test_the_measures_are_those_of_the_definition(times: list[tuple[int, int]], interval: int) -> None:
    """Waits are from the submission to the first start of a job; runs of jobs that run again do not count."""
    run = {
        "starts": [
            {"t": float(real), "job": str(place), "partition": "p", "nodes": "n0", "by": "main"}
            for place, (real, _) in enumerate(times)
        ]
    }
    starts = [Start(str(place), float(ours), "p", "n0", "main") for place, (_, ours) in enumerate(times)]
    again = [start._replace(time=start.time + 1000) for start in starts]
    made = Replay([*starts, *again], {}, {}, ["n0"], {str(place): 0.0 for place in range(len(times))}, float(interval))
    found = waits_judged(run, made)
    assert found.jobs == len(times)
    assert found.within == sum(abs(real - ours) <= interval for real, ours in times)
    assert (found.recorded, found.simulated) == (sum(real for real, _ in times), sum(ours for _, ours in times))
    late = waits_judged(run, made._replace(starts=starts[1:]))
    assert (late.jobs, late.recorded) == (found.jobs, found.recorded - times[0][0])


def test_the_tool_prints_both_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    sys.path[:0] = [str(ROOT / "tools")]
    import slurm_equality

    assert slurm_equality.main([str(BACKFILL)]) == 0
    exact = capsys.readouterr().out
    assert slurm_equality.main(["--draws", "2", str(BACKFILL)]) == 0
    drawn = capsys.readouterr().out
    assert "| b_backfill | 1 | 36 | 100.0% |" in exact
    assert "100.0% of jobs start within one bf_interval" in exact
    assert "| b_backfill | 1 | 72 |" in drawn
    assert "in the 90th percentile" in drawn
    assert "One by one" in drawn
    assert "One by one" not in exact
    assert slurm_equality.main(["--draws", "2", "--long", str(BACKFILL)]) == 0
    assert capsys.readouterr().out != drawn
    assert slurm_equality.main(["--again", str(BACKFILL), str(BACKFILL), str(BACKFILL)]) == 0
    same = capsys.readouterr().out
    assert "| b_backfill | 3 | 216 | 100.0% | 100.0% | 100.0% | 100.0% | +0.0% |" in same
    assert "cause" not in same
    for wrong in (["--long"], ["--again", "--draws", "2"]):
        with pytest.raises(SystemExit):
            slurm_equality.main([*wrong, str(BACKFILL)])
        assert "use it with" in capsys.readouterr().err
