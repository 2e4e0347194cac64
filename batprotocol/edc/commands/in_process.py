"""`batproto library` and `batproto run --in-process`: schedulers that Batsim loads into its own process.

It passes the options to Batsim, or prints them for the user. `batprotocol.edc.embedded` runs the scheduler there.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from tempfile import NamedTemporaryFile

import click

from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import printable
from batprotocol.cli.version import slow_engine
from batprotocol.edc.commands.program import Command
from batprotocol.edc.commands.scheduler import as_file, as_usage, load, pinned, telling_of_signals, telling_whose_fault
from batprotocol.edc.embedded.options import OPTION, Report, carried, library

__all__ = ["run", "show"]

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


def run(
    target: str, command: Sequence[str], pin: bool, *, init: str, format: str, record: str | None, verbose: bool
) -> int:
    """Run the command, which is Batsim, with a scheduler in its process; the exit status.

    Args:
        target: the file and the class in it, `path/to/file.py:Class`.
        command: the command and its arguments. Batsim's option is added unless it contains `{library}`.
        pin: keep the command on one core.
        init: the user's own initialization data.
        format: "binary" or "json".
        record: the path of a recording of the conversation, or None.
        verbose: show everything that the scheduler logs.
    """
    if not command:
        raise click.UsageError("--in-process needs the command line of Batsim: write it after --")
    for each in _SOCKET:
        if any(each in argument for argument in command):
            raise click.UsageError(f"with --in-process, there is no socket: leave {each} out of the command")
    if not any("{library}" in argument for argument in command):
        command = [*command, OPTION, "{library}", "{init}"]
    command = [each.replace("{library}", library()) for each in command]
    with Interrupts() as interrupts, NamedTemporaryFile(prefix="batprotocol-") as file:
        with as_usage():
            data = carried(as_file(target), init=init, format=format, record=record, report=file.name, verbose=verbose)
        if not _can_be_loaded(target, interrupts):
            return 1
        _remark()
        if pin:
            pinned()
        with Command(command, data) as other:
            other.start("")
            with telling_of_signals(interrupts, f"while {other.name} was running, and has ended it"):
                status = other.status_in_the_end(interrupts)
        report = Report.read(file.name)
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
