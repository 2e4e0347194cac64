"""The layout of pages of events: lists of facts, tables of two columns, tabs."""

from __future__ import annotations

from collections.abc import Iterable

from handbook.markdown import definitions, literal

__all__ = ["entries", "rows", "tabs"]


def entries(items: Iterable[tuple[str, str, str, str]]) -> str:
    """A list of definitions: each with its anchor ("" for none), its name, its facts in a line, and its meaning."""
    return f"\n{definitions(_entry(*item) for item in items)}\n"


def _entry(anchor: str, name: str, facts: str, meaning: str) -> tuple[str, str]:
    link = f' <a class="headerlink" href="#{anchor}" title="Link to this"></a>' if anchor else ""
    term = f'<span id="{anchor}"></span>{name}{link}' if anchor else name
    return term, "\n\n".join(part for part in (f"[{facts}]{{.facts}}" if facts else "", meaning) if part)


def rows(items: Iterable[tuple[str, str]], style: str = "about") -> str:
    """A table of two columns without a head."""
    lines = ["::::{list-table}", f":class: {style}", ":stub-columns: 1", ":widths: auto", ""]
    for name, text in items:
        lines += [f"* - {name}", f"  - {text}"]
    return "\n".join([*lines, "::::", ""])


def tabs(items: Iterable[tuple[str, str, str]]) -> str:
    """Tabs that change together on all pages: each with its title, the language of its text, and the text."""
    lines = ["::::{tab-set}", ":sync-group: example", ""]
    for title, language, text in items:
        lines += [f":::{{tab-item}} {title}", f":sync: {title.lower()}", "", literal(text, language), ":::", ""]
    return "\n".join([*lines, "::::", ""])
