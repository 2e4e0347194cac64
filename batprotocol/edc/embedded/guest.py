"""The Python half of the library that Batsim loads: a scheduler and its session, called once for each message.

It does what `running` and `server` do for a process, with calls for frames. Nothing that the scheduler does gets past
it: whatever is raised is told on standard error, and Batsim is told that its decision component has failed. It must not
import ZeroMQ: Batsim has brought its own into this process.
"""

from __future__ import annotations

import atexit
import gc
import io
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from batprotocol.edc.embedded.options import Report, taken
from batprotocol.edc.faults import show_own
from batprotocol.edc.loading import load
from batprotocol.edc.scheduler import attend_to, expect_scheduler, hello_of
from batprotocol.edc.session import Session, Turn
from batprotocol.errors import ProtocolError
from batprotocol.model import Direction, Message
from batprotocol.recording import Recorder, facts
from batprotocol.signals import Interrupts
from batprotocol.wire import frames

__all__ = ["Guest", "take_over"]

PATIENCE: Final = 5.0
"""Seconds that the scheduler's own threads have to end when the simulation has ended."""

_interrupts = Interrupts()
_is_at_home = False
"""Whether the interpreter was started for the guest: then it is the guest that ends it, as Python would at its end."""


def take_over() -> None:
    """The interpreter was started for a guest: signals are to interrupt it, and what it logs is to be seen."""
    global _is_at_home
    if not _is_at_home:
        _interrupts.__enter__()
        _interrupts.immediately().__enter__()  # always: Batsim is not at work while a guest is
    _is_at_home = True


class Guest:
    """A scheduler that Batsim calls.

    Args:
        data: the initialization data.

    Attributes:
        hello: the frame of message 1; None if there is none, and why was told.
        decide: what answers the frame of a message; with None if there is no answer, and why was told.
    """

    def __init__(self, data: bytes) -> None:
        self.hello: bytes | None = None
        self.decide: Callable[[bytes], bytes | None] = _nothing
        self._target = "?"
        self._session: Session | None = None
        self._recorder: Recorder | None = None
        self._record_path: str | None = None
        self._report_path: str | None = None
        try:
            self._begin(taken(data))
        except BaseException as error:
            self._fail(error)

    def _begin(self, given: dict[str, str]) -> None:
        self._target = given["scheduler"]
        self._record_path, self._report_path = given.get("record"), given.get("report")
        self._report("begun")
        _expect_environment(given["prefix"])
        if _is_at_home:
            sys.argv[:] = [self._target.rpartition(":")[0]]
            level = logging.INFO if "verbose" in given else logging.WARNING
            logging.basicConfig(level=level, format="%(name)s: %(message)s")
        scheduler = load(self._target)()
        expect_scheduler(scheduler, "run")

        def hello(text: str) -> Message:
            return hello_of(scheduler, text)

        self._session = session = Session(hello, given["format"])
        if "record" in given:
            about = facts(scheduler=self._target, format=given["format"], init=given["init"])
            self._recorder = Recorder(given["record"], about)
        init = frames.encode_init(given["init"])
        session.receive(init)
        answer = session.answer()
        self._record(init, answer)
        self.decide = self._decider(session.exchange, attend_to(scheduler))
        self.hello = answer

    def _decider(
        self, exchange: Callable[[bytes, Callable[[Turn], None]], bytes], attend: Callable[[Turn], None]
    ) -> Callable[[bytes], bytes | None]:
        """What answers a message. There may be millions of them, so it knows at once all that it calls."""
        recorder, fail = self._recorder, self._fail

        def decide(frame: bytes) -> bytes | None:
            try:
                return exchange(frame, attend)
            except BaseException as error:
                return fail(error)

        def decide_and_record(frame: bytes) -> bytes | None:
            try:
                assert recorder is not None
                recorder.write(Direction.BATSIM_TO_EDC, frame)
                reply = exchange(frame, attend)
                recorder.write(Direction.EDC_TO_BATSIM, reply)
                return reply
            except BaseException as error:
                return fail(error)

        return decide if recorder is None else decide_and_record

    def _report(self, state: str, reason: str = "") -> None:
        if self._report_path is not None:
            Report(state, reason).write(self._report_path)

    def _record(self, heard: bytes, said: bytes) -> None:
        if self._recorder is not None:
            self._recorder.write(Direction.BATSIM_TO_EDC, heard)
            self._recorder.write(Direction.EDC_TO_BATSIM, said)

    # The end

    def end(self) -> None:
        """The simulation has ended: end as a program would, but for what Batsim still needs the process for."""
        self.decide = _nothing
        if self._session is not None and self._session.is_over:
            self._report("over")
        self._session = None
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            try:
                recorder.close()
            except BaseException as error:
                _tell(f"the recording {recorder.path} is not whole: {error}")
        if _is_at_home:
            _end_threads()
            with suppress(BaseException):  # which tells itself what handlers raise
                atexit._run_exitfuncs()
        _flush()

    def _fail(self, error: BaseException) -> None:
        """Tell what was raised. Batsim ends with it, so this is the end of the scheduler, too."""
        try:
            _flush_standard()
            sentence = self._sentence(error)
            self._report("failed", sentence)
            _tell(sentence)
            self.end()
        except BaseException as another:  # a signal, most probably
            _tell(f"the scheduler was ended by {type(another).__name__}")
        _flush_standard()

    def _sentence(self, error: BaseException) -> str:
        """What to say of an exception; what Python says of it is printed where that helps."""
        session = self._session
        if _interrupts.received and isinstance(error, KeyboardInterrupt | SystemExit):
            moment = f"at simulated time {session.now:g}" if session and session.now else "before the simulation began"
            return f"{_interrupts.received} came {moment}: Batsim is told that its scheduler has failed"
        sentence = show_own(error, self._target, self._record_path)
        if sentence is None and isinstance(error, ProtocolError):
            sentence = str(error)
        if sentence is None and isinstance(error, OSError):
            sentence = f"{error.filename or self._target}: {error.strerror or error}"
        if sentence is None:
            traceback.print_exception(error)
            sentence = f"a fault of batprotocol itself, please report it: {type(error).__name__}"
        return sentence


