"""Put tables that were measured anew into the pages of the handbook that have the old ones.

    python tools/bench.py --hosts --cpp --markdown > measured.md    # on a quiet machine
    python tools/paste_tables.py measured.md                        # or several files

A table is known by the line above it, which ends with a colon ("Sets of hosts, of 10,000:"), and takes the place of the
one that stands below the same line on a page in docs/. Tables that are on no page are left out, and reported.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
_TABLE: Final = re.compile(r"^(?P<title>[^|\n]+:)\n\n(?P<table>(?:\|.*\|\n)+)", re.MULTILINE)


def tables(text: str) -> dict[str, str]:
    """The tables in a text, by the lines above them."""
    return {found["title"]: found["table"] for found in _TABLE.finditer(f"{text}\n")}


def pasted(page: str, measured: dict[str, str]) -> str:
    """The page with what was measured."""
    return _TABLE.sub(lambda old: f"{old['title']}\n\n{measured.get(old['title'], old['table'])}", page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Paste; 1 if there was nothing to paste."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("measured", type=Path, nargs="+", help="what `tools/bench.py --markdown` has printed")
    parser.add_argument("--docs", type=Path, default=DOCS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    measured: dict[str, str] = {}
    for path in given.measured:
        measured |= tables(path.read_text(encoding="utf-8"))
    placed: set[str] = set()
    for page in sorted(given.docs.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        here = measured.keys() & tables(before).keys()
        if here:
            page.write_text(pasted(before, measured), encoding="utf-8")
            placed |= here
            print(f"{page}: {len(here)} tables")
    for title in measured.keys() - placed:
        print(f"on no page: {title}", file=sys.stderr)
    return 0 if placed else 1


if __name__ == "__main__":
    sys.exit(main())
