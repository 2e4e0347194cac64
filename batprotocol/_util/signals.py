"""SIGINT and SIGTERM while a program waits: they take effect at once, but never inside code that must not be
interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType, TracebackType
from typing import Any, Final

from mypy_extensions import mypyc_attr

__all__ = ["Interrupts"]

_OURS: Final = {
    signal.SIGINT: (signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN),
    signal.SIGTERM: (signal.SIG_DFL,),
}
"""The signals, and the dispositions that are replaced. A program that has its own handler keeps it.

A shell script that starts a command with `&` lets it ignore SIGINT. A program that waits must be stoppable all the
same."""


_AGAIN: Final = 0.2
"""The seconds after which a signal comes again whose exception nobody handles."""


_DEEPEST: Final = 100
"""How many exceptions that were raised one in the handler of the other are looked at."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Interrupts:
    """In a `with`, SIGINT and SIGTERM do not end the program: `check` raises the exception that stands for them.

    Inside `with interrupts.immediately()`, a signal raises its exception at once. Use it around code of others that may
    never return. In threads other than the main thread, nothing happens: Python delivers signals to the main thread
    only.

    Attributes:
        wake: called when a signal comes, to end a wait early.
    """

    def __init__(self) -> None:
        self.wake: Callable[[], None] = _nothing
        self._immediate = _Immediately(self)
        self._received: int | None = None
        self._before: dict[int, Any] = {}
        self._raised: BaseException | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number, replaced in _OURS.items():
                if signal.getsignal(number) in replaced:
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def immediately(self) -> AbstractContextManager[None]:
        """A `with` for code that signals may interrupt anywhere."""
        return self._immediate

    @property
    def received(self) -> str:
        """The name of the signal that came, SIGINT or SIGTERM; "" if none came."""
        return "" if self._received is None else signal.Signals(self._received).name

    def check(self) -> None:
        """Raise KeyboardInterrupt after a SIGINT, and SystemExit with 128 + 15 after a SIGTERM."""
        if self._received is not None:
            raise _exception_of(self._received)

    def caught(self) -> None:
        """Call this when the exception of a signal has been caught in code that signals may always interrupt.

        The signal does not come again then. Otherwise it does when its exception is not handled any more, and the code
        has not ended.
        """
        self._raised = None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = self._received or number
        self.wake()
        if self._immediate.up:
            self._raised = _exception_of(self._received)
            self._look_later(number)
            raise self._raised

    def _look_later(self, number: int) -> None:
        later = threading.Timer(_AGAIN, self._look, (number,))
        later.daemon = True
        later.start()

    def _look(self, number: int) -> None:
        """Send a signal again whose exception was lost: Python drops those of callbacks, as when objects are freed.

        While it is handled, what is closed and written must not be interrupted.
        """
        main, raised = threading.main_thread().ident, self._raised
        if not self._immediate.up or raised is None or main is None:
            return
        if _is_handled(raised, main):
            self._look_later(number)
        elif hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, number)
        else:
            signal.raise_signal(number)  # its handler runs in the main thread, too


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Immediately:
    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self.up = False

    def __enter__(self) -> None:
        self.up = True
        if self._interrupts._received is not None:
            self._interrupts.check()  # it may have come just before, and nobody else would notice in here

    def __exit__(self, *exception: object) -> None:
        self.up = False
        self._interrupts._raised = None


def _exception_of(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def _is_handled(error: BaseException, thread: int) -> bool:
    """Whether a thread is in the `except` or `finally` of an exception, or in those of what was raised there."""
    found: Any = sys._current_exceptions().get(thread)
    current = found[1] if isinstance(found, tuple) else found  # a tuple before Python 3.12
    for _ in range(_DEEPEST):
        if current is error:
            return True
        current = getattr(current, "__context__", None)
    return False


def _nothing() -> None:
    pass
