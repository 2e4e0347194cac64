"""Rows of sacct in C are those in Python: the same jobs field by field, in the same order, and the same reasons."""

from __future__ import annotations

import random
import tempfile
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sacct_lines import SAMPLES, local, parsable, sample, sample_rows, span

from batprotocol._util.times import zone_of
from batprotocol.errors import InputError
from batprotocol.sites.logs import Attempt, AttemptState, LeftOut, LoggedJob, sources
from batprotocol.sites.logs.imports import ChosenJobs
from batprotocol.sites.logs.managers import _sacct, rows, sacct
from batprotocol.sites.logs.managers.sacct_columns import SacctLayout, layout_of
from batprotocol.sites.logs.managers.sacct_rows import SacctRows

WITHOUT_ENGINE = True


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BLOCK", 700)


def read(path: Path, is_native: bool, **options: Any) -> tuple[list[LoggedJob], list[Any], list[Any]] | str:
    """What a file has: its jobs, and the reasons in the order of their first rows; or the error."""
    left_out = LeftOut()
    with pytest.MonkeyPatch.context() as patch:
        if not is_native:
            patch.setattr(sacct, "_sacct", None)
            patch.setattr(rows, "_again", rows._again_in_python)
        try:
            jobs = list(sacct.read_sacct(path, left_out, **options))
        except InputError as error:
            return str(error)
    return jobs, [*left_out._counts], [*left_out]


def check_same(path: Path, **options: Any) -> None:
    native, plain = read(path, True, **options), read(path, False, **options)
    assert native == plain
    assert repr(native) == repr(plain)  # an int and a float are equal, too


@pytest.mark.parametrize("zone", [None, "Europe/Paris", "Australia/Lord_Howe"])
@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("sacct*.txt.xz")), ids=lambda path: path.name)
def test_recorded_logs(path: Path, zone: str | None) -> None:
    if "noheader" in path.name:
        names = sample("sacct.txt").partition("\n")[0].split("|")
        check_same(path, zone=zone, fields=names)
        check_same(path, zone=zone, fields=["JobID", "User", "Submit", "Start", "End", "State", "ReqTRES"])
    check_same(path, zone=zone)


# Rows that agree with themselves, of which some have a text or two that is rare, or wrong


_HOURS = [f"2026-{day}T{hour:02}" for day in ("10-25", "03-29", "11-23") for hour in range(4)]
_MOMENTS = [
    *(f"{hour}:{minute}" for hour in _HOURS for minute in ("00:00", "30:00", "59:59")),
    *(
        "Unknown",
        "None",
        "",
        "0",
        "1795473199",
        "00",
        "1795473199.5",
        "2026-11-23T22:33:60",
        "2026-11-23T01:02:60",
        "2026-11-23T01:60:33",
    ),
    *("2026-11-23 01:02:03", "2026-11-23T01:02:03+01:00", "2026-11-23T01:02:03Z", "2026-13-23T01:02:03"),
    *("0000-00-00T00:00:00", "1969-01-01T00:00:00", "2026-11-23T1:02:03", "99999999999", "999999999999", "٣٣٣٣"),
]
_COUNTS = ["1", "2", "8", "", "0", "01", "-1", "4K", "many", "9999999999999999", "٣", "Unknown"]
_TRES = ["billing=2,cpu=2,mem=1000M,node=1", "cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=4G,node=2", "", "cpu", "mem=4X",
         "node=0", "cpu=2,cpu=3", "gres/gpu=0", "energy=é"]  # fmt: skip
