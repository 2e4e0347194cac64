"""The program of a confined process: it uses the files of one folder, and neither the network nor other programs.

An audit hook of Python sees each file that Python code opens, before it is opened. So the limits hold for all commands,
and for all files that other files name. They are not made for hostile Python code: so the process runs none that lies
in the folder, unless that is allowed.
"""

from __future__ import annotations

import errno
import os
import runpy
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

__all__ = ["PROGRAM", "confine", "main"]

PROGRAM: Final = """
import sys

sys.path[:] = [each for each in sys.path if each]
from batprotocol.mcp.confining import main

main(*sys.argv[1:])
"""
"""The program, whose arguments are those of `main`. No file of the current folder can take the place of a module."""

_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_CODE: Final = (".py", ".pyc", ".pyd", ".so", ".pth", ".zip", ".egg", ".dll", ".dylib")
_DEVICES: Final = (os.devnull, "/dev/urandom", "/dev/zero", "/dev/shm")
_READABLE: Final = ("/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/localtime", "/proc/self", "/proc/cpuinfo")
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


def main(folder: str, memory: str, schedulers: str, *words: str) -> None:
    """Confine this process, and run a command of `batproto`.

    Args:
        folder: the folder.
        memory: the limit of the address space, in bytes; 0: no limit.
        schedulers: `yes` if Python files of the folder may run.
        words: the words of the command.
    """
    os.chdir(folder)
    _limit(int(memory))
    confine(folder, runs_code=schedulers == "yes")
    sys.argv[:] = ["batproto", *words]
    runpy.run_module("batprotocol", run_name="__main__", alter_sys=False)


def _limit(memory: int) -> None:
    with suppress(ImportError):  # on systems without it, there is no such limit
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory if most < 0 else min(memory, most), most))


def confine(folder: str, *, runs_code: bool = False) -> None:
    """From now on, this process uses the files of a folder only, besides those of Python and its packages.

    All else raises `PermissionError`. This cannot be taken back.

    Args:
        folder: the folder.
        runs_code: whether it may read Python files and libraries of the folder.
    """
    own = os.path.realpath(folder)
    scratch = os.path.realpath(tempfile.gettempdir())
    packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    python = (*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, packages, *sys.path)
    readable = [os.path.realpath(each) for each in (*python, *_READABLE, *_DEVICES)]
    readable = [each for each in readable if not _is_in(each, (own,)) and len(each) > 1]

    def check(path: Any, *, writes: bool) -> None:
        if isinstance(path, int) or path is None:  # it is open already
            return
        text = os.fsdecode(path)
        real = os.path.realpath(text)
        if _is_in(real, (own,)):
            if not runs_code and real.lower().endswith(_CODE) and not writes:
                raise PermissionError(errno.EACCES, "Python files and libraries of the folder do not run here", text)
            return
        if not _is_in(real, (scratch, *_DEVICES)) and (writes or not _is_in(real, readable)):
            raise PermissionError(errno.EACCES, "it is outside of the folder that can be used here", text)

    def opened(arguments: tuple[Any, ...]) -> None:
        path, mode, flags = arguments
        writes = bool(flags & _WRITES) if isinstance(flags, int) else False
        check(path, writes=writes or (isinstance(mode, str) and any(letter in mode for letter in "wax+")))

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
        **dict.fromkeys(_BETWEEN, lambda arguments: _both(arguments, check)),
        **dict.fromkeys(_REFUSED, refused),
    }

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        found = checks.get(event)
        if found is not None:
            found(arguments)

    sys.addaudithook(hook)


def _both(arguments: tuple[Any, ...], check: Callable[..., None]) -> None:
    check(arguments[0], writes=True)
    check(arguments[1], writes=True)


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
