"""Names of jobs in a jobs.csv: as Batsim writes them, as other programs do, and which of both a row is."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batprotocol._util.tables import names_text, plain_names
from batprotocol.model import FinalJobState
from batprotocol.results import JobRow, read_jobs
from batprotocol.results.files import job_line, jobs_text

WITHOUT_ENGINE = True

JOBS = jobs_text([]).rstrip()


def job(id: str = "1", profile: str = "p") -> JobRow:
    return JobRow(
        job_id=id,
        workload_name="w0",
        profile=f"w0!{profile}",
        submission_time=0.0,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=0.0,
        execution_time=1.0,
        allocated_resources="0",
        consumed_energy=-1.0,
    )


NAMED = st.text(st.characters(blacklist_categories=("Cs",)) | st.sampled_from('",!w0 '), max_size=12)


def as_csv(row: JobRow) -> str:
    """A line of jobs.csv as programs write it that put names into quotation marks."""
    written = io.StringIO()
    csv.writer(written).writerow([row.job_id, row.workload_name, row.profile])
    return written.getvalue().removesuffix("\r\n") + job_line(job()).removeprefix("1,w0,w0!p")


@given(st.lists(st.tuples(NAMED, NAMED), max_size=3))
def test_names_are_written_raw_and_read_raw_and_quoted(tmp_path_factory: pytest.TempPathFactory, names: Any) -> None:
    assume(not any("\0" in each for pair in names for each in pair))
    rows = [job(id, profile) for id, profile in names]
    path = tmp_path_factory.mktemp("read") / "jobs.csv"
    path.write_text("\n".join([JOBS, *map(job_line, rows), ""]), encoding="utf-8", newline="")
    assert list(read_jobs(path)) == rows
    for row, (id, profile) in zip(rows, names, strict=True):
        if plain_names(id, "w0", row.profile, 14) is not None:
            assert job_line(row).startswith(f"{id},w0,w0!{profile},0.000000,")
        if not set('\n\r"') & set(id + profile) and ",w0,w0!" not in f"{id},{profile}" and profile != "w0":
            assert plain_names(id, "w0", row.profile, 14) is not None
    # A row that other programs write may be one that Batsim writes of other names.
    others = [row for row in rows if as_csv(row).startswith(names_text(row.job_id, "w0", row.profile, 14) + ",")]
    path.write_text("\n".join([JOBS, *map(as_csv, others), ""]), encoding="utf-8", newline="")
    assert list(read_jobs(path)) == others


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a,b,w0,w0!p", ("a,b", "w0!p")),
        ('a"b,w0,w0!p', ('a"b', "w0!p")),
        ('"a",w0,w0!p', ('"a"', "w0!p")),
        ('"a,b",w0,w0!p', ("a,b", "w0!p")),
        ('"a ""b""",w0,"w0!p,q"', ('a "b"', "w0!p,q")),
        ('a,w0,w0!"p, q', ("a", 'w0!"p, q')),
        ('"1","w0","w0!p"', ("1", "w0!p")),
    ],
)
def test_which_names_are_read(tmp_path: Path, line: str, names: tuple[str, str]) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"{JOBS}\n{line}{job_line(job()).removeprefix('1,w0,w0!p')}\n")
    (row,) = read_jobs(path)
    assert (row.job_id, row.profile) == names
