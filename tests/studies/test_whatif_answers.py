"""The answer: its numbers are those of `batproto study table`, of the log itself, and of a plain computation."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from click.testing import CliRunner
from support import ROOT
from whatif_logs import HOSTS, log_of, recorded_log

from batprotocol.cli.main import batproto
from batprotocol.simulator import described_platform, named_workload, platform_xml
from batprotocol.studies import Study
from batprotocol.studies.comparing.tables import UNKNOWABLE
from batprotocol.studies.whatif import Question, WhatIfAnswer, answer_of, page, plan_for, study_toml
from batprotocol.studies.whatif._answers import assumptions_of

WITHOUT_ENGINE = True

EVIL = "<script>alert(1)</script>&\"'"
QUESTION = Question(
    policies=("fcfs", "easy"), today="fcfs", nodes=("+25%",), window=43_200.0, warm_up=43_200.0, cool_down=21_600.0
)


class Asked(NamedTuple):
    """A question that was answered. The study is the file `study.toml` of its folder."""

    answer: WhatIfAnswer
    folder: Path
    html: str

    @property
    def study(self) -> Path:
        return self.folder / "study.toml"


def answered(folder: Path, log: str, question: Question, platform: str = "") -> Asked:
    plan = plan_for(log, question, platform=platform)
    (folder / "study.toml").write_text(study_toml(plan.keys))
    study = Study.read(folder / "study.toml")
    answer = answer_of(plan, study.run(processes=1))
    return Asked(answer, folder, page(answer, EVIL))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("whatif")
    return answered(folder, recorded_log(folder / "log.swf", days=6), QUESTION)


class Cells(HTMLParser):
    """The texts of the cells of a page, by their tables and rows; and whether each element was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, list[str]]] = defaultdict(dict)
        self.texts: list[str] = []
        self._open: list[str] = []
        self._table = self._row = ""
        self._cell: list[str] | None = None
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if tag not in ("meta", "circle", "line", "rect", "br"):
            self._open.append(tag)
        if tag == "table":
            self._table = given.get("data-table") or ""
        if tag == "tr":
            self._row = given.get("data-row") or ""
        if tag == "td":
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("circle", "line", "rect", "br"):
            return
        assert self._open.pop() == tag
        if tag == "td" and self._cell is not None:
            self.found[self._table].setdefault(self._row, []).append("".join(self._cell))
            self._cell = None

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._cell is not None:
            self._cell.append(data)


def of_the_command(folder: Path, *options: str) -> Mapping[str, list[str]]:
    """The cells that `batproto study table` prints, by rows."""
    done = CliRunner().invoke(batproto, ["study", "table", str(folder / "study.toml"), "--markdown", *options])
    assert done.exit_code == 0, done.output
    found = {}
    for line in done.output.splitlines()[2:]:
        if not line.startswith("|"):
            break
        name, *cells = [each.strip().replace("\\", "").replace("**", "") for each in line.strip("|").split("|")]
        found[name.removesuffix(" (baseline)")] = cells
    return found


def test_every_number_is_that_of_the_run_and_of_the_command(asked: Asked) -> None:
    """Windows are added up to the metrics that the run of the whole log has, by another computation."""
    rows = {f"{row.axes['scheduler']}, {row.axes['platform']}": row for row in Study.read(asked.study).rows()}
    means = asked.answer.means
    assert means.rows == ("recorded, 16", "fcfs, 16", "easy, 16", "fcfs, 20", "easy, 20")
    for name, cells in zip(means.rows, means.cells, strict=True):
        for metric, cell in zip(asked.answer.metrics, cells, strict=True):
            assert cell.mean == pytest.approx(rows[name].metrics[metric], rel=1e-9), (name, metric)
    differences = asked.answer.differences
    assert differences.rows == ("fcfs, 16", "easy, 16", "fcfs, 20", "easy, 20")
    for name, cells in zip(differences.rows[1:], differences.cells[1:], strict=True):
        for metric, cell in zip(asked.answer.metrics, cells, strict=True):
            apart = rows[name].metrics[metric] - rows["fcfs, 16"].metrics[metric]
            assert cell.mean == pytest.approx(apart, rel=1e-9, abs=1e-9)
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low <= cell.mean <= cell.high
    found = of_the_command(asked.folder, "--rows", "scheduler,platform", "--metric", "mean_waiting_time")
    for name, (text,) in found.items():
        assert float(text.split()[0]) == pytest.approx(rows[name].metrics["mean_waiting_time"], rel=0.01)
    shown = Cells(asked.html).found
    assert list(shown["means"]) == list(means.rows)
    assert list(shown["mean_waiting_time"]) == list(differences.rows)


