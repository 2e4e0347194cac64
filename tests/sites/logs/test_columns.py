"""Tables of published logs are read by the names of their columns. The rows are those of their documentation."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.sites.logs import Attempt, AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.columns import READY, mapping_of, read_by, read_mapping, ready_mapping
from batprotocol.sites.logs.formats import read_log

WITHOUT_ENGINE = True


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def jobs_of(path: Path, format: str | None = None) -> list[LoggedJob]:
    left_out = LeftOut()
    found = list(read_log(path, format, left_out=left_out))
    assert not list(left_out)
    return found


HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:28,2020-06-09 18:45:36,249,0
"""


def test_helios(tmp_path: Path) -> None:
    path = tmp_path / "cluster_log.csv"
    path.write_text(HELIOS)
    attempt = Attempt(
        submitted=at("2020-06-09 18:41:27+08:00"),
        started=at("2020-06-09 18:41:28+08:00"),
        ended=at("2020-06-09 18:45:36+08:00"),
        state=AttemptState.FAILED,
    )
    expected = LoggedJob(
        id="1425512", attempts=(attempt,), user="uVMrF", partition="vchbv", cores=16, gres=(("gpu", 4),), line=2
    )
    assert jobs_of(path) == [expected]


PHILLY = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1506638472019_14199",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": "2017-10-07 01:13:23",
                "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}],
            },
            {
                "start_time": "2017-10-07 01:13:30",
                "end_time": None,
                "detail": [{"ip": "m412", "gpus": ["gpu0", "gpu1"]}, {"ip": "m9", "gpus": ["gpu7"]}],
            },
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "ce2f4c",
    },
    {"status": "Killed", "vc": "a", "jobid": "2", "attempts": [], "submitted_time": "2017-10-07 01:11:39", "user": "b"},
]


@pytest.mark.parametrize("is_array", [True, False])
def test_philly(tmp_path: Path, is_array: bool) -> None:
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(PHILLY, indent=1) if is_array else "\n".join(map(json.dumps, PHILLY)))
    first, second = jobs_of(path)
    assert first.gres == (("gpu", 3),)
    assert first.host_count == 2
    assert [attempt.hosts for attempt in first.attempts] == [("m47",), ("m412", "m9")]
    assert [attempt.state for attempt in first.attempts] == [AttemptState.REQUEUED, AttemptState.COMPLETED]
    assert first.first.started == at("2017-10-07 01:12:09-07:00")
    assert (first.last.submitted, first.last.ended) == (first.first.ended, None)
    assert (second.last.started, second.last.state, second.user) == (None, AttemptState.CANCELLED, "b")


def test_alibaba_2020(tmp_path: Path) -> None:
    path = tmp_path / "pai_task_table.csv"
    path.write_text(
        "4f05,worker,2.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\nx,y,1,Failed,1,2,3,4,5,6\n"
    )
    (tmp_path / "pai_job_table.csv").write_text("4f05,8cb3,5854,Terminated,1739100.0,1739300.0\n")
    left_out = LeftOut()
    [job] = read_log(path, "alibaba-2020", left_out=left_out)
    assert [reason.reason for reason in left_out] == ["pai_job_table.csv does not have the row"]
    assert (job.id, job.user, job.host_count, job.cores, job.gres) == ("4f05.worker", "5854", 2, 12, (("gpu", 1),))
    assert job.memory == 2 * 30000 * 2**20
    assert job.last == Attempt(submitted=1739100.0, started=1739162.0, ended=1739200.0, state=AttemptState.COMPLETED)
    (tmp_path / "pai_job_table.csv").unlink()
    with pytest.raises(InputError, match=r"put the file pai_job_table\.csv beside it"):
        list(read_log(path, "alibaba-2020"))


def test_alibaba_2023(tmp_path: Path) -> None:
    path = tmp_path / "openb_pod_list_default.csv"
    path.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "openb-pod-0022,3500,15258,1,220,V100M16|V100M32,BE,Running,9679175,9973826,9679176.0\n"
    )
    [job] = jobs_of(path)
    assert (job.cores, job.memory, job.gres, job.constraint) == (4, 15258 << 20, (("gpu", 1),), "V100M16|V100M32")
    assert job.last == Attempt(submitted=9679175.0, started=9679176.0, ended=9973826.0)


