"""Messages as JSON, for debugging: the keys of fast-lib, and the name of the class in `message`.

Numbers, NaN and infinities are exact, as Python's `json` writes them. It must not know of YAML.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.fast.messages import MESSAGES
from batprotocol.fast.values import FastMessage, Part

__all__ = ["from_json", "to_json", "tree_of"]

LARGEST: Final = 2**24
"""The maximum number of bytes of JSON."""


def to_json(message: FastMessage, indent: int | None = None) -> str:
    """Write a message as JSON.

    Args:
        message: the message.
        indent: spaces for each level; None is one line.

    Raises:
        EncodeError: it has a value that JSON does not have.

    >>> from batprotocol.fast.values import VM, SuspendVM
    >>> to_json(SuspendVM([VM("vm1")], id="7"))
    '{"message": "SuspendVM", "list": [{"vm-name": "vm1"}], "id": "7"}'
    """
    try:
        return json.dumps(tree_of(message), indent=indent, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError(f"it cannot be written as JSON: {error}") from None


def tree_of(value: Any) -> Any:
    """The dicts, lists and scalars of a value, as in JSON, without absent values."""
    if isinstance(value, FastMessage | Part):
        found = {"message": type(value).__name__} if isinstance(value, FastMessage) else {}
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        fields = ((written, getattr(value, name)) for written, name in names)
        return {**found, **{name: tree_of(each) for name, each in fields if each is not None}}
    if isinstance(value, tuple | list):
        return [tree_of(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def from_json(text: str | bytes) -> FastMessage:
    """Read a message that was written as JSON.

    Raises:
        DecodeError: this is not a message; the error has the place.

    >>> from_json('{"message": "Quit", "id": 7}')
    Traceback (most recent call last):
        ...
    batprotocol.errors.DecodeError: id: Expected `str | null`, got `int`
    """
    if len(text) > LARGEST:
        raise DecodeError(f"expected at most {LARGEST:,} bytes, found {len(text):,}")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise DecodeError(f"this is not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:  # bytes that are not text, numbers of thousands of digits
        raise DecodeError(f"this is not JSON: {error}") from None
    name = found.get("message") if isinstance(found, dict) else None
    cls = MESSAGES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise DecodeError(f"expected the name of a message, found {shown(name)}", "message")
    try:
        return msgspec.convert(found, cls)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
        raise DecodeError(reason, place.removeprefix("key in ").strip("`$").removeprefix(".")) from None
