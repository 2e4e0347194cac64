"""Results of many runs compared: tables, plots, and what two runs differ in.

`rows` says what is compared, and `cells` which of their values repeat a measurement; `bootstrap` computes how sure a
mean is. `tables` makes means and differences of them, with `digits` and `units` as people read them and `captions` that
say what they are over, in `formats` for terminals, papers and notebooks. `pairs` compares two runs, which `schedules`
reads of result files and recordings (`told`). `plots` says what is drawn of runs, `ecdf` what of
jobs, `drawing` how, and `figures` is what they are drawn on. It knows nothing of how
runs are made or kept.
"""

from batprotocol.studies.comparing.bootstrap import CONFIDENCE, RESAMPLES, holm, interval, means_of, p_value
from batprotocol.studies.comparing.ecdf import plot_ecdf
from batprotocol.studies.comparing.pairs import TOLERANCE, Comparison, JobPair, Parting, compare
from batprotocol.studies.comparing.plots import (
    Look,
    expect_plots,
    plot_boxes,
    plot_lines,
    plot_means,
    save_plot,
)
from batprotocol.studies.comparing.rows import PlainRow, ResultRow
from batprotocol.studies.comparing.schedules import TOLD_TOLERANCE, Schedule, read_schedule, schedule_in
from batprotocol.studies.comparing.tables import Cell, Table, table

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "TOLD_TOLERANCE",
    "TOLERANCE",
    "Cell",
    "Comparison",
    "JobPair",
    "Look",
    "Parting",
    "PlainRow",
    "ResultRow",
    "Schedule",
    "Table",
    "compare",
    "expect_plots",
    "holm",
    "interval",
    "means_of",
    "p_value",
    "plot_boxes",
    "plot_ecdf",
    "plot_lines",
    "plot_means",
    "read_schedule",
    "save_plot",
    "schedule_in",
    "table",
]
