"""Texts, tables and lists as Markdown, for all modules that make parts of pages. It knows none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["capitalised", "code", "definitions", "listed", "literal", "prose", "table", "target"]

_CODE = re.compile(r"(`+)(?:.|\n)+?\1|\"(?P<said>batproto[^\"]*)\"")
"""Code: texts between backticks, and commands between quotes."""
_NAME = re.compile(
    r"(?<![\w.`/<-])"
    r"(?:[a-z]\w*_\w+(?:\(\))?|[A-Z][A-Z0-9]*_[A-Z_]+|[A-Z]\w*[a-z](?:Event|Profile)|--[a-z][\w-]*\w|-[a-zA-Z](?![\w-])"
    r"|\{[a-z_]+\})"
    r"(?![\w`/>])"
)
"""Names in any text: with an underscore, of an event or a profile, options, and `{endpoint}`."""
_SPECIAL = re.compile(r"([\\*_\[\]<>])")


def code(text: str) -> str:
    """Inline code, for any text."""
    ticks = "`" * (max((len(found) for found in re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def capitalised(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def prose(text: str) -> str:
    """A sentence from the code: code in it stays code, names become code, and nothing else is Markdown."""
    parts: list[str] = []
    place = 0
    for found in _CODE.finditer(text):
        parts += [_plain(text[place : found.start()]), code(found["said"]) if found["said"] else found[0]]
        place = found.end()
    return "".join([*parts, _plain(text[place:])])


def _plain(text: str) -> str:
    parts: list[str] = []
    place = 0
    for found in _NAME.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[place : found.start()]), code(found[0])]
        place = found.end()
    return "".join([*parts, _SPECIAL.sub(r"\\\1", text[place:])])


def listed(items: Iterable[str], last: str = "and") -> str:
    """Items as a list in a sentence."""
    *first, end = items
    return f"{', '.join(first)} {last} {end}" if first else end


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown texts."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def definitions(items: Iterable[tuple[str, str]]) -> str:
    """A list of terms with their meanings of one or more paragraphs; both are Markdown."""
    return "\n\n".join(f"{term}\n{_indented(meaning)}" for term, meaning in items)


def _indented(meaning: str) -> str:
    lines = meaning.strip().splitlines() or [""]
    return "\n".join([f": {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])])


def literal(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def target(name: str) -> str:
    """An anchor for links, in front of a heading."""
    return f"({name})="
