"""A log with a backlog, jobs that come later than they are submitted, and machines of a slurm.conf that grow."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from batprotocol._util.distributions import percentile
from batprotocol.cli.main import batproto
from batprotocol.model import FinalJobState
from batprotocol.policies import named
from batprotocol.policies.slurm.scheduler import LIKE
from batprotocol.simulator import JobRow, described_platform, named_workload, platform_for, platform_xml, simulate
from batprotocol.studies import Study
from batprotocol.studies.comparing import difference_of_ratios
from batprotocol.studies.whatif import Question, WhatIfAnswer, answer_of, plan_for
from batprotocol.studies.whatif._batches import FROM_SUBMISSION, Facts, RunOfLog
from batprotocol.studies.whatif._conclusions import Argument, widest_difference
from batprotocol.studies.whatif._plan import resized

WITHOUT_ENGINE = True

HOSTS = 16
DAY = 86_400.0


def backlog(path: Path, policy: str, days: float = 12.4) -> str:
    """Write a log of a machine at its limit, which this policy scheduled: queues are longer than a day."""
    chance = random.Random(11)
    rows, time = [], 0.0
    while (time := time + chance.expovariate(1 / 1100)) < days * DAY:
        size, run = chance.choice([1, 1, 2, 4, 8]), int(3500 * chance.lognormvariate(0, 1)) + 1
        rows.append([len(rows) + 1, int(time), -1, run, size, -1, -1, size, 2 * run, -1, 1, 1, 1, 1, -1, 1, -1, -1])

    def write() -> None:
        path.write_text("\n".join([f"; MaxProcs: {HOSTS}", *(" ".join(map(str, row)) for row in rows)]) + "\n")

    write()
    workload = named_workload(str(path))
    result = simulate(platform_for([workload]), workload, named(policy)())
    waits = {int(job.job_id): job.waiting_time for job in result.jobs}
    for row in rows:
        row[2] = round(waits[row[0]] or 0)
    write()
    return str(path)


def asked(log: str, store: Path, question: Question) -> WhatIfAnswer:
    plan = plan_for(log, question)
    return answer_of(plan, Study(**plan.keys).run(store, processes=1))


@pytest.mark.slow
@pytest.mark.long
def test_the_sign_does_not_depend_on_the_windows(tmp_path: Path) -> None:
    """SJF made the log, so each other policy waits longer; with empty windows, all of them seemed to be better."""
    log = backlog(tmp_path / "log.swf", "easy-sjf")
    workload = named_workload(log)
    waits = {}
    for name in ("easy", "easy-sjf"):
        result = simulate(platform_for([workload]), workload, named(name)())
        waits[name] = result.metrics().waiting.mean
    whole = waits["easy-sjf"] - waits["easy"]
    assert max(waits.values()) > 0.2 * DAY
    values = set()
    for window in (DAY / 4, DAY, 7 * DAY, None):
        question = Question(policies=("easy-sjf",), window=window, warm_up=0.0)
        answer = asked(log, tmp_path / "runs", question)
        cell = answer.differences.cells[1][0]
        assert answer.differences.rows == ("easy", "easy-sjf")
        assert cell.mean == pytest.approx(whole)
        assert cell.low is None or cell.high is None or cell.low <= whole <= cell.high
        assert cell.best == (cell.p is not None and cell.p < 0.05 and not cell.is_unknowable)
        values.add(cell.mean)
        if window is None:
            assert len(answer.plan.windows) >= 10
    assert len({round(value or 0, 6) for value in values}) == 1


def drawn_log(path: Path, policy: str) -> str:
    """Write 5,000 jobs of the model of Lublin and Feitelson in 12.4 days, with a load near 1, as a policy ran them."""
    drawn = named_workload("lublin:256?jobs=5000&seed=1&offered-load=0.98")
    records = [drawn.record(place) for place in range(len(drawn))]
    factor = 12.4 * DAY / (records[-1].time - records[0].time)
    rows = []
    for number, job in enumerate(records):
        run = max(round(drawn.profiles[f"{drawn.name}!{job.profile}"].profile.delay * factor), 1)
        asked = max(round((job.walltime or 0) * factor), run)
        time = round((job.time - records[0].time) * factor)
        rows.append([number + 1, time, -1, run, job.resources, -1, -1, job.resources, asked, *[-1] * 9])

    def write() -> None:
        path.write_text("\n".join(["; MaxProcs: 256", *(" ".join(map(str, row)) for row in rows)]) + "\n")

    write()
    workload = named_workload(str(path))
    result = simulate(platform_for([workload]), workload, named(policy)())
    waits = {int(job.job_id): job.waiting_time for job in result.jobs}
    for row in rows:
        row[2] = round(waits[row[0]] or 0)
    write()
    return str(path)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.long
def test_five_thousand_jobs_at_a_load_near_one_have_one_sign(tmp_path: Path) -> None:
    log = drawn_log(tmp_path / "log.swf", "easy-saf")
    workload, whole = named_workload(log), {}
    policies = ("easy-saf", "fcfs")
    for name in ("easy", *policies):
        metrics = simulate(platform_for([workload]), workload, named(name)()).metrics()
        whole[name] = metrics.waiting.mean
    assert metrics.offered_load == pytest.approx(0.98, abs=0.01)
    assert whole["easy"] > 0.2 * DAY, "there is a backlog"
    differences = {name: whole[name] - whole["easy"] for name in policies}
    assert min(differences.values()) < 0 < max(differences.values())
    for window, warm_up in ((7 * DAY, 0.0), (DAY, 0.0), (DAY / 4, 0.0), (DAY, DAY / 4)):
        answer = asked(log, tmp_path / "runs", Question(policies=policies, window=window, warm_up=warm_up))
        for name, cells in zip(answer.differences.rows[1:], answer.differences.cells[1:], strict=True):
            found = cells[0].mean
            assert found is not None
            assert (found > 0) == (differences[name] > 0), (name, window, warm_up)
            if not warm_up:
                assert found == pytest.approx(differences[name], abs=0.1)
                assert cells[0].low is None or cells[0].high is None or cells[0].low <= found <= cells[0].high


SACCT = "JobID|User|Partition|Submit|Eligible|Start|End|State|NNodes|NodeList|TimelimitRaw|Dependency"


def sacct(path: Path, jobs: Sequence[tuple[float, float, float, float]], nodes: int = 1) -> str:
    """Write a log of Slurm: the submission, eligibility, start and end of each job, in seconds."""
    first = datetime(2026, 3, 2)
    lines = [SACCT]
    for number, times in enumerate(jobs):
        texts = [(first + timedelta(seconds=time)).isoformat() for time in times]
        hosts = f"n{number % nodes}"
        lines.append("|".join([str(number + 1), "u", "p", *texts, "COMPLETED", "1", hosts, "60", ""]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.slow
@pytest.mark.long
def test_waiting_is_from_the_moment_at_which_a_job_was_eligible(tmp_path: Path) -> None:
    """Each job was held for 100 s, and started at once."""
    jobs = [(600.0 * n, 600.0 * n + 100, 600.0 * n + 100, 600.0 * n + 400) for n in range(60)]
    words = ["whatif", sacct(tmp_path / "log.txt", jobs), "--policies", "fcfs", "--today", "fcfs", "--warm-up", "0"]
    done = CliRunner().invoke(batproto, [*words, "-o", str(tmp_path / "r.html"), "-j", "1"])
    assert done.exit_code == 0, done.output
    data = json.loads((tmp_path / "log.workload.json").read_text())
    assert [job["subtime"] for job in data["jobs"]] == [eligible for _, eligible, _, _ in jobs]
    assert all(json.loads(job["extra_data"])["recorded"]["held"] == 100.0 for job in data["jobs"])
    question = Question(policies=("fcfs",), today="fcfs", warm_up=0.0, window=3600.0)
    machine = str(tmp_path / "log.machine.xml")
    plan = plan_for(str(tmp_path / "log.workload.json"), question, platform=machine)
    answer = answer_of(plan, Study(**plan.keys).run(tmp_path / "again", processes=1))
    for cells in answer.means.cells:
        found = dict(zip(answer.metrics, cells, strict=True))
        assert found["mean_waiting_time"].mean == pytest.approx(0.0, abs=0.01)
        assert found[FROM_SUBMISSION.name].mean == pytest.approx(100.0, abs=0.01)


class Run(msgspec.Struct):
    """A run of some rows."""

    rows: Sequence[JobRow]
    hosts: int = 1
    metrics: Mapping[str, float] = {}

    def jobs(self) -> Sequence[JobRow]:
        return self.rows

    def attempts(self) -> list[object]:
        return []

    def allocations(self) -> list[object]:
        return []

    def energy_over_time(self) -> None:
        return None


def row(name: str, submitted: float, start: float, run: float) -> JobRow:
    return JobRow(
        job_id=name,
        workload_name="w0",
        profile="p",
        submission_time=submitted,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=start,
        execution_time=run,
        allocated_resources="0",
    )


def test_a_job_does_not_wait_while_it_waits_for_another_job_or_its_begin() -> None:
    from batprotocol.workloads.requests.notation import parse_dependency

    rows = [row("1", 0.0, 0.0, 100.0), row("2", 10.0, 130.0, 50.0), row("3", 20.0, 200.0, 10.0)]
    facts = {"w0!2": Facts(dependency=parse_dependency("afterok:1")), "w0!3": Facts(begin=180.0)}
    run = RunOfLog(Run(rows), 1.0, facts)  # type: ignore[arg-type]
    assert [job.waited for job in run.jobs] == [0.0, 30.0, 20.0]
    assert [job.since_submission for job in run.jobs] == [0.0, 120.0, 180.0]


JOBS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 50), st.integers(1, 30)), min_size=1, max_size=30)


@given(JOBS, st.integers(1, 12))
def test_windows_add_up_and_percentiles_leave_out_a_window(given_jobs: list[tuple[int, int, int]], count: int) -> None:
    rows = [row(str(n), float(at), float(at + wait), float(run)) for n, (at, wait, run) in enumerate(given_jobs)]
    run = RunOfLog(Run(rows, hosts=40), 1.0, {})  # type: ignore[arg-type]
    edges = [100 * place / count for place in range(count + 1)]
    parts = run.parts("mean_waiting_time", edges)
    assert math.fsum(over for over, _ in parts) == pytest.approx(sum(wait for _, wait, _ in given_jobs))
    assert sum(under for _, under in parts) == len(rows)
    place = [next(p for p in range(count) if edges[p] <= at < edges[p + 1]) for at, _, _ in given_jobs]
    whole, without, own = run.percentiles(edges)
    waits = [float(wait) for _, wait, _ in given_jobs]
    assert whole == pytest.approx(percentile(sorted(waits), 0.95))
    for number in range(count):
        rest = sorted(wait for wait, where in zip(waits, place, strict=True) if where != number)
        mine = sorted(wait for wait, where in zip(waits, place, strict=True) if where == number)
        if rest:
            assert without[number] == pytest.approx(percentile(rest, 0.95))
        assert own[number] == (pytest.approx(percentile(mine, 0.95)) if mine else None)


def test_a_report_argues_with_itself() -> None:
    others = (("windows of 12 hours", 1), ("windows of 2 days", 0), ("a warm-up of 2 days", None))
    found = Argument("+++-", 1, others)
    assert found.breaking == ("windows of 2 days",)
    assert found.text == "broken by windows of 2 days: may be chance"
    assert Argument("++++", 1, others[:1]).text == "holds under all of these"
    assert Argument("+-+-", 0, (("x", 0),)).text == "may be chance under all of these"
    assert Argument("====", 0, (("x", 0),)).text == "equal over the whole log"
    assert Argument("+-", None, ()).text == "no conclusion: too few windows"
    assert Argument("+-", -1, (("x", None),)).text == "holds; nothing else could be tried"


CONF = """
ClusterName=c
SchedulerType=sched/backfill
SelectType=select/linear
NodeName=n[0-3] CPUs=1
PartitionName=p Nodes=n[0-3] Default=YES MaxTime=INFINITE
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_slurm_uses_added_hosts(tmp_path: Path) -> None:
    """Its slurm.conf does not name them, but nodes that they are like."""
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "m.xml").write_text(platform_xml(described_platform("n[0-3]")))
    (tmp_path / "machine.txt").write_text("n[0-3]\n")
    jobs = [(60.0 * n, 60.0 * n, 60.0 * n + 5, 60.0 * n + 605) for n in range(80)]
    log = sacct(tmp_path / "log.txt", jobs, nodes=4)
    for machine in ("m.xml", "machine.txt"):
        words = ["whatif", log, "-p", str(tmp_path / machine), "--policies", f"slurm:{tmp_path}/slurm.conf"]
        words += ["--nodes", "2x", "--windows", "10m", "-o", str(tmp_path / "r.html"), "-j", "1"]
        done = CliRunner().invoke(batproto, words)
        assert done.exit_code == 0, done.output
        lines = {line.split("  ")[0]: line for line in done.output.splitlines()}
        assert f"slurm:{tmp_path}/slurm.conf, 8" in " ".join(lines) or "8" in done.output
    used = set()
    for path in (tmp_path / "r.runs").rglob("jobs.*"):
        from batprotocol.studies.rows import jobs_in

        used |= {host for each in jobs_in(str(path.parent)) for host in each.allocated_resources.split()}
    assert {"4", "5", "6", "7"} <= used