def test_pm100(tmp_path: Path) -> None:
    start = datetime(2020, 5, 1, 12, tzinfo=timezone.utc)
    row: dict[str, Any] = {
        "job_id": 5165227,
        "user_id": 3,
        "job_state": "COMPLETED",
        "nodes": "['r205n10', 'r205n9']",
        "num_cores_alloc": 256,
        "num_nodes_alloc": 2,
        "num_gpus_alloc": 8,
        "mem_alloc": 475,
        "time_limit": 1440.0,
        "run_time": 90,
    }
    times = {"submit_time": start, "start_time": start, "eligible_time": None}
    table = pyarrow.table({name: [value] for name, value in row.items()})
    for name, moment in times.items():
        table = table.append_column(name, pyarrow.array([moment], pyarrow.timestamp("ns", "UTC")))
    path = tmp_path / "job_table.parquet"
    pyarrow.parquet.write_table(table, path)
    [job] = jobs_of(path)
    hosts = ("r205n10", "r205n9")
    moment = start.timestamp()
    assert job.last == Attempt(
        submitted=moment, started=moment, ended=moment + 90, state=AttemptState.COMPLETED, hosts=hosts
    )
    assert (job.id, job.user, job.cores, job.gres) == ("5165227", "3", 256, (("gpu", 8),))
    assert (job.memory, job.walltime) == (475 << 30, 86400.0)


def test_fugaku(tmp_path: Path) -> None:
    row = {
        "jid": ["j1"],
        "usr": ["u"],
        "cnumat": [96],
        "nnuma": [2],
        "adt": ["2021-03-01 00:00:05"],
        "sdt": ["2021-03-01 00:00:06.5"],
        "edt": ["2021-03-01 00:01:05"],
        "elpl": [3600.0],
        "exit state": ["failed"],
        "ec": [-9],
    }
    path = tmp_path / "21_03.parquet"
    pyarrow.parquet.write_table(pyarrow.table(row), path)
    left_out = LeftOut()
    [job] = read_log(path, left_out=left_out)
    assert job.last.started == at("2021-03-01 00:00:06.500000+09:00")
    assert (job.last.state, job.walltime, job.host_count) == (AttemptState.FAILED, 3600.0, 2)
    assert [reason.reason for reason in left_out] == ["the value of exit_code cannot be read"]


@pytest.mark.parametrize("name", READY)
def test_ready_mappings_say_where_they_are_from(name: str) -> None:
    mapping = ready_mapping(name)
    assert mapping.title
    assert mapping.source.startswith("https://")
    assert all(note.endswith(".") for note in mapping.notes)


