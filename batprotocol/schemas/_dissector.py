"""Makes a dissector for Wireshark of any schema: messages over ZeroMQ and TCP, in trees.

The dissector is one file in Lua: the tables of the schema, and code that is the same for every schema
(`wireshark/dissector.lua`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import isinf, isnan
from typing import Any, Final

from batprotocol.errors import InputError
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union

_WORD: Final = re.compile(
    r"(?!(?:and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|"
    r"return|then|true|until|while)\b)[A-Za-z_]\w*",
    re.ASCII,
)
"""A key of a table that needs no quotes: a name, and no word of the language."""
_ESCAPED: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_BYTES: Final = ("int8", "uint8")
_HALF: Final = 2**32

_HEAD: Final = """\
-- {title}: a dissector for Wireshark and tshark, made by batproto schema --wireshark.
-- Put this file into the folder of personal Lua plugins (in Wireshark: Help, About, Folders), or use
-- tshark -X lua_script:FILE. Connections that begin with the greeting of ZeroMQ are recognized at any port.

local schema = """


def dissector(schema: Schema, name: str = "batprotocol", ports: str = "") -> str:
    """The text of a dissector, in Lua.

    Args:
        schema: the schema, also a whole one. It needs a root type.
        name: the name of the protocol in filters: `batprotocol.Job.walltime > 60`. Other characters than lower case
            letters, digits and `_` are replaced.
        ports: TCP ports whose connections are read, although their capture begins in the middle: `28000,29000-29010`.

    Raises:
        InputError: the schema has no root type, or these are not ports.

    >>> from batprotocol.schemas import age, dissector
    >>> "Job" in dissector(age("2024-10"), ports="28000")
    True
    """
    if not schema.root:
        raise InputError("the schema has no root type: declare the table of a message with root_type")
    for table in schema.tables.values():
        for field in table.fields:
            if field.is_far or field.type.kind == "vector64":
                raise InputError(
                    f"{table.name}.{field.name} has an offset of 64 bits, which the dissector does not read"
                )
    if ports and not re.fullmatch(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", ports):
        raise InputError(f"expected TCP ports such as 28000,29000-29010, got {ports!r}")
    if any(int(port) > 65535 for port in re.findall(r"\d+", ports)):
        raise InputError(f"expected TCP ports up to 65535, got {ports!r}")
    own = re.sub(r"[^a-z0-9_]", "_", name.lower()).strip("_") or "flatbuffers"
    is_batsim = any("EDCHelloEvent" in union.members for union in schema.unions.values())
    tables = {
        "name": own,
        "title": own.capitalize(),
        "ports": ports,
        "root": schema.root,
        "identifier": schema.identifier,
        "handshake": is_batsim,
        "enums": {each.name: _enum(each) for each in schema.enums.values()},
        "unions": {each.name: _union(each) for each in schema.unions.values()},
        "tables": {each.name: _table(schema, each) for each in schema.tables.values()},
    }
    return f"{_HEAD.format(title=own)}{_lua(tables)}\n{_code()}"


@cache
def _code() -> str:
    return files("batprotocol.schemas").joinpath("wireshark/dissector.lua").read_text(encoding="utf-8")


def _enum(enum: Enum) -> dict[str, Any]:
    values = {str(number): name for name, number in reversed(enum.values.items())}
    return {"kind": enum.kind, "is_flags": enum.is_flags, "values": values}


def _union(union: Union) -> dict[str, Any]:
    members = {number: {"n": name, "k": kind.kind, "t": kind.name} for name, number, kind in union.numbered}
    return {"names": {"0": "NONE", **{str(number): each["n"] for number, each in members.items()}}, "members": members}


def _table(schema: Schema, table: Table) -> dict[str, Any]:
    return {"size": table.size, "fields": [_field(schema, each) for each in table.fields if not each.deprecated]}


def _field(schema: Schema, field: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"n": field.name, "s": field.slot, "t": _type(field.type), "o": field.offset}
    if field.required:
        found["r"] = True
    if field.nested:
        found["nested"] = field.nested
    default = "null" if field.optional else field.default
    kind = schema.kind_of(field.type)
    if kind in ("int64", "uint64") and isinstance(default, int):
        found["d"] = _halves(default)
    elif default is not None:
        found["d"] = default
    return found


def _halves(number: int) -> list[int]:
    return [number % _HALF, number // _HALF % _HALF]


def _type(type_: Type) -> dict[str, Any]:
    found: dict[str, Any] = {"k": type_.kind}
    if type_.name:
        found["t"] = type_.name
    if type_.element:
        found["e"] = _type(type_.element)
        if type_.element.kind in _BYTES:
            found["bytes"] = True
    if type_.length:
        found["length"] = type_.length
    return found


# Values of Lua


def _lua(value: object, indent: str = "") -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    below = f"{indent}  "
    if isinstance(value, Mapping):
        parts = [f"{_key(key)} = {_lua(each, below)}" for key, each in value.items()]
    else:
        assert isinstance(value, list)
        parts = [_lua(each, below) for each in value]
    line = f"{{ {', '.join(parts)} }}" if parts else "{}"
    if len(line) + len(indent) <= 110 and "\n" not in line:
        return line
    lines = "".join(f"{below}{part},\n" for part in parts)
    return f"{{\n{lines}{indent}}}"


def _key(key: object) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    text = str(key)
    return text if _WORD.fullmatch(text) else f"[{_text(text)}]"


def _text(text: str) -> str:
    safe = "".join(_ESCAPED.get(each, each if each.isprintable() else "?") for each in text)
    return f'"{safe}"'


def _real(value: float) -> str:
    if isnan(value):
        return "0/0"
    return ("-" if value < 0 else "") + "math.huge" if isinf(value) else repr(value)
