"""Who enters a room of more than ten modules is told which way the data take through it, past all its modules."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from support import ROOT

WITHOUT_ENGINE = True

PACKAGE = ROOT / "batprotocol"
MIRROR = PACKAGE / "testing" / "strategies"
"""A room that has the modules of another one, one for one, and needs no words for them."""


def modules_of(room: Path) -> list[str]:
    """The modules and folders of a room."""
    files = [path.stem for path in room.glob("*.py") if path.stem not in ("__init__", "__main__")]
    return files + [path.parent.name for path in room.glob("*/__init__.py")]


ROOMS = [
    room
    for room in sorted({path.parent for path in PACKAGE.rglob("__init__.py")})
    if len(modules_of(room)) > 10 and room != MIRROR
]


def test_there_are_such_rooms() -> None:
    assert PACKAGE / "wire" in ROOMS


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_the_docstring_of_a_large_room_names_its_modules(room: Path) -> None:
    words = set(re.findall(r"[\w]+", ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""))
    assert [name for name in modules_of(room) if name not in words] == []


def test_no_file_that_is_written_by_hand_is_long() -> None:
    kept = [path for folder in ("batprotocol", "examples", "tests", "tools") for path in (ROOT / folder).rglob("*")]
    written = [path for path in kept if path.suffix in (".py", ".c", ".h") and path.is_file()]
    assert [str(path.relative_to(ROOT)) for path in written if len(path.read_text().splitlines()) > 500] == []


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """The second one could not be imported, but only where both are: a test, or a module that tests import."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.stem not in ("__init__", "conftest"))
    assert [name for name, count in names.items() if count > 1] == []
