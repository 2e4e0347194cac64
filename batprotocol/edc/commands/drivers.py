"""Running a scheduler for one simulation: over a socket, or inside the Batsim that loads it."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from tempfile import NamedTemporaryFile
from typing import TypeVar

import click

from batprotocol._util.signals import Interrupts
from batprotocol.cli.parameters import other_protocol
from batprotocol.cli.terminal import Output, printable
from batprotocol.cli.version import slow_engine
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.edc import DEFAULT_ENDPOINT, Scheduler
from batprotocol.edc.commands.options import SchedulerRunOptions
from batprotocol.edc.commands.program import PATIENCE, ProgramEnded, SimulatorProgram, private_endpoint
from batprotocol.edc.commands.scheduler import (
    allocations_of,
    as_file,
    as_usage,
    attempts_of,
    load,
    pinned,
    telling_of_signals,
    telling_whose_fault,
)
from batprotocol.edc.embedded.options import OPTION, EmbeddedReport, carried, library
from batprotocol.edc.running import drive
from batprotocol.errors import PeerGone
from batprotocol.results import write_allocations, write_attempts

__all__ = [
    "run_in_process",
    "run_over_socket",
    "show",
]


RunReport = TypeVar("RunReport")


def run_over_socket(options: SchedulerRunOptions) -> int:
    """Run a scheduler, and the command that simulates for it if there is one; the exit status."""
    if options.endpoint == "":
        raise click.UsageError("--endpoint is empty: leave it out, or give one such as tcp://127.0.0.1:*")
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, format="%(name)s: %(message)s")
    _remark()
    if options.pin:
        pinned()
    spoken = other_protocol(options.protocol, options.schema)
    target, command = options.target, options.command
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        status = 1
        with telling_whose_fault(target, options.record):
            with telling_of_signals(interrupts, f"while {target} was being loaded"), interrupts.immediately():
                scheduler = load(target)()
            if options.allocations is not None:
                stack.callback(
                    _kept(scheduler, "--allocations", allocations_of, write_allocations, options.allocations)
                )
            if options.attempts is not None:
                stack.callback(_kept(scheduler, "--attempts", attempts_of, write_attempts, options.attempts))
            private = options.endpoint is None and _asks("{endpoint}", command)
            bound = stack.enter_context(private_endpoint()) if private else options.endpoint or DEFAULT_ENDPOINT
            other = stack.enter_context(SimulatorProgram(command, options.init or "")) if command else None
            ready = other.start if other else _tell_endpoint
            wait = other.check if other else None
            try:
                failure = None
                if spoken is None:
                    failure = drive(
                        scheduler,
                        bound,
                        options.format,
                        interrupts,
                        options.init,
                        DEFAULT_RULE_SET,
                        options.timeout,
                        options.record,
                        ready,
                        wait,
                    )
                else:
                    from batprotocol.legacy.commands import OldProgram, drive_old

                    drive_old(
                        scheduler,
                        OldProgram(bound, spoken, {"redis": options.redis, "jobs": options.jobs}, options.format),
                        interrupts,
                        init=options.init,
                        timeout=options.timeout,
                        record=options.record,
                        on_bound=ready,
                        on_wait=wait,
                    )
                if other:
                    with telling_of_signals(interrupts, f"after the simulation, and has ended {other.name}"):
                        status = other.status_in_the_end(interrupts)
                else:
                    status = 0
                if failure is not None:
                    print(printable(f"batproto: the simulation has failed: {failure}"), file=sys.stderr)
                    status = status or 1
            except ProgramEnded:
                assert other is not None
                status = other.status_too_early()
            except PeerGone:
                if other is None or not other.ends_within(PATIENCE):
                    raise
                status = other.status_too_early()
        return status


def _kept(
    scheduler: Scheduler,
    option: str,
    reports_of: Callable[[Scheduler], Sequence[RunReport] | None],
    write: Callable[[str, Iterable[RunReport]], None],
    path: str,
) -> Callable[[], None]:
    """A function that writes what a policy reports on jobs. A file that cannot be written is an error at once."""
    if reports_of(scheduler) is None:
        raise click.UsageError(f"{option} is for built-in policies: leave it out")
    write(path, ())
    return lambda: write(path, reports_of(scheduler) or ())


# The endpoint


def _asks(placeholder: str, command: Sequence[str]) -> bool:
    return any(placeholder in argument for argument in command)


def _tell_endpoint(endpoint: str) -> None:
    print(f"batproto: waiting for a simulation at {endpoint}", file=sys.stderr, flush=True)


# `batproto library` and `batproto run --in-process`: schedulers that Batsim loads into its own process.


_WHY = {
    "": ", and has not loaded the scheduler",
    "begun": " before the simulation was over",
    "over": "",
    "failed": ": ",
}
"""The end of the sentence about a command that has ended, by the state that its scheduler reported last."""

_SOCKET = ("--edc-socket-str", "--edc-socket-file", "{endpoint}")
"""Words that a command must not contain: its one decision component is not at a socket."""


def show(target: str, *, init: str, format: str, record: str | None, verbose: bool) -> None:
    """Print the path of the library, and the options with which Batsim runs this scheduler, as a shell reads them."""
    with as_usage():
        data = carried(as_file(target), init=init, format=format, record=record, verbose=verbose)
    _remark()
    output = Output()
    for line in (library(), shlex.join([OPTION, library(), data])):
        output.raw(os.fsencode(line) + b"\n")


def run_in_process(options: SchedulerRunOptions) -> int:
    """Run the command, which is Batsim, with a scheduler in its process; the exit status.

    Batsim's option is added to the command unless that contains `{library}`.
    """
    target, command = options.target, options.command
    if not command:
        raise click.UsageError("--in-process needs the command line of Batsim: write it after --")
    for each in _SOCKET:
        if any(each in argument for argument in command):
            raise click.UsageError(f"with --in-process, there is no socket: leave {each} out of the command")
    if not any("{library}" in argument for argument in command):
        command = (*command, OPTION, "{library}", "{init}")
    command = tuple(each.replace("{library}", library()) for each in command)
    with Interrupts() as interrupts, NamedTemporaryFile(prefix="batprotocol-") as file:
        with as_usage():
            data = carried(
                as_file(target),
                init=options.init or "",
                format=options.format,
                record=options.record,
                report=file.name,
                verbose=options.verbose,
            )
        if not _can_be_loaded(target, interrupts):
            return 1
        _remark()
        if options.pin:
            pinned()
        with SimulatorProgram(command, data) as other:
            other.start("")
            with telling_of_signals(interrupts, f"while {other.name} was running, and has ended it"):
                status = other.status_in_the_end(interrupts)
        report = EmbeddedReport.read(file.name)
    if status or report.state != "over":
        print(printable(f"batproto: {other.name} {other.end}{_WHY[report.state]}{report.reason}"), file=sys.stderr)
    return status or int(report.state != "over")


def _can_be_loaded(target: str, interrupts: Interrupts) -> bool:
    """Whether the class can be loaded; if not, the error comes before the output of Batsim."""
    with telling_whose_fault(target):
        with telling_of_signals(interrupts, f"while {target} was being loaded"), interrupts.immediately():
            load(target)
        return True
    return False


def _remark() -> None:
    remark = slow_engine()
    if remark:
        print(f"batproto: {remark}", file=sys.stderr)
