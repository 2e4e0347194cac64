"""Timelines: what happened in a run, as a page to look at, or a figure for papers.

>>> from batprotocol.capture.timeline import timeline
>>> timeline("out/jobs.csv").save("run.html")  # doctest: +SKIP

The data take this way: `conversations` reads what was said, `tables` Batsim's result files, `making` any rows of jobs,
and all of them make the plain values of `values`; `messages` keeps what was said in few bytes, `switches` when hosts
were off. `usage` finds how many jobs waited and how many hosts were free. `packing` makes bytes of a run, and `pages`
the page of these and of what is in `page/`, in which a browser unpacks and draws them; `figures` draws with matplotlib.
`timelines` is the door: a `Timeline` writes itself.
"""

from batprotocol.capture.timeline.making import JobRow, WithJobs, timeline
from batprotocol.capture.timeline.messages import MOST_TEXTS, Messages
from batprotocol.capture.timeline.timelines import Timeline
from batprotocol.capture.timeline.values import OffDuty, Series, TimelineData, TimelineJob

__all__ = [
    "MOST_TEXTS",
    "JobRow",
    "Messages",
    "OffDuty",
    "Series",
    "Timeline",
    "TimelineData",
    "TimelineJob",
    "WithJobs",
    "timeline",
]
