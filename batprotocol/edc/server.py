"""The loop of a decision component over ZeroMQ: wait for a message, get the answer, send it, and leave in good order.

It moves bytes between a `BoundChannel` and a `Session`, in two shells of the same shape: for `for` and for `async for`.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final

from batprotocol._util.sockets import TICK, BoundChannel
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc.error_notes import moment_of, note_moment
from batprotocol.edc.recording import Recorder
from batprotocol.edc.reply import hello_message
from batprotocol.edc.session import Session, Turn
from batprotocol.errors import DecodeError, PeerGone, PeerSilent, ProtocolError, RuleViolation
from batprotocol.model import Direction, EDCRequestedSimulationFeatures
from batprotocol.wire import frames

if TYPE_CHECKING:
    import asyncio

__all__ = ["DEFAULT_ENDPOINT", "Server", "serve"]

DEFAULT_ENDPOINT: Final = "tcp://*:28000"
"""The endpoint at which Batsim looks for its decision component by default: port 28000."""

FAREWELL = 0.5
"""Seconds that leaving in the middle of a simulation may take. Batsim takes milliseconds to stop on request."""

BUSY: Final = "this endpoint serves another simulation"
"""The error for a simulator that is not served: it fails, and does not end as if there was nothing to simulate."""

_HEARD: Final = Direction.BATSIM_TO_EDC
_SAID: Final = Direction.EDC_TO_BATSIM

GLANCE: Final = 0.05
"""Seconds between two checks whether the simulator is still connected."""


class Server:
    """An endpoint that simulations connect to. Made by `serve`.

    Iterating over it gives the turns of one simulation; so does `async for`. A server that is not used in a `with`
    closes itself when the iteration ends, for any reason. In a `with`, it can serve one simulation after the
    other, unless it was made with `single`. It turns away simulators that it does not serve: they abort.

    Attributes:
        endpoint: the endpoint that is bound; for `tcp://127.0.0.1:*`, it contains the port found.
        recorder: records all messages, unless it is None.
        deserted: whether the simulator closed its connection before it could take a request to stop.
    """

    def __init__(
        self,
        endpoint: str,
        begin: Callable[[], Session],
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
        single: bool = False,
    ) -> None:
        begin()  # wrong arguments raise before anything is bound
        if timeout is not None and not timeout > 0:
            raise ValueError(f"expected a timeout > 0, or None, got {timeout}")
        self._begin = begin
        self._timeout = timeout
        self._on_wait = on_wait
        self._single = single
        self.deserted = False
        self.recorder: Recorder | None = None
        self._session: Session | None = None
        self._in_progress: Session | None = None
        self._kept = False
        self._left_in: tuple[float, int] | None = None
        self._turns: Callable[[], Generator[Turn, None, None] | None] = lambda: None
        self._async_turns: Callable[[], AsyncGenerator[Turn, None] | None] = lambda: None
        self._leaving: asyncio.Lock | None = None
        self._channel = BoundChannel(endpoint, TICK if timeout is None else timeout)
        self.endpoint = self._channel.endpoint

    @property
    def init_text(self) -> str | None:
        """The initialization data of the current simulation; None until they come."""
        return self._session.init_text if self._session else None

    @property
    def session(self) -> Session | None:
        """The current simulation, or else the last one; None before the first."""
        return self._session

    def wake(self) -> None:
        """End the wait for a message early, so that `on_wait` is called. For signal handlers in the same thread."""
        self._channel.wake()

    def close(self) -> None:
        """Leave the current simulation, if there is one, and release all resources. Closing twice does nothing."""
        turns = self._turns()
        self._kept = False
        try:
            if turns is not None:
                turns.close()
            self._leave(self._in_progress)
        finally:
            self._channel.close()

    def __enter__(self) -> Server:
        self._kept = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note(error)
        self.close()

    async def __aenter__(self) -> Server:
        self._kept = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._note(error)
        self._kept = False
        try:
            await self._leave_async(self._in_progress)
        finally:
            self._channel.close()

    # The two shells

    def __iter__(self) -> Iterator[Turn]:
        turns = self._simulation()
        self._turns = weakref.ref(turns)  # a cycle would keep an abandoned iteration, and the socket, alive
        return turns

    def __aiter__(self) -> AsyncIterator[Turn]:
        turns = self._simulation_async(self._async_turns)
        self._async_turns = weakref.ref(turns)
        return turns

    def _simulation(self) -> Generator[Turn, None, None]:
        session = self._new_session()
        recorder = self.recorder
        try:
            while not session.is_over:
                frame = self._channel.receive()
                if frame is None:
                    frame = self._patiently(session)
                if recorder is not None:
                    recorder.write(_HEARD, frame)
                turn = session.receive(frame)
                if turn is not None:
                    yield turn
                frame = session.answer()
                self._channel.send(frame)
                if recorder is not None:  # only now: meanwhile, the simulator goes on
                    recorder.write(_SAID, frame)
        finally:
            try:
                self._leave(session)
            finally:
                self._close_unless_kept()

    async def _simulation_async(
        self, before: Callable[[], AsyncGenerator[Turn, None] | None]
    ) -> AsyncGenerator[Turn, None]:
        if self._in_progress is not None and before() is None:  # it was left, and is still to be closed
            await self._leave_async(self._in_progress)
        session = self._new_session()
        recorder = self.recorder
        try:
            while not session.is_over:
                frame = self._channel.receive_now()
                if frame is None:
                    frame = await self._patiently_async(session)
                if recorder is not None:
                    recorder.write(_HEARD, frame)
                turn = session.receive(frame)
                if turn is not None:
                    yield turn
                frame = session.answer()
                self._channel.send(frame)
                if recorder is not None:  # only now: meanwhile, the simulator goes on
                    recorder.write(_SAID, frame)
        finally:
            try:
                await self._leave_async(session)
            finally:
                self._close_unless_kept()

    def _leave(self, session: Session | None) -> None:
        for pause in self._departure(session):
            self._channel.wait(pause)

    async def _leave_async(self, session: Session | None) -> None:
        import asyncio  # which takes its time, and most schedulers do without

        if self._leaving is None:
            self._leaving = asyncio.Lock()
        # An iteration that is left is closed by the event loop some time later, meanwhile the `with` may be left, too.
        async with self._leaving:
            for pause in self._departure(session):
                await self._channel.wait_async(pause)

    def _patiently(self, session: Session) -> bytes:
        since = time.monotonic() - self._channel.tick
        while True:
            self._look_around(session, since)
            frame = self._channel.receive()
            if frame is not None:
                return frame

    async def _patiently_async(self, session: Session) -> bytes:
        since = time.monotonic()
        while True:
            await self._channel.wait_async(self._channel.tick)
            frame = self._channel.receive_now()
            if frame is not None:
                return frame
            self._look_around(session, since)

    # What both do

    def _note(self, error: BaseException | None) -> None:
        """Add the moment to an exception that was raised in the middle of a turn, as a note."""
        if self._in_progress is not None:
            self._mark(self._in_progress)
        if self._left_in is None or moment_of(error) is not None:
            return
        if isinstance(error, RuleViolation) or (isinstance(error, Exception) and not isinstance(error, ProtocolError)):
            now, number = self._left_in
            note_moment(error, f"at simulated time {now}, in message {number}", number)

    def _mark(self, session: Session) -> None:
        """Remember in which turn a simulation was left: the exception that ended it arrives later."""
        if session.owes_reply and self._left_in is None:
            self._left_in = session.now, session.conversation.number - 1

    def _new_session(self) -> Session:
        if self._channel.closed:
            raise ValueError("the server is closed: use it in a `with` to serve several simulations")
        if self._in_progress is not None:
            raise RuntimeError(
                "this server is in the middle of a simulation: end its turns before you begin another one"
            )
        self._session = self._in_progress = session = self._begin()
        self._left_in = None
        self._channel.forget_peer()
        self._channel.refuse = _refuse if self._single or not self._kept else None
        return session

    def _look_around(self, session: Session, since: float) -> None:
        """Called every tick while waiting: raise an exception if there is a reason to stop."""
        if self._on_wait is not None:
            self._on_wait()
        if session.init_text is not None and self._channel.is_peer_gone():
            raise PeerGone(f"the simulator closed the connection before its message {session.conversation.number}")
        if self._timeout is not None and time.monotonic() - since >= self._timeout:
            number = session.conversation.number
            raise PeerSilent(f"no message {number} of the simulator at {self.endpoint} in {self._timeout:g} seconds")

    # Leaving: generators that yield how long to wait for the next message

    def _departure(self, session: Session | None) -> Generator[float, None, None]:
        """Leave this simulation unless that was done before; after the last one, also turn away waiting simulators."""
        if session is not None and session is self._in_progress:
            self._mark(session)
            try:
                yield from self._farewell(session, self.recorder)
            finally:
                self._in_progress = None
        if not self._kept and not self._channel.closed:
            self._channel.turn_away(_refuse)

    def _farewell(self, session: Session, recorder: Recorder | None = None) -> Generator[float, None, None]:
        """Make the simulator end when a simulation is left before its end.

        Batsim has no time-out: without a request to stop, and one more answer after that, it waits without an end.
        """
        leave_until = time.monotonic() + FAREWELL
        self.deserted = False
        while not self._channel.closed and not self._channel.is_peer_gone():
            if self._channel.owes_reply:
                frame = session.farewell()
                self._channel.send(frame)
                if recorder is not None:
                    recorder.write(_SAID, frame)
            elif session.is_over or session.init_text is None or time.monotonic() >= leave_until:
                return
            else:
                yield GLANCE
                with suppress(DecodeError):  # garbage is answered like all else
                    heard = None if self._channel.closed else self._channel.receive_now()
                    if heard is not None:
                        if recorder is not None:
                            recorder.write(_HEARD, heard)
                        session.overhear(heard)
        self.deserted = True

    def _close_unless_kept(self) -> None:
        if not self._kept:
            self._channel.close()


def _refuse(heard: bytes) -> bytes:
    return frames.encode_refusal(heard, BUSY)


def serve(
    endpoint: str = DEFAULT_ENDPOINT,
    format: str = "binary",
    *,
    name: str = "batprotocol",
    version: str = "0",
    features: EDCRequestedSimulationFeatures | None = None,
    rules: str = DEFAULT_RULE_SET,
    timeout: float | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Server:
    """Bind an endpoint, and give the turns of the simulation that connects to it.

    Args:
        endpoint: where to bind, a ZeroMQ endpoint: `tcp://*:28000`, `tcp://127.0.0.1:*` (any free port, which
            `Server.endpoint` contains), `ipc:///tmp/batsim.sock`.
        format: "binary" or "json": the format of the conversation.
        name: the name of the decision component, without comma or double quote.
        version: its version, likewise.
        features: the features that it requests of the simulation; by default, none.
        rules: the rule set that checks replies; one of `batprotocol.conversation.RULE_SETS`.
        timeout: seconds to wait for each message; None waits without a limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait and the simulation.

    Returns:
        A `Server` to iterate over with `for` or `async for`. The handshake is not among the turns. The server sends the
        reply of a turn when you ask for the next turn. If you leave the iteration early (`break`, an exception,
        Ctrl-C), the server asks the simulator to stop, which takes half a second at most. In a `with`, another
        simulator that comes meanwhile waits for the next iteration. Without a `with`, or when the server is closed, it
        is turned away and aborts. To go step by step, call `turns = iter(server)`, then `turn = next(turns)` for each
        turn.

    Raises:
        OSError: the endpoint cannot be bound.
        ValueError: an argument makes no sense.

    In a `with`, an exception in the middle of a turn gets a note with the simulated time and the message.

    Iterating raises `PeerGone` when the simulator closes its connection before the end, `PeerSilent` after `timeout`,
    `DecodeError` when the simulator sends bytes that are not a message, and `RuleViolation` when the simulation could
    not go on after a reply.

    ```python
    for turn in serve("tcp://127.0.0.1:28000"):
        for event in turn.message.events:
            if isinstance(event, JobSubmittedEvent):
                turn.reply.add_execute_job(event.job_id, range(event.job.resource_request))
    ```
    """
    hello = hello_message(name, version, features=features)
    return Server(endpoint, lambda: Session(lambda text: hello, format, rules), timeout=timeout, on_wait=on_wait)
