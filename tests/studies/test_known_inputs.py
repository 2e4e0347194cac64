"""The inputs of runs: which are read once, what is checked first, and what energy and axes come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from batprotocol.errors import StudyError
from batprotocol.studies import Study
from batprotocol.studies._inputs import Inputs, checked
from batprotocol.studies._measurement import measure_again
from batprotocol.studies._simulation import execute
from batprotocol.studies.runs import Measure, Outcome, RunLimits
from batprotocol.studies.sources import traces_of
from batprotocol.workloads import offered_load

WITHOUT_ENGINE = True

SMALL = "lublin:16?jobs=40"
LOG = "; MaxProcs: 8\n" + "".join(
    f"{number} {number * 10} 0 20 2 -1 -1 2 {'30' if number % 2 else '-1'} -1 1 1 1 1 1 1 -1 -1\n"
    for number in range(1, 7)
)


def described(folder: Path, **keys: Any) -> Any:
    return Study(**{"scheduler": "easy", "workload": SMALL, "folder": folder, **keys})._description


def hosts_and_loads(folder: Path, **keys: Any) -> list[tuple[int, float]]:
    """The sizes of the machines of some runs, and their offered loads on them."""
    runs, files = described(folder, **keys).runs()
    inputs = Inputs(str(folder / "files"))
    found = []
    for run in runs:
        size = len(inputs.platform(run.task, files).computation_hosts)
        load = offered_load(inputs.workload(run.task, files).workload, size)
        found.append((size, round(load or 0.0, 3)))
    return found


def test_machines_and_the_loads_on_them(tmp_path: Path) -> None:
    assert hosts_and_loads(tmp_path, offered_load=[0.5, 0.9]) == [(16, 0.5), (16, 0.9)]
    assert hosts_and_loads(tmp_path, offered_load=0.7) == [(16, 0.7)]
    assert hosts_and_loads(tmp_path, offered_load=0.7, platform=[16, 32]) == [(16, 0.7), (32, 0.7)]
    assert hosts_and_loads(tmp_path, offered_load=0.7, platform=32, mmax=20) == [(20, 0.7)]
    assert hosts_and_loads(tmp_path, offered_load=0.7, mmax=20) == [(16, 0.875)]  # no more than the workload has
    assert hosts_and_loads(tmp_path, offered_load=0.8, platform=32, mmax=16) == [(16, 0.8)]
    (tmp_path / "log.swf").write_text(LOG)
    assert hosts_and_loads(tmp_path, workload="log.swf") == [(8, 0.6)]
    assert hosts_and_loads(tmp_path, workload="log.swf", arrival_factor=2) == [(8, 1.2)]
    assert hosts_and_loads(tmp_path, workload="log.swf", offered_load=0.9, shift=True) == [(8, 0.9)]
    assert hosts_and_loads(tmp_path, workload="log.swf?jobs=0-3", mmax=4) == [(4, 1.333)]


def test_inputs_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    runs, files = described(tmp_path, scheduler=["fcfs", "easy"], workload="log.swf", arrival_factor=[1, 2]).runs()
    inputs = Inputs(str(tmp_path / "files"))
    workloads = [inputs.workload(run.task, files) for run in runs]
    assert workloads[0] is workloads[1]
    assert workloads[0] is not workloads[2]
    assert workloads[2] is workloads[3]
    platforms = [inputs.platform(run.task, files) for run in runs]
    assert platforms[0] is platforms[1] is platforms[2]  # for machines of one size
    larger, files = described(tmp_path, scheduler="fcfs", workload="log.swf", mmax=4).runs()
    assert inputs.platform(larger[0].task, files) is not platforms[0]
    assert workloads[0].users is not None
    assert len(workloads[0].users) == 6
    (run,), files = described(tmp_path).runs()
    assert inputs.workload(run.task, files).users is None
    assert inputs.root("", files) == ""


def test_advice_on_workloads(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    workload = {"workload": "log.swf", "name": "LOG"}
    runs, files = described(tmp_path, workload=workload, arrival_factor=[1, 2], scheduler=["fcfs", "easy"]).runs()
    (note,) = checked(runs, files)
    assert note.startswith("LOG: ")
    assert "3 of 6 jobs" in note
    runs, files = described(tmp_path, workload="log.swf", estimates="exact").runs()
    assert checked(runs, files) == ()
    (tmp_path / "cluster.xml").write_text("<platform/>")
    runs, files = described(tmp_path, platform="cluster.xml").runs()
    with pytest.raises(
        StudyError, match=r"^platform: workload=lublin:16\?jobs=40 platform=cluster.xml scheduler=easy: "
    ):
        checked(runs, files)


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ({"dependency": "afterok:1"}, "job 'w0!1': dependency: it waits for itself: w0!1 -> w0!2 -> w0!1"),
        ({"memory": -1}, "job 'w0!2': memory: expected memory >= 0, in MiB or with a unit K, M, G or T"),
    ],
)
def test_what_jobs_ask_for_is_checked_before_the_first_run(
    tmp_path: Path, second: dict[str, Any], sentence: str
) -> None:
    asks = [{"dependency": "afterok:2"}, second]
    jobs = [
        {"id": str(number), "subtime": 0, "res": 1, "profile": "d", "walltime": 9, "extra_data": each}
        for number, each in enumerate(asks, 1)
    ]
    profiles = {"d": {"type": "delay", "delay": 5}}
    (tmp_path / "w.json").write_text(json.dumps({"nb_res": 2, "jobs": jobs, "profiles": profiles}))
    runs, files = described(tmp_path, workload="w.json", scheduler=["easy", "fcfs"]).runs()
    with pytest.raises(StudyError) as caught:
        checked(runs, files)
    assert str(caught.value).startswith(f"workload: workload=w.json scheduler=easy: {sentence}")


def test_energy_is_measured_and_measured_again(tmp_path: Path) -> None:
    (run,), files = Study(scheduler="easy", energy=True)._description.runs()
    (tmp_path / "place" / "run").mkdir(parents=True)
    outcome: Outcome = execute((run.task, RunLimits(60.0), (run.measure,)), files, str(tmp_path / "place" / "run"))
    assert (outcome.state, outcome.error, outcome.hosts) == ("done", "", 32)
    metrics = outcome.measured[run.measure.key]
    joules = json.loads(outcome.files["schedule.json"].replace(b"-nan", b"null"))["consumed_joules"]
    assert metrics["consumed_joules"] == pytest.approx(float(joules))
    assert metrics["consumed_joules"] > 1e6
    for name, data in outcome.files.items():
        (tmp_path / name).write_bytes(data)
    for measure in (run.measure, Measure({"warm_up": 0.5})):
        found = measure_again((str(tmp_path), 32, (measure,)), {}, str(tmp_path / "place" / "run"))
        assert isinstance(found, dict)
        again = found[measure.key]
        if measure is run.measure:
            assert again == pytest.approx(dict(metrics))
        else:
            assert again["consumed_joules"] < 0.9 * metrics["consumed_joules"]


def test_names_of_inputs_and_their_axes(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("")
    own = {"scheduler": "own.py:Own", "name": "own", "arguments": {"seed": [1, "{seed}"], "depth": [4, 2, 4.5]}}
    made = described(
        tmp_path,
        scheduler=["easy", own],
        workload=[{"workload": SMALL, "name": "model"}, "lublin:8"],
        platform=[{"platform": 8, "name": "small", "mmax": 4, "roles": {"h1": "storage"}}, 16],
        seed=[3],
    )
    assert made.axes == {
        "workload": ("model", "lublin:8"),
        "platform": ("small", 16),
        "seed": (3,),
        "scheduler": ("easy", "own"),
        "scheduler.seed": (1, "{seed}"),
        "depth": (4, 2, 4.5),
    }
    assert made.count() == 2 * 2 * 7
    runs, _ = made.runs(["workload=model", "platform=small", "scheduler.seed={seed}", "depth=4,4.5"])
    assert [run.task.arguments for run in runs] == [{"seed": 3, "depth": 4}, {"seed": 3, "depth": 4.5}]
    assert [(run.task.mmax, run.task.roles, run.task.platform) for run in runs] == [(4, {"h1": "storage"}, 8)] * 2
    assert [run.drawn for run in runs] == [("workload", "scheduler")] * 2
    assert runs[0].axes == {
        "workload": "model",
        "platform": "small",
        "seed": 3,
        "scheduler": "own",
        "scheduler.seed": "{seed}",
        "depth": 4,
    }
    assert runs[0].task.workload == SMALL
    runs, _ = made.runs(["scheduler=easy", "platform=16"])
    assert [run.task.mmax for run in runs] == [0, 0]
    assert [run.drawn for run in runs] == [("workload",)] * 2


def test_axes_of_what_is_not_given(tmp_path: Path) -> None:
    made = Study(scheduler="easy")._description
    ((run,), files) = made.runs()
    assert run.axes == {"workload": "example", "scheduler": "easy"}
    assert (len(files), run.task.platform, run.is_model) == (2, Path(str(run.task.platform)).name, False)
    (run,), _ = described(tmp_path).runs()
    assert (run.task.platform, run.task.platform_files) == (None, "")
    (tmp_path / "s.toml").write_text('scheduler = "easy"\nworkload = "lublin:8"\n')
    assert Study.read(tmp_path / "s.toml").name == "s"
    assert Study.read(tmp_path / "s.toml").place() == str(tmp_path / "s.runs")


def test_traces_of_a_workload(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "all.txt").write_text("# a comment\n0.txt\n\n 1.txt \n")
    for name in ("0.txt", "1.txt"):
        (tmp_path / "traces" / name).write_text("0 m_usage 0.5 1e6\n")
    profile = {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": "traces/all.txt"}
    workload = {"nb_res": 1, "jobs": [], "profiles": {"p": {"type": "DelayProfile", "delay": 1}, "t": profile}}
    (tmp_path / "w.json").write_bytes(msgspec.json.encode(workload))
    assert traces_of(str(tmp_path / "w.json")) == ["traces/all.txt", "traces/0.txt", "traces/1.txt"]
    (tmp_path / "w.json").write_bytes(msgspec.json.encode({**workload, "profiles": {}}))
    assert traces_of(str(tmp_path / "w.json")) == []
