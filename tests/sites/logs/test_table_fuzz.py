"""Changed tables of published logs: a job, or a counted reason with its line; never another exception.

So for our own tables, for the workloads of simulators, and for traces of failures. Only bytes that make a file as a
whole no table are an InputError.
"""

from __future__ import annotations

import io
import json
import math
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet
import pytest
from fuzzing import changed_bytes, changed_tables, changed_texts, changed_value
from logged import logged_job
from published_logs import CSV, JSON_ROWS, PAI_JOBS, TABLES, elastisim_jobs, lanl_text, philly_text, trace_text
from sacct_lines import read

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob
from batprotocol.sites.logs.outages import outage_events, read_outages
from batprotocol.sites.logs.tables import write_table
from batprotocol.sites.logs.workloads import logged_workload

WITHOUT_ENGINE = True


def our_table(kind: str) -> bytes:
    """A table of ours whose texts have no end of line, so that each row is a line."""
    file = io.BytesIO()
    write_table(file, [logged_job(seed, seed + 1) for seed in range(40)], kind)
    return file.getvalue()


LINES = {
    **{name: (text, int(has_header)) for name, (text, has_header) in CSV.items()},
    "philly": (philly_text(is_array=False), 0),
    "table": (our_table("csv").decode(), 1),
}
"""The texts with a row on each line, by their formats, and the lines of their headers.

The first line stays as it is, for it shows whether a file is CSV or JSON.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table of jobs that belongs to Alibaba's tasks."""
    (tmp_path / "pai_job_table.csv").write_text(PAI_JOBS)
    return tmp_path


def check(name: str, jobs: list[LoggedJob], left_out: LeftOut, lines: int) -> None:
    """Check places in the file, and values that a job can have, and make a workload of the jobs.

    The lines of jobs in our tables are those of the log that they were made of.
    """
    for job in jobs:
        assert name == "table" or 1 <= job.line <= lines
        assert job.host_count >= 1
        assert all(each is None or each >= 0 for each in (job.cores, job.memory, job.walltime))
        for attempt in job.attempts:
            known = (attempt.submitted, attempt.eligible, attempt.started, attempt.ended, attempt.suspended)
            assert all(math.isfinite(each) for each in known if each is not None)
    for reason in left_out:
        assert all(1 <= line <= lines for line in reason.lines)
    logged_workload(jobs)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("changes", [100, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines_of_tables(folder: Path, name: str, changes: int) -> None:
    whole, header = LINES[name]
    draw, counted = Random(name), 0
    for text, _ in changed_texts(draw, whole.split("\n")[:-1], 1, 5, changes):
        jobs, left_out = read(folder, text.encode(errors="replace"), name)
        check(name, jobs, left_out, text.count("\n") + 1)
        rows = sum(1 for line in text.split("\n")[header:] if (line.strip() if name == "philly" else line))
        # A row with quotation marks may have several lines.
        assert rows_of(name, jobs) + left_out.rows == rows or ('"' in text and rows_of(name, jobs) < rows)
        counted += left_out.rows
    assert counted > 0


def rows_of(name: str, jobs: list[LoggedJob]) -> int:
    """The rows that jobs are made of."""
    return sum(len(job.attempts) for job in jobs) if name == "table" else len(jobs)


@pytest.mark.parametrize("name", [*JSON_ROWS, "elastisim"])
@pytest.mark.parametrize("changes", [160, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_values_of_json(folder: Path, name: str, changes: int) -> None:
    rows: list[Any] = JSON_ROWS.get(name) or elastisim_jobs()
    draw, counted = Random(name), 0
    for _ in range(0, changes, len(rows)):
        found = [changed_value(draw, row) for row in rows]
        text = json.dumps(found if name in JSON_ROWS else {"jobs": found}, indent=draw.choice([None, 1]))
        jobs, left_out = read(folder, text, name)
        check(name, jobs, left_out, len(rows))
        assert len(jobs) + left_out.rows == len(rows)
        counted += left_out.rows
    assert counted > 0


@pytest.mark.parametrize("changes", [100, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines_of_elastisim(tmp_path: Path, changes: int) -> None:
    lines = json.dumps({"jobs": elastisim_jobs()}, indent=1).splitlines()
    for text, _ in changed_texts(Random(1), lines, 2, 40, changes):
        jobs, left_out = read(tmp_path, text.encode(errors="replace"), "elastisim")
        check("elastisim", jobs, left_out, text.count("\n") + 1)
        assert jobs or left_out.rows


@pytest.mark.parametrize("name", [*TABLES, "table"])
@pytest.mark.parametrize("changes", [400, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_cells_of_parquet(tmp_path: Path, name: str, changes: int) -> None:
    table = TABLES[name] if name in TABLES else pyarrow.parquet.read_table(io.BytesIO(our_table("parquet")))
    draw, counted = Random(name), 0
    for changed in changed_tables(draw, table, changes):
        file = io.BytesIO()
        pyarrow.parquet.write_table(changed, file)
        jobs, left_out = read(tmp_path, file.getvalue(), name)
        check(name, jobs, left_out, table.num_rows)
        assert rows_of(name, jobs) + left_out.rows == table.num_rows
        counted += left_out.rows
    assert counted > 0


@pytest.mark.parametrize("name", ["parquet", "philly", "elastisim", *CSV])
@pytest.mark.parametrize("changes", [15, pytest.param(5_000, marks=pytest.mark.minutes)])
def test_changed_bytes_of_tables(folder: Path, name: str, changes: int) -> None:
    """Any bytes: jobs and reasons, or an InputError for the file."""
    whole = {
        "parquet": lambda: our_table("parquet"),
        "philly": lambda: philly_text(is_array=True).encode(),
        "elastisim": lambda: json.dumps({"jobs": elastisim_jobs()}).encode(),
    }.get(name, lambda: CSV[name][0].encode())()
    draw = Random(name)
    for data in changed_bytes(draw, whole, changes):
        if name == "parquet":
            changed = bytearray(whole)
            for place in draw.sample(range(len(whole)), draw.randrange(1, 4)):
                changed[place] = draw.randrange(256)
            data = bytes(changed)
        with suppress(InputError):
            jobs, left_out = read(folder, data, "table" if name == "parquet" else name)
            check("table", jobs, left_out, 2**63)


@pytest.mark.parametrize("format", ["fta", "lanl"])
@pytest.mark.parametrize("changes", [200, pytest.param(100_000, marks=pytest.mark.minutes)])
def test_changed_lines_of_traces(tmp_path: Path, format: str, changes: int) -> None:
    lines = (trace_text if format == "fta" else lanl_text)().splitlines()
    draw, counted, path = Random(format), 0, tmp_path / "trace"
    for text, same in changed_texts(draw, lines, 1, 5, changes):
        path.write_text(text, errors="replace")
        left_out, count = LeftOut(), text.count("\n") + 1
        found = list(read_outages(path, left_out, format=format, zone=draw.choice([None, "America/Denver"])))
        assert all(1 <= each.line <= count and math.isfinite(each.begin) and each.node for each in found)
        assert all(each.end is None or each.begin < each.end < math.inf for each in found)
        assert all(1 <= line <= count for reason in left_out for line in reason.lines)
        if format == "lanl":
            filled = [line for line in text.split("\n")[1:] if line]
            sure = sum(any(each.isalnum() for each in line) for line in filled)  # others may be empty cells
            assert sure <= len(found) + left_out.rows <= len(filled)
            assert len(found) >= len(same)
        outage_events(found, 3, left_out)
        counted += left_out.rows
    assert counted > 0
