"""The folder of the jobs on the cluster, which keeps what Slurm forgets: who is in which array, begins and ends.

A batch is an array of Slurm. It has a folder of its own, written whole or not at all:

    about.json      how it is submitted
    jobs            a line for each element of the array: its index, and its jobs with their walltimes
    plan.INDEX      what an element runs, for the shell
    claims/JOB      made by the element that runs the job, or by who kills it before: whoever makes it first
    log.INDEX       the begins and ends of the jobs of an element
    log             what the loop has to say: the id of the array, jobs that were killed or forgotten

The module must not know Slurm.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from batprotocol.campaigns.managers.interface import KEPT_BYTES
from batprotocol.campaigns.model.record import Record
from batprotocol.sites.slurm.client import CommandRunner, SlurmError

__all__ = ["About", "Folder", "Lines", "NewBatch"]

_OPEN: Final = """
folder=$1
case $folder in "~/"*) folder=$HOME/${folder#"~/"} ;; esac
umask 077
mkdir -p "$folder/$2/new" "$folder/$2/output" && cd "$folder/$2" && rm -rf new/* && pwd -P
"""

_WRITE: Final = 'cd "$1/new" && rm -rf "$2" && mkdir "$2" && tar -xf - -C "$2" && mkdir "$2/claims" && mv "$2" ..'

_READ: Final = r"""
cd "$1" && find . -path ./new -prune -o -path ./output -prune -o -name claims -prune -o \
    -type f '(' -name jobs -o -name 'log*' -o -name about.json ')' -exec grep -H '' '{}' +
"""

_CLAIM: Final = r"""
cd "$1" || exit
while read -r batch job; do
    if mkdir "$batch/claims/$job"; then
        echo "killed $job" >>"$batch/log"
    elif [ -d "$batch" ]; then
        : >"$batch/claims/$job/kill"
    fi 2>/dev/null
done
exit 0
"""

_NOTE: Final = """
cd "$1" || exit
while read -r batch line; do
    [ ! -d "$batch" ] || printf '%s\\n' "$line" >>"$batch/log"
done
"""

_TAILS: Final = r"""
cd "$1/output" || exit
while read -r job; do
    for kind in stdout stderr; do
        [ -f "$job.$kind" ] && [ ! -L "$job.$kind" ] || continue # a job may have made a link
        size=$(($(wc -c <"$job.$kind")))
        kept=$((size < $2 ? size : $2))
        printf '%s %s %s %s\n' "$job" "$kind" "$size" "$kept"
        tail -c "$kept" "$job.$kind"
    done
done
"""

_REMOVE: Final = 'cd "$1" && while read -r batch; do mv "$batch" "new/$batch" && rm -rf "new/$batch"; done; exit 0'

_NAME: Final = re.compile(r"b[0-9]{1,19}")


class About(Record, frozen=True, kw_only=True):
    """How a batch is submitted.

    Args:
        size: the size of the array.
        minutes: the time limit of each element.
        weight: how many resources each element has.
        constraint: the features that its nodes must have.
        comment: the comment of its jobs.
    """

    size: int
    minutes: int
    weight: int
    constraint: str = ""
    comment: str = ""


class NewBatch(NamedTuple):
    """A batch to write: its name, how it is submitted, and for each element the line of `jobs` and the plan."""

    name: str
    about: About
    elements: list[tuple[str, str]]
    refused: Mapping[int, str]
    """The jobs that are not submitted, and why."""


class Lines(NamedTuple):
    """The lines of a batch.

    Attributes:
        about: how it is submitted.
        jobs: the jobs of each element with their walltimes, in their order.
        said: the lines of all logs, as words.
    """

    about: About
    jobs: dict[int, dict[int, float]]
    said: list[list[str]]


class Folder:
    """The folder of the jobs of one store of campaigns. All methods raise `SlurmError`.

    Args:
        runner: runs commands where the folder is.
        path: the folder on the cluster.
        mark: the name of the folder in it.
        timeout: how many seconds a command may take.
    """

    def __init__(self, runner: CommandRunner, path: str, mark: str, timeout: float) -> None:
        self._runner = runner
        self._timeout = timeout
        self.path = self._sh(_OPEN, path, mark).strip()
        if not self.path.startswith("/"):
            raise SlurmError(f"expected the path of the folder {path!r}, got {self.path[:60]!r}")

    def batch(self, name: str) -> str:
        """The path of a batch."""
        return f"{self.path}/{name}"

    def write(self, batch: NewBatch, prologue: str) -> None:
        """Write a batch and the user's prologue for it, all or nothing."""
        lines = "".join(line for line, _ in batch.elements)
        said = "".join(f"refused {job} {' '.join(why.split())}\n" for job, why in batch.refused.items())
        files = {
            "about.json": msgspec.json.encode(batch.about).decode(),
            "jobs": lines,
            "log": said,
            "prologue": prologue,
        }
        files |= {f"plan.{index}": plan for index, (_, plan) in enumerate(batch.elements)}
        self._sh(_WRITE, self.path, batch.name, given=_archive(files))

    def read(self) -> dict[str, Lines]:
        """All batches."""
        found: dict[str, dict[str, list[str]]] = {}
        for line in self._sh(_READ, self.path).split("\n"):
            path, _, text = line.partition(":")
            _, _, path = path.partition("/")
            batch, _, file = path.partition("/")
            if _NAME.fullmatch(batch) and file:
                found.setdefault(batch, {}).setdefault(file, []).append(text)
        return {name: lines for name, files in found.items() if (lines := _lines(files)) is not None}

    def claim(self, jobs: Iterable[tuple[str, int]]) -> None:
        """Claim jobs by batch and number, so that they never begin; or mark those that have begun."""
        self._sh(_CLAIM, self.path, given="".join(f"{batch} {job}\n" for batch, job in jobs).encode())

    def note(self, lines: Iterable[tuple[str, str]]) -> None:
        """Add lines to the logs of batches."""
        given = "".join(f"{batch} {line}\n" for batch, line in lines)
        if given:
            self._sh(_NOTE, self.path, given=given.encode())

    def tails(self, jobs: Iterable[int]) -> dict[int, dict[str, tuple[bytes, bool]]]:
        """The ends of the outputs of jobs, and whether they are whole, by `stdout` and `stderr`."""
        given = "".join(f"{job}\n" for job in jobs)
        printed = self._raw(_TAILS, self.path, str(KEPT_BYTES), given=given.encode()) if given else b""
        found: dict[int, dict[str, tuple[bytes, bool]]] = {}
        while printed:
            line, _, printed = printed.partition(b"\n")
            try:
                job, kind, size, kept = line.decode().split()
                found.setdefault(int(job), {})[kind] = printed[: int(kept)], int(size) <= KEPT_BYTES
                printed = printed[int(kept) :]
            except ValueError:
                break
        return found

    def remove(self, batches: Iterable[str]) -> None:
        """Remove batches."""
        given = "".join(f"{batch}\n" for batch in batches)
        if given:
            self._sh(_REMOVE, self.path, given=given.encode())

    def _sh(self, script: str, *words: str, given: bytes = b"") -> str:
        return self._raw(script, *words, given=given).decode("utf-8", "replace")

    def _raw(self, script: str, *words: str, given: bytes = b"") -> bytes:
        return self._runner.run(["sh", "-c", script, "sh", *words], given, timeout=self._timeout)


def _archive(files: Mapping[str, str]) -> bytes:
    """The files as the bytes of a tar archive."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in files.items():
            data = text.encode("utf-8", "surrogateescape")
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o600
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _lines(files: Mapping[str, list[str]]) -> Lines | None:
    """The lines of a batch, or None if the batch is incomplete, as it is being removed."""
    try:
        about = msgspec.json.decode(files["about.json"][0], type=About)
        jobs = dict(map(_element, files["jobs"]))
    except (KeyError, IndexError, ValueError, msgspec.DecodeError):
        return None
    return Lines(about, jobs, [*_words(files)])


def _element(line: str) -> tuple[int, dict[int, float]]:
    index, *jobs = line.split()
    pairs = (job.partition(":") for job in jobs)
    return int(index), {int(job): float(walltime) for job, _, walltime in pairs}


def _words(files: Mapping[str, list[str]]) -> Iterator[list[str]]:
    for name, lines in files.items():
        if name.startswith("log"):
            yield from (words for line in lines if len(words := line.split(" ", 3)) > 1)
