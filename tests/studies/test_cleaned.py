"""The moments at which nodes were clean, as the log and the starts of a recording show them."""

from __future__ import annotations

from typing import Any

import pytest

from batprotocol.policies.slurm.clock import Leave
from batprotocol.studies.recorded import replayed
from batprotocol.studies.slurm_moments import phases_of
from batprotocol.studies.slurm_recordings import silence_of
from batprotocol.workloads.host_events.events import HostChange

WITHOUT_ENGINE = True


def run_of(log: list[tuple[float, str]], starts: list[tuple[float, str, str]], **more: Any) -> dict[str, Any]:
    """A recorded run of four nodes, in which jobs of one node are submitted at second 1."""
    jobs = sorted({job for _, job, _ in starts})
    return {
        "config": "small",
        "seed": 1,
        "speed": 10,
        "t0_epoch_mod_86400": 0,
        "slurm_conf": {"SchedulerType": "sched/builtin", "SelectType": "select/linear"},
        "dbd": False,
        "setup": [],
        "nodes": [{"count": 4, "conf": "CPUs=1"}],
        "partitions": ["PartitionName=all Nodes=ALL Default=YES"],
        "submissions": [
            {"id": int(job), "t_returned": 1.0, "args": ["-N", "4", "-t", "5"], "run": 5.0} for job in jobs
        ],
        "events": [],
        "starts": [
            {"t": time, "by": "main", "job": job, "nodes": nodes, "partition": "all"} for time, job, nodes in starts
        ],
        "log": log,
        **more,
    }


def at(time: float, *, full: bool = False) -> tuple[float, str]:
    """A run of the first loop."""
    return time, f"debug:  sched: Running job scheduler for {'full queue' if full else 'default depth'}."


def end(time: float, job: int) -> tuple[float, str]:
    """The end of a job."""
    return time, f"_job_complete: JobId={job} WEXITSTATUS 0"


def test_nodes_that_another_job_got_were_clean() -> None:
    """Otherwise, they are taken to be clean 0.085 s after an end."""
    more = (7.5, "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=1")
    log = [at(2.0, full=True), more, end(8.0, 1), at(8.05), end(14.0, 2)]
    used = run_of(log, [(2.0, "1", "n[0-3]"), (8.06, "2", "n[0-3]")])
    assert phases_of(used).epilogs["1"] < 0.05
    assert [start.time for start in replayed(used)] == pytest.approx([2.0, 8.05])
    assert "1" not in phases_of(run_of(log, [(2.0, "1", "n[0-3]")])).epilogs


def test_nodes_that_backfill_gave_to_another_job_were_clean_when_it_began() -> None:
    begins = 8.05, "sched/backfill: _attempt_backfill: beginning"
    used = run_of(
        [at(2.0, full=True), end(8.0, 1), begins, end(14.0, 2)], [(2.0, "1", "n[0-3]"), (8.06, "2", "n[0-3]")]
    )
    used["starts"][1]["by"] = "backfill"
    assert phases_of(used).epilogs["1"] < 0.05


def test_nodes_that_another_job_got_early_were_not_clean_late() -> None:
    """The run at 9.5 s is too early after a tick. Nodes that were clean by then had the run before it come at once."""
    log = [at(2.0, full=True), end(8.0, 1), at(8.06), at(9.5), end(14.0, 2)]
    used = phases_of(run_of(log, [(2.0, "1", "n[0-3]"), (8.07, "2", "n[0-3]")]))
    assert used.ticks == (2.0, 9.5)
    assert used.epilogs["1"] == pytest.approx(0.06, abs=0.002)
    unused = phases_of(run_of(log, [(2.0, "1", "n[0-3]")]))
    assert unused.ticks == (2.0, 8.06)
    assert unused.epilogs["1"] == pytest.approx(1.5)


