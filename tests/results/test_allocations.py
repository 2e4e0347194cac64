"""allocations.csv: what is written is read, whatever else is in it is a sentence, and it accounts for shared hosts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from processes import BATPROTO, batproto

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, parse_hosts
from batprotocol.policies import named
from batprotocol.results.reports import allocations_text, parse_allocations
from batprotocol.simulator import (
    StaticJob,
    Workload,
    described_platform,
    read_allocations,
    read_jobs,
    simulate,
    workload_json,
    write_allocations,
)
from batprotocol.workloads.requests import Allocated, Gres

WITHOUT_ENGINE = True

HEADER = "job_id,first_id,starting_time,partition,hosts,cores,memory,gres,whole\n"
HOSTS = "n[0-2] cores=4 memory=4G gres=gpu:2"

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
words = st.from_regex(r"[A-Za-z_][\w.-]{0,5}", fullmatch=True).filter(str.isascii)
gres = st.builds(Gres, words, st.none() | words, st.integers(0, 10**12))
host_sets = st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=5).map(
    lambda hosts: parse_hosts(" ".join(map(str, sorted(hosts))))
)


@st.composite
def allocations(draw: st.DrawFn) -> Allocated:
    whole = draw(st.booleans())
    return Allocated(
        job_id=draw(names),
        first_id=draw(names),
        starting_time=round(draw(st.floats(-1e9, 1e9)), 6),
        partition=draw(st.just("") | names),
        hosts=str(draw(host_sets)),
        cores=0 if whole else draw(st.integers(0, 10**9)),
        memory=0 if whole else draw(st.integers(0, 2**60)),
        gres=() if whole else tuple(draw(st.lists(gres, max_size=3))),
        whole=whole,
    )


def lines_of(text: str) -> io.StringIO:
    return io.StringIO(text, newline="")


@given(st.lists(allocations(), max_size=6, unique_by=lambda each: each.job_id))
def test_what_is_written_is_read(rows: list[Allocated]) -> None:
    lines = list(lines_of(allocations_text(rows)))
    assert parse_allocations(lines, "a.csv") == rows
    read = list(csv.DictReader(lines))
    assert [each["job_id"] for each in read] == [each.job_id for each in rows], "with any reader"


@given(st.lists(allocations(), min_size=1, max_size=3, unique_by=lambda each: each.job_id), st.data())
def test_any_other_text_is_a_sentence_with_its_place(rows: list[Allocated], data: st.DataObject) -> None:
    text = allocations_text(rows)
    place = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 5))
    text = text[:place] + data.draw(st.text(st.sampled_from('0,"\n-x9:\r\0 .'), max_size=5)) + text[place + length :]
    fault = None
    try:
        parse_allocations(lines_of(text), "a.csv")
    except InputError as error:
        fault = error
    assert fault is None or (fault.file == "a.csv" and 1 <= (fault.line or 0) <= len(list(lines_of(text))) + 1)


ROW = "w0!1,w0!1,0.000000,,0-1,4,1024,gpu:2,0"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a.csv:1: it is not an allocations.csv: expected the columns"),
        ("job_id,hosts\n", "a.csv:1: it is not an allocations.csv: expected the columns"),
        (f"{HEADER}{ROW},1\n", "a.csv:2: expected 9 values, got 10"),
        (f"{HEADER}{ROW}\n\n", "a.csv:3: expected 9 values, got 0"),
        (f"{HEADER}{ROW}\n{ROW}\n", "a.csv:3: job_id: job 'w0!1' has a row already, and a job starts once"),
        (HEADER + ROW.replace("w0!1,w0!1", ",w0!1"), "a.csv:2: job_id: expected the name of a job, got ''"),
        (HEADER + ROW.replace("0.000000", "nan"), "a.csv:2: starting_time: expected seconds, got 'nan'"),
        (HEADER + ROW.replace("0.000000", "9" * 400), "a.csv:2: starting_time: expected seconds, got '999"),
        (HEADER + ROW.replace("0-1", "1-0"), "a.csv:2: hosts: expected a host set such as 0-3 8, got '1-0'"),
        (HEADER + ROW.replace("0-1", "0 0"), "a.csv:2: hosts: expected a host set such as 0-3 8, got '0 0'"),
        (HEADER + ROW.replace("0-1", ""), "a.csv:2: hosts: expected a host set such as 0-3 8, got ''"),
        (HEADER + ROW.replace(",4,", ",-4,"), "a.csv:2: cores: expected a whole number >= 0, got '-4'"),
        (HEADER + ROW.replace("1024", "1G"), "a.csv:2: memory: expected a whole number >= 0, got '1G'"),
        (HEADER + ROW.replace("gpu:2", "gpu"), "a.csv:2: gres: expected generic resources such as gpu:2, got 'gpu'"),
        (HEADER + ROW[:-1] + "2", "a.csv:2: whole: expected 0 or 1, got '2'"),
        (HEADER + ROW[:-1] + "1", "a.csv:2: cores: expected 0, as it has whole hosts, got '4'"),
        (f'{HEADER}{ROW}\n"w0!2', "a.csv:3: it is not an allocations.csv: unexpected end of data"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_allocations(lines_of(text), "a.csv")
    assert str(raised.value).startswith(sentence)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "allocations.csv"
    path.write_bytes(HEADER.encode() + b"\xff\n")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        read_allocations(path)


def shared_workload() -> Workload:
    asked = [{"cores": 1 + number % 4, "gres": {"gpu": number % 3}, "memory": "1G"} for number in range(20)]
    jobs = [
        StaticJob(
            str(number), float(number), 1 + number % 2, DelayProfile(9.0), walltime=20.0, extra_data=json.dumps(each)
        )
        for number, each in enumerate(asked)
    ]
    jobs.append(StaticJob("whole", 5.0, 2, DelayProfile(9.0), walltime=20.0))
    return Workload(jobs, {})


def test_the_files_of_a_run_account_for_each_core_and_gpu(tmp_path: Path) -> None:
    policy = named("easy")()
    result = simulate(described_platform(HOSTS), shared_workload(), policy, output=f"{tmp_path}/")
    assert result.is_complete
    write_allocations(tmp_path / "allocations.csv", policy.allocated)
    taken = {each.job_id: each for each in read_allocations(tmp_path / "allocations.csv")}
    rows = {f"{row.workload_name}!{row.job_id}": row for row in read_jobs(tmp_path / "jobs.csv")}
    assert taken.keys() == rows.keys()
    for name, row in rows.items():
        assert taken[name].hosts == row.allocated_resources
        assert taken[name].starting_time == pytest.approx(row.starting_time, abs=0.01)
    assert taken["w0!whole"].whole
    assert not taken["w0!1"].whole
    for moment in [row.starting_time for row in rows.values()]:
        assert moment is not None
        running = [taken[name] for name, row in rows.items() if row.starting_time <= moment < row.finish_time - 0.01]  # type: ignore[operator]
        for host in range(3):
            here = [each for each in running if host in parse_hosts(each.hosts)]
            assert len(here) == 1 or not any(each.whole for each in here)
            assert sum(each.cores for each in here) <= 4
            assert sum(each.memory for each in here) <= 2**32
            assert sum(number for each in here for _, _, number in each.gres) <= 2


def test_simulate_writes_them_where_jobs_share_hosts(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(workload_json(shared_workload()))
    done = run_here("simulate", "easy", "--hosts", HOSTS, "-w", tmp_path / "w.json", "-o", tmp_path / "out")
    assert done.status == 0
    assert len(read_allocations(tmp_path / "out" / "allocations.csv")) == 21
    assert run_here("simulate", "easy", "-o", tmp_path / "plain").status == 0
    assert not (tmp_path / "plain" / "allocations.csv").exists()


@pytest.mark.slow
def test_run_writes_the_same_beside_a_real_socket(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(workload_json(shared_workload()))
    inputs = ["--hosts", HOSTS, "-w", str(tmp_path / "w.json")]
    assert run_here("simulate", "easy", *inputs, "-o", tmp_path / "here").status == 0
    there = str(tmp_path / "there.csv")
    done = batproto(
        *("run", "easy", "--allocations", there, "--", *BATPROTO, "simulate", "--endpoint", "{endpoint}", *inputs)
    )
    assert done.returncode == 0, done.stderr
    assert read_allocations(there) == read_allocations(tmp_path / "here" / "allocations.csv")


def test_run_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    refused = run_here("run", "examples/fcfs.py:FCFS", "--allocations", tmp_path / "a.csv")
    assert refused.status == 2
    assert "--allocations is for built-in policies: leave it out" in refused.err
    inside = run_here("run", "--in-process", "easy", "--allocations", tmp_path / "a.csv", "--", "batsim")
    assert "--allocations is for the socket: leave it out with --in-process" in inside.err
    nowhere = run_here("run", "easy", "--allocations", tmp_path / "no" / "a.csv")
    assert nowhere.status == 1
    assert "no such file or directory" in nowhere.err
