"""A capture in another container: archive, folder or MCAP. All that was kept comes along, under the names it had.

It must not know how containers are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from batprotocol.capture.captures import Capture
from batprotocol.capture.files import WALL
from batprotocol.deprecation import old_arguments
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recording import METADATA, Names, Recorder

__all__ = ["copy"]


@old_arguments(told="progress")
def copy(source: Capture, path: str | os.PathLike[str], progress: Callable[[int], object] = lambda count: None) -> int:
    """Write a capture into another file or folder.

    Args:
        source: the capture.
        path: where to; its suffix says what it becomes, as for `Recorder`.
        progress: called from time to time with the number of messages that were copied.

    Returns:
        How many messages there are.

    Raises:
        CaptureError: something that was kept has a name that no file in a recording can have.
        OSError: it cannot be written there, or something is there already.

    What was missing of the capture is missing of the copy, which says so, too.
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
    """How the messages are called: the first of each side tells."""
    ends: dict[Direction, str] = {}
    digits = Names().digits
    for entry in source:
        ends.setdefault(entry.direction, entry.names.ends[entry.direction])
        digits = entry.names.digits
        if len(ends) == len(Direction):
            break
    return Names({**Names().ends, **ends}, digits)
