"""Compare the results of many runs: tables, plots, and the differences of two runs.

`rows` defines the results to compare, and collects the values that repeat a measurement. `intervals` computes
confidence intervals: of independent draws, or of windows that follow one another, whose sums make ratios. `tables`
makes tables of means and differences, with captions. `_plots` draws the metrics of runs and of jobs, and the power over
time. `pairs` compares two runs job by job, and finds why their jobs part; `schedules` reads them from result files,
recordings and logs.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.studies.comparing._drawing import Look
from batprotocol.studies.comparing._plots import (
    expect_plots,
    plot_boxes,
    plot_ecdf,
    plot_lines,
    plot_means,
    plot_watts,
    save_plot,
)
from batprotocol.studies.comparing.intervals import (
    CONFIDENCE,
    Estimate,
    difference_of_ratios,
    effective_number,
    holm,
    interval,
    means_of,
    p_value,
    ratio,
)
from batprotocol.studies.comparing.pairs import TOLERANCE, Comparison, JobPair, Parting, compare
from batprotocol.studies.comparing.rows import PlainRow, ResultRow
from batprotocol.studies.comparing.schedules import REPORTED_TOLERANCE, Schedule, read_schedule, schedule_in
from batprotocol.studies.comparing.tables import Cell, StudyTable, table

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
    "StudyTable",
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

__getattr__ = old_names(__name__, {"TOLD_TOLERANCE": "REPORTED_TOLERANCE", "Table": "StudyTable"})
