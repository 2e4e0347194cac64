"""`run`: a scheduler as a program, from binding the endpoint to the end of the simulation, or to an earlier failure.

It combines the other modules of this package.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import ModuleType

from batprotocol._util.signals import Interrupts
from batprotocol._util.user_code import DEPENDENCIES, ImportFault, module_in
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc.moments import inspection_hint, moment_of, note
from batprotocol.edc.recording import Recorder, facts
from batprotocol.edc.scheduler import Scheduler, attend_to, expect_scheduler, hello_of, intended_by
from batprotocol.edc.server import DEFAULT_ENDPOINT, Server
from batprotocol.edc.session import Session, logger
from batprotocol.errors import SchedulerError
from batprotocol.model import Message, SimulationErrorEvent

__all__ = [
    "DEPENDENCIES",
    "LoadError",
    "drive",
    "failure_of",
    "file_of",
    "load",
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


# Loads the class of a scheduler from its file: `path/to/file.py:Class`.


class LoadError(SchedulerError):
    """The target is not a file with a scheduler in it. Exceptions of that file itself pass through unchanged."""


def file_of(target: str) -> tuple[str, str]:
    """The path and the name of the class in `path/to/file.py:Class`.

    Raises:
        LoadError: there is no such file.
    """
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LoadError(f"expected FILE:CLASS, for example scheduler.py:FCFS, got {target!r}")
    if not os.path.isfile(path):
        hint = f"; did you mean {path}.py:{name}?" if os.path.isfile(f"{path}.py") else ""
        raise LoadError(f"there is no file {path!r}{hint}")
    return path, name


def load(target: str, arguments: Mapping[str, object] | None = None) -> type[Scheduler]:
    """Load the class that `path/to/file.py:Class` names. As a script can, the file can import the files beside it.

    Args:
        target: the file and the class.
        arguments: the keyword arguments that the class will be called with.

    Raises:
        LoadError: there is no such file, no such scheduler in it, or the scheduler does not take these arguments.
    """
    path, name = file_of(target)
    module = _module(path)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Scheduler):
        own = [each for each, value in vars(module).items() if _is_scheduler_of(value, module)]
        hint = f"; it has {' and '.join(own)}" if own else ", and no other"
        raise LoadError(f"{path!r} has no Scheduler called {name!r}{hint}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise LoadError(f"the class {name} is abstract: define {' and '.join(missing)}, too")
    try:
        signature = inspect.signature(found)
        signature.bind(**(arguments or {}))
    except ValueError:  # of some classes in C, nobody knows it
        return found
    except TypeError as error:
        if arguments:
            raise LoadError(f"the class {name} cannot be made with these arguments: {error}") from None
        raise LoadError(
            f"the class {name} is made without arguments, but its __init__ takes {signature}: give them defaults, read "
            f"them from the initialization data in on_init, or call batprotocol.edc.run in a program of your own"
        ) from None
    return found


def _module(path: str) -> ModuleType:
    try:
        return module_in(path)
    except ImportFault as fault:
        raise LoadError(str(fault)) from None


def _is_scheduler_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__