def test_a_run_before_the_first_job_need_not_be_at_a_tick() -> None:
    """When nodes register, the loop runs at once, so that the next tick may come early."""
    submitted = (2.0, "_slurm_rpc_submit_batch_job: JobId=1 InitPrio=1")
    used = phases_of(run_of([at(1.0), submitted, at(3.0), end(8.0, 1)], [(3.01, "1", "n[0-3]")]))
    assert (used.ticks, used.last) == ((3.0,), 0.0)
    late = phases_of(run_of([at(1.0), submitted, at(4.0), end(8.0, 1)], [(4.01, "1", "n[0-3]")]))
    assert (late.ticks, late.last) == ((1.0, 4.0), 1.0)


KILLS = [at(2.0, full=True), *((20.0, f"Time limit exhausted for JobId={job}") for job in (1, 2)), at(21.4), at(21.9)]
STARTS = [(2.0, "1", "n[0-1]"), (2.0, "2", "n[2-3]"), (21.41, "3", "n[2-3]")]


def test_runs_without_another_reason_come_at_once_after_kills() -> None:
    """The job whose nodes another one gets in a run was clean then, and the other one in the next run."""
    found = phases_of(run_of(KILLS, STARTS))
    assert found.ticks == (2.0,)
    assert found.cleaned == {"2": (21.4,), "1": (21.9,)}
    asked = (21.0, "_slurm_rpc_submit_batch_job: JobId=3 InitPrio=1")
    assert phases_of(run_of(sorted([*KILLS, asked]), STARTS)).ticks == (2.0, 21.4)


