"""Files of users as modules: what stays of a file that fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from batprotocol._util.user_code import module_in

WITHOUT_ENGINE = True


def test_a_file_that_fails_leaves_no_module(tmp_path: Path) -> None:
    path = tmp_path / "fails_at_once.py"
    path.write_text("begun = True\nraise ValueError('no')\n")
    with pytest.raises(ValueError, match="no"):
        module_in(str(path))
    assert "fails_at_once" not in sys.modules
    path.write_text("begun = False\n")
    assert module_in(str(path)).begun is False
    assert sys.modules.pop("fails_at_once").begun is False
