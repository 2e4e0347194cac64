"""Takes away from Python, before a program begins, what another operating system lacks: Windows, or macOS.

Python runs this when the folder is on `PYTHONPATH`, in each process. `BATPROTOCOL_SYSTEM` names the system. The
standard library keeps what it needs to work here, under other names.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "windows": ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"),
    "macos": (),
}
"""The modules that a system lacks."""

NAMES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "windows": {
        "os": (
            *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchown", "fork", "forkpty"),
            *("getegid", "geteuid", "getgid", "getpgid", "getsid", "getuid", "killpg", "mkfifo", "nice", "pidfd_open"),
            *("posix_spawn", "pread", "pwrite", "sched_getaffinity", "sched_setaffinity", "setpgid", "setsid", "wait3"),
            *("sysconf", "waitid", "RTLD_DEEPBIND", "RTLD_LOCAL", "RTLD_NOW"),
        ),
        "signal": (
            *("ITIMER_REAL", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1"),
            *("SIGUSR2", "SIGXFSZ", "SIG_BLOCK", "alarm", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait"),
        ),
        "select": ("epoll", "poll"),
        "socket": ("AF_UNIX",),
    },
    "macos": {
        "os": (
            *("RTLD_DEEPBIND", "pidfd_open", "sched_getaffinity", "sched_setaffinity", "waitid", "copy_file_range"),
            *("memfd_create", "posix_fadvise", "posix_fallocate"),
        ),
        "select": ("epoll",),
    },
}
"""The names that a system lacks, by their modules."""


OTHERS: Final = ("platformdirs", "py")
"""Packages for Linux that are not written for its absence: they come first, and keep what they find."""


def take_away(system: str) -> None:
    """Take them away."""
    if system == "windows":
        _keep_going()
        for name in OTHERS:
            with suppress(ImportError):
                import_module(name)
    for module in MODULES[system]:
        sys.modules[module] = None  # type: ignore[assignment]  # what makes `import` fail
    for module, names in NAMES[system].items():
        found = import_module(module)
        for name in names:
            if hasattr(found, name):
                delattr(found, name)


def _keep_going() -> None:
    """Let the library of Linux do what that of Windows does in other ways: kill programs, and wake up asyncio.

    What is imported now keeps its own references to the rest.
    """
    import multiprocessing.connection
    import selectors
    import subprocess

    kept = int(signal.SIGKILL), multiprocessing.connection, selectors
    family, pair = socket.AF_UNIX, socket.socketpair

    def socketpair(*arguments: Any, **options: Any) -> Any:
        return pair(*(arguments or (family,)), **options)

    socket.socketpair = socketpair

    class Popen(subprocess.Popen[Any]):
        def __init__(
            self, command: Any, *arguments: Any, pass_fds: Any = (), start_new_session: bool = False, **options: Any
        ) -> None:
            if pass_fds:
                raise ValueError("pass_fds not supported on Windows.")
            super().__init__(command, *arguments, **options)

        def kill(self) -> None:
            self.send_signal(kept[0])

    subprocess.Popen = Popen  # type: ignore[misc]  # for the whole process, as on Windows


take_away(os.environ["BATPROTOCOL_SYSTEM"])
