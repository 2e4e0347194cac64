"""Every block of code in the handbook and the README runs, and prints what they show (`stories` tells how)."""

from __future__ import annotations

from pathlib import Path

import pytest
from stories import DOCS, blocks, run_page
from support import ROOT

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

PAGES = sorted(page for page in [ROOT / "README.md", *DOCS.rglob("*.md")] if any(blocks(page)))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_page(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path) > 0
