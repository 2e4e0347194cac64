"""The two ends of a conversation over ZeroMQ: `channel` is bound and answers, `requester` connects and asks.

Whoever runs a side of a conversation uses them; what the frames hold, they do not know. `endpoints` says what may be
bound. A channel's messages go through a `link`, which is in C where it was compiled (`_link`, from `native/`).
"""

from batprotocol.sockets.channel import TICK, Channel
from batprotocol.sockets.requester import Requester

__all__ = ["TICK", "Channel", "Requester"]
