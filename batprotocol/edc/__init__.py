"""Decision components as processes: a scheduler, the loop that drives it, and the socket that Batsim connects to.

`run` runs a `Scheduler`, which has a method for each event. `serve` gives the turns of a simulation to a loop of your
own. Both are thin shells around `Session`, which knows the conversation and does no I/O. The library refuses an event
that would make Batsim abort, before it is sent.

A frame takes this way through the modules. `sockets.channel` receives it and `server`, the loop, passes it to
`session`, which makes a turn of it; the answer to the first frame is the hello, which `greeting` makes. `attending`
calls the methods of the `scheduler`. They fill in its `reply`, and `verdicts` judges each event. The answer goes the
same way back. `running` combines these modules into a whole program, which signals can end. Inside Batsim, `embedded`
replaces the socket and the loop. Both load the class of a scheduler from its file with `loading`. For an exception,
`faults` finds out whether the scheduler raised it, and `moments` adds the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batprotocol.edc.reply import Reply
from batprotocol.edc.scheduler import Scheduler, rehearse
from batprotocol.edc.session import Session, Turn

if TYPE_CHECKING:
    from batprotocol.edc.running import run
    from batprotocol.edc.server import DEFAULT_ENDPOINT, Server, serve

__all__ = ["DEFAULT_ENDPOINT", "Reply", "Scheduler", "Server", "Session", "Turn", "rehearse", "run", "serve"]

_WITH_SOCKET = {"DEFAULT_ENDPOINT": "server", "Server": "server", "run": "running", "serve": "server"}


def __getattr__(name: str) -> Any:
    """Import names that need ZeroMQ at their first use: Batsim has its own ZeroMQ, so schedulers inside it cannot."""
    if name not in _WITH_SOCKET:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{_WITH_SOCKET[name]}"), name)
    return found
