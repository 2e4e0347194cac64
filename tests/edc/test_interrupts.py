"""When a signal is noticed, in this process: where code is told to be immediate, and else when somebody asks."""

from __future__ import annotations

import os
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from batprotocol._util.signals import Interrupts

WITHOUT_ENGINE = True


def interrupt(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def went_through(steps: Callable[[Interrupts, list[str]], None]) -> tuple[list[str], type[BaseException] | None]:
    """Which steps of a program were reached, and what it ended with."""
    reached: list[str] = []
    try:
        with Interrupts() as interrupts:
            steps(interrupts, reached)
    except (KeyboardInterrupt, SystemExit, LookupError) as error:
        return reached, type(error)
    return reached, None


def test_a_signal_waits_until_it_is_asked_for() -> None:
    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        interrupts.wake = lambda: reached.append(interrupts.received)
        interrupts.check()
        interrupt()
        reached.append("went on")
        interrupts.check()
        reached.append("nobody was told")

    assert went_through(steps) == (["SIGINT", "went on"], KeyboardInterrupt)


def test_at_the_end_it_is_told_at_the_latest() -> None:
    with pytest.raises(SystemExit) as ended, Interrupts():
        interrupt(signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM


def test_what_ends_the_block_is_more_important() -> None:
    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        interrupt()
        raise LookupError

    assert went_through(steps) == ([], LookupError)


def test_immediate_code_is_interrupted() -> None:
    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        with interrupts.immediately():
            reached.append("began")
            interrupt()
            reached.append("went on")

    assert went_through(steps) == (["began"], KeyboardInterrupt)


def test_only_immediate_code_is_interrupted() -> None:
    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        with interrupts.immediately():
            reached.append("began")
        interrupt()
        reached.append("went on")
        with interrupts.immediately():
            reached.append("began, though a signal had come")

    assert went_through(steps) == (["began", "went on"], KeyboardInterrupt)


def test_the_dispositions_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_was_caught_does_not_come_again() -> None:
    """What is closed and written then is not interrupted; another signal would interrupt it."""

    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        with interrupts.immediately():
            try:
                interrupt()
            except KeyboardInterrupt:
                interrupts.caught()
                time.sleep(0.5)
                reached.append("tidied up")
                interrupt()
                reached.append("went on")

    assert went_through(steps) == (["tidied up"], KeyboardInterrupt)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_come_again_while_it_is_handled(number: signal.Signals) -> None:
    """But when the handler has ended, and the code goes on, it does."""

    @contextmanager
    def closing(reached: list[str]) -> Iterator[None]:
        try:
            yield
        finally:
            try:
                raise LookupError
            except LookupError:
                time.sleep(0.5)
                reached.append("closed")

    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        with interrupts.immediately():
            with suppress(BaseException):
                try:
                    with closing(reached):
                        interrupt(number)
                finally:
                    time.sleep(0.5)
                    reached.append("tidied up")
            reached.append("went on")
            time.sleep(30)
            reached.append("waited to the end")

    ended = KeyboardInterrupt if number == signal.SIGINT else SystemExit
    assert went_through(steps) == (["closed", "tidied up", "went on"], ended)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_exception_is_lost_comes_again(number: signal.Signals) -> None:
    """Python drops exceptions of callbacks. So the program would wait without end."""

    class Thing:
        pass

    def steps(interrupts: Interrupts, reached: list[str]) -> None:
        thing = Thing()
        watch = weakref.ref(thing, lambda _: interrupt(number))
        with interrupts.immediately():
            del thing
            reached.append("went on")
            time.sleep(30)
            reached.append(f"waited to the end: {watch}")

    assert went_through(steps) == (["went on"], KeyboardInterrupt if number == signal.SIGINT else SystemExit)
