"""The base of all changes of pages after these were read: they make links to other pages."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes
from sphinx.builders import Builder
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

__all__ = ["Transform"]


class Transform(SphinxPostTransform):
    """A change of a page that makes links."""

    @property
    def builder(self) -> Builder:
        """The builder of the page. Since Sphinx 9, which will remove `app` here, only the environment has it."""
        return self.env._app.builder if hasattr(self.env, "_app") else self.app.builder

    def address(self, page: str) -> str:
        """Another page as seen from this one."""
        return self.builder.get_relative_uri(self.env.docname, page)

    def link(self, page: str, anchor: str, shown: nodes.Node | Sequence[nodes.Node]) -> nodes.reference:
        """A link to an anchor of a page ("" for its beginning)."""
        return make_refnode(self.builder, self.env.docname, page, anchor or None, shown)
