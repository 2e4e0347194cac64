"""Completion in bash: by the script that `batproto completion bash` prints, with the words as bash splits them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from commands import ENVIRONMENT, PROGRAM

from batprotocol.cli.completing import policies
from batprotocol.policies.names import named

WITHOUT_ENGINE = True
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
BREAKS = re.compile(r"([=:]+)")


@pytest.fixture(scope="module")
def bin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `batproto` in it, as this Python runs it."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "batproto"
    program.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    script = subprocess.run([program, "completion", "bash"], capture_output=True, check=True, env=ENVIRONMENT)
    (folder / "script").write_bytes(script.stdout)
    return folder


def offered(bin: Path, line: str, folder: Path) -> list[str]:
    """What bash offers for the last word of a line, which replaces what is behind the last = or :."""
    words = [part for word in line.split(" ") for part in (BREAKS.split(word) if word else [""])]
    words = [word for number, word in enumerate(words) if word or number == len(words) - 1]
    if len(words) > 1 and not words[-1] and BREAKS.fullmatch(words[-2]) and not line.endswith(" "):
        words.pop()  # bash takes the = for the word under the cursor
    array = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {bin}/script\nCOMP_WORDS=({array}); COMP_CWORD={len(words) - 1}\n"
        '_batproto_completion batproto 2>/dev/null\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {**ENVIRONMENT, "PATH": f"{bin}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, encoding="utf-8", cwd=folder, env=environment, check=True
    )
    return [each for each in done.stdout.splitlines() if each]


STUDY = 'scheduler = ["fcfs", "easy", "easy-sjf"]\nworkload = "example"\narrival_factor = [0.6, 0.8]\n'


@needs_bash
@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "batproto simulate easy-s",
            ["easy-sjf", "easy-saf", "easy-smallest", "easy-slowest", "easy-shared", "easy-spread", "easy-site="],
        ),
        ("batproto run sjf+cons", ["sjf+conservative"]),
        ("batproto conformance easy-best", ["easy-best-contiguous", "easy-best-fit"]),
        ("batproto simulate EASY-sj", ["EASY-sjf"]),
        ("batproto simulate easy=sj", ["sjf"]),
        ("batproto simulate easy=sjf,no", ["sjf,no-spare"]),
        ("batproto simulate stu", ["study.toml"]),
        ("batproto simulate sub/s", ["sub/sched.py"]),
        ("batproto study run study.toml --only scheduler=e", ["easy", "easy-sjf"]),
        ("batproto study run study.toml --only scheduler=", ["fcfs", "easy", "easy-sjf"]),
        ("batproto study run study.toml --only scheduler=easy,f", ["easy,fcfs"]),
        ("batproto study run study.toml --only arr", ["arrival_factor=0.6", "arrival_factor=0.8"]),
        ("batproto study list study.toml --only=arrival_factor=0.8", ["0.8"]),
        ("batproto study table study.toml --only sch", ["scheduler=fcfs", "scheduler=easy", "scheduler=easy-sjf"]),
        ("batproto study table study.toml --rows s", ["scheduler"]),
        ("batproto study table study.toml --baseline f", ["fcfs"]),
        ("batproto study table nothing.toml --only se", []),
        ("batproto conformance --ignore job.unk", ["job.unknown"]),
        ("batproto run --protocol 4.", ["4.0", "4.1", "4.2"]),
        ("batproto check --rules=proto", ["protocol"]),
        ("batproto check --advise-", ["--advise-after"]),
    ],
)
def test_bash_offers(line: str, found: list[str], bin: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "sched.py").touch()
    assert offered(bin, line, tmp_path) == found


@needs_bash
@pytest.mark.slow
def test_tab_in_a_real_bash(bin: Path, tmp_path: Path) -> None:
    """A terminal, and keys: what bash makes of the words is bash's own."""
    (tmp_path / "study.toml").write_text(STUDY)
    for typed, line in (
        ("batproto simulate easy-sj\t", "batproto simulate easy-sjf "),
        ("batproto simulate sjf+easy=sjf,no\t", "batproto simulate sjf+easy=sjf,no-spare "),
        (
            "batproto study run study.toml --only arrival_factor=0.8\t",
            "batproto study run study.toml --only arrival_factor=0.8 ",
        ),
        ("batproto study run study.toml --only scheduler=fc\t", "batproto study run study.toml --only scheduler=fcfs "),
    ):
        assert _line_after(typed, bin, tmp_path) == line


def _line_after(typed: str, bin: Path, folder: Path) -> str:
    """The line in bash after these keys."""
    import pty

    (folder / "rc").write_text(
        f'PS1="ready> "\nsource {bin}/script\n'
        "show() { printf '%s' \"$READLINE_LINE\" > line.new; mv line.new line; }\nbind -x '\"\\C-t\": show'\n"
    )
    (folder / "line").unlink(missing_ok=True)
    environment = {**ENVIRONMENT, "PATH": f"{bin}:{os.environ['PATH']}", "INPUTRC": "/dev/null", "TERM": "dumb"}
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "--noprofile", "--rcfile", "rc", "-i"], environment)
    try:
        seen = b""
        while b"ready> " not in seen:
            seen += os.read(terminal, 1024)
        os.write(terminal, typed.encode() + b"\x14")
        until = time.monotonic() + 60
        while not (folder / "line").exists() and time.monotonic() < until:
            time.sleep(0.05)
        return (folder / "line").read_text()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


@pytest.mark.parametrize("start", ["", "easy", "easy-", "sjf+easy+", "best", "easy=", "reservations=2,", "greedy=s"])
def test_what_is_offered_is_a_policy(start: str) -> None:
    found = policies(start)
    assert found
    for name in found:
        assert name.startswith(start)
        assert name.endswith(("site=", "cap=", "wait=")) or named(name)().name  # those need a file or a value


@pytest.mark.parametrize("start", ["no-such", "easy-none", "easy+greedy", "./easy", "easy=no-spare=", "sjf=", "off="])
def test_nothing_is_offered_that_is_none(start: str) -> None:
    assert policies(start) == []


def test_the_script_is_clicks_own_but_for_files() -> None:
    from batprotocol.cli.completing import _Bash

    assert "compgen -f" in _Bash.source_template, "click has another script: see _FILES"
