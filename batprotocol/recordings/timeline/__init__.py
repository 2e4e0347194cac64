"""Timelines: the events of a run, drawn as a page for a browser or as a figure for papers.

>>> from batprotocol.recordings.timeline import timeline
>>> timeline("out/jobs.csv").save("run.html")  # doctest: +SKIP

The data flow through these modules. `conversations` reads messages, `tables` reads Batsim's result files, and `making`
reads any rows of jobs; all of them make the plain values of `values`. `messages` stores the messages in few bytes,
`switches` the times when hosts were off, `absences` the times when they were down, drained or promised, and
`electricity` the carbon intensity, the price and the cap over time. `usage` counts the jobs that waited and the hosts
that were free. `packing` encodes a run as bytes; `sharing` encodes what jobs ask for beside hosts, with their `lanes`
on shared hosts, the `overlaps` of jobs and the `links` between them. `pages` joins these with the files in `page/`,
which unpack and draw them in a browser. `figures` draws with matplotlib. `timelines` has the main class: a `Timeline`
writes itself.
"""

from batprotocol.recordings.timeline.making import JobRow, WithJobs, timeline
from batprotocol.recordings.timeline.messages import MOST_TEXTS, Messages
from batprotocol.recordings.timeline.timelines import Timeline
from batprotocol.recordings.timeline.values import OffDuty, Series, TimelineData, TimelineJob

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
