"""Text files: plans, JDLs, rules, parameters. This module must not know their contents."""

from __future__ import annotations

from batprotocol.errors import InputError

__all__ = ["read_text"]


def read_text(path: str) -> str:
    """Read a text file.

    Raises:
        InputError: the file is not UTF-8; the error names the line.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"expected UTF-8, found the byte 0x{data[error.start]:02x}", file=path, line=line) from None
