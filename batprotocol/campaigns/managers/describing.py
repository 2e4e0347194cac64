"""Files that describe clusters, in TOML: read, and converted to the values of one type of cluster.

This module must not know the types.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from batprotocol._util.files import reason_of
from batprotocol.errors import InputError, hint, shown

__all__ = ["description_in", "file_content", "tables_in"]

_MOST_BYTES: Final = 1 << 20

_Values = TypeVar("_Values", bound=msgspec.Struct)


def description_in(
    path: str | os.PathLike[str],
    kind: str,
    values: type[_Values],
    finished: Callable[[_Values, str], _Values],
    needed: Mapping[str, str],
) -> _Values:
    """The description of a cluster in a file.

    Args:
        path: the file.
        kind: the value of its key `type`.
        values: the class of the values; its fields are the other keys.
        finished: checks the values together, and completes them. The names of files are relative to the folder that it
            gets.
        needed: the keys that must be there, each with the sentence for a file without it.

    Raises:
        InputError: the description cannot be used; the error has the file and the key.
    """
    file = os.fspath(path)
    try:
        return finished(_converted(tables_in(file), kind, values, needed), os.path.dirname(os.path.abspath(file)))
    except InputError as error:
        raise InputError(error.reason, error.path, file=file) from None


def tables_in(file: str) -> dict[str, Any]:
    """The tables of a small file in TOML.

    Raises:
        InputError: it cannot be read, or is no TOML; the error has the file.
    """
    data = file_content(file)
    try:
        tables: dict[str, Any] = msgspec.toml.decode(data.decode())
    except UnicodeDecodeError:
        raise InputError("expected a text in UTF-8, got other bytes", file=file) from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise InputError(f"expected TOML: {error}", file=file) from None
    return tables


def _converted(tables: dict[str, Any], kind: str, values: type[_Values], needed: Mapping[str, str]) -> _Values:
    known = values.__struct_fields__
    given = tables.pop("type", None)
    if given != kind:
        raise InputError(f'expected "{kind}", got {shown(given)}', "type")
    for key in tables:
        if key not in known:
            raise InputError(f"there is no key {shown(key)}{hint(key, known)}")
    for key, sentence in needed.items():
        if key not in tables:
            raise InputError(sentence)
    try:
        return msgspec.convert(tables, values)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise InputError(f"{reason[:1].lower()}{reason[1:]}", place.strip("`")) from None


def file_content(file: str) -> bytes:
    """The content of a small file.

    Raises:
        InputError: it cannot be read, or is larger than 1 MiB; the error has the file.
    """
    if Path(file).exists() and not Path(file).is_file():  # a device or a pipe would never end
        raise InputError("expected a file, got a folder, a device or a pipe", file=file)
    try:
        with open(file, "rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"it cannot be read: {reason}", file=file) from None
    if len(content) > _MOST_BYTES:
        raise InputError(f"expected at most {_MOST_BYTES} bytes", file=file)
    return content
