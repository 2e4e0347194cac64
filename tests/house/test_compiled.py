"""What mypyc compiles into wheels: only what it can, and all that is said to be."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import sysconfig
from pathlib import Path

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from compiled import BUNDLES, FLAGS, MODULES, PLAIN, VARIABLE, bundles, is_wanted, requirements

WITHOUT_ENGINE = True

MARK = "mypyc_attr(serializable=True, allow_interpreted_subclasses=True)"


@pytest.mark.parametrize("name", [*MODULES, *sorted(PLAIN)])
def test_there_is_such_a_module(name: str) -> None:
    assert (ROOT / "batprotocol" / name).is_file()


@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_lost(name: str) -> None:
    """mypyc leaves out the arguments of a class statement, such as a Struct's `frozen=True`, without a word."""
    tree = ast.parse((ROOT / "batprotocol" / name).read_text())
    assert not [each.name for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.keywords]


@pytest.mark.parametrize(
    "name", [name for name in MODULES if not name.startswith("wire/")]
)  # readers live for one call
def test_what_is_copied_says_so(name: str) -> None:
    """A compiled class that is made with arguments can be copied and pickled, as simulators are, if it says so.

    So can classes derived from one that does. A reader of `wire` lives for one call. One that may not be derived from
    either has fields without values when it is made by what is not compiled, such as a policy.
    """
    tree = ast.parse((ROOT / "batprotocol" / name).read_text())
    bad = []
    for each in tree.body:
        if not isinstance(each, ast.ClassDef):
            continue
        made = [part for part in each.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
        wanted = made and len(made[0].args.args) > 1 + len(made[0].args.defaults)
        derived = any(isinstance(base, ast.Name) for base in each.bases) and not name.startswith("policies/")
        if wanted and not derived and MARK not in map(ast.unparse, each.decorator_list):
            bad.append(each.name)
    assert not bad


@pytest.mark.parametrize("name", MODULES)
def test_names_can_be_read(name: str) -> None:
    """mypyc 2.4 takes a tuple that begins with a float for a name that was not set, whenever it reads it.

    So no `Final` name of a module is one, nor a float that is not a literal.
    """
    module = importlib.import_module("batprotocol." + name.removesuffix(".py").replace("/", "."))
    tree = ast.parse((ROOT / "batprotocol" / name).read_text())
    bad = []
    for each in tree.body:
        if not (isinstance(each, ast.AnnAssign) and "Final" in ast.unparse(each.annotation)):
            continue
        value = getattr(module, ast.unparse(each.target))
        first = value[0] if isinstance(value, tuple) and value else value
        literal = each.value.operand if isinstance(each.value, ast.UnaryOp) else each.value
        if isinstance(first, float) and not isinstance(literal, ast.Constant):
            bad.append(ast.unparse(each.target))
    assert not bad


def test_it_computes_as_python_does() -> None:
    """On some processors, a product and a sum would be rounded once, and results be others than those of the source."""
    assert sys.platform == "win32" or "-ffp-contract=off" in FLAGS


@pytest.mark.parametrize(("value", "wanted"), [("1", (True, True)), ("0", (False, False)), ("", (True, False))])
def test_it_can_be_chosen(monkeypatch: pytest.MonkeyPatch, value: str, wanted: tuple[bool, bool]) -> None:
    monkeypatch.setenv("BATPROTOCOL_COMPILED", value)
    assert (is_wanted(default=True), is_wanted(default=False)) == wanted


@pytest.mark.parametrize(("variable", "wanted"), [(None, False), ("0", False), ("1", True)])
def test_a_free_threaded_python_compiles_only_if_asked(
    variable: str | None, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    monkeypatch.delenv(VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    assert is_wanted(default=True) == wanted


def test_the_files_that_mypyc_writes_are_compiled_in_few_pieces(tmp_path: Path) -> None:
    sizes = {f"__native_{number}.c": 1000 * (number % 7) + number for number in range(30)}
    for name, size in sizes.items():
        (tmp_path / name).write_text(" " * size)
    made = [Path(name).read_text() for name in bundles([tmp_path / name for name in sizes])]
    assert sorted(re.findall(r'#include "(.+)"', "".join(made))) == sorted(sizes)
    each = [sum(sizes[name] for name in re.findall(r'#include "(.+)"', text)) for text in made]
    assert len(each) == BUNDLES
    assert max(each) < 1.5 * min(each)


@pytest.mark.parametrize(("value", "wanted"), [("0", []), ("1", ["mypy>=2"])])
def test_mypy_is_asked_for_where_it_compiles(monkeypatch: pytest.MonkeyPatch, value: str, wanted: list[str]) -> None:
    """pip downloads and unpacks it for each build that asks for it."""
    monkeypatch.setenv(VARIABLE, value)
    assert requirements() == wanted


def test_mypy_is_not_asked_for_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert requirements() == []
