"""Commands of `batproto` in processes of their own, which are confined to a folder and have limits.

This module must not know which commands there are.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
import anyio.abc
import msgspec

from batprotocol.mcp.confining import PROGRAM
from batprotocol.mcp.limits import Limits

__all__ = ["Answer", "end_all", "run"]

_GRACE_SECONDS: Final = 2.0
"""After this time, a process that is to end is killed."""
_RUNNING: Final[dict[int, str]] = {}
"""The processes of the commands that run, each with its folder for temporary files."""


class Answer(msgspec.Struct, frozen=True):
    """The end of a command.

    Args:
        status: its exit status; None: it took too long, and was ended.
        output: what it printed, cut at the limit.
        errors: what it printed on its standard error, cut at the limit.
    """

    status: int | None
    output: str
    errors: str


async def run(words: Sequence[str], limits: Limits) -> Answer:
    """Run a command, and wait for its end.

    If this is cancelled, the command is killed with all that it has started.

    Args:
        words: the words behind `batproto`.
        limits: its limits.
    """
    with tempfile.TemporaryDirectory(prefix="batprotocol-mcp-") as scratch:
        allowed = "yes" if limits.runs_code else "no"
        process = await anyio.open_process(
            [sys.executable, "-c", PROGRAM, limits.folder, str(limits.memory), allowed, *words],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": scratch, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
        _RUNNING[process.pid] = scratch
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = bytearray(), bytearray()
        is_late = False
        try:
            with anyio.move_on_after(limits.seconds) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(_read, process.stdout, output, limits.characters)
                    group.start_soon(_read, process.stderr, errors, limits.characters)
                await process.wait()
            is_late = scope.cancelled_caught
            if is_late:  # what has ended is kept, such as the runs of a study
                _signal(process.pid, signal.SIGTERM)
                with anyio.move_on_after(_GRACE_SECONDS):
                    await process.wait()
        finally:
            _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            with anyio.CancelScope(shield=True):
                await process.wait()
                await process.aclose()
            del _RUNNING[process.pid]
    return Answer(None if is_late else process.returncode, _text(output, limits), _text(errors, limits))


def end_all() -> None:
    """Kill all commands with what they have started, and remove their temporary files."""
    for pid, scratch in list(_RUNNING.items()):
        _signal(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        shutil.rmtree(scratch, ignore_errors=True)


async def _read(stream: anyio.abc.ByteReceiveStream, kept: bytearray, most: int) -> None:
    """Read all, and keep the beginning: a character has four bytes at most."""
    async for data in stream:
        kept += data[: max(4 * most + 1 - len(kept), 0)]


def _text(data: bytearray, limits: Limits) -> str:
    text = data.decode("utf-8", "replace").strip("\n")
    if len(text) <= limits.characters:
        return text
    return f"{text[: limits.characters]}\n[cut after {limits.characters:,} characters; ask for less]"


def _signal(pid: int, number: int) -> None:
    """Send a signal to a process and to all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
