"""What the handbook lists of schedulers for FaST is all that there is. Its blocks are run by tests/handbook."""

from __future__ import annotations

import re

from support import ROOT

from batprotocol.fast.runtime.scheduler import _CALLED

WITHOUT_ENGINE = True
DOCUMENT = (ROOT / "docs" / "howto" / "use-fast.md").read_text()


def test_all_methods_are_documented() -> None:
    (table,) = re.findall(r"^\| method \|.*?\n\n", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(main|on_\w+)`", table)) == set(_CALLED)
