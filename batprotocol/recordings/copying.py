"""Copies a capture to another container: archive, folder or MCAP. All its files are copied, with their names.

It must not know how containers are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from batprotocol._util.deprecation import old_arguments
from batprotocol.edc.recording import METADATA, Names, Recorder
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings.captures import Capture
from batprotocol.recordings.files import WALL

__all__ = ["copy"]


@old_arguments(told="progress")
def copy(source: Capture, path: str | os.PathLike[str], progress: Callable[[int], object] = lambda count: None) -> int:
    """Write a capture into another file or folder.

    Args:
        source: the capture.
        path: the file or folder to write. Its ending selects the format, as for `Recorder`.
        progress: called from time to time with the number of messages that were copied.

    Returns:
        The number of messages.

    Raises:
        CaptureError: a file in the capture has a name that is not allowed in a recording.
        OSError: the copy cannot be written, or the path exists.

    If a part of the capture is missing, the copy reports it as missing, too.
    """
    about = dict(source.metadata)
    if source.missing:
        about["missing"] = source.missing
    with Recorder(path, about, names=_names(source)) as recorder:
        walls = ["number,wall"]
        count = 0
        for entry in source:
            recorder.write(entry.direction, entry.data, entry.wall or 0)
            if entry.wall is not None:
                walls.append(f"{count},{entry.wall}")
            count += 1
            if not count % 1000:
                progress(count)
        if not recorder.is_mcap and about:
            recorder.keep(METADATA, json.dumps(about, indent=1).encode())
        if not recorder.is_mcap and len(walls) > 1:
            recorder.keep(WALL, "\n".join([*walls, ""]).encode())
        for name, data in source.attachments():
            try:
                recorder.keep(name, data)
            except ValueError as error:
                raise CaptureError(str(error), source.path) from None
    return count


def _names(source: Capture) -> Names:
    """The names of the messages, by the first message of each side."""
    ends: dict[Direction, str] = {}
    digits = Names().digits
    for entry in source:
        ends.setdefault(entry.direction, entry.names.ends[entry.direction])
        digits = entry.names.digits
        if len(ends) == len(Direction):
            break
    return Names({**Names().ends, **ends}, digits)
