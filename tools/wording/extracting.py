"""The prose of a file: its text with spaces in place of all that is not English.

Lines and columns do not move, so a finding in the prose has its place in the file. In Markdown, spaces replace code,
addresses, HTML and comments. In Python, they replace everything except docstrings and strings of three words or more,
which are messages and help. This module must not know what good prose is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

CODE = "x"
"""The character that replaces each character of code within a sentence."""

END = "|"
"""The character behind a text in Python, so that no check takes two texts for one sentence."""

_FENCE = re.compile(r"^([ \t]*)(```+|~~~+|:::+)[^\n]*\n.*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"``[^`]+``|`[^`]+`")
_LINK = re.compile(r"(?<=\])(\([^)\s]*(?:\s\"[^\"]*\")?\)|\{[^}]*\})")
_MARKUP = re.compile(
    r"<!--.*?-->|<[A-Za-z/][^>\n]*>|https?://\S+|\$[^$\n]+\$|^\{[a-z-]+\}.*$", re.DOTALL | re.MULTILINE
)
_EXAMPLE = re.compile(r"^[ \t]*(?:>>> |\$ |\\b$).*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_REPLACED = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|%\([a-z_]+\)[sdrf]|%[sdrf]")
_ESCAPE = re.compile(r"\\[nt]")
_WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z]{2,}[,;:]? [a-z`(]")
_TEXT = re.compile(
    r"""\#[^\n]* |
    (?P<prefix>(?<![A-Za-z0-9_])[bfruBFRU]{0,2})
    (?: \"{3}(?P<long>(?:[^"\\]|\\.|"(?!""))*)\"{3} | '{3}(?P<other>(?:[^'\\]|\\.|'(?!''))*)'{3}
      | "(?P<short>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)' )""",
    re.DOTALL | re.VERBOSE,
)
"""A comment or a string of Python. Read in their order, neither begins within the other."""
_SPACE = re.compile(r"\s*\n\s*\n\s*|[ \t]{2,}")


def _blank(text: str, filler: str = " ") -> str:
    """As many characters as `text`, with its ends of lines."""
    return "".join("\n" if character == "\n" else filler for character in text)


def _without(pattern: re.Pattern[str], text: str, filler: str = " ") -> str:
    return pattern.sub(lambda found: _blank(found.group(), filler), text)


def of_markdown(text: str) -> str:
    """The prose of a page."""
    text = _without(_FENCE, text)
    text = _without(_INLINE, text, CODE)
    return _without(_MARKUP, _without(_LINK, text))


def of_text(text: str) -> str:
    """The prose of a docstring or message: without examples, code and what is filled in."""
    text = _without(_FENCE, text)
    text = _without(_INLINE, text, CODE)
    text = _without(_EXAMPLE, text)
    return _without(_MARKUP, _without(_LINK, text))


def of_python(source: str) -> str:
    """The prose of a module: docstrings, and texts that have three words or more."""
    kept: list[str] = []
    place = 0
    for found in _TEXT.finditer(source):
        group = found.lastgroup
        if group is None or group == "prefix":
            continue  # a comment
        inner = found[group]
        if group in {"long", "other"}:
            prose = of_text(_without(_indented_example(inner), inner))
        elif _WORDS.search(inner):
            prose = _without(_ESCAPE, of_text(inner))
            if "f" in found["prefix"].lower():
                prose = _without(_REPLACED, prose, CODE)
        else:
            continue
        kept += [_blank(source[place : found.start(group)]), prose, END]
        place = found.end(group) + 1
    return "".join([*kept, _blank(source[place:])])


def _indented_example(text: str) -> re.Pattern[str]:
    """Lines that stand further in than the text of a docstring: they are code."""
    lines = [line for line in text.split("\n")[1:] if line.strip()]
    depth = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return re.compile(rf"^ {{{depth + 4},}}\S.*$", re.MULTILINE)


def prose_of(path: Path) -> str:
    """The prose of a file, by its ending: Markdown or Python."""
    text = path.read_text(encoding="utf-8")
    return of_python(text) if path.suffix == ".py" else of_markdown(text)


class Compact(NamedTuple):
    """A prose with its runs of spaces made short, and the places of its characters in the prose before that.

    Most of the prose of a module is spaces, which checks need not read.
    """

    text: str
    begins: list[int]
    """The places in the short text from which on characters have moved."""
    moved: list[int]
    """How far."""

    def before(self, place: int) -> int:
        """The place of a character in the prose before that."""
        number = bisect_right(self.begins, place) - 1
        return place + (self.moved[number] if number >= 0 else 0)


def compact(prose: str) -> Compact:
    """The prose with one space for several, and one empty line for several."""
    parts: list[str] = []
    begins: list[int] = []
    moved: list[int] = []
    place = length = 0
    for run in _SPACE.finditer(prose):
        short = "\n\n" if "\n" in run.group() else " "
        parts += [prose[place : run.start()], short]
        length += run.start() - place + len(short)
        place = run.end()
        begins.append(length)
        moved.append(place - length)
    return Compact("".join([*parts, prose[place:]]), begins, moved)
