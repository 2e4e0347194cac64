"""The role of Batsim for a decision component at a ZeroMQ endpoint: the handshake, and the format of messages."""

from __future__ import annotations

from batprotocol._util.sockets import Requester
from batprotocol.model import Message
from batprotocol.wire import FORMATS, frames

__all__ = ["RemoteComponent", "connect"]


class RemoteComponent(Requester):
    """A decision component that listens at an endpoint. Use it in a `with`, which closes the connection.

    Args:
        endpoint: the endpoint, such as `tcp://127.0.0.1:28000` or `ipc:///tmp/edc.sock`. The component may begin to
            listen later.
        timeout: the maximum number of seconds to wait for each answer; None: no limit, as in Batsim.

    Raises:
        OSError: this is not an endpoint.
    """

    _format = FORMATS["binary"]

    def hello(self, text: str) -> Message:
        """Send the initialization data, and return the hello. The hello determines the format of the conversation.

        Raises:
            DecodeError: the answer is not a hello.
            PeerGone, PeerSilent: there is no answer.
        """
        found = frames.decode_hello(self.exchange(frames.encode_init(text)))
        self._format = FORMATS[found.format]
        return found.message

    def answer(self, message: Message) -> Message:
        """Send a message, and return the reply.

        Raises:
            DecodeError: the answer is not a message.
            PeerGone, PeerSilent: there is no answer.
        """
        reply: Message = self._format.decode(self.exchange(self._format.encode(message)))
        return reply


def connect(endpoint: str, *, timeout: float | None = None) -> RemoteComponent:
    """Connect to the decision component at an endpoint. Pass the result to `simulate`.

    Args:
        endpoint: the endpoint, such as `tcp://127.0.0.1:28000` or `ipc:///tmp/edc.sock`. The component may begin to
            listen later.
        timeout: the maximum number of seconds to wait for each answer; None: no limit, as in Batsim.

    Raises:
        OSError: this is not an endpoint.
    """
    return RemoteComponent(endpoint, timeout=timeout)