def test_added_hosts_are_like_hosts_of_the_machine() -> None:
    found = resized(described_platform("n[0-3]"), 6)
    assert [dict(host.properties).get(LIKE) for host in found.hosts] == [None] * 4 + ["n0", "n2"]


def test_more_hosts_without_the_nodes_of_slurm_conf_are_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    log = backlog(tmp_path / "log.swf", "fcfs", days=1)
    with pytest.raises(Exception, match=r"the hosts of the platform are nodes of slurm\.conf"):
        plan_for(log, Question(policies=(f"slurm:{tmp_path}/slurm.conf",), nodes=("2x",)))


@pytest.mark.slow
@pytest.mark.long
def test_an_answer_names_what_breaks_a_conclusion(tmp_path: Path) -> None:
    log = backlog(tmp_path / "log.swf", "fcfs", days=4)
    answer = asked(log, tmp_path / "runs", Question(policies=("easy-sjf",), today="fcfs"))
    grid = answer.arguments_grid()
    assert next(row[0].text for row in grid.rows) == "easy-sjf: mean waiting time"
    for name, each in answer.arguments.items():
        for metric, found in each.items():
            assert len(found.strip) == 10
            assert set(found.strip) <= set("+-= ")
            ways = [what for what, _ in found.others]
            assert ways[:2] == ["windows of 1.5 hours", "windows of 6 hours"] or ways[0].startswith("windows of ")
            assert len(ways) == (3 if metric.startswith("p95") else 4)
            text = answer.conclusion(name, metric)
            assert text.startswith(("holds", "may be chance", "broken by", "cannot tell"))


