"""Logged jobs that are written as tables are read again equal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logged import logged_job, logs

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob
from batprotocol.sites.logs.tables import read_table, write_table

WITHOUT_ENGINE = True


def through(folder: Path, jobs: list[LoggedJob], kind: str) -> list[LoggedJob]:
    path = folder / f"log.{kind}"
    with path.open("wb") as file:
        assert write_table(file, iter(jobs), kind) == len(jobs)
    left_out = LeftOut()
    found = list(read_table(path, left_out))
    assert not list(left_out)
    return found


@settings(max_examples=25)
@given(logs, st.sampled_from(["parquet", "csv"]))
def test_a_round_trip(tmp_path_factory: pytest.TempPathFactory, jobs: list[LoggedJob], kind: str) -> None:
    assert through(tmp_path_factory.getbasetemp(), jobs, kind) == jobs


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("text", ["", "\\", "\\n", "a\nb", "\r\n", '"', ",", "\0", "null", "[", " x "])
def test_any_text_is_kept(tmp_path: Path, kind: str, text: str) -> None:
    attempt = logged_job(1).attempts[0].__class__(submitted=0.1, hosts=(text, "n1"))
    job = LoggedJob(id="1", attempts=(attempt,), name=text, gres=((text, 3),))
    assert through(tmp_path, [job], kind) == [job]


def test_many_jobs_have_several_row_groups(tmp_path: Path) -> None:
    jobs = [logged_job(number) for number in range(40)]
    path = tmp_path / "log.parquet"
    with path.open("wb") as file:
        write_table(file, jobs, group=10)
    assert list(read_table(path, LeftOut())) == jobs
    assert pyarrow.parquet.ParquetFile(path).num_row_groups > 4


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        ("id,submitted\n1,0.5\n2,x\n,7\n4\n5,5\n", ["submitted: expected a number", "id: expected the id of a job"]),
        ("id,submitted,state,hosts,gres\n1,1,DONE,,\n2,2,,[,\n3,3,,,gpu\n", ["state:", "hosts:", "gres:"]),
        ("id,submitted\n,1\n2,nan\n3,inf\n", ["id: expected the id of a job", "submitted: expected"]),
        ("id,submitted,host_count,gres\n1,1,0,\n2,1,,gpu=-1\n", ["host_count: expected", "gres: expected"]),
        ('id,submitted\n1,1\n2,"x\n', ["the row cannot be divided into columns"]),
    ],
)
def test_a_wrong_row_has_its_reason(tmp_path: Path, rows: str, reasons: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(rows)
    left_out = LeftOut()
    list(read_table(path, left_out))
    found = [reason.reason for reason in left_out]
    for reason in reasons:
        assert any(each.startswith(reason) for each in found), found


def test_each_line_is_counted_that_a_quotation_mark_takes(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('id,submitted\n1,1\n"2,2\n3,3\n4,"4\n5,5\n')
    left_out = LeftOut()
    assert [job.id for job in read_table(path, left_out)] == ["1", "5"]
    assert [(reason.count, reason.lines) for reason in left_out] == [(3, (3, 4, 5))]


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"PAR1 and more", b"\x1f\x8b damaged", b"[1, 2", b'"'])
def test_other_files_are_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=str(path)):
        list(read_table(path, LeftOut()))


def test_other_columns_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    values: dict[str, Any] = {"id": ["1"], "submitted": pyarrow.array([0], pyarrow.timestamp("us"))}
    pyarrow.parquet.write_table(pyarrow.table(values), path)
    left_out = LeftOut()
    assert list(read_table(path, left_out)) == []
    assert [reason.reason for reason in left_out] == ["submitted: expected a number"]


def test_a_number_that_is_too_large_for_a_table() -> None:
    with pytest.raises(InputError, match="a table cannot have"):
        write_table(io.BytesIO(), [LoggedJob(id="1", attempts=logged_job(7).attempts, memory=2**70)])
