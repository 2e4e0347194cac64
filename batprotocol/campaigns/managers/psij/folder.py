"""The files of the jobs, in a folder that the nodes share: what is to run, who may run it, and how it went.

The first one that makes the folder `claim` in the folder of a job may run it: the job itself when it begins, or the
resource manager, to prevent that. So a job that was submitted twice runs once. It writes a line into `log` when it
begins and when it ends. This module must not know of PSI/J.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from batprotocol.campaigns.managers.interface import (
    DIRECTORY,
    KILLED,
    LOST,
    NO_DIRECTORY,
    NODES,
    TIME_OVER,
    Request,
    ended,
)
from batprotocol.campaigns.managers.outputs import append_line, content_of, end_of_output, write_file
from batprotocol.campaigns.model import RemoteJob

__all__ = ["JobFolder", "folders"]

UNFINISHED: Final = ".unfinished"
NUMBERS: Final = "${SLURM_JOB_ID:-${PBS_JOBID:-${LSB_JOBID:-${COBALT_JOBID:-}}}}"
"""The batch system's number of the job, in the environment of the job."""


class JobFolder:
    """The folder of a job.

    Args:
        path: the folder.
        request: the job.
    """

    def __init__(self, path: Path, request: Request) -> None:
        self.path = path
        self.request = request
        self.native = _line(path / "native")
        self.began: float | None = None
        self.node: str | None = None
        self.over: tuple[float, str] | None = None  # when, and its status or why it has none

    def write(self) -> None:
        """Write the files of the job, all of them or none."""
        unfinished = self.path.with_name(f"{self.path.name}{UNFINISHED}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        (unfinished / "request.json").write_bytes(msgspec.json.encode(self.request))
        (unfinished / "run.sh").write_bytes(self._script().encode("utf-8", "surrogatepass"))
        unfinished.rename(self.path)

    def remove(self) -> None:
        """Remove the folder. A copy that waits finds no script, and does nothing."""
        gone = self.path.with_name(f"{self.path.name}{UNFINISHED}")
        with suppress(OSError):
            self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def set_native(self, native: str) -> None:
        """Write down the batch system's number of the job."""
        self.native = native
        write_file(self.path / "native", f"{native}\n".encode())

    def claim(self) -> bool:
        """Prevent that the job begins; return whether it had not begun."""
        try:
            (self.path / "claim").mkdir()
        except FileExistsError:
            return False
        return True

    @property
    def is_claimed(self) -> bool:
        """Whether the job has begun, or never will."""
        return (self.path / "claim").is_dir()

    @property
    def is_doomed(self) -> bool:
        """Whether it is to be killed."""
        return (self.path / "kill").exists()

    def doom(self) -> None:
        """Record that it is to be killed."""
        write_file(self.path / "kill", b"")

    def end(self, why: str) -> None:
        """Record an end that the job did not record."""
        append_line(self.path / "log", f"end {time.time():.0f} {why}")
        self.read()

    def read(self) -> None:
        """Read the log."""
        with suppress(OSError):
            for line in content_of(self.path / "log").decode("utf-8", "replace").splitlines():
                word, at, *rest = [*line.split(" "), "", ""]
                with suppress(ValueError):
                    if word == "begin":
                        self.began, self.node = float(at), rest[0] or None
                        self.native = rest[1] or self.native  # that of the copy that runs
                    elif word == "end" and self.over is None:
                        self.over = float(at), rest[0]

    def ended(self) -> RemoteJob:
        """The job, when it has ended."""
        assert self.over is not None
        at, why = self.over
        blamed = {"directory": NO_DIRECTORY, "killed": KILLED, "late": TIME_OVER}.get(why)
        status = int(why) if why.isdecimal() and len(why) < 4 else None
        if status not in (None, 0) and self.is_doomed:
            status, blamed = None, KILLED
        return ended(
            self.request.job,
            exit_code=None if status is None else status << 8,
            because=blamed or (LOST if status is None else None),
            start_time=self.began,
            stop_time=at,
            remote_id=self.native or None,
            node=self.node,
            output="" if status == 0 else end_of_output(self.path / "out"),
            errors="" if status == 0 else end_of_output(self.path / "err"),
        )

    def _script(self) -> str:
        request, here = self.request, shlex.quote(str(self.path))
        home, rest = _home(request.directory)
        known = {DIRECTORY: '"$PWD"', NODES: '"${PSIJ_NODEFILE:-}"'}
        exports = [
            f"export {name}={known.get(value) or shlex.quote(value)}" for name, value in request.environment.items()
        ]
        return "\n".join(
            (
                f"here={here}",
                'mkdir "$here/claim" 2>/dev/null || exit 0',
                f'cd {home}{shlex.quote(rest)} || {{ echo "end $(date +%s) directory" >>"$here/log"; exit 0; }}',
                f'echo "begin $(date +%s) $(hostname) {NUMBERS}" >>"$here/log"',
                *exports,
                f'sh -c {shlex.quote(request.command)} </dev/null >"$here/out" 2>"$here/err"',
                'echo "end $(date +%s) $?" >>"$here/log"',
                "",
            )
        )


def folders(place: Path) -> Iterator[JobFolder]:
    """The folders of all jobs. Folders that were being made or removed are removed."""
    for path in place.iterdir():
        if path.suffix == UNFINISHED:
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            yield JobFolder(path, msgspec.json.decode(content_of(path / "request.json"), type=Request))


def _home(directory: str) -> tuple[str, str]:
    """The words of the shell for the home directory if a path begins with it, and the rest of the path."""
    for home in ("$HOME", "~"):
        if directory == home or directory.startswith(f"{home}/"):
            return '"$HOME"', directory[len(home) :]
    return "", directory


def _line(path: Path) -> str:
    try:
        return content_of(path).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""
