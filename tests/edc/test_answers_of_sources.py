"""What files, folders, archives and lines give, message by message, and what is said where they give none."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from pathlib import Path

import pytest

from batprotocol.edc.recording import sources
from batprotocol.edc.recording.names import MessagePlace, counted, place_of
from batprotocol.edc.recording.sources import Found, jobs_file
from batprotocol.errors import CaptureError

pytestmark = pytest.mark.once


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as made:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            made.addfile(about, io.BytesIO(data))
    return path


def told(*arguments: str) -> list[tuple[object, ...]]:
    """File, name, bytes, fault and share of each message."""
    return [(each.file, each.name, each.data, each.fault, round(each.share, 3)) for each in sources.messages(arguments)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


NOTHING = "no such file or directory"
NO_MESSAGES = ("metadata.json", "run.json", "redis.json", "schedule.json")


def test_files_and_folders(folder: Path) -> None:
    Path("one.bin").write_bytes(b"1")
    for name in ("run/twin", "run/.hidden", "run/more", "empty"):
        Path(name).mkdir(parents=True)
    Path("run/10-b2e.bin").write_bytes(b"ten")
    Path("run/9-e2b.json").write_bytes(b"nine")
    Path("run/more/1.fb").write_bytes(b"")
    for name in ("twin/1.bin", ".hidden/1.bin", ".5.bin", "a.txt", "out_schedule.json", *NO_MESSAGES):
        Path("run", name).write_bytes(b"no message")
    assert told("one.bin") == [(0, "one.bin", b"1", "", 1.0)]
    assert told("run") == [
        (0, "run/9-e2b.json", b"nine", "", 0.238),
        (1, "run/10-b2e.bin", b"ten", "", 0.429),
        (2, "run/more/1.fb", b"", "is empty", 0.476),
        (3, "run/out_schedule.json", b"no message", "", 1.0),
    ]
    assert told("one.bin", "nothing.bin", "one.bin") == [
        (0, "one.bin", b"1", "", 0.4),
        (1, "nothing.bin", b"", NOTHING, 0.6),
        (2, "one.bin", b"1", "", 1.0),
    ]
    assert told("empty") == [(0, "empty", b"", "holds no message files (*.bin, *.json, *.fb, *.tar.xz)", 1.0)]
    others = [(each.name, each.path, each.data) for each in sources.others("run")]
    names = sorted([".5.bin", ".hidden/1.bin", "a.txt", "twin/1.bin", *NO_MESSAGES])
    assert others == [(name, "run", b"no message") for name in names if name != ".hidden/1.bin"]


MEMBERS = {
    "00001-e2b.bin": b"one",
    "00000-b2e.bin": b"zero",
    "twin/00000-b2e.json": b"t",
    "metadata.json": b"{}",
    "2.json": b"",
    "jobs.csv": b"",
    "x.txt": b"x",
}


def test_archives(folder: Path) -> None:
    data = tar(Path("a.tar"), MEMBERS).read_bytes()
    Path("one.bin").write_bytes(b"1")

    def all_of(name: str) -> list[tuple[object, ...]]:
        return [
            (0, f"{name}/00000-b2e.bin", b"zero", "", 0.333),
            (0, f"{name}/00001-e2b.bin", b"one", "", 0.667),
            (0, f"{name}/2.json", b"", "is empty", 1.0),
        ]

    assert told("a.tar") == all_of("a.tar")
    assert told("a.tar", "one.bin") == [*all_of("a.tar"), (1, "one.bin", b"1", "", 1.0)]
    Path("e").write_bytes(data)
    assert told("e") == all_of("e")
    assert told("a.tar/00001-e2b.bin") == [(0, "a.tar/00001-e2b.bin", b"one", "", 1.0)]
    assert told("a.tar/twin/00000-b2e.json") == [(0, "a.tar/twin/00000-b2e.json", b"t", "", 1.0)]
    assert told("a.tar/none") == [(0, "a.tar", b"", "has no member none", 1.0)]
    assert [(each.name, each.data, each.fault, each.path) for each in sources.others("a.tar")] == [
        ("jobs.csv", b"", "", "a.tar"),
        ("metadata.json", b"{}", "", "a.tar"),
        ("twin/00000-b2e.json", b"t", "", "a.tar"),
        ("x.txt", b"x", "", "a.tar"),
    ]
    tar(Path("b.tar"), {"x": b"x"})
    assert told("b.tar") == [(0, "b.tar", b"", "holds no messages (*.bin, *.json, *.fb)", 1.0)]
    Path("c.tar").write_bytes(b"garbage")
    assert told("c.tar") == [(0, "c.tar", b"", "is not a tar archive, or not a whole one", 1.0)]
    Path("d.tar").write_bytes(data[:1100])
    assert told("d.tar") == [
        (0, "d.tar/00001-e2b.bin", b"one", "", 1.0),
        (0, "d.tar", b"", "breaks off after 1 members: it is cut short or damaged", 1.0),
    ]
    listing = sources.listing_of("a.tar")
    assert listing is not None
    assert list(sources.messages(["a.tar"], listing)) == list(sources.messages(["a.tar"]))


def test_lines(folder: Path) -> None:
    Path("l.jsonl").write_bytes(b'{"a":1}\n\n  \n{"b":2}\n{"c"')
    assert told("l.jsonl") == [
        (0, "l.jsonl/1", b'{"a":1}\n', "", 0.333),
        (0, "l.jsonl/4", b'{"b":2}\n', "", 0.833),
        (0, "l.jsonl/5", b'{"c"', "", 1.0),
    ]
    assert told("l.jsonl/4") == [(0, "l.jsonl/4", b'{"b":2}\n', "", 0.833)]
    assert told("l.jsonl/2") == [(0, "l.jsonl", b"", "has no line 2", 1.0)]
    for begin in (b'{"tst":', b'{"topic":'):
        Path("m").write_bytes(begin + b"1}\n" + begin + b"2}\n")
        assert told("m") == [(0, "m/1", begin + b"1}\n", "", 0.5), (0, "m/2", begin + b"2}\n", "", 1.0)]
    for nothing in (b"", b"\n \n"):
        Path("n.jsonl").write_bytes(nothing)
        assert told("n.jsonl") == [(0, "n.jsonl", b"", "is empty", 1.0)]


def test_what_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources.LARGEST == 268_435_456
    monkeypatch.setattr(sources, "LARGEST", 5)
    tar(Path("a.tar"), {"1.bin": b"12345", "2.bin": b"123456"})
    Path("1.bin").write_bytes(b"12345")
    Path("2.bin").write_bytes(b"123456")
    Path("l.jsonl").write_bytes(b"1234\n12345\n1\n")
    said = [(each.data, each.fault) for each in sources.messages(["1.bin", "2.bin", "a.tar", "l.jsonl"])]
    fits, large = (b"12345", ""), (b"", sources.TOO_LARGE)
    assert said == [fits, large, fits, large, (b"1234\n", ""), large]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for data, fault in ((b"abc", ""), (b"", "is empty")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert told("-") == [(0, "standard input", data, fault, 1.0)]
    monkeypatch.setattr(sys, "stdin", None)
    assert told("-") == [(0, "standard input", b"", "it is closed", 1.0)]
    monkeypatch.setattr(sources, "LARGEST", 5)
    for data, fault in ((b"12345", ""), (b"123456", sources.TOO_LARGE)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert told("-") == [(0, "standard input", b"" if fault else data, fault, 1.0)]
    large = os.urandom(sources.CHUNK * 2 + 1)
    monkeypatch.setattr(sources, "LARGEST", len(large))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(large)))
    assert told("-") == [(0, "standard input", large, "", 1.0)]


def test_single_messages(folder: Path) -> None:
    tar(Path("a.tar"), MEMBERS)
    Path("one.bin").write_bytes(b"1")
    assert sources.single("one.bin") == Found(0, "one.bin", "one.bin", b"1")
    several = "holds several messages: name one of them"
    assert sources.single("a.tar") == Found(0, "a.tar", "a.tar", fault=several)
    assert sources.expanded("a.tar") == [Found(0, "a.tar", "a.tar")]
    Path("empty").mkdir()
    assert [(each.file, each.share) for each in sources.expanded("empty")] == [(0, 1.0)]
    assert sources.single("a.tar/2.json").fault == "is empty"
    assert sources.single("none").fault == NOTHING


def test_recordings_and_unfinished_ones(folder: Path) -> None:
    data = tar(Path("a.tar"), MEMBERS).read_bytes()
    Path("one.bin").write_bytes(b"1")
    Path("e").write_bytes(data)
    Path("unfinished.tar").write_bytes(data)
    Path("run.tar.xz").write_bytes(data)
    Path("zeros.tar").write_bytes(data.rstrip(b"\0") + bytes(20_000))
    Path("short.tar").write_bytes((data.rstrip(b"\0") + bytes(20_000))[:16_384])
    magic = b"\x89MCAP0\r\n"
    Path("open.mcap").write_bytes(magic + b"x")
    Path("done.mcap").write_bytes(magic + b"x" + magic)
    found = {
        name: (sources.is_recording(name), sources.is_unfinished(name), sources.listing_of(name) is not None)
        for name in (".", "none", "-", *sorted(os.listdir()))
    }
    assert found == {
        ".": (True, False, False),
        "none": (False, False, False),
        "-": (False, False, False),
        "a.tar": (True, False, True),
        "done.mcap": (True, False, False),
        "e": (True, False, True),
        "one.bin": (False, False, False),
        "open.mcap": (True, True, False),
        "run.tar.xz": (True, True, True),
        "short.tar": (True, False, True),
        "unfinished.tar": (True, True, True),
        "zeros.tar": (True, True, True),
    }
    assert [each.remark for each in sources.messages(["zeros.tar"])] == [
        "was not finished by the program that recorded it",
        "",
        "",
    ]
    assert told(".")[0] == (0, "./unfinished.tar/00000-b2e.bin", b"zero", "", 0.333)
    assert {sources.is_result(name) for name in ("a/schedule.json", "x_schedule.json", "run.json")} == {True}
    assert {sources.is_result(name) for name in ("schedule.json/a", "xschedule.json", "x_run.json")} == {False}


# What a path holds


def holds(path: str) -> str | None:
    try:
        return jobs_file(path)
    except CaptureError as error:
        return error.reason


def test_tables_of_jobs_and_messages(folder: Path) -> None:
    contents = {
        "run.mcap": b"job_id",
        "a": b"\x89MCAP0\r\n",
        "b": b"\x1f\x8b\x08 job_id",
        "c": bytes(257) + b"ustar",
        "d": b'{"tst": 1',
        "t.csv": b"x,y",
        "T.CSV": b"",
        "t1": b'\xef\xbb\xbf"job_id"\r\n',
        "t2": b"a,job_id,b\nx",
        "t3": b"a,b\njob_id",
        "t4": b"my_job_id,b",
        "nothing": b"",
        "x_schedule.json": b"{}",
        "db": b"SQLite format 3\0",
        "p": b"PAR1",
    }
    for name, data in contents.items():
        Path(name).write_bytes(data)
    assert {name: holds(name) for name in contents} == {
        **dict.fromkeys(("run.mcap", "a", "b", "c", "d", "t3", "t4")),
        **{name: name for name in ("t.csv", "T.CSV", "t1", "t2")},
        "nothing": "is empty",
        "x_schedule.json": "has no data about single jobs: name its folder, or the jobs.csv in it",
        "db": "is a database, such as the index of a store: name one of its runs, STORE?AXIS=VALUE&...",
        "p": "is a Parquet file: name its run, STORE?AXIS=VALUE&..., or its folder",
    }


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["jobs.csv"], "f/jobs.csv"),
        (["jobs.csv", "out_jobs.csv"], "f/jobs.csv"),
        (["jobs.csv", "00000-b2e.bin"], None),
        (["jobs.csv", "3-s2b.json"], None),
        (["jobs.csv", "unfinished.tar"], None),
        (["out_jobs.csv"], "f/out_jobs.csv"),
        (["outjobs.csv"], "holds no run: neither messages nor jobs.csv"),
        (["b_jobs.csv", "a_jobs.csv"], "holds the results of several runs: name one of them, such as a_jobs.csv"),
        (["5.bin"], None),
        (["run.mcap"], None),
        (["out_schedule.json"], "holds no run: neither messages nor jobs.csv"),
        ([], "holds no run: neither messages nor jobs.csv"),
    ],
)
def test_folders_of_tables_and_messages(folder: Path, names: list[str], found: str | None) -> None:
    Path("f").mkdir()
    for name in names:
        Path("f", name).write_bytes(b"x")
    assert holds("f") == found


# Names


@pytest.mark.parametrize(
    ("name", "previous", "place", "text"),
    [
        ("run.tar.xz/00004-b2e.bin", "", MessagePlace(4, "b2e"), "message 4 from Batsim"),
        ("4-e2b.json", "", MessagePlace(4, "e2b"), "message 4 to Batsim"),
        ("4-s2b.json", "", MessagePlace(4, "s2b"), "message 4"),
        ("x-b2e.json", "", MessagePlace(None, "b2e"), "a message from Batsim"),
        ("4-x2y.json", "", MessagePlace(), "a message"),
        ("4.bin", "", MessagePlace(), "a message"),
        ("4.bin", "3.bin", MessagePlace(4), "message 4"),
        ("4.bin", "5.bin", MessagePlace(), "a message"),
        ("4.bin", "4.bin", MessagePlace(), "a message"),
        ("a/4.bin", "3.bin", MessagePlace(), "a message"),
        ("a/4.bin", "a/3-b2e.bin", MessagePlace(4), "message 4"),
        ("a//4.bin", "./a/3.bin", MessagePlace(4), "message 4"),
        ("./4.bin", "3.bin", MessagePlace(4), "message 4"),
        ("/4.bin", "3.bin", MessagePlace(), "a message"),
        ("twin/4-b2e.json", "", MessagePlace(), "a message"),
        ("a/twin/b/4-b2e.json", "", MessagePlace(), "a message"),
        ("a/twin", "", MessagePlace(), "a message"),
        ("999999999-b2e.bin", "", MessagePlace(999_999_999, "b2e"), "message 999999999 from Batsim"),
        ("1000000000-b2e.bin", "", MessagePlace(None, "b2e"), "a message from Batsim"),
        ("0.bin", "", MessagePlace(), "a message"),
    ],
)
def test_what_names_tell(name: str, previous: str, place: MessagePlace, text: str) -> None:
    assert place_of(name, previous) == place
    assert str(place_of(name, previous)) == text


def test_numbers_of_messages() -> None:
    assert [counted(number) for number in (0, 1, 2, 1000)] == [
        "0 messages",
        "1 message",
        "2 messages",
        "1,000 messages",
    ]
