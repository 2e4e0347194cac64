"""To be Batsim for a decision component at a ZeroMQ endpoint: the handshake, and the format that it decides on."""

from __future__ import annotations

from batprotocol.model import Message
from batprotocol.sockets import Requester
from batprotocol.wire import FORMATS, frames

__all__ = ["RemoteComponent", "connect"]


class RemoteComponent(Requester):
    """A decision component that listens at an endpoint. Use it in a `with`, which closes the connection.

    Args:
        endpoint: where it listens: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`. It may begin to do so later.
        timeout: how many seconds to wait for each answer; None: for ever, as Batsim does.

    Raises:
        OSError: this is no endpoint.
    """

    _format = FORMATS["binary"]

    def hello(self, text: str) -> Message:
        """The hello, for these initialization data. It decides on the format of the conversation.

        Raises:
            DecodeError: this is no hello.
            PeerGone, PeerSilent: there is no answer.
        """
        found = frames.decode_hello(self.exchange(frames.encode_init(text)))
        self._format = FORMATS[found.format]
        return found.message

    def answer(self, message: Message) -> Message:
        """The reply to a message.

        Raises:
            DecodeError: this is no message.
            PeerGone, PeerSilent: there is no answer.
        """
        reply: Message = self._format.decode(self.exchange(self._format.encode(message)))
        return reply


def connect(endpoint: str, *, timeout: float | None = None) -> RemoteComponent:
    """Be Batsim for the decision component that listens at an endpoint: give the result to `simulate`.

    Args:
        endpoint: where it listens: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`. It may begin to do so later.
        timeout: how many seconds to wait for each answer; None: for ever, as Batsim does.

    Raises:
        OSError: this is no endpoint.
    """
    return RemoteComponent(endpoint, timeout=timeout)
