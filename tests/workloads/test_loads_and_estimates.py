"""Loads that are loads, exact estimates, and what is reported of a workload before its results are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import simulator
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile
from batprotocol.policies.names import named
from batprotocol.simulator import (
    StaticJob,
    Workload,
    advice_on,
    estimated_walltimes,
    exact_walltimes,
    lublin_workload,
    named_workload,
    offered_load,
    platform_for,
    read_swf,
    simulate,
    with_offered_load,
)
from batprotocol.workloads import lublin

WITHOUT_ENGINE = True

LINES = "\n".join(
    f"{n} {n * 60} -1 {50 + 7 * (n % 5)} {1 + n % 4} -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 {n or -1} -1" for n in range(40)
)


def test_what_was_drawn_before_changes_no_workload() -> None:
    """A small draw is kept for other loads."""
    asked = [(seed, load, exact) for load in (None, 0.5, 0.9) for seed in (0, 1, True, 7) for exact in (True, False)]

    def drawn(seed: int, load: float | None, exact: bool) -> list[object]:
        return list(lublin_workload(16, 20, seed=seed, offered_load=load, estimates=not exact))

    together = [drawn(*each) for each in asked]
    alone = []
    for each in asked:
        lublin._small.cache_clear()
        alone.append(drawn(*each))
    assert together == alone


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 50), st.integers(1, 8)), min_size=2, max_size=20),
    st.floats(0.1, 3),
    st.sampled_from([None, 3, 64]),
)
def test_the_factor_of_a_load_is_found(given: list[tuple[int, int, int]], load: float, hosts: int | None) -> None:
    jobs = [StaticJob(str(n), float(time), size, DelayProfile(float(run))) for n, (time, run, size) in enumerate(given)]
    workload = Workload(jobs)
    span = max(time for time, _, _ in given) - min(time for time, _, _ in given)
    machine = hosts or max(size for _, _, size in given)
    if span == 0:
        assert offered_load(workload, hosts) is None
        return
    assert offered_load(workload, hosts) == pytest.approx(sum(run * size for _, run, size in given) / (machine * span))
    assert offered_load(with_offered_load(workload, load, hosts=hosts), hosts) == pytest.approx(load)


def test_a_load_is_that_of_the_run() -> None:
    workload = named_workload("lublin:64?jobs=300&seed=1&offered-load=0.8")
    result = simulate(platform_for([workload]), workload, named("easy")())
    assert result.metrics().offered_load == pytest.approx(0.8, rel=1e-3)
    assert result.offered_load == pytest.approx(result.metrics().offered_load)
    assert result.waiting_at_end / result.nb_jobs == pytest.approx(result.metrics().waiting_at_end)


def test_loads_that_are_not_known() -> None:
    tasks = Workload([StaticJob(str(n), 5.0 * n, 2, ParallelTaskHomogeneousProfile(1e9, 0.0)) for n in range(3)])
    assert offered_load(tasks) is None
    with pytest.raises(InputError, match="has no offered load to scale"):
        with_offered_load(tasks, 0.5)
    with pytest.raises(InputError, match="expected an offered load > 0"):
        with_offered_load(lublin_workload(16, 5), 0.0)
    with pytest.raises(InputError, match="expected a number of hosts > 0"):
        offered_load(lublin_workload(16, 5), 0)


@pytest.mark.parametrize("policy", ["sjf", "easy-sjf", "conservative"])
def test_exact_estimates_end_no_job_and_change_no_start(policy: str) -> None:
    workload = lublin_workload(32, 150, seed=2, offered_load=0.9)
    found = []
    for each in (exact_walltimes(workload), estimated_walltimes(workload, 0)):
        result = simulate(platform_for([each]), each, named(policy)())
        found.append({job.job_id: job.starting_time for job in result.jobs})
        done = result.counts[FinalJobState.COMPLETED_SUCCESSFULLY]
        assert done == (150 if len(found) == 1 else 0)
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_the_factor_of_estimates_has_two_names() -> None:
    workload = lublin_workload(16, 20)
    walltimes = [job.walltime for _, _, job in estimated_walltimes(workload, 2, seed=3)]
    with pytest.deprecated_call(match=r"the argument 'badness' of estimated_walltimes\(\).*use 'estimate_factor'"):
        assert [job.walltime for _, _, job in estimated_walltimes(workload, badness=2, seed=3)] == walltimes
    expected = [job.walltime for _, _, job in estimated_walltimes(workload, 2)]
    assert [job.walltime for _, _, job in named_workload("lublin:16?jobs=20&estimate-factor=2")] == expected
    with pytest.deprecated_call(match="the word 'badness' of workloads is deprecated: use 'estimate-factor'"):
        assert [job.walltime for _, _, job in named_workload("lublin:16?jobs=20&badness=2")] == expected
    for words in ("estimates=exact&estimate-factor=1", "arrival-factor=1&offered-load=1"):
        with pytest.raises(InputError, match="exclude one another"):
            named_workload(f"lublin:16?{words}")
    with pytest.deprecated_call(), pytest.raises(InputError, match=r"each once at most, got 'estimate-factor'$"):
        named_workload("lublin:16?badness=1&estimate-factor=1")
    with pytest.raises(TypeError, match="both 'estimate_factor' and 'badness'"):
        estimated_walltimes(workload, estimate_factor=1, badness=1)


def test_what_a_log_lacks_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(LINES)
    workload = read_swf(log)
    assert (workload.dependent, workload.without_walltime) == (39, 40)
    advice = advice_on(workload)
    assert advice[0] == "39 jobs name a preceding job or a think time (fields 17 and 18), which is not followed"
    assert advice[1].startswith("40 of 40 jobs have no requested time: ")
    assert read_swf(log, lazy=True).without_walltime == 40
    assert advice_on(exact_walltimes(workload)) == advice[:1]
    found = run_here("simulate", "easy", "-w", log)
    assert found.err.count("no requested time") == found.err.count("fields 17 and 18") == 1
    assert "no requested time" not in run_here("simulate", "easy", "-w", f"{log}?estimates=exact").err


def test_simulate_measures_a_part_and_prints_json() -> None:
    given = ("simulate", "easy", "-w", "lublin:32?jobs=200&seed=1", "--warm-up", "0.2", "--cool-down", "0.1")
    told = json.loads(run_here(*given, "--json").out)
    workload = named_workload("lublin:32?jobs=200&seed=1")
    result = simulate(platform_for([workload]), workload, named("easy")())
    expected = result.metrics(warm_up=0.2, cool_down=0.1).flat()
    assert told["metrics"] == pytest.approx(expected)
    assert (told["hosts"], told["jobs"]["COMPLETED_SUCCESSFULLY"], told["complete"]) == (32, 200, True)
    text = run_here(*given).out
    assert f"measured          {expected['nb_jobs']:.0f} jobs that were submitted in" in text
    assert run_here("simulate", "easy", "--warm-up", "0.5", "--cool-down", "0.5").status == 2


def test_simulate_says_where_nothing_is_steady() -> None:
    for load, said in ((0.3, False), (1.5, True)):
        text = " ".join(
            run_here("simulate", "easy", "-w", f"lublin:32?jobs=300&seed=1&offered-load={load}").out.split()
        )
        assert ("nothing is steady there" in text) is said
        assert f"offered load {load:.1%}"[:15] in text


def test_loads_have_new_names(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(LINES)
    with pytest.deprecated_call(match="the word 'load' of workloads is deprecated: use 'arrival-factor'"):
        assert list(named_workload(f"{log}?load=2")) == list(named_workload(f"{log}?arrival-factor=2"))
    with pytest.deprecated_call(match="the word 'load' of workloads is deprecated: use 'offered-load'"):
        found = list(named_workload("lublin:16?jobs=20&load=0.5"))
    assert found == list(named_workload("lublin:16?jobs=20&offered-load=0.5"))
    with pytest.deprecated_call(match=r"the argument 'load' of lublin_workload\(\) is deprecated: use 'offered_load'"):
        assert found == list(lublin_workload(16, 20, load=0.5))
    with pytest.deprecated_call(match="scaled_load is deprecated: use batprotocol.simulator.scaled_arrivals"):
        assert simulator.scaled_load is simulator.scaled_arrivals
    faster = named_workload("lublin:16?jobs=20&arrival-factor=2")
    assert [each.time for each in faster] == [each.time / 2 for each in named_workload("lublin:16?jobs=20")]
