"""`batproto run`: a scheduler's file as a program, alone or with the simulator that it serves.

It loads the class, starts and watches the other program, and tells in a sentence who ended too early. How a scheduler
is run, the library knows.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, TracebackType

import click
import zmq

import batprotocol
from batprotocol.cli.output import reason_of
from batprotocol.cli.text import printable
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc import DEFAULT_ENDPOINT, Scheduler
from batprotocol.edc.running import drive
from batprotocol.edc.signals import Interrupts
from batprotocol.errors import PeerGone

__all__ = ["load", "run", "telling_whose_fault"]

GRACE = 0.3
"""Seconds that the command has to end by itself once its scheduler has left it: it was told to stop."""

PATIENCE = 2.0
"""Seconds that the command has to end once it was terminated; then it is killed."""

NOT_FOUND = 127
CANNOT_RUN = 126
SIGNALLED = 128
"""What shells exit with when a command does not exist, cannot be executed, or (plus its number) a signal ended it."""

_PACKAGE = Path(batprotocol.__file__).parent
_STANDARD = Path(logging.__file__).parent.parent
"""Where Python's own library is: what it raises when we call it is no fault of a scheduler."""
_ANY_ADDRESS = (("tcp://0.0.0.0:", "tcp://127.0.0.1:"), ("tcp://[::]:", "tcp://[::1]:"))


class _Ended(Exception):
    """The command has ended while its scheduler waited for it."""


def run(
    target: str,
    *,
    endpoint: str | None,
    format: str,
    timeout: float | None,
    init: str | None,
    pin: bool,
    verbose: bool,
    command: Sequence[str],
) -> int:
    """Run a scheduler, and the command that simulates for it if there is one; the exit status.

    Args:
        target: the file and the class in it, `path/to/file.py:Class`.
        endpoint: where to bind; None is a private one if the command wants to be told, else the default.
        format: "binary" or "json".
        timeout: seconds to wait for each message, or None.
        init: the initialization data, in place of what the simulator sends.
        pin: keep the scheduler and the command on one core.
        verbose: show all that the scheduler logs.
        command: the command and its arguments, with `{endpoint}` and `{init}` to be filled in; may be empty.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")
    if pin:
        _pin()
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        status = 1
        with telling_whose_fault(target):
            scheduler = load(target)()
            bound = endpoint or (_private(stack) if _asks("{endpoint}", command) else DEFAULT_ENDPOINT)
            other = stack.enter_context(_Command(command, init or "")) if command else None
            ready = other.start if other else _tell_endpoint
            wait = other.check if other else None
            try:
                drive(scheduler, bound, format, interrupts, init, DEFAULT_RULE_SET, timeout, ready, wait)
                status = other.status_in_the_end(interrupts) if other else 0
            except _Ended:
                assert other is not None
                status = other.status_too_early()
            except PeerGone:
                if other is None or not other.ends_within(PATIENCE):
                    raise
                status = other.status_too_early()
        return status


# The scheduler


def load(target: str) -> type[Scheduler]:
    """The class that `path/to/file.py:Class` names."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise click.UsageError(f"expected FILE:CLASS, for example scheduler.py:FCFS, got {target!r}")
    if not os.path.isfile(path):
        raise click.UsageError(f"there is no file {path!r}")
    module = _module(path)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Scheduler):
        own = [each for each, value in vars(module).items() if _is_scheduler_of(value, module)]
        hint = f"; it has {' and '.join(own)}" if own else ", and no other"
        raise click.UsageError(f"{path!r} has no Scheduler called {name!r}{hint}")
    return found


def _module(path: str) -> ModuleType:
    """What the file holds. As for a script, the files beside it can be imported."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_scheduler_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__


@contextmanager
def telling_whose_fault(target: str) -> Iterator[None]:
    """What the scheduler's own code raises is shown as Python shows it; all else goes on to be told in a sentence."""
    try:
        yield
    except (click.ClickException, click.Abort, click.exceptions.Exit):
        raise
    except Exception as error:
        own = _own_part(error.__traceback__)
        if own is None and not isinstance(error, SyntaxError):
            raise
        traceback.print_exception(type(error), error, own)
        sentence = f"batproto: the scheduler {target} ended with {_with_article(type(error).__name__)}"
        print(printable(sentence), file=sys.stderr)


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is the scheduler's, None where there is no such frame."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    folders = Path(filename).parents
    is_standard = _STANDARD in folders and not {"site-packages", "dist-packages"} & set(Path(filename).parts)
    return is_standard or _PACKAGE in folders or Path(zmq.__file__).parent in folders


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


# The endpoint


def _asks(placeholder: str, command: Sequence[str]) -> bool:
    return any(placeholder in argument for argument in command)


def _private(stack: ExitStack) -> str:
    """An endpoint that nobody else uses, and that is gone in the end."""
    if not zmq.has("ipc"):
        return "tcp://127.0.0.1:*"
    return f"ipc://{stack.enter_context(tempfile.TemporaryDirectory(prefix='batproto-'))}/edc.sock"


def _tell_endpoint(endpoint: str) -> None:
    print(f"batproto: waiting for a simulation at {endpoint}", file=sys.stderr, flush=True)


def _pin() -> None:
    """Stay on one core, with all that is started from here: the two programs take turns anyway.

    Any core will do, but not always the same: several runs at a time should not share one.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise click.UsageError("--pin does not work on this system")
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})


# The command


class _Command:
    """The program that simulates. It is started when the endpoint is bound, and does not outlive the `with`."""

    def __init__(self, command: Sequence[str], init: str) -> None:
        self._command = command
        self._init = init
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Command:
        return self

    def start(self, endpoint: str) -> None:
        """Start it, now that it can connect."""
        for any_address, this_machine in _ANY_ADDRESS:
            endpoint = endpoint.replace(any_address, this_machine)
        arguments = [each.replace("{endpoint}", endpoint).replace("{init}", self._init) for each in self._command]
        try:
            self._process = subprocess.Popen(arguments)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            print(printable(f"batproto: {self._name} cannot be started: {reason_of(error)}"), file=sys.stderr)
            raise click.exceptions.Exit(NOT_FOUND if missing else CANNOT_RUN) from None

    def check(self) -> None:
        """Called while its scheduler waits for it."""
        if self._code() is not None:
            raise _Ended

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself."""
        until = time.monotonic() + seconds
        while self._code() is None and time.monotonic() < until:
            time.sleep(0.01)
        return self._code() is not None

    def status_in_the_end(self, interrupts: Interrupts) -> int:
        """Wait until it ends, after the simulation; its exit status."""
        while not self.ends_within(0.2):
            interrupts.check()
        return self._status

    def status_too_early(self) -> int:
        """Tell that it ended before the simulation did; its exit status, or 1 where that says that all is well."""
        print(printable(f"batproto: {self._name} {self._end} before the simulation was over"), file=sys.stderr)
        return self._status or 1

    def __exit__(self, *exception: object) -> None:
        if self._process is None or self.ends_within(GRACE):
            return
        self._process.terminate()
        if not self.ends_within(PATIENCE):
            self._process.kill()
            self._process.wait()

    @property
    def _name(self) -> str:
        return os.path.basename(self._command[0])

    def _code(self) -> int | None:
        assert self._process is not None
        return self._process.poll()

    @property
    def _status(self) -> int:
        code = self._code() or 0
        return SIGNALLED - code if code < 0 else code

    @property
    def _end(self) -> str:
        code = self._code() or 0
        if code >= 0:
            return f"ended with exit status {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
