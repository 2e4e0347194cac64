"""The two ends of a conversation over ZeroMQ: `channel` is bound and answers, `requester` connects and asks.

The runtimes of both sides use them. They do not know the contents of frames. `endpoints` checks the endpoints to bind.
A channel's messages go through a `link`.
"""

from batprotocol._util.sockets.channel import TICK, BoundChannel
from batprotocol._util.sockets.requester import Requester

__all__ = ["TICK", "BoundChannel", "Requester"]
