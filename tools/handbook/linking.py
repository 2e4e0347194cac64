"""Links made of names: inline code that is the name of a thing with a place in the handbook becomes a link to it.

So authors write no such links by hand, and generated parts need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.nodes import find_pending_xref_condition

from batprotocol import model
from handbook import api, catalogues, commands, events, fast, older, rules
from handbook.transforms import Transform

__all__ = ["SOURCES", "Names", "Types", "targets"]

SOURCES: Final[list[Callable[[], Mapping[str, tuple[str, str]]]]] = [
    rules.names,
    commands.names,
    catalogues.metric_names,
    events.names,
    older.names,
    fast.names,
]
"""The sources of names, each name with its page and its anchor there (else "")."""


@cache
def targets() -> dict[str, tuple[str, str]]:
    """All names that are links, with page and anchor. Where two sources have one, the first counts."""
    found: dict[str, tuple[str, str]] = {}
    for source in SOURCES:
        found = {**source(), **found}
    return found


class Names(Transform):
    """Makes links of names, except at their own place, in headings, and within links."""

    default_priority = 400

    def run(self, **arguments: Any) -> None:
        known, here = targets(), events.names_on(self.env.docname)
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            if text in here:
                target = here[text]
            else:
                target = known.get(text) or commands.place(text) or api.place(self.env, text, self.env.docname)
            if target is None:
                continue
            page, anchor = target
            above, parent = [], literal.parent
            while parent is not None:
                above.append(parent)
                parent = parent.parent
            if any(isinstance(each, nodes.reference | nodes.title) for each in above):
                continue
            if page == self.env.docname and any(isinstance(each, nodes.term) for each in above):
                continue
            sections = {id for each in above if isinstance(each, nodes.section) for id in each["ids"]}
            if page == self.env.docname and (not anchor or anchor in sections):
                continue
            literal.replace_self(self.link(page, anchor, literal.deepcopy()))


class Types(Transform):
    """Makes links of the types in signatures, also of those with a page of their own, and shortens other types.

    Sphinx would look for the end of each name among all names of the handbook, and warn where there are several.
    """

    default_priority = 5  # before Sphinx resolves what it can

    def run(self, **arguments: Any) -> None:
        known = targets()
        for wanted in list(self.document.findall(pending_xref)):
            if wanted.get("refdomain") != "py" or wanted["reftype"] == "mod":
                continue
            name = wanted["reftarget"].removeprefix("typing.")
            module = wanted.get("py:module")
            shown = find_pending_xref_condition(wanted, "resolved")
            text = nodes.inline("", "", *(shown if shown is not None else wanted).children)
            short = name.rpartition(".")[2]
            target = (api.place(self.env, f"{module}.{name}", self.env.docname) if module else None) or (
                api.place(self.env, name, self.env.docname)
                or (known.get(short) if short in api.public(model.__name__) else None)
            )
            if target is None:
                wanted.replace_self(text.children)
                continue
            page, anchor = target
            wanted.replace_self(self.link(page, anchor, text.children))