def test_a_job_that_is_killed_has_run_until_then() -> None:
    """A job of 5 s by its script may take longer on a machine with a load."""
    log = [at(2.0, full=True), (9.0, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 0"), at(9.3), at(12.4)]
    kill = {"t_sent": 9.0, "t_returned": 9.01, "cmd": ["scancel", "1"], "out": ""}
    run = run_of(log, [(2.0, "1", "n[0-3]"), (9.31, "2", "n[0-3]")], events=[kill])
    assert [start.time for start in replayed(run)] == pytest.approx([2.0, 9.3], abs=0.05)


def test_an_end_whose_nodes_are_used_had_the_loop_run_and_not_a_kill() -> None:
    """The nodes of the killed job were clean in the next run: another job would have got them otherwise."""
    log = [at(2.0, full=True), (9.0, "Time limit exhausted for JobId=2"), end(9.2, 1), at(9.6), at(10.1)]
    starts = [(2.0, "1", "n[0-1]"), (2.0, "2", "n[2-3]"), (9.61, "3", "n[0-1]")]
    found = phases_of(run_of(log, starts))
    assert found.cleaned == {"2": (10.1,)}
    assert found.prompt == {"1"}
    assert found.epilogs["1"] == pytest.approx(0.4, abs=0.002)


def test_of_two_runs_in_a_second_the_one_on_the_grid_of_ticks_is_at_a_tick() -> None:
    """The first one came at once after an end, and the second one was asked for by a submission."""
    runs = [at(float(second)) for second in range(2, 40, 4)]
    more = (51.5, "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=1")
    first = (1.5, more[1].replace("JobId=2", "JobId=1"))
    log = [at(1.0, full=True), first, *runs, at(42.0, full=True), end(50.9, 1), at(51.4), more, at(52.0), at(56.0)]
    found = phases_of(run_of(log, [(2.0, "1", "n[0-3]")]))
    assert 52.0 in found.ticks
    assert 51.4 not in found.ticks
    assert found.prompt == {"1"}
    assert found.epilogs["1"] == pytest.approx(0.5, abs=0.002)


def test_an_end_does_not_explain_a_run_long_after_it() -> None:
    log = [at(1.0, full=True), end(3.6, 1), at(4.0), at(30.0)]
    assert phases_of(run_of(log, [(1.0, "1", "n[0-3]")])).epilogs.get("1", 0.0) < 5.0


AGES = 'sprio -h -o "%i %u %Y %A %F %J %P %Q %N %T"'


def test_ages_show_the_second_of_each_calculation() -> None:
    """A thread that wakes late computes ages of the next second."""
    conf = {"PriorityType": "priority/multifactor", "PriorityWeightAge": "6000", "PriorityMaxAge": "10:00"}
    seconds = [60, 121, 180, 240]
    samples: list[dict[str, Any]] = [
        {
            "t": second + 9.0,
            AGES: [f"{job} u {10 * (second - job)} {10 * (second - job)} 0 0 0 0 0 0" for job in (2, 3)],
        }
        for second in seconds
    ]
    jobs = [{"JobId": str(job), "AccrueTime": float(job)} for job in (2, 3)]
    run = run_of([at(0.3, full=True), end(300.0, 1)], [(5.0, "1", "n[0-3]")], samples=samples, result_jobs=jobs)
    run["slurm_conf"] |= conf | {"PriorityCalcPeriod": "1"}
    found = phases_of(run)
    assert found.priorities % 60 == pytest.approx(0.45)
    assert [int(time) for time in found.calculations] == [121]
    for sample in samples:  # all of them a second earlier
        rows = [row.split() for row in sample[AGES]]
        sample[AGES] = [f"{row[0]} u {row[2]} {int(row[3]) - 10} 0 0 0 0 0 0" for row in rows]
    found = phases_of(run)
    assert int(found.priorities % 60) == 59
    assert [int(time) for time in found.calculations] == [120]


@pytest.mark.parametrize("told", [False, True])
def test_a_node_that_does_not_answer_for_some_time_is_not_used(told: bool) -> None:
    """Until the next start there: what answers to a command was not silent."""
    answer = (100.0, "Node n1 now responding")
    command = (99.0, "update_node: node n1 state set to IDLE")
    jobs = [{"JobId": "1", "NodeList": "n[0-3]", "EndTime": 8.0}, {"JobId": "2", "NodeList": "n0", "EndTime": 50.0}]
    starts = [(2.0, "1", "n[0-3]"), (40.0, "2", "n0"), (300.0, "3", "n[1-2]")]
    run = run_of([at(2.0, full=True), *([command] if told else []), answer], starts, result_jobs=jobs)
    expected = [] if told else [(8.0, HostChange.DRAIN), (pytest.approx(299.9), HostChange.UP)]
    assert list(silence_of(run, "n1", 100.0)) == expected


def test_a_signal_that_kills_is_one_kill_with_the_command_before_it() -> None:
    """A job that gives way and is not requeued has the signal only."""
    signal = (9.01, "job_signal: 9 of running JobId=1 successful 0x8008")
    starts = [(2.0, "1", "n[0-3]"), (9.41, "2", "n[0-3]")]
    assert phases_of(run_of([at(2.0, full=True), signal, at(9.4)], starts)).cleaned == {"1": (9.4,)}
    told = (9.0, "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 0")
    assert phases_of(run_of([at(2.0, full=True), told, signal, at(9.4)], starts)).cleaned == {"1": (9.4,)}


def leaves(job: int, begin: float, *steps: tuple[float, str]) -> list[tuple[float, str]]:
    """The lines about a job that leaves its nodes: a step has the node that says that it is clean, or none."""
    log = [(begin, f"TRACE_JOBS: deallocate_nodes: JobId={job}")]
    for place, (time, node) in enumerate(steps, 1):
        log.append((time, f"TRACE_JOBS: job_epilog_complete: enter JobId={job}"))
        if place == len(steps):
            log.append((time, f"TRACE_JOBS: cleanup_completing: JobId={job}"))
        if node:
            log.append((time, f"debug2: _slurm_rpc_epilog_complete: JobId={job} Node={node} "))
    return log


def again(time: float, job: int, node: str) -> list[tuple[float, str]]:
    """The lines about a node that says once more that it is clean."""
    return leaves(job, 0.0, (time, node))[1::2]


def test_the_log_says_when_nodes_are_clean() -> None:
    """Nodes that answer together have no names in the log: they are those that say nothing by themselves."""
    log = [at(2.0, full=True), end(8.0, 1), *leaves(1, 8.0, (8.02, "n2"), (8.2, ""), (8.2, ""), (8.2, ""))]
    found = phases_of(run_of([*log, at(9.0)], [(2.0, "1", "n[0-3]")]))
    assert found.leaves == {"1": (Leave(8.0, 0b1111, ((8.02, 0b0100), (8.2, 0b1011))),)}
    assert found.ticks == (2.0, 9.0)


def test_a_node_that_is_clean_last_has_the_first_loop_run_at_once() -> None:
    """A run soon after is at no tick, and the next job starts in it."""
    log = [at(2.0, full=True), (7.5, "_slurm_rpc_submit_batch_job: JobId=2 InitPrio=1"), end(8.0, 1)]
    log += leaves(1, 8.0, (8.1, ""), (8.1, ""), (8.1, ""), (8.3, "n0"))
    used = run_of([*log, at(8.301), at(9.0), end(14.0, 2)], [(2.0, "1", "n[0-3]"), (8.302, "2", "n[0-3]")])
    found = phases_of(used)
    assert found.ticks == (2.0, 9.0)
    assert found.leaves["1"][0].is_prompt
    assert [start.time for start in replayed(used)] == pytest.approx([2.0, 8.3])


def test_a_node_that_is_clean_in_the_millisecond_of_a_run_is_clean_after_it() -> None:
    log = [at(2.0, full=True), end(8.0, 1), at(8.2), *leaves(1, 8.0, *[(8.2, "")] * 4)]
    found = phases_of(run_of(log, [(2.0, "1", "n[0-3]")]))
    assert 8.2 < found.leaves["1"][0].steps[-1][0] < 8.201
    assert found.ticks == (2.0, 8.2)


def test_a_node_that_says_once_more_that_it_is_clean_has_the_first_loop_run_at_once() -> None:
    """So does a node that was down when its job was killed."""
    log = [at(2.0, full=True), end(8.0, 1), *leaves(1, 8.0, *[(8.1, "")] * 3), *again(8.4, 1, "n3")]
    found = phases_of(run_of([*log, at(8.401), at(9.0)], [(2.0, "1", "n[0-3]")]))
    assert found.leaves["1"][0].late == (8.4,)
    assert not found.leaves["1"][0].is_prompt
    assert found.ticks == (2.0, 9.0)


def test_a_job_that_runs_twice_leaves_its_nodes_twice() -> None:
    log = [at(2.0, full=True), *leaves(1, 8.0, *[(8.1, "")] * 4), at(20.0), *leaves(1, 29.0, *[(29.5, "")] * 4)]
    found = phases_of(run_of(log, [(2.0, "1", "n[0-3]"), (20.0, "1", "n[0-3]")]))
    assert [each.steps[-1][0] for each in found.leaves["1"]] == [8.1, 29.5]
    assert found.leave("1", 28.0) == found.leaves["1"][1]
    assert found.leave("2", 28.0) is None


def test_a_node_that_two_jobs_leave_is_clean_after_both() -> None:
    """Its idle CPU does not matter before: a job starts there in the second run of the loop."""
    log = [at(2.0, full=True), (7.5, "_slurm_rpc_submit_batch_job: JobId=3 InitPrio=1"), end(8.0, 1), end(8.0, 2)]
    log += [*leaves(1, 8.0, (8.1, "")), at(8.2), *leaves(2, 8.0, (8.5, "n0")), at(8.501), end(14.0, 3)]
    starts = [(2.0, "1", "n0"), (2.001, "2", "n0"), (8.51, "3", "n0")]
    conf = {"SchedulerType": "sched/builtin", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU"}
    jobs = [{"id": job, "t_returned": 1.0, "args": ["-n", "1", "-t", "5"], "run": 5.0} for job in (1, 2, 3)]
    used = run_of(log, starts, slurm_conf=conf, nodes=[{"count": 1, "conf": "CPUs=3"}], submissions=jobs)
    assert [start.time for start in replayed(used)] == pytest.approx([2.0, 2.0, 8.5])
