"""Logs are opened by their content, read as often as needed, limited to a period, and made anonymous."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logged import logged_job, logs

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut, LoggedJob
from batprotocol.sites.logs.formats import read_log
from batprotocol.sites.logs.imports import KINDS, Anonymizer, ChosenJobs, moment, random_key

WITHOUT_ENGINE = True

TABLE = "id,submitted,started,ended,user\n1,0,5,9,ada\n2,x,,,\n"


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00\x01", b"PAR1", b"{}", "é".encode("latin-1")])
def test_an_unknown_format_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_log(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_an_unknown_name_of_a_format(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(TABLE)
    with pytest.raises(InputError, match="did you mean 'helios'"):
        read_log(path, "heliso")


def test_a_log_is_read_again_and_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(TABLE)
    log = read_log(path)
    assert (log.format, list(log)) == ("table", list(log))
    assert log.left_out.rows == 1


def test_a_pipe_is_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TABLE,))
    writer.start()
    with read_log(path) as log:
        writer.join()
        assert len(list(log)) == len(list(log)) == 1


def test_a_period(tmp_path: Path) -> None:
    jobs = [logged_job(seed, line=seed) for seed in range(40)]
    times = sorted(job.first.submitted for job in jobs)
    left_out = LeftOut()
    chosen = ChosenJobs([jobs[:20], jobs[20:]], begin=times[10], end=times[30], left_out=left_out)
    assert len(list(chosen)) == len(list(chosen)) == 20
    assert {reason.reason: reason.count for reason in left_out} == {
        "the job was submitted before the period": 10,
        "the job was submitted after the period": 10,
    }


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01", "2026-1-1", "Unknown"])
def test_other_moments_are_an_error(text: str) -> None:
    with pytest.raises(InputError, match="expected a moment such as"):
        moment(text)


@given(logs)
def test_names_are_replaced_always_in_the_same_way(jobs: list[LoggedJob]) -> None:
    one, two, other = Anonymizer("a key of 20 letters"), Anonymizer("a key of 20 letters"), Anonymizer(random_key())
    for job in jobs:
        found = one.job(job)
        assert found == two.job(job)
        for kind in KINDS:
            name, replaced = getattr(job, kind), getattr(found, kind)
            if name:
                assert replaced.startswith(f"{kind}-")
                assert replaced != getattr(other.job(job), kind)
                assert name not in replaced.removeprefix(kind)
            else:
                assert replaced == name
        assert found.partition == job.partition


@given(st.sets(st.text(max_size=5)))
def test_different_names_have_different_replacements(names: set[str]) -> None:
    one = Anonymizer("a key of 20 letters", ["partition"])
    assert len({one.replacement("user", name) for name in names}) == len(names)
    assert one.partitions(["a", "b"]) == tuple(
        (one.job(LoggedJob(id="1", attempts=(), partition="a,b")).partition or "").split(",")
    )


def test_a_short_key_is_refused() -> None:
    with pytest.raises(InputError, match="expected a key of at least 8 characters, got 3"):
        Anonymizer("abc")
    with pytest.raises(InputError, match="expected one of partition, qos, reservation, got 'host'"):
        Anonymizer("long enough", ["host"])
