"""Decision components as processes: a scheduler, the loop that drives it, and the socket that Batsim connects to.

`run` runs a `Scheduler`, which has a method for each event; `serve` gives the turns of a simulation to those who want
the loop in their own hands. Both are thin shells around `Session`, which knows the conversation and does no I/O. What
Batsim would abort on is refused before it is sent.

A frame goes from `channel` (the socket, at what `endpoints` lets be bound) through `server` (the loop) to `session`,
which makes a turn of it; `scheduler` fills in its `reply`, and the answer goes the same way back. `running` puts it all
together for a whole program, which `signals` may end.
"""

from __future__ import annotations

from batprotocol.edc.reply import Reply
from batprotocol.edc.running import run
from batprotocol.edc.scheduler import Scheduler, rehearse
from batprotocol.edc.server import DEFAULT_ENDPOINT, Server, serve
from batprotocol.edc.session import Session, Turn

__all__ = ["DEFAULT_ENDPOINT", "Reply", "Scheduler", "Server", "Session", "Turn", "rehearse", "run", "serve"]
