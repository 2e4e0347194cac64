"""Timelines: the files that are made of them, and the command that makes these."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from recorded import all_runs

from batprotocol import FinalJobState
from batprotocol.errors import InputError
from batprotocol.recordings import Capture
from batprotocol.recordings.timeline import Timeline, TimelineData, TimelineJob, timeline

WITHOUT_ENGINE = True

TABLE = "job_id,submission_time,starting_time,finish_time,allocated_resources\n"


# Files


def few(name: str = "run", count: int = 3) -> Timeline:
    states = list(FinalJobState)
    jobs = [
        TimelineJob(
            job_id=f"w0!${number}",
            submitted=0.0,
            started=float(number),
            finished=number + 0.9,
            hosts=((number % 50, number % 50 + 1),),
            state=states[number % 4],
            profile=f"p$_{number % 3}",
        )
        for number in range(count)
    ]
    return Timeline([TimelineData(name, jobs)])


def test_a_timeline_is_written_by_its_suffix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends with \.html, \.pdf, \.svg or \.png"):
        few().save(tmp_path / "run.jpg")
    few().save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    with pytest.raises(InputError, match="1 to 4 runs, got 5"):
        few() + few() + few() + few() + few()


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "run.html"
    page.write_text("what was there")
    monkeypatch.setattr("batprotocol.recordings.timeline.timelines.packed", lambda timeline: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        few().save(page)
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
    assert page.read_text() == "what was there"


@pytest.mark.slow
@pytest.mark.long
def test_figures(tmp_path: Path) -> None:
    both = few("$one") + few("other")
    both.save(tmp_path / "both.png", colour="state")
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    both.save(tmp_path / "both.svg", colour="profile")
    both.save(tmp_path / "again.svg", colour="profile")
    text = (tmp_path / "both.svg").read_text()
    assert text == (tmp_path / "again.svg").read_text()
    words = "".join(ElementTree.fromstring(text).itertext())
    assert "simulated time (s)" in words
    assert "p$_1" in words
    assert "$one: 3 jobs" in words
    few(count=3100).save(tmp_path / "many.svg")
    many = (tmp_path / "many.svg").read_text()
    assert "<image" in many
    assert len(re.findall("<(?:path|use)", many)) < 500
    with pytest.raises(InputError, match="jobs are coloured by"):
        few().figure(colour="smell")  # type: ignore[arg-type]


# The command


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(TABLE + "7,1,2,9,0-3\n")
    page = tmp_path / "run.html"
    done = run_here("timeline", str(tmp_path), str(tmp_path), "-o", str(page), "--colour", "state", "--title", "A <b>")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert re.fullmatch(rf"{page}: \d+ kB", lines[0])
    assert lines[1:] == [f"{tmp_path.name} ({number}): 1 job · 4 hosts · 9 s" for number in (1, 2)]
    assert "<title>A &lt;b&gt;</title>" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere.csv", "-o", "run.html"], 1, "nowhere.csv: no such file or directory"),
        (["README.md"], 2, "expected a file to write: name it, as in -o run.html or -o run.pdf"),
        (["README.md"] * 5 + ["-o", "run.html"], 2, "a timeline shows at most 4 runs, got 5"),
        (["jobs.csv", "-o", "no/run.html"], 1, "no/run.html: no such file or directory"),
        (["README.md", "-o", "run.txt"], 2, "name a file that ends with .html, .pdf, .svg or .png, got 'run.txt'"),
        (["jobs.csv", "--png", "run.svg"], 2, "name a file that ends with .png, got 'run.svg'"),
        (["README.md", "-o", "run.html", "--messages", "some"], 2, "'some' is not a number: write a number, 'all'"),
        (["README.md", "-o", "run.html"], 1, "holds nothing that can be read as a run"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, said: str
) -> None:
    (tmp_path / "README.md").write_text("nothing")
    (tmp_path / "jobs.csv").write_text(TABLE + "7,1,2,9,0-3\n")
    monkeypatch.chdir(tmp_path)
    done = run_here("timeline", *arguments)
    assert done.status == status
    assert said in done.err
    assert not (tmp_path / "run.html").exists()


def test_what_is_missing_of_a_run_is_told(tmp_path: Path) -> None:
    whole = all_runs()[0].read_bytes()
    (tmp_path / "cut.tar.xz").write_bytes(whole[: len(whole) * 2 // 3])
    done = run_here("timeline", str(tmp_path / "cut.tar.xz"), "-o", str(tmp_path / "run.html"), "--messages", "none")
    assert done.status == 1
    assert "cut.tar.xz: It" in done.err
    assert "with no texts (--messages all keeps all)" in done.out


def test_the_texts_of_all_messages_are_kept_on_request(tmp_path: Path) -> None:
    run = str(all_runs()[0])
    some = run_here("timeline", run, "-o", str(tmp_path / "some.html"), "--messages", "3")
    assert "with the texts of the first 3 (--messages all keeps all)" in some.out
    every = run_here("timeline", run, "-o", str(tmp_path / "all.html"), "--messages", "all")
    assert "texts" not in every.out.splitlines()[-1]
    with Capture(run) as capture:
        (data,) = timeline(capture, messages=None).runs
    assert data.messages is not None
    assert data.messages.text_count == len(data.messages) > 3


@pytest.mark.slow
@pytest.mark.long
def test_the_command_writes_figures(tmp_path: Path) -> None:
    """The ending selects the kind, several files are written at once, and the options of before work."""
    (tmp_path / "jobs.csv").write_text(TABLE + "7,1,2,9,0-3\n")
    names = ("run.pdf", "run.svg", "run.html", "old.svg", "old.png", "again.pdf")
    pdf, svg, page, old_svg, old_png, again = (str(tmp_path / name) for name in names)
    outputs = ["-o", pdf, "-o", svg, "-o", page, "--svg", old_svg, "--png", old_png]
    done = run_here("timeline", str(tmp_path / "jobs.csv"), *outputs)
    assert (done.status, done.err) == (0, "")
    assert run_here("timeline", str(tmp_path / "jobs.csv"), "-o", again).status == 0
    assert Path(pdf).read_bytes().startswith(b"%PDF")
    assert Path(pdf).read_bytes() == Path(again).read_bytes()
    assert b"/FontFile2" in Path(pdf).read_bytes()  # letters that can be searched, as publishers want them
    assert Path(svg).read_text() == Path(old_svg).read_text()
    assert Path(old_png).read_bytes().startswith(b"\x89PNG")
    assert Path(page).read_text().startswith("<!doctype html>")
    assert not {"--png", "--svg"} & set(run_here("timeline", "--help").out.split())


def test_a_message_of_an_archive_takes_few_calls(tmp_path: Path) -> None:
    """Archives were listed six times for a timeline: 500 calls for each message, in place of some 200."""
    path = max(all_runs(), key=lambda each: each.stat().st_size if each.stat().st_size < 60_000 else 0)
    with Capture(path) as run:
        count = sum(1 for _ in run)
    calls = 0

    def counted(frame: Any, kind: str, argument: Any) -> None:
        nonlocal calls
        calls += kind in ("call", "c_call")

    sys.setprofile(counted)
    try:
        with Capture(path) as run:
            next(iter(run))
            timeline(run, messages=0)
            assert not run.missing
    finally:
        sys.setprofile(None)
    assert calls / count < 250
