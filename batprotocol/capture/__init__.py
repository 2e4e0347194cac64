"""Captures: conversations that were recorded, kept and looked at.

>>> from batprotocol.capture import Capture
>>> with Capture("examples/run.tar.xz") as run:  # doctest: +SKIP
...     first = next(iter(run))

The data take this way: `archives` reads tar, compressed or not; `sources` finds the messages in all that people name
(files, folders, archives, standard input), and `names` what their names tell. `files` makes a container of these.
`captures` is the door: a `Capture` gives each message as an `Entry` (`entries`), which is read when somebody asks.

It serves what is recorded by anybody, and runs nothing but what it is given. It must not know what decides, nor how
simulations are run.
"""

from batprotocol.capture.captures import Capture as Capture
from batprotocol.capture.captures import KeptResult as KeptResult
from batprotocol.capture.entries import Entry as Entry

__all__ = ["Capture", "Entry", "KeptResult"]
