"""The looks, axes, colours and files that plots share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from batprotocol._util.requirements import installing
from batprotocol.errors import InputError, PackageMissing, shown

if TYPE_CHECKING:
    from batprotocol.studies.comparing._figure import Plot
    from batprotocol.studies.comparing.rows import ResultRow


HATCHES: Final = ("", "//", "\\\\", "..", "xx", "--", "++", "oo")
MOST_TICKS: Final = 10
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: Final[tuple[Any, ...]] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2, 1, 2)))
_FEW_POWERS: Final = 1000
"""A logarithmic scale up to this length has numbers between the powers of ten."""
_THOUSANDS: Final = 10_000
_LINE: Final = 72
"""The number of characters of a legend that fit above a plot."""
_MOST_PANELS: Final = 24
_ACROSS: Final = 3
"""The maximum number of panels in a row."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The look of a plot.

    Args:
        size: width and height in inches, > 0; None: the default size, larger with several panels.
        title: the title above the plot; "": none, as papers have captions.
        xlabel: the label of the x axis; None: its name.
        ylabel: the label of the y axis; None: the metric with its unit.

    Raises:
        InputError: a size is not two numbers > 0.
    """

    size: tuple[float, float] | None = None
    title: str = ""
    xlabel: str | None = None
    ylabel: str | None = None

    def __post_init__(self) -> None:
        if self.size is not None and not (len(self.size) == 2 and all(0 < each <= 100 for each in self.size)):
            raise InputError(f"expected a width and a height in inches, in (0, 100], got {shown(self.size)}")


def missing() -> PackageMissing:
    """The error where matplotlib is not installed."""
    return PackageMissing(f"plots need the package matplotlib: {installing('plots')}")


def expect_results(results: list[ResultRow]) -> list[ResultRow]:
    """Check that there is at least one row, and return the rows.

    Raises:
        InputError: there are no rows.
    """
    if not results:
        raise InputError("there are no results to draw")
    return results


def canvas(look: Look, panels: int = 1) -> tuple[Plot, list[Any]]:
    """A figure, and the axes of each panel, which share the y axis.

    Raises:
        PackageMissing: matplotlib is not installed.
        InputError: there are too many panels.
    """
    try:
        import matplotlib

        from batprotocol.studies.comparing._figure import SIZE, STYLE, Plot

    except ImportError:
        raise missing() from None
    if panels > _MOST_PANELS:
        raise InputError(f"{panels} panels are too many to read: select at most {_MOST_PANELS} with --only or where")
    across = min(panels, _ACROSS)
    down = -(-panels // across)
    usual = (SIZE[0] * (1 + 0.6 * (across - 1)), SIZE[1] * (1 + 0.75 * (down - 1)))
    with matplotlib.rc_context(STYLE):
        figure = Plot(look.size or usual)
        found = figure.subplots(down, across, sharey=True, squeeze=False)
    every = [each for row in found for each in row]
    for each in every[panels:]:
        each.remove()
    return figure, every[:panels]


def panels_of(names: Sequence[str], axis: str | None, drawn: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The values on the axis of the panels, with the axes of each. Each panel gets its title."""
    for name, axes in zip(names, drawn, strict=True):
        if axis is not None:
            axes.set_title(f"{axis} = {name}", fontsize=10)
        yield name, axes


def looks(number: int) -> tuple[str, str, Any]:
    """Colour, marker and dashes of a line. After eight lines, the dashes move on by one."""
    round = number // len(_COLOURS)
    return _COLOURS[number % 8], _MARKERS[number % 8], _DASHES[(number + round) % 8]


def name_places(axes: Any, names: Sequence[str]) -> None:
    """Label the places of an axis without numbers. Long names are rotated."""
    leans = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if sum(map(len, names)) > _LINE else {}
    axes.set_xticks(range(len(names)), names, **leans)


def finish(figure: Plot, drawn: Sequence[Any], look: Look, *, log: bool, legend: str = "", note: str = "") -> None:
    """Set scales and labels, and add the legend above the panels and the note below them.

    Args:
        figure: the figure.
        drawn: the axes of its panels. Their labels stay, unless the look has others.
        look: the look.
        log: whether the y axis is logarithmic.
        legend: the title of the legend; "": there is no legend.
        note: the text below the panels, or "".
    """
    for axes in drawn:
        _scale(axes, log)
        axes.set_xlabel(axes.get_xlabel() if look.xlabel is None else look.xlabel)
        axes.set_ylabel(axes.get_ylabel() if look.ylabel is None else look.ylabel)
        axes.label_outer(remove_inner_ticks=False) if len(drawn) > 1 else None
    handles: dict[str, Any] = {}
    for axes in drawn:
        found, names = axes.get_legend_handles_labels()
        handles = {**dict(zip(names, found, strict=True)), **handles}
    if legend and handles:  # above the plot, where it hides nothing
        columns = max(1, min(len(handles), _LINE // (max(map(len, handles)) + 6)))
        figure.legend(
            handles.values(),
            handles,
            title=f"{look.title}\n{legend}" if look.title else legend,
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            fontsize=10,
        )
    elif look.title:
        figure.suptitle(look.title, fontsize=12)
    if note:
        figure.supxlabel(note, fontsize=8, color="#555555", wrap=True)


def _scale(axes: Any, log: bool) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    if log:
        axes.set_yscale("log")
        lowest, highest = axes.get_ylim()
        if highest < _FEW_POWERS * lowest:
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter(StrMethodFormatter("{x:,g}"))
    for axis in (axes.xaxis, axes.yaxis):
        lowest, highest = axis.get_view_interval()
        if axis.get_scale() == "linear" and max(abs(lowest), abs(highest)) >= _THOUSANDS:
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
