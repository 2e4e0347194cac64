"""The program of a call of a tool: a command of `batproto` in a confined process, and a process that watches over it.

The server holds the other end of the standard input. When that is closed, because the server closes it or is gone, the
watching process kills the command with all that it has started, and removes its temporary files.
"""

from __future__ import annotations

import os
import runpy
import select
import shutil
import signal
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from batprotocol.cli.mcp_server.confining import confine
from batprotocol.cli.mcp_server.places import places_of

__all__ = ["PROGRAM", "main"]

PROGRAM: Final = """
import sys

sys.path[:] = [each for each in sys.path if each]
from batprotocol.cli.mcp_server.program import main

main(*sys.argv[1:])
"""
"""The program, whose arguments are those of `main`. No file of the current folder can take the place of a module."""

_SIGNALLED: Final = 128
"""The exit status of a command that a signal has ended is this number plus that of the signal, as shells have it."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def main(folder: str, scratch: str, memory: str, code: str, *words: str) -> None:
    """Run a command, and end with its status.

    Args:
        folder: the folder, as the number of a descriptor or as a path.
        scratch: its folder for temporary files.
        memory: the limit of the address space of each process, in bytes; 0: no limit.
        code: `code` if Python files of the folder may run.
        words: the words of the command.
    """
    os.chdir(int(folder) if folder.isdecimal() else folder)
    if hasattr(os, "fork"):
        _watch_over_child(scratch)
    else:
        threading.Thread(target=_end_with_input, daemon=True).start()
    limit(int(memory))
    places = places_of(os.getcwd(), scratch)
    sys.path[:] = [each for each in sys.path if code == "code" or os.path.realpath(each) != places.folder]
    confine(places, runs_code=code == "code")
    sys.argv[:] = ["batproto", *words]
    runpy.run_module("batprotocol", run_name="__main__", alter_sys=False)


def limit(memory: int) -> None:
    """Limit the address space of this process and of each that it starts. It cannot be raised again."""
    # Systems without it have no such limit, and macOS accepts few of its values.
    with suppress(ImportError, *(() if sys.platform == "linux" else (ValueError, OSError))):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        if memory:
            hard = memory if most < 0 else min(memory, most)
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _end_with_input() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(_SIGNALLED + signal.SIGTERM)


def _watch_over_child(scratch: str) -> None:
    """Return in a new process, and watch over it in this one, which does not return."""
    _ask_kernel(_PR_SET_CHILD_SUBREAPER, 1)
    ended, open_while_it_runs = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(open_while_it_runs)
        _watch(child, ended, scratch)
    os.close(ended)
    _ask_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(_SIGNALLED + signal.SIGKILL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _watch(child: int, ended: int, scratch: str) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are for the command
    for descriptor in (1, 2):  # the server reads them until nobody has them
        os.close(descriptor)
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.register(ended, select.POLLIN)
    is_wanted = all(descriptor != 0 for descriptor, _ in waiting.poll())
    if is_wanted:
        status = os.waitpid(child, 0)[1]
    else:
        status = signal.SIGKILL
        os.kill(child, signal.SIGKILL)
    _kill_all()
    if not is_wanted:
        shutil.rmtree(scratch, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else _SIGNALLED - code)


def _kill_all() -> None:
    """Kill all processes that the command has left, also those that they have started: their parent is this one now."""
    with suppress(ChildProcessError):
        while True:
            for each in _children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(each, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    """The processes whose parent is this one, where the system lists them."""
    found = []
    own = os.getpid()
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[1]) == own:
                        found.append(int(name))
    return found


def _ask_kernel(what: int, value: int) -> None:
    """Make a call of `prctl`, which Linux alone has."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)
