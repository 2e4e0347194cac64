"""Messages as bytes from command line arguments: files, folders, standard input, archives of recorded runs.

A file that cannot be read becomes a `Found` with a fault, at its place in the order. So one bad file does not hide the
others. Only one message of an archive is in memory at a time. `jobs_file` finds out whether a path holds a table of
jobs or messages.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Final, NamedTuple

from batprotocol._util.files import reason_of
from batprotocol.edc.recording import METADATA, UNFINISHED
from batprotocol.edc.recording.names import MCAP, MCAP_MAGIC, MOST, NOT_FINISHED, SIDES, TWINS
from batprotocol.edc.recording.unpacked import MAGIC, ArchiveError, Listing, Member, chosen, in_order, listed
from batprotocol.errors import CaptureError, PackageMissing

__all__ = [
    "ARCHIVES",
    "JOBS",
    "LINES",
    "NEEDED",
    "RECORDINGS",
    "Found",
    "expanded",
    "is_recording",
    "is_result",
    "is_unfinished",
    "jobs_file",
    "listing_of",
    "messages",
    "others",
    "single",
]

LARGEST = 2**28
"""The maximum size of a file to read, 256 MiB: a thousand times the largest message of a platform of 512 hosts."""
TOO_LARGE = f"is larger than the limit for a message, {LARGEST:,} bytes"

CHUNK = 2**18

COMPRESSED = (".tar.xz", ".txz", ".tar.gz", ".tgz")
ARCHIVES = (*COMPRESSED, ".tar")
RECORDINGS = (*ARCHIVES, MCAP)
"""The endings of files that hold a whole run."""
LINES = ".jsonl"
"""The ending of a file with a message in each line."""
LINES_BEGIN = (b'{"tst":', b'{"topic":')
"""The first bytes of a file with a message in each line: the time of the first message, or its topic."""
MESSAGES = (".bin", ".json", ".fb")
PATTERNS = ", ".join("*" + suffix for suffix in MESSAGES)

RESULTS = ("schedule.json", "real_exec_info.json")
"""The result files of Batsim that are JSON. Their names may have a prefix: `out_schedule.json`."""
NO_MESSAGES = (METADATA, "run.json", "redis.json", *RESULTS)
"""The files of a recorded run that are not messages: its metadata, the contents of Redis, and its results."""

HEAD = 512
"""The number of bytes that identify the kind of a file."""
ZEROS = 2**14
"""More zeros than tar writes at the end of an archive."""


class Found(NamedTuple):
    """A message, or a file that could not be read.

    Attributes:
        file: the number of its file. All members of an archive have the same file.
        path: the name of its file for the user.
        name: its own name for the user: `path`, or for the member of an archive `run.tar.xz/00004-b2e.bin`.
        data: its bytes.
        fault: the reason why it could not be read, as one sentence, or "".
        share: the part of all files that has been read up to here, in [0,1].
        remark: a remark about the file, with its first message, as a part of a sentence, or "".
    """

    file: int
    path: str
    name: str
    data: bytes = b""
    fault: str = ""
    share: float = 1.0
    remark: str = ""


def messages(arguments: Sequence[str], listing: Listing | None = None) -> Iterator[Found]:
    """All messages that these arguments name, in order.

    A directory stands for its message files and those of its folders, and an archive for its message files, both by
    name. `run.tar.xz/00004-b2e.bin` is that member alone, `run.jsonl/5` the fifth line, and `-` is standard input.

    Args:
        arguments: the files.
        listing: the members of the only argument, where that is an archive, to save the time of listing them again.
    """
    files = [entry for argument in arguments for entry in expanded(argument)]
    sizes = [_size(file.path) for file in files]
    done, all_of_it = 0, sum(sizes)
    for number, (file, size) in enumerate(zip(files, sizes, strict=True)):
        path, remark = _name(file.path), NOT_FINISHED if is_unfinished(file.path) else ""
        for found in [file] if file.fault else _read(file.path, listing):
            share = (done + size * found.share) / all_of_it
            yield Found(number, path, found.name, found.data, found.fault, share, remark)
            remark = ""
        done += size


def is_recording(path: str) -> bool:
    """Whether the path is a folder, an archive or an MCAP, which can hold several messages."""
    if path == "-" or not os.path.isfile(path):
        return os.path.isdir(path)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.startswith(MCAP_MAGIC) or _is_archive(head)


def is_result(path: str) -> bool:
    """Whether a file, by its name, is a JSON result file of Batsim, or a file of a run in a store."""
    name = os.path.basename(path)
    return name in NO_MESSAGES or name.endswith(tuple(f"_{each}" for each in RESULTS))


def is_unfinished(path: str) -> bool:
    """Whether the program that recorded a file ended before the recording was complete, judged by its size and end.

    Args:
        path: the file. The result is False for a pipe, and for a file that cannot be read.
    """
    try:
        if not os.path.isfile(path):
            return False
        if os.path.basename(path) == UNFINISHED:
            return True
        with open(path, "rb") as file:
            head = file.read(HEAD)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - ZEROS))
            tail = file.read()
    except OSError:
        return False
    if head.startswith(MCAP_MAGIC):
        return not tail.endswith(MCAP_MAGIC)
    is_plain = head[257:].startswith(b"ustar")
    return is_plain and (path.endswith(COMPRESSED) or (size > ZEROS and not any(tail)))


def listing_of(path: str) -> Listing | None:
    """The members of an archive. None if the file is not an archive, or cannot be read twice."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(HEAD)
        return listed(file) if path.endswith(ARCHIVES) or _is_archive(head) else None


