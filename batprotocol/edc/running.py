"""`run`: a scheduler as a program, from binding the endpoint to the end of the simulation, or to an earlier failure.

It combines the other modules of this package.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext

from batprotocol._util.signals import Interrupts
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc.error_notes import inspection_hint, moment_of, note
from batprotocol.edc.recording import Recorder, facts
from batprotocol.edc.scheduler import Scheduler, attend_to, expect_scheduler, hello_of, intended_by
from batprotocol.edc.server import DEFAULT_ENDPOINT, Server
from batprotocol.edc.session import Session, logger
from batprotocol.model import Message, SimulationErrorEvent

__all__ = [
    "drive",
    "failure_of",
    "run",
]


PATIENCE = 5.0
"""Seconds without a simulator after which a warning names what the program waits for."""


def run(
    scheduler: Scheduler,
    endpoint: str = DEFAULT_ENDPOINT,
    format: str = "binary",
    *,
    init: str | None = None,
    rules: str = DEFAULT_RULE_SET,
    timeout: float | None = None,
    record: str | os.PathLike[str] | None = None,
    on_bound: Callable[[str], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> None:
    """Run a scheduler for one simulation: bind, wait for Batsim, answer it until the simulation ends.

    Args:
        scheduler: the scheduler.
        endpoint: where to bind, a ZeroMQ endpoint: `tcp://*:28000`, `tcp://127.0.0.1:*` (any free port),
            `ipc:///tmp/batsim.sock`.
        format: "binary" or "json": the format of the conversation.
        init: initialization data for the scheduler, instead of those that Batsim sends.
        rules: the rule set that checks replies; one of `batprotocol.conversation.RULE_SETS`.
        timeout: seconds to wait for each message; None waits without a limit.
        record: the path of a recording of all messages: a file that ends with `.mcap` (`batprotocol[capture]`),
            `.tar.xz` or `.tar`, or a folder. Nothing is overwritten. However the program ends, `batproto dump` and
            `batproto check` can read the recording up to the last message.
        on_bound: called with the endpoint once it is bound; for `tcp://127.0.0.1:*`, it contains the port found.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the run.

    Batsim never waits without an end. If the run ends in the middle of a simulation, it asks Batsim
    to stop, which takes half a second at most. Then it closes the socket and raises the exception. A second simulator
    is turned away, and aborts. Meanwhile `run` logs as `batprotocol.edc` that no simulator comes, that another
    simulator has come, or that a signal has come.

    Raises:
        OSError: the endpoint cannot be bound, or the recording cannot be written.
        SchedulerError: the argument is not a scheduler, but for example its class.
        ValueError: an argument makes no sense.
        PeerGone: the simulator closed its connection before the end.
        PeerSilent: no message came within `timeout`.
        DecodeError: the simulator sent bytes that are not a message.
        RuleViolation: the scheduler asked for something that Batsim would not survive.
        KeyboardInterrupt: SIGINT came. SystemExit(143): SIGTERM came. In the main thread, both take effect even if the
            program was started with SIGINT ignored. Signals that the program handles itself are not touched.

    An exception of the scheduler's own methods passes through unchanged, with a note: the simulated time, the message
    and the event. The note is in `__notes__`, which Python shows since 3.11; before, it is logged.

    ```python
    run(FCFS(), "tcp://127.0.0.1:*", on_bound=print)
    ```
    """
    with Interrupts() as interrupts:
        try:
            drive(scheduler, endpoint, format, interrupts, init, rules, timeout, record, on_bound, on_wait)
        except Exception as error:
            moment = moment_of(error)
            if moment is not None:
                note(
                    error,
                    inspection_hint(
                        moment, None if record is None else os.fspath(record), 'run(..., record="run.tar.xz")'
                    ),
                )
            raise


def drive(
    scheduler: Scheduler,
    endpoint: str,
    format: str,
    interrupts: Interrupts,
    init: str | None,
    rules: str,
    timeout: float | None,
    record: str | os.PathLike[str] | None,
    on_bound: Callable[[str], None] | None,
    on_wait: Callable[[], None] | None,
) -> str | None:
    """`run`, for a program that goes on catching signals after it; the error that Batsim reported, or None."""
    expect_scheduler(scheduler, "run")

    def hello(text: str) -> Message:
        with interrupts.immediately():
            return hello_of(scheduler, text if init is None else init)

    waiting_since = time.monotonic()
    about = None if record is None else facts(scheduler=_name(scheduler), endpoint=endpoint, format=format, rules=rules)

    def look_around() -> None:
        nonlocal waiting_since
        interrupts.check()
        if on_wait is not None:
            on_wait()
        if server.init_text is None and time.monotonic() - waiting_since >= PATIENCE:
            waiting_since = float("inf")
            logger.warning("still waiting for a simulator to connect to %s", server.endpoint)

    with (
        Server(
            endpoint,
            lambda: Session(hello, format, rules, intended_by(scheduler)),
            timeout=timeout,
            on_wait=look_around,
            single=True,
        ) as server,
        nullcontext() if record is None else Recorder(record, about) as server.recorder,
    ):
        interrupts.wake = server.wake
        try:
            if on_bound is not None:
                on_bound(server.endpoint)
            attend, immediately = attend_to(scheduler), interrupts.immediately()
            turns = iter(server)  # held here, so that leaving it is not left to the garbage collector
            last = Message(0.0)
            for turn in turns:
                last = turn.message
                with immediately:
                    attend(turn)
            return failure_of(last)
        except BaseException:
            server.close()
            if interrupts.received:
                logger.warning("%s came %s", interrupts.received, _moment(server))
            raise


def _name(scheduler: Scheduler) -> str:
    kind = type(scheduler)
    return f"{kind.__module__}.{kind.__qualname__}"


def failure_of(last: Message) -> str | None:
    """The error of a simulation that ends with this message; None if it did not fail."""
    return next((event.error for event in last.events if isinstance(event, SimulationErrorEvent)), None)


def _moment(server: Server) -> str:
    """The moment at which a run was ended, and the state of the simulator."""
    session = server.session
    if session is None or session.init_text is None:
        return f"while waiting for a simulator at {server.endpoint}"
    if session.stop_sent:
        return f"at simulated time {session.now:g}: the simulator was asked to stop"
    if session.is_over:
        return "at the end of the simulation"
    state = "is gone" if server.deserted else "was too busy to take a request to stop, and may never end"
    return f"at simulated time {session.now:g}: the simulator {state}"
