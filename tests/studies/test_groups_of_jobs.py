"""Studies of jobs that share hosts: groups of jobs, workflows and allocations in results, tables and plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run_here

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.policies import named
from batprotocol.simulator import (
    StaticJob,
    Workload,
    read_platform,
    read_workload,
    simulate,
    workflow_results,
    workload_json,
)
from batprotocol.studies import Rows, Study, with_groups

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="master_host" speed="1Gf"/>
    <host id="a" speed="1Gf" core="4"/>
    <host id="b" speed="1Gf" core="4"/>
  </zone>
</platform>
"""
SITE = """
[partitions]
day = { hosts = "ALL", default = true }
night = { hosts = "ALL" }
"""


def workload() -> Workload:
    asked: list[dict[str, object]] = [
        {"cores": 2, "partition": "night", "user": "ada"},
        {"cores": 4, "workflow": "f"},
        {"cores": 1, "workflow": "f", "dependency": "afterok:1"},
        {"cores": 3, "workflow": "g", "user": "bo"},
        {},
    ]
    return Workload(
        [
            StaticJob(str(number), float(number), 1, DelayProfile(30.0), walltime=60.0, extra_data=json.dumps(each))
            for number, each in enumerate(asked)
        ],
        {},
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "w.json").write_text(workload_json(workload()))
    (folder / "p.xml").write_text(PLATFORM)
    (folder / "site.toml").write_text(SITE)
    (folder / "study.toml").write_text(
        'scheduler = ["easy+site=site.toml", "fcfs+site=site.toml"]\nworkload = "w.json"\nplatform = "p.xml"\n'
    )
    rows = Study.read(folder / "study.toml").run(processes=1)
    assert [row.error for row in rows] == ["", ""]
    return folder


def rows_of(folder: Path) -> Rows:
    return Study.read(folder / "study.toml").run(processes=1)


def test_runs_keep_allocations_and_workflows(study: Path) -> None:
    for row in rows_of(study):
        policy = named(row.axes["scheduler"], str(study))()
        given = read_workload(study / "w.json", name="w0")
        result = simulate(read_platform(study / "p.xml"), given, policy)
        assert [each.job_id for each in row.allocations()] == [each.job_id for each in policy.allocated]
        flows = workflow_results(result.jobs, given, cores=8).values()
        for name in ("makespan", "stretch", "efficiency"):
            mean = sum(getattr(each, name) for each in flows) / 2
            assert row.metrics[f"mean_workflow_{name}"] == pytest.approx(mean, abs=1e-4)
        assert row.metrics["nb_workflows"] == 2
        for by, more in (("partition", {"day", "night"}), ("user", {"ada", "bo", "-"}), ("workflow", {"f", "g", "-"})):
            expected = result.grouped(by, given, policy.allocated)
            found = with_groups(Rows([row]), by)
            assert {each.axes[by] for each in found} == set(expected) == more
            for each in found:
                known = expected[each.axes[by]].flat()
                assert {name: each.metrics[name] for name in known} == pytest.approx(known, abs=1e-4)


def test_workflows_are_measured_again_without_a_run(study: Path) -> None:
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(f"{text}warm_up = 0.5\n")
    try:
        rows = rows_of(study)
        assert [row.metrics["nb_workflows"] for row in rows] == [1, 1], "the other one arrived before"
        (flow,) = [each for each in with_groups(rows[:1], "workflow") if each.axes["workflow"] == "g"]
        assert flow.metrics["mean_workflow_stretch"] >= 1
    finally:
        (study / "study.toml").write_text(text)


def test_tables_and_plots_have_groups_as_axes(study: Path) -> None:
    path = str(study / "study.toml")
    rows_of(study)
    table = run_here("study", "table", path, "--rows", "partition", "--columns", "scheduler", "--csv")
    assert table.status == 0, table.err
    assert {line.split(",")[0] for line in table.out.splitlines()[1:]} == {"day", "night"}
    night = run_here("study", "table", path, "--metric", "nb_jobs", "--only", "partition=night", "--json")
    assert '"mean": 1.0' in night.out
    for words, sentence in (
        (["--rows", "partition", "--columns", "qos"], "jobs can be grouped in one way only, and partition and qos"),
        (["--only", "partition=noon"], "there is no partition 'noon'; there are"),
    ):
        assert sentence in run_here("study", "table", path, *words).err
    plot = run_here("study", "plot", path, "--x", "size", "-o", study / "sizes.svg")
    assert plot.status == 0, plot.err
    ecdf = run_here("study", "plot", path, "--kind", "ecdf", "--by", "user", "-o", study / "e.svg")
    assert "--kind ecdf draws whole runs, and no groups of jobs" in ecdf.err


def test_a_study_with_an_axis_of_that_name_is_not_grouped(study: Path) -> None:
    rows = with_groups(rows_of(study), "size")
    with pytest.raises(InputError, match="the study has an axis size"):
        with_groups(rows, "size")
    with pytest.raises(InputError, match="expected one of partition"):
        with_groups(rows, "colour")


def test_files_that_were_changed_are_a_sentence(study: Path) -> None:
    row = rows_of(study)[0]
    path = Path(row.folder, "groups.json")
    whole = path.read_bytes()
    try:
        for data in (b"{", b"[]", b'{"size": 3}', b"\xff"):
            path.write_bytes(data)
            with pytest.raises(InputError, match=r"groups\.json: the file of the run cannot be used"):
                with_groups(Rows([row]), "size")
    finally:
        path.write_bytes(whole)
