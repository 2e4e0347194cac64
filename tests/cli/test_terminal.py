"""What `batproto` shows on a terminal and nowhere else: colour, and how far it has come."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import IMPATIENT, run, run_here, run_on_terminal, write, write_archive
from support import ROOT

from batprotocol.cli import terminal as output
from batprotocol.model import Message, RejectJobEvent

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

# Colour, and who gets none


def test_colour_on_a_terminal(message_file: Path) -> None:
    status, shown = run_on_terminal("dump", message_file)
    assert status == 0
    assert "\x1b[1;36mJobSubmittedEvent\x1b[0m" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == run_here("dump", message_file).out


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_colour_where_nobody_wants_it(message_file: Path, variables: dict[str, str]) -> None:
    status, shown = run_on_terminal("dump", message_file, variables=variables)
    assert (status, shown) == (0, run_here("dump", message_file).out)


def test_no_colour_in_a_pipe_unless_forced(message_file: Path) -> None:
    assert "\x1b" not in run("dump", message_file).out
    assert "\x1b[" in run("dump", message_file, variables={"FORCE_COLOR": "1"}).out


def test_lines_in_a_pipe_are_never_wrapped(tmp_path: Path) -> None:
    path = write(tmp_path / "a", Message(0.0, (RejectJobEvent(job_id="w!" + "long " * 150),)).to_binary())
    assert len(run("dump", path, variables={"COLUMNS": "40"}).out.splitlines()) == 3


# Progress


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    members = [(f"{number:05}-b2e.bin", Message(number, ()).to_binary()) for number in range(300)]
    return write_archive(tmp_path / "run.tar.xz", members)


def test_a_progress_bar_on_long_work_never_gets_into_the_output(long_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, shown = run_on_terminal("dump", "--json-lines", long_run, tmp_path / "missing", out=out, program=IMPATIENT)
    assert status == 1
    assert "messages" in shown
    assert "%" in shown
    assert f"batproto: {tmp_path / 'missing'}: no such file or directory\n" in shown
    assert out.read_text() == run_here("dump", "--json-lines", long_run).out


PLAN = """{
  "clusters": {"a": 4},
  "campaigns": [{"jdl": {"name": "n", "nb_jobs": 20, "clusters": {"a": {"exec_file": "x"}}}}]
}"""


@pytest.mark.parametrize(
    ("arguments", "counted"),
    [
        (["check", "{run}"], "messages"),
        (["validate", "{run}"], "messages"),
        (["simulate"], "messages"),
        (["conformance", "--examples", "2", "{fcfs}"], "simulations"),
        (["grid", "simulate", "{plan}"], "cycles"),
    ],
)
def test_what_can_take_long_shows_how_far_it_is(
    arguments: list[str], counted: str, long_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, above what is printed there, and nowhere else."""
    plan = write(tmp_path / "plan.json", PLAN)
    filled = [each.format(run=long_run, fcfs=f"{ROOT}/examples/fcfs.py:FCFS", plan=plan) for each in arguments]
    alone = tmp_path / "alone"
    on_terminal = run_on_terminal(*filled, program=IMPATIENT)[1]
    told = run_on_terminal(*filled, out=alone, program=IMPATIENT)[1]
    assert f" {counted} " in without_styles(on_terminal)
    assert "%" in told
    monkeypatch.setenv("COLUMNS", "1000")
    piped = run_here(*filled)
    assert "%" not in piped.err
    last = alone.read_text().splitlines()[-1]
    assert without_styles(on_terminal).splitlines()[-1].endswith(last)
    assert re.sub(r"[0-9.]+ s", "", piped.out) == re.sub(r"[0-9.]+ s", "", alone.read_text())


def without_styles(text: str) -> str:
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)


def test_no_progress_bar_in_between_what_is_printed(long_run: Path, message_file: Path, tmp_path: Path) -> None:
    assert "%" not in run_on_terminal("dump", "--json-lines", long_run)[1]
    assert run_on_terminal("dump", message_file, out=tmp_path / "out") == (0, "")
    assert run("dump", long_run).err == ""


def test_what_is_printed_sends_the_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(output.time, "monotonic", lambda: now)
    bar = output.ProgressBar(shown=True)
    moves: list[str] = []
    monkeypatch.setattr(bar, "_start", lambda: moves.append(f"comes at {now}"))
    for moment, prints in ((0.5, False), (0.9, True), (1.5, False), (1.95, False)):
        now = moment
        bar.at(0.5)
        if prints:
            bar.make_way()
    assert moves == ["comes at 1.95"]
