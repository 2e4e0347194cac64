"""The offered load of each workload of a study, as its runs measured it. It must not know how runs are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from batprotocol.studies.comparing.rows import ResultRow, axes_of, label
from batprotocol.studies.keys import KEYS

__all__ = ["WorkloadLoad", "loads_of"]

_AXES: Final = tuple(
    name
    for name, key in KEYS.items()
    if key.kind in ("input", "change", "machine") and name not in ("scheduler", "seed", "events", "failures")
)
"""The axes that decide the offered load. Seeds draw the same workload anew."""
_PARTS: Final = ("warm_up", "cool_down", "begin", "end")


class WorkloadLoad(NamedTuple):
    """The offered load of a workload on a platform.

    Attributes:
        name: the workload, and its values on the axes of the study with several values: `workload=log.swf jobs=0-99`.
        least: the smallest offered load of its runs.
        most: the largest one, of another seed.
        left_out: the settings of the study by which a part of each run does not count, such as `warm_up`.
    """

    name: str
    least: float
    most: float
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line for readers.

        >>> str(WorkloadLoad("workload=log.swf arrival_factor=1.2", 0.941, 0.941))
        'workload=log.swf arrival_factor=1.2: offered load 0.941'
        """
        least, most = f"{self.least:.3g}", f"{self.most:.3g}"
        of = f" in the measured part of each run ({', '.join(self.left_out)})" if self.left_out else ""
        return f"{self.name}: offered load {least if least == most else f'{least} to {most}'}{of}"


def loads_of(rows: Iterable[ResultRow]) -> list[WorkloadLoad]:
    """The offered load of each workload and platform, in the order of the rows. Runs without results do not count.

    >>> from batprotocol.studies.comparing import PlainRow
    >>> rows = [PlainRow({"workload": "w", "seed": seed}, {"offered_load": 0.5 + seed / 10}) for seed in range(3)]
    >>> [str(each) for each in loads_of(rows)]
    ['workload=w: offered load 0.5 to 0.7']
    """
    found: dict[str, list[float]] = {}
    left_out: dict[str, dict[str, None]] = {}
    rows = list(rows)
    axes = axes_of(rows)
    shown = [axis for axis in _AXES if axis == "workload" or len(axes.get(axis, ())) > 1]
    for row in rows:
        load = row.metrics.get("offered_load")
        if load is not None and load == load:
            name = " ".join(f"{axis}={label(row.axes[axis])}" for axis in shown if axis in row.axes)
            found.setdefault(name or "workload", []).append(load)
            left_out.setdefault(name or "workload", {}).update(dict.fromkeys(_left_out(row)))
    return [WorkloadLoad(name, min(loads), max(loads), tuple(left_out[name])) for name, loads in found.items()]


def _left_out(row: ResultRow) -> list[str]:
    """The settings by which a part of a run does not count."""
    settings = getattr(getattr(row, "measure", None), "settings", {})
    return [name for name in _PARTS if settings.get(name)]
