"""Small pieces of Markdown that the pages of events share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["code", "code_events", "definitions", "listed", "prose", "rows", "tabs"]

_EVENT: Final = re.compile(r"\b[A-Z]\w+Event\b")
_NAME: Final = re.compile(r"(\b[A-Z]\w+Event\b|\b[A-Za-z]+(?:_[A-Za-z]+)+\b|(?<!\S)--[a-z][a-z-]*)")


def code(text: str) -> str:
    """Inline code; where it is a name, it becomes a link."""
    return f"`{text}`"


def code_events(text: str) -> str:
    """A text with the names of events in it as code."""
    return _EVENT.sub(r"`\g<0>`", text)


def prose(text: str) -> str:
    """A sentence of a docstring or a comment.

    What Markdown would take for its own is left as it is written; the names of events, fields and constants are code.
    """
    pieces = text.replace("``", "`").split("`")
    for index in range(0, len(pieces), 2):
        names = _NAME.split(pieces[index])
        for place in range(0, len(names), 2):
            for mark in "\\[]*<>":
                names[place] = names[place].replace(mark, f"\\{mark}")
        pieces[index] = "".join(each if place % 2 == 0 else code(each) for place, each in enumerate(names))
    return "`".join(pieces)


def listed(items: Iterable[str], last: str = "and") -> str:
    """Items as a list in a sentence."""
    *first, end = items
    return f"{', '.join(first)} {last} {end}" if first else end


def definitions(items: Iterable[tuple[str, str, str, str]]) -> str:
    """A list of definitions: each with its anchor ("" for none), its name, its facts in a line, and its meaning."""
    lines: list[str] = []
    for anchor, name, facts, meaning in items:
        mark = f'<span id="{anchor}"></span>' if anchor else ""
        link = f' <a class="headerlink" href="#{anchor}" title="Link to this">¶</a>' if anchor else ""
        lines += ["", f"{mark}{name}{link}", f": [{facts}]{{.facts}}" if facts else f": {meaning}"]
        if facts and meaning:
            lines += ["", f"  {meaning}"]
    return "\n".join([*lines, ""])


def rows(items: Iterable[tuple[str, str]]) -> str:
    """A table of two columns without a head: what, and what of it."""
    lines = ["::::{list-table}", ":class: about", ":stub-columns: 1", ":widths: auto", ""]
    for what, told in items:
        lines += [f"* - {what}", f"  - {told}"]
    return "\n".join([*lines, "::::", ""])


def tabs(items: Iterable[tuple[str, str, str]]) -> str:
    """Tabs that change together on all pages: each with its title, the language of its text, and the text."""
    lines = ["::::{tab-set}", ":sync-group: example", ""]
    for title, language, text in items:
        fence = "````" if "```" in text else "```"
        lines += [
            f":::{{tab-item}} {title}",
            f":sync: {title.lower()}",
            "",
            f"{fence}{language}",
            text,
            fence,
            ":::",
            "",
        ]
    return "\n".join([*lines, "::::", ""])
