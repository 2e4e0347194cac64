"""The plot of watts over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from batprotocol.errors import InputError
from batprotocol.simulator import Electricity, JobRow
from batprotocol.studies.comparing import PlainRow, plot_watts
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

CARBON = Trace([0.0, 50.0], [300.0, 200.0], 90.0, "g/kWh")
CAP = Trace([0.0], [400.0], float("inf"), "W")
READINGS = [(10.0, 1000.0), (20.0, 4000.0), (20.0, 4000.0), (100.0, 12000.0)]


class Measured:
    """A row of a study."""

    def __init__(
        self, scheduler: str, readings: list[tuple[float, float]] | None = READINGS, seed: int = 0, **known: Trace
    ) -> None:
        self.axes: dict[str, Any] = {"scheduler": scheduler, "seed": seed}
        self.metrics = {"mean_watts": 120.0}
        self._readings, self._known = readings, Electricity(**known)

    def jobs(self) -> Iterable[JobRow]:
        return ()

    def energy_over_time(self) -> list[tuple[float, float]] | None:
        return self._readings

    def electricity(self) -> Electricity:
        return self._known


def test_watts_are_means_between_readings() -> None:
    figure = plot_watts([Measured("easy", carbon=CARBON, cap=CAP), Measured("fcfs", carbon=CARBON, cap=CAP)])
    power, carbon = figure.axes
    assert power.get_ylabel() == "power [W]"
    (patch, _) = power.patches
    values, edges, _ = patch.get_data()
    assert (list(values), list(edges)) == ([100.0, 300.0, 100.0], [0.0, 10.0, 20.0, 100.0])
    (cap,) = power.lines
    assert list(cap.get_ydata()) == [400.0, 400.0]
    (line,) = carbon.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0.0, 50.0, 90.0], [300.0, 200.0, 200.0])
    assert carbon.get_ylabel() == "carbon\n[g/kWh]"
    assert carbon.get_xlabel() == "time [s]"


def test_long_runs_have_steps_that_can_be_seen() -> None:
    readings = [(60.0 * (number + 1), 6000.0 * (number + 1)) for number in range(20_000)]
    figure = plot_watts([Measured("easy", readings)], unit="kW")
    (axis,) = figure.axes
    values, edges, _ = axis.patches[0].get_data()
    assert len(values) <= 2001
    assert list(values) == pytest.approx([0.1] * len(values))
    assert (edges[0], edges[-1], axis.get_xlabel()) == (0.0, pytest.approx(20_000 / 1440), "time [d]")


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([], {}, "there are no results to draw"),
        ([Measured("easy", seed=0), Measured("easy", seed=1)], {}, "a line is one run: choose one value of seed"),
        ([Measured("easy", None)], {}, "no run has measured its energy over time"),
        ([PlainRow({"scheduler": "easy"}, {"makespan": 1.0})], {}, "no run has measured its energy over time"),
        ([Measured("easy")], {"unit": "kWh"}, "cannot be shown in 'kWh'"),
    ],
)
def test_what_cannot_be_drawn(rows: list[Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plot_watts(rows, **options)