def others(path: str, listing: Listing | None = None) -> Iterator[Found]:
    """The files of a recorded run that are not messages, by name: its metadata, its results, its twins.

    Args:
        path: an archive or a folder.
        listing: the members of the archive, to save the time of listing them again.
    """
    if os.path.isdir(path):
        for each in sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names):
            name = os.path.relpath(each, path).replace(os.sep, "/")
            if not _is_message(name) and name != UNFINISHED and not name.endswith((*RECORDINGS, LINES)):
                with open(each, "rb") as opened:
                    yield Found(0, path, name, opened.read(LARGEST))
        return
    with _opened(path) as file:
        for found in chosen(file, _is_other, listing):
            if isinstance(found, Member):
                member = _read_member("", found)._replace(path=path, name=found.name)
                yield member if found.size else member._replace(fault="")  # a file may be empty, a message may not


def single(argument: str) -> Found:
    """The single message that an argument names."""
    found = list(islice(messages([argument]), 2))
    if len(found) > 1:
        return _fault(argument, "holds several messages: name one of them")
    return found[0]


def expanded(argument: str) -> list[Found]:
    """The files of an argument, without their data: the file itself, or those of a directory."""
    if not os.path.isdir(argument):
        return [Found(0, argument, argument)]
    files: list[Found] = []

    def unreadable(error: OSError) -> None:
        files.append(_fault(str(error.filename), reason_of(error)))

    for folder, folders, names in os.walk(argument, onerror=unreadable):
        folders[:] = [name for name in folders if name != TWINS and not name.startswith(".")]
        if UNFINISHED in names:  # it contains the other messages in the folder
            names = [UNFINISHED]
        several = (*RECORDINGS, LINES)
        paths = [os.path.join(folder, name) for name in names if name.endswith(several) or _is_message(name)]
        files += [Found(0, path, path) for path in paths]
    files.sort(key=lambda file: in_order(file.path))
    return files or [_fault(argument, f"holds no message files ({PATTERNS}, *.tar.xz)")]


def _size(path: str) -> int:
    """An estimate of the work to read a file."""
    try:
        return os.path.getsize(path) + 1
    except OSError:
        return 1


