"""The figure of plots, in one style on screens and in files. It is imported only if matplotlib is installed."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure

SIZE: Final = (6.0, 3.7)
"""Width and height in inches. In one column of a paper, the texts are still legible."""
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
    """A figure in this style. pyplot does not manage it: it would show it twice in notebooks, and never free it."""

    notes: tuple[str, ...] = ()
    """Advice on its numbers, as sentences."""

    def __init__(self, size: tuple[float, float] = SIZE) -> None:
        super().__init__(figsize=size, layout="constrained")

    def _repr_png_(self) -> bytes:
        """The picture for notebooks."""
        file = BytesIO()
        with matplotlib.rc_context(STYLE):
            self.savefig(file, format="png", metadata={"Software": None})
        return file.getvalue()
