"""The list of all pages beside each page, made of their titles alone.

For each page, the theme collects all headings of all pages, and uses only the titles. With a thousand headings of
rules, commands and classes, that takes most of the time of a build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

__all__ = ["titles_only"]

_TITLES = "handbook_titles"


def titles_only(
    app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    """Called by Sphinx before it writes a page, and before it calls the theme."""
    whole = context.get("toctree")
    if whole is None:
        return
    environment = app.env
    titles: dict[str, nodes.bullet_list] | None = getattr(app, _TITLES, None)
    if titles is None:
        titles = {name: _titles(table) for name, table in environment.tocs.items()}
        setattr(app, _TITLES, titles)

    def toctree(**options: Any) -> Any:
        tables = environment.tocs
        try:
            environment.tocs = titles
            return whole(**options)
        finally:
            environment.tocs = tables

    context["toctree"] = toctree


def _titles(table: nodes.bullet_list) -> nodes.bullet_list:
    """The contents of a page without its headings, but with its links to other pages."""
    short = table.deepcopy()
    for item in list(short.findall(nodes.list_item))[1:]:
        if item.parent is not None and not any(item.findall(addnodes.toctree)):
            item.parent.remove(item)
    for items in [each for each in short.findall(nodes.bullet_list) if not each.children]:
        items.parent.remove(items)
    return short
