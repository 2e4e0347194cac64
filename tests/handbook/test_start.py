"""What the tutorial tells that is kept elsewhere, too."""

from __future__ import annotations

import re
import sys

from stories import DOCS
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WITHOUT_ENGINE = True

FOR_DEVELOPERS = {"bench", "dev", "docs", "mutants"}


def test_all_extras_for_users_are_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = re.findall(r"^\| `(\w+)` \|", (DOCS / "start" / "install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(told) == sorted(project["optional-dependencies"].keys() - FOR_DEVELOPERS)
