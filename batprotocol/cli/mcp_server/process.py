"""Commands of `batproto` in processes of their own, which are confined to a folder and have limits.

This module must not know which commands there are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
import anyio.abc
import msgspec

from batprotocol.cli.mcp_server.limits import Limits
from batprotocol.cli.mcp_server.places import Folder
from batprotocol.cli.mcp_server.program import PROGRAM

__all__ = ["Answer", "run"]

_GRACE_SHARE: Final = 0.05
_GRACE_SECONDS: Final = 2.0
"""After this share of the time limit, and after this time at most, a process that is to end is killed."""
_PATIENCE_SECONDS: Final = 5.0
"""The time after which a process that watches over a command is killed, too."""
_VARIABLES: Final = (
    *("PATH", "HOME", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "PYTHONHASHSEED"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    "BATPROTOCOL_ENGINE",
)
"""The variables that commands get of the environment: those of the interpreter, the loader and the language."""


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


async def run(words: Sequence[str], limits: Limits, folder: Folder, *, seconds: float, memory: int) -> Answer:
    """Run a command, and wait for its end.

    If this is cancelled, the command is killed with all that it has started. So it is if this process is killed.

    Args:
        words: the words behind `batproto`.
        limits: its other limits.
        folder: the folder whose files it can use.
        seconds: its longest real time.
        memory: the address space of each of its processes, in bytes; 0: no limit.
    """
    place = str(folder.descriptor) if folder.descriptor >= 0 else folder.path
    with tempfile.TemporaryDirectory(prefix="batprotocol-mcp-", ignore_cleanup_errors=True) as scratch:
        code = "code" if limits.runs_code else "no-code"
        process = await anyio.open_process(
            [sys.executable, "-c", PROGRAM, place, scratch, str(memory), code, *words],
            stdin=subprocess.PIPE,
            env=_environment(scratch, os.environ),
            start_new_session=True,
            pass_fds=[folder.descriptor] if folder.descriptor >= 0 else [],
        )
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = bytearray(), bytearray()
        is_late = False
        try:
            with anyio.move_on_after(seconds) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(_read, process.stdout, output, limits.characters)
                    group.start_soon(_read, process.stderr, errors, limits.characters)
                await process.wait()
            is_late = scope.cancelled_caught
            if is_late:  # what has ended is kept, such as the runs of a study
                _signal(process, signal.SIGTERM)
                with anyio.move_on_after(min(_GRACE_SECONDS, _GRACE_SHARE * seconds)):
                    await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
    return Answer(None if is_late else process.returncode, _text(output, limits), _text(errors, limits))


async def _end(process: anyio.abc.Process) -> None:
    """Let the process that watches over the command kill it, and wait for the end of both."""
    assert process.stdin is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_PATIENCE_SECONDS):
        await process.wait()
    if process.returncode is None:
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        await process.wait()
    await process.aclose()


def _environment(scratch: str, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command."""
    return {
        **{name: given[name] for name in _VARIABLES if name in given},
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),  # each takes memory
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


async def _read(stream: anyio.abc.ByteReceiveStream, kept: bytearray, most: int) -> None:
    """Read all, and keep the beginning: a character has four bytes at most."""
    async for data in stream:
        kept += data[: max(4 * most + 1 - len(kept), 0)]


def _text(data: bytearray, limits: Limits) -> str:
    text = data.decode("utf-8", "replace").strip("\n")
    if len(text) <= limits.characters:
        return text
    return f"{text[: limits.characters]}\n[cut after {limits.characters:,} characters; ask for less]"


def _signal(process: anyio.abc.Process, number: signal.Signals) -> None:
    """Send a signal to a process and to its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