def test_what_really_happened_are_the_waiting_times_of_the_log(asked: Asked) -> None:
    span = asked.answer.plan.span
    jobs = [list(map(float, line.split())) for line in Path(asked.folder / "log.swf").read_text().splitlines()[1:]]
    waits = [job[2] for job in jobs if span.begin <= job[1] < span.end]
    (cell, *_) = asked.answer.means.cells[asked.answer.means.rows.index("recorded, 16")]
    assert cell.mean == pytest.approx(math.fsum(waits) / len(waits), rel=0.02)


def test_the_models_own_error_is_the_copy_minus_what_really_happened(asked: Asked) -> None:
    """FCFS made the log, so the copy by FCFS is good, and that by another policy is not."""
    answer = asked.answer
    assert answer.errors is not None
    assert answer.errors.rows == ("recorded, 16", "fcfs, 16")
    means = dict(zip(answer.means.rows, answer.means.cells, strict=True))
    for place in range(len(answer.metrics)):
        error, real, copy = (
            answer.errors.cells[1][place].mean,
            *(means[each][place].mean for each in answer.errors.rows),
        )
        assert error == pytest.approx((copy or 0) - (real or 0), abs=1e-9)
    assert abs(answer.errors.cells[1][0].mean or 0) < 0.02 * (means["fcfs, 16"][0].mean or 0)
    assert "The model's own error (fcfs, 16 hosts, simulated, minus what really happened)" in answer.error_sentence()
    assert "nobody said" not in answer.error_sentence()


def test_a_difference_below_the_models_own_error_cannot_be_told(tmp_path: Path) -> None:
    """FCFS made the log, and the copy is EASY's: its error is larger than what SJF changes."""
    question = msgspec.structs.replace(QUESTION, policies=("easy-sjf", "fcfs"), today="", nodes=())
    answer, _, html = answered(tmp_path, recorded_log(tmp_path / "log.swf", days=6), question)
    assert (answer.plan.today, answer.plan.is_assumed) == ("easy", True)
    assert "nobody said that this is today's policy: --today names it" in answer.error_sentence()
    assert answer.errors is not None
    told, shown = 0, Cells(html).found
    for place, metric in enumerate(answer.metrics):
        for name, cells, entries in zip(
            answer.differences.rows[1:], answer.differences.cells[1:], answer.differences.grid().rows[1:], strict=True
        ):
            error = abs(answer.errors.cells[1][place].mean or 0)
            # FCFS is what happened, so its difference is the error, but for rounding.
            below = error > 0 and abs(cells[place].mean or 0) <= error * (1 + 1e-9)
            assert entries[1 + place].text.startswith(f"{UNKNOWABLE} (") == below
            assert shown[metric][name][0].startswith(f"{UNKNOWABLE} (") == below
            assert answer.conclusion(name, metric).startswith(UNKNOWABLE) == below
            assert not (below and entries[1 + place].bold)
            told += below
    assert told
    assert f"{UNKNOWABLE}: the model's own error is not smaller than the difference" in answer.differences.caption


