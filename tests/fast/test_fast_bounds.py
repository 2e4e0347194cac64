"""Whatever bytes come: a value or a DecodeError, in less than a second and 100 MB. `-m minutes` tries 100,000."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import pytest
from fast_oracle import goldens, recordings, verdicts
from memory import Peak, peak_memory

from batprotocol.errors import DecodeError
from batprotocol.fast import Topic, TopicKind
from batprotocol.fast.recording import read_line
from batprotocol.fast.wire import decode, decode_alone, encode, from_json
from batprotocol.fast.wire._yaml import DEEPEST, LARGEST, MOST_NODES

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

SECONDS = 1.0
BYTES = 100_000_000
TASK = TopicKind.MIGFRA_TASK.topic("node-a")
PIECES = (
    *(
        b"- ",
        b"\n",
        b"\n  ",
        b": ",
        b"? ",
        b"[",
        b"]",
        b"{",
        b"}",
        b"&a ",
        b"*a",
        b"!!str ",
        b"!<x> ",
        b"%YAML 1.2\n",
        b"---\n",
    ),
    *(
        b"...\n",
        b'"',
        b"'",
        b"|\n",
        b">-\n",
        b"#",
        b"<<: ",
        b"~",
        b"\\x",
        b"\t",
        b"\r",
        b"\0",
        b"\x04",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"-1",
        b"1e999",
        b"0x",
        b"99999999999999999999",
        b"task: ",
        b"list:\n",
        b"vm-name: ",
        b"null",
    ),
)


def payloads() -> list[tuple[bytes, Topic]]:
    """What fast-lib wrote and read, each with its topic."""
    cases = [(case.payload, case.topic) for case in goldens()] + [(case.payload, case.topic) for case in verdicts()]
    return [(payload, Topic.find((topic or "").format(hostname="node-a")) or TASK) for payload, topic in cases]


def mutated(seed: int, count: int) -> Iterator[tuple[bytes, Topic]]:
    """Payloads with random changes."""
    chance = random.Random(seed)
    known = payloads()
    for _ in range(count):
        payload, topic = chance.choice(known)
        data = bytearray(payload)
        for _ in range(chance.randint(1, 4)):
            start = chance.randint(0, len(data))
            end = min(len(data), start + chance.choice((0, 0, 1, 2, 8, 40)))
            other = chance.choice(known)[0]
            begin = chance.randrange(len(other) + 1)
            new = chance.choice((chance.choice(PIECES), bytes([chance.randrange(256)]), other[begin : begin + 30], b""))
            data[start:end] = new * chance.choice((1, 1, 1, 2, 30))
        yield bytes(data), topic if chance.random() < 0.8 else chance.choice(list(TopicKind)).topic("node-a", 1)


def quick(read: Callable[[], Any]) -> Any:
    """A value or None: what must hold of any bytes."""
    began = time.process_time()
    try:
        found = read()
    except DecodeError as error:
        assert 0 < len(str(error)) < 1000  # noqa: PT017  # it may be wrong, and must be told
        found = None
    assert time.process_time() - began < SECONDS
    return found


def is_message(payload: bytes, topic: Topic) -> bool:
    """Read a payload in every way, and write what was read."""
    message = quick(lambda: decode(payload, topic))
    if message is not None and "nan" not in repr(message):
        assert decode(encode(message), topic) == message
    either = quick(lambda: decode(payload, topic, dialect="any"))
    quick(lambda: decode(payload, topic, dialect="specification"))
    assert message is None or either is not None
    return message is not None


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.minutes) for part in range(1, 11))])
def test_mutations(part: int) -> None:
    """Some of them are messages all the same. Memory is watched in the long search, which takes longer for it."""
    count = 10_000 if part else 1000
    with peak_memory() if part else nullcontext(Peak()) as peak:
        messages = sum(is_message(payload, topic) for payload, topic in mutated(part, count))
    assert count / 20 < messages < count
    assert peak.bytes < BYTES


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.minutes) for seed in range(2, 6))])
def test_mutated_topics_lines_and_json(seed: int) -> None:
    chance = random.Random(seed)
    topics = [channel.filter("node-a", "42") for channel in TopicKind]
    lines = [line for path in recordings() for line in path.read_bytes().splitlines()]
    for _ in range(20_000 if seed > 1 else 1000):
        text = chance.choice(topics)
        at = chance.randint(0, len(text))
        text = (
            text[:at]
            + chance.choice(("/", "+", "#", "\0", "é", "fast", "", "\ud800"))
            + text[at + chance.randint(0, 3) :]
        )
        topic = Topic.find(text)
        assert topic is None or str(topic) == text
        line = bytearray(chance.choice(lines))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(line) + 1)
            line[at : at + chance.randint(0, 3)] = chance.choice(
                (b'"', b"{", b"}", b"1e999", b"\\ud800", b"\xff", b"null", b"")
            )
        for read in (read_line, from_json, decode_alone):
            quick(partial(read, bytes(line)))


def bombs() -> dict[str, bytes]:
    """Small or large, and meant to take for ever, or all memory."""
    laughs = b"".join(
        b"%c: &%c [%s]\n" % (letter, letter, b",".join([b"*%c" % (letter - 1)] * 9)) for letter in b"bcdefghij"
    )
    return {
        "a billion laughs": b"a: &a [x]\n" + laughs + b"task: start vm\nvm-configurations: *j",
        "laughs in keys": b"{? &a [x] : 1, ? &b [*a,*a] : 1, ? &c [*b,*b] : 2}",
        "itself": b"&a [*a]",
        "itself as its key": b"&a {*a : 1}",
        "deep lists": b"[" * 1_000_000,
        "deep mappings": b"{a: " * 1_000_000,
        "deep blocks": b"".join(b" " * depth + b"-\n" for depth in range(1500)),
        "dashes": b"- " * 1_000_000,
        "questions": b"? " * 1_000_000,
        "many values": b"[" + b"a," * 1_000_000 + b"]",
        "many keys": b"".join(b"k%d: 1\n" % number for number in range(200_000)),
        "many equal keys": b"task: quit\n" * 200_000,
        "many documents": b"---\n" * 1_000_000,
        "many anchors": b"[" + b"".join(b"&a%d x," % number for number in range(200_000)) + b"]",
        "many directives": b"%TAG !a%d! !\n" * 100_000 + b"---\ntask: quit",
        "a long name": b"task: " + b"x" * (LARGEST - 6),
        "a long quoted name": b'task: "' + b"\\x41" * 1_000_000 + b'"',
        "a long comment": b"#" * LARGEST,
        "a long number": b"task: start vm\nvm-configurations: [{vcpus: " + b"9" * 1_000_000 + b"}]",
        "a long octal": b"task: start vm\nvm-configurations: [{vcpus: " + b"0" * 1_000_000 + b"1}]",
        "a long fraction": b"cores: [0]\nresult: 0." + b"3" * 1_000_000,
        "spaces": b" " * LARGEST,
        "line breaks": b"\n" * LARGEST,
        "tabs": b"\t" * LARGEST,
        "all private characters": "".join(map(chr, range(0xE000, 0xF900))).encode() + b"\x01",
        "too large": b"x" * (LARGEST + 1),
        "folded": b"task: >\n" + b" x\n" * 1_000_000,
        "quotes": b"'" * LARGEST,
        "escapes": b'"' + b"\\" * LARGEST,
        "colons": b": " * 1_000_000,
        "open quotes": b"[" + b'"a":' * 500_000,
        "tags": b"!a" * 1_000_000 + b" x",
        "odd characters": "\x85\u2028\x01".encode() * 200_000,
        "cpus": b"task: repin vm\nvm-name: a\nvcpu-map: [" + b"[0],[1]," * 40_000 + b"]",
    }


BOMBS = bombs()


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_do_not_go_off(name: str) -> None:
    quick(partial(decode, BOMBS[name], TASK))


@pytest.mark.parametrize("name", ["a billion laughs", "many values", "a long name", "odd characters"])
def test_bombs_take_little_memory(name: str) -> None:
    with peak_memory() as peak, suppress(DecodeError):
        decode(BOMBS[name], TASK)
    assert peak.bytes < BYTES


def test_what_is_just_small_enough_is_read() -> None:
    """The bounds are no tighter than they say."""
    rows = (MOST_NODES - 7) // 2
    payload = b"task: repin vm\nvm-name: a\nvcpu-map: [" + b",".join([b"[0]"] * rows) + b"]"
    assert decode(payload, TASK)
    with pytest.raises(DecodeError, match=r"expected at most 100,000 values, found more"):
        decode(payload[:-1] + b",[0]]", TASK)
    deep = b"x: " + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"\ntask: quit"
    assert decode(deep, TASK)
    with pytest.raises(DecodeError, match="more than 64 deep"):
        decode(deep.replace(b"[", b"[[", 1), TASK)
    shared = b"a: &a [1,2]\ntask: repin vm\nvm-name: b\nvcpu-map: [*a, *a]"
    assert decode(shared, TASK)
