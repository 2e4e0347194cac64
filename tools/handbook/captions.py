"""A block of code with a comment `<!-- file: NAME -->` above it is a file. The site shows the name as its caption.

Readers of the site do not see comments, and need the name to save the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["caption", "captioned"]

_FILE: Final = re.compile(
    r"^<!-- file: (?P<name>.+?) -->\n(?P<others>(?:<!-- .+? -->\n)*)(?P<ticks>```+)(?P<language>\w+)\n", re.MULTILINE
)


def captioned(text: str) -> str:
    """A page with its blocks captioned."""
    return _FILE.sub(r"\g<others>\g<ticks>{code-block} \g<language>\n:caption: \g<name>\n\n", text)


def caption(app: Sphinx, page: str, source: list[str]) -> None:
    """Called by Sphinx when it has read a page."""
    source[0] = captioned(source[0])
