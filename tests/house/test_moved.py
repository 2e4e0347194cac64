"""What version 0.2 documented can still be imported from where it was, with a warning if it has moved."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec

import pytest
from support import DATA, ROOT

from batprotocol._util.moved import MOVED

WITHOUT_ENGINE = True

PUBLIC = dict(line.split(": ", 1) for line in (DATA / "public_0_2.txt").read_text().splitlines())
"""The names of each documented module of version 0.2."""


@pytest.mark.parametrize("module", PUBLIC)
def test_documented_names_are_where_they_were(module: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = import_module(module)
        assert [name for name in PUBLIC[module].split() if not hasattr(found, name)] == []


IMPORTS = """
import json, sys, warnings
from batprotocol._util.moved import MOVED
found = {}
for old, new in MOVED.items():
    for name, module in list(sys.modules.items()):
        if type(getattr(getattr(module, "__spec__", None), "loader", None)).__name__ == "_OldName":
            del sys.modules[name]
    names = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(f"import batprotocol.{old} as old", "the line of the user", "exec"), names)
        exec(f"import batprotocol.{new} as new", names)
    is_equal = names["old"].__all__ == getattr(names["new"], "__all__", names["old"].__all__)
    found[old] = is_equal, [(each.category.__name__, str(each.message), each.filename) for each in caught]
print(json.dumps(found))
"""
"""Imports each old name, after the old names that others left are gone, in one process for all of them."""


@pytest.fixture(scope="module")
def imported() -> dict[str, tuple[bool, list[list[str]]]]:
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, tuple[bool, list[list[str]]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_warns_of_the_new_one(old: str, imported: dict[str, tuple[bool, list[list[str]]]]) -> None:
    assert find_spec(f"batprotocol.{MOVED[old]}") is not None
    is_equal, told = imported[old]
    assert is_equal
    sentence = f"batprotocol.{old} is deprecated: use batprotocol.{MOVED[old]} instead"
    assert ["DeprecationWarning", sentence, "the line of the user"] in told


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'batprotocol\.captures'"):
        import_module("batprotocol.captures")
    with pytest.raises(ModuleNotFoundError):
        import_module("batprotocol.capture.nothing")