_COLUMNS: dict[str, list[str]] = {
    "JobID": ["5.batch", "5.0", "7_1", "7_2", "8+0", "8+1", "8+1", "7_[1-3]", "7_[1-3%2]", "7_[x]", "", "x", "٣",
              "12345678901", "7_", "7_123456789", "7_1234567890", "9+1.0", "1_2_3", " 4"],
    "JobIDRaw": ["5.batch", "7_1", "7_2", "8+1", "", "x", "é", "123456789012"],
    "State": ["FAILED", "CANCELLED by 1000", "TIMEOUT", "NODE_FAIL", "RUNNING", "PENDING", "SUSPENDED", "REQUEUED",
              "CANCELLED+", "RESIZING", "REVOKED", "", "UNKNOWN", "CD", "?", "BOOT_FAIL", "CONFIGURING"],
    "Cluster": ["", "beta", "é"],
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), _MOMENTS),
    "Elapsed": ["00:00:00", "", "1-00:00:00", "30:00", "x", "INVALID", "00:00:00.5"],
    "ElapsedRaw": ["0", "", "x", "1799", "9999999999999", "٣", "None"],
    "Suspended": ["", "00:00:01", "00:30:00", "x", "0", "1"],
    "NodeList": ["n1", "n[1-4]", "n[001-003],m7", "None assigned", "", "None", "n[", "n[4-1]", "0", "n[1-100]",
                 "knoten-é"],
    "ExitCode": ["1:0", "0:9", "", "1", "x", "None", "0:"],
    "AllocTRES": _TRES,
    "ReqTRES": _TRES,
    **dict.fromkeys(("NNodes", "ReqNodes", "AllocCPUS", "NCPUS", "ReqCPUS"), _COUNTS),
    "ReqMem": ["4Gn", "2000Mc", "4G", "", "x", "0", "0n", "?n", "4.5G"],
    "Timelimit": ["UNLIMITED", "Partition_Limit", "", "x", "INVALID", "10"],
    "TimelimitRaw": ["60", "1440", "", "Partition_Limit", "x", "UNLIMITED", "1.5"],
    "Priority": ["1", "4294967295", "", "0", "x", "9999999999999", "1K"],
    "SubmitLine": ["", "sbatch -d afterok:1 x", "srun --ntasks-per-node=2 x", "sbatch --dependency=afterok:x x",
                   "sbatch -C big x", "salloc --constraint=a&b -w n[1-2] --exclude n3", "sbatch --exclusive x",
                   "sbatch --constraint fast x", "sbatch --nodelist=n1 x", "srun --exclude n3", "a-dump", "-",
                   "sbatch --exclu", "sbatch -x n4|5 x", "sbatch --nodelist=/a/file x", "sbatch --constraint="],
    "JobName": ["", "x|y", "two\nlines", "a.b", "n" * 300, "\x00", "\ufffd", "a\rb"],
    "User": ["", "é" * 20, "u" * 40],
    "Group": [""],
    "Account": [""],
    "Partition": ["", "main,gpu"],
    "QOS": [""],
    "Constraints": ["big", "a&b"],
    "Reservation": ["maintenance"],
    "Planned": ["00:30:00", "x", ""],
    "Comment": ["a|b|c", "x\ny"],
}  # fmt: skip
"""The columns of a log, with texts that they may have, too."""

_MOST_RULES = ["JobID", "State", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "NodeList", "SubmitLine"]
_NEEDED = ["JobID", "Submit", "Start", "End"]
_OTHERS = sorted(_COLUMNS.keys() - {*_NEEDED})


def _row(draw: random.Random, number: int, zone: timezone, changes: int = 3) -> dict[str, str]:
    """A row that agrees with itself, but for up to so many other texts."""
    submitted = draw.choice((1_795_392_000, 1_792_870_000, 1_774_738_800)) + 900 * draw.randrange(40)
    started, hosts = submitted + draw.choice((0, 0, 1, 3600)), draw.choice((1, 1, 2, 8))
    seconds, suspended = draw.choice((0, 1, 1800, 3600, 86_400)), draw.choice((0, 0, 0, 60))
    moments = (submitted, submitted, started, started + seconds + suspended)
    texts = [local(moment, zone) for moment in moments]
    amounts = f"billing={hosts},cpu={2 * hosts},mem={hosts}G,node={hosts}"
    row = {
        "JobID": str(number),
        "JobIDRaw": str(number),
        "State": draw.choice(("COMPLETED", "COMPLETED", "FAILED", "CANCELLED by 7", "PENDING", "RUNNING")),
        "Cluster": "alpha",
        **dict(zip(("Submit", "Eligible", "Start", "End"), texts, strict=True)),
        "Elapsed": span(seconds),
        "ElapsedRaw": str(seconds),
        "Suspended": span(suspended),
        "NodeList": f"n{number % 5}" if hosts == 1 else f"n[1-{hosts}]",
        "ExitCode": "0:0",
        "AllocTRES": amounts,
        "ReqTRES": amounts,
        "NNodes": str(hosts),
        "ReqNodes": str(hosts + draw.randrange(2)),
        **dict.fromkeys(("AllocCPUS", "NCPUS", "ReqCPUS"), str(2 * hosts)),
        "ReqMem": f"{hosts}G",
        "Timelimit": "1-00:00:00",
        "TimelimitRaw": "1440",
        "Priority": str(draw.randrange(10**6)),
        "SubmitLine": f"sbatch -N {hosts} job.sh",
        "JobName": f"job{number % 3}",
        "User": f"u{number % 4}",
        "Planned": span(started - submitted),
    }
    row |= {name: "" for name in _COLUMNS if name not in row}
    for name in draw.sample([*sorted(_COLUMNS), *_MOST_RULES * 4], min(changes, draw.choice((0, 0, 0, 1, 1, 2, 3)))):
        row[name] = draw.choice(_COLUMNS[name])
    return row


