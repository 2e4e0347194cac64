"""Drawings as a part of the page that shows them, so that they follow its theme and their links lead to pages.

A drawing is an SVG in `docs/figures/`, whose colours are `var(--color-foreground-primary, #222)` and the like:
without a theme, the second one counts. Its links are relative to that folder, and lead to `.md` files.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes

from handbook.transforms import Transform

__all__ = ["Drawings"]


class Drawings(Transform):
    """Puts each SVG that follows the theme into its page."""

    default_priority = 5  # before Sphinx collects images
    formats = ("html",)

    def run(self, **arguments: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir) / image["uri"].lstrip("/")
            if path.suffix != ".svg" or not path.exists():
                continue
            drawing = path.read_text(encoding="utf-8")
            if "var(--color" not in drawing:
                continue
            drawing = drawing[drawing.index("<svg") :]
            drawing = self._linked(path.parent, drawing)
            role = "group" if "<a " in drawing else "img"  # screen readers do not read the links of an image
            drawing = re.sub(r"^<svg", f'<svg role="{role}" aria-label="{escape(image.get("alt", ""))}"', drawing)
            image.replace_self(nodes.raw("", f'<figure class="drawn">{drawing}</figure>', format="html"))

    def _linked(self, folder: Path, drawing: str) -> str:
        """The drawing with the addresses that its links have on this page."""
        docs = Path(self.env.srcdir).resolve()

        def address(link: re.Match[str]) -> str:
            page = (folder / link[1]).resolve().relative_to(docs).as_posix()
            return f'href="{self.address(page)}"'

        return re.sub(r'href="([^"]+)\.md"', address, drawing)
