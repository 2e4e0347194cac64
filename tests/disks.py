"""Disks that are full: a file system of some kilobytes where one can be mounted, and a limit to files everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

__all__ = ["kinds", "small_disk"]


def kinds() -> list[str]:
    """What kinds of small disks there can be here."""
    return ["limit", "mounted"] if _can_mount() else ["limit"]


@contextmanager
def small_disk(kind: str, folder: Path, size: int) -> Iterator[Path]:
    """A folder in which a file can have so many bytes, and all files together where it is mounted.

    Args:
        kind: "mounted" is a file system of its own, "limit" what the system allows this process and those it starts.
        folder: where it is made.
        size: in bytes, a multiple of 4096.
    """
    folder = Path(tempfile.mkdtemp(dir=folder))
    if kind == "mounted":
        _mount(folder, size)
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)
        return
    import resource  # not every system has it

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield folder
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _mount(folder: Path, size: int) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", os.fspath(folder)]
    subprocess.run(command, check=True, capture_output=True)


@cache
def _can_mount() -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk("mounted", Path(folder), 4096):
                return True
        except subprocess.CalledProcessError:
            return False
