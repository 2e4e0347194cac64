"""What Sphinx needs to know to make the handbook of `docs/`.

Each page is a file there, written by hand, and stays readable where it lies. What can be told from the code is not
written there but made when the page is read: in place of a line `<!-- generated: NAME ARGUMENT -->` (`markers`), by the
function of that name in `pages`. Inline code that is the name of an event, a rule, a command... becomes a link to its
page, and so do types in signatures (`linking`). Blocks of code that are files get their names (`captions`). Drawings
become part of the page that shows them (`figures`), the list of all pages is made of their titles (`navigation`), and
all pages are there as plain text, too (`plain`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["setup"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # Here, as what makes Markdown needs no Sphinx.
    from handbook import api, captions, figures, linking, navigation, pages

    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", pages.complete)
    app.connect("source-read", captions.caption)
    app.connect("env-get-outdated", pages.outdated)
    app.connect("autodoc-process-docstring", api.fences, priority=100)  # napoleon is at 500
    app.connect("autodoc-process-signature", api.signature)
    app.connect("html-page-context", navigation.titles_only, priority=100)  # the theme is at 500
    app.add_post_transform(linking.Types)
    app.add_post_transform(linking.Names)
    app.add_post_transform(figures.Drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
