"""Timelines: the events of a run, drawn as a page for a browser or as a figure for papers.

>>> from batprotocol.recordings.timeline import timeline
>>> timeline("out/jobs.csv").save("run.html")  # doctest: +SKIP

The data flow through these modules. `sources` reads messages and Batsim's result files, and makes the plain values of
`values`: jobs, messages, series over time, hosts out of service. `packing` and `_sharing` encode them as bytes.
`timelines` has the main class: a `Timeline` joins the bytes with the files in `page/`, which unpack and draw them in a
browser, or draws with matplotlib (`_figures`).
"""

from batprotocol._util.deprecation import old_names
from batprotocol.recordings.timeline.timelines import JobsCsvRow, Timeline, WithJobs, timeline
from batprotocol.recordings.timeline.values import MOST_TEXTS, Messages, OffDuty, Series, TimelineData, TimelineJob

__all__ = [
    "MOST_TEXTS",
    "JobsCsvRow",
    "Messages",
    "OffDuty",
    "Series",
    "Timeline",
    "TimelineData",
    "TimelineJob",
    "WithJobs",
    "timeline",
]

__getattr__ = old_names(__name__, {"JobRow": "JobsCsvRow"})
