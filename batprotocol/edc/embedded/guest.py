"""The Python half of the library that Batsim loads: a scheduler and its session, called once for each message.

It does the work of `running` and `server`, with function calls instead of frames. No exception of the scheduler passes
through it: the guest prints it on standard error, and reports to Batsim that its decision component has failed. This
module must not import ZeroMQ: Batsim has its own in this process.
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

from batprotocol._util.signals import Interrupts
from batprotocol.edc.embedded.options import EmbeddedReport, taken
from batprotocol.edc.recording import Recorder, facts
from batprotocol.edc.scheduler import attend_to, expect_scheduler, hello_of, intended_by, load, show_own
from batprotocol.edc.session import Session, Turn
from batprotocol.errors import ProtocolError
from batprotocol.model import Direction, Message
from batprotocol.wire import frames

__all__ = ["Guest", "take_over"]

PATIENCE: Final = 5.0
"""Seconds that the scheduler's own threads have to end when the simulation has ended."""

_interrupts = Interrupts()
_is_at_home = False
"""Whether the interpreter was started for the guest. Then the guest does the work that Python does at its end."""


def take_over() -> None:
    """The interpreter was started for a guest: let signals interrupt it, and show its log."""
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
        hello: the frame of message 1; None if there is none, after the reason was printed.
        decide: answers the frame of a message; returns None if there is no answer, after the reason was printed.
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

        self._session = session = Session(hello, given["format"], intended=intended_by(scheduler))
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
        """Make the function that answers messages. There may be millions of calls, so it looks nothing up."""
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
            EmbeddedReport(state, reason).write(self._report_path)

    def _record(self, message: bytes, answer: bytes) -> None:
        if self._recorder is not None:
            self._recorder.write(Direction.BATSIM_TO_EDC, message)
            self._recorder.write(Direction.EDC_TO_BATSIM, answer)

    # The end

    def end(self) -> None:
        """The simulation has ended: end as a program would, but leave Batsim the process."""
        self.decide = _nothing
        if self._session is not None and self._session.is_over:
            self._report("over")
        self._session = None
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            try:
                recorder.close()
            except BaseException as error:
                _print(f"the recording {recorder.path} is not complete: {error}")
        if _is_at_home:
            _end_threads()
            with suppress(BaseException):  # it prints the exceptions of handlers itself
                atexit._run_exitfuncs()
        _flush()

    def _fail(self, error: BaseException) -> None:
        """Print an exception. Batsim ends with it, so this is the end of the scheduler, too."""
        try:
            _interrupts.caught()
            _flush_standard()
            sentence = self._sentence(error)
            self._report("failed", sentence)
            _print(sentence)
            self.end()
        except BaseException as another:  # a signal, most probably
            _interrupts.caught()
            _print(f"{type(another).__name__} ended the scheduler")
        _flush_standard()

    def _sentence(self, error: BaseException) -> str:
        """A sentence about an exception; its traceback is printed where that helps."""
        session = self._session
        if _interrupts.received and isinstance(error, KeyboardInterrupt | SystemExit):
            moment = f"at simulated time {session.now:g}" if session and session.now else "before the simulation began"
            return f"{_interrupts.received} came {moment}: for Batsim, its scheduler has failed"
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
    raise ProtocolError(f"this process already runs the Python of {found}: it cannot also run the one of {prefix}")


def _end_threads() -> None:
    """Wait for threads that are not daemons, as Python does at its end, but only for `PATIENCE` seconds."""

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
            _print(f"after {PATIENCE:g} seconds, these threads still run, and Batsim does not wait for them: {names}")


def _flush() -> None:
    """Flush all open files: Python closes them when it ends, and here it never ends."""
    gc.collect()
    for each in gc.get_objects():
        if issubclass(type(each), io.TextIOBase | io.BufferedIOBase):
            with suppress(Exception):
                each.flush()


def _flush_standard() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _print(sentence: str) -> None:
    with suppress(Exception):
        print(f"batprotocol: {sentence}", file=sys.stderr, flush=True)


def _nothing(frame: bytes) -> None:
    return None
