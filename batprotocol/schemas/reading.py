"""Read schemas from files (`.bfbs`, which flatc writes; `.fbs`, if flatc is installed; descriptions), or by age."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from batprotocol._schema.description import SCHEMA
from batprotocol.errors import InputError
from batprotocol.schemas.describing import applied
from batprotocol.schemas.places import literals_of
from batprotocol.wire.reflection import Schema, read_reflection

__all__ = ["AGES", "TODAY", "age", "ages", "read_schema"]

TODAY: Final = "2026-06"
"""The age of this library's own schema, that of Batsim 5.0.0-rc2."""

AGES: Final = ("2021-10", "2022-01", "2023-07-18", "2023-07-20", "2024-10", TODAY)
"""The known ages, named by the time at which each schema was public, the oldest first."""

LARGEST: Final = 2**24
"""The maximum size of a schema, 16 MiB. The library's own has 40 KiB."""


@cache
def age(name: str) -> Schema:
    """The schema of one of the `AGES`.

    Raises:
        InputError: there is no such age.
    """
    if name == TODAY:
        today: Schema = SCHEMA
        return today
    if name not in AGES:
        raise InputError(f"there is no age {name}: use {', '.join(AGES)}, or a file")
    from importlib.resources import files  # which takes longer to import than everything else here

    text = files("batprotocol.schemas").joinpath(f"ages/{name}.txt").read_text(encoding="utf-8")
    return applied(text, age(AGES[AGES.index(name) + 1]), f"the age {name}")


def ages() -> dict[str, Schema]:
    """All known ages by name, the oldest first."""
    return {name: age(name) for name in AGES}


def read_schema(
    source: str | os.PathLike[str],
    *,
    whole: bool = False,
    include: Sequence[str | os.PathLike[str]] = (),
    root: str = "",
) -> Schema:
    """A schema by the name of its age, or from a file.

    Args:
        source: one of the `AGES`, or a file: `.bfbs`, a reflection schema; `.fbs`, for which flatc must be installed;
            `.txt`, the differences from this library's schema (see `batprotocol.schemas.describing`).
        whole: also read what a `Codec` does not write: vectors of unions, unions of anything except tables, offsets and
            sizes of 64 bits, and schemas without a root type. `differences` and `dissector` take such a schema.
        include: folders in which flatc looks for the files that an `.fbs` includes, as its `-I`. It looks there first,
            and then beside the file.
        root: the table of a message, with or without its namespace, in place of the `root_type`.

    `notes` of the schema are sentences about parts that were not read: those of a newer flatc, and defaults that a
    `.bfbs` does not have.

    Raises:
        InputError: it cannot be read, or it is not a schema of messages.
    """
    path = os.fspath(source)
    if root and (path in AGES or path.endswith(".txt")):
        raise InputError(f"a root type is for .fbs and .bfbs files, and {path} has its own")
    if path in AGES:
        return age(path)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        known = "" if os.path.dirname(path) or "." in path else f"; known ages are {', '.join(AGES)}"
        raise InputError(f"{error.strerror}{known}", file=path) from None
    if len(data) > LARGEST:
        raise InputError(f"a schema has at most {LARGEST:,} bytes", file=path)
    literals = None
    if path.endswith(".fbs"):
        data = _compiled(Path(path), include)
        literals = literals_of(path, include)
    elif data[4:8] != b"BFBS" and path.endswith(".txt"):
        try:
            return applied(data.decode(), SCHEMA, path)
        except UnicodeDecodeError as error:
            raise InputError(f"it is not UTF-8: {error.reason}", file=path) from None
    try:
        return read_reflection(data, whole=whole, root=root, literals=literals)
    except ValueError as error:
        raise InputError(str(error), file=path) from None


def _compiled(path: Path, include: Sequence[str | os.PathLike[str]]) -> bytes:
    """Compile an `.fbs` file with flatc."""
    import shutil
    import subprocess
    import tempfile

    if shutil.which("flatc") is None:
        raise InputError(
            "install flatc to read it (Debian and Ubuntu: apt-get install flatbuffers-compiler), or use a .bfbs file, "
            "which needs no flatc",
            file=str(path),
        )
    with tempfile.TemporaryDirectory() as folder:
        options = ["--binary", "--schema", "--bfbs-comments"]
        options += [part for each in include for part in ("-I", os.fspath(each))]
        command = ["flatc", *options, "-o", folder, "--bfbs-builtins", str(path.resolve())]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            raise InputError("flatc does not finish", file=str(path)) from None
        made = Path(folder) / f"{path.stem}.bfbs"
        if done.returncode or not made.exists():
            said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
            raise InputError(f"flatc refuses it: {said[-1].strip() if said else 'without a message'}", file=str(path))
        return made.read_bytes()
