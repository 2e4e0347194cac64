"""The leader of a group of jobs: a process that runs them one after the other, and records the end of each.

As a program, it starts leaders: each is a fork of it. It imports only modules that are built into Python, so that it
starts and forks fast. It must not import others: not `signal`, `json` or `subprocess`, and nothing of batprotocol.
"""

from __future__ import annotations

import marshal
import os
import select
import time

try:  # noqa: SIM105 - `contextlib` is not built into Python
    import fcntl
except ImportError:  # a cluster is refused where it is missing
    pass

TERM, KILL = 15, 9
GRACE_SECONDS = 5.0
"""How long a command has to end after SIGTERM, when its walltime is over."""

LONGEST_WAIT = 1e6

REAP_SECONDS = 1.0
"""The interval in which leaders that have ended are reaped."""

PLAIN = frozenset(" %+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
"""The characters that mean themselves to a shell."""

_NO_PROGRAMS = """
. : alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare dirs

disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history

if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt

source suspend test then time times trap true type typeset ulimit umask unalias unset until wait while
"""
SHELLS_OWN = frozenset(_NO_PROGRAMS.split())
"""The words that are not programs for a shell."""


Files = list[tuple[object, ...]]
"""The actions of `posix_spawn` on descriptors."""


class LeaderGroup:
    """The jobs of a folder.

    Args:
        folder: the folder, with their plan.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, "plan"), "rb") as file:
            self.plan = marshal.load(file)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self.log = os.open(os.path.join(folder, "log"), flags, 0o600)

    def run(self) -> None:
        """Run all of them."""
        os.chdir(self.plan["directory"])
        if self.plan["polite"]:
            os.nice(19)
        for number, command, walltime, variables, output in self.plan["jobs"]:
            fcntl.flock(self.log, fcntl.LOCK_EX)  # jobs are marked to be killed by a process that has this lock
            try:
                process = 0 if self.is_marked(number) else self.begin(number, command, variables, output)
            finally:
                fcntl.flock(self.log, fcntl.LOCK_UN)
            if process:
                self.finish(number, process, walltime, output)

    def is_marked(self, number: int) -> bool:
        """Whether a job is to be killed. Then it has ended, as it does not begin."""
        marked = os.access(os.path.join(self.folder, f"cause-{number}"), os.F_OK)
        if marked:
            self.write(f"end {number} {time.time()} - KILLED")
        return marked

    def write(self, line: str) -> None:
        """Write a line into the log, as a whole."""
        os.write(self.log, f"{line}\n".encode())

    def begin(self, number: int, command: str, variables: dict[str, str], output: str) -> int:
        """Start a job, and record that it has begun.

        Returns its process, or 0 if it cannot be started: then it has ended.
        """
        stdout, stderr = paths_of(output)
        # Another job may have made a link or a pipe there: it is not followed, and not waited for.
        append = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        files: Files = [
            (os.POSIX_SPAWN_DUP2, 0, 3),  # the lock
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, stdout, append, 0o666),
            (os.POSIX_SPAWN_OPEN, 2, stderr, append, 0o666),
        ]
        try:
            process = self.start(command, {**os.environ, **variables}, files)
        except (OSError, ValueError) as error:
            complain(stderr, append, f"it cannot be started: {error}\n")
            self.write(f"begin {number} {time.time()} 0")
            self.write(f"end {number} {time.time()} {126 << 8} -")
            return 0
        self.write(f"begin {number} {time.time()} {process}")
        return process

    def finish(self, number: int, process: int, walltime: float, output: str) -> None:
        """Wait for the end of a job that has begun, and record it."""
        late = not wait(process, walltime)
        if late:
            kill(process, TERM)
            wait(process, GRACE_SECONDS)
        kill(process, KILL)  # and the processes that it has started
        status = os.waitpid(process, 0)[1]
        for path in paths_of(output):
            remove_empty(path)
        self.write(f"end {number} {time.time()} {status} {'WALLTIME' if late else '-'}")

    def start(self, command: str, environment: dict[str, str], files: Files) -> int:
        """Start a command, in a shell if it needs one; return its process."""
        words = plain_words(command)
        if words:
            try:
                return self.spawn(words, environment, files)
            except OSError:  # a shell prints its own message about the error
                pass
        return self.spawn(["sh", "-c", command], environment, files)

    def spawn(self, words: list[str], environment: dict[str, str], files: Files) -> int:
        """Start a program; return its process."""
        ignored = self.plan["ignored"]  # which Python ignores, and commands must not
        return os.posix_spawnp(words[0], words, environment, file_actions=files, setpgroup=0, setsigdef=ignored)


def paths_of(output: str) -> tuple[str, str]:
    """The files that a job writes its output and its errors to."""
    return f"{output}.stdout", f"{output}.stderr"


def complain(path: str, flags: int, line: str) -> None:
    """Write a line into the file of errors, unless something else is in its place."""
    try:
        file = os.open(path, flags | os.O_CLOEXEC, 0o666)
    except OSError:
        return
    os.write(file, line.encode("utf-8", "replace"))
    os.close(file)


def remove_empty(path: str) -> None:
    """Remove a file if it is empty. The job may have removed it."""
    try:
        if not os.lstat(path).st_size:
            os.unlink(path)
    except OSError:
        pass


def plain_words(command: str) -> list[str]:
    """The words of a command that needs no shell, or an empty list. A shell takes as long to start as many programs."""
    words = command.split(" ")
    needs_none = PLAIN.issuperset(command) and all(words) and "=" not in words[0] and words[0] not in SHELLS_OWN
    return words if needs_none else []


def kill(process: int, signal: int) -> None:
    """Send a signal to a command and all that it has started. As nobody has reaped it, its number is not reused."""
    try:  # noqa: SIM105 - contextlib is not built in
        os.killpg(process, signal)
    except OSError:
        pass


def wait(process: int, seconds: float) -> bool:
    """Whether a process ends within some seconds. It is not reaped."""
    until = time.monotonic() + seconds
    try:
        descriptor = os.pidfd_open(process)
    except (AttributeError, OSError):  # not on every system
        while os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while (remaining := until - time.monotonic()) > 0:
            if poll.poll(1000 * min(remaining, LONGEST_WAIT)):
                return True
        return bool(poll.poll(0))
    finally:
        os.close(descriptor)


def main(folder: str) -> None:
    """Run the jobs of this folder, unless another leader does or did. Standard input is their lock."""
    try:
        os.mkdir(os.path.join(folder, "started"))
    except OSError:
        return
    path = os.path.join(folder, "pid")
    with open(f"{path}.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{path}.new", path)
    LeaderGroup(folder).run()


def start(folder: str) -> int:
    """Start a leader for the jobs of this folder; return its process, or 0 if their lock is held."""
    lock = os.open(os.path.join(folder, "lock"), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process = os.fork()
    except OSError:
        os.close(lock)
        return 0
    if not process:
        try:
            os.setsid()
            os.dup2(lock, 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            main(folder)
        finally:
            os._exit(0)
    os.close(lock)
    return process


def serve() -> None:
    """Start leaders for the folders on standard input, each followed by a zero byte; print their processes."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    waiting, children = b"", 0
    while True:
        if poll.poll(REAP_SECONDS * 1000 if children else None):
            piece = os.read(0, 1 << 16)
            if not piece:
                return
            waiting += piece
        while children and os.waitpid(-1, os.WNOHANG)[0]:
            children -= 1
        while b"\0" in waiting:
            folder, _, waiting = waiting.partition(b"\0")
            process = start(os.fsdecode(folder))
            children += process > 0
            os.write(1, f"{process}\n".encode())


if __name__ == "__main__":
    serve()
