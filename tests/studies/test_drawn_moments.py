"""Replays whose loops run at drawn moments, and the measures of waiting times."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_recordings import recording
from support import DATA, ROOT

from batprotocol.policies.names import PolicyNameError, scheduler_named
from batprotocol.policies.slurm import Phases
from batprotocol.sites.slurm.configuration import SchedulerParameters
from batprotocol.studies.recorded import Replay, Start, judged, replay, waits_judged
from batprotocol.studies.slurm_moments import drawn_phases_of

WITHOUT_ENGINE = True

BACKFILL = DATA / "slurm" / "replays" / "b_backfill_00.json.xz"
CONF = "SchedulerParameters=bf_interval={interval}\nNodeName=n[0-3]\nPartitionName=p Nodes=ALL Default=YES\n"

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
@given(st.integers(0, 1000))
def test_no_recorded_moment_is_in_a_drawn_replay(seed: int) -> None:
    """Of a recording, only its speed and its hour count: without its log of loops, the phases are the same."""
    run = dict(recording(BACKFILL))
    quiet = {**run, "log": [each for each in run["log"] if "Running job" not in each[1] and "backfill" not in each[1]]}
    assert drawn_phases_of(run, seed) == drawn_phases_of(quiet, seed)


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
