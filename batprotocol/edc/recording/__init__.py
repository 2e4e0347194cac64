"""Records all messages of two peers in files that `batproto dump` and `batproto check` read.

A `Recorder` takes messages as they were on the wire. In an archive, `00000-b2e.bin` is the first message, from Batsim,
and `00001-e2b.bin` is the answer to it. A folder has a file for each message. A `.mcap` is a container with an index.

During the run, a recording is a plain archive or a plain MCAP in a file that is mapped into memory (`journal`). The
recorder copies each message there. From then on, the system writes the message to the disk even if this process
crashes. The unused part of the file is zeros, and an archive ends with zeros.

At the end of the run, a file in the requested format replaces the journal. Until then, a `.tar.xz` is not compressed, a
`.mcap` has no index, and a folder holds the archive `unfinished.tar`. Another thread prepares the final file during the
run (`packing`).

`tar` and `mcap` implement the formats, and `recorder` selects one of them. `names` has the names of messages and files,
`moments` the times of the index, and `facts` the metadata of a run.

If the disk is full, the journal uses the space that remains, and keeps the messages that it holds. If the final file
does not fit, the journal stays.

It must not know what the messages hold except for their times, nor who sends them.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.edc.recording.facts import facts as facts
from batprotocol.edc.recording.facts import fingerprint as fingerprint
from batprotocol.edc.recording.names import Names as Names
from batprotocol.edc.recording.tar import METADATA as METADATA
from batprotocol.edc.recording.tar import UNFINISHED as UNFINISHED

if TYPE_CHECKING:
    from batprotocol.edc.recording.recorder import Recorder as Recorder

__getattr__ = old_names(__name__, {}, late={"Recorder": "recorder"})  # not for those who read recordings

__all__ = ["METADATA", "UNFINISHED", "Names", "Recorder", "facts", "fingerprint"]
