"""Captured network traffic, as `tcpdump` and Wireshark write it, and the conversations over ZeroMQ in it.

The packets of a file become segments of TCP (`_packets`), whose headers dpkt reads. The segments of each side of a
connection become bytes in their order, and the bytes become messages of ZeroMQ (`_streams`). A `Traffic`
(`_conversations`) reads a file, and `record` writes a recording of each conversation.

Nothing is guessed. The missing parts of a capture are reported and counted: bytes that were lost, connections that
begin before the capture, packets that cannot be read. For any bytes, memory is bounded, and time is in proportion to
their number.
"""

from batprotocol._util.deprecation import old_names
from batprotocol.recordings.traffic._conversations import Captured as Captured
from batprotocol.recordings.traffic._conversations import CapturedConversation as CapturedConversation
from batprotocol.recordings.traffic._conversations import Traffic as Traffic
from batprotocol.recordings.traffic._conversations import record as record
from batprotocol.recordings.traffic._packets import is_traffic as is_traffic
from batprotocol.recordings.traffic._streams import Side as Side

__all__ = ["Captured", "CapturedConversation", "Side", "Traffic", "is_traffic", "record"]

__getattr__ = old_names(__name__, {"Conversation": "CapturedConversation"})