def test_a_policy_that_is_nearer_to_the_log_is_named(tmp_path: Path) -> None:
    """Where nobody says what today's policy is, and one that is asked about does what the log did."""
    log = backlog(tmp_path / "log.swf", "fcfs", days=4)
    answer = asked(log, tmp_path / "runs", Question(policies=("fcfs", "easy-sjf")))
    assert answer.error_sentence().endswith(" fcfs is nearer to what really happened: try --today fcfs.")
    fcfs = answer.differences.cells[answer.differences.rows.index("fcfs")][0]
    assert fcfs.is_unknowable, "the model's own error is as large as this difference"
    known = asked(log, tmp_path / "runs", Question(policies=("easy-sjf",), today="fcfs"))
    assert "is nearer" not in known.error_sentence()


@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(1, 9)), min_size=20, max_size=90))
def test_an_interval_is_not_narrower_than_that_of_joined_windows(parts: list[tuple[float, int]]) -> None:
    zeros = [(0.0, float(count)) for _, count in parts]
    given_parts = [(over, float(count)) for over, count in parts]
    count = len(parts) // 2
    edges = [place * len(parts) // count for place in range(count + 1)]
    joined, nothing = (
        [(math.fsum(a for a, _ in side[i:j]), math.fsum(b for _, b in side[i:j])) for i, j in pairwise(edges)]
        for side in (given_parts, zeros)
    )
    found = widest_difference(given_parts, zeros)
    for other in difference_of_ratios(given_parts, zeros), difference_of_ratios(joined, nothing):
        assert found.value == pytest.approx(other.value, abs=1e-9)
        assert None not in (found.low, found.high, other.low, other.high)
        assert found.high - found.low >= other.high - other.low - 1e-9  # type: ignore[operator]
        assert (found.p or 0) >= (other.p or 0)
