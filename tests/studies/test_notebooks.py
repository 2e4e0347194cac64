"""Results and tables in notebooks, and as tables of other libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from batprotocol.errors import PackageMissing
from batprotocol.policies import named
from batprotocol.results import Result, Statistics
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, JobRow, simulate

WITHOUT_ENGINE = True

CELLS = (
    """
from batprotocol.policies import named
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, simulate
result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named("easy")())
result
""",
    """
from batprotocol.studies.comparing import PlainRow, table
names = ["fcfs", "<img src=x onerror=alert(1)>"]
rows = [PlainRow({"scheduler": name, "seed": n}, {"utilisation": 0.5 + n / 10}) for name in names for n in range(3)]
table(rows, metric="utilisation")
""",
    """
from batprotocol.studies.comparing import compare, plot_lines, read_schedule
plot_lines(rows, x="seed", metric="utilisation")
""",
    """
simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named("easy")(), output="easy/")
compare(read_schedule("easy"), read_schedule("easy"))
""",
    """
from batprotocol.studies import Row, Rows
Rows([Row(key="a", axes={"scheduler": name}, state="done", metrics={"utilisation": 0.5}) for name in names * 15])
""",
    """
result.to_pandas().groupby("final_state").size()
""",
)


@pytest.mark.slow
def test_a_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import nbformat
    import notebooks

    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebooks.run(notebook, tmp_path)
    shown: list[Any] = [cell["outputs"][-1]["data"] for cell in notebook.cells]
    assert "250 (240 succeeded" in shown[0]["text/html"]
    assert shown[0]["text/plain"].startswith("<Result of 250 jobs")
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown[1]["text/html"]
    assert "<img" not in shown[1]["text/html"]
    assert shown[1]["text/plain"] == "<Table of utilisation: 2 x 1 means>"
    assert shown[2]["image/png"]
    assert shown[3]["text/plain"] == "<Comparison of easy and easy: 250 jobs, of which 0 are scheduled differently>"
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown[4]["text/html"]
    assert "10 more" in shown[4]["text/html"]
    assert "COMPLETED_SUCCESSFULLY" in shown[5]["text/plain"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    made = tmp_path_factory.mktemp("result")
    return made, simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named("easy")(), output=f"{made}/", energy=True)


def test_pandas_reads_the_same_from_jobs_csv(folder: tuple[Path, Result]) -> None:
    import pandas

    path, result = folder
    texts = {"job_id": "str", "workload_name": "str", "profile": "str", "allocated_resources": "str"}
    read = pandas.read_csv(path / "jobs.csv", dtype=texts, keep_default_na=False, na_values={"metadata": ""})
    read["success"] = read["success"].astype(bool)
    ours = result.to_pandas()
    assert list(ours) == [name for name in read if name != "metadata"]
    pandas.testing.assert_frame_equal(
        ours, read[list(ours)], check_exact=False, rtol=1e-6, atol=1e-6, check_dtype=False
    )


def test_all_libraries_have_the_same(folder: tuple[Path, Result]) -> None:
    _, result = folder
    arrow = result.to_arrow()
    assert result.to_polars().to_dicts() == arrow.to_pylist()
    assert arrow.num_rows == 250
    assert result.to_pandas()["waiting_time"].mean() == pytest.approx(result.mean_waiting_time, rel=1e-6)


def test_what_is_not_known_is_null() -> None:
    from batprotocol.model import FinalJobState

    rejected = JobRow(
        job_id="1",
        workload_name="w0",
        profile="w0!d",
        submission_time=0.0,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.REJECTED,
    )
    result = Result(Statistics(), hosts=4, rows=[rejected])
    told = result.to_arrow().to_pylist()[0]
    assert [told[name] for name in ("requested_time", "starting_time", "stretch", "consumed_energy")] == [None] * 4
    assert result.to_polars().null_count().sum_horizontal()[0] == 8
    assert result.to_pandas().isna().sum().sum() == 8


def test_types_do_not_need_rows() -> None:
    empty = Result(Statistics(), hosts=4)
    full = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, named("easy")())
    assert empty.to_arrow().schema == full.to_arrow().schema
    assert empty.to_polars().schema == full.to_polars().schema
    assert (empty.to_pandas().dtypes == full.to_pandas().dtypes).all()


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    empty = Result(Statistics(), hosts=4)
    method = {"pandas": empty.to_pandas, "polars": empty.to_polars, "pyarrow": empty.to_arrow}[name]
    with pytest.raises(PackageMissing, match=f"this needs the package {name}: pip install"):
        method()
