"""`Timeline`: the drawing of one run or several, and the files that are made of it.

This module must not know the sources of runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from batprotocol._util.files import by_ending, whole
from batprotocol.errors import InputError
from batprotocol.recordings.timeline.pages import MOST_RUNS, parts
from batprotocol.recordings.timeline.values import TimelineData

if TYPE_CHECKING:
    from batprotocol.recordings.timeline.figures import Colouring

__all__ = ["Timeline", "kind_of"]

_KINDS: Final = {".html": "page", ".pdf": "figure", ".svg": "figure", ".png": "figure"}
_HEIGHT = 640
"""The height of the page in a notebook, in pixels."""


def kind_of(path: str | os.PathLike[str]) -> str:
    """Whether a file of this name is a `page` or a `figure`.

    Raises:
        InputError: the file name has another ending.
    """
    return by_ending(path, _KINDS)


class Timeline:
    """One run, or several runs one above the other with the same time axis. A notebook shows the page.

    Args:
        runs: the runs.
        title: the title of the page; by default, the names of the runs.

    Raises:
        InputError: there is no run, or there are too many for a page.

    `one + other` has the runs of both.
    """

    def __init__(self, runs: Iterable[TimelineData], title: str = "") -> None:
        self.runs: Sequence[TimelineData] = tuple(runs)
        """The runs, from top to bottom."""
        self.title = title
        if not 1 <= len(self.runs) <= MOST_RUNS:
            raise InputError(f"a timeline has 1 to {MOST_RUNS} runs, got {len(self.runs)}")

    def __add__(self, other: Timeline) -> Timeline:
        if not isinstance(other, Timeline):
            return NotImplemented
        return Timeline([*self.runs, *other.runs], self.title or other.title)

    def html(self) -> str:
        """The page as a text."""
        return "".join(parts(self.runs, self.title))

    def save(self, path: str | os.PathLike[str], *, colour: Colouring = "job") -> None:
        """Write the page or a figure to a file.

        Args:
            path: the file. Its ending selects the kind: `.html` is the page; `.pdf`, `.svg` or `.png` is a figure.
            colour: the property that selects the colour of a job: `job`, `state`, `waiting` (how long it waited),
                `user`, `profile` or `workload`. Readers can change it in the page.

        Raises:
            InputError: the file has another ending.
            OSError: the file cannot be written.
            PackageMissing: it is a figure, and matplotlib is not installed.
        """
        if kind_of(path) == "page":
            with whole(path) as file:
                file.writelines(part.encode() for part in parts(self.runs, self.title, colour))
        else:
            from batprotocol.recordings.timeline.figures import save_figure

            save_figure(self.runs, path, colour)

    def figure(self, *, colour: Colouring = "job") -> Any:
        """The figure of matplotlib that `save` writes, to change it before it is written.

        Args:
            colour: see `save`.

        Raises:
            PackageMissing: matplotlib is not installed.
        """
        from batprotocol.recordings.timeline.figures import draw

        return draw(self.runs, colour)

    def _repr_html_(self) -> str:
        """The page in a separate frame, for notebooks."""
        frame = f"border:0;width:100%;height:{_HEIGHT}px"
        return f'<iframe sandbox="allow-scripts" style="{frame}" srcdoc="{escape(self.html())}"></iframe>'
