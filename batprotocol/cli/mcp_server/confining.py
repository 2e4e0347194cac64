"""A process that uses the files of one folder, and neither the network nor other programs.

Where Linux has Landlock, the kernel keeps this for the process and for all that it starts. It holds for code in C, too,
and for links that change while they are followed. An audit hook of Python asks first, on all systems: it knows Python
files by their names, and refuses with a sentence. The hook alone is not made for hostile code.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from batprotocol.cli.mcp_server.places import Places, is_in

__all__ = ["confine", "kernel_version"]

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