def _is_message(name: str) -> bool:
    """Whether a file of a directory or an archive, by its name alone, should be a message."""
    if not name.endswith(MESSAGES):
        return False
    *folders, own = name.split("/")
    return own[0] != "." and own not in NO_MESSAGES and TWINS not in folders


def _is_other(name: str) -> bool:
    return not _is_message(name)


def _is_archive(head: bytes) -> bool:
    """Whether a file that begins with these bytes is an archive."""
    return any(head.startswith(magic, start) for start, magic in MAGIC)


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _fault(name: str, fault: str) -> Found:
    return Found(0, name, name, fault=fault)


def _read(path: str, listing: Listing | None) -> Iterator[Found]:
    """The messages of one file."""
    file_path, member = _archive_and_member(path)
    name = _name(file_path)
    try:
        with _opened(file_path) as file:
            head = file.read(HEAD)
            file.seek(0)
            if head.startswith(MCAP_MAGIC):
                yield from _read_mcap(name, file, member)
            elif name.endswith(ARCHIVES) or _is_archive(head):
                yield from _read_archive(name, file, member, listing)
            elif name.endswith(LINES) or head.startswith(LINES_BEGIN):
                yield from _read_lines(name, file, member)
            else:
                yield _read_message(name, file)
    except OSError as error:
        yield _fault(name, reason_of(error))


def _archive_and_member(path: str) -> tuple[str, str]:
    """The archive and the member in `run.tar.xz/00004-b2e.bin`. For a file, the path itself and ""."""
    if path != "-" and not os.path.exists(path):
        parts = path.split("/")
        for end in range(len(parts) - 1, 0, -1):
            archive = "/".join(parts[:end])
            if archive.endswith((*RECORDINGS, LINES)) and os.path.isfile(archive):
                return archive, "/".join(parts[end:])
    return path, ""


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """The file, with support for seeking. A pipe is read to its end first."""
    if path == "-":
        if sys.stdin is None:
            raise OSError("it is closed")
        yield _kept(sys.stdin.buffer)
        return
    with open(path, "rb") as file:
        yield file if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else _kept(file)


def _kept(file: IO[bytes]) -> IO[bytes]:
    """The data of a pipe or a device, up to a little more than the limit."""
    kept = io.BytesIO()
    while kept.tell() <= LARGEST and (chunk := file.read(CHUNK)):
        kept.write(chunk)
    kept.seek(0)
    return kept


def _read_message(name: str, file: IO[bytes]) -> Found:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    data = file.read(LARGEST + 1) if size <= LARGEST else b""
    return _found(name, max(size, len(data)), data)


def _found(name: str, size: int, data: bytes) -> Found:
    if size > LARGEST:
        return _fault(name, TOO_LARGE)
    return Found(0, name, name, data) if data else _fault(name, "is empty")


# Files with a message in each line


