"""Limits of what is written: how long a text will be is foreseen, and the engines have the same limit."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Writer
from support import ROOT

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.model import (
    AllocationPlacement,
    Doubles,
    ExecuteJobEvent,
    Message,
    ProfileAllocationPlacement,
    RejectJobEvent,
    StorageHost,
)
from batprotocol.wire import decode, detect, engine, json, reader

WITHOUT_ENGINE = True

EVENTS = (
    RejectJobEvent(job_id="w0!1"),
    ExecuteJobEvent(
        job_id="w0!2",
        allocation=AllocationPlacement("0-3"),
        profile_allocation_override=[ProfileAllocationPlacement("w0!p", "0")] * 3,
        storage_placement=[StorageHost("pfs", 1), StorageHost("nfs", 2)],
    ),
    RejectJobEvent(job_id="w0!3"),
)


def test_the_engines_leave_the_same_texts_to_the_careful_writer() -> None:
    source = (ROOT / "batprotocol" / "wire" / "native" / "write_json.c").read_text()
    found = re.search(r"#define MOST_TEXT \(\(size_t\)1 << (\d+)\)", source)
    assert found
    assert 1 << int(found[1]) == json.MAX_TEXT


def test_a_flatbuffer_is_no_larger_than_its_offsets_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the C++ library has it: 2 GiB, here with another number."""
    message = Message(1.0, (RejectJobEvent(job_id="w0!1"),))
    data = engine.encode(message)
    monkeypatch.setattr(reader, "MAX_SIZE", len(data))
    assert engine.encode(message) == data
    assert reader.read(data)["now"] == 1.0
    for less in 1, 2, 30:
        monkeypatch.setattr(reader, "MAX_SIZE", len(data) - less)
        with pytest.raises(EncodeError, match="a flatbuffer has at most"):
            engine.encode(message)
        with pytest.raises(DecodeError, match="a flatbuffer has at most"):
            reader.read(data)


def test_tables_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once for each way to it, as the C++ library's verifier does. The limit is a million; here it is less."""
    message = Message(1.0, EVENTS)

    def tables(tree: object) -> int:
        below = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ()
        return isinstance(tree, dict) + sum(map(tables, below))

    data = engine.encode(message)
    monkeypatch.setattr(reader, "MAX_TABLES", tables(reader.read(data)))
    reader.read(data)
    reader.read(Writer(shared=True).message(message))  # a text is no table, not even one that is there already
    monkeypatch.setattr(reader, "MAX_TABLES", reader.MAX_TABLES - 1)
    with pytest.raises(DecodeError, match="has more than"):
        reader.read(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<!DOCTYPE html>", "other text, '<!DOCTYPE html>'"),
        (b"[1,2]", "an array"),
        (b"[1,]", "an array"),
        (b"[]", "an array"),
        (b" [1]", "an array"),
        (b"3", "other text, '3'"),
        (b'"x"', "other text, '\"x\"'"),
        (b"null", "other text, 'null'"),
        (b"\xff\xff", None),
        (b"abc\xff\xfe\xfd\xfc\xfb\xfa\xf9", None),
        (b"\x10\x00\x00\x00\x01\x02\x03\x04", None),
        ("{}".encode("utf-16"), "text in UTF-16, '{}'"),
        ("{ }".encode("utf-16-le"), "text in UTF-16, '{ }'"),
        ("{ }".encode("utf-16-be"), "text in UTF-16, '{ }'"),
        ("{".encode("utf-16-le"), None),
    ],
)
def test_text_in_disguise_is_told(data: bytes, text: str | None) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(data)
    told = refused.value.reason.partition("this is ")[2]
    assert told == (text or ""), refused.value


@pytest.mark.parametrize(("prefix", "format"), [(b"{\x01\0\0", "binary"), (b"/\x01\0\0", "binary"), (b'{"no', "json")])
def test_what_begins_like_json_may_be_a_flatbuffer(prefix: bytes, format: str) -> None:
    """Whose first four bytes tell where its root table is, which is no further away than its end."""
    assert detect(prefix.ljust(500, b"\0")) == format
    assert detect(prefix.ljust(16, b"\0")) == "json"


@pytest.mark.parametrize("text", ["a text of far more than 20 characters", "twenty characters..."])
def test_of_other_texts_the_beginning_is_shown(text: str) -> None:
    for data, kind in ((text.encode(), "other text"), (text.encode("utf-16"), "text in UTF-16")):
        with pytest.raises(DecodeError) as refused:
            decode(data)
        assert refused.value.reason.endswith(f"this is {kind}, {text[:20]!r}")


short = st.integers(0, 9) | st.text("abc ", max_size=5)
short |= st.lists(st.just(0.0), max_size=4).map(Doubles)
trees = st.dictionaries(
    st.text("xyz", max_size=3),
    st.recursive(
        short,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", max_size=3), inner, max_size=4),
    ),
)


@given(trees, st.sampled_from([None, 0, 1, 3]))
def test_the_size_of_a_text_is_foreseen(tree: dict[str, Any], indent: int | None) -> None:
    """Exactly where numbers are short and nothing is escaped, but for line ends and blanks before closing brackets."""
    lines = json.text(tree, indent).splitlines()
    foreseen, _ = json._least_size(tree, indent or 0, {})
    assert foreseen == sum(len(line.lstrip() if line.strip()[0] in "]}" else line) for line in lines)
