"""`batproto run`: a scheduler's file as a program, alone or with the simulator that it serves.

It loads the class, brings it together with the other program, and tells in a sentence who ended too early. How a
scheduler is run, the library knows.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import random
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, TracebackType

import click
import zmq

import batprotocol
from batprotocol.cli.bridge import drive_old
from batprotocol.cli.command import PATIENCE, Command, Ended
from batprotocol.cli.new import DEPENDENCIES
from batprotocol.cli.private import private_endpoint
from batprotocol.cli.text import printable
from batprotocol.cli.version import slow_engine
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc import DEFAULT_ENDPOINT, Scheduler
from batprotocol.edc.running import drive
from batprotocol.edc.signals import Interrupts
from batprotocol.errors import PeerGone

__all__ = ["load", "run", "telling_whose_fault"]

_LOADED: set[ModuleType] = set()
"""The files of schedulers that were loaded: the next one may have the same name."""
_PACKAGE = Path(batprotocol.__file__).parent
_STANDARD = Path(logging.__file__).parent.parent
"""Where Python's own library is: what it raises when we call it is no fault of a scheduler."""


def run(
    target: str,
    *,
    endpoint: str | None,
    format: str,
    timeout: float | None,
    init: str | None,
    record: str | None,
    pin: bool,
    verbose: bool,
    command: Sequence[str],
    protocol: str | None = None,
) -> int:
    """Run a scheduler, and the command that simulates for it if there is one; the exit status.

    Args:
        target: the file and the class in it, `path/to/file.py:Class`.
        endpoint: where to bind; None is a private one if the command wants to be told, else the default.
        format: "binary" or "json".
        timeout: seconds to wait for each message, or None.
        init: the initialization data, in place of what the simulator sends.
        record: where to record what is said, or None.
        pin: keep the scheduler and the command on one core.
        verbose: show all that the scheduler logs.
        protocol: the version of an older protocol that Batsim speaks, or None.
        command: the command and its arguments, with `{endpoint}` and `{init}` to be filled in; may be empty.
    """
    if endpoint == "":
        raise click.UsageError("--endpoint is empty: leave it out, or give one like tcp://127.0.0.1:*")
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")
    remark = slow_engine()
    if remark:
        print(f"batproto: {remark}", file=sys.stderr)
    if pin:
        _pin()
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        status = 1
        with telling_whose_fault(target):
            with _telling_of_signals(interrupts, f"while {target} was being loaded"), interrupts.immediately():
                scheduler = load(target)()
            private = endpoint is None and _asks("{endpoint}", command)
            bound = stack.enter_context(private_endpoint()) if private else endpoint or DEFAULT_ENDPOINT
            other = stack.enter_context(Command(command, init or "")) if command else None
            ready = other.start if other else _tell_endpoint
            wait = other.check if other else None
            try:
                if protocol is None:
                    drive(scheduler, bound, format, interrupts, init, DEFAULT_RULE_SET, timeout, record, ready, wait)
                else:
                    drive_old(scheduler, bound, protocol, interrupts, init, timeout, record, ready, wait)
                if other:
                    with _telling_of_signals(interrupts, f"after the simulation: {other.name} is ended"):
                        status = other.status_in_the_end(interrupts)
                else:
                    status = 0
            except Ended:
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
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise click.UsageError(f"the class {name} is abstract: one that can be run has {' and '.join(missing)}, too")
    try:
        signature = inspect.signature(found)
        signature.bind()
    except ValueError:  # of some classes in C, nobody knows it
        return found
    except TypeError:
        raise click.UsageError(
            f"the class {name} is made without arguments, but its __init__ takes {signature}: give them defaults, read "
            f"them from the initialization data in on_init, or call batprotocol.edc.run in a program of your own"
        ) from None
    return found


def _module(path: str) -> ModuleType:
    """What the file holds. As for a script, the files beside it can be imported."""
    name = Path(path).stem
    if name in DEPENDENCIES or _is_taken(name, path):
        # Whoever imports that module from now on would get this file.
        raise click.UsageError(f"{path!r} would hide the module {name} of Python or of this library; rename the file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _LOADED.add(module)
    spec.loader.exec_module(module)
    return module


def _is_taken(name: str, path: str) -> bool:
    """Whether another file than this one was already imported by this name, other than by `load`."""
    if name not in sys.modules or sys.modules[name] in _LOADED:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is None or not os.path.exists(file) or not os.path.samefile(file, path)


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


@contextmanager
def _telling_of_signals(interrupts: Interrupts, moment: str) -> Iterator[None]:
    """What a signal interrupts is told in a sentence. While a simulation runs, the library does it."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if interrupts.received:
            print(printable(f"batproto: {interrupts.received} came {moment}"), file=sys.stderr)
        raise


# The endpoint


def _asks(placeholder: str, command: Sequence[str]) -> bool:
    return any(placeholder in argument for argument in command)


def _tell_endpoint(endpoint: str) -> None:
    print(f"batproto: waiting for a simulation at {endpoint}", file=sys.stderr, flush=True)


def _pin() -> None:
    """Stay on one core, with all that is started from here: the two programs take turns anyway.

    Any core will do, but not always the same: several runs at a time should not share one.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise click.UsageError("--pin does not work on this system")
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
