"""The ends over ZeroMQ: the current Batsim, and Batsims and schedulers that speak JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from batprotocol._util.sockets import TICK, Channel, Requester
from batprotocol.errors import PeerGone, PeerSilent
from batprotocol.legacy.bridge.ends import Batsim, OldComponent
from batprotocol.legacy.json import codec
from batprotocol.legacy.json import events as e
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate import Options, Report, ToOldBatsim, ToOldScheduler
from batprotocol.model import Direction, Message
from batprotocol.wire import FORMATS, frames

__all__ = ["NewBatsim", "OldBatsim", "OldScheduler"]

_BUSY: Final = "this endpoint serves another simulation"


class _Bound(Batsim):
    """A Batsim that connects to an endpoint of the bridge, over ZeroMQ."""

    def __init__(
        self, endpoint: str, *, timeout: float | None = None, on_wait: Callable[[], None] | None = None
    ) -> None:
        self._channel = Channel(endpoint, TICK if timeout is None else timeout)
        self._channel.refuse = self._refuse
        self.endpoint = self._channel.endpoint
        self._timeout = timeout
        self._on_wait = on_wait
        self._met = False

    def _frame(self) -> bytes:
        began = time.monotonic()
        while True:
            frame = self._channel.receive()
            if frame is not None:
                self._met = True
                if self.recorder is not None:
                    self.recorder.write(Direction.BATSIM_TO_EDC, frame)
                return frame
            if self._on_wait is not None:
                self._on_wait()
            if self._met and self._channel.is_peer_gone():
                raise PeerGone("the simulator closed the connection before the end")
            if self._timeout is not None and time.monotonic() - began > self._timeout:
                raise PeerSilent(f"no message of the simulator at {self.endpoint} in {self._timeout:g} seconds")

    def _reply(self, frame: bytes) -> None:
        self._channel.send(frame)
        if self.recorder is not None:
            self.recorder.write(Direction.EDC_TO_BATSIM, frame)

    def limit(self, seconds: float) -> None:
        self._timeout, self._on_wait = seconds, None

    def _refuse(self, heard: bytes) -> bytes:
        """The reply to other clients. It is not JSON, so that a Batsim of any older version aborts on it."""
        return _BUSY.encode()

    def close(self) -> None:
        """Close the endpoint."""
        if not self._channel.closed:
            self._channel.turn_away(self._refuse)
            self._channel.close()


class NewBatsim(_Bound):
    """The current Batsim, which connects to an endpoint of the bridge."""

    def __init__(
        self,
        endpoint: str,
        format: str = "binary",
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self.report = Report()
        self._name = format
        self._format = FORMATS[format]

    def _refuse(self, heard: bytes) -> bytes:
        return frames.encode_refusal(heard, _BUSY)

    def begin(self) -> str:
        return frames.decode_init(self._frame())

    def greet(self, hello: Message) -> None:
        self._reply(frames.encode_hello(hello, self._name))

    def receive(self) -> Message:
        message: Message = self._format.decode(self._frame())
        return message

    def send(self, message: Message) -> None:
        self._reply(self._format.encode(message))


class OldBatsim(_Bound):
    """A Batsim of version 1 to 4, which connects to an endpoint of the bridge."""

    def __init__(
        self,
        endpoint: str,
        version: str = "4.2",
        *,
        store: JobStore | None = None,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self._to = ToOldBatsim(version, store)
        self.report = self._to.report
        self._first: e.Message | None = None

    def begin(self) -> str:
        self._first = codec.decode(self._frame(), self._to.version)
        return self._to.init(self._first)

    def greet(self, hello: Message) -> None:
        self._to.begin(hello)

    def receive(self) -> Message:
        message, self._first = self._first, None
        return self._to.hear(codec.decode(self._frame(), self._to.version) if message is None else message)

    def send(self, message: Message) -> None:
        self._reply(codec.encode(self._to.say(message), self._to.version))


class OldScheduler(OldComponent):
    """A scheduler of Batsim 1 to 4 that listens at an endpoint: a decision component for `drive` and `simulate`.

    Args:
        endpoint: where it listens.
        version: the version of Batsim that it was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.
        timeout: how many seconds to wait for each answer; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        version: str = "4.2",
        options: Options | None = None,
        *,
        store: JobStore | None = None,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(ToOldScheduler(version, options or Options(), store))
        self.is_notified_at_once = self._to.version < (3,)
        self._requester = Requester(endpoint, timeout=timeout, who="the scheduler", on_wait=on_wait)

    def _ask(self, told: e.Message) -> e.Message:
        version = self._to.version
        return codec.decode(self._requester.exchange(codec.encode(told, version)), version)

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()
