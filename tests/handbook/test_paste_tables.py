"""Measured tables go to the page that has them, and nothing else of the page changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

import paste_tables

WITHOUT_ENGINE = True

PAGE = "# Speed\n\nSets of hosts, of 10:\n\n| x | ns |\n|---|---:|\n| old | 1 |\n\nMore text.\n"
NEW = "Sets of hosts, of 10:\n\n| x | ns |\n| - | -: |\n| new | 2 |\n"
OTHER = "Turns, in µs:\n\n| x | µs |\n| - | -: |\n| y | 3 |\n"


def test_tables_are_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "docs" / "explanation"
    docs.mkdir(parents=True)
    (docs / "engines.md").write_text(PAGE)
    (docs / "time.md").write_text("# Time\n")
    (tmp_path / "measured.txt").write_text(f"measured: something\n{NEW}\n{OTHER}")
    assert paste_tables.main([str(tmp_path / "measured.txt"), "--docs", str(tmp_path / "docs")]) == 0
    assert (docs / "engines.md").read_text() == PAGE.replace("|---|---:|", "| - | -: |").replace("old | 1", "new | 2")
    assert (docs / "time.md").read_text() == "# Time\n"
    assert capsys.readouterr().err == "on no page: Turns, in µs:\n"


def test_nothing_to_paste_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "measured.txt").write_text(OTHER)
    assert paste_tables.main([str(tmp_path / "measured.txt"), "--docs", str(tmp_path)]) == 1


def test_the_page_of_speed_has_what_benchmarks_print() -> None:
    """The titles of tables that benchmarks print are those of the page: else nothing would be pasted."""
    printed = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tools" / "benchmark").glob("*.py"))
    titles = paste_tables.tables((paste_tables.DOCS / "explanation" / "engines.md").read_text(encoding="utf-8"))
    assert len(titles) > 10
    for title in titles:
        if not title.startswith(("Decode, ", "Encode, ", "Importing, ")):
            assert title.partition(", of 10,000")[0].partition(", on 1,000")[0].partition(", 1,000")[0] in printed, (
                title
            )
