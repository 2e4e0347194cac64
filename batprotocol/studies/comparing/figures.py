"""The figure that plots are drawn on, in one style, on screens as in files. A notebook shows it by itself.

It is imported where matplotlib is there, and must not know what is drawn.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure

__all__ = ["SIZE", "STYLE", "Plot"]

SIZE: Final = (6.0, 3.7)
"""Inches: printed over one column of a paper, its texts are still legible."""
STYLE: Final[Any] = {
    "font.size": 11,
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.title_fontsize": 10,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "svg.hashsalt": "batprotocol",  # the same plot is the same file
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


class Plot(Figure):
    """A figure of our style. It is none of pyplot's, which would show it twice in a notebook, and keep it for ever."""

    notes: tuple[str, ...] = ()
    """What to know before its numbers are used, as sentences."""

    def __init__(self, size: tuple[float, float] = SIZE) -> None:
        super().__init__(figsize=size, layout="constrained")

    def _repr_png_(self) -> bytes:
        """What notebooks show."""
        file = BytesIO()
        with matplotlib.rc_context(STYLE):
            self.savefig(file, format="png", metadata={"Software": None})
        return file.getvalue()
