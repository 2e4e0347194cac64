"""Decision components as processes: a scheduler, the loop that drives it, and the socket that Batsim connects to.

`run` runs a `Scheduler`, which has a method for each event. `serve` gives the turns of a simulation to a loop of your
own. Both are thin shells around `Session`, which knows the conversation and does no I/O. The library refuses an event
that would make Batsim abort, before it is sent.

A frame takes this way through the modules. `server`, the loop, receives it from a socket (`batprotocol._util.sockets`),
and passes it to `session`, which makes a turn of it; the answer to the first frame is the hello. `scheduler`
calls the methods of a scheduler. They fill in its `reply`, which asks the conversation of the `session` about each
event. The answer goes the same way back. `running` combines these modules into a whole program, which signals can end.
Inside Batsim, `embedded` replaces the socket and the loop. Both load the class of a scheduler from its file by
`scheduler`, which also finds out whether the scheduler raised an exception; `error_notes` adds the time to it.
`recording` writes and reads the files of recordings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names

if TYPE_CHECKING:
    from batprotocol.edc.reply import Reply
    from batprotocol.edc.running import run
    from batprotocol.edc.scheduler import Scheduler, rehearse
    from batprotocol.edc.server import DEFAULT_ENDPOINT, Server, serve
    from batprotocol.edc.session import Session, Turn

__all__ = ["DEFAULT_ENDPOINT", "Reply", "Scheduler", "Server", "Session", "Turn", "rehearse", "run", "serve"]

_LATE = {
    "DEFAULT_ENDPOINT": "server",
    "Reply": "reply",
    "Scheduler": "scheduler",
    "Server": "server",
    "Session": "session",
    "Turn": "session",
    "rehearse": "scheduler",
    "run": "running",
    "serve": "server",
}
"""The module of each name, which is imported at its first use.

`server` and `running` need ZeroMQ: Batsim has its own, so schedulers inside it cannot import them. Those who read
recordings need none of these.
"""
__getattr__ = old_names(__name__, {}, late=_LATE)