SMALL = '[job]\nid = "job"\n[attempt]\nsubmitted = "t"\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[job", "this is not TOML"),
        (f"a = {'1' * 5000}", "this is not TOML"),
        ("[job]\n", "object missing required field `attempt`"),
        (f"more = 1\n{SMALL}", "object contains unknown field `more`"),
        (f'{SMALL}ended = {{ column = "x", more = "s" }}', "attempt[...]: object contains unknown field `more`"),
        (
            f'{SMALL}[join]\nmore = 1\nfile = "x"\non = "a"\ncolumns = {{}}',
            "join: object contains unknown field `more`",
        ),
        ('[job]\nid = 3\n[attempt]\nsubmitted = "t"', "job[...]: expected `str | object`, got `int`"),
        (f'{SMALL}unti = "s"', "attempt: expected one of submitted, eligible"),
        (
            f'{SMALL}ended = {{ column = "x", unit = "min" }}',
            "attempt.ended.unit: expected one of s, ms, us, ns, got 'min'",
        ),
        (
            f'{SMALL}state = {{ column = "x", values = {{ Pass = "OK" }} }}',
            "attempt.state.values.Pass: expected one of",
        ),
        (f'{SMALL}hosts = {{ column = "x", plus = "y" }}', "attempt.hosts.plus: only values of the kind time"),
        (f'{SMALL}[gres]\n"a b" = "x"', "gres: expected the name of a resource"),
        ('[job]\nuser = "u"\n[attempt]\nsubmitted = "t"', "job: add the column of id, which each job has"),
        (f'{SMALL}[join]\nfile = "../x"\non = "a"\ncolumns = {{}}', "join.file: expected the name of a file beside"),
    ],
)
def test_a_broken_mapping_is_an_error_with_its_place(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_mapping(path)
    assert f"{path}: {error}" in str(caught.value)


def test_a_mapping_of_ones_own(tmp_path: Path) -> None:
    mapping = tmp_path / "map.toml"
    mapping.write_text(
        '[job]\nid = "a"\nexclusive = { column = "x", values = { OK = false, NO = true } }\n'
        '[attempt]\nsubmitted = { column = "t", unit = "ms" }\nended = { column = "t", unit = "ms", plus = "d" }\n'
    )
    log = tmp_path / "log.csv"
    log.write_text("a,t,d,x\n1,2500,3,NO\n2,,3,OK\n3,x,1,OK\n,1,1,OK\n5,1,,what\n")
    left_out = LeftOut()
    jobs = list(read_log(log, str(mapping), left_out=left_out))
    assert [(job.id, job.last.submitted, job.last.ended, job.exclusive) for job in jobs] == [
        ("1", 2.5, 5.5, True),
        ("5", 0.001, None, None),
    ]
    assert {reason.reason: reason.lines for reason in left_out} == {
        "the row does not have a submission time": (3, 4),
        "the value of submitted cannot be read": (4,),
        "the value of ended cannot be read": (4,),
        "the row does not have an id": (5,),
        "the value of exclusive cannot be read": (6,),
    }
    mapping.write_text('[job]\nid = "a"\n[attempt]\nsubmitted = "t"\nstate = "x"\n')
    log.write_text("a,t,x\n1,2,CANCELLED by 7\n2,2,odd\n3,2,unknown\n4,2,\n")
    left_out = LeftOut()
    found = [job.last.state.value for job in read_log(log, str(mapping), left_out=left_out)]
    assert found == ["CANCELLED", "UNKNOWN", "UNKNOWN", "UNKNOWN"]
    assert [(reason.reason, reason.lines) for reason in left_out] == [("the value of state cannot be read", (3,))]
    log.write_text("b,t\n1,2\n")
    with pytest.raises(InputError, match="expected the column 'a'; the columns of the first row are b, t"):
        list(read_log(log, str(mapping)))


def test_one_row_without_values_does_not_end_the_reading(tmp_path: Path) -> None:
    """The first row may be the wrong one, times may be after the year 9999, and a key of two tables may be a list."""
    path, left_out = tmp_path / "log.parquet", LeftOut()
    times = pyarrow.array([None, 2**62, 7_000_000], pyarrow.timestamp("us"))
    table = {"job_id": ["1", "2", "3"], "submit_time": times, "start_time": times, "run_time": [1, 2, 3]}
    pyarrow.parquet.write_table(pyarrow.table({**table, "job_state": [None] * 3, "num_cores_alloc": [1] * 3}), path)
    [job] = read_log(path, "pm100", left_out=left_out)
    assert (job.id, job.line, job.last.ended) == ("3", 3, job.last.submitted + 3)
    assert {reason.reason: reason.lines for reason in left_out if reason.is_row} == {
        "the row does not have a submission time": (1, 2)
    }
    (tmp_path / "pai_job_table.csv").write_text("4f05,8cb3,5854,Terminated,1739100.0,1739300.0\n")
    path = tmp_path / "pai_task_table.csv"
    path.write_text('[{"job_name": ["4f05"]}, {"job_name": "4f05", "task_name": "worker"}]')
    left_out = LeftOut()
    assert [job.id for job in read_log(path, "alibaba-2020", left_out=left_out)] == ["4f05.worker"]
    assert [(reason.reason, reason.lines) for reason in left_out] == [("pai_job_table.csv does not have the row", (1,))]


texts = st.sampled_from(
    ["", "nan", "1e999", "-1", "9" * 400, "[", "2020-13-45 00:00:00", "true", "n[0-99999999]", '"', "\0"]
)


@settings(max_examples=30)
@given(st.lists(texts | st.text(max_size=8), min_size=12, max_size=12), st.integers(0, 400), st.integers(0, 255))
def test_changed_rows_are_jobs_or_have_a_reason(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], place: int, byte: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "log.csv"
    data = bytearray((HELIOS + ",".join(values) + "\n").encode())
    data[place % len(data)] = byte
    path.write_bytes(data)
    left_out = LeftOut()
    with suppress(InputError):
        list(read_log(path, "helios", left_out=left_out))
    data = bytearray(json.dumps(PHILLY).encode())
    data[place % len(data)] = byte
    path.write_bytes(data)
    with suppress(InputError):
        list(read_by(ready_mapping("philly"), path, left_out))


@settings(max_examples=40)
@given(st.text(alphabet='[]joba.tmp="{}\n\\', max_size=40))
def test_any_text_is_a_mapping_or_an_error(text: str) -> None:
    with suppress(InputError):
        mapping_of(f"{SMALL}{text}".encode())


SET_BACK = datetime(2025, 10, 26, 1, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_hour_that_comes_twice(tmp_path: Path, kind: str) -> None:
    """Rows in the order of submissions tell which of two hours it is, and so does the order of the moments of a job."""
    zone = ZoneInfo("Europe/Paris")
    jobs = [(SET_BACK + 420.0 * n, SET_BACK + 420.0 * n + 300, SET_BACK + 420.0 * n + 2700) for n in range(-24, 24)]
    columns = {
        "id": [str(number) for number in range(len(jobs))],
        **{
            name: [datetime.fromtimestamp(job[place], zone).replace(tzinfo=None) for job in jobs]
            for place, name in enumerate(("submitted", "started", "ended"))
        },
    }
    path = tmp_path / f"log.{kind}"
    if kind == "csv":
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(lines))
    else:
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    moments = "\n".join(f'{name} = "{name}"' for name in ("submitted", "started", "ended"))
    mapping = mapping_of(f'zone = "Europe/Paris"\n[job]\nid = "id"\n[attempt]\n{moments}\n'.encode())
    left_out = LeftOut()
    found = [(job.last.submitted, job.last.started, job.last.ended) for job in read_by(mapping, path, left_out)]
    assert not list(left_out)
    assert found == jobs
