"""Commands of `batproto` in processes of their own, which are confined to a folder and have limits."""

from __future__ import annotations

import errno
import os
import runpy
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

import anyio
import anyio.abc
import msgspec

from batprotocol.cli.mcp_server.vocabulary import Folder, Places, is_in, places_of

__all__ = [
    "PROGRAM",
    "CommandLimits",
    "FinishedCommand",
    "confine",
    "kernel_version",
    "main",
    "run",
]


# A process that uses the files of one folder, and neither the network nor other programs.


_FIRST_VERSION: Final = 2
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_CODE: Final = (".py", ".pyc", ".pyd", ".so", ".pth", ".zip", ".egg", ".dll", ".dylib")
_READING: Final = ("os.listdir", "os.scandir", "os.chdir", "os.listxattr", "os.getxattr")
_WRITING: Final = (
    *("os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.truncate", "os.utime", "os.chflags"),
    *("os.setxattr", "os.removexattr", "sqlite3.connect"),
)
_BETWEEN: Final = ("os.rename", "os.link", "os.symlink")
_REFUSED: Final = (
    *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
    *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"),
    *("urllib.Request", "webbrowser.open", "ftplib.connect", "smtplib.connect", "http.client.connect"),
)


def kernel_version() -> int:
    """The version of Landlock that confines processes here, as the kernel numbers it; 0: there is none.

    The first version does not count: under it, no file can be moved into another folder, as stores of studies do.
    """
    if sys.platform != "linux":
        return 0
    import landlockpy

    try:
        version = landlockpy.abi_version()
    except OSError:  # a container can forbid the question
        return 0
    return version if version >= _FIRST_VERSION else 0


def confine(places: Places, *, runs_code: bool = False) -> None:
    """From now on, this process uses these files only, and nothing else. This cannot be taken back.

    All else raises `PermissionError`. Files that are open already stay usable. The process must have one thread.

    Args:
        places: the files. The current folder must be that of `places`.
        runs_code: whether it may read Python files and libraries of the folder.
    """
    if kernel_version():
        _confine_by_kernel(places)
    sys.addaudithook(_hook(places, runs_code))


def _confine_by_kernel(places: Places) -> None:
    from landlockpy import AccessFS, Ruleset, Scope

    read_file = AccessFS.READ_FILE | AccessFS.EXECUTE
    read = read_file | AccessFS.READ_DIR
    write = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.WRITE_FILE | AccessFS.TRUNCATE | AccessFS.REFER
    write |= AccessFS.MAKE_REG | AccessFS.MAKE_DIR | AccessFS.REMOVE_FILE | AccessFS.REMOVE_DIR
    with Ruleset(scoped=Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL) as rules:
        rules.allow_path(os.curdir, write)  # the folder itself, whatever its path leads to by now
        rules.allow_path(places.scratch, write)
        rules.allow_path(os.devnull, AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        for each in (*places.python, *places.system, *places.libraries):
            rules.allow_path(each, read if os.path.isdir(each) else read_file)
        rules.restrict()


def _hook(places: Places, runs_code: bool) -> Callable[[str, tuple[Any, ...]], None]:
    def check(path: Any, *, writes: bool) -> None:
        if isinstance(path, int) or path is None:  # it is open already
            return
        text = os.fsdecode(path)
        try:
            real = os.path.realpath(text)
        except OSError:  # a link that cannot be read
            real = ""
        if is_in(real, places.python):
            if writes:
                raise PermissionError(errno.EACCES, "files of Python and its packages cannot be written here", text)
        elif is_in(real, (places.folder,)):
            if not runs_code and real.lower().endswith(_CODE) and not writes:
                raise PermissionError(errno.EACCES, "Python files and libraries of the folder do not run here", text)
        elif not is_in(real, (places.scratch, os.devnull)) and (writes or not is_in(real, places.system)):
            raise PermissionError(errno.EACCES, "it is outside of the folder that can be used here", text)

    def opened(arguments: tuple[Any, ...]) -> None:
        path, mode, flags = arguments
        writes = bool(flags & _WRITES) if isinstance(flags, int) else False
        check(path, writes=writes or (isinstance(mode, str) and any(letter in mode for letter in "wax+")))

    def both(arguments: tuple[Any, ...]) -> None:
        check(arguments[0], writes=True)
        check(arguments[1], writes=True)

    def started(arguments: tuple[Any, ...]) -> None:
        words = arguments[1]
        if isinstance(words, str | bytes) or [*words][:2] != [sys.executable, "-c"]:  # the engine of studies
            raise PermissionError(errno.EPERM, "no other program can be started here")

    def refused(arguments: tuple[Any, ...]) -> None:
        raise PermissionError(errno.EPERM, "neither the network nor other programs can be used here")

    checks: dict[str, Callable[[tuple[Any, ...]], None]] = {
        "open": opened,
        "subprocess.Popen": started,
        **dict.fromkeys(_READING, lambda arguments: check(arguments[0], writes=False)),
        **dict.fromkeys(_WRITING, lambda arguments: check(arguments[0], writes=True)),
        **dict.fromkeys(_BETWEEN, both),
        **dict.fromkeys(_REFUSED, refused),
    }

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        found = checks.get(event)
        if found is not None:
            found(arguments)

    return hook


# The program of a call of a tool: a command of `batproto` in a confined process, and a process that watches over it.


PROGRAM: Final = """
import sys

sys.path[:] = [each for each in sys.path if each]
from batprotocol.cli.mcp_server.process import main

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


# The limits of a call of a tool. This module needs no other package.


class CommandLimits(msgspec.Struct, frozen=True):
    """The limits of a command.

    Args:
        folder: the folder whose files it can use. It is found once, when the server is made.
        seconds: its longest real time, without that in which it waits for other calls.
        characters: how much of its output is returned.
        memory: the address space of its processes together, in bytes; 0: no limit. A study needs 1 GiB.
        runs_code: whether it may run Python files of the folder, which can do anything that the user can do.
        runs: the greatest number of runs of a study.
    """

    folder: str
    seconds: float = 300.0
    characters: int = 50_000
    memory: int = 4 << 30
    runs_code: bool = False
    runs: int = 1000


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


class FinishedCommand(msgspec.Struct, frozen=True):
    """The end of a command.

    Args:
        status: its exit status; None: it took too long, and was ended.
        output: what it printed, cut at the limit.
        errors: what it printed on its standard error, cut at the limit.
    """

    status: int | None
    output: str
    errors: str


async def run(
    words: Sequence[str], limits: CommandLimits, folder: Folder, *, seconds: float, memory: int
) -> FinishedCommand:
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
    return FinishedCommand(None if is_late else process.returncode, _text(output, limits), _text(errors, limits))


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


def _text(data: bytearray, limits: CommandLimits) -> str:
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
