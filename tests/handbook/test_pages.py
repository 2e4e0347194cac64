"""Every block of code in the handbook runs, and every command prints what the handbook shows (`stories` tells how)."""

from __future__ import annotations

from pathlib import Path

import pytest
from stories import DOCS, blocks, run_page

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

PAGES = sorted(page for page in DOCS.rglob("*.md") if any(blocks(page)))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in PAGES])
def test_page(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path) > 0
