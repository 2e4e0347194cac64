"""Captures: recorded conversations, and the functions that read and compare them.

>>> from batprotocol.recordings import Capture
>>> with Capture("examples/run.tar.xz") as run:  # doctest: +SKIP
...     first = next(iter(run))

The lowest modules read files. `archives` reads tar files, compressed or not. `sources` finds the messages in the
files, folders, archives and standard input that users name. `names` reads the names of messages, and `kinds` finds out
whether a path holds messages or a table of jobs. `files` and `mcap` are the two containers. The public class is in
`captures`: a `Capture` yields each message as an `Entry` (`entries`), which is decoded on demand.

`traffic` finds the conversations in captured network traffic, and makes recordings of them.

`copying` writes a capture into another container, `exporting` writes tables and traces for other programs, and
`tapping` records the messages between Batsim and a decision component.

`jobs` makes a row for each job from the messages, and `knowledge` derives the state at a moment with the rules of the
conversation.

On top of these, `statistics` computes the statistics of a run, `meaning` finds the parts of a message that have an
effect, `comparing` finds the first difference of two runs, and `replaying` plays Batsim's side of a run to a decision
component. `timeline` draws pages and figures of runs.

It reads recordings of any program, and runs only what it is given. It must not know what decides, nor how simulations
are run.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import CaptureError as CaptureError

if TYPE_CHECKING:
    from batprotocol.recordings.captures import Capture as Capture
    from batprotocol.recordings.captures import KeptResult as KeptResult
    from batprotocol.recordings.comparing import compare as compare
    from batprotocol.recordings.comparing import job_differences as job_differences
    from batprotocol.recordings.entries import Entry as Entry
    from batprotocol.recordings.jobs import CapturedJob as CapturedJob
    from batprotocol.recordings.jobs import jobs_of as jobs_of
    from batprotocol.recordings.knowledge import Follower as Follower
    from batprotocol.recordings.knowledge import Knowledge as Knowledge
    from batprotocol.recordings.knowledge import knowledge_at as knowledge_at
    from batprotocol.recordings.replaying import Together as Together
    from batprotocol.recordings.replaying import replay as replay
    from batprotocol.recordings.statistics import statistics_of as statistics_of
else:
    _LATE = {
        "Capture": "captures",
        "CapturedJob": "jobs",
        "Entry": "entries",
        "Follower": "knowledge",
        "KeptResult": "captures",
        "Knowledge": "knowledge",
        "Together": "replaying",
        "compare": "comparing",
        "job_differences": "comparing",
        "jobs_of": "jobs",
        "knowledge_at": "knowledge",
        "replay": "replaying",
        "statistics_of": "statistics",
    }
    """The names and their modules: `batproto dump` needs none of them, and does not wait for the rules."""

    __getattr__ = old_names(__name__, {"ToldJob": "CapturedJob"}, late=_LATE)

    __all__ = ["CaptureError", *_LATE]
