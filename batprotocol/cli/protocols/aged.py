"""Batsim's flatbuffers by another schema, for the command: bytes and frames -> their contents.

It must not know how the bytes were found. `batprotocol.schemas` reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from batprotocol.cli.protocols.batsim5 import BATSIM_5
from batprotocol.cli.protocols.reading import Reading, Spoken
from batprotocol.errors import DecodeError
from batprotocol.recordings.names import Place
from batprotocol.schemas import Codec, read_schema
from batprotocol.wire import detect, frames, json

__all__ = ["aged"]


def aged(source: str, include: Sequence[str] = (), root: str = "") -> Spoken:
    """The protocol of a schema.

    Args:
        source: an age or a file, as `batprotocol.schemas.read_schema` takes it.
        include: the folders of included files.
        root: the table of a message, or "".

    Raises:
        InputError: there is no such schema.
    """
    codec = Codec(read_schema(source, include=include, root=root))
    is_batsim = {"now", "events"} <= {field.name for field in codec.schema.tables[codec.schema.root].fields}

    def read(data: bytes, kind: str, strict: bool, place: Place) -> Reading:
        flags, format, body = None, kind, data
        if kind == "init":
            try:
                return Reading(spoken, "init", text=frames.decode_init(data))
            except DecodeError as fault:
                return Reading(spoken, "init", fault=fault)
        if kind == "hello":
            (flags,) = struct.unpack_from("<I", data)
            format, body = frames.format_of(data), data[4:]
        skipped: list[str] = []
        try:
            if format == "json":
                record = codec.from_json(body, strict=strict, skipped=skipped)
            else:
                record = codec.decode(body)
        except DecodeError as fault:
            tree = fault.partial if isinstance(fault.partial, dict) else None
            there = frames.behind_flags(fault) if kind == "hello" else fault
            return Reading(
                spoken,
                kind,
                flags=flags,
                format=format,
                fault=there,
                original=fault.partial,
                shown=tree,
                schema=codec.schema,
            )
        return Reading(
            spoken,
            kind,
            flags=flags,
            format=format,
            skipped=tuple(skipped),
            original=record,
            shown=record,
            schema=codec.schema,
        )

    def write(reading: Reading, to: str, indent: int | None) -> bytes:
        if to not in frames.FLAGS:
            raise DecodeError(f"this protocol has no {to}: it can be converted to binary or json")
        if reading.kind == "hello":
            body = codec.encode(reading.original) if to == "binary" else json.text(reading.original).encode() + b"\0"
            return frames.flagged(body, to)
        if to == "json":
            return json.text(reading.original, indent).encode() + b"\n"
        return codec.encode(reading.original)

    name = f"Batsim 5 by {source}" if is_batsim else f"{codec.schema.root} of {source}"
    spoken = BATSIM_5._replace(
        name=name, detect=detect if is_batsim else _format, read=read, write=write, notes=codec.schema.notes
    )
    return spoken


def _format(data: bytes) -> str:
    """The format of a message that has no frames."""
    head = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    return "json" if head[:1] in (b"{", b"/", b"[") and head[1:2] != b"\0" else "binary"