def test_groups_are_those_of_a_plain_computation(asked: Asked) -> None:
    workload, span = named_workload(str(asked.folder / "log.swf")), asked.answer.plan.span
    users = {f"w0!{workload.record(n).id}": workload.record(n).extra_data for n in range(len(workload))}
    waits: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in Study.read(asked.study).rows():
        for job in row.jobs():
            if span.begin <= job.submission_time < span.end and job.waiting_time is not None:
                user = str(msgspec.json.decode(users[f"w0!{job.job_id}"] or "{}")["user"])
                waits[user, f"{row.axes['scheduler']}, {row.axes['platform']}"].append(job.waiting_time)
    means = {key: math.fsum(each) / len(each) for key, each in waits.items()}
    checked = 0
    for change in asked.answer.changes["easy, 20"]:
        if change.kind == "user":
            before = means[change.name, "fcfs, 16"]
            assert change.jobs == len(waits[change.name, "fcfs, 16"])
            assert change.before == pytest.approx(before)
            assert change.waiting[0] == pytest.approx(means[change.name, "easy, 20"] - before)
            assert change.error == pytest.approx(before - means[change.name, "recorded, 16"], abs=1e-9)
            assert change.waiting[1] is not None
            checked += 1
    assert checked == 3
    kinds = {change.kind for change in asked.answer.changes["easy, 20"]}
    assert kinds == {"user", "size", "partition"}


def test_groups_are_those_of_the_command(asked: Asked) -> None:
    only = ("--only", "scheduler=fcfs", "--only", f"platform={HOSTS}")
    found = of_the_command(asked.folder, "--rows", "user", "--metric", "mean_waiting_time", *only)
    users = {change.name: change for change in asked.answer.changes["easy, 20"] if change.kind == "user"}
    assert set(found) == set(users)
    for name, (text,) in found.items():
        assert float(text.split()[0]) == pytest.approx(users[name].before, rel=0.01)


def test_names_from_outside_are_texts_and_nothing_is_loaded(asked: Asked) -> None:
    parsed = Cells(asked.html)
    assert "script" not in parsed.tags
    assert f"{EVIL}" in "".join(parsed.texts)
    assert not {"img", "link", "iframe", "object"} & set(parsed.tags)
    assert "http" not in asked.html.replace("http-equiv", "")
    assert "default-src 'none'" in asked.html


def test_what_it_rests_on(asked: Asked) -> None:
    said = " ".join(assumptions_of(asked.answer))
    plan = asked.answer.plan
    assert "The whole log is simulated once for each alternative, and then cut into" in said
    assert "(batch means)" in said
    assert f"{sum(each.jobs for each in plan.windows)} of {len(plan.workload)} jobs count" in said
    assert "The first 12 hours of the log are a warm-up" in said
    assert "In the simulation, the machine is empty then" in said
    assert "The baseline is fcfs, 16 hosts, simulated: today's policy" in said
    assert "Energy is not measured" in said


def test_few_windows_jobs_that_are_too_large_and_loads_above_one(tmp_path: Path) -> None:
    question = msgspec.structs.replace(QUESTION, nodes=("-50%",), window=2 * 86_400.0, policies=("fcfs",), today="")
    answer, _, html = answered(tmp_path, log_of(tmp_path / "log.swf", days=6), question)
    said = " ".join(assumptions_of(answer))
    assert answer.errors is None
    assert "The model's own error is unknown" in answer.error_sentence()
    assert "use --windows 1d" in html
    assert "seeds" not in html
    assert "No interval can be given: that takes at least 5 windows, and there are 3" in said
    large = sum(answer.plan.workload.record(place).resources > 8 for place in range(len(answer.plan.workload)))
    assert f"{large} jobs of the log are larger than 8 hosts, and not simulated there" in said
    assert answer.not_simulated.keys() == {"8"}
    assert all(cell.low is None for row in answer.differences.cells for cell in row)
    assert "The log has no starts of jobs, so the baseline is the first policy" in said
    assert "no interval can be given for fewer than 5 windows" in html


