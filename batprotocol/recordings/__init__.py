"""Captures: recorded conversations, and the functions that read and compare them.

>>> from batprotocol.recordings import Capture
>>> with Capture("examples/run.tar.xz") as run:  # doctest: +SKIP
...     first = next(iter(run))

`batprotocol.edc.recording.sources` finds the messages in the files, folders, archives and standard input that users
name. A `Capture` (`captures`) yields each message as an `Entry`, which is decoded on demand. `traffic` finds the
conversations in captured network traffic, and makes recordings of them.

`statistics` makes a row for each job, and computes the statistics of a run. `states` derives the state at a moment with
the rules of the conversation. `canonical` finds the parts of a message that have an effect, `comparison` the first
difference of two runs. `replays` plays Batsim's side of a run to a decision component.

`copies` writes a capture into another container, or records the messages between two programs. `exports` writes tables
and traces for other programs, and `timeline` draws pages and figures of runs.

It reads recordings of any program, and runs only what it is given.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import CaptureError as CaptureError

if TYPE_CHECKING:
    from batprotocol.edc.recording.entries import Entry as Entry
    from batprotocol.recordings.captures import Capture as Capture
    from batprotocol.recordings.captures import KeptResult as KeptResult
    from batprotocol.recordings.comparison import compare as compare
    from batprotocol.recordings.comparison import job_differences as job_differences
    from batprotocol.recordings.replays import Together as Together
    from batprotocol.recordings.replays import replay as replay
    from batprotocol.recordings.states import RunState as RunState
    from batprotocol.recordings.states import StateFollower as StateFollower
    from batprotocol.recordings.states import state_at as state_at
    from batprotocol.recordings.statistics import CapturedJob as CapturedJob
    from batprotocol.recordings.statistics import jobs_of as jobs_of
    from batprotocol.recordings.statistics import statistics_of as statistics_of
else:
    _LATE = {
        "Capture": "captures",
        "CapturedJob": "statistics",
        "Entry": "batprotocol.edc.recording.entries",
        "KeptResult": "captures",
        "RunState": "states",
        "StateFollower": "states",
        "Together": "replays",
        "compare": "comparison",
        "job_differences": "comparison",
        "jobs_of": "statistics",
        "replay": "replays",
        "state_at": "states",
        "statistics_of": "statistics",
    }
    """The names and their modules: `batproto dump` needs none of them, and does not wait for the rules."""

    __getattr__ = old_names(
        __name__,
        {"Follower": "StateFollower", "Knowledge": "RunState", "ToldJob": "CapturedJob", "knowledge_at": "state_at"},
        late=_LATE,
    )

    __all__ = ["CaptureError", *_LATE]
