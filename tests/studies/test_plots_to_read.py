"""Plots that readers can read: lines that bands do not hide, and distributions over several powers of ten."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.studies.comparing import PlainRow, plot_ecdf, plot_lines

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once


def job(number: int, waiting: float) -> JobRow:
    return JobRow(
        job_id=str(number),
        workload_name="w0",
        profile="w0!p",
        submission_time=0.0,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=waiting,
        execution_time=1.0,
        allocated_resources="0",
    )


def waits(names: Iterable[str], longest: float) -> list[PlainRow]:
    """Runs at two loads; one of a hundred jobs of each run waits for the longest time, and the others for 2 s."""
    jobs = [job(number, 2.0 if number else longest) for number in range(100)]
    return [
        PlainRow(
            {"scheduler": name, "load": load, "seed": seed}, {"mean_waiting_time": load * (number + seed + 1)}, jobs
        )
        for number, name in enumerate(names)
        for load in (0.5, 0.9)
        for seed in range(5)
    ]


def test_many_lines_have_bars_and_few_have_bands() -> None:
    (few,) = plot_lines(waits("abc", 3.0), x="load", metric="mean_waiting_time").axes
    (many,) = plot_lines(waits("abcd", 3.0), x="load", metric="mean_waiting_time").axes
    assert (len(few.collections), len(few.containers)) == (3, 0)
    assert (len(many.collections), len(many.containers)) == (4, 4)  # the collections are the bars


@pytest.mark.parametrize(("longest", "scale"), [(560_000.0, "symlog"), (30.0, "linear")])
def test_distributions_over_decades_are_on_a_logarithmic_scale(longest: float, scale: str) -> None:
    rows = waits("ab", longest)
    assert plot_ecdf(rows).axes[0].get_xscale() == scale
    assert plot_ecdf(rows, log=False).axes[0].get_xscale() == "linear"
    assert plot_ecdf(rows, log=True).axes[0].get_xscale() == "symlog"
