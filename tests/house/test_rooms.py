"""Whoever looks for a place finds it: no file is too long, and texts about modules name modules that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest
from support import ROOT

WITHOUT_ENGINE = True

LIBRARY = ROOT / "batprotocol"
PACKAGES = sorted(path.parent for path in LIBRARY.rglob("__init__.py"))
OUTSIDE = [ROOT, ROOT / "generated"]
ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"

_QUOTED = re.compile(r"(?<!`)`(\w+(?:[./]\w+)*/?)`(?!`)")
"""Words that may be a module, a file or a folder, with points or slashes between them."""
_PUBLIC = re.compile(r"^ *__all__\b[^\n]*?= [\[(](.*?)[\])]$", re.DOTALL | re.MULTILINE)

NO_MODULES = {
    "_native": "a module in C",
    "allow_nan": "an argument of strategies",
    "batproto": "the program",
    "commands.json": "a file of each package that has commands",
    "click": "a package of others",
    "gymnasium.make_vec": "a function of others",
    "report": "an attribute of translators",
    "rich": "a package of others",
    "task": "a key of FaST",
    "tcpdump": "a program of others",
    "unfinished.tar": "a file of recordings",
}
"""Words in backticks, in lower case, that are neither modules nor public names nor commands."""


@cache
def names_in(folder: Path) -> frozenset[str]:
    """The modules, files and folders in a package, and the names in `__all__` of its modules."""
    inside = [path for path in folder.iterdir() if path.name != "__pycache__"]
    texts = [path.read_text() for path in inside if path.suffix == ".py"]
    public = {name for text in texts for names in _PUBLIC.findall(text) for name in re.findall(r'"(\w+)"', names)}
    return frozenset(public | {path.name.removesuffix(".py") for path in inside})


@cache
def commands() -> frozenset[str]:
    """The names of all commands of the library."""
    listed = [msgspec.json.decode(path.read_bytes()) for path in LIBRARY.rglob("commands.json")]
    return frozenset(name for each in listed for name in each.get("commands", ()))


def unknown(text: str, folders: list[Path]) -> list[str]:
    """The words of a text that are written as a module, and are none in these folders, nor another known name."""

    def is_known(word: str) -> bool:
        if word.endswith("/"):
            return any((each / word).is_dir() for each in folders)
        *parents, last = word.removeprefix("batprotocol.").replace("/", ".").split(".")
        places = [each.joinpath(*parents) for each in folders]
        return any(last in names_in(each) for each in places if each.is_dir()) or any(
            (each / word).exists() for each in folders
        )

    words = {word for word in _QUOTED.findall(text) if word == word.lower() and not word.isdecimal()}
    return sorted(word for word in words - commands() - NO_MODULES.keys() if not is_known(word))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_docstring_of_a_package_names_what_exists(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    assert unknown(text, [package, LIBRARY, *OUTSIDE]) == []


def test_the_architecture_names_what_exists() -> None:
    assert unknown(ARCHITECTURE.read_text(), [LIBRARY, *PACKAGES, *OUTSIDE]) == []


def test_the_recipes_name_files_that_exist() -> None:
    """A name with capitals stands for others."""
    words = {word for word in _QUOTED.findall((ROOT / "CONTRIBUTING.md").read_text()) if word == word.lower()}
    folders = ("batprotocol", "docs", "generated", "schema", "tests", "tools")
    there = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.*")]
    there += [f"/{path.name}" for path in ROOT.iterdir()]
    named = {word for word in words if word.endswith((".py", ".json", ".md", ".toml", ".txt"))}
    assert sorted(word for word in named if not any(path.endswith(f"/{word}") for path in there)) == []


def test_a_name_that_does_not_exist_is_found() -> None:
    text = "`rules` has them, `attending` calls `sites.logs`, `sites.records`, `jobs/`, `RULES` and `check`."
    assert unknown(text, [LIBRARY / "conversation", LIBRARY]) == ["attending", "jobs/", "sites.records"]


def test_no_file_that_is_written_by_hand_is_long() -> None:
    kept = [path for folder in ("batprotocol", "examples", "tests", "tools") for path in (ROOT / folder).rglob("*")]
    written = [path for path in kept if path.suffix in (".py", ".c", ".h") and path.is_file()]
    assert [str(path.relative_to(ROOT)) for path in written if len(path.read_text().splitlines()) > 800] == []


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """The second one could not be imported, but only where both are: a test, or a module that tests import."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.stem not in ("__init__", "conftest"))
    assert [name for name, count in names.items() if count > 1] == []