def _read_lines(name: str, file: IO[bytes], wanted: str) -> Iterator[Found]:
    """The messages of a file with one in each line, or the message in the wanted line. Empty lines are skipped."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    several = False
    number = 0
    while line := file.readline(LARGEST + 1):
        number += 1
        if line.strip() and wanted in ("", str(number)):
            several = True
            yield _found(f"{name}/{number}", len(line), line)._replace(share=file.tell() / size)
        if len(line) > LARGEST:
            break
    if not several:
        yield _fault(name, f"has no line {wanted}" if wanted else "is empty")


# MCAP


def _read_mcap(name: str, file: IO[bytes], wanted: str) -> Iterator[Found]:
    """The messages of an MCAP, or the wanted one. Their names are those of members of an archive."""
    try:
        from batprotocol.edc.recording.mcap_reader import McapFile  # which needs an extra

        kept = McapFile(name, file)
    except (CaptureError, PackageMissing) as error:
        yield _fault(name, error.reason if isinstance(error, CaptureError) else str(error))
        return
    several = False
    for _, entry in kept.entries(0, MOST):
        if wanted in ("", entry.name):
            several = True
            yield _found(f"{name}/{entry.name}", len(entry.data), entry.data)._replace(share=kept.share)
    if kept.fault or not several:
        yield _fault(name, kept.fault or (f"has no message {wanted}" if wanted else "holds no messages"))


# Archives


def _read_archive(name: str, file: IO[bytes], wanted: str, listing: Listing | None) -> Iterator[Found]:
    """The messages of an archive, in the order of their names, or the wanted one."""
    count = number = 0
    fault = ""
    for found in chosen(file, wanted.__eq__ if wanted else _is_message, listing):
        if isinstance(found, Member):
            number += 1
            yield _read_member(name, found, number / count)
        elif isinstance(found, ArchiveError):
            fault = str(found)
        else:
            count = found
    if fault or not count:
        yield _fault(name, fault or (f"has no member {wanted}" if wanted else f"holds no messages ({PATTERNS})"))


def _read_member(archive: str, member: Member, share: float = 1.0) -> Found:
    name = f"{archive}/{member.name}"
    if member.size > LARGEST:
        return Found(0, name, name, fault=TOO_LARGE, share=share)
    try:
        data = b"".join(member.content())
    except ArchiveError as error:
        return Found(0, name, name, fault=str(error), share=share)
    return Found(0, name, name, data, "" if data else "is empty", share)


# Whether a path holds a table of jobs or messages, by its content, or else by its name


JOBS: Final = "jobs.csv"
"""Batsim's name for its table of jobs, after a prefix."""
NEEDED: Final = "a recording (.mcap, .tar.xz, .tar or a folder of messages), or a folder with jobs.csv, or that file"
"""A description of the files that hold a run."""

_COLUMN: Final = b"job_id"
_BINARY: Final = {
    b"SQLite format 3\0": "is a database, such as the index of a store: name one of its runs, STORE?AXIS=VALUE&...",
    b"PAR1": "is a Parquet file: name its run, STORE?AXIS=VALUE&..., or its folder",
}


def jobs_file(path: str | os.PathLike[str]) -> str | None:
    """The table of jobs that a path names: the file, or the one in a folder of result files. None: it holds messages.

    A folder with both, such as a recording with its result, counts as messages.

    Raises:
        CaptureError: the path holds neither, or several tables.
        OSError: the path cannot be read.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out_jobs.csv")
    ...     _ = path.write_text("job_id,submission_time")
    ...     print(jobs_file(folder) == jobs_file(path) == str(path))
    True
    """
    given = os.fspath(path)
    return _in_folder(given) if os.path.isdir(given) else _of_file(given)


def _in_folder(folder: str) -> str | None:
    names = os.listdir(folder)
    if UNFINISHED in names or any(f"-{side}." in name for name in names for side in SIDES):
        return None
    if JOBS in names:
        return os.path.join(folder, JOBS)
    tables = sorted(name for name in names if name.endswith(f"_{JOBS}"))
    if len(tables) > 1:
        raise CaptureError(f"holds the results of several runs: name one of them, such as {tables[0]}", folder)
    if tables:
        return os.path.join(folder, tables[0])
    if all(found.fault or is_result(found.path) for found in expanded(folder)):
        raise CaptureError(f"holds no run: neither messages nor {JOBS}", folder)
    return None


def _of_file(path: str) -> str | None:
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if head.startswith((MCAP_MAGIC, *LINES_BEGIN)) or path.endswith((*RECORDINGS, LINES)):
        return None
    if any(head.startswith(magic, start) for start, magic in MAGIC):
        return None
    for magic, reason in _BINARY.items():
        if head.startswith(magic):
            raise CaptureError(reason, path)
    if path.lower().endswith(".csv") or _COLUMN in head.split(b"\n", 1)[0].strip(b'\r"\xef\xbb\xbf').split(b","):
        return path
    if not head:
        raise CaptureError("is empty", path)
    if is_result(path):
        raise CaptureError(f"has no data about single jobs: name its folder, or the {JOBS} in it", path)
    return None