def test_loads_of_jobs_that_share_hosts_count_their_cores(tmp_path: Path) -> None:
    """Four jobs of a core each on a host of four cores: the load is 1, and no job waits."""
    (tmp_path / "m.xml").write_text(platform_xml(described_platform("n0 cores=4")))
    asks, times = '{"cores": 1}', range(0, 8 * 3600, 900)
    jobs = [
        {"id": f"{at}", "subtime": at, "res": 1, "profile": "d", "walltime": 4000, "extra_data": asks} for at in times
    ]
    log = {"nb_res": 1, "jobs": jobs, "profiles": {"d": {"type": "delay", "delay": 3600}}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    hour = msgspec.structs.replace(QUESTION, nodes=(), window=7200.0, warm_up=0.0, cool_down=0.0, today="")
    answer, _, html = answered(tmp_path, str(tmp_path / "log.json"), hour, str(tmp_path / "m.xml"))
    assert answer.plan.partial == len(jobs)
    assert f"{len(jobs)} jobs ask for parts of hosts" in " ".join(assumptions_of(answer))
    assert "Jobs for parts of hosts count by their cores" in html
    *whole, last = [cell.mean for (cell,) in answer.loads.cells]  # the last window is a quarter of an hour shorter
    assert whole == [pytest.approx(1.0, abs=0.01)] * 3
    assert last == pytest.approx(8 * 900 / 6301)
    assert [cell.mean for (cell, *_) in answer.means.cells] == [0.0] * len(answer.means.rows)


def test_energy_of_a_platform_with_watts(tmp_path: Path) -> None:
    platform = tmp_path / "p.xml"
    platform.write_text(PLATFORM)
    question = msgspec.structs.replace(QUESTION, nodes=(), window=2 * 86_400.0)
    answer, folder, html = answered(tmp_path, log_of(tmp_path / "log.swf", days=6), question, str(platform))
    assert "consumed_joules" in answer.metrics
    cells = Cells(html).found["consumed_joules"]
    assert list(cells) == ["fcfs", "easy"]
    place = answer.metrics.index("consumed_joules")
    for row in Study.read(folder / "study.toml").rows():
        found = answer.means.cells[answer.means.rows.index(row.axes["scheduler"])][place]
        assert found.mean == pytest.approx(row.metrics["consumed_joules"], rel=1e-6)


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="master_host" speed="1Gf"/>
    HOSTS
  </zone>
</platform>
""".replace(
    "HOSTS",
    "\n    ".join(
        f'<host id="h{n}" speed="1Gf"><prop id="wattage_per_state" value="95:98:200"/></host>' for n in range(HOSTS)
    ),
)


def test_the_command(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.swf", days=4)
    words = [
        *("whatif", log, "--policies", "fcfs,easy", "--policies", "easy=sjf,strict", "--windows", "1d"),
        *("--warm-up", "6h", "--cool-down", "6h", "-o", str(tmp_path / "report.html"), "-j", "1"),
    ]
    done = CliRunner().invoke(batproto, [*words, "--toml", str(tmp_path / "study.toml")])
    assert done.exit_code == 0, done.output
    assert "3 runs: 3 done, 0 failed" in done.output
    assert "easy=sjf,strict" in done.output
    assert "no interval can be given for fewer than 5 windows" in done.output
    again = CliRunner().invoke(batproto, ["study", "run", str(tmp_path / "study.toml")])
    assert "3 were in the store; nothing to do" in again.output
    html = (tmp_path / "report.html").read_text()
    assert Cells(html).found["mean_waiting_time"].keys() == {"fcfs", "easy", "easy=sjf,strict"}


NOTE = "note: --load is the factor of arrivals, which is not the offered load: use --arrivals"


def test_the_log_of_a_resource_manager(tmp_path: Path) -> None:
    """Each half hour of the log among the examples is a run of a real Slurm, on a machine that was empty."""
    words = ["whatif", str(ROOT / "examples" / "sacct.txt"), "--policies", "easy", "-o", str(tmp_path / "r.html")]
    words += ["--load", "1", "-j", "1"]
    done = CliRunner().invoke(batproto, [*words, "--windows", "1h", "--warm-up", "0"])
    assert done.exit_code == 0, done.output
    assert "2 runs: 2 done, 0 failed" in done.output
    assert NOTE in done.output
    text = (ROOT / "examples" / "sacct.txt").read_text()
    run = [sys.executable, "-m", "batprotocol", *words[:1], "-", *words[2:]]
    other = subprocess.run([*run, "--warm-up", "2h"], input=text, capture_output=True, text=True)
    assert other.returncode == 1
    assert "the log has submissions over 3.65 hours" in other.stderr
    assert (tmp_path / "log.workload.json").read_text() == (tmp_path / "sacct.workload.json").read_text()
    html = (tmp_path / "r.html").read_text()
    assert "13 jobs were taken without a value: the job ran longer than its time limit" in html
    assert "Times of the log that name no zone count as UTC." in html
    waits = []
    for line in (ROOT / "examples" / "sacct.txt").read_text().splitlines()[1:]:
        submitted, started = (datetime.fromisoformat(each) for each in line.split("|")[4:6])
        waits.append((started - submitted).total_seconds())
    (shown,) = Cells(html).found["means"]["recorded"][:1]
    assert float(shown.split()[0]) == pytest.approx(math.fsum(waits) / len(waits), rel=0.02)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--policies", "quick"], "quick"),
        (["--policies", "easy", "--arrivals", "x"], "expected numbers with commas"),
        (["--policies", "easy", "--load", "1.1", "--arrivals", "1.1"], "give --arrivals only"),
        (["--policies", "easy", "--load", "x"], "expected numbers with commas"),
        (["--policies", "easy", "--load", "-1"], "expected a factor of arrivals > 0"),
        (["--policies", "easy", "--windows", "long"], "a time such as 1w"),
        (["--policies", "easy", "--estimates", "good"], "asked, exact, predicted"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path: Path, options: list[str], reason: str) -> None:
    log = log_of(tmp_path / "log.swf", days=4)
    words: list[Any] = ["whatif", log, "-o", str(tmp_path / "r.html"), *options]
    done = CliRunner().invoke(batproto, words)
    assert done.exit_code != 0
    assert reason in done.output or reason in str(done.exception)
    assert not (tmp_path / "r.html").exists()


@pytest.mark.slow
@pytest.mark.long
def test_todays_policy_alone_has_only_the_models_own_error(tmp_path: Path) -> None:
    words = ["whatif", recorded_log(tmp_path / "log.swf", days=4), "--policies", "easy", "-j", "1"]
    done = CliRunner().invoke(batproto, [*words, "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    assert "The model's own error (easy, simulated" in done.output
    assert "no alternative to today's policy, its error only" in done.output
    assert "over time" not in done.output, "there is no empty table"
    html = (tmp_path / "r.html").read_text()
    assert "easy, simulated, compared with what really happened: there is no alternative to it" in html
    assert "0 alternatives" not in html
    assert html.count("There is no alternative to today&#x27;s policy.") == 3
    refused = CliRunner().invoke(
        batproto, ["whatif", log_of(tmp_path / "new.swf"), "--policies", "easy", "-o", str(tmp_path / "n.html")]
    )
    assert refused.exit_code == 1
    assert "there is nothing to compare: easy is today's policy" in str(refused.exception)


@pytest.mark.slow
@pytest.mark.long
def test_the_command_says_that_the_offered_load_is_above_one(tmp_path: Path) -> None:
    words = ["whatif", log_of(tmp_path / "log.swf"), "--policies", "fcfs,easy", "--arrivals", "4", "-j", "1"]
    done = CliRunner().invoke(batproto, [*words, "--windows", "1w", "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    assert "runs the offered load is above 1 (up to" in done.output
    assert "n.s." not in done.output, "there are no intervals, so nothing is marked"
    assert "no interval can be given for fewer than" in done.output


SLURM_CONF = """
ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={names} CPUs={cpus} ThreadsPerCore={threads}
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


@pytest.mark.parametrize(
    ("names", "cpus", "threads", "said"),
    [
        ("n[0-15]", 8, 1, "n0 has 8 CPUs, and the platform that it has 4 cores (16 nodes are so)"),
        ("other[0-15]", 8, 1, "other0 has 8 CPUs, and the platform that it has 4 cores"),
        ("n[0-15]", 4, 1, ""),
        ("n[0-15]", 8, 2, ""),
    ],
)
def test_a_slurm_conf_with_other_cores_is_remarked_on(
    tmp_path: Path, names: str, cpus: int, threads: int, said: str
) -> None:
    (tmp_path / "slurm.conf").write_text(SLURM_CONF.format(names=names, cpus=cpus, threads=threads))
    (tmp_path / "m.xml").write_text(platform_xml(described_platform("n[0-15] cores=4")))
    question = Question(policies=("easy", f"slurm:{tmp_path}/slurm.conf"))
    plan = plan_for(log_of(tmp_path / "log.swf"), question, platform=str(tmp_path / "m.xml"))
    assert [said in each for each in plan.remarks] == ([True] if said else [])
