"""The lines of a slurm.conf and of the files that it includes, in their order, with bounds for all of them together.

This module must not know the parameters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.sites.slurm.amounts import MOST_BYTES, text_of
from batprotocol.sites.slurm.lines import lines_of

__all__ = ["Line", "Lines"]

_MOST_DEPTH: Final = 10
_MOST_FILES: Final = 1000
_INCLUDE: Final = re.compile(r"\s*include\s+(\S.*)", re.IGNORECASE)
_CLUSTER: Final = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"]+)", re.IGNORECASE)


class Line(NamedTuple):
    """A line.

    Attributes:
        file: its file, as errors name it.
        number: its number.
        text: its text, without a comment.
    """

    file: str
    number: int
    text: str


class Lines:
    """Reads lines, and those of included files in the places where they are included.

    Args:
        folder: the folder of slurm.conf, where included files are looked for; None: no file may be included.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._left = MOST_BYTES
        self._files = 0
        self._cluster = ""

    def of(self, text: str, file: str, depth: int = 0) -> Iterator[Line]:
        """The lines of a text.

        Raises:
            InputError: a file cannot be included, or there are too many.
        """
        for number, line in lines_of(text):
            included = _INCLUDE.fullmatch(line)
            if included is None:
                cluster = _CLUSTER.match(line)
                if cluster is not None:
                    self._cluster = cluster[1]
                yield Line(file, number, line)
                continue
            try:
                path, inner = self._included(included[1].strip().strip('"'), depth)
            except InputError as error:
                raise InputError(error.reason, error.path, file=file, line=number) from None
            yield from self.of(inner, path, depth + 1)

    def _included(self, name: str, depth: int) -> tuple[str, str]:
        """The path of an included file, and its text."""
        if self._folder is None:
            raise InputError(f"the file {shown(name)} cannot be included in a text; use the path of slurm.conf")
        self._files += 1
        if depth >= _MOST_DEPTH or self._files > _MOST_FILES:
            what = f"{_MOST_DEPTH} files in one another" if depth >= _MOST_DEPTH else f"{_MOST_FILES} files"
            raise InputError(
                f"expected at most {what} to be included; does {shown(name)} include the file that includes it?"
            )
        path = os.path.join(self._folder, name.replace("%c", self._cluster))
        try:
            text = text_of(path, self._left)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, InputError):
                reason = error.reason
            raise InputError(f"the included file {shown(path)} cannot be read: {reason}") from None
        self._left -= len(text)
        return path, text
