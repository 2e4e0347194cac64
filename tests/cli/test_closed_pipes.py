"""Nobody reads the output of a command: each command ends quietly with 141, whatever it prints, and however."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import click
import pytest
from commands import write
from support import DATA

from batprotocol.cli.main import batproto, main
from batprotocol.model import Message, RejectJobEvent
from batprotocol.studies import Study

WITHOUT_ENGINE = True

POWER = str(DATA / "simulations" / "PowerSaver__power-p__energy_platform_homogeneous__binary.tar.xz")


def commands_of(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands, with their groups."""
    yield words
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands_of(each, (*words, name))


COMMANDS = list(commands_of(batproto))

PRINTS = {
    ("dump",): ["RUN"],
    ("check",): ["RUN"],
    ("at",): ["RUN", "1"],
    ("stats",): ["RUN"],
    ("diff",): ["RUN", "run.tar"],
    ("export",): ["RUN"],
    ("schema",): ["ExecuteJob"],
    ("rules",): [],
    ("policies",): [],
    ("simulate",): ["fcfs", "-w", "lublin:4?jobs=3"],
    ("compare",): ["out", "out"],
    ("study", "list"): ["study.toml", "--store", "store"],
    ("study", "table"): ["store"],
    ("study", "metrics"): [],
    ("workload", "info"): ["lublin:4?jobs=3"],
    ("workload", "failures"): ["--preset", "lanl", "--hosts", "99", "--mtbf", "30d", "--until", "99d"],
    ("new", "scheduler"): ["Mine"],
    ("completion",): ["bash"],
}
"""Commands that print, with arguments for which they need no servers and no programs."""
MORE = [
    ["--version"],
    ["schema"],
    ["schema", "--host-events"],
    ["schema", "--which", "long.bin"],
    ["schema", "--wireshark"],
    ["schema", "--requests"],
    ["schema", "--offers"],
    ["schema", "--diff", "2024-10", "2022-01"],
    ["schema", "--describe", "2022-01"],
    ["schema", "--protocol", "4.2"],
    ["rules", "job.unknown"],
    ["completion", "zsh"],
    ["completion", "fish"],
    ["export", "RUN", "--rows", "events"],
    ["dump", "--json-lines", "long.bin"],
    ["study", "metrics", "--json"],
]


def status_of(arguments: list[str], *, unbuffered: bool) -> tuple[int, str]:
    """The exit status and the errors of a command whose output goes to a pipe that nobody reads."""
    read, written = os.pipe()
    os.close(read)
    out = io.TextIOWrapper(os.fdopen(written, "wb", 0 if unbuffered else -1), "utf-8", write_through=unbuffered)
    err = io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main(arguments)
    finally:
        sys.stdout = before
        out.close()  # what was still to be written goes nowhere
    assert isinstance(ended.value.code, int)
    return ended.value.code, err.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "long.bin", Message(0.0, tuple(RejectJobEvent(job_id=f"w!{each}") for each in range(9))).to_binary()
    )
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_help(words: tuple[str, ...]) -> None:
    assert status_of([*words, "--help"], unbuffered=True) == (141, "")


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("arguments", [[*words, *rest] for words, rest in PRINTS.items()] + MORE, ids=" ".join)
def test_each_output(folder: Path, arguments: list[str], unbuffered: bool) -> None:
    if "store" in arguments:
        (folder / "study.toml").write_text('scheduler = "fcfs"\nworkload = "lublin:4?jobs=3"\n')
        Study.read(folder / "study.toml").run(folder / "store", processes=1)
    if "out" in arguments:
        assert status_of(["simulate", "fcfs", "-o", "out"], unbuffered=False)[0] == 141
    if "run.tar" in arguments:
        assert status_of(["simulate", "fcfs", "--record", "run.tar"], unbuffered=False)[0] == 141
    given = [POWER if each == "RUN" else each for each in arguments]
    status, err = status_of(given, unbuffered=unbuffered)
    assert (status, [line for line in err.splitlines() if "batproto" in line]) == (141, [])


def test_the_list_is_of_commands() -> None:
    assert set(PRINTS) <= set(COMMANDS)
