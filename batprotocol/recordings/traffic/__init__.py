"""Captured network traffic, as `tcpdump` and Wireshark write it, and the conversations over ZeroMQ in it.

The packets of a file (`packets`) become segments of TCP (`links`), the segments of each side of a connection become
bytes in their order (`streams`), and the bytes become frames of ZeroMQ (`frames`). `connections` joins the two sides
of each connection, and `conversations` has the public functions: it reads a file, and writes a recording of each
conversation.

Nothing is guessed. The missing parts of a capture are reported and counted: bytes that were lost, connections that
begin before the capture, packets that cannot be read. For any bytes, memory is bounded, and time is in proportion to
their number.

It must not know what the messages hold.
"""

from batprotocol.recordings.traffic.connections import Side as Side
from batprotocol.recordings.traffic.conversations import Captured as Captured
from batprotocol.recordings.traffic.conversations import Conversation as Conversation
from batprotocol.recordings.traffic.conversations import Traffic as Traffic
from batprotocol.recordings.traffic.conversations import record as record
from batprotocol.recordings.traffic.packets import is_traffic as is_traffic

__all__ = ["Captured", "Conversation", "Side", "Traffic", "is_traffic", "record"]
