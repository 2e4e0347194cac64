"""The decision components that are programs: commands, endpoints and libraries."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

import zmq

from batprotocol._util.requirements import kill_with_children
from batprotocol._util.sockets import LARGEST
from batprotocol.errors import ProtocolError
from batprotocol.model import Message, SimulationEndsEvent
from batprotocol.simulator.components import RawLibrary
from batprotocol.testing.conformance._targets import BATSIM, Talk, Target, Timeouts
from batprotocol.testing.rules import Misconduct
from batprotocol.wire import FORMATS, frames

_TICK: Final = 0.02
"""Seconds after which a wait looks whether the program still lives."""
_RECONNECT: Final = 3
"""Milliseconds between two attempts to connect to a program that is starting."""
_GRACE: Final = 1.0
"""Seconds that a program has to end after its simulation, and a lost connection to come back."""
_MOST_LEAVING: Final = 4
_LINES: Final = 12
_BYTES: Final = 8192


class CannotRun(OSError):
    """There is no decision component to test."""


class _WireTalk(Talk):
    """A conversation over ZeroMQ.

    The socket is a DEALER that speaks as Batsim's REQ does: a REQ would swallow a second answer.
    """

    def __init__(
        self, context: zmq.Context[Any], endpoint: str, timeouts: Timeouts, program: _ProgramTarget | None
    ) -> None:
        super().__init__()
        self._timeouts = timeouts
        self._program = program
        self._format = FORMATS["binary"]
        self._endpoint = endpoint
        self._was_connected = False
        self._gone_since: float | None = None
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.maxmsgsize = LARGEST
        self._socket.reconnect_ivl = _RECONNECT
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED)
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            self._disconnect()
            reason = "this is not an endpoint: write one such as tcp://127.0.0.1:28000 or ipc:///tmp/edc.sock"
            raise CannotRun(error.errno, reason, endpoint) from None

    def hello(self, init: str) -> Message:
        frame = frames.encode_init(init)
        self.log_message(frame)
        hello = frames.decode_hello(self._exchange(frame, self._timeouts.hello))
        self._format = FORMATS[hello.format]
        return hello.message

    def answer(self, message: Message) -> Message:
        frame = self._format.encode(message, allow_late_events=True)
        self.log_message(frame)
        reply: Message = self._format.decode(self._exchange(frame, self._timeouts.answer))
        return reply

    def _exchange(self, frame: bytes, seconds: float) -> bytes:
        if self._socket.poll(0):
            raise self._unasked()
        self._socket.send_multipart([b"", frame])
        return self._receive(seconds)

    def _receive(self, seconds: float) -> bytes:
        began = time.monotonic()
        while not self._socket.poll(round(_TICK * 1000)):
            self._look_around(began, seconds)
        parts = self._socket.recv_multipart()
        if len(self.log) > 1:
            self.slowest = max(self.slowest, time.monotonic() - began)
        if len(parts) == 2 and not parts[0]:
            data: bytes = parts[1]
            self.log_reply(data)
            return data
        self.log_reply(b"".join(parts[1:]))
        raise Misconduct("edc.several-parts", f"the answer has {len(parts) - 1} parts")

    def _unasked(self) -> Misconduct:
        self.log_reply(b"".join(self._socket.recv_multipart()[1:]))
        return Misconduct("edc.second-answer", "it sent a message that nobody had asked for")

    def has_more(self, seconds: float) -> bool:
        if self.dead or not self._socket.poll(round(seconds * 1000)):
            return False
        self._unasked()
        return True

    def _look_around(self, began: float, seconds: float) -> None:
        self._watch_connection()
        now = time.monotonic()
        if self._program is not None and not self._program.is_alive:
            self._mourn(self._program)
            return
        if self._program is None and self._gone_since is not None and now - self._gone_since > _GRACE:
            self.dead = True
            raise Misconduct("edc.died", "it closed the connection while a reply was due")
        if now - began > seconds:
            self.dead = True
            if not self._was_connected and self._program is None and len(self.log) == 1:
                raise CannotRun(0, f"nobody listens at {self._endpoint}")
            nobody = "" if self._was_connected else f": nothing listens at {self._endpoint}"
            raise Misconduct("edc.silent", f"no answer within {seconds:g} seconds{nobody}")

    def _watch_connection(self) -> None:
        while self._monitor.poll(0):
            event = int.from_bytes(self._monitor.recv_multipart()[0][:2], "little")
            self._was_connected = self._was_connected or event == zmq.EVENT_CONNECTED
            self._gone_since = time.monotonic() if event == zmq.EVENT_DISCONNECTED else None

    def _mourn(self, program: _ProgramTarget) -> None:
        """The program has ended. Its last message may still be on its way, until the connection is closed."""
        until = time.monotonic() + _GRACE
        while time.monotonic() < until and (self._gone_since is None or not self._was_connected):
            if self._socket.poll(round(_TICK * 1000)):
                return
            self._watch_connection()
        if self._socket.poll(0):
            return
        self.dead = True
        if not self._was_connected and len(self.log) == 1:
            last = program.output()
            said = f", and last printed:\n{last}" if last else ""
            raise CannotRun(0, f"{program.end} without having listened at {self._endpoint}{said}")
        raise Misconduct("edc.died", f"{program.end} while a reply was due")

    def details(self) -> str:
        return "" if self._program is None else self._program.output()

    def close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=0)


class _ProgramTarget:
    """A program that was started, in a process group of its own."""

    def __init__(self, command: Sequence[str], endpoint: str) -> None:
        self.endpoint = endpoint
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the program
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError:
            self._output.close()
            raise
        self.leaves_until = 0.0

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def end(self) -> str:
        """How it ended."""
        code = self._process.returncode
        if code >= 0:
            return f"it ended with exit status {code}"
        try:
            return f"it was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"it was ended by signal {-code}"

    def output(self) -> str:
        """The last lines that it printed."""
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _BYTES))
        lines = self._output.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_LINES:])

    def kill(self) -> None:
        """End it, and all that it has started."""
        kill_with_children(self._process)
        self._process.wait()
        self._output.close()


class Command(Target):
    """A program that serves one simulation: it is started for each of them.

    Args:
        command: the program and its arguments; `{endpoint}` in them stands for the address at which it must listen.
        endpoint: the address of a program that always listens at the same one.

    Raises:
        ValueError: the command contains no `{endpoint}`, and there is no `endpoint`.
    """

    def __init__(self, command: Sequence[str], endpoint: str | None = None) -> None:
        if not command:
            raise ValueError("there is no command")
        if endpoint is None and not any("{endpoint}" in argument for argument in command):
            raise ValueError(
                "the command has no address to listen at: {endpoint} is missing in it; or give its endpoint"
            )
        self.name = command[0]
        self._command = tuple(command)
        self._endpoint = endpoint
        self._folder = tempfile.mkdtemp(prefix="conformance-")
        self._context: zmq.Context[Any] = zmq.Context()
        self._number = 0
        self._ready: list[_ProgramTarget] = []
        self._leaving: list[_ProgramTarget] = []
        self._all: list[_ProgramTarget] = []

    def start(self, timeouts: Timeouts) -> Talk:
        self._sweep()
        program = self._ready.pop() if self._ready else self._launch()
        talk = _ProgramTalk(self._context, timeouts, program, self._leaving)
        if self._endpoint is None:
            self._ready.append(self._launch())
        return talk

    def _launch(self) -> _ProgramTarget:
        self._number += 1
        endpoint = self._endpoint or f"ipc://{self._folder}/{self._number}.sock"
        command = [argument.replace("{endpoint}", endpoint) for argument in self._command]
        with _SignalsLater():  # a program that nobody knows of would be left behind
            try:
                program = _ProgramTarget(command, endpoint)
            except OSError as error:
                reason = error.strerror or str(error)
                text = f"it cannot be started: {reason[:1].lower()}{reason[1:]}"
                if " " in command[0]:
                    text += "; write the words of a command as separate arguments, not in one pair of quotes"
                raise CannotRun(error.errno or 0, text, self.name) from None
            self._all.append(program)
        return program

    def _sweep(self) -> None:
        """Kill the programs that have not ended in time."""
        now = time.monotonic()
        crowd = len(self._leaving) - _MOST_LEAVING
        for number, program in enumerate(list(self._leaving)):
            if number < crowd or self._endpoint or not program.is_alive or now > program.leaves_until:
                program.kill()
                self._leaving.remove(program)
                self._all.remove(program)

    def close(self) -> None:
        with _SignalsLater():
            for program in self._all:
                program.kill()
            self._all.clear()
            self._leaving.clear()
            self._ready.clear()
            self._context.destroy(linger=0)
            shutil.rmtree(self._folder, ignore_errors=True)


class _ProgramTalk(_WireTalk):
    def __init__(
        self, context: zmq.Context[Any], timeouts: Timeouts, program: _ProgramTarget, leaving: list[_ProgramTarget]
    ) -> None:
        super().__init__(context, program.endpoint, timeouts, program)
        self._own = program
        self._leaving = leaving

    def close(self) -> None:
        self._own.leaves_until = time.monotonic() + _GRACE
        self._leaving.append(self._own)
        super().close()


class _SignalsLater:
    """In a `with`, SIGINT and SIGTERM wait until it is over, where the program handles them at all."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._before[number] = signal.signal(number, lambda came, frame: self._came.append(came))

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for number in self._came[:1]:
            self._before[number](number, None)


