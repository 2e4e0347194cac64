"""Old public names work, and each use of one names the new one."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

import msgspec
import pytest

from batprotocol._util.deprecation import OldName, old_arguments, old_names

WITHOUT_ENGINE = True


class Progress:
    done = OldName("completed")
    left = OldName("remaining")
    completed = 3

    def remaining(self, extra: int = 0) -> int:
        return 4 + extra


class Value(msgspec.Struct, frozen=True):
    completed: int
    done = OldName("completed")


def test_attributes_and_methods_of_old_names() -> None:
    with pytest.warns(DeprecationWarning, match=r"^Progress\.done is deprecated: use Progress\.completed instead$"):
        assert Progress().done == 3
    with pytest.warns(DeprecationWarning, match=r"Progress\.left .* Progress\.remaining") as caught:
        assert Progress().left(1) == 5
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="Progress"):
        assert Progress.done == 3
    with pytest.warns(DeprecationWarning, match="Value"):
        assert Value(completed=7).done == 7
    assert Value.__struct_fields__ == ("completed",)


def test_names_of_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("renaming")
    module.New = object()
    module.__getattr__ = old_names("renaming", {"Old": "New"})
    monkeypatch.setitem(sys.modules, "renaming", module)
    with pytest.warns(DeprecationWarning, match=r"^renaming\.Old is deprecated: use renaming\.New instead$") as caught:
        assert module.Old is module.New
    assert caught[0].filename == __file__
    with pytest.raises(AttributeError, match="module 'renaming' has no attribute 'Older'"):
        _ = module.Older


def test_arguments_of_old_names() -> None:
    @old_arguments(badness="factor")
    def stretched(time: float, factor: float = 1) -> float:
        return time * factor

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stretched(2, factor=3) == stretched(2, 3) == 6
    old: Any = stretched
    message = r"^the argument 'badness' of stretched\(\) is deprecated: use 'factor' instead$"
    with pytest.warns(DeprecationWarning, match=message) as caught:
        assert old(2, badness=3) == 6
    assert caught[0].filename == __file__
    with pytest.raises(TypeError, match="got both 'factor' and 'badness', its old name"):
        old(2, factor=3, badness=3)
