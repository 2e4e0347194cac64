"""Links made of names: inline code that is the name of something with a page of its own leads there.

So that nobody writes such links by hand, in prose or in what is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from handbook import catalogues, commands, events, rules

__all__ = ["SOURCES", "Names", "targets"]

SOURCES: Final[list[Callable[[], Mapping[str, tuple[str, str]]]]] = [
    rules.names,
    commands.names,
    catalogues.metric_names,
    events.names,
