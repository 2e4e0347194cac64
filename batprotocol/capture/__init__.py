"""Captures: conversations that were recorded, kept and looked at.

>>> from batprotocol.capture import Capture
>>> with Capture("examples/run.tar.xz") as run:  # doctest: +SKIP
...     first = next(iter(run))

The data take this way: `archives` reads tar, compressed or not; `sources` finds the messages in all that people name
(files, folders, archives, standard input), and `names` what their names tell. `files` makes a container of these.
`captures` is the door: a `Capture` gives each message as an `Entry` (`entries`), which is read when somebody asks.

`jobs` makes rows of what messages tell of jobs, and `knowledge` says what is known at a moment, by the rules of the
conversation.

It serves what is recorded by anybody, and runs nothing but what it is given. It must not know what decides, nor how
simulations are run.
"""

from batprotocol.capture.captures import Capture as Capture
from batprotocol.capture.captures import KeptResult as KeptResult
from batprotocol.capture.entries import Entry as Entry
from batprotocol.capture.jobs import ToldJob as ToldJob
from batprotocol.capture.jobs import jobs_of as jobs_of
from batprotocol.capture.knowledge import Follower as Follower
from batprotocol.capture.knowledge import Knowledge as Knowledge
from batprotocol.capture.knowledge import knowledge_at as knowledge_at

__all__ = ["Capture", "Entry", "Follower", "KeptResult", "Knowledge", "ToldJob", "jobs_of", "knowledge_at"]
