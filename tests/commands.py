"""`batproto` as its users meet it: run in a process, in this one or on a terminal; and files to give it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from support import ROOT

from batprotocol.cli.main import main
from batprotocol.model import (
    AllocationPlacement,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    ExecuteJobEvent,
    FinalJobState,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillProgressAtomicProfile,
    Message,
    RejectJobEvent,
)

PROGRAM = (sys.executable, "-m", "batprotocol")
DECIDING_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "PYTHONIOENCODING")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in DECIDING_VARIABLES} | {
    "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    "PYTHONUTF8": "1",
    "TERM": "xterm-256color",
}

SUBMITTED = JobSubmittedEvent(
    timestamp=1.0, job_id="w0!1", job=Job(resource_request=2, walltime=9.5, profile_id="w0!d"), submission_time=0.5
)
EXECUTED = ExecuteJobEvent(timestamp=2.0, job_id="w0!1", allocation=AllocationPlacement("0-1"))
REJECTED = RejectJobEvent(timestamp=2.0, job_id="w1!1")
COMPLETED = JobCompletedEvent(timestamp=3.0, job_id="w0!2", state=FinalJobState.COMPLETED_FAILED, return_code=1)
KILLED = JobsKilledEvent(
    timestamp=3.0,
    job_ids=("w0!7", "w0!8"),
    progresses=(JobAndProgress("w0!9", KillProgressAtomicProfile("w0!d", 0.5)),),
)
MESSAGE = Message(3.0, (SUBMITTED, EXECUTED, REJECTED, COMPLETED, KILLED))
HELLO = Message(
    0.0,
    (
        EDCHelloEvent(
            batprotocol_version="0.1.0",
            decision_component_name="test",
            decision_component_version="1",
            decision_component_commit="",
            requested_simulation_features=EDCRequestedSimulationFeatures(),
        ),
    ),
)


class Result(NamedTuple):
    """How a process ended, and what it wrote."""

    status: int
    out: str
    err: str


def run(*arguments: str | Path, given: bytes = b"", variables: Mapping[str, str] | None = None) -> Result:
    """Run `batproto` as a process of its own, with pipes all around. It must never print a traceback."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        input=given,
        capture_output=True,
        env={**ENVIRONMENT, **(variables or {})},
        check=False,
        timeout=60,
    )
    result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.err
    return result


def run_here(*arguments: str | Path) -> Result:
    """Run `batproto` in this process: for the many cases in which a process of its own would show nothing more."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
    assert isinstance(ended.value.code, int)
    return Result(ended.value.code, out.read(), err.read())


IMPATIENT = (
    sys.executable,
    "-c",
    """
from batprotocol.cli import terminal
from batprotocol.cli.main import main
terminal.PATIENCE_SECONDS = terminal.BETWEEN_SECONDS = -1.0
main()
""",
)
"""`batproto` that takes any work for long."""


def run_on_terminal(
    *arguments: str | Path,
    variables: Mapping[str, str] | None = None,
    out: Path | None = None,
    program: Sequence[str] = PROGRAM,
) -> tuple[int, str]:
    """Run `batproto` on a terminal, with standard output in a file if one is given: (status, what the terminal got)."""
    terminal, its_end = os.openpty()
    with (
        nullcontext(its_end) if out is None else open(out, "wb") as standard_output,
        subprocess.Popen(
            [*program, *map(str, arguments)],
            stdin=its_end,
            stdout=standard_output,
            stderr=its_end,
            env={**ENVIRONMENT, "COLUMNS": "1000", **(variables or {})},
        ) as process,
    ):
        os.close(its_end)
        shown = b"".join(iter(lambda: _read_terminal(terminal), b""))
    os.close(terminal)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def _read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def write_archive(path: Path, members: Iterable[tuple[str, bytes]], mode: str = "w:xz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # the mode is not a literal here
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def json_values(text: str) -> list[object]:
    """The JSON values that follow one another in a text, as `jq` reads them."""
    values = []
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values


def as_json(message: Message) -> object:
    return json.loads(message.to_json())
