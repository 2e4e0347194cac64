"""Recordings: all messages of two peers in files, which `batproto dump` and `batproto check` read.

A `Recorder` takes messages as they were on the wire. In an archive, `00000-b2e.bin` is the first message, from Batsim,
and `00001-e2b.bin` is the answer to it. A folder has a file for each message. A `.mcap` is a container with an index.

During the run, a recording is a plain archive or a plain MCAP in a file that is mapped into memory. The
recorder copies each message there. From then on, the system writes the message to the disk even if this process
crashes. The unused part of the file is zeros, and an archive ends with zeros.

At the end of the run, a file in the requested format replaces the journal. Until then, a `.tar.xz` is not compressed, a
`.mcap` has no index, and a folder holds the archive `unfinished.tar`. Another thread prepares the final file during the
run.

`names` has the names of files and messages. `archives` and `mcap` write the formats, and `recorder` selects one of
them, and collects the metadata of a run. `sources` reads what was recorded, from folders, archives (`unpacked`) and
containers (`mcap_reader`): its messages as bytes, which `batprotocol.recordings` looks at.

If the disk is full, the journal uses the space that remains, and keeps the messages that it holds. If the final file
does not fit, the journal stays.
"""

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.edc.recording.names import METADATA as METADATA
from batprotocol.edc.recording.names import UNFINISHED as UNFINISHED
from batprotocol.edc.recording.names import Names as Names

if TYPE_CHECKING:
    from batprotocol.edc.recording.recorder import Recorder as Recorder
    from batprotocol.edc.recording.recorder import facts as facts
    from batprotocol.edc.recording.recorder import fingerprint as fingerprint

_LATE = {"Recorder": "recorder", "facts": "recorder", "fingerprint": "recorder"}
"""The names that those who read recordings do not need, and their modules."""

__getattr__ = old_names(__name__, {}, late=_LATE)

__all__ = ["METADATA", "UNFINISHED", "Names", "Recorder", "facts", "fingerprint"]
