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
from logs import HOSTS, log_of, recorded_log
from support import ROOT

from batprotocol.cli.main import batproto
from batprotocol.simulator import described_platform, named_workload, platform_xml
from batprotocol.studies import Study
from batprotocol.studies.comparing import interval
from batprotocol.studies.whatif import Answer, Question, answer_of, page, plan_for, study_toml
from batprotocol.studies.whatif.assumptions import assumptions_of

WITHOUT_ENGINE = True

EVIL = "<script>alert(1)</script>&\"'"
QUESTION = Question(
    policies=("fcfs", "easy"), nodes=("+25%",), window=86_400.0, warm_up=43_200.0, cool_down=21_600.0, seed=3
)


class Asked(NamedTuple):
    """A question that was answered."""

    answer: Answer
    folder: Path
    html: str


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


ROWS = ("--rows", "scheduler,platform", "--seed", "3")


def test_every_number_is_that_of_the_command(asked: Asked) -> None:
    cells = Cells(asked.html).found
    metrics = [option for name in asked.answer.metrics for option in ("--metric", name)]
    differences = of_the_command(asked.folder, *ROWS, *metrics, "--baseline", f"recorded,{HOSTS}")
    means = of_the_command(asked.folder, *ROWS, *metrics)
    assert list(means) == ["recorded, 16", "fcfs, 16", "easy, 16", "fcfs, 20", "easy, 20"]
    assert list(means) == list(differences) == list(cells["means"])
    assert cells["means"] == means
    for place, name in enumerate(asked.answer.metrics):
        shown = {row: texts[0].removesuffix(" (baseline: its mean)") for row, texts in cells[name].items()}
        assert shown == {row: texts[place] for row, texts in differences.items()}
    only = ("--only", "scheduler=fcfs", "--only", f"platform={HOSTS}")
    loads = of_the_command(asked.folder, "--rows", "window", "--metric", "offered_load", *only)
    assert {row: [texts[4]] for row, texts in cells["load"].items()} == loads


def test_what_really_happened_are_the_waiting_times_of_the_log(asked: Asked) -> None:
    waits: dict[str, list[float]] = defaultdict(list)
    for line in Path(asked.folder / "log.swf").read_text().splitlines()[1:]:
        fields = line.split()
        for window in asked.answer.plan.windows:
            if window.begin <= int(fields[1]) < window.end:
                waits[window.label].append(float(fields[2]))
    means = [math.fsum(each) / len(each) for each in waits.values()]
    (cell, *_) = asked.answer.means.cells[asked.answer.means.rows.index("recorded, 16")]
    assert cell.mean == pytest.approx(math.fsum(means) / len(means), rel=0.02)
    # the log was made by FCFS, so FCFS on the same machine changes little, and EASY much
    place = asked.answer.differences.rows.index
    assert abs(asked.answer.differences.cells[place("fcfs, 16")][0].mean or 0) < 0.2 * (cell.mean or 0)


def test_groups_are_those_of_a_plain_computation(asked: Asked) -> None:
    study = Study.read(asked.folder / "study.toml")
    workload = named_workload(str(asked.folder / "log.swf"))
    users = {f"w0!{workload.record(n).id}": workload.record(n).extra_data for n in range(len(workload))}
    waits: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in study.rows():
        begin, end = row.measure.settings["begin"], row.measure.settings["end"]
        for job in row.jobs():
            if begin <= job.submission_time < end and job.waiting_time is not None:
                user = str(msgspec.json.decode(users[f"w0!{job.job_id}"] or "{}")["user"])
                waits[user, f"{row.axes['scheduler']}, {row.axes['platform']}"][row.axes["window"]].append(
                    job.waiting_time
                )
    checked = 0
    for change in asked.answer.changes["easy, 20"]:
        if change.kind == "user":
            before, after = waits[change.name, "recorded, 16"], waits[change.name, "easy, 20"]
            differences = [
                math.fsum(after[each]) / len(after[each]) - math.fsum(before[each]) / len(before[each])
                for each in sorted(before, key=lambda window: float(window.partition("-")[0]))
            ]
            assert change.windows == len(differences)
            assert change.jobs == sum(map(len, before.values()))
            assert change.waiting[0] == pytest.approx(math.fsum(differences) / len(differences))
            assert change.waiting[1:] == pytest.approx(interval(differences, ordered=True) or (None, None))
            checked += 1
    assert checked == 3
    kinds = {change.kind for change in asked.answer.changes["easy, 20"]}
    assert kinds == {"user", "size", "partition"}


def test_groups_are_those_of_the_command(asked: Asked) -> None:
    only = ("--only", "scheduler=recorded", "--only", f"platform={HOSTS}")
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
    before, after = (sum(getattr(each, part) for each in plan.windows) for part in ("before", "after"))
    assert f"The jobs of warm-ups ({before}) and cool-downs ({after}) are simulated and do not count" in said
    assert f"{sum(each.jobs for each in plan.windows)} of {len(plan.workload)} jobs count" in said
    assert "The baseline is recorded" in said
    assert "they count as fewer independent ones" in said
    assert "Energy is not measured" in said