class Library(Command):
    """A shared library with the functions that Batsim calls (`batsim_edc_init`...), in a process of its own.

    Args:
        path: the library.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__([sys.executable, "-c", _HOST, os.path.abspath(path), "{endpoint}"])
        self.name = os.fspath(path)


class Endpoint(Target):
    """A program that waits at an endpoint, and serves one simulation after the other.

    Args:
        endpoint: the address at which it listens: `tcp://127.0.0.1:28000`, `ipc:///tmp/edc.sock`.
    """

    is_lasting = True

    def __init__(self, endpoint: str) -> None:
        self.name = endpoint
        self._context: zmq.Context[Any] = zmq.Context()

    def start(self, timeouts: Timeouts) -> Talk:
        return _LastingTalk(self._context, self.name, timeouts, None)

    def close(self) -> None:
        self._context.destroy(linger=0)


class _LastingTalk(_WireTalk):
    """At its end, it sends the decision component the end of the simulation, so that the next one can begin."""

    def close(self) -> None:
        sent = [said for direction, said in self.log if direction == BATSIM]
        if len(sent) > 1 and not self.dead:
            with suppress(ProtocolError, Misconduct):
                self._dismiss(self._format.decode(sent[-1]))
        super().close()

    def _dismiss(self, last: Message) -> None:
        if not any(isinstance(event, SimulationEndsEvent) for event in last.events):
            kept = list(self.log)
            try:
                self.answer(Message(last.now, (SimulationEndsEvent(timestamp=last.now),)))
            finally:
                self.log[:] = kept


# A shared library as a program: it passes bytes on without reading them. Only that process crashes with the library.

_HOST: Final = "import sys; from batprotocol.testing.conformance._programs import host; host(*sys.argv[1:])"


def host(path: str, endpoint: str) -> None:
    """Load a library, bind the endpoint, and serve one simulation; it ends when it is killed."""
    with RawLibrary(path) as library, zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        text = frames.decode_init(socket.recv())
        socket.send(library.begin(text.encode("utf-8", "surrogateescape")))
        while True:
            socket.send(library.decide(socket.recv()))
