"""Some hours of a real Slurm with accounting: from its sacct to a workload, its copy, and a question about it.

`tools/real_slurm.py --site 1` recorded the log. It has six users in three accounts, three partitions, and each
way in which a job can end. tests/studies makes a smaller one anew, where Slurm is installed.
"""

from __future__ import annotations

import json
import lzma
import math
import re

import pytest
from commands import run_here
from slurm_logs import SlurmLog, each_job_is_there, starts_are_those_of_the_plugin, the_copy_is_the_log
from support import DATA

WITHOUT_ENGINE = True

SITE = DATA / "logs" / "site"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> SlurmLog:
    files = {path.stem: lzma.decompress(path.read_bytes()).decode() for path in SITE.glob("*.xz")}
    return SlurmLog(tmp_path_factory.mktemp("site"), files)


def test_the_log_has_all_kinds_of_jobs(log: SlurmLog) -> None:
    states = {row["State"].partition(" ")[0] for row in log.rows}
    assert states == {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "REQUEUED"}
    assert len({row["User"] for row in log.rows}) == 6
    assert len({row["Account"] for row in log.rows}) == 3
    assert {row["Partition"] for row in log.rows} == {"batch", "large", "short"}
    assert len(log.submitted) >= 150
    waited = [row for row in log.rows if row["Reserved"] > "00:01:00"]
    assert len(waited) > 20
    assert sum(path.stat().st_size for path in SITE.iterdir()) < 60_000


def test_each_job_is_there(log: SlurmLog) -> None:
    each_job_is_there(log)


def test_starts_and_hosts_are_those_of_another_plugin(log: SlurmLog) -> None:
    starts_are_those_of_the_plugin(log)


def test_the_copy_is_the_log(log: SlurmLog) -> None:
    the_copy_is_the_log(log, "--policies", "fcfs")


def test_both_descriptions_of_the_nodes_give_the_same_machine(log: SlurmLog) -> None:
    conf = log.imported("--nodes", str(log.folder / "slurm.conf"))["machine"]
    nodes = log.imported("--nodes", str(log.folder / "nodes.txt"))["machine"]
    assert conf == nodes


def test_a_question_about_the_log(log: SlurmLog) -> None:
    """What `batproto whatif` compares with is the log: the mean waiting time of the jobs submitted in its window."""
    platform = log.folder / "hosts.xml"
    jobs = log.imported(*log.nodes, "-p", str(platform))["workload"]["jobs"]
    words = ["whatif", log.folder / "sacct.txt", "-p", platform, "--policies", "easy", "-o", log.folder / "report.html"]
    told = run_here(*words, "--windows", "1h", "--warm-up", "10m", "--cool-down", "0", "-j", "1")
    assert told.status == 0, told.err
    assert "2 runs: 2 done, 0 failed" in told.out
    assert "The model's own error (easy, simulated, minus what really happened): mean waiting time" in told.out
    recorded = [(job["subtime"], json.loads(job["extra_data"])["recorded"]) for job in jobs if job["subtime"] >= 600]
    waits = [each["start"] - came + each.get("held", 0.0) for came, each in recorded]
    assert len(waits) > 90
    html = (log.folder / "report.html").read_text()
    cells = re.search(r'data-row="recorded".*?data-name="mean time from submission[^"]*">([0-9.]+)', html, re.DOTALL)
    assert cells is not None
    assert float(cells[1]) == pytest.approx(math.fsum(waits) / len(waits), rel=1e-2)
