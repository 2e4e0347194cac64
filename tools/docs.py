"""Make the handbook: the site, its pages as plain text, and a check of all its links.

    python tools/docs.py             # into build/handbook/html
    python tools/docs.py --fresh     # read all pages again

It needs the packages of the extra `docs` (`pip install -e '.[docs]'`). Every warning is an error. Sphinx reads a page
again if the page, or a source of its generated parts, has changed. It writes all pages again, because the targets of
links may have moved. The site needs no server: open `build/handbook/html/index.html`, or put the folder on any server.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from handbook import checking, plain, searching

_NEEDED: Final = ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_design")
_READ: Final = "read"
"""The folder of the pages that were read, which is kept; beside it are the folders of the builders."""


def emptied(place: Path, fresh: bool) -> None:
    """Make the folder for the handbook, without the files of an earlier build."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()) and not (place / _READ).exists():
            sys.exit(f"{place} is not empty, and is not a handbook: give another folder with -o")
        for each in ("html", "text", *([_READ] if fresh else [])):
            if (place / each).exists():
                shutil.rmtree(place / each)
        (place / _READ).mkdir(exist_ok=True)
    except OSError as error:
        sys.exit(f"the handbook cannot be written to {place}: {error.strerror}")


def built(builder: str, place: Path) -> bool:
    """Whether Sphinx built without a warning. All builders share the pages that were read."""
    from sphinx.cmd.build import main as sphinx

    options = ["-q", "-j", "auto", "-W", "--keep-going", "-b", builder, "-d", str(place / _READ)]
    return sphinx([*options, str(ROOT / "docs"), str(place / builder)]) == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the handbook; return 1 if something is wrong, after printing it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "build" / "handbook", help="the folder (default: build/handbook)"
    )
    parser.add_argument("--fresh", action="store_true", help="read all pages again")
    options = parser.parse_args(arguments)
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        sys.exit(f"{', '.join(missing)} is not installed: pip install -e '.[docs]'")
    began = time.monotonic()
    # Pages are large trees. Collecting garbage in them again and again takes half the time.
    gc.set_threshold(200_000, 50, 1_000)
    place: Path = options.output.resolve()
    emptied(place, options.fresh)
    html = place / "html"
    if not (built("html", place) and built("text", place)):
        return 1
    plain.write(place / "text", html)
    searching.write(html)
    wrong = checking.problems(html)
    for problem in wrong:
        print(problem, file=sys.stderr)
    if not wrong:
        pages = len(list(html.rglob("*.html")))
        print(f"{html / 'index.html'}: {pages} pages in {time.monotonic() - began:.0f} s, all links lead somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # the words of Sphinx
        sys.exit("Interrupted!")
