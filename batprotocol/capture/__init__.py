"""Captures: conversations that were recorded, kept and looked at.

>>> from batprotocol.capture import Capture
>>> with Capture("examples/run.tar.xz") as run:  # doctest: +SKIP
...     first = next(iter(run))

The data take this way: `archives` reads tar, compressed or not; `sources` finds the messages in all that people name
(files, folders, archives, standard input), `names` what their names tell, and `kinds` whether a path holds messages or
a table of jobs. `files` makes a container of these, and `mcap` is the other. `captures` is the door: a `Capture` gives
each message as an `Entry` (`entries`), which is read when somebody asks.

`copying` puts all that is kept into another container, `exporting` makes tables and traces for other programs of it,
and `tapping` records what two say who are given to it.

`jobs` makes rows of what messages tell of jobs, and `knowledge` says what is known at a moment, by the rules of the
conversation.

Above these, `statistics` has the numbers of a run, `meaning` tells what of a message matters, `comparing` finds where
two runs part, and `replaying` plays Batsim's side of one to whoever replies. `timeline` makes pages and figures of
runs.

It serves what is recorded by anybody, and runs nothing but what it is given. It must not know what decides, nor how
simulations are run.
"""

from batprotocol.capture.captures import Capture as Capture
from batprotocol.capture.captures import KeptResult as KeptResult
from batprotocol.capture.comparing import compare as compare
from batprotocol.capture.comparing import job_differences as job_differences
from batprotocol.capture.entries import Entry as Entry
from batprotocol.capture.jobs import CapturedJob as CapturedJob
from batprotocol.capture.jobs import jobs_of as jobs_of
from batprotocol.capture.knowledge import Follower as Follower
from batprotocol.capture.knowledge import Knowledge as Knowledge
from batprotocol.capture.knowledge import knowledge_at as knowledge_at
from batprotocol.capture.replaying import Together as Together
from batprotocol.capture.replaying import replay as replay
from batprotocol.capture.statistics import statistics_of as statistics_of
from batprotocol.deprecation import old_names

__all__ = [
    "Capture",
    "CapturedJob",
    "Entry",
    "Follower",
    "KeptResult",
    "Knowledge",
    "Together",
    "compare",
    "job_differences",
    "jobs_of",
    "knowledge_at",
    "replay",
    "statistics_of",
]

__getattr__ = old_names(__name__, {"ToldJob": "CapturedJob"})
