"""Draw the figures of the handbook that are boxes and arrows: the automata, from their tables, and docs/figures/*.dot.

    python tools/draw.py             # draw what has changed (needs Graphviz: apt-get install graphviz)
    python tools/draw.py --all       # draw all figures again
    python tools/draw.py --check     # exit 1 if a figure does not match its source; needs no Graphviz

Graphviz places boxes and arrows. Then the figure gets the colours and letters of its page, by variables of the theme
with defaults, so that it follows dark mode. The first line of each figure has a digest of its source.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from drawing import automata

FIGURES: Final = ROOT / "docs" / "figures"

COLOURS: Final = {
    "#222222": "--color-foreground-primary",
    "#5a5c63": "--color-foreground-secondary",
    "#0a4bff": "--color-brand-content",
    "#878787": "--color-foreground-border",
    "#f4f4f8": "--color-background-secondary",
    "#d9d6d9": "--color-background-border",
}
"""The colours that sources may use, each with the theme's variable that replaces it in a page."""

_DARK: Final = {
    "background": "#131416",
    "--color-foreground-primary": "#cfd0d0",
    "--color-foreground-secondary": "#9ca0a5",
    "--color-brand-content": "#5ca5ff",
    "--color-foreground-border": "#878787",
    "--color-background-secondary": "#1a1c1e",
    "--color-background-border": "#303335",
}
_ALONE: Final = f"@media (prefers-color-scheme: dark) {{ svg:root {{ {'; '.join(map(': '.join, _DARK.items()))} }} }}"
"""The style of a figure outside of a page, where only the browser chooses between light and dark."""

_LETTERS: Final = "var(--font-stack, Helvetica, Arial, sans-serif)"
_DEFAULTS: Final = (
    *("-Gbgcolor=transparent", "-Gpad=0.1", "-Gfontname=Liberation Sans", "-Gfontcolor=#222222", "-Gfontsize=13"),
    *("-Nfontname=Liberation Sans", "-Nfontcolor=#222222", "-Nfontsize=13", "-Ncolor=#878787", "-Nfillcolor=#f4f4f8"),
    *("-Nshape=box", "-Nstyle=rounded,filled", "-Nmargin=0.14,0.07", "-Nheight=0.3"),
    *("-Efontname=Liberation Sans", "-Efontcolor=#222222", "-Efontsize=12", "-Ecolor=#5a5c63", "-Earrowsize=0.7"),
)
_PLACE: Final = ("dot", "-Tsvg", *_DEFAULTS)


def sources() -> dict[str, str]:
    """The source of each figure in Graphviz's language, by the name of the figure."""
    kept = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FIGURES.glob("*.dot"))}
    return {**automata.sources(), **kept}


def mark(source: str) -> str:
    """The first line of a figure with this source."""
    text = "\n".join((source, *_PLACE, *COLOURS.values(), _ALONE, _LETTERS))
    return f"<!-- drawn by tools/draw.py; source {hashlib.sha256(text.encode()).hexdigest()[:16]} -->"


def drawn(source: str) -> str:
    """The figure."""
    placed = subprocess.run(_PLACE, input=source, capture_output=True, encoding="utf-8", check=False)
    if placed.stderr:
        raise SystemExit(f"{placed.stderr}\n{source}")
    text = placed.stdout[placed.stdout.index("<svg") :]
    text = re.sub(r"<!--.*?-->\n|<title>.*?</title>\n", "", text, flags=re.S)  # else each box has a tip, its name
    text = re.sub(r' (?:id|xlink:title|xmlns:xlink|target|font-family)="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(
        r'<svg width="[^"]*" height="[^"]*"\s+viewBox="\S+ \S+ (\S+) (\S+)"',
        lambda found: (
            f'<svg width="{float(found[1]):.0f}" height="{float(found[2]):.0f}" viewBox="0 0 {found[1]} {found[2]}" '
            f'font-family="{_LETTERS}"'
        ),
        text,
        count=1,
    )
    text = re.sub(r'<polygon fill="transparent"[^>]*/>\n', "", text)
    text = re.sub(r'(?<=fill=|roke=)"([^"]*)"', lambda found: f'"{_theme(found[1])}"', text)
    return f"{mark(source)}\n{re.sub('>', f'>{chr(10)}<style>{_ALONE}</style>', text, count=1)}"


def _theme(colour: str) -> str:
    if colour in {"none", "transparent"}:
        return "none"
    if colour not in COLOURS:
        raise SystemExit(f"{colour} is not a colour of figures; use one of {', '.join(COLOURS)}")
    return f"var({COLOURS[colour]}, {colour})"


def stale() -> list[str]:
    """The figures that do not match their sources."""
    return [name for name, source in sources().items() if not _is_drawn_from(FIGURES / f"{name}.svg", source)]


def _is_drawn_from(figure: Path, source: str) -> bool:
    return figure.exists() and figure.read_text(encoding="utf-8").partition("\n")[0] == mark(source)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, or only check whether that is necessary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="draw all figures again")
    which.add_argument("--check", action="store_true", help="only check whether the figures match their sources")
    options = parser.parse_args(arguments)
    names = list(sources()) if options.all else stale()
    if options.check:
        for name in names:
            print(f"docs/figures/{name}.svg does not match its source: run tools/draw.py", file=sys.stderr)
        return 1 if names else 0
    if names and not shutil.which("dot"):
        print("`dot` is not on the PATH: install Graphviz (Debian: apt-get install graphviz)", file=sys.stderr)
        return 1
    for name in names:
        (FIGURES / f"{name}.svg").write_text(drawn(sources()[name]), encoding="utf-8")
        print(f"docs/figures/{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
