"""The extension of Sphinx that makes the handbook of `docs/`.

Each page is a file there, written by hand, and readable in the repository. Facts that the code knows are not written
there. They are generated when a page is read: a line `<!-- generated: NAME ARGUMENT -->` (`markers`) is replaced by the
result of the function of that name in `pages`. Inline code that is the name of an event, a rule or a command becomes a
link to its page, and so do types in signatures (`linking`), which are written as people write them (`signatures`).
Blocks of code that are files get their names as captions (`captions`). Tables are aligned by the kind of each column
(`tables`). Drawings become part of the page that shows them (`figures`). The list of all pages is made of their titles
(`navigation`). After the build, `plain` writes all pages as plain text, and `searching` the texts for the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["setup"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # Imported here, because the modules that make Markdown run without Sphinx.
    from handbook import api, captions, figures, linking, navigation, pages, searching, signatures, tables

    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", pages.complete)
    app.connect("source-read", captions.caption)
    app.connect("env-get-outdated", pages.outdated)
    app.connect("autodoc-process-docstring", api.fences, priority=100)  # napoleon is at 500
    app.connect("autodoc-process-signature", signatures.signature)
    app.connect("doctree-read", signatures.properties)
    app.connect("builder-inited", searching.own)
    app.connect("html-page-context", navigation.titles_only, priority=100)  # the theme is at 500
    app.add_post_transform(linking.Types)
    app.add_post_transform(linking.Names)
    app.add_post_transform(figures.Drawings)
    app.add_post_transform(tables.Alignment)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
