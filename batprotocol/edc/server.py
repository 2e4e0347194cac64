"""The loop of a decision component over ZeroMQ: wait for a message, have it answered, send the answer, and leave well.

It moves bytes between a `Channel` and a `Session`, in two shells of the same shape: for `for` and for `async for`. It
must not know what is decided, nor by whom.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from functools import partial
from types import TracebackType
from typing import Final

from batprotocol.edc.channel import TICK, Channel
from batprotocol.edc.session import DEFAULT_RULES, Session, Turn, hello_message
from batprotocol.errors import PeerGone, PeerSilent
from batprotocol.model import EDCRequestedSimulationFeatures, Message

__all__ = ["DEFAULT_ENDPOINT", "Server", "serve"]

DEFAULT_ENDPOINT: Final = "tcp://*:28000"
"""Where Batsim looks for its decision component unless told otherwise: port 28000."""

FAREWELL: Final = 0.5
"""Seconds that leaving in the middle of a simulation may take. Batsim, when told to stop, takes milliseconds."""


class Server:
    """An endpoint that simulations connect to. Made by `serve`.

    Iterating over it gives the turns of one simulation; so does `async for`. A server that is not used in a `with`
    closes itself when the iteration ends, however it does. In a `with`, it can serve one simulation after the other.

    Attributes:
        endpoint: where it is bound, with the port that was found for `tcp://127.0.0.1:*`.
        init_text: the initialization data of the current simulation; None before they came.
    """

    def __init__(
        self,
        endpoint: str,
        begin: Callable[[], Session],
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        begin()  # what is wrong with the arguments shows before anything is bound
        if timeout is not None and not timeout > 0:
            raise ValueError(f"expected a timeout > 0, or None, got {timeout}")
        self._begin = begin
        self._timeout = timeout
        self._on_wait = on_wait
        self._session: Session | None = None
        self._early: bytes | None = None
        self._kept = False
        self._turns: Callable[[], Generator[Turn, None, None] | None] = lambda: None
        self._channel = Channel(endpoint, TICK if timeout is None else timeout)
        self.endpoint = self._channel.endpoint

    @property
    def init_text(self) -> str | None:
        return self._session.init_text if self._session else None

    def wake(self) -> None:
        """End the wait for a message early, so that `on_wait` is called. For signal handlers in the same thread."""
        self._channel.wake()

    # Turns

    def __iter__(self) -> Iterator[Turn]:
        turns = self._simulation()
        self._turns = weakref.ref(turns)  # a cycle would keep an abandoned iteration, and the socket, alive
        return turns

    def __aiter__(self) -> AsyncGenerator[Turn, None]:
        return self._simulation_async()

    def _simulation(self) -> Generator[Turn, None, None]:
        session = self._new_session()
        try:
            while not session.is_over:
                frame = self._channel.receive()
                if frame is None:
                    frame = self._patiently(session)
                turn = session.receive(frame)
                if turn is not None:
                    yield turn
                self._channel.send(session.answer())
        finally:
            try:
                for pause in self._farewell(session):
                    self._channel.wait(pause)
            finally:
                self._close_unless_kept()
