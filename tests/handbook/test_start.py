"""What readers of the tutorial have to know is told, and is what is kept elsewhere."""

from __future__ import annotations

import re
import sys

from stories import DOCS, blocks
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from handbook.captions import captioned

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


def test_all_files_have_their_names_above_them() -> None:
    shown = 0
    for page in DOCS.rglob("*.md"):
        files = [block.said["file"] for block in blocks(page) if "file" in block.said]
        told = captioned(page.read_text(encoding="utf-8"))
        assert re.findall(r"^```+\{code-block\} \w+\n:caption: (.+)\n\n", told, re.MULTILINE) == files, page
        shown += len(files)
    assert shown > 10


def test_no_page_installs_what_pip_does_not_find() -> None:
    """`pip install 'batprotocol[...]'` finds nothing without a release; with `@ git+URL`, it does."""
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for line in page.read_text(encoding="utf-8").splitlines():
            if re.search(r"pip install [^`]*batprotocol", line):
                assert " @ git+" in line, f"{page.name}: {line}"
