"""The command that builds the handbook says in a sentence what it lacks, and builds right whatever was built before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from handbook import checking, pages
from handbook.markers import replaced

import docs

WITHOUT_ENGINE = True


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "_NEEDED", ("json", "no_such_theme"))
    with pytest.raises(SystemExit, match=r"^no_such_theme is not installed: pip install -e '\.\[docs\]'$"):
        docs.main([])


def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    with pytest.raises(SystemExit, match="is not empty, and is not a handbook"):
        docs.emptied(tmp_path, fresh=True)
    assert (tmp_path / "html").exists()
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"cannot be written to .*/file: File exists$"):
        docs.emptied(tmp_path / "file", fresh=False)


@pytest.mark.parametrize(
    "line",
    [
        "<!-- generated:event -->",
        "<!--generated: event -->",
        "<!-- Generated: event -->",
        "see <!-- generated: event -->",
    ],
)
def test_a_misspelt_marker_is_no_comment(line: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a line '<!-- generated: NAME ARGUMENT -->' and nothing else, got"):
        replaced(f"# Title\n\n{line}\n", lambda name, argument: "")


def test_what_cannot_be_generated_is_told() -> None:
    with pytest.raises(ValueError, match=r"^no part is called 'evnt'; use one of event,"):
        pages.completed("page", "<!-- generated: evnt -->")
    with pytest.raises(ValueError, match=r"^'rules tody' cannot be generated: KeyError: 'tody'$"):
        pages.completed("page", "<!-- generated: rules tody -->")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*MystReferenceResolver.app:PendingDeprecationWarning")
def test_links_lead_to_what_comes_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx", reason="there is no sphinx here (pip install 'batprotocol[docs]')")
    folder, place = tmp_path / "docs", tmp_path / "built"
    folder.mkdir()
    (folder / "conf.py").write_text(
        'extensions = ["myst_parser", "handbook"]\n'
        "myst_heading_anchors = 3\n"
        'suppress_warnings = ["myst.xref_missing"]\n'
    )
    links = "[later](other.md), [there](other.md#there)\n\n```{toctree}\n:glob:\n\n*\n```\n"
    (folder / "index.md").write_text(f"# Index\n\n{links}")
    (folder / "more.md").write_text("# More\n\n[later](other.md), [there](other.md#there)\n")
    monkeypatch.setattr(docs, "ROOT", tmp_path)

    def wrong() -> int:
        docs.emptied(place, fresh=False)
        assert docs.built("html", place)
        return len(checking.problems(place / "html"))

    assert wrong() > 0
    (folder / "other.md").write_text("# Other\n")
    assert wrong() == 2
    (folder / "other.md").write_text("# Other\n\n## There\n")
    assert wrong() == 0
    (folder / "other.md").unlink()
    assert wrong() > 0
    assert not (place / "html" / "other.html").exists()
