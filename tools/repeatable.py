"""Archives that are equal byte for byte when they are made again: the same order, owners, modes and times.

With `SOURCE_DATE_EPOCH`, setuptools gives the members of wheels one time. It leaves them the modes that files have by
the builder's umask, and sdists have the builder's times and names, too. The build backend writes both again with this
module, which imports the standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
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


def normalise(archive: Path) -> None:
    """Write an archive again: no owner, modes 644 and 755, and one time if the variable is set; in sdists, by name.

    setuptools has given the members of wheels their order and their times.
    """
    unfinished = archive.with_name(f"{archive.name}.new")
    if archive.suffix == ".whl":
        _normalise_wheel(archive, unfinished)
    else:
        _normalise_sdist(archive, unfinished)
    os.replace(unfinished, archive)


def _normalise_wheel(wheel: Path, unfinished: Path) -> None:
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            plain = zipfile.ZipInfo(member.filename, member.date_time)
            plain.compress_type = zipfile.ZIP_DEFLATED
            plain.create_system = 3  # modes are those of Unix
            mode = 0o755 if member.filename.endswith(COMPILED) or member.external_attr >> 16 & 0o100 else 0o644
            plain.external_attr = (stat.S_IFREG | mode) << 16
            new.writestr(plain, old.read(member))


def _normalise_sdist(sdist: Path, unfinished: Path) -> None:
    chosen = os.environ.get(VARIABLE)
    content = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size = member.type, member.size
            plain.mtime = int(chosen) if chosen else int(member.mtime)
            plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(plain, old.extractfile(member) if member.isfile() else None)
    with (
        unfinished.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=int(chosen) if chosen else 0) as packed,
    ):
        packed.write(content.getvalue())


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
