"""The files in C of each folder stand one below the other: none calls one that calls it."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from support import ROOT

WITHOUT_ENGINE = True

_COMMENTS = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_DEFINED = re.compile(r"^(?!static\b)\w.*\n(\w+)\([^;{]*\)\n\{", re.MULTILINE)
"""A function that other files may call: its type, its name, its arguments, its body."""
FOLDERS = sorted({path.parent for path in (ROOT / "batprotocol").rglob("*.c")})


def calls(folder: Path) -> dict[str, set[str]]:
    """Which files call which others."""
    texts = {path.name: _COMMENTS.sub("", path.read_text()) for path in folder.glob("*.c")}
    shared = {name: file for file, text in texts.items() for name in _DEFINED.findall(text)}
    return {
        file: {shared[word] for word in set(re.findall(r"\b\w+\b", text)) & shared.keys()} - {file}
        for file, text in texts.items()
    }


def test_there_are_such_folders() -> None:
    assert ROOT / "batprotocol" / "edc" / "embedded" in FOLDERS
    assert calls(ROOT / "batprotocol" / "edc" / "embedded")["library.c"] >= {"interpreter.c", "report.c", "stack.c"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT / "batprotocol")))
def test_no_file_calls_one_that_calls_it(folder: Path) -> None:
    TopologicalSorter(calls(folder)).prepare()
