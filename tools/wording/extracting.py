"""The prose of a file: its text with spaces in place of all that is not English.

Lines and columns do not move, so a finding in the prose has its place in the file. In Markdown, spaces replace code,
addresses, HTML and comments. In Python, they replace everything except docstrings and strings of three words or more,
which are messages and help. This module must not know what good prose is.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

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
_QUOTES = re.compile(r"^([A-Za-z]*)(\"\"\"|'''|\"|')")


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
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kept = list(_blank(source))
    for begin, end in _texts(source, starts):
        token = source[begin:end]
        quotes = _QUOTES.match(token)
        if quotes is None:
            continue
        inner = token[quotes.end() : len(token) - len(quotes.group(2))]
        if len(quotes.group(2)) == 3:
            prose = of_text(_without(_indented_example(inner), inner))
        elif _WORDS.search(inner):
            prose = of_text(inner)
            prose = _without(_ESCAPE, prose)
            if "f" in quotes.group(1).lower():
                prose = _without(_REPLACED, prose, CODE)
        else:
            continue
        place = begin + quotes.end()
        kept[place : place + len(prose)] = prose
        kept[place + len(prose)] = END
    return "".join(kept)


def _indented_example(text: str) -> re.Pattern[str]:
    """Lines that stand further in than the text of a docstring: they are code."""
    lines = [line for line in text.split("\n")[1:] if line.strip()]
    depth = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return re.compile(rf"^ {{{depth + 4},}}\S.*$", re.MULTILINE)


def _texts(source: str, starts: list[int]) -> Iterator[tuple[int, int]]:
    """Where texts begin and end. From Python 3.12 on, one with replacements has several tokens."""
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            opened.append(begin)
        elif kind == "FSTRING_END":
            first = opened.pop()
            if not opened:
                yield first, end
        elif kind == "STRING" and not opened:
            yield begin, end


def prose_of(path: Path) -> str:
    """The prose of a file, by its ending: Markdown or Python."""
    text = path.read_text(encoding="utf-8")
    return of_python(text) if path.suffix == ".py" else of_markdown(text)
