"""The markers of pages: lines `<!-- generated: NAME ARGUMENT -->`, in place of which something is generated.

It must not know these parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["marked", "replaced"]

_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_MARKER: Final = re.compile(r"^<!-- generated: (?P<name>[a-z-]+)(?: (?P<argument>.+?))? -->$", re.MULTILINE)
_MEANT: Final = re.compile(r"^.*<!-{1,}\s*generated\b.*$", re.MULTILINE | re.IGNORECASE)
"""Lines that look like markers, right or wrong."""


def replaced(text: str, made: Callable[[str, str], str]) -> str:
    """A page with each marker replaced by the part that `made` returns for its name and its argument (else "").

    Raises:
        ValueError: a line looks like a marker, and is not one.
    """
    for line in _MEANT.findall(text):
        if not _MARKER.fullmatch(line):
            raise ValueError(f"expected a line '<!-- generated: NAME ARGUMENT -->' and nothing else, got {line!r}")
    return _MARKER.sub(lambda marker: made(marker["name"], marker["argument"] or ""), text)


def marked(folder: str, *names: str) -> Iterator[tuple[str, str, str]]:
    """The markers of these names on the pages of a folder of `docs/`: page, name and argument of each."""
    for path in sorted((_DOCS / folder).glob("*.md")):
        for found in _MARKER.finditer(path.read_text(encoding="utf-8")):
            if found["name"] in names:
                yield f"{folder}/{path.stem}", found["name"], found["argument"] or ""
