"""Whether all links of the site lead somewhere: pages, anchors and files of its own, and nothing loaded from elsewhere.

It looks at what was built, so that it does not matter what made a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

__all__ = ["problems"]

_LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "object": "data"}


class _Page(HTMLParser):
    """The anchors of a page, and what it links to and loads."""

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
    """What is wrong with the links of a site, a sentence for each, in the order of its pages."""
    pages = {path.resolve(): _Page(path) for path in sorted(site.rglob("*.html"))}
    return [f"{path.relative_to(site.resolve())}: {text}" for path in pages for text in _wrong(path, pages)]


def _wrong(path: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    page = pages[path]
    for link in page.loaded:
        if urlsplit(link).scheme not in {"", "data"} or link.startswith("//"):
            yield f"loads {link} from elsewhere"
        elif not urlsplit(link).scheme and not _meant(path, link)[0].exists():
            yield f"loads {link}, which is not there"
    for link in page.links:
        if urlsplit(link).scheme:
            continue
        target, anchor = _meant(path, link)
        if not target.exists():
            yield f"links to {link}, which is not there"
        elif target in pages and unquote(anchor) not in pages[target].anchors:
            yield f"links to {link}, but that page has no such anchor"


def _meant(path: Path, link: str) -> tuple[Path, str]:
    """The file and the anchor that a link means."""
    address, anchor = urldefrag(link)
    name = unquote(urlsplit(address).path)
    return (path.parent / name).resolve() if name else path, anchor
