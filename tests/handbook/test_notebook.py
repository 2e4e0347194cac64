"""The notebook among the examples runs, and shows what is kept in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import notebooks
import pytest
from nbformat import NotebookNode
from support import ROOT

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

NOTEBOOK = ROOT / "examples" / "compare.ipynb"
MOST_BYTES = 150_000


def shown(notebook: NotebookNode) -> list[list[dict[str, Any]]]:
    """What each cell shows: texts without tags and spaces, and of figures that they are there."""
    return [[dict(_texts(output)) for output in cell.get("outputs", [])] for cell in notebook.cells]


def _texts(output: NotebookNode) -> list[tuple[str, str]]:
    found = dict(output.get("data", {})) or {"text/plain": output["text"]}
    return [
        (kind, "" if kind.startswith("image/") else re.sub(r"<[^>]*>|\s", "", text)) for kind, text in found.items()
    ]


def test_the_notebook_shows_what_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    kept = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(kept)
    ran = nbformat.read(NOTEBOOK, as_version=4)
    (tmp_path / "here").mkdir()
    notebooks.run(ran, tmp_path / "here")
    assert shown(ran) == shown(kept)
    assert sum("image/png" in output for cell in shown(kept) for output in cell) == 2


def test_the_notebook_is_small() -> None:
    assert NOTEBOOK.stat().st_size < MOST_BYTES
