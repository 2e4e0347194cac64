"""The competitors: each turns the same messages into bytes and bytes into the same values.

An engine of batprotocol is a competitor like any other. Before anything is timed, `prepare` makes sure that all of them
read and write the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import orjson

from batprotocol.model import Doubles, Message
from batprotocol.wire import binary
from batprotocol.wire import json as own_json
from benchmark import generated_reading, generated_writing
from benchmark.json_dicts import from_dict, to_dict
from benchmark.workloads import Workload

__all__ = ["GENERATED", "OTHERS", "Competitor", "engine", "json_of", "prepare"]

Data = bytes | bytearray


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Competitor:
    """One way between values and bytes. Competitors of the same `dialect` read the same bytes."""

    name: str
    dialect: str
    encode: Callable[[Message], Data]
    decode: Callable[[bytes], Message]
    prepare: Callable[[], None] = _nothing
    """The preparation before a batch of calls, which is not timed."""


def engine(name: str) -> Competitor:
    """An engine of batprotocol."""
    encode, decode = binary.engine(name).encode, binary.engine(name).decode
    return Competitor(f"{name} engine", "flatbuffers", encode, decode)


def json_of(name: str) -> Competitor:
    """batprotocol's own JSON, as it is with an engine."""
    use = partial(binary.use_engine, name)
    return Competitor(f"JSON, {name} engine", "json", _own_json_encode, own_json.decode, use)


def _with_numpy(wanted: bool) -> None:
    generated_reading.with_numpy = generated_writing.with_numpy = wanted


def _generated(name: str, numpy: bool) -> Competitor:
    """The classes that flatc generates, which read and write vectors element by element or through numpy."""
    prepare = partial(_with_numpy, numpy)
    return Competitor(name, "flatbuffers", generated_writing.encode, generated_reading.decode, prepare)


GENERATED = _generated("generated classes", numpy=False)


def _json_encode(message: Message) -> bytes:
    return json.dumps(to_dict(message), separators=(",", ":")).encode()


def _json_decode(data: bytes) -> Message:
    return from_dict(json.loads(data))


def _orjson_encode(message: Message) -> bytes:
    return orjson.dumps(to_dict(message))


def _orjson_decode(data: bytes) -> Message:
    return from_dict(orjson.loads(data))


def _own_json_encode(message: Message) -> bytes:
    return own_json.dumps(message).encode()


def _plain(value: Any) -> list[float]:
    """The numbers of a vector of doubles, which msgspec cannot write itself."""
    numbers: list[float] = value.view.tolist()
    return numbers


def _doubles(type: Any, numbers: Any) -> Doubles:
    return Doubles(numbers)


def _msgspec() -> Competitor:
    """msgspec.json on our own values: they are msgspec's structs, in JSON of msgspec's tagged kind, not Batsim's."""
    decoder = msgspec.json.Decoder(Message, dec_hook=_doubles)
    encoder = msgspec.json.Encoder(enc_hook=_plain)
    return Competitor("msgspec.json", "msgspec", encoder.encode, decoder.decode)


OTHERS = (
    GENERATED,
    _generated("... with numpy", numpy=True),
    Competitor("json", "json", _json_encode, _json_decode),
    Competitor("orjson", "json", _orjson_encode, _orjson_decode),
    _msgspec(),
)
"""All competitors but batprotocol itself, in the order of the tables."""


def prepare(workload: Workload, competitors: Sequence[Competitor]) -> dict[str, bytes]:
    """The bytes to decode, by dialect, after a check that all competitors read and write the same.

    The first competitor of a dialect writes them: for flatbuffers `GENERATED`, the runtime of the format's own makers,
    and for JSON the standard library.
    """
    data: dict[str, bytes] = {}
    for writer in [*OTHERS, *competitors]:
        data.setdefault(writer.dialect, bytes(writer.encode(workload.message)))
    for writer in competitors:
        writer.prepare()
        written = {data[writer.dialect], bytes(writer.encode(workload.message))}
        for reader in competitors:
            if reader.dialect == writer.dialect:
                reader.prepare()
                for each in written:
                    _same(workload, reader, writer, each)
    return data


def _same(workload: Workload, reader: Competitor, writer: Competitor, data: bytes) -> None:
    message = reader.decode(data)
    # The text also tells 1 from 1.0, and a number from the member of an enum.
    if message != workload.message or repr(message) != repr(workload.message):
        raise AssertionError(f"{workload.name}: {reader.name} reads something else in what {writer.name} wrote")
