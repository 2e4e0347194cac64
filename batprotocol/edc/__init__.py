"""Decision components as processes: a scheduler, the loop that drives it, and the socket that Batsim connects to.

`run` runs a `Scheduler`, which has a method for each event; `serve` gives the turns of a simulation to those who want
the loop in their own hands. Both are thin shells around `Session`, which knows the conversation and does no I/O. What
Batsim would abort on is refused before it is sent.

A frame goes from `channel` (the socket, at what `endpoints` lets be bound) through `server` (the loop) to `session`,
which makes a turn of it, but of the first one the hello, with `greeting`; `attending` calls the methods of the
`scheduler`, these fill in its `reply`, whose events `verdicts` has judged, and the answer goes the same way back.
`running` puts it all together for a whole program, which signals may end. Inside Batsim, `embedded` takes the place of
the socket and the loop. Both get the class of a scheduler from its file with `loading`, and tell whose an exception is
with `faults`, and when it was with `moments`.
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
    """What needs ZeroMQ is imported when it is wanted: schedulers inside Batsim, which has its own, must do without."""
    if name not in _WITH_SOCKET:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{_WITH_SOCKET[name]}"), name)
    return found
