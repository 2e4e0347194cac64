"""Between Batsim and a decision component: what each says is recorded and handed on, byte for byte.

What is said is on record before it is handed on, so that nothing is lost whoever dies. It must not know what messages
hold: garbage goes the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol.deprecation import old_arguments
from batprotocol.model import Direction
from batprotocol.recording import Recorder
from batprotocol.sockets import Channel, Requester

__all__ = ["tap"]


@old_arguments(said="on_message")
def tap(
    batsim: Channel,
    edc: Requester,
    recorder: Recorder,
    on_message: Callable[[Direction, bytes], object] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> bytes:
    """Hand on what is said until Batsim closes its connection.

    Args:
        batsim: where Batsim connects to.
        edc: the connection to the decision component.
        recorder: what keeps it.
        on_message: called with each message after it was handed on.
        on_wait: called every 0.2 seconds while waiting for Batsim; what it raises ends the tap.

    Returns:
        What Batsim said last; b"" if it said nothing.

    Raises:
        PeerGone: the decision component has closed its connection without an answer.
        PeerSilent: it has not answered for too long.
        DecodeError: somebody said something in several frames.
        OSError: the disk is full. What was recorded before is kept.
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
