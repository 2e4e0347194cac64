"""Records the messages between Batsim and a decision component, and passes them on byte for byte.

It records each message before it passes the message on. So no message is lost if a process crashes. It must not know
what messages hold: it passes garbage on, too.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol._util.deprecation import old_arguments
from batprotocol._util.sockets import Channel, Requester
from batprotocol.edc.recording import Recorder
from batprotocol.model import Direction

__all__ = ["tap"]


@old_arguments(said="on_message")
def tap(
    batsim: Channel,
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
