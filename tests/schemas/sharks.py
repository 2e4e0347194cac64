"""tshark with a dissector of this library: what it shows of captured messages, as the values that they hold."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import packets
from servers import find

from batprotocol.wire.reflection import Schema, Type

__all__ = ["capture", "output", "shown"]


def capture(conversations: Sequence[Sequence[tuple[bool, bytes]]], *, size: int = 1400, port: int = 28000) -> bytes:
    """A capture of these conversations, each in a connection of its own: what each side sends, as it is on the wire."""
    found: list[packets.Packet] = []
    for number, said in enumerate(conversations):
        for segment in packets.segments(said, size):
            data = packets.link(
                packets.ip(segment, (1025 + number % 60000, port), host=1 + number // 60000), "ethernet"
            )
            found.append(packets.Packet(10**18 + len(found) * 1000, data))
    return packets.pcap(found)


def output(script: Path, file: Path, *options: str, seconds: float = 120) -> str:
    """What tshark prints of a capture."""
    command = [find("tshark"), "-X", f"lua_script:{script}", "-r", str(file), *options]
    done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, said[-500:]
    assert "Lua" not in said, said[-500:]
    return done.stdout.decode(errors="replace")


def shown(script: Path, file: Path, schema: Schema, name: str) -> list[Any]:
    """The payloads of a capture as tshark shows them: values of flatbuffers, texts of JSON or of the first message."""
    root = ElementTree.fromstring(output(script, file, "-T", "pdml"))
    values = _Values(schema)
    found: list[Any] = []
    for frame in root.iterfind(f".//field[@name='{name}.zmtp-frame']"):
        for part in frame:
            own = part.get("name", "").removeprefix(f"{name}.")
            if own in ("zmtp-text", "zmtp-init"):
                found.append(bytes.fromhex(part.get("value", "")).decode())
            elif own == schema.root:
                found.append(values.table(schema.root, part))
    return found


class _Values:
    """The values that fields of PDML have, by a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def table(self, name: str, element: ElementTree.Element) -> dict[str, Any]:
        types = {field.name: field.type for field in self.schema.tables[name].fields}
        nested = {field.name: field.nested for field in self.schema.tables[name].fields if field.nested}
        found: dict[str, Any] = {}
        for child in element:
            own = child.get("name", "").rpartition(".")[2].removesuffix("-count")
            if own in nested:
                found[own] = self.table(nested[own], child)
            elif own in types:
                found[own] = self.value(types[own], child, found.get(f"{own}_type"))
        return found

    def value(self, kind: Type, element: ElementTree.Element, tag: Any) -> Any:
        label = element.get("showname", "").partition(": ")[2].removesuffix(" (default)")
        if kind.element is not None:
            inner = kind.element
            if inner.kind in ("int8", "uint8"):
                return list(bytes.fromhex(element.get("value", "")))
            tags = tag or [None] * len(element)
            return [self.value(inner, each, one) for each, one in zip(element, tags, strict=True)]
        if kind.kind == "union":
            kind = next(own for name, _, own in self.schema.unions[kind.name].numbered if name == tag)
            if kind.kind == "string":  # the field has no type of its own
                return label
        if kind.kind in ("table", "struct"):
            return self.table(kind.name, element)
        if kind.kind == "string":
            return bytes.fromhex(element.get("value", "")).decode()
        if kind.kind in ("enum", "utype"):
            name, _, number = label.rpartition(" (")
            return int(number[:-1]) if name == "unknown" else name
        if kind.kind == "bool":
            return {"true": True, "false": False}[label]
        return float(label) if kind.kind.startswith("float") else int(label)
