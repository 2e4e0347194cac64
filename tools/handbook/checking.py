"""A check of all links of the site: pages, anchors and files exist, and no page loads files from elsewhere.

It reads the pages that were built, so every kind of link is checked.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

__all__ = ["problems"]

_LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "object": "data"}


class _Page(HTMLParser):
    """The anchors of a page, its links, and the files that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(given.get("href", ""))
        if tag in _LOADED and _LOADED[tag] in given:
            self.loaded.append(given[_LOADED[tag]])


def problems(site: Path) -> list[str]:
    """The wrong links of a site, a sentence for each, in the order of its pages."""
    pages = {path.relative_to(site).as_posix(): _Page(path) for path in sorted(site.rglob("*.html"))}
    there = {path.relative_to(site).as_posix() for path in site.rglob("*")}
    return [f"{name}: {text}" for name in pages for text in _wrong(name, pages, there)]


def _wrong(name: str, pages: dict[str, _Page], there: set[str]) -> Iterator[str]:
    page = pages[name]
    for link in page.loaded:
        if urlsplit(link).scheme not in {"", "data"} or link.startswith("//"):
            yield f"loads {link} from elsewhere"
        elif not urlsplit(link).scheme and _meant(name, link)[0] not in there:
            yield f"loads {link}, which does not exist"
    for link in page.links:
        if urlsplit(link).scheme:
            continue
        target, anchor = _meant(name, link)
        if target not in there:
            yield f"links to {link}, which does not exist"
        elif target in pages and unquote(anchor) not in pages[target].anchors:
            yield f"links to {link}, but that page has no such anchor"


def _meant(page: str, link: str) -> tuple[str, str]:
    """The file and the anchor that a link of a page means; files as from the site's folder."""
    address, anchor = urldefrag(link)
    path = unquote(urlsplit(address).path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page, anchor
