"""Recordings: all that two peers say, as files that `batproto dump` and `batproto check` read.

A `Recorder` takes messages as they were on the wire. In an archive, `00000-b2e.bin` is the first message, from Batsim,
`00001-e2b.bin` the answer to it, and so on; a folder has a file for each; a `.mcap` is a container with an index.

While it goes on, a recording is a plain archive or a plain MCAP in a file that is mapped into memory (`journal`): a
message is copied there and is in the hands of the system, which writes it down whatever becomes of this process. What
is mapped and not yet used is zeros, with which an archive ends. In the end, what was asked for takes its place: until
then, a `.tar.xz` is not compressed and a `.mcap` has no index, though another thread has prepared it (`packing`), and a
folder holds the archive `unfinished.tar`. `tar` and `mcap` know these formats, and `recorder` which one is asked for.
`names` are those of messages and files, `moments` the times that an index is made of, and `facts` what is told of a
run.

Where the disk is full, a journal takes what there is, and keeps what it holds; what cannot take its place does not.

It must not know what the messages hold but for their times, nor who sends them.
"""

from batprotocol.recording.facts import facts as facts
from batprotocol.recording.facts import fingerprint as fingerprint
from batprotocol.recording.names import Names as Names
from batprotocol.recording.recorder import Recorder as Recorder
from batprotocol.recording.tar import METADATA as METADATA
from batprotocol.recording.tar import UNFINISHED as UNFINISHED

__all__ = ["METADATA", "UNFINISHED", "Names", "Recorder", "facts", "fingerprint"]
