"""Parameters of schedulers and options of platforms as axes of studies, and what is refused before the first run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from batprotocol.errors import StudyError
from batprotocol.policies.names import PolicyNameError, with_options
from batprotocol.simulator import EXAMPLE_WORKLOAD
from batprotocol.studies import KEYS, Progress, Study
from batprotocol.studies.comparing import table

WITHOUT_ENGINE = True

SMALL = "lublin:16?jobs=15"
CLUSTER = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="site" routing="Full">
    <cluster id="cluster" prefix="n" suffix="" radical="0-32" speed="1Gf" bw="1GBps" lat="1us"/>
  </zone>
</platform>
"""
MINE = """
from batprotocol.policies import Policy

class Patient(Policy):
    def __init__(self, hosts_an_hour=1, offered_load=0, depths=()):
        super().__init__()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patient.py").write_text(MINE)
    (tmp_path / "cluster.xml").write_text(CLUSTER)
    shutil.copy(EXAMPLE_WORKLOAD, tmp_path / "jobs.json")
    return tmp_path


def patient(**arguments: object) -> dict[str, object]:
    return {"scheduler": "patient.py:Patient", "name": "patient", "arguments": arguments}


def test_an_argument_with_several_values_is_an_axis(folder: Path) -> None:
    study = Study(scheduler=["easy", patient(hosts_an_hour=[1, 4, 8], offered_load=2)], workload=SMALL, folder=folder)
    assert study.axes["scheduler"] == ("easy", "patient")
    assert study.axes["hosts_an_hour"] == (1, 4, 8)
    runs = study.runs()
    assert [run.axes.get("hosts_an_hour") for run in runs] == [None, 1, 4, 8]
    assert [run.task.arguments for run in runs[1:]] == [{"hosts_an_hour": n, "offered_load": 2} for n in (1, 4, 8)]
    assert [run.axes["hosts_an_hour"] for run in study.runs(["hosts_an_hour=4,8"])] == [4, 8]
    assert study.count(["hosts_an_hour=4,8"]) == 2


@pytest.mark.slow
def test_tables_have_such_axes(folder: Path) -> None:
    study = Study(scheduler=["fcfs", patient(hosts_an_hour=[1, 4])], workload=SMALL, seed=range(3), folder=folder)
    found = table(study.run(folder / "store", processes=1), rows="hosts_an_hour")
    assert (found.row_axis, found.rows) == ("hosts_an_hour", ("1", "4", "-"))


def test_an_argument_that_is_called_as_a_key_has_an_axis_of_its_own(folder: Path) -> None:
    study = Study(scheduler=patient(offered_load=[1, 2]), workload=SMALL, offered_load=[0.5, 0.9], folder=folder)
    assert (study.axes["offered_load"], study.axes["scheduler.offered_load"]) == ((0.5, 0.9), (1, 2))
    assert study.count() == 4


def test_a_list_of_lists_is_an_axis_of_lists(folder: Path) -> None:
    runs = Study(scheduler=patient(depths=[[1, 2], [3]]), workload=SMALL, folder=folder).runs()
    assert [run.task.arguments["depths"] for run in runs] == [[1, 2], [3]]


def test_options_of_policies_are_axes() -> None:
    study = Study(
        scheduler=[
            {"scheduler": "easy-sjf+off=5", "name": "sleepy", "arguments": {"off": [60, 600.0], "keep": [True, False]}}
        ],
        workload=SMALL,
    )
    assert (study.axes["off"], study.axes["keep"]) == ((60, 600.0), (True, False))
    assert [run.task.scheduler for run in study.runs()] == [
        "easy+sjf+off=60+keep",
        "easy+sjf+off=60",
        "easy+sjf+off=600+keep",
        "easy+sjf+off=600",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"of": 1}, "there is no part 'of'"), ({"sjf": 3}, "sjf takes no options")],
)
def test_options_that_a_policy_has_not_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyNameError, match=message):
        with_options("easy", options)
    with pytest.raises(StudyError, match=f"scheduler: .*{message}"):
        Study(scheduler={"scheduler": "easy", "arguments": options}, workload=SMALL)


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        (patient(hosts_an_hour=[]), r"scheduler.arguments.hosts_an_hour: an axis has at least one value"),
        ({"scheduler": "easy", "arguments": {"off": ["soon"]}}, "expected a number >= 0, got 'soon'"),
        ([patient(hosts_an_hour=1), patient(hosts_an_hour=4)], "'patient' is named twice"),
        (patient(hosts_an_hour=[1, 1]), "is named twice"),
    ],
)
def test_wrong_parameters_are_refused(folder: Path, scheduler: object, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study(scheduler=scheduler, workload=SMALL, folder=folder)


@pytest.mark.slow
def test_masters_and_numbers_of_hosts_are_axes(folder: Path) -> None:
    study = Study(
        scheduler="easy",
        workload="jobs.json",
        platform="cluster.xml",
        master=["n0", "n32"],
        mmax=[8, 32],
        folder=folder,
    )
    rows = study.run(folder / "store", processes=1)
    assert [(row.axes["master"], row.hosts) for row in rows] == [("n0", 8), ("n0", 32), ("n32", 8), ("n32", 32)]
    one = {"platform": "cluster.xml", "name": "small", "mmax": 8}
    (run,) = Study(scheduler="easy", workload="jobs.json", platform=[one], folder=folder).runs()
    assert run.task.mmax == 8
    assert run.axes["platform"] == "small"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"platform": "cluster.xml"}, "platform: .*expected exactly one master"),
        ({"platform": {"platform": "cluster.xml", "master": "nobody"}}, "platform: .*there is no host 'nobody'"),
        ({"platform": "cluster.xml", "master": ["n0", "nobody"]}, "platform: .*there is no host 'nobody'"),
        ({"workload": "log.swf"}, "workload: .*log.swf:1"),
    ],
)
def test_what_cannot_run_is_refused_before_the_first_run(folder: Path, keys: dict[str, object], message: str) -> None:
    (folder / "log.swf").write_text("1 2 three\n")
    seen: list[Progress] = []
    study = Study(**{"scheduler": ["fcfs", "easy"], "workload": "jobs.json", "folder": str(folder), **keys})  # type: ignore[arg-type]
    with pytest.raises(StudyError, match=message):
        study.run(folder / "store", on_progress=seen.append)
    assert not seen


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"master": "n0"}, "platform: a platform without a file has its own master"),
        ({"mmax": 0}, "mmax: expected a number of hosts > 0"),
        ({"platform": {"platform": 4, "cores": 2}}, "a table has the keys platform, name, master, mmax, roles"),
        ({"platform": {"platform": 4, "roles": 2}}, r"platform.roles: expected a table of hosts and their roles"),
        ({"badness": 1, "estimate_factor": 1}, "estimate_factor and badness, its old name, exclude one another"),
        ({"arrival_factor": 1, "offered_load": 1}, "arrival_factor and offered_load exclude one another"),
        ({"estimates": "exact", "estimate_factor": 1}, "estimates and estimate_factor exclude one another"),
        ({"estimates": "rough"}, 'expected "asked", "exact" or "predicted", got'),
        ({"workload": "lublin:16?seed=3", "seed": [1, 2]}, "nothing is drawn at random"),
    ],
)
def test_what_does_not_fit_together_is_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study(**{"scheduler": "easy", "workload": SMALL, **keys})  # type: ignore[arg-type]


def test_a_billion_runs_are_counted_and_not_listed() -> None:
    study = Study(
        scheduler=["fcfs", "easy"],
        workload=SMALL,
        seed=range(1000),
        offered_load=[n / 1000 for n in range(1, 1001)],
        walltimes=[n / 100 for n in range(1, 501)],
    )
    assert study.count() == 1_000_000_000
    assert study.count(["seed=1,2", "scheduler=easy", "offered_load=0.5"]) == 1000
    assert len(study.runs(["seed=1", "offered_load=0.5", "scheduler=easy"])) == 500
    with pytest.raises(StudyError, match="it has 1,000,000,000 runs, and 10,000,000 is the maximum"):
        study.runs()


def test_the_old_name_of_estimate_factor_works_and_warns(tmp_path: Path) -> None:
    old: dict[str, object] = {"badness": [2, 4]}
    with pytest.warns(
        DeprecationWarning, match="^the key badness is deprecated: use estimate_factor instead$"
    ) as caught:
        study = Study(scheduler="fcfs", workload=SMALL, seed=[1, 2], folder=str(tmp_path), **old)  # type: ignore[arg-type]
    assert caught[0].filename == __file__
    assert study.axes["estimate_factor"] == (2, 4)
    assert "badness" not in KEYS
    new = Study(scheduler="fcfs", workload=SMALL, seed=[1, 2], estimate_factor=[2, 4])
    assert [run.key for run in study.runs()] == [run.key for run in new.runs()]
    assert study.count(["badness=2"]) == 2
    seen: list[Progress] = []
    study.run(tmp_path / "store", on_progress=seen.append)
    assert seen[0].notes[0] == "the key badness is deprecated: use estimate_factor instead"


def test_the_old_names_of_progress_warn() -> None:
    progress = Progress(total=9, completed=4, done=2)
    with pytest.warns(DeprecationWarning, match=r"Progress\.there is deprecated: use Progress\.completed instead"):
        assert progress.there == 4
    with pytest.warns(DeprecationWarning, match=r"Progress\.left is deprecated: use Progress\.remaining instead"):
        assert progress.left == progress.remaining == 3
