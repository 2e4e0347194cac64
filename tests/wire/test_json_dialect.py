"""The dialect of JSON: what the flatbuffers C++ library, and so Batsim, accepts and refuses, we do too.

The oracles are Batsim's recorded verdicts, and flatc, which is the same parser. Three things are flatc's alone, and
left out: its trigonometric functions (`rad(180)`), which nobody writes; its refusal of files with a NUL, where Batsim
stops reading; and that it leaves out fields equal to their default, and so takes -0.0 for 0.0.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dialect import GROUPS
from engines import each_engine
from exact import exact, unsigned_zero
from flatc import needs_known_flatc, to_binaries, to_binary
from hypothesis import given
from hypothesis import strategies as st
from support import SHARED

from batprotocol.errors import DecodeError
from batprotocol.model import Message
from batprotocol.testing import strategies as bat
from batprotocol.wire import frames

VERDICTS = SHARED / "verdicts" / "batsim-5.0.0-rc2.jsonl.xz"


def ours(text: bytes) -> tuple[Any, str]:
    """What we make of a text, in a form in which NaN is itself and -0.0 is 0.0; or None and what we say against it."""
    try:
        return exact(Message.from_json(text), unsigned_zero), ""
    except DecodeError as error:
        return None, str(error)


def theirs(texts: Sequence[bytes]) -> list[tuple[Any, str]]:
    """The same of flatc: one call for all that we can read, unless it refuses one of them, and one for each other."""
    readable = [text for text in texts if ours(text)[0] is not None]
    try:
        known = dict(zip(readable, to_binaries(readable), strict=True))
    except AssertionError:
        known = {}
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda text: (known[text], "") if text in known else to_binary(text), texts)
        return [
            (None if data is None else exact(Message.from_binary(data), unsigned_zero), said) for data, said in made
        ]


def disagreements(texts: Sequence[bytes]) -> list[str]:
    """What flatc and an engine make of the texts of which they do not make the same."""
    found = []
    flatc_says = theirs(texts)
    for engine in each_engine():
        for text, (expected, said) in zip(texts, flatc_says, strict=True):
            value, say = ours(text)
            if value != expected:
                found.append(f"{text!r}\n   flatc: {said or expected}\n   {engine}: {say or value}"[:2000])
    return found


def for_flatc(group: str) -> list[bytes]:
    return [text for text in GROUPS[group] if b"\0" not in text]


@pytest.mark.slow
@needs_known_flatc
@pytest.mark.parametrize("group", GROUPS)
def test_flatc_agrees(group: str) -> None:
    """On all that we can read, and on every sixteenth of the others, others in each group, as each takes a process."""
    texts = for_flatc(group)
    refused = [text for text in texts if ours(text)[0] is None]
    asked = set(refused[list(GROUPS).index(group) % 16 :: 16])
    different = disagreements([text for text in texts if text in asked or text not in refused])
    assert not different, "\n".join(different)


@pytest.mark.minutes
@needs_known_flatc
@pytest.mark.parametrize("group", GROUPS)
def test_flatc_agrees_on_all(group: str) -> None:
    different = disagreements(for_flatc(group))
    assert not different, "\n".join(different)


# Batsim's verdicts


def verdicts() -> list[Any]:
    if not VERDICTS.is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason="the recorded verdicts of Batsim are not here"))]
    conversations = map(json.loads, lzma.decompress(VERDICTS.read_bytes()).decode().splitlines())
    return [pytest.param(each, id=each["name"]) for each in conversations if each["name"].startswith("json: ")]


@pytest.mark.parametrize("conversation", verdicts())
def test_batsim_agrees(conversation: dict[str, Any]) -> None:
    """Of a reply that Batsim's parser refused, which is the last one, or accepted, whatever Batsim made of it then."""
    hello, *replies = [base64.b64decode(data) for direction, data in conversation["messages"] if direction == "e2b"]
    assert frames.decode_hello(hello).format == "json"
    unparsed = any("Could not parse" in error for error in conversation["errors"])
    assert unparsed <= (conversation["verdict"] == "refused")
    for _ in each_engine():
        for number, reply in enumerate(replies, 1):
            if unparsed and number == len(replies):
                with pytest.raises(DecodeError):
                    Message.from_json(reply)
            else:
                Message.from_json(reply)


# Texts with random changes

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+|\s+')
TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "{}",
    "[]",
    '""',
    '"x"',
    "'x'",
    "0",
    "1",
    "-1",
    "1.5",
    "1e3",
    "5.",
    "0x1F",
    "nan",
]
TOKENS += [
    "-inf",
    "null",
    "true",
    "false",
    '"1"',
    '"null"',
    "Second",
    '"Second"',
    '"NONE"',
    "\n",
    "/* c */",
    "// c\n",
    "//",
]
TOKENS += [
    '"now"',
    '"events"',
    '"event"',
    '"event_type"',
    '"timestamp"',
    '"job_id"',
    '"job"',
    '"walltime"',
    '"wrong"',
    "'",
]
TOKENS += [
    '"OneShot"',
    '"RejectJobEvent"',
    '"SimulationEndsEvent"',
    "256",
    "4294967296",
    '"\\u00e9"',
    '"\\ud800"',
    "\\",
    '"',
]


@st.composite
def changed_texts(draw: st.DrawFn) -> bytes:
    """A message's text with a few tokens put in, taken away, put elsewhere or in the place of others."""
    text = draw(bat.messages(max_events=2)).to_json(draw(st.sampled_from((None, 1))))
    tokens = TOKEN.findall(text)
    if len(tokens) > 400:
        tokens = TOKEN.findall('{"now": 1.5,"events": []}')
    for _ in range(draw(st.integers(1, 3))):
        place, other = draw(st.integers(0, len(tokens) - 1)), draw(st.integers(0, len(tokens) - 1))
        change = draw(st.sampled_from(("insert", "delete", "replace", "swap", "repeat", "move a field")))
        if change == "insert":
            tokens.insert(place, draw(st.sampled_from(TOKENS)))
        elif change == "delete" and len(tokens) > 1:
            del tokens[place]
        elif change == "replace":
            tokens[place] = draw(st.sampled_from(TOKENS))
        elif change == "swap":
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif change == "repeat":
            tokens[place:place] = tokens[min(place, other) : max(place, other) + 1][:20]
        else:
            tokens.insert(place, tokens.pop(other))
    return "".join(tokens).encode()


@pytest.mark.slow
@needs_known_flatc
@given(changed_texts())
def test_flatc_agrees_on_changed_texts(text: bytes) -> None:
    different = disagreements([text])
    assert not different, different[0]
