"""Shared by all commands that run a scheduler: load its class, and report the reason of its end in a sentence."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal import printable
from batprotocol.edc import Scheduler
from batprotocol.edc import scheduler as loading
from batprotocol.edc.scheduler import show_own

if TYPE_CHECKING:
    from batprotocol.workloads.electricity import Trace
    from batprotocol.workloads.host_events import Window
    from batprotocol.workloads.requests import Allocated, AttemptReport

__all__ = [
    "allocations_of",
    "as_file",
    "as_usage",
    "attempts_of",
    "cap_of",
    "is_policy",
    "load",
    "pinned",
    "telling_of_signals",
    "telling_whose_fault",
    "windows_of",
]


def load(target: str) -> type[Scheduler]:
    """The class that `path/to/file.py:Class` names, or the policy of that name."""
    if is_policy(target):
        return _policy(target)
    with as_usage():
        return loading.load(target)


def _policy(name: str) -> type[Scheduler]:
    """The policy of this name. The package with all policies is imported only here."""
    from batprotocol.policies.names import PolicyFileError, PolicyNameError, scheduler_named

    try:
        return scheduler_named(name)
    except PolicyFileError as error:
        raise click.ClickException(str(error)) from None
    except PolicyNameError as error:
        raise click.UsageError(str(error)) from None


def is_policy(target: str) -> bool:
    """Whether the user means a policy, misspelt or not: the text looks like neither a file nor a class in one."""
    if target.startswith(("slurm:", "slurm=")):
        return True
    marks = (":", "/", os.sep, ".py")
    if "=" in target and any(each in target for each in marks):  # the files of its parts may be in any folder
        from batprotocol.policies.names import files_in, parts_of

        return ".py:" not in target and (bool(files_in(target)) or parts_of(target) is not None)
    return bool(target) and not any(each in target for each in marks) and not os.path.isfile(target)


def _may_be_policy() -> bool:
    """Whether there can be a policy: none exists before somebody has imported the policies."""
    return "batprotocol.policies" in sys.modules


def allocations_of(scheduler: object) -> Sequence[Allocated] | None:
    """The amounts that the jobs of a policy took of their hosts, so far; None for another scheduler."""
    if not _may_be_policy():
        return None
    from batprotocol.policies import jobs as reporting

    return reporting.allocations_of(scheduler)


def cap_of(scheduler: object) -> Trace | None:
    """The watts that a policy lets the machine draw at most; None for another scheduler, and without a cap."""
    if not _may_be_policy():
        return None
    from batprotocol.policies import Policy

    return scheduler.cap.trace if isinstance(scheduler, Policy) and scheduler.cap is not None else None


def attempts_of(scheduler: object) -> Sequence[AttemptReport] | None:
    """The runs of jobs that were interrupted, so far; None for another scheduler than a policy."""
    if not _may_be_policy():
        return None
    from batprotocol.policies import Policy

    return scheduler.attempts if isinstance(scheduler, Policy) else None


def windows_of(scheduler: object) -> Sequence[Window]:
    """The reservations of the site of a policy; none of another scheduler."""
    if not _may_be_policy():
        return ()
    from batprotocol.policies import Policy

    return scheduler.windows if isinstance(scheduler, Policy) else ()


def as_file(target: str) -> str:
    """A scheduler as FILE:CLASS, for code that does not know policies."""
    if not is_policy(target):
        return target
    from batprotocol.policies import by_name

    _policy(target)
    name = target.replace(":", "=", 1) if target.startswith("slurm:") else target
    return f"{by_name.__file__}:{name}"


@contextmanager
def as_usage() -> Iterator[None]:
    """Report a target that cannot be loaded as a wrong command line."""
    try:
        yield
    except loading.LoadError as error:
        raise click.UsageError(str(error)) from None


@contextmanager
def telling_whose_fault(target: str, record: str | None = None) -> Iterator[None]:
    """Show the traceback of an exception of the scheduler's own code; let all other exceptions pass."""
    try:
        yield
    except (click.ClickException, click.Abort, click.exceptions.Exit):
        raise
    except Exception as error:
        sentence = show_own(error, target, record)
        if sentence is None:
            raise
        print(printable(f"batproto: {sentence}"), file=sys.stderr)


@contextmanager
def telling_of_signals(interrupts: Interrupts, moment: str) -> Iterator[None]:
    """Report a signal and the moment at which it came. While a simulation runs, the library does that."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if interrupts.received:
            print(printable(f"batproto: {interrupts.received} came {moment}"), file=sys.stderr)
        raise


def pinned() -> None:
    """Stay on one core, with all programs started from here: the two programs take turns anyway.

    The core is random: several runs at a time should not share one.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise click.UsageError("--pin does not work on this system")
    os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
