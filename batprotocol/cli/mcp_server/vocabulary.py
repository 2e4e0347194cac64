"""Errors without the values of files: an assistant reads the place and what was expected, and no byte of a file.

Any file can be given to any reader, also one with a password, and errors of readers quote what they found. So this
module asks no reader: an error keeps the words that the library itself is written with and those of the call, and loses
all others. It must not know the errors.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, Final
from xml.parsers import expat

__all__ = ["without_values"]

_LEFT_OUT: Final = "..."
_WORD: Final = re.compile(r"\w+")
_RUN: Final = re.compile(r"""(\s*)('[^'\n]*'|"[^"\n]*"|[^\s'"]+|['"])""")
"""A quoted text, or a text between two spaces: it stays, or is left out, as a whole."""
_PLACES: Final = ("line", "column", "byte", "row", "message", "event", "status")
"""The words before a number that is a place or a status."""
_FOUND: Final = ("got", "found")
_VALUES: Final = "'\"[{(+-.0123456789"
"""The words before values of a file, and how such values begin. They end with a semicolon, or with the line."""
_SHORT_NUMBER: Final = 3
_OF_OTHERS: Final = ("json", "tomllib", "tomli", "xml.etree", "importlib")
"""Packages whose errors readers pass on, besides those of the system and of expat."""


def without_values(text: str, call: Iterable[str] = ()) -> str:
    """An error without the values of files.

    Args:
        text: the error.
        call: the words that the caller gave, which the error can repeat.

    >>> without_values("log.swf:3: expected a number, got 'hunter-2'", ["log.swf"])
    "log.swf:3: expected a number, got '...'"
    """
    given = {word.lower() for each in call for word in _WORD.findall(each)}
    known = _vocabulary() | given
    kept: list[str] = []
    end, before, are_values = 0, "", False
    for run in _RUN.finditer(text):
        space, found = run.groups()
        are_values = (are_values and "\n" not in space) or (before in _FOUND and found[0] in _VALUES)
        told = found if _is_told(found, given if are_values else known, before, are_values) else _without(found)
        kept += [text[end : run.start()], space, told]
        end, before = run.end(), found
        are_values = are_values and not found.endswith(";")
    return "".join(kept) + text[end:]


def _is_told(found: str, known: AbstractSet[str], before: str, are_values: bool) -> bool:
    """Whether all words of a run are known, or are short numbers or places."""
    for word in _WORD.finditer(found):
        if word[0].lower() not in known:
            if are_values or not word[0].isdecimal():
                return False
            start = word.start()
            is_place = re.fullmatch(r"\w\[", found[max(start - 2, 0) : start]) if start else before in _PLACES
            if len(word[0]) > _SHORT_NUMBER and not is_place:
                return False
    return True


def _without(found: str) -> str:
    if found[0] in "'\"":
        return f"{found[0]}{_LEFT_OUT}{found[0]}"
    return _LEFT_OUT + found[len(found.rstrip(":,;.)]}")) :]


@cache
def _vocabulary() -> frozenset[str]:
    """The words in the sources of this library, and in the errors of others that it passes on."""
    texts = [os.strerror(number) for number in errno.errorcode]
    texts += [expat.ErrorString(number) or "" for number in expat.errors.messages]
    for package in ("batprotocol", *_OF_OTHERS):
        with suppress(ModuleNotFoundError):  # which of the two for TOML there is depends on the version of Python
            texts += _sources(files(package))
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _sources(place: Any) -> Iterable[str]:
    for each in place.iterdir():
        if each.is_dir():
            yield from _sources(each)
        elif each.name.endswith(".py"):
            yield each.read_text("utf-8")
