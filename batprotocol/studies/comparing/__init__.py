"""Compare the results of many runs: tables, plots, and the differences of two runs.

`rows` defines the results to compare. `cells` collects the values that repeat a measurement, and `intervals` computes
confidence intervals of their means by the distribution of `student`: of independent draws, or of windows that follow
one another (`series`), whose sums make `ratios`. `tables` makes tables of means and differences, with readable
numbers (`digits`, `units`) and `captions`, in `formats` for terminals, papers and notebooks. `pairs` compares two runs,
which `schedules` reads from result files and recordings (`reported`), and `logged` makes of logs; `causes` finds why
their jobs part. `plots` draws the metrics of runs, `ecdf` those of jobs, and
`watts` the power over time, in the style of `drawing`, on `figures`. It must not know how runs are made or kept.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.studies.comparing.ecdf import plot_ecdf
from batprotocol.studies.comparing.intervals import (
    CONFIDENCE,
    holm,
    interval,
    means_of,
    p_value,
)
from batprotocol.studies.comparing.pairs import TOLERANCE, Comparison, JobPair, Parting, compare
from batprotocol.studies.comparing.plots import (
    Look,
    expect_plots,
    plot_boxes,
    plot_lines,
    plot_means,
    save_plot,
)
from batprotocol.studies.comparing.ratios import Estimate, difference_of_ratios, ratio
from batprotocol.studies.comparing.rows import PlainRow, ResultRow
from batprotocol.studies.comparing.schedules import REPORTED_TOLERANCE, Schedule, read_schedule, schedule_in
from batprotocol.studies.comparing.series import effective_number
from batprotocol.studies.comparing.tables import Cell, Table, table
from batprotocol.studies.comparing.watts import plot_watts

__all__ = [
    "CONFIDENCE",
    "REPORTED_TOLERANCE",
    "TOLERANCE",
    "Cell",
    "Comparison",
    "Estimate",
    "JobPair",
    "Look",
    "Parting",
    "PlainRow",
    "ResultRow",
    "Schedule",
    "Table",
    "compare",
    "difference_of_ratios",
    "effective_number",
    "expect_plots",
    "holm",
    "interval",
    "means_of",
    "p_value",
    "plot_boxes",
    "plot_ecdf",
    "plot_lines",
    "plot_means",
    "plot_watts",
    "ratio",
    "read_schedule",
    "save_plot",
    "schedule_in",
    "table",
]

__getattr__ = old_names(__name__, {"TOLD_TOLERANCE": "REPORTED_TOLERANCE"})
