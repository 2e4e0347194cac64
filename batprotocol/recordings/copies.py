"""Recordings that are made while messages pass: of a capture (`copy`), and of two programs that talk (`tap`).

A copy can be in another container: archive, folder or MCAP. All files of the capture are copied, with their names. A
tap passes the messages between Batsim and a decision component on, byte for byte.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from batprotocol._util.deprecation import old_arguments
from batprotocol._util.sockets import BoundChannel, Requester
from batprotocol.edc.recording import METADATA, Names, Recorder
from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings.captures import WALL, Capture

__all__ = [
    "copy",
    "tap",
]


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


# The messages between Batsim and a decision component


@old_arguments(said="on_message")
def tap(
    batsim: BoundChannel,
    edc: Requester,
    recorder: Recorder,
    on_message: Callable[[Direction, bytes], object] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> bytes:
    """Pass messages on until Batsim closes its connection.

    Args:
        batsim: the socket that Batsim connects to.
        edc: the connection to the decision component.
        recorder: records the messages.
        on_message: called with each message after it was passed on.
        on_wait: called every 0.2 seconds while waiting for Batsim. An exception from it ends the tap.

    Returns:
        The last message of Batsim, or b"" if it sent none.

    Raises:
        PeerGone: the decision component has closed its connection without an answer.
        PeerSilent: the decision component has not answered before the timeout.
        DecodeError: a message came in several frames.
        OSError: the disk is full. The earlier messages are kept.
    """
    last = b""
    write, receive, exchange, send = recorder.write, batsim.receive, edc.exchange, batsim.send
    while True:
        message = receive()
        if message is None:
            if on_wait is not None:
                on_wait()
            if last and batsim.is_peer_gone():
                return last
            continue
        last = message
        write(Direction.BATSIM_TO_EDC, message)
        answer = exchange(message)
        write(Direction.EDC_TO_BATSIM, answer)
        send(answer)
        if on_message is not None:
            on_message(Direction.BATSIM_TO_EDC, message)
            on_message(Direction.EDC_TO_BATSIM, answer)
