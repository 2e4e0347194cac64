"""Schedulers inside another program: the host in C that stands for Batsim, and playing conversations through it."""

from __future__ import annotations

import atexit
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import BINARY, ENVIRONMENT
from replay import PATIENCE, batsim_side
from servers import missing
from support import ROOT

from batprotocol.edc.embedded import options
from batprotocol.errors import SchedulerError

__all__ = [
    "SOURCES",
    "Played",
    "compiled",
    "compiler",
    "host",
    "library_with",
    "needs_host",
    "needs_sanitizers",
    "packed",
    "play",
    "recorded_batsim",
    "unpacked",
]

SOURCES = sorted((ROOT / "batprotocol" / "edc" / "embedded").glob("*.c"))
HOST = ROOT / "tests" / "edc" / "host.c"
FAILED = 3
"""What the host exits with when a function of the library fails."""

_SIZE = struct.Struct("<I")


def compiler() -> list[str] | None:
    """The C compiler, None where there is none."""
    for command in (sysconfig.get_config_var("CC") or "", "cc", "gcc"):
        if command and shutil.which(command.split()[0]):
            return str(command).split()
    return None


def _missing() -> str:
    """What keeps schedulers from running inside other programs here, as a sentence; "" if nothing does."""
    if compiler() is None:
        return missing("cc")  # the host that stands for Batsim is written in C
    try:
        options.library()
        options.carried(f"{ROOT}/examples/fcfs.py:FCFS")
    except SchedulerError as error:
        return str(error)
    return ""


needs_host = pytest.mark.skipif(bool(_missing()), reason=_missing())


def _has_sanitizers() -> bool:
    found = compiler()
    try:
        import resource
    except ImportError:  # nor are there sanitizers
        return False
    # What AddressSanitizer keeps beside the memory takes terabytes of addresses.
    if found is None or resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return False
    libraries = [[*found, f"-print-file-name={name}"] for name in ("libasan.so", "libubsan.so")]
    return all("/" in subprocess.run(each, capture_output=True, text=True, check=False).stdout for each in libraries)


needs_sanitizers = pytest.mark.skipif(
    not _has_sanitizers(), reason="there are no sanitizers here, or too few addresses for them"
)


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="batprotocol-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def compiled(name: str, sources: tuple[Path, ...], *flags: str) -> Path:
    """A program or library of these sources."""
    made = _folder() / name
    found = compiler()
    assert found is not None, "there is no C compiler"
    command = [*found, "-O1", "-g", "-Wall", "-Wextra", "-Werror", *flags, "-o", str(made), *map(str, sources)]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return made


def host() -> Path:
    """The host, compiled once."""
    return compiled("host", (HOST,))


def library_with(*flags: str) -> Path:
    """The library for Batsim, compiled with these flags."""
    name = "".join(("library", *flags)).replace("=", "-") + ".so"
    return compiled(name, tuple(SOURCES), "-shared", "-fPIC", "-fvisibility=hidden", *flags)


class Played(NamedTuple):
    """How a conversation went: the exit status, what the scheduler answered, and what was printed."""

    status: int
    replies: list[bytes]
    stdout: str
    stderr: str


def packed(frames: Iterable[bytes]) -> bytes:
    """Frames, each behind its size."""
    return b"".join(_SIZE.pack(len(frame)) + frame for frame in frames)


def unpacked(data: bytes) -> list[bytes]:
    """The frames of `packed`."""
    frames = []
    at = 0
    while at < len(data):
        (size,) = _SIZE.unpack_from(data, at)
        frames.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return frames


class Stage(NamedTuple):
    """What a host is started with."""

    command: list[str]
    replies: Path


def staged(
    folder: Path,
    target: str,
    told: Sequence[bytes],
    *arguments: str,
    library: Path | None = None,
    program: Path | None = None,
    data: str | None = None,
    **options_of: str | bool,
) -> Stage:
    """Write what is to be said, and tell how to start the host."""
    if data is None:
        data = options.carried(target, **options_of)  # type: ignore[arg-type]  # as they are named
    messages, replies = folder / "messages", folder / "replies"
    messages.write_bytes(packed(told))
    paths = [str(library or options.library()), data, str(messages), str(replies)]
    return Stage([str(program or host()), *arguments, *paths], replies)


def play(
    folder: Path,
    target: str,
    told: Sequence[bytes],
    *arguments: str,
    environment: dict[str, str] | None = None,
    **staging: object,
) -> Played:
    """Play what Batsim says, without the initialization data, through a scheduler in the host's process."""
    stage = staged(folder, target, told, *arguments, **staging)  # type: ignore[arg-type]
    done = subprocess.run(
        stage.command, env=environment or ENVIRONMENT, capture_output=True, check=False, timeout=PATIENCE, cwd=folder
    )
    replies = unpacked(stage.replies.read_bytes()) if stage.replies.exists() else []
    # What a scheduler prints is UTF-8 in these tests, but what the system prints of it may be cut anywhere.
    text = [each.decode(errors="replace") for each in (done.stdout, done.stderr)]
    return Played(done.returncode, replies, text[0], text[1])


# The host as a command that takes Batsim's options.
_BATSIM = """
import os, sys
host, folder, *arguments = sys.argv[1:]
at = arguments.index("--edc-library-str")
os.execv(host, [host, *arguments[:at], *arguments[at + 1 : at + 3], folder + "/messages", folder + "/replies"])
"""


def recorded_batsim(folder: Path) -> list[str]:
    """A command that stands for Batsim: it plays a recorded run, with files in this folder."""
    (folder / "messages").write_bytes(packed(batsim_side(Path(BINARY))[1:]))
    (folder / "batsim.py").write_text(_BATSIM)
    return [sys.executable, str(folder / "batsim.py"), str(host()), str(folder)]
