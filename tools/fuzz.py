#!/usr/bin/env python3
"""Feed the library recorded messages with random changes, for a given time or number.

For any bytes, reading gives a message, which can be written and read again, or a `DecodeError`; all engines and the
careful reader agree. Any other outcome is a finding: the input is saved, and the exit status is 1. The current input is
always in a file, too, so that it remains if the process dies.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sanitized
from support import GOLDENS, read_run, runs

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import Message
from batprotocol.wire import FORMATS, binary, reader, tree

__all__ = ["FORMATS", "Finding", "Tally", "check", "mutated", "recordings", "run"]

LARGE_ARCHIVE = 100_000  # these take long to read and hold nothing that the others do not
MESSAGES_OF_A_RUN = 80  # those that come later are like those before
USUAL_SIZE = 4000
Sources = dict[tuple[str, ...], list[bytes]]


class Finding(Exception):
    """The library did what it must never do with an input."""


@cache
def recordings(format: str) -> Sources:
    """Recorded messages by the types of their events: of the corpus where it is, else of those kept with the tests.

    The examples of the builder are among them, so that every type of event is.
    """
    data = {path.read_bytes() for path in GOLDENS.glob({"binary": "*.bin", "json": "*.json"}[format])}
    for archive in runs():
        if archive.name.endswith(f"__{format}.tar.xz") and archive.stat().st_size < LARGE_ARCHIVE:
            _, hello, *rest = read_run(archive)[:MESSAGES_OF_A_RUN]
            data |= {hello.data[4:], *(recorded.data for recorded in rest)}
    found: dict[tuple[str, ...], set[bytes]] = {}
    for each in data:
        message: Message = FORMATS[format].decode(each)
        types = {type(event).__name__ for event in message.events}
        found.setdefault(tuple(sorted(types)), set()).add(each)
    return {types: sorted(messages, key=lambda data: (len(data), data)) for types, messages in sorted(found.items())}


# Changes. Each takes the bytes, what makes the choices, and another message to take pieces from.

Change = Callable[[bytearray, Random, bytes], None]
TOKENS = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b"'",
        b"\\",
        b"\\u0041",
        b"\\ud83d\\ude00",
        b"\\ud800",
        b"\\x41",
        b"\\n",
    ),
    *(
        b"0",
        b"-1",
        b"1.5",
        b"1e5",
        b"1e999",
        b"0x1F",
        b"5.",
        b".5",
        b"nan",
        b"-inf",
        b"NaN",
        b"Infinity",
        b"4294967296",
    ),
    *(
        b"18446744073709551616",
        b"9" * 40,
        b"null",
        b"true",
        b"false",
        b'"5"',
        b'"null"',
        b"Second",
        b'"NONE"',
        b'"x"',
        b"''",
    ),
    *(
        b" ",
        b"\n",
        b"\t",
        b"\0",
        b"/* c */",
        b"// c\n",
        b"/// c\n",
        b"\xc3\xa9",
        b"\xff",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98\x80",
    ),
    *(b'"timestamp": 1,', b'"event_type": 3,', b'"event": {},', b'"job_id": "",', b'"wrong": 1,', b'"walltime": null,'),
]
BOUNDARIES = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7FFF,
    0xFFFF,
    2**31 - 1,
    2**31,
    2**32 - 4,
    2**32 - 1,
)


def place(data: bytearray, random: Random) -> int:
    return random.randrange(len(data)) if data else 0


def word_place(data: bytearray, random: Random) -> int:
    """The place of one of the words that binary messages are made of."""
    return random.randrange(len(data) // 4) * 4 if len(data) >= 4 else 0


def flip_bit(data: bytearray, random: Random, other: bytes) -> None:
    data[place(data, random)] ^= 1 << random.randrange(8)


def set_byte(data: bytearray, random: Random, other: bytes) -> None:
    data[place(data, random)] = random.choice((0, 1, 0x20, 0x22, 0x2F, 0x5C, 0x7F, 0x80, 0xFF, random.randrange(256)))


def truncate(data: bytearray, random: Random, other: bytes) -> None:
    del data[place(data, random) :]


def delete(data: bytearray, random: Random, other: bytes) -> None:
    start = place(data, random)
    del data[start : start + random.choice((1, 1, 2, 4, 8, 16, 64))]


def insert(data: bytearray, random: Random, other: bytes) -> None:
    start = place(data, random)
    data[start:start] = random.randbytes(random.choice((1, 1, 2, 4, 8, 16)))


def repeat(data: bytearray, random: Random, other: bytes) -> None:
    start = place(data, random)
    data[start:start] = data[start : start + random.randrange(1, 64)] * random.choice((1, 1, 1, 2, 30))


def move(data: bytearray, random: Random, other: bytes) -> None:
    start, size = place(data, random), random.choice((1, 4, 8, 20, 40))
    piece = data[start : start + size]
    del data[start : start + size]
    to = place(data, random)
    data[to:to] = piece


def splice(data: bytearray, random: Random, other: bytes) -> None:
    """The start of this message, the end of the other."""
    data[place(data, random) :] = other[random.randrange(len(other) + 1) :]


def graft(data: bytearray, random: Random, other: bytes) -> None:
    """A piece of the other message in the place of one of this one."""
    start, size = place(data, random), random.randrange(1, 64)
    taken = random.randrange(len(other) + 1)
    data[start : start + size] = other[taken : taken + size]


def put_word(data: bytearray, at: int, word: int) -> None:
    data[at : at + 4] = (word & 0xFFFFFFFF).to_bytes(4, "little")


def shift_offset(data: bytearray, random: Random, other: bytes) -> None:
    at = word_place(data, random)
    put_word(data, at, int.from_bytes(data[at : at + 4], "little") + random.choice((-8, -4, -2, -1, 1, 2, 4, 8, 12)))


def lead_elsewhere(data: bytearray, random: Random, other: bytes) -> None:
    at = word_place(data, random)
    put_word(data, at, word_place(data, random) - at)


def copy_word(data: bytearray, random: Random, other: bytes) -> None:
    at, taken = word_place(data, random), word_place(data, random)
    put_word(data, at, int.from_bytes(data[taken : taken + 4], "little"))


def share(data: bytearray, random: Random, other: bytes) -> None:
    """Let an offset lead to where another one does."""
    at, shared = word_place(data, random), word_place(data, random)
    put_word(data, at, shared + int.from_bytes(data[shared : shared + 4], "little") - at)


def set_word(data: bytearray, random: Random, other: bytes) -> None:
    at = word_place(data, random)
    put_word(data, at, random.choice(special_words(at, len(data))))


def special_words(at: int, size: int) -> tuple[int, ...]:
    """The values for a word at this place of a message of that size, some of which point just beyond both ends."""
    return (*BOUNDARIES, *(end + step for end in (at, size, size - at, -at) for step in (-4, -1, 0, 1, 4)), size // 4)


def set_half(data: bytearray, random: Random, other: bytes) -> None:
    """Vtables are made of these."""
    at = place(data, random) & ~1
    data[at : at + 2] = random.choice((0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 255, 0xFFFF)).to_bytes(2, "little")


def put_token(data: bytearray, random: Random, other: bytes) -> None:
    at = place(data, random)
    data[at:at] = random.choice(TOKENS)


TOKEN = re.compile(rb"[{}\[\]:,\"]|(?<=[:,\[ ])[^ ]")


def token_place(data: bytearray, random: Random, start: int | None = None) -> int:
    """Where a token of JSON starts, more or less: the first one after `start`, or any."""
    found = TOKEN.search(data, place(data, random) if start is None else start)
    return found.start() if found else len(data)


def put_token_at_token(data: bytearray, random: Random, other: bytes) -> None:
    at = token_place(data, random)
    data[at:at] = random.choice(TOKENS)


def replace_token(data: bytearray, random: Random, other: bytes) -> None:
    at = token_place(data, random)
    data[at : token_place(data, random, at + 1)] = random.choice((b"", *TOKENS))


def swap_tokens(data: bytearray, random: Random, other: bytes) -> None:
    one, two, three = sorted(token_place(data, random) for _ in range(3))
    data[one:three] = data[two:three] + data[one:two]


ANY: tuple[Change, ...] = (flip_bit, set_byte, truncate, delete, insert, repeat, move, splice, graft)
OF_BINARY: tuple[Change, ...] = (shift_offset, lead_elsewhere, copy_word, share, set_word, set_half)
OF_JSON: tuple[Change, ...] = (put_token, put_token_at_token, replace_token, swap_tokens)
CHANGES: dict[str, tuple[Change, ...]] = {"binary": ANY + OF_BINARY * 2, "json": ANY + OF_JSON * 3}
"""The changes for each format; those made for it come up more often."""


def chosen(sources: Sources, random: Random) -> bytes:
    """A recorded message: each combination of events comes up as often as any other, large messages less often."""
    messages = random.choice(list(sources.values()))
    message = random.choice(messages)
    return message if len(message) <= USUAL_SIZE or random.random() < 0.02 else messages[0]


def mutated(format: str, random: Random, sources: Sources) -> bytes:
    """A recorded message with one to four changes."""
    data = bytearray(chosen(sources, random))
    other = chosen(sources, random)
    for _ in range(random.choice((1, 1, 1, 1, 1, 2, 2, 3, 4))):
        if data:
            random.choice(CHANGES[format])(data, random, other)
    return bytes(data)


# What must hold


def outcome(format: str, data: bytes) -> tuple[str, Any]:
    """The outcome of an input with the current engine: its kind, and a value to compare."""
    decode, encode = FORMATS[format].decode, FORMATS[format].encode
    try:
        message: Message = decode(data)
    except DecodeError as error:
        if error.offset is not None and not 0 <= error.offset <= len(data):
            raise Finding(f"byte {error.offset} is not in the {len(data)} bytes: {error}") from error
        return "DecodeError", (str(error), error.path, error.offset)
    try:
        written: bytes = encode(message, allow_late_events=True)  # any bytes are read
    except EncodeError as error:
        return "EncodeError", (str(error), error.path)
    again: bytes = encode(decode(written), allow_late_events=True)
    if again != written:
        raise Finding(f"what is read and written is not read the same: {written!r}, then {again!r}")
    return "message", written


def check(format: str, data: bytes, engines: tuple[str, ...] = binary.ENGINES, careful: bool = False) -> str:
    """Make sure that an input is a message or a `DecodeError`, the same for all engines; return which.

    Args:
        format: "binary" or "json".
        data: the input.
        engines: which engines shall read it.
        careful: whether the careful reader shall read it too, if it is binary.

    Raises:
        Finding: they differ, or the library is wrong in another way. Other exceptions are findings too.
    """
    outcomes = []
    for engine in engines:
        binary.use_engine(engine)
        outcomes.append(outcome(format, data))
        if outcomes[-1] != outcomes[0]:
            raise Finding(f"{engines[0]} gives {outcomes[0]}, {engine} gives {outcomes[-1]}")
    if careful and format == "binary" and outcomes[0][0] == "message":
        found: bytes = FORMATS[format].encode(tree.to_message(reader.read(data)), allow_late_events=True)
        if found != outcomes[0][1]:
            raise Finding(f"the engines give {outcomes[0]}, the careful reader {found!r}")
    return outcomes[0][0]


@dataclass
class Tally:
    """The outcomes of the inputs so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_input: bytes = b""

    def add(self, found: str, data: bytes, seconds: float) -> None:
        self.outcomes[found] += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_input = seconds, data

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {found}s" for found, count in sorted(self.outcomes.items()))
        return (
            f"{self.outcomes.total()} inputs: {counts or 'nothing'}; "
            f"slowest {self.slowest * 1000:.1f} ms, for {len(self.slowest_input)} bytes"
        )


