"""`batproto study table`, `plot` and `metrics`, on a study that was run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from commands import run_here

from batprotocol.simulator import METRICS, OF_FAILURES, OF_POWER, OF_WORKFLOWS
from batprotocol.studies import Rows, Study
from batprotocol.studies.comparing import table

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows]:
    folder = tmp_path_factory.mktemp("study")
    (folder / "small.toml").write_text(
        'scheduler = ["fcfs", "easy"]\nworkload = "lublin:32?jobs=30"\noffered_load = [0.8, 1.4]\nseed = [1, 2, 3]\n'
    )
    rows = Study.read(folder / "small.toml").run(folder / "small.runs", processes=1)
    return folder / "small.runs", rows


def test_table(study: tuple[Path, Rows]) -> None:
    store, rows = study
    expected = table(rows, columns="offered_load")
    assert run_here("study", "table", store, "--columns", "offered_load").out.rstrip("\n") == str(expected)
    records = list(
        csv.DictReader(io.StringIO(run_here("study", "table", store, "--columns", "offered_load", "--csv").out))
    )
    assert [float(record["mean"]) for record in records] == [cell.mean for cells in expected.cells for cell in cells]
    told = json.loads(
        run_here("study", "table", store, "--json", "--baseline", "FCFS", "--only", "offered_load=1.40").out
    )
    assert told["baseline"] == "fcfs"
    assert told["over"] == {"seed": 3}
    several = run_here("study", "table", store, "--metric", "utilisation", "--metric", "makespan", "--markdown").out
    assert several.startswith("| scheduler | utilisation | makespan \\[s\\] |\n| --- | ---: | ---: |\n")
    assert run_here("study", "table", store, "--latex").out.count("\\\\") == 3


def test_the_ending_of_a_file_selects_the_form_of_a_table(study: tuple[Path, Rows], tmp_path: Path) -> None:
    store, rows = study
    found = table(rows, columns="offered_load")
    forms = {"csv": found.csv, "md": found.markdown, "tex": found.latex, "json": found.json, "txt": found.text}
    for ending, form in forms.items():
        path = tmp_path / f"table.{ending}"
        done = run_here("study", "table", store, "--columns", "offered_load", "-o", path)
        assert (done.status, done.out, done.err) == (0, "", "")
        assert path.read_text("utf-8").rstrip("\n") == form().rstrip("\n")
    for name, option, reason in (
        ("table.pdf", (), "name a file that ends with .csv, .md, .tex, .json or .txt, got"),
        ("other.csv", ("--latex",), "are two formats: leave out --latex, or pick another ending"),
    ):
        refused = run_here("study", "table", store, "-o", tmp_path / name, *option)
        assert refused.status == 2
        assert reason in refused.err
        assert not (tmp_path / name).exists()


def test_the_runs_of_a_file(study: tuple[Path, Rows], monkeypatch: pytest.MonkeyPatch) -> None:
    store, rows = study
    monkeypatch.chdir(store.parent)
    assert run_here("study", "table", "small.toml").out.rstrip("\n") == str(table(rows))


def test_two_runs(study: tuple[Path, Rows]) -> None:
    store, rows = study
    first, second = (f"{store}?scheduler={name}&offered_load=1.40&seed=2" for name in ("FCFS", "easy"))
    told = json.loads(run_here("compare", "--json", first, second).out)
    (row,) = rows.where(scheduler="easy", offered_load=1.4, seed=2)
    assert told["names"] == ["scheduler=FCFS", "scheduler=easy"]
    assert told["metrics"]["mean_waiting_time"]["other"] == pytest.approx(row.metrics["mean_waiting_time"], rel=1e-4)
    assert "the schedules are the same" in run_here("compare", row.folder, second).out


def test_plots(study: tuple[Path, Rows], tmp_path: Path) -> None:
    store, _ = study
    for name, *options in (
        ("lines.svg", "--x", "offered_load"),
        ("boxes.png", "--log"),
        ("waits.pdf", "--kind", "ecdf", "--only", "offered_load=0.8,1.4"),
    ):
        done = run_here("study", "plot", store, "-o", tmp_path / name, *options)
        assert done.status == 0
        assert all(line.startswith(f"batproto: {tmp_path / name}: ") for line in done.err.splitlines())  # its notes
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "nowhere"], "nowhere: there is no such store"),
        (["table", "nowhere.toml"], "nowhere.toml: no such file or directory"),
        (["table", "{}", "--rows", "machine"], "there is no axis 'machine', only"),
        (["table", "{}", "--metric", "mean_slow"], "there is no metric 'mean_slow'; did you mean mean_slowdown"),
        (["table", "{}", "--metric", "consumed_joules"], "no run has consumed_joules"),
        (["table", "{}", "--only", "load"], "expected AXIS=VALUE or AXIS=VALUE,VALUE, got 'load'"),
        (["table", "{}", "--only", "offered_load=7"], "there is no offered_load '7'; there are 0.8, 1.4"),
        (["table", "{}", "--baseline", "sjf"], "there is no scheduler 'sjf'; there are"),
        (["table", "{}", "--confidence", "1"], "1.0 is not in the range 0<x<1"),
        (["compare", "{}?scheduler=easy", "{}"], "6 runs have this name: name one, such as"),
        (["compare", "{}?scheduler=sjf", "{}"], "there is no scheduler 'sjf'; there are"),
        (["compare", "nowhere?scheduler=sjf", "{}"], "nowhere: there is no such store"),
        (["plot", "{}", "-o", "plot.gif"], "expected a name that ends in .png, .svg, .pdf, got 'plot.gif'"),
        (["plot", "{}", "-o", "plot.png", "--kind", "lines"], "give --x, too"),
        (["plot", "{}", "-o", "/nowhere/plot.png"], "/nowhere/plot.png: no such file or directory"),
    ],
)
def test_what_is_wrong_is_told(study: tuple[Path, Rows], arguments: list[str], message: str) -> None:
    family = [] if arguments[0] == "compare" else ["study"]
    done = run_here(*family, *(each.format(study[0]) for each in arguments))
    assert done.status != 0
    assert message in done.err
    assert done.err.count("\n") == 1


def test_metrics_are_listed() -> None:
    shown = run_here("study", "metrics").out
    assert all(f"\n{name} " in f"\n{shown}" for name in [*METRICS, *OF_FAILURES, *OF_POWER, *OF_WORKFLOWS])
    told = json.loads(run_here("study", "metrics", "--json").out)
    assert [each["name"] for each in told] == [*METRICS, *OF_FAILURES, *OF_POWER, *OF_WORKFLOWS]
