"""Files that are texts: plans, JDLs, rules, parameters. It must not know what they hold."""

from __future__ import annotations

from batprotocol.errors import InputError

__all__ = ["read_text"]


def read_text(path: str) -> str:
    """The text in a file.

    Raises:
        InputError: it is no UTF-8; it says where.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"expected UTF-8, found the byte 0x{data[error.start]:02x}", file=path, line=line) from None
