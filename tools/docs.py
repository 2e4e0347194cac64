"""Make the handbook: the site, its pages as plain text, and a check of all its links.

    python tools/docs.py             # into build/handbook/html
    python tools/docs.py --fresh     # all pages anew, whatever is there

It needs what the extra `docs` has (`pip install -e '.[docs]'`). Every warning is an error. The site is complete
in itself: open `build/handbook/html/index.html`, or put the folder on any server.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from handbook import checking, plain  # noqa: E402 (its folder is on the path now)


def built(builder: str, place: Path, output: Path) -> bool:
    """Whether Sphinx had nothing to complain of. Both builders share what was read."""
    from sphinx.cmd.build import main as sphinx

    options = ["-q", "-j", "auto", "-W", "--keep-going", "-b", builder, "-d", str(place / "read")]
    return sphinx([*options, str(ROOT / "docs"), str(output)]) == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Make it; 1 if something is wrong, which was printed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "build" / "handbook", help="build/handbook, unless told otherwise"
    )
    parser.add_argument("--fresh", action="store_true", help="make all pages anew")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    gc.set_threshold(
        200_000, 50, 1_000
    )  # pages are large trees, and to look at all again and again takes half the time
    place: Path = options.output.resolve()
    if options.fresh:
        shutil.rmtree(place, ignore_errors=True)
    html, text = place / "html", place / "text"
    if not built("html", place, html):
        return 1
    for page in text.rglob("*.txt"):  # what was read for the site again is written as text again
        shown = html / page.relative_to(text).with_suffix(".html")
        if shown.exists() and page.stat().st_mtime < shown.stat().st_mtime:
            page.unlink()
    if not built("text", place, text):
        return 1
    plain.write(text, html)
    wrong = checking.problems(html)
    for problem in wrong:
        print(problem, file=sys.stderr)
    if not wrong:
        pages = len(list(html.rglob("*.html")))
        print(f"{html / 'index.html'}: {pages} pages in {time.monotonic() - began:.0f} s, all links lead somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
