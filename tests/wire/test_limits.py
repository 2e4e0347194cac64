"""Limits that stand in two places, as the native engine cannot ask Python for them."""

from __future__ import annotations

import re

from support import ROOT

from batprotocol.wire import json


def test_the_engines_leave_the_same_texts_to_the_careful_writer() -> None:
    source = (ROOT / "batprotocol" / "wire" / "native" / "write_json.c").read_text()
    found = re.search(r"#define MOST_TEXT \(\(size_t\)1 << (\d+)\)", source)
    assert found
    assert 1 << int(found[1]) == json.MAX_TEXT