def _expect_environment(prefix: str) -> None:
    """Refuse the interpreter of another environment, which has other libraries."""
    found = sys.prefix
    if os.path.realpath(prefix) == os.path.realpath(found):
        return
    if _is_at_home:
        raise ProtocolError(f"there is no environment {prefix} any more, or it is broken: Python has found {found}")
    raise ProtocolError(f"this process runs the Python of {found} already, and that of {prefix} cannot be a second")


def _end_threads() -> None:
    """Wait for threads that are no daemons, as Python does in the end, but not for ever."""

    def end() -> None:
        for hook in reversed(getattr(threading, "_threading_atexits", ())):  # executors end their threads so
            hook()
        for each in others():
            each.join()

    def others() -> list[threading.Thread]:
        spared = (threading.main_thread(), ending)
        return [each for each in threading.enumerate() if not each.daemon and each not in spared]

    ending = threading.Thread(target=end, daemon=True)
    if others():
        ending.start()
        ending.join(PATIENCE)
        if ending.is_alive():
            names = ", ".join(each.name for each in others())
            _tell(f"after {PATIENCE:g} seconds, these threads still run, and are not waited for: {names}")


def _flush() -> None:
    """Write what files still hold: Python would close them when it ends, and here it never does."""
    gc.collect()
    for each in gc.get_objects():
        if issubclass(type(each), io.TextIOBase | io.BufferedIOBase):
            with suppress(Exception):
                each.flush()


def _flush_standard() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _tell(sentence: str) -> None:
    with suppress(Exception):
        print(f"batprotocol: {sentence}", file=sys.stderr, flush=True)


def _nothing(frame: bytes) -> None:
    return None