def run(
    inputs: Iterator[tuple[str, bytes]], engines: tuple[str, ...], before: Callable[[bytes], object] = lambda data: None
) -> Tally:
    """Check inputs, every eighth with the careful reader too. `before` is called with each before it is read."""
    tally = Tally()
    for number, (format, data) in enumerate(inputs):
        before(data)
        start = time.perf_counter()
        found = check(format, data, engines, careful=number % 8 == 0)
        tally.add(found, data, time.perf_counter() - start)
    return tally


def inputs(formats: tuple[str, ...], seed: int, count: int | None = None, seconds: float | None = None) -> Any:
    """Changed messages of each format in turn: a given number, or for a given time."""
    random, sources = Random(seed), {format: recordings(format) for format in formats}
    end = time.monotonic() + (seconds or 0.0)
    number = 0
    while (count is None or number < count) and (seconds is None or time.monotonic() < end):
        format = formats[number % len(formats)]
        yield format, mutated(format, random, sources[format])
        number += 1


# The command


class AtHand:
    """The input at hand, in memory and in a file that is there for as long as the run takes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = b""
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)

    def __call__(self, data: bytes) -> None:
        self.data = data
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, data, 0)

    def close(self) -> None:
        os.close(self.file)
        self.path.unlink()

    def save(self, folder: Path) -> Path:
        saved = folder / f"finding-{hashlib.sha256(self.data).hexdigest()[:12]}"
        saved.write_bytes(self.data)
        return saved


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, help="the time of the run (60 by default)")
    length.add_argument("--count", type=int, help="the number of inputs")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument("--format", choices=("binary", "json", "both"), default="both")
    parser.add_argument("--engine", choices=(*binary.ENGINES, "all"), default="all")
    parser.add_argument("--sanitize", action="store_true", help="compile the native engine with sanitizers")
    parser.add_argument("--out", type=Path, default=Path(), help="the folder where findings are saved")
    given = parser.parse_args()
    if given.seconds is None and given.count is None:
        given.seconds = 60.0
    return given


def main() -> int:
    given = arguments()
    if given.sanitize:
        return sanitized.run([str(Path(__file__)), *(each for each in sys.argv[1:] if each != "--sanitize")])
    formats = ("binary", "json") if given.format == "both" else (given.format,)
    engines = binary.ENGINES if given.engine == "all" else (given.engine,)
    at_hand = AtHand(given.out / f"at-hand-{os.getpid()}")
    print(f"engines {' and '.join(engines)}, seed {given.seed}; the input at hand is in {at_hand.path}", flush=True)
    try:
        tally = run(inputs(formats, given.seed, given.count, given.seconds), engines, at_hand)
    except BaseException as error:
        saved = at_hand.save(given.out)
        if not isinstance(error, KeyboardInterrupt):
            traceback.print_exc()
        print(f"{type(error).__name__}; the input is saved in {saved}", file=sys.stderr)
        return 1
    finally:
        at_hand.close()
    print(tally)
    return 0


if __name__ == "__main__":
    sys.exit(main())