def test_few_windows_jobs_that_are_too_large_and_loads_above_one(tmp_path: Path) -> None:
    question = msgspec.structs.replace(QUESTION, nodes=("-50%",), window=2 * 86_400.0, policies=("fcfs",))
    answer, _, html = answered(tmp_path, log_of(tmp_path / "log.swf", days=6), question)
    said = " ".join(assumptions_of(answer))
    assert "No interval can be given: that takes at least 5 windows, and there are 2" in said
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
    hour = msgspec.structs.replace(QUESTION, nodes=(), window=7200.0, warm_up=3600.0, cool_down=3600.0)
    answer, _, html = answered(tmp_path, str(tmp_path / "log.json"), hour, str(tmp_path / "m.xml"))
    assert answer.plan.partial == len(jobs)
    assert f"{len(jobs)} jobs ask for parts of hosts" in " ".join(assumptions_of(answer))
    assert "Jobs for parts of hosts count by their cores" in html
    for cells in answer.loads.cells:
        assert [cell.mean for cell in cells] == [pytest.approx(1.0, abs=0.01)] * len(cells)
    assert [cell.mean for (cell, *_) in answer.means.cells] == [0.0] * len(answer.means.rows)


def test_energy_of_a_platform_with_watts(tmp_path: Path) -> None:
    platform = tmp_path / "p.xml"
    platform.write_text(PLATFORM)
    question = msgspec.structs.replace(QUESTION, nodes=(), window=2 * 86_400.0)
    answer, folder, html = answered(tmp_path, log_of(tmp_path / "log.swf", days=6), question, str(platform))
    assert "consumed_joules" in answer.metrics
    cells = Cells(html).found["consumed_joules"]
    shown = {row: [texts[0].removesuffix(" (baseline: its mean)")] for row, texts in cells.items()}
    options = ("--metric", "consumed_joules", "--baseline", "fcfs", "--seed", "3")
    assert shown == of_the_command(folder, *options)


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
    assert "9 runs: 9 done, 0 failed" in done.output
    assert "easy=sjf,strict" in done.output
    assert "no interval can be given for fewer than 5 windows" in done.output
    again = CliRunner().invoke(batproto, ["study", "run", str(tmp_path / "study.toml")])
    assert "9 were in the store; nothing to do" in again.output
    html = (tmp_path / "report.html").read_text()
    assert Cells(html).found["mean_waiting_time"].keys() == {"fcfs", "easy", "easy=sjf,strict"}


NOTE = "note: --load is the factor of arrivals, which is not the offered load: use --arrivals"


def test_the_log_of_a_resource_manager(tmp_path: Path) -> None:
    """Each half hour of the log among the examples is a run of a real Slurm, on a machine that was empty."""
    words = ["whatif", str(ROOT / "examples" / "sacct.txt"), "--policies", "easy", "-o", str(tmp_path / "r.html")]
    words += ["--load", "1", "-j", "1"]
    done = CliRunner().invoke(batproto, [*words, "--windows", "1h", "--warm-up", "0", "--cool-down", "0"])
    assert done.exit_code == 0, done.output
    assert "6 runs: 6 done, 0 failed" in done.output
    assert NOTE in done.output
    text = (ROOT / "examples" / "sacct.txt").read_text()
    run = [sys.executable, "-m", "batprotocol", *words[:1], "-", *words[2:]]
    other = subprocess.run(run, input=text, capture_output=True, text=True)
    assert other.returncode == 1
    assert "the log has submissions over 3.65 hours" in other.stderr
    assert (tmp_path / "log.workload.json").read_text() == (tmp_path / "sacct.workload.json").read_text()
    html = (tmp_path / "r.html").read_text()
    assert "13 jobs were taken without a value: the job ran longer than its time limit" in html
    waits: dict[int, list[float]] = defaultdict(list)
    for line in (ROOT / "examples" / "sacct.txt").read_text().splitlines()[1:]:
        submitted, started = (datetime.fromisoformat(each) for each in line.split("|")[4:6])
        waits[int((submitted - datetime(2026, 3, 2, 8, 0, 2)).total_seconds() // 3600)].append(
            (started - submitted).total_seconds()
        )
    means = [math.fsum(waits[hour]) / len(waits[hour]) for hour in range(3)]
    (shown,) = Cells(html).found["means"]["recorded"][:1]
    assert float(shown.split()[0]) == pytest.approx(math.fsum(means) / 3, rel=0.02)


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
    words: list[Any] = ["whatif", log, "-o", str(tmp_path / "r.html"), "--windows", "1d", *options]
    done = CliRunner().invoke(batproto, words)
    assert done.exit_code != 0
    assert reason in done.output or reason in str(done.exception)
    assert not (tmp_path / "r.html").exists()
