"""Limits of what is written: how long a text will be is foreseen, and the engines have the same limit."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from batprotocol.wire import json

WITHOUT_ENGINE = True


def test_the_engines_leave_the_same_texts_to_the_careful_writer() -> None:
    source = (ROOT / "batprotocol" / "wire" / "native" / "write_json.c").read_text()
    found = re.search(r"#define MOST_TEXT \(\(size_t\)1 << (\d+)\)", source)
    assert found
    assert 1 << int(found[1]) == json.MAX_TEXT


short = st.integers(0, 9) | st.text("abc ", max_size=5)
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
