"""What version 0.2 documented can still be imported from where it was, with a warning if it has moved."""

from __future__ import annotations

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


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_warns_of_the_new_one(old: str) -> None:
    assert find_spec(f"batprotocol.{MOVED[old]}") is not None
    code = f"""import batprotocol.{old} as old
import batprotocol.{MOVED[old]} as new
print(old.__all__ == getattr(new, '__all__', old.__all__))"""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert done.stderr.startswith("<string>:1: DeprecationWarning: ")
    assert f"batprotocol.{old} is deprecated: use batprotocol.{MOVED[old]} instead" in done.stderr


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'batprotocol\.captures'"):
        import_module("batprotocol.captures")
    with pytest.raises(ModuleNotFoundError):
        import_module("batprotocol.capture.nothing")
