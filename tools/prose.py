"""Check the wording of pages, docstrings, messages and help: plain technical English.

    python tools/prose.py                             # everything that users read
    python tools/prose.py docs/howto batprotocol/gym  # these folders only
    python tools/prose.py --count                     # the number of findings by check and by folder

`tools/wording/checks.py` lists the checks, with the words to write instead. Code in backticks is not checked. The exit
status is 0 if there is no finding, else 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wording.checks import OURS, TAKEN
from wording.extracting import CODE, END, compact, prose_of

if TYPE_CHECKING:
    from proselint.registry.checks import Check

ROOT = Path(__file__).resolve().parent.parent
READ = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "batprotocol", "examples", "tools")
"""The files and folders that users and contributors read."""

SUFFIXES = (".md", ".py")
SPACE = f" \n{END}"


class Finding(NamedTuple):
    """A wording to change, and its place. Lines and columns count from 1."""

    path: str
    line: int
    column: int
    check: str
    text: str
    message: str


def files_of(places: Sequence[str]) -> Iterator[Path]:
    """The files in the given places, which are relative to the root of the repository."""
    for place in places:
        path = ROOT / place
        if not path.exists():
            raise SystemExit(f"prose: {place} does not exist")
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in found if file.suffix in SUFFIXES and "build" not in _shown(file).parts)


def _shown(path: Path) -> Path:
    """A path as from the root of the repository, if it is in there."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def findings_in(name: str, prose: str) -> list[Finding]:
    """The findings in the prose of a file."""
    short = compact(f"\n{prose}\n")
    if not short.text.strip():
        return []
    found = []
    for check in _checks():
        for result in check.check_with_flags(short.text):
            begin, end = result.span
            if "\n\n" in short.text[begin:end] or CODE * 2 in short.text[begin:end]:
                continue  # a heading with its text, or two pieces of code
            begin += len(short.text[begin:end]) - len(short.text[begin:end].lstrip(SPACE))
            place = short.before(begin) - 1
            line, column = prose.count("\n", 0, place) + 1, place - prose.rfind("\n", 0, place)
            text = " ".join(short.text[begin:end].split())
            found.append(Finding(name, line, column, result.check_path, text[:80], result.message))
    return sorted(found)


@cache
def _checks() -> tuple[Check, ...]:
    from proselint.checks import __register__

    taken = [check for check in __register__ if any(check.matches_partial(each) for each in TAKEN)]
    return (*taken, *OURS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; return 1 if there is one, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="*", default=READ, help="files and folders, from the root of the repository")
    parser.add_argument("--count", action="store_true", help="print the number of findings by check and by folder")
    options = parser.parse_args(arguments)
    found = [finding for path in files_of(options.places) for finding in findings_in(str(_shown(path)), prose_of(path))]
    if options.count:
        for name, number in Counter(finding.check for finding in found).most_common():
            print(f"{number:6} {name}")
        for name, number in Counter("/".join(finding.path.split("/")[:2]) for finding in found).most_common():
            print(f"{number:6} {name}")
    else:
        for finding in found:
            print(
                f"{finding.path}:{finding.line}:{finding.column}: {finding.check}: {finding.text!r}: {finding.message}"
            )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