def _log(draw: random.Random, zone: timezone) -> tuple[bytes, str]:
    """The bytes of a log, and its delimiter."""
    names = [*_NEEDED, *draw.sample(_OTHERS, draw.choice((3, 8, len(_OTHERS))))]
    draw.shuffle(names)
    if draw.random() < 0.1:
        names.append(draw.choice(names))  # a column comes twice
    delimiter = draw.choice(["|"] * 6 + [",", "\x01", ";;", "é"])
    lines = []
    for number in range(1, draw.randrange(2, 80)):
        row = _row(draw, number, zone)
        line = delimiter.join(row[name] for name in names)
        lines.append(line)
        if draw.random() < 0.1:
            step = {**row, "JobID": f"{row['JobID']}.batch", "JobIDRaw": f"{row['JobIDRaw']}.batch"}
            lines.append(delimiter.join(step[name] for name in names))
        if draw.random() < 0.05:
            rubbish = ["", "x", "JobID|User", "a|b|c|d|e|f|g", "7|", "\ufeff1|2", "x" * 900, delimiter.join(names)]
            lines.append(draw.choice([*rubbish, line[: len(line) // 2], line + delimiter]))
        if draw.random() < 0.05:
            lines.insert(draw.randrange(len(lines)), line)
    end = "\r\n" if draw.random() < 0.2 else "\n"
    head = delimiter.join(names)
    data = bytearray((end.join([head, *lines]) + end * draw.randrange(2)).encode())
    if draw.random() < 0.2:
        for _ in range(3):
            data[draw.randrange(len(head.encode()), len(data))] = 0xC3  # it is not UTF-8 any more
    return bytes((b"\xef\xbb\xbf" if draw.random() < 0.2 else b"") + data), delimiter


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32), hours=st.integers(-3, 3))
def test_any_log(small_blocks: None, seed: int, hours: int) -> None:
    draw = random.Random(seed)
    data, delimiter = _log(draw, timezone(timedelta(hours=hours)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(data)
        zone = draw.choice([None, None, "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe"])
        check_same(path, zone=zone, delimiter=delimiter)


def test_texts_that_are_forgotten_and_read_again(tmp_path: Path, small_blocks: None) -> None:
    """More different texts than are kept of a column, short and long ones."""
    draw = random.Random(1)
    (row,) = [row for row in sample_rows() if row["JobID"].isdecimal()][:1]
    many = []
    for number in range(1, 15_000):
        name = f"{'x' * draw.choice((1, 30, 31, 32, 33, 250, 260))}{draw.randrange(9000)}"
        hosts = draw.choice((1, 63, 64, 65, 100))
        many.append({**row, "JobID": str(number), "JobName": name, "NodeList": f"n[1-{hosts}]", "User": f"u{number}"})
    path = tmp_path / "log"
    path.write_text(parsable(many, ["JobID", "JobName", "User", "Submit", "Start", "End", "NodeList"]))
    check_same(path)


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_each_rare_text(tmp_path: Path, zone: str | None) -> None:
    draw = random.Random(1)
    path = tmp_path / "log"
    found: list[dict[str, str]] = []
    for name, texts in _COLUMNS.items():
        for text in texts:
            row = {**_row(draw, len(found) + 1, timezone.utc, changes=0), "State": "COMPLETED"}
            found.append(row | {name: text})
    path.write_text(parsable(found, list(_COLUMNS)))
    check_same(path, zone=zone)


def test_ids_that_come_again_in_rows_that_are_read_in_python(tmp_path: Path) -> None:
    """An id is that of a row before, whichever of both rows was odd."""
    draw = random.Random(1)
    path = tmp_path / "log"
    path.write_text(
        parsable(
            [
                _row(draw, 1, timezone.utc, changes=0) | {"JobID": id, "State": state}
                for id in ("5", "7_1", "8+1", "12345678901")
                for state in ("COMPLETED", "FAILED", "COMPLETED")
            ],
            [name for name in _COLUMNS if name != "JobIDRaw"],
        )
    )
    check_same(path)


def test_rows_of_one_job_whose_ids_are_last(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("State|Submit|Start|End|JobID\nREQUEUED|100|110|120|7\nCOMPLETED|120|130|140|7\n")
    (job,) = sacct.read_sacct(path, LeftOut())
    assert [attempt.state for attempt in job.attempts] == [AttemptState.REQUEUED, AttemptState.COMPLETED]
    check_same(path)


def test_digits_that_are_not_ascii_are_no_id(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("JobID|State|Submit|Start|End\n٣|FAILED|1|2|3\n3|FAILED|1|2|3\n4|FAILED|1|2|3\n", "utf-8")
    assert [job.id for job in sacct.read_sacct(path, LeftOut())] == ["3", "4"]
    check_same(path)


def test_a_log_that_is_not_sorted_says_nothing_of_hours_that_come_twice(tmp_path: Path) -> None:
    row = _row(random.Random(1), 1, timezone.utc, changes=0) | {"State": "COMPLETED", "Elapsed": "", "ElapsedRaw": ""}
    set_back = 1_792_890_000
    texts = [str(set_back + 10_000), str(set_back - 2_000), str(set_back - 1_000), "2026-10-25T02:30:00"]
    times = [
        {**dict.fromkeys(("Submit", "Eligible", "Start", "End"), text), "JobID": str(number)}
        for number, text in enumerate(texts, 1)
    ]
    path = tmp_path / "log"
    path.write_text(parsable([row | each for each in times], [*_NEEDED, "State", "ElapsedRaw"]))
    check_same(path, zone="Europe/Paris")
    jobs = list(sacct.read_sacct(path, LeftOut(), zone="Europe/Paris"))
    assert jobs[-1].first.submitted == set_back - 1_800


def test_steps_are_counted_in_their_place(tmp_path: Path) -> None:
    """Of two reasons with as many rows, the one that came first is the first, whoever counts the other."""
    log = "JobID|State|Submit|Start|End\n1.0|COMPLETED|5|5|6\n2|COMPLETED|5|5|6\n"
    path, left_out = tmp_path / "log", LeftOut()
    path.write_text(log)
    assert not list(ChosenJobs([sacct.read_sacct(path, left_out)], begin=10, left_out=left_out))
    assert [reason.reason.partition(":")[0] for reason in left_out][1:] == [
        "a step of a job",
        "the job was submitted before the period",
    ]


def test_most_rows_are_read_in_c(tmp_path: Path) -> None:
    """The test of equality would pass if all rows were odd."""
    text = sample("sacct.txt")
    layout = layout_of(enumerate(text.splitlines(), 1), "log")
    reader = SacctRows(layout.names, LeftOut(), zone_of(None))
    native = sacct._native_rows(layout, reader, {})
    assert native is not None
    native.open(text.encode(), 1)
    jobs: list[LoggedJob] = []
    odd = 0
    while native.line() is not None:
        odd += 1
        jobs += native.read()[0]
    assert len(jobs) > 4 * odd


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(TypeError):
        _sacct.again("text", "|", 0, {})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delimiter"):
        _sacct.again(b"1|", "é", 0, {})
    with pytest.raises(TypeError, match="page"):
        _sacct.again(b"1|", "|", 0, {0: bytearray(3)})
    layout = SacctLayout(("jobid", "submit", "start", "end"), "|")
    reader = SacctRows(layout.names, LeftOut(), zone_of(None))
    made = sacct._native_rows(layout, reader, {})
    assert made is not None
    with pytest.raises(ValueError, match="opened"):
        made.read()
    with pytest.raises(TypeError):
        made.open("text", 1)  # type: ignore[arg-type]
    models = LoggedJob(id="", attempts=()), Attempt(submitted=0.0)
    with pytest.raises(TypeError, match="tuple"):
        _sacct.Rows(*models, 4, "|", (), reader.readers(), {})
    with pytest.raises(ValueError, match="place"):
        _sacct.Rows(*models, 2, "|", (*reader.places, reader.key), reader.readers(), {})
