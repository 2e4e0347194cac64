"""Who enters a room of more than ten modules is told which way the data take through it, past all its modules."""

from __future__ import annotations

from collections import Counter

from support import ROOT

WITHOUT_ENGINE = True


def test_no_file_that_is_written_by_hand_is_long() -> None:
    kept = [path for folder in ("batprotocol", "examples", "tests", "tools") for path in (ROOT / folder).rglob("*")]
    written = [path for path in kept if path.suffix in (".py", ".c", ".h") and path.is_file()]
    assert [str(path.relative_to(ROOT)) for path in written if len(path.read_text().splitlines()) > 800] == []


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """The second one could not be imported, but only where both are: a test, or a module that tests import."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.stem not in ("__init__", "conftest"))
    assert [name for name, count in names.items() if count > 1] == []
