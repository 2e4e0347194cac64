"""Archives that are equal byte for byte when they are made again: the same order, owners, modes and times.

setuptools writes wheels so if `SOURCE_DATE_EPOCH` is set, and sdists never. The build backend makes its sdists again
with this module, which imports the standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["COMPILED", "VARIABLE", "differences", "normalise"]

VARIABLE: Final = "SOURCE_DATE_EPOCH"
"""The variable with the time of a release, in seconds since 1970: https://reproducible-builds.org/specs/"""

COMPILED: Final = (".so", ".pyd", ".so.0", ".dylib")
"""The ends of the names of files that a compiler writes."""


def normalise(sdist: Path) -> None:
    """Write a `.tar.gz` again: members by name, no owner, modes 644 and 755, and one time if the variable is set."""
    chosen = os.environ.get(VARIABLE)
    content = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size = member.type, member.size
            plain.mtime = int(chosen) if chosen else int(member.mtime)
            plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(plain, old.extractfile(member) if member.isfile() else None)
    unfinished = sdist.with_name(f"{sdist.name}.new")
    with (
        unfinished.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=int(chosen) if chosen else 0) as packed,
    ):
        packed.write(content.getvalue())
    os.replace(unfinished, sdist)


def differences(one: Path, other: Path) -> list[str]:
    """The names of the members that differ between two wheels or two sdists; [] if the archives are equal.

    The list has "(the archive itself)" if all members are equal, and the archives are not.
    """
    if one.read_bytes() == other.read_bytes():
        return []
    ours, theirs = dict(_members(one)), dict(_members(other))
    return sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name)) or ["(the archive itself)"]


def _members(path: Path) -> Iterator[tuple[str, str]]:
    """The name of each file, and a digest of what it has."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            yield from ((name, hashlib.sha256(archive.read(name)).hexdigest()) for name in archive.namelist())
        return
    with tarfile.open(path) as packed:
        for member in packed.getmembers():
            file = packed.extractfile(member) if member.isfile() else None
            digest = hashlib.sha256(file.read()).hexdigest() if file else ""
            yield member.name, f"{member.mtime} {member.mode} {member.uname} {digest}"
