"""The search of the handbook: the texts of all pages by their sections, as a script.

A browser that reads pages from files refuses requests, but loads scripts. So the texts are a script. The search page
(`docs/_templates/search.html`, `docs/_static/search.js`) needs nothing else. It ranks sections, and shows the sentences
around each hit. Like `checking`, this module reads the pages that were built, whatever made them.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["TEXTS", "own", "sections", "write"]

TEXTS: Final = "_static/search-texts.js"
_GENERATED: Final = {"search.html", "genindex.html", "py-modindex.html"}
_EMPTY: Final = {"br", "img", "hr", "input", "meta", "link", "source", "wbr", "path", "rect", "line", "circle"}
_SKIPPED: Final = {"script", "style", "svg", "button", "label", "template"}
_ENDING: Final = {"p", "li", "dd", "dt", "pre", "tr", "h1", "h2", "h3", "h4", "div", "figcaption"}
"""Elements that end a sentence."""
_BETWEEN: Final = " · "
"""The text between the cells of a row."""
_HEADS: Final = re.compile(r"h[1-6]$")

Section = tuple[str, str, str]
"""An anchor ("" for the beginning of the page), a title, and the text until the next section."""


def own(app: Sphinx) -> None:
    """Called by Sphinx when it starts: it makes no index of words, which would have no sentences."""
    if app.builder.name == "html":
        app.builder.search = False  # type: ignore[attr-defined]


class _Page(HTMLParser):
    """The sections of a page: those below its headings, and those of things with an anchor, such as a class."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str], list[str]]] = []  # anchor, parts of title and text
        self._stack: list[tuple[str, bool]] = []  # open elements, and whether each is skipped
        self._anchors: list[str] = []
        self._title = 0  # how many open elements are a title
        self._inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _EMPTY:
            return
        given = {name: value or "" for name, value in attributes}
        classes = given.get("class", "").split()
        if tag == "article":
            self._inside = True
        skipped = tag in _SKIPPED or "headerlink" in classes or bool(self._stack and self._stack[-1][1])
        self._stack.append((tag, skipped))
        if not self._inside or skipped:
            return
        if tag == "section":
            self._anchors.append(given.get("id", ""))
        is_thing = tag == "dt" and bool(given.get("id")) and "sig" in classes
        if _HEADS.match(tag) or is_thing:
            anchor = given["id"] if is_thing else self._anchors[-1] if self._anchors else ""
            self.found.append((anchor if self.found else "", [_short(anchor)] if is_thing else [], []))
            self._title = 0 if is_thing else len(self._stack)

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:  # `<img/>` ends, too, and is not on the stack
            return
        while self._stack:
            last, skipped = self._stack.pop()
            if last == "section" and self._anchors and not skipped:
                self._anchors.pop()
            if len(self._stack) < self._title:
                self._title = 0
            elif last in {"td", "th"} and not skipped and self.found:
                self.found[-1][2].append(_BETWEEN)
            elif last in _ENDING and not skipped and self.found and not self._title:
                self.found[-1][2].append("\n")
            if last == "article":
                self._inside = False
            if last == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._inside and self.found and not self._stack[-1][1]:
            _, title, text = self.found[-1]
            lines = data if any(tag == "pre" for tag, _ in self._stack) else data.replace("\n", " ")
            (title if self._title else text).append(lines)


def sections(html: str) -> list[Section]:
    """The sections of a page."""
    page = _Page()
    page.feed(html)
    return [(anchor, " ".join("".join(title).split()), _text("".join(text))) for anchor, title, text in page.found]


def _text(text: str) -> str:
    """A text without the spaces between elements, with an end of line behind each paragraph."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line.removesuffix(_BETWEEN.rstrip()) for line in lines if line)


def _short(name: str) -> str:
    """A name without its module: `Study`, `Study.run`."""
    parts = name.split(".")
    first = next((place for place, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[first:])


def write(site: Path) -> None:
    """Write the texts of all pages of a site."""
    pages = sorted(path for path in site.rglob("*.html") if path.name not in _GENERATED)
    texts = [[path.relative_to(site).as_posix(), sections(path.read_text(encoding="utf-8"))] for path in pages]
    script = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    (site / TEXTS).write_text(f"const HANDBOOK = {script};\n", encoding="utf-8")
