"""The fast ways of the engines to read plain JSON, against the reader of the whole dialect, which has the last word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import recorded_messages

from batprotocol import Message
from batprotocol.testing.strategies import messages
from batprotocol.wire import binary, dialect, json, tree

TOKENS = b'" \\ { } [ ] , : 1 - . e9 null NaN \x00 \xc3\xa9 \xff \\ud800 \\u00e9 5.0 99999999999999999999'.split(b" ")


@pytest.mark.parametrize("engine", binary.ENGINES)
@given(messages(chronological=False, allow_nan=True), st.data())
def test_what_is_taken_for_plain_is_read_as_the_dialect_reads_it(
    engine: str, message: Message, draw: st.DataObject
) -> None:
    text = bytearray(json.dumps(message, allow_late_events=True).encode())
    edits = st.tuples(st.integers(0, len(text)), st.integers(0, 3), st.sampled_from(TOKENS))
    for place, gone, token in draw.draw(st.lists(edits, max_size=3)):
        text[place : place + gone] = token
    found = binary.engine(engine).decode_json(bytes(text))
    if found is not None:
        assert repr(tree.to_message(dialect.read(bytes(text), True, None))) == repr(found)


@pytest.mark.parametrize("engine", binary.ENGINES)
def test_all_that_batsim_writes_is_plain(engine: str) -> None:
    read = binary.engine(engine).decode_json
    texts = [recorded.data for recorded in recorded_messages() if recorded.is_json]
    assert texts
    assert all(read(text) is not None for text in texts)
